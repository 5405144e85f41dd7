"""Routes of the customer and of bank accesses: read, add, refresh, delete."""

from typing import Annotated
from uuid import UUID

from fastapi import Body, Query
from pydantic import StringConstraints
from starlette.responses import Response

from api.bodies.customers import access_body, accesses_body, customer_body, issues_body
from api.customer import (
    AccessKey,
    CustomerIp,
    Modifies,
    Reads,
    access_options,
    access_request,
    changing_for,
    reading_for,
    require_selection,
    user_of,
)
from api.http.errors import Problem, wrong
from api.http.responses import created_response, empty_response, json_response
from api.http.route import router
from api.schemas.accesses import (
    ACCESS_KEY,
    ACCESSES,
    MAX_ENTRIES,
    AccessBodies,
    AccessBody,
    CustomerBody,
    IssuesBody,
    NewAccess,
)
from api.schemas.base import Flag, shape
from api.schemas.languages import Text
from api.services import AppServices, Services
from api.webform import entry as form_entry
from pipelines.fetching import connect
from warehouse.errors import NameTaken
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access
from warehouse.stores import accesses, products, redirect_sessions, tenants
from warehouse.stores.callers import Caller

routes = router("/customer/v2", "Customer")
USERS_ID = Text(
    "Die Id eines Bankzugangs darf nicht die des Benutzers sein.", "The id of an access must not be the id of the user."
)
ONE_AT_A_TIME = Text(
    "Je Anfrage kann nur ein Bankzugang über das Formular angelegt werden.",
    "Only one access per request can be added through the form.",
)
Entries = Annotated[
    dict[Annotated[str, StringConstraints(pattern=ACCESS_KEY)], NewAccess],
    shape("NewAccesses", min_length=1, max_length=MAX_ENTRIES),
    Body(examples=[{"0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10": {"providerId": "00000000-0000-0000-0000-000000000000"}}]),
]


@routes.get("", response_model=CustomerBody)
def get_customer(caller: Reads, services: AppServices) -> Response:
    """The customer with all accesses and their products."""
    with reading_for(services, caller) as owner:
        rows = accesses.visible(owner)
        return json_response(services.zone, customer_body(services.links, caller, rows, products.visible(owner, rows)))


@routes.get("/bankzugaenge", response_model=AccessBodies)
def list_accesses(caller: Reads, services: AppServices) -> Response:
    """All accesses by their ids."""
    with reading_for(services, caller) as owner:
        rows = accesses.visible(owner)
        return json_response(services.zone, accesses_body(services.links, caller, rows, products.visible(owner, rows)))


@routes.post(
    "/bankzugaenge",
    status_code=201,
    response_class=Response,
    responses={404: {}, 409: {}, 429: {}, 451: {"description": "The customer must go through the redirect form at `Location`."}},
)
async def add_accesses(
    entries: Entries,
    caller: Modifies,
    services: AppServices,
    refresh: Annotated[Flag, Query(description="fetch again what exists already")] = False,
    customer_ip: CustomerIp = None,
) -> Response:
    """Adds accesses, or fetches known ones again. Answers when the header data are there; bookings follow in the background."""
    if str(caller.user_id) in entries:
        raise Problem(400, USERS_ID)
    outcome = await services.changes.insist(_begin, services, caller, entries, refresh, customer_ip)
    if isinstance(outcome, str):
        return form_entry.redirect_response(outcome)
    await services.arrivals.wait(outcome)
    if not caller.regulated and (
        form_url := await services.changes.insist(_ask_for_login, services, caller, entries, customer_ip)
    ):
        return form_entry.redirect_response(form_url)
    key = next(iter(entries))
    return created_response(services.links.to(*ACCESSES, key) if len(entries) == 1 else services.links.to(*ACCESSES))


@routes.delete("/bankzugaenge", response_class=Response)
async def delete_accesses(caller: Modifies, services: AppServices) -> Response:
    """Deletes all accesses with everything that was fetched."""
    await services.changes.insist(connect.disconnect, services.database, caller.tenant_id, user_of(caller))
    return empty_response()


@routes.get("/bankzugaenge/{access}", response_model=AccessBody)
def get_access(access: AccessKey, caller: Reads, services: AppServices) -> Response:
    """One access with its products."""
    with reading_for(services, caller) as owner:
        row = accesses.find(owner, access)
        return json_response(services.zone, access_body(services.links, caller, row, products.visible(owner, [row])[row.id]))


