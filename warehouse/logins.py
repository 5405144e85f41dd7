"""Logins: from a name and a secret, or an API key, to a token. All failures look the same and take the same time.

Failures are counted for each name over all workers. A user who fails too often must wait, even with the right password, since
guesses cost nothing else. A client with the right secret never has to wait: nobody guesses 256 bits, and a stranger could
otherwise lock a tenant out. No store: each function opens its own transactions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from warehouse.errors import LoginFailed, Throttled
from warehouse.inputs import naming, passwords
from warehouse.postgres import audit_log, console_accounts
from warehouse.postgres.audit_log import AuditActor, Deed
from warehouse.postgres.console_accounts import ConsoleUser
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Client, ConsoleAccount, Tenant
from warehouse.secrets import hashing, one_time_codes, sealed_values
from warehouse.secrets.hashing import TokenFormat
from warehouse.secrets.vault import Vault
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


@dataclass(frozen=True)
class ConsoleCredentials:
    """What somebody types to log in to the console. The code is empty for accounts without a second factor."""

    name: str
    password: str = field(repr=False)
    code: str = field(default="", repr=False)


def open_console(
    database: Database,
    vault: Vault,
    settings: Settings,
    credentials: ConsoleCredentials,
    now_seconds: float,
    correlation_id: str | None = None,
) -> str:
    """The cookie of a new session of the console. Slow: no transaction is open while the password is checked.

    Every failure of an existing account is in the audit log; names that do not exist are not, since they may be anything.
    """
    name = naming.username_key(credentials.name)
    subject = f"console:{name}"
    with database.operating() as operator:
        wait = throttles.wait_seconds(operator, subject, settings.login_failures_allowed)
        account = console_accounts.find_for_login(operator, name)
        secret = sealed_values.code_secret(vault, account) if account else None
    if wait:
        raise Throttled(wait)
    password_hash = account.password_hash if account else hashing.decoy()
    matches, new_hash = hashing.check_password(credentials.password, password_hash)
    step = one_time_codes.step_of(secret, credentials.code, now_seconds) if secret else 0
    cookie = hashing.new_secret()
    with database.operating() as operator:
        if account is not None and matches and step is not None and _opens(operator, settings, account, step, cookie):
            throttles.forget(operator, subject)
            if new_hash:
                console_accounts.renew_hash(operator, account.id, password_hash, new_hash)
            audit_log.record(operator, _actor(account, correlation_id), Deed("login", tenant_id=account.tenant_id))
            return cookie
        throttles.record_failure(operator, subject, settings.login_window_seconds)
        if account is not None:
            audit_log.record(operator, _actor(account, correlation_id), Deed("login_refused", tenant_id=account.tenant_id))
    raise LoginFailed


def change_console_password(
    database: Database, settings: Settings, user: ConsoleUser, old_password: str, new_password: str, actor: AuditActor
) -> str:
    """The cookie of a new session after a change of the password, which ends all others. Slow. Raises `LoginFailed` if the old
    password is wrong, and the rule that the new one breaks.
    """
    subject = f"console:{user.name}"
    with database.operating() as operator:
        wait = throttles.wait_seconds(operator, subject, settings.login_failures_allowed)
        account = console_accounts.find(operator, user.name)
    if wait:
        raise Throttled(wait)
    if not hashing.check_password(old_password, account.password_hash)[0]:
        with database.operating() as operator:
            throttles.record_failure(operator, subject, settings.login_window_seconds)
        raise LoginFailed
    passwords.check(new_password, user.name, "kontor")
    password_hash, cookie = hashing.hash_password(new_password), hashing.new_secret()
    with database.operating() as operator:
        console_accounts.change_password(operator, user.account_id, password_hash)
        session = (hashing.digest(cookie), settings.console_session_seconds)
        if not console_accounts.open_session(operator, user.account_id, password_hash, *session):
            raise LoginFailed
        audit_log.record(operator, actor, Deed("password_changed", tenant_id=user.tenant_id))
    return cookie


def _opens(operator: Owner, settings: Settings, account: ConsoleAccount, step: int, cookie: str) -> bool:
    """Whether a session could be opened: the code was not used before, and nothing of the account has changed meanwhile."""
    if account.code_sealed is not None and not console_accounts.take_code_step(operator, account.id, step):
        return False
    session = (hashing.digest(cookie), settings.console_session_seconds)
    return console_accounts.open_session(operator, account.id, account.password_hash, *session)


def _actor(account: ConsoleAccount, correlation_id: str | None) -> AuditActor:
    return AuditActor(account.name, account.role, account.id, correlation_id)


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
