"""How data move: bank connectors, flows, and the Dagster definitions that run them.

Flows belong here: plain functions that a route calls for one user and Dagster for a partition, and what Dagster needs to call
them (`definitions.py`, `assets/`). Computations belong to `analytics`, queries to `warehouse`, bodies on the wire to `api`. This
file imports no Dagster, because the API process uses the flows.
"""

import analytics  # noqa: F401  before Polars
