"""Logging in: from a name and a secret, or an API key, to a token. All failures look alike and take alike.

Failures are counted for each name over all workers. A user who fails too often must wait, right password or not, since guesses
cost the guesser nothing else; a client with the right secret never has to, since nobody guesses 256 bits, and a stranger
could otherwise lock a tenant out.
"""

from dataclasses import dataclass

from warehouse import api_keys, clients, hashing, names, throttles, tokens, users
from warehouse.database import Database
from warehouse.errors import LoginFailed, Throttled
from warehouse.settings import Settings
from warehouse.tables import Client, Tenant
from warehouse.tokens import IssuedToken


@dataclass(frozen=True)
class Login:
    """A client that has identified itself."""

    tenant: Tenant
    client: Client


def client(database: Database, settings: Settings, username: str, secret: str) -> Login:
    """The client behind `<tenant>/<client>` and its secret."""
    subject = f"client:{username}"
    with database.operating() as owner:
        found = clients.find_for_login(owner, username)
        if found is not None and hashing.fits(secret, found[0].secret_hash):
            return Login(tenant=found[1], client=found[0])
        throttles.record_failure(owner, subject, settings.login_window_seconds)
        wait = throttles.wait_seconds(owner, subject, settings.login_failures_allowed + 1)
    raise Throttled(wait) if wait else LoginFailed


def token_of_client(database: Database, settings: Settings, login: Login, wanted: set[str] | None) -> IssuedToken:
    """A token of the client itself."""
    with database.acting_for(login.tenant.id) as owner:
        return tokens.issue_to_client(owner, login.client, wanted, settings.token_lifetime_seconds)


def token_of_user(
    database: Database, settings: Settings, login: Login, username: str, password: str, wanted: set[str] | None
) -> IssuedToken:
    """A token of a user through the client. Slow: it checks a password. No transaction is open meanwhile."""
    subject = f"user:{login.tenant.id}:{names.username_key(username)}"
    with database.acting_for(login.tenant.id) as owner:
        wait = throttles.wait_seconds(owner, subject, settings.login_failures_allowed)
        user = users.find_by_name(owner, username)
    if wait:
        raise Throttled(wait)
    stored = user.password_hash if user and user.active else hashing.decoy()
    fits, renewed = hashing.check_password(password, stored)
    if user is None or not fits:
        with database.acting_for(login.tenant.id) as owner:
            throttles.record_failure(owner, subject, settings.login_window_seconds)
        raise LoginFailed
    with database.acting_for(login.tenant.id) as owner:
        throttles.forget(owner, subject)
        token = tokens.issue_to_user(owner, login.client, user.id, wanted, settings.token_lifetime_seconds, stored)
    if renewed:
        with database.acting_for(login.tenant.id) as owner:
            users.renew_hash(owner, user.id, stored, renewed)
    return token


def token_of_key(database: Database, settings: Settings, api_key: str) -> tuple[Login, IssuedToken]:
    """A token of the user for whom an API key stands."""
    with database.operating() as owner:
        tenant, holder, user_id = api_keys.authenticate(owner, api_key)
    with database.acting_for(tenant.id) as owner:
        token = tokens.issue_to_user(owner, holder, user_id, None, settings.token_lifetime_seconds)
    return Login(tenant=tenant, client=holder), token


def revoke(database: Database, login: Login, token: str) -> None:
    """Ends a token of the client."""
    with database.acting_for(login.tenant.id) as owner:
        tokens.revoke(owner, login.client, token)
