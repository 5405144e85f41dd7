"""Kontor's data at rest: settings, PostgreSQL tables and stores, the lake, the vault.

Here belong the tables, the migrations, one store for each aggregate, the files of the lake, and the encryption and hashing of
secrets. Every store function takes the owner first, so that nobody sees rows of somebody else. Anything that speaks HTTP, the
protocol of a bank or German field names belongs elsewhere. May import `analytics`.
"""

import analytics  # noqa: F401  before Polars
