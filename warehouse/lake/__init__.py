"""The lake: Parquet files in buckets, how they are written, found, read with SQL and erased."""