@routes.delete("/bankzugaenge/{access}", response_class=Response)
async def delete_access(access: AccessKey, caller: Modifies, services: AppServices) -> Response:
    """Deletes an access with everything that was fetched."""
    await services.changes.insist(connect.disconnect, services.database, caller.tenant_id, user_of(caller), access)
    return empty_response()


@routes.get("/bankzugaenge/{access}/issues", response_model=IssuesBody)
def get_issues(access: AccessKey, caller: Reads, services: AppServices) -> Response:
    """What went wrong in the latest attempt to fetch an access; no messages if nothing did."""
    with reading_for(services, caller) as owner:
        return json_response(services.zone, issues_body(services.links, caller, accesses.find(owner, access)))


@routes.delete("/regprotect/sessions", response_class=Response)
def delete_redirect_sessions(caller: Modifies, services: AppServices) -> Response:
    """Ends all ways through the redirect form that were begun for the user."""
    with services.database.acting_for(caller.tenant_id, user_of(caller)) as owner:
        redirect_sessions.end_all(owner)
    return empty_response()


def _begin(
    services: Services, caller: Caller, entries: dict[str, NewAccess], refresh: bool, customer_ip: str | None
) -> dict[UUID, UUID] | str:
    """The fetches started for the entries, by access; or the address of the form, for a redirect tenant."""
    with changing_for(services, caller) as owner:
        if tenants.find(owner, caller.tenant_name).regulated:
            return _connect(services, owner, entries, refresh, customer_ip)
        return _redirect(services, owner, entries, refresh, customer_ip)


def _connect(
    services: Services, owner: Owner, entries: dict[str, NewAccess], refresh: bool, customer_ip: str | None
) -> dict[UUID, UUID]:
    if refresh and all(entry.provider_id is None and entry.credentials is None for entry in entries.values()):
        for entry in entries.values():
            require_selection(entry)
        return connect.refresh_again(owner, services.vault, services.settings, _options(entries), attended_from=customer_ip)
    requests = [access_request(key, entry) for key, entry in entries.items()]
    logins = connect.open_entries(owner, services.vault, services.connectors, requests)
    return connect.connect(owner, services.vault, services.settings, logins, refresh=refresh, attended_from=customer_ip)


def _redirect(
    services: Services, owner: Owner, entries: dict[str, NewAccess], refresh: bool, customer_ip: str | None
) -> dict[UUID, UUID] | str:
    """What a redirect tenant may do: send its customer to the form with an empty object, or refresh connected accesses."""
    for entry in entries.values():
        form_entry.refuse_login(providerId=entry.provider_id, credentials=entry.credentials)
        if entry.sync is False:
            raise wrong("sync", Text("muss true sein", "must be true"), sent_value=entry.sync)
    if refresh:
        refused = _refused_logins(owner, entries)
        if len(refused) == len(entries):
            return form_entry.begin_renewal(services, owner, refused[0], ip=customer_ip)
        options = {key: option for key, option in _options(entries).items() if all(access.key != key for access in refused)}
        return connect.refresh_again(owner, services.vault, services.settings, options, attended_from=customer_ip)
    if len(entries) != 1:
        raise Problem(400, ONE_AT_A_TIME)
    key = next(iter(entries))
    if any(access.key == key for access in accesses.visible(owner)):
        raise NameTaken("access")
    return form_entry.begin(services, owner, redirect_sessions.CREATE_ACCOUNT, access_key=key, ip=customer_ip)


def _ask_for_login(services: Services, caller: Caller, entries: dict[str, NewAccess], customer_ip: str | None) -> str | None:
    """The address of the form, if fetches that have just ended show that no login of these accesses works: a redirect tenant has
    none to send.
    """
    with changing_for(services, caller) as owner:
        refused = _refused_logins(owner, entries)
        return form_entry.begin_renewal(services, owner, refused[0], ip=customer_ip) if len(refused) == len(entries) else None


def _refused_logins(owner: Owner, entries: dict[str, NewAccess]) -> list[Access]:
    """The accesses of a request whose stored login does not work."""
    return [access for access in accesses.visible(owner) if access.key in entries and connect.needs_login(access)]


def _options(entries: dict[str, NewAccess]) -> dict[str, connect.AccessOptions]:
    return {key: access_options(entry) for key, entry in entries.items()}
