"""The faces of Kontor: routes, wire schemas, the HTTP layer around them, web pages, and the command line `kontor`.

Everything that a tenant or an operator touches belongs here, and so do the German words of the interface (`api/schemas`).
Decisions about data do not: routes call flows and stores. May import all other packages, but never Dagster.
"""

import analytics  # noqa: F401  before Polars
