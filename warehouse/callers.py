"""The check of a bearer token: the one query that every request needs, so it is one statement on an asynchronous connection.

The answer is never cached: a token that was revoked, or whose user was deactivated, is refused at the very next request on
every worker.
"""

import asyncio
import time
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg_pool import PoolTimeout

from warehouse import hashing
from warehouse.connections import Connections
from warehouse.errors import DatabaseUnavailable

FIND = """
    SELECT k.tenant_id, t.name, k.client_id, c.name, k.user_id, k.scopes
    FROM tokens k
    JOIN tenants t ON t.id = k.tenant_id AND t.active
    JOIN clients c ON c.id = k.client_id AND c.active
    LEFT JOIN users u ON u.id = k.user_id
    WHERE k.token_hash = %s AND k.expires_at > now() AND (k.user_id IS NULL OR u.active)
"""
PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class Caller:
    """Who calls: a client of a tenant, or a user through it, and what the token allows."""

    tenant_id: UUID
    tenant_name: str
    client_id: UUID
    client_name: str
    user_id: UUID | None
    scopes: frozenset[str]


class Callers:
    """Finds the caller behind a token."""

    def __init__(self, connections: Connections, *, wait_seconds: float) -> None:
        self._connections = connections
        self._wait_seconds = wait_seconds

    async def find(self, token: str) -> Caller | None:
        """The caller of a valid token, or None. A database that is just restarting is waited for."""
        row = await self._one(hashing.digest(token))
        if row is None:
            return None
        tenant_id, tenant_name, client_id, client_name, user_id, scopes = row
        return Caller(tenant_id, tenant_name, client_id, client_name, user_id, frozenset(scopes))

    async def _one(self, token_hash: bytes) -> tuple[UUID, str, UUID, str, UUID | None, list[str]] | None:
        deadline = time.monotonic() + self._wait_seconds
        while True:
            try:
                async with self._connections.connection() as connection:
                    cursor = await connection.execute(FIND, (token_hash,), prepare=True)
                    return await cursor.fetchone()
            except (psycopg.OperationalError, PoolTimeout) as error:
                if time.monotonic() >= deadline:
                    raise DatabaseUnavailable from error
                await asyncio.sleep(PAUSE_SECONDS)
