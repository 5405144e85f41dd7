"""How Kontor is offered: routes, wire schemas, the HTTP surface around them, the command line `kontor`.

Here belong everything that a tenant or an operator touches, and the German words of the interface (`api/schemas`).
Here does not belong a decision about data: routes call flows and stores. May import all other packages, but never Dagster.
"""

import analytics  # noqa: F401  before Polars
