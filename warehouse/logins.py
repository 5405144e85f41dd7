"""Logins: from a name and a secret, or an API key, to a token. All failures look the same and take the same time.

Failures are counted for each name over all workers. A user who fails too often must wait, even with the right password, since
guesses cost nothing else. A client with the right secret never has to wait: nobody guesses 256 bits, and a stranger could
otherwise lock a tenant out. No store: each function opens its own transactions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from warehouse.errors import LoginFailed, Throttled
from warehouse.inputs import naming
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Client, Tenant
from warehouse.secrets import hashing
from warehouse.secrets.hashing import TokenFormat
from warehouse.settings import Settings
from warehouse.stores import api_keys, clients, throttles, tokens, users
from warehouse.stores.tokens import IssuedToken, TokenTerms


@dataclass(frozen=True)
class AuthenticatedClient:
    """A client that has identified itself."""

    tenant: Tenant
    client: Client


def identify(database: Database, settings: Settings, username: str, secret: str) -> AuthenticatedClient:
    """The client behind a name and a secret."""
    with _identified(database, settings, username, secret) as (_, login):
        return login


def token_of_client(
    database: Database, settings: Settings, username: str, secret: str, requested_scopes: set[str] | None
) -> tuple[AuthenticatedClient, IssuedToken]:
    """A token of the client itself."""
    with _identified(database, settings, username, secret) as (owner, login):
        return login, tokens.issue_to_client(owner, login.client, requested_scopes, _terms(settings, login.tenant))


def token_of_user(
    database: Database,
    settings: Settings,
    login: AuthenticatedClient,
    credentials: tuple[str, str],
    requested_scopes: set[str] | None,
) -> IssuedToken:
    """A token of a user (name and password) through a client. Slow: no transaction is open while the password is checked."""
    name, password = credentials
    with database.acting_for(login.tenant.id) as owner:
        subject = f"user:{login.tenant.id}:{naming.username_key(name)}"
        wait = throttles.wait_seconds(owner, subject, settings.login_failures_allowed)
        user = users.find_by_name(owner, name)
    if wait:
        raise Throttled(wait)
    password_hash = user.password_hash if user and user.active else hashing.decoy()
    matches, new_hash = hashing.check_password(password, password_hash)
    if user is None or not matches:
        with database.acting_for(login.tenant.id) as owner:
            throttles.record_failure(owner, subject, settings.login_window_seconds)
        raise LoginFailed
    with database.acting_for(login.tenant.id) as owner:
        throttles.forget(owner, subject)
        terms = _terms(settings, login.tenant)
        token = tokens.issue_to_user(owner, login.client, user.id, requested_scopes, terms, password_hash)
    if new_hash:
        with database.acting_for(login.tenant.id) as owner:
            users.renew_hash(owner, user.id, password_hash, new_hash)
    return token


def token_of_key(database: Database, settings: Settings, api_key: str) -> tuple[AuthenticatedClient, IssuedToken]:
    """A token of the user that an API key stands for."""
    with database.operating() as owner:
        tenant, client, key = api_keys.authenticate(owner, api_key)
    with database.acting_for(tenant.id) as owner:
        token = tokens.issue_to_user(owner, client, key.user_id, None, _terms(settings, tenant), api_key_id=key.id)
    return AuthenticatedClient(tenant=tenant, client=client), token


def revoke(database: Database, settings: Settings, username: str, secret: str, token: str) -> None:
    """Ends a token of the client; any other text changes nothing."""
    with _identified(database, settings, username, secret) as (owner, login):
        tokens.revoke(owner, login.client, token)


def _terms(settings: Settings, tenant: Tenant) -> TokenTerms:
    """The terms of a tenant's tokens. Its own form counts before that of the installation."""
    return TokenTerms(settings.token_lifetime_seconds, TokenFormat(tenant.token_form or settings.token_form))


@contextmanager
def _identified(
    database: Database, settings: Settings, username: str, secret: str
) -> Iterator[tuple[Owner, AuthenticatedClient]]:
    """A transaction for the tenant of the client `<tenant>/<client>`, if the secret matches."""
    with database.operating() as operator:
        client, tenant = clients.find_for_login(operator, username) or (None, None)
        if client is not None and tenant is not None and clients.has_secret(operator, client, secret):
            yield operator.for_tenant(tenant.id), AuthenticatedClient(tenant=tenant, client=client)
            return
    with database.operating() as operator:
        throttles.record_failure(operator, f"client:{username}", settings.login_window_seconds)
        wait = throttles.wait_seconds(operator, f"client:{username}", settings.login_failures_allowed + 1)
    raise Throttled(wait) if wait else LoginFailed
