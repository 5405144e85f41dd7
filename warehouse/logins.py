"""Logging in: from a name and a secret, or an API key, to a token. All failures look alike and take alike.

Failures are counted for each name over all workers. A user who fails too often must wait, right password or not, since guesses
cost the guesser nothing else; a client with the right secret never has to, since nobody guesses 256 bits, and a stranger
could otherwise lock a tenant out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from warehouse import naming
from warehouse.errors import LoginFailed, Throttled
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Client, Tenant
from warehouse.secrets import hashing
from warehouse.settings import Settings
from warehouse.stores import api_keys, clients, throttles, tokens, users
from warehouse.stores.tokens import IssuedToken


@dataclass(frozen=True)
class AuthenticatedClient:
    """A client that has identified itself."""

    tenant: Tenant
    client: Client


def token_of_client(
    database: Database, settings: Settings, username: str, secret: str, wanted: set[str] | None
) -> tuple[AuthenticatedClient, IssuedToken]:
    """A token of the client itself."""
    with _identified(database, settings, username, secret) as (owner, login):
        return login, tokens.issue_to_client(owner, login.client, wanted, settings.token_lifetime_seconds)


def token_of_user(
    database: Database, settings: Settings, username: str, secret: str, user: tuple[str, str], wanted: set[str] | None
) -> tuple[AuthenticatedClient, IssuedToken]:
    """A token of a user (name and password) through the client. Slow: no transaction is open while the password is checked."""
    name, password = user
    with _identified(database, settings, username, secret) as (owner, login):
        subject = f"user:{login.tenant.id}:{naming.username_key(name)}"
        wait = throttles.wait_seconds(owner, subject, settings.login_failures_allowed)
        found = users.find_by_name(owner, name)
    if wait:
        raise Throttled(wait)
    stored = found.password_hash if found and found.active else hashing.decoy()
    fits, renewed = hashing.check_password(password, stored)
    if found is None or not fits:
        with database.acting_for(login.tenant.id) as owner:
            throttles.record_failure(owner, subject, settings.login_window_seconds)
        raise LoginFailed
    with database.acting_for(login.tenant.id) as owner:
        throttles.forget(owner, subject)
        token = tokens.issue_to_user(owner, login.client, found.id, wanted, settings.token_lifetime_seconds, stored)
    if renewed:
        with database.acting_for(login.tenant.id) as owner:
            users.renew_hash(owner, found.id, stored, renewed)
    return login, token


def token_of_key(database: Database, settings: Settings, api_key: str) -> tuple[AuthenticatedClient, IssuedToken]:
    """A token of the user for whom an API key stands."""
    with database.operating() as owner:
        tenant, holder, user_id = api_keys.authenticate(owner, api_key)
    with database.acting_for(tenant.id) as owner:
        token = tokens.issue_to_user(owner, holder, user_id, None, settings.token_lifetime_seconds)
    return AuthenticatedClient(tenant=tenant, client=holder), token


def revoke(database: Database, settings: Settings, username: str, secret: str, token: str) -> None:
    """Ends a token of the client; any other text changes nothing."""
    with _identified(database, settings, username, secret) as (owner, login):
        tokens.revoke(owner, login.client, token)


@contextmanager
def _identified(
    database: Database, settings: Settings, username: str, secret: str
) -> Iterator[tuple[Owner, AuthenticatedClient]]:
    """A transaction on the tenant of the client behind `<tenant>/<client>`, if the secret fits."""
    with database.operating() as operator:
        found = clients.find_for_login(operator, username)
        if found is not None and clients.has_secret(operator, found[0], secret):
            yield operator.for_tenant(found[1].id), AuthenticatedClient(tenant=found[1], client=found[0])
            return
    with database.operating() as operator:
        throttles.record_failure(operator, f"client:{username}", settings.login_window_seconds)
        wait = throttles.wait_seconds(operator, f"client:{username}", settings.login_failures_allowed + 1)
    raise Throttled(wait) if wait else LoginFailed
