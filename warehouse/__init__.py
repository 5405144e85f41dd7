"""Where Kontor's data rests: settings, PostgreSQL tables and stores, the lake, the vault.

Here belong the tables, the migrations, one store file for each aggregate, and the two places where secrets are turned into
bytes (`vault`, `passwords`). Every store function takes the owner first, so that nobody sees a row of somebody else.
Here does not belong anything that speaks HTTP, a bank's protocol or German field names. May import `analytics` (frames only).
"""

import analytics  # noqa: F401  before Polars
