"""The assets that Dagster shows. Nothing is computed here: each calls a flow for its partitions."""
