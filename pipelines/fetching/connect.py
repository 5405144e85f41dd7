"""Connecting a customer to a bank: credentials are opened, checked and sealed; the access and its fetch are put down together.

Several accesses at once are all stored or none. Nothing here talks to a bank: the worker does (`pipelines/fetching/refresh.py`).
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from pipelines.banks import formats
from pipelines.banks.base import CatalogueBank, Code, Connector, Offer, message
from warehouse.errors import AccessDiffers, CredentialUnfit, CredentialUnreadable, Invalid, NotFound, ProviderUnknown, Throttled
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Access
from warehouse.secrets import certificates
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import accesses, providers


@dataclass(frozen=True)
class AccessOptions:
    """How a caller wants an access to be kept; what is not said stays as it is."""

    sync: bool | None = None
    selects: bool = False
    """Whether the caller says which products are wanted; `selected` None means all."""
    selected: list[str] | None = None


@dataclass(frozen=True)
class AccessRequest:
    """What a caller wants: a login at a provider under a name, encrypted for the tenant."""

    key: str
    provider_id: UUID
    credentials: Mapping[str, str] = field(repr=False)
    wish: AccessOptions = AccessOptions()


@dataclass(frozen=True)
class OpenedLogin:
    """An entry whose credentials were opened and checked."""

    entry: AccessRequest
    credentials: dict[str, str] = field(repr=False)
    missing: tuple[str, ...]
    login_hash: bytes = field(repr=False)


def open_entries(
    owner: Owner, vault: Vault, connectors: Mapping[str, Connector], entries: list[AccessRequest]
) -> list[OpenedLogin]:
    """The logins of all entries; raises for the first that cannot be used."""
    return [_open(owner, vault, connectors, entry) for entry in entries]


def login(entry: AccessRequest, offer: Offer, opened: dict[str, str]) -> OpenedLogin:
    """An entry with its credentials in plain text."""
    names = [opened.get(field.key, "") for field in offer.fields if not field.secret]
    missing = tuple(field.key for field in offer.fields if field.key not in opened)
    return OpenedLogin(entry, opened, missing, _login_hash(entry.provider_id, names))


def connect(
    owner: Owner, vault: Vault, settings: Settings, logins: list[OpenedLogin], *, refresh: bool, attended_from: str | None
) -> dict[UUID, UUID]:
    """Stores all logins as accesses and begins their fetches; answers the fetches by the id of their access."""
    fetches = {}
    for login in sorted(logins, key=lambda login: login.entry.key):  # one order for all, so that no two wait for each other
        access = _known(owner, login.entry.key)
        if access is None:
            access = _add(owner, vault, settings, login)
            wanted = not login.missing
        else:
            wanted = _renew(owner, vault, settings, access, login, refresh=refresh) and not login.missing
        if wanted or access.fetch_id is not None:
            fetches[access.id] = _begin(owner, settings, access, attended_from)
    return fetches


def keep_login(owner: Owner, vault: Vault, settings: Settings, login: OpenedLogin) -> Access:
    """Stores a login as an access that is not fetched yet, or takes it over for the one that has its name."""
    access = _known(owner, login.entry.key)
    if access is None:
        return _add(owner, vault, settings, login)
    if access.provider_id != login.entry.provider_id:
        raise AccessDiffers
    if accesses.credentials(owner, vault, access) != login.credentials:
        _change_login(owner, vault, access, login)
    _keep(settings, access, login.entry.wish)
    return access


def refresh_again(
    owner: Owner, settings: Settings, wishes: Mapping[str, AccessOptions], *, attended_from: str | None
) -> dict[UUID, UUID]:
    """Begins a fetch of known accesses with the credentials they have."""
    found = [accesses.find(owner, key, lock=True) for key in sorted(wishes)]
    for access in found:
        _keep(settings, access, wishes[access.key])
    return {access.id: _begin(owner, settings, access, attended_from) for access in found}


def _begin(owner: Owner, settings: Settings, access: Access, attended_from: str | None) -> UUID:
    """Begins a fetch, or joins the running one. The limit on sessions that nobody attends holds for callers too."""
    if access.fetch_id is None and attended_from is None:
        wait = accesses.seconds_until_allowed(owner, access, settings.unattended_sessions_per_day)
        if wait:
            raise Throttled(wait)
    return accesses.begin_fetch(owner, access, is_awaited=True, attended_from=attended_from)


def _known(owner: Owner, key: str) -> Access | None:
    try:
        return accesses.find(owner, key, lock=True)
    except NotFound:
        return None


def _add(owner: Owner, vault: Vault, settings: Settings, login: OpenedLogin) -> Access:
    entry = login.entry
    sync = entry.wish.sync is not False
    access = accesses.add(
        owner,
        entry.key,
        entry.provider_id,
        login.login_hash,
        sync=sync,
        selected=entry.wish.selected,
        messages=_missing(login),
        waits_for_customer=bool(login.missing),
        expires_at=None if sync else accesses.end_after(settings.unsynced_lifetime_seconds),
    )
    accesses.seal_credentials(owner, vault, access, login.credentials)
    return access


def _renew(owner: Owner, vault: Vault, settings: Settings, access: Access, login: OpenedLogin, *, refresh: bool) -> bool:
    """Takes over what a caller sends for an access that exists; answers whether a fetch is wanted.

    The same again changes nothing, so that a request can be repeated. Something else is only taken when the caller says so with
    `refresh`, or when the known login does not work: never by mistake.
    """
    entry, known = login.entry, accesses.credentials(owner, vault, access)
    same_login = known == login.credentials
    if access.provider_id != entry.provider_id:
        raise AccessDiffers
    if not same_login:
        if not refresh and not access.waits_for_customer:
            raise AccessDiffers
        _change_login(owner, vault, access, login)
    if refresh or not same_login:
        _keep(settings, access, entry.wish)
    return refresh or not same_login


def take_login(owner: Owner, vault: Vault, access: Access, credentials: dict[str, str], login_hash: bytes) -> None:
    """Takes over other credentials. A fetch with the old ones is void. Another login may be another person's: it starts anew."""
    accesses.void_fetch(owner, access)
    accesses.seal_credentials(owner, vault, access, credentials)
    if access.login_hash != login_hash:
        access.login_hash = login_hash
        access.status = accesses.STARTED
        access.selected = None
    access.wrong_logins = 0
    access.messages = []
    access.waits_for_customer = False


