"""Customer and bank accesses: reading, adding, refreshing, deleting."""

import ipaddress
from contextlib import AbstractContextManager
from typing import Annotated
from uuid import UUID

from fastapi import Body, Header, Path, Query
from pydantic import AfterValidator, StringConstraints
from starlette.responses import Response

from api.bodies.customers import access_body, accesses_body, customer_body, issues_body
from api.http.authorization import TokenKind, needs
from api.http.errors import Problem
from api.http.responses import answer, created, done, link
from api.http.route import router
from api.schemas.accesses import (
    ACCESS_KEY,
    ACCESSES,
    ENTRIES_LIMIT,
    AccessBodies,
    AccessBody,
    CustomerBody,
    IssuesBody,
    NewAccess,
)
from api.schemas.base import Flag, shape
from api.services import Held, Services
from api.webform import entry as entry_into_form
from pipelines.fetching import connect
from warehouse import scopes
from warehouse.errors import NameTaken, NotFound
from warehouse.postgres.database import Owner
from warehouse.stores import accesses, products, redirect_sessions, tenants
from warehouse.stores.callers import Caller

routes = router("/customer/v2", "Customer")
Reads = Annotated[Caller, needs(scopes.CUSTOMER_READ, TokenKind.USER)]
Modifies = Annotated[Caller, needs(scopes.CUSTOMER_MODIFY, TokenKind.USER)]
AccessKey = Annotated[str, Path(examples=["0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10"])]
NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
        *("198.18.0.0/15", "224.0.0.0/3", "::/127", "64:ff9b::/96", "2002::/16", "fc00::/7", "fe80::/10", "ff00::/8"),
    )
)


def _public(value: str | None) -> str | None:
    """The address of an end user; one that cannot be in the internet is a mistake of the caller."""
    if value is None:
        return None
    if "%" in value:
        raise ValueError("an address with a zone is of one machine only")
    address = ipaddress.ip_address(value)
    address = getattr(address, "ipv4_mapped", None) or address
    if any(address.version == network.version and address in network for network in NOT_PUBLIC):
        raise ValueError("not a public address")
    return str(address)


IP_HEADER = Header(
    alias="Customer-IP-Address",
    description="public IP address of the end user who waits for the answer",
    examples=["84.112.10.7"],
)
CustomerIp = Annotated[str | None, AfterValidator(_public), IP_HEADER]
RequiredIp = Annotated[str, AfterValidator(_public), IP_HEADER]
Entries = Annotated[
    dict[Annotated[str, StringConstraints(pattern=ACCESS_KEY)], NewAccess],
    shape("NewAccesses", min_length=1, max_length=ENTRIES_LIMIT),
    Body(examples=[{"0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10": {"providerId": "00000000-0000-0000-0000-000000000000"}}]),
]


def changing_for(held: Services, caller: Caller) -> AbstractContextManager[Owner]:
    """A transaction on the caller's own rows; to be run by `held.changes.insist`."""
    return held.database.changing_for(caller.tenant_id, user_of(caller))


def reading_for(held: Services, caller: Caller) -> AbstractContextManager[Owner]:
    """The caller's own rows at one moment: balances and status of one publication."""
    return held.database.reading_for(caller.tenant_id, user_of(caller))


def user_of(caller: Caller) -> UUID:
    """The user behind a token of the customer interface, which takes no others."""
    if caller.user_id is None:
        raise NotFound("user")
    return caller.user_id


@routes.get("", response_model=CustomerBody)
def get_customer(caller: Reads, held: Held) -> Response:
    """The customer with all accesses and their products."""
    with reading_for(held, caller) as owner:
        found = accesses.visible(owner)
        return answer(held, customer_body(held, caller, found, products.visible(owner, found)))


@routes.get("/bankzugaenge", response_model=AccessBodies)
def list_accesses(caller: Reads, held: Held) -> Response:
    """All accesses by their ids."""
    with reading_for(held, caller) as owner:
        found = accesses.visible(owner)
        return answer(held, accesses_body(held, caller, found, products.visible(owner, found)))


@routes.post(
    "/bankzugaenge",
    status_code=201,
    response_class=Response,
    responses={404: {}, 409: {}, 429: {}, 451: {"description": "The customer must go through the redirect form at `Location`."}},
)
async def add_accesses(
    entries: Entries,
    caller: Modifies,
    held: Held,
    refresh: Annotated[Flag, Query(description="fetch again what exists already")] = False,
    customer_ip: CustomerIp = None,
) -> Response:
    """Adds accesses, or fetches known ones again. Answers when the header data are there; bookings follow in the background."""
    if str(caller.user_id) in entries:
        raise Problem(400, "Die Id eines Bankzugangs darf nicht die des Benutzers sein.")
    outcome = await held.changes.insist(_begin, held, caller, entries, refresh, customer_ip)
    if isinstance(outcome, str):
        return entry_into_form.redirected(outcome)
    await held.arrivals.wait(outcome)
    key = next(iter(entries))
    return created(link(held, *ACCESSES, key) if len(entries) == 1 else link(held, *ACCESSES))


