"""Connecting a customer to a bank: decrypts, checks and seals credentials, and stores the access together with its fetch.

Several accesses are stored all or none. Nothing here talks to a bank; the worker does (`pipelines/fetching/refresh.py`).
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from pipelines.banks import formats
from pipelines.banks.base import Code, Connector, Offer, message
from pipelines.banks.connectors import as_bank
from warehouse.errors import (
    AccessDiffers,
    CredentialsMissing,
    CredentialUnfit,
    CredentialUnreadable,
    Invalid,
    NotFound,
    ProviderUnknown,
    TooManyUnattended,
)
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Access
from warehouse.secrets import certificates
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import accesses, bank_logins, providers

LOGIN_CODES = frozenset({Code.LOCKED, Code.WRONG_CREDENTIALS, Code.FIELDS_MISSING})
"""Messages of an access whose login does not work."""


@dataclass(frozen=True)
class AccessOptions:
    """How an access is to be kept; options that are not set stay as they are."""

    sync: bool | None = None
    selects: bool = False
    """Whether the caller chooses products; then `selected` None means all."""
    selected: list[str] | None = None


@dataclass(frozen=True)
class AccessRequest:
    """The request for an access: its name, the provider, and credentials encrypted for the tenant."""

    key: str
    provider_id: UUID
    credentials: Mapping[str, str] | None = field(repr=False)
    """None if the caller sends none, as providers without login fields allow."""
    options: AccessOptions = AccessOptions()


@dataclass(frozen=True)
class OpenedLogin:
    """An access request with decrypted and checked credentials."""

    entry: AccessRequest
    credentials: dict[str, str] = field(repr=False)
    missing: tuple[str, ...]
    login_hash: bytes = field(repr=False)


def open_entries(
    owner: Owner, vault: Vault, connectors: Mapping[str, Connector], entries: list[AccessRequest]
) -> list[OpenedLogin]:
    """The logins of all requests; raises for the first that cannot be used."""
    return [_open(owner, vault, connectors, entry) for entry in entries]


def login(entry: AccessRequest, offer: Offer, credentials: dict[str, str]) -> OpenedLogin:
    """The login of a request whose credentials are known in plain text."""
    names = [credentials.get(field.key, "") for field in offer.fields if not field.secret]
    missing = tuple(field.key for field in offer.fields if field.key not in credentials)
    return OpenedLogin(entry, credentials, missing, _login_hash(entry.provider_id, names))


def connect(
    owner: Owner, vault: Vault, settings: Settings, logins: list[OpenedLogin], *, refresh: bool, attended_from: str | None
) -> dict[UUID, UUID]:
    """Stores all logins as accesses and begins their fetches; returns the id of the fetch by the id of the access."""
    fetches = {}
    for login in sorted(logins, key=lambda login: login.entry.key):  # always in the same order, against deadlocks
        access = _find_access(owner, login.entry.key)
        if access is None:
            access = _add(owner, vault, settings, login)
            wants_fetch = not login.missing
        else:
            wants_fetch = _renew(owner, vault, settings, access, login, refresh=refresh) and not login.missing
        if (wants_fetch or access.fetch_id is not None) and has_bank(access):
            fetches[access.id] = _begin(owner, vault, settings, access, attended_from)
    return fetches


def connect_files(owner: Owner, vault: Vault, settings: Settings, key: str) -> None:
    """Adds an access for statement files, unless there is one of this name; raises `AccessDiffers` if that has a bank."""
    entry = AccessRequest(key, providers.STATEMENT_FILES, None)
    connect(owner, vault, settings, [login(entry, Offer((), (), ()), {})], refresh=False, attended_from=None)


def keep_login(owner: Owner, vault: Vault, settings: Settings, login: OpenedLogin) -> Access:
    """Stores a login as an access that is not fetched yet, or as the new login of the access with this name."""
    access = _find_access(owner, login.entry.key)
    if access is None:
        return _add(owner, vault, settings, login)
    if access.provider_id != login.entry.provider_id:
        raise AccessDiffers
    if accesses.readable_credentials(owner, vault, access) != login.credentials or _is_entered_anew(owner, vault, access, login):
        _change_login(owner, vault, access, login)
    _apply_options(settings, access, login.entry.options)
    return access


def refresh_again(
    owner: Owner, vault: Vault, settings: Settings, options: Mapping[str, AccessOptions], *, attended_from: str | None
) -> dict[UUID, UUID]:
    """Begins fetches of existing accesses with their stored credentials; returns the id of the fetch by the id of the access."""
    known_accesses = [accesses.find(owner, key, lock=True) for key in sorted(options)]
    for access in known_accesses:
        _apply_options(settings, access, options[access.key])
    fetched_accesses = [access for access in known_accesses if has_bank(access)]
    return {access.id: _begin(owner, vault, settings, access, attended_from) for access in fetched_accesses}


def has_bank(access: Access) -> bool:
    """Whether data of an access come from a bank, which can be asked for them."""
    return access.provider_id not in providers.WITHOUT_BANK


def needs_login(access: Access) -> bool:
    """Whether the stored login of an access does not work: the bank has refused it, or misses fields."""
    return any(item["code"] in LOGIN_CODES for item in access.messages)


def _begin(owner: Owner, vault: Vault, settings: Settings, access: Access, attended_from: str | None) -> UUID:
    """Begins a fetch, or joins the running one. The limit on unattended sessions applies to callers as well."""
    if access.fetch_id is None and attended_from is None:
        wait = _seconds_until_allowed(owner, vault, settings, access)
        if wait:
            allowed_at = bank_logins.clock(owner).astimezone(settings.zone) + timedelta(seconds=wait)
            raise TooManyUnattended(wait, settings.unattended_sessions_per_day, allowed_at)
    return accesses.begin_fetch(owner, access, is_awaited=True, attended_from=attended_from)


def _seconds_until_allowed(owner: Owner, vault: Vault, settings: Settings, access: Access) -> int:
    """The seconds until an unattended session of the access and of its login is allowed; 0 if it is now."""
    limit = settings.unattended_sessions_per_day
    now = bank_logins.clock(owner)
    sessions = bank_logins.count_sessions(owner, vault, access, bank_logins.day_of(now, settings.zone))
    of_login = bank_logins.seconds_until_next_day(now, settings.zone) if sessions >= limit else 0
    return max(of_login, accesses.seconds_until_allowed(owner, access, limit))


def _find_access(owner: Owner, key: str) -> Access | None:
    try:
        return accesses.find(owner, key, lock=True)
    except NotFound:
        return None


def _add(owner: Owner, vault: Vault, settings: Settings, login: OpenedLogin) -> Access:
    entry = login.entry
    sync = entry.options.sync is not False
    access = accesses.add(
        owner,
        entry.key,
        entry.provider_id,
        login.login_hash,
        sync=sync,
        selected=entry.options.selected,
        messages=_missing_messages(login),
        waits_for_customer=bool(login.missing),
        expires_at=None if sync else accesses.end_after(settings.unsynced_lifetime_seconds),
    )
    accesses.seal_credentials(owner, vault, access, login.credentials)
    return access


def _renew(owner: Owner, vault: Vault, settings: Settings, access: Access, login: OpenedLogin, *, refresh: bool) -> bool:
    """Applies a request to an existing access; returns whether it should be fetched.

    A repeated request changes nothing. Another login is accepted only with `refresh`, or if the stored one does not work or
    cannot be read.
    """
    entry, stored_credentials = login.entry, accesses.readable_credentials(owner, vault, access)
    same_login = stored_credentials == login.credentials
    if access.provider_id != entry.provider_id:
        raise AccessDiffers
    if not same_login:
        if not refresh and not access.waits_for_customer and stored_credentials is not None:
            raise AccessDiffers
        _change_login(owner, vault, access, login)
    elif refresh and _is_entered_anew(owner, vault, access, login):
        _change_login(owner, vault, access, login)
    if refresh or not same_login:
        _apply_options(settings, access, entry.options)
    return refresh or not same_login


def _is_entered_anew(owner: Owner, vault: Vault, access: Access, login: OpenedLogin) -> bool:
    """Whether a login that did not work may be tried again because the customer has entered it again: the bank may have unlocked
    it. One with a PIN that the bank has refused may not.
    """
    trace = bank_logins.trace(owner, vault, access.provider_id, login.login_hash, login.credentials)
    return needs_login(access) and not bank_logins.is_refused(owner, trace)


def take_login(owner: Owner, vault: Vault, access: Access, credentials: dict[str, str], login_hash: bytes) -> None:
    """Replaces the credentials of an access and voids a running fetch. Another login may belong to another person: the access
    starts over.
    """
    accesses.void_fetch(owner, access)
    accesses.seal_credentials(owner, vault, access, credentials)
    if access.login_hash != login_hash:
        accesses.forget_memory(owner, access)
        access.login_hash = login_hash
        access.status = accesses.STARTED
        access.selected = None
        access.first_fetch_end = None
    access.wrong_logins = 0
    access.messages = []
    access.waits_for_customer = False


def _change_login(owner: Owner, vault: Vault, access: Access, login: OpenedLogin) -> None:
    take_login(owner, vault, access, login.credentials, login.login_hash)
    access.messages = _missing_messages(login)
    access.waits_for_customer = bool(login.missing)


def _apply_options(settings: Settings, access: Access, options: AccessOptions) -> None:
    """Changes how an access is kept from now on."""
    if options.sync is not None and options.sync != access.sync:
        access.sync = options.sync
        access.expires_at = None if options.sync else accesses.end_after(settings.unsynced_lifetime_seconds)
    if options.selects:
        access.selected = options.selected


def _missing_messages(login: OpenedLogin) -> list[dict[str, str]]:
    return [message(Code.FIELDS_MISSING, ", ".join(login.missing))] if login.missing else []


def _open(owner: Owner, vault: Vault, connectors: Mapping[str, Connector], entry: AccessRequest) -> OpenedLogin:
    """The login of a request, with the credentials for all fields of the provider; others are ignored."""
    offer = _offer(owner, connectors, entry.provider_id)
    if offer.fields and entry.credentials is None:
        raise CredentialsMissing(entry.key)
    encrypted = entry.credentials or {}
    credentials = {
        field.key: _decrypt(owner, vault, field.key, encrypted[field.key]) for field in offer.fields if encrypted.get(field.key)
    }
    for login_field in offer.fields:
        if login_field.key in credentials and not formats.matches(login_field.format, credentials[login_field.key]):
            raise CredentialUnfit(login_field.key)
    return login(entry, offer, credentials)


def _offer(owner: Owner, connectors: Mapping[str, Connector], provider_id: UUID) -> Offer:
    try:
        row = providers.find(owner, provider_id)
    except NotFound as error:
        raise ProviderUnknown from error
    connector = connectors.get(row.connector)
    offer = connector.offer(as_bank(row)) if connector else None
    if offer is None or not row.enabled:
        raise ProviderUnknown
    return offer


def _decrypt(owner: Owner, vault: Vault, field_key: str, value: str) -> str:
    try:
        whole_tenant = owner.for_tenant(owner.tenant)  # the key belongs to the tenant, not to the user
        return certificates.decrypt(whole_tenant, vault, base64.b64decode(value, validate=True)).decode()
    except (Invalid, ValueError) as error:
        raise CredentialUnreadable(field_key) from error


def _login_hash(provider_id: UUID, names: list[str]) -> bytes:
    """The hash that represents a login in locks: slow to guess, since login names are short."""
    return hashlib.scrypt("\0".join(names).encode(), salt=provider_id.bytes, n=2**12, r=8, p=1, dklen=16)


def disconnect(database: Database, tenant_id: UUID, user_id: UUID, key: str | None = None) -> None:
    """Deletes an access, or all accesses of a user. A running fetch then finds nothing to write to."""
    with database.changing_for(tenant_id, user_id) as owner:
        accesses.remove(owner, [accesses.find(owner, key, lock=True)] if key is not None else accesses.lock_all(owner))
