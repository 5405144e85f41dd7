"""How data moves: bank connectors, flows, and the Dagster shell over them.

Here belong flows, plain functions that a route calls for one user and Dagster for a partition, and what Dagster needs to
call them (`definitions.py`, `assets/`). Here does not belong a computation (`analytics`), a query (`warehouse`) or a body on
the wire (`api`).
This file imports nothing, so that the API process, which uses the flows, loads no Dagster.
"""

import analytics  # noqa: F401  before Polars