@routes.delete("/bankzugaenge", response_class=Response)
async def delete_accesses(caller: Modifies, held: Held) -> Response:
    """Deletes all accesses with everything that was fetched."""
    await held.changes.insist(connect.disconnect, held.database, caller.tenant_id, user_of(caller))
    return done()


@routes.get("/bankzugaenge/{access}", response_model=AccessBody)
def get_access(access: AccessKey, caller: Reads, held: Held) -> Response:
    """One access with its products."""
    with reading_for(held, caller) as owner:
        found = accesses.find(owner, access)
        return answer(held, access_body(held, caller, found, products.visible(owner, [found])[found.id]))


@routes.delete("/bankzugaenge/{access}", response_class=Response)
async def delete_access(access: AccessKey, caller: Modifies, held: Held) -> Response:
    """Deletes an access with everything that was fetched."""
    await held.changes.insist(connect.disconnect, held.database, caller.tenant_id, user_of(caller), access)
    return done()


@routes.get("/bankzugaenge/{access}/issues", response_model=IssuesBody)
def get_issues(access: AccessKey, caller: Reads, held: Held) -> Response:
    """What went wrong in the latest attempt to fetch an access; no messages if nothing did."""
    with reading_for(held, caller) as owner:
        return answer(held, issues_body(held, caller, accesses.find(owner, access)))


@routes.delete("/regprotect/sessions", response_class=Response)
def delete_redirect_sessions(caller: Modifies, held: Held) -> Response:
    """Ends all ways through the redirect form that were begun for the user."""
    with held.database.acting_for(caller.tenant_id, user_of(caller)) as owner:
        redirect_sessions.end_all(owner)
    return done()


def _begin(
    held: Services, caller: Caller, entries: dict[str, NewAccess], refresh: bool, customer_ip: str | None
) -> dict[UUID, UUID] | str:
    """Begins the fetches of all entries, or answers the address of the form."""
    with changing_for(held, caller) as owner:
        if tenants.find(owner, caller.tenant_name).regulated:
            return _connect(held, owner, entries, refresh, customer_ip)
        return _redirect(held, owner, entries, refresh, customer_ip)


def _connect(
    held: Services, owner: Owner, entries: dict[str, NewAccess], refresh: bool, customer_ip: str | None
) -> dict[UUID, UUID]:
    if refresh and all(entry.provider_id is None and entry.credentials is None for entry in entries.values()):
        return connect.refresh_again(owner, held.settings, _wishes(entries), attended_from=customer_ip)
    wanted = [entry_of(key, entry) for key, entry in entries.items()]
    logins = connect.open_entries(owner, held.vault, held.connectors, wanted)
    return connect.connect(owner, held.vault, held.settings, logins, refresh=refresh, attended_from=customer_ip)


def entry_of(key: str, entry: NewAccess) -> connect.AccessRequest:
    """What a regulated tenant wants to be connected."""
    if entry.provider_id is None or entry.credentials is None:
        raise Problem(400, "providerId und credentials: beide werden gebraucht")
    try:
        provider_id = UUID(entry.provider_id)
    except ValueError as error:
        raise Problem(400, "providerId: ist ungültig") from error
    return connect.AccessRequest(key, provider_id, entry.credentials, _wish(entry))


def _wish(entry: NewAccess) -> connect.AccessOptions:
    return connect.AccessOptions(entry.sync, "selected" in entry.model_fields_set, entry.selected)


def _wishes(entries: dict[str, NewAccess]) -> dict[str, connect.AccessOptions]:
    return {key: _wish(entry) for key, entry in entries.items()}


def _redirect(
    held: Services, owner: Owner, entries: dict[str, NewAccess], refresh: bool, customer_ip: str | None
) -> dict[UUID, UUID] | str:
    """What a redirect tenant may do: send an empty object and be sent to the form, or refresh what its customer has connected."""
    for entry in entries.values():
        entry_into_form.refuse_login(providerId=entry.provider_id, credentials=entry.credentials)
        if entry.sync is False:
            raise Problem(400, "sync: muss true sein")
    if refresh:
        return connect.refresh_again(owner, held.settings, _wishes(entries), attended_from=customer_ip)
    if len(entries) != 1:
        raise Problem(400, "Je Anfrage kann nur ein Bankzugang über das Formular angelegt werden.")
    key = next(iter(entries))
    if any(access.key == key for access in accesses.visible(owner)):
        raise NameTaken("access")
    return entry_into_form.begin(held, owner, redirect_sessions.CREATE_ACCOUNT, access_key=key, ip=customer_ip)
