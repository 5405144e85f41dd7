"""The check of a bearer token: the query that every request needs, in one statement on an asynchronous connection.

Its result is never cached: a token that was revoked, or whose user was deactivated, is refused at the next request on every
worker.
"""

from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from warehouse.postgres.async_connections import Connections
from warehouse.secrets import hashing
from warehouse.stores.revisions import REVISION, UserState

FIND = (
    sql.SQL(
        "SELECT k.tenant_id, t.name, k.client_id, c.name, k.user_id, k.scopes, {revision}, u.refreshed_on, t.regulated, "
        "k.api_key_id "
        "FROM tokens k "
        "JOIN tenants t ON t.id = k.tenant_id AND t.active "
        "JOIN clients c ON c.id = k.client_id AND c.active "
        "LEFT JOIN users u ON u.id = k.user_id "
        "WHERE k.token_hash = %s AND k.expires_at > now() AND (k.user_id IS NULL OR u.active)"
    )
    .format(revision=REVISION)
    .as_string()
)


@dataclass(frozen=True)
class Caller:
    """The client of a request, or the user behind it, and the scopes of its token."""

    tenant_id: UUID
    tenant_name: str
    client_id: UUID
    client_name: str
    user_id: UUID | None
    scopes: frozenset[str]
    regulated: bool
    state: UserState | None
    """The state of the user's data at the check: enough to find a stored result without another query."""
    api_key_id: UUID | None = None
    """The API key for which the token was issued, if it was."""


class Callers:
    """Finds the caller behind a token."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def find(self, token: str) -> Caller | None:
        """The caller of a valid token, or None."""
        row = await self._connections.one(FIND, (hashing.digest(token),))
        if row is None:
            return None
        tenant_id, tenant_name, client_id, client_name, user_id, scopes, revision, as_of, regulated, key_id = row
        state = None if user_id is None else UserState(revision, as_of)
        return Caller(tenant_id, tenant_name, client_id, client_name, user_id, frozenset(scopes), regulated, state, key_id)