def _change_login(owner: Owner, vault: Vault, access: Access, login: OpenedLogin) -> None:
    take_login(owner, vault, access, login.credentials, login.login_hash)
    access.messages = _missing(login)
    access.waits_for_customer = bool(login.missing)


def _keep(settings: Settings, access: Access, wish: AccessOptions) -> None:
    """Keeps an access as the caller wants from now on."""
    if wish.sync is not None and wish.sync != access.sync:
        access.sync = wish.sync
        access.expires_at = None if wish.sync else accesses.end_after(settings.unsynced_lifetime_seconds)
    if wish.selects:
        access.selected = wish.selected


def _missing(login: OpenedLogin) -> list[dict[str, str]]:
    return [message(Code.FIELDS_MISSING, ", ".join(login.missing))] if login.missing else []


def _open(owner: Owner, vault: Vault, connectors: Mapping[str, Connector], entry: AccessRequest) -> OpenedLogin:
    """The opened credentials of the fields that the provider asks for; others are ignored."""
    offer = _offer(owner, connectors, entry.provider_id)
    opened = {
        field.key: _decrypt(owner, vault, field.key, entry.credentials[field.key])
        for field in offer.fields
        if entry.credentials.get(field.key)
    }
    for wanted in offer.fields:
        if wanted.key in opened and not formats.matches(wanted.format, opened[wanted.key]):
            raise CredentialUnfit(wanted.key)
    return login(entry, offer, opened)


def _offer(owner: Owner, connectors: Mapping[str, Connector], provider_id: UUID) -> Offer:
    try:
        row = providers.find(owner, provider_id)
    except NotFound as error:
        raise ProviderUnknown from error
    connector = connectors.get(row.connector)
    offer = connector.offer(CatalogueBank(row.id, row.name, row.connector, row.blz, row.bic)) if connector else None
    if offer is None or not row.enabled:
        raise ProviderUnknown
    return offer


def _decrypt(owner: Owner, vault: Vault, field_key: str, value: str) -> str:
    try:
        whole_tenant = owner.for_tenant(owner.tenant)  # whose key it is, not the user's
        return certificates.decrypt(whole_tenant, vault, base64.b64decode(value, validate=True)).decode()
    except (Invalid, ValueError) as error:
        raise CredentialUnreadable(field_key) from error


def _login_hash(provider_id: UUID, names: list[str]) -> bytes:
    """What stands for a set of credentials in locks: slow to guess, since login names are short."""
    return hashlib.scrypt("\0".join(names).encode(), salt=provider_id.bytes, n=2**12, r=8, p=1, dklen=16)


def disconnect(database: Database, tenant_id: UUID, user_id: UUID, key: str | None = None) -> None:
    """Deletes an access, or all of a user's, at once and for good; a fetch that is running finds nothing to write to."""
    with database.changing_for(tenant_id, user_id) as owner:
        accesses.remove(owner, [accesses.find(owner, key, lock=True)] if key is not None else accesses.lock_all(owner))
