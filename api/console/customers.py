"""The users and accesses of a tenant, by their ids. Names, numbers of accounts and bookings are not shown."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from starlette.responses import Response

from api.console.formats import number
from api.console.pages import (
    ActionCell,
    Cell,
    Filters,
    IdCell,
    LinkCell,
    Listing,
    PlainCell,
    PostAction,
    StateCell,
    TimeCell,
)
from api.console.tenant_pages import active_state, address_of, id_in_path, show_tenant_page
from api.console.visits import PAGE_ROWS, Visit, back_to, page
from api.schemas.codes import CATALOGUE
from api.schemas.languages import say
from pipelines import deactivation
from pipelines.banks.base import Code
from warehouse import scopes
from warehouse.postgres.audit_log import Deed
from warehouse.postgres.tables import Access, Tenant, User
from warehouse.stores import accesses, users


@page("/tenants/{tenant}/users", scopes.USERS_READ)
def list_users(visit: Visit) -> Response:
    """The users of a tenant by their ids."""
    t, window = visit.t, visit.window()
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        rows = users.page(owner, offset=window.offset, limit=window.limit)
    columns = (
        t("Benutzer", "User"),
        t("Stand", "State"),
        t("angelegt", "created"),
        t("Zugänge", "Accesses"),
        t("Daten vom", "Data of"),
        t("Aktionen", "Actions"),
    )
    listing = Listing(
        t("Benutzer", "Users"),
        columns,
        [
            (
                LinkCell(str(user.id), f"{address_of(tenant.name, 'accesses')}?user={user.id}"),
                active_state(visit, user.active),
                TimeCell(user.created_at),
                PlainCell(number(count, visit.language), is_number=True),
                PlainCell(_day(visit, user)),
                ActionCell(_user_actions(visit, tenant, user)),
            )
            for user, count in rows[:PAGE_ROWS]
        ],
        t("Dieser Mandant hat noch keinen Benutzer.", "This tenant has no user yet."),
        visit.pager(window, len(rows)),
        lead=t("Namen und Kontodaten zeigt die Konsole nicht.", "The console shows neither names nor bank data."),
    )
    return show_tenant_page(visit, tenant, "users", [listing])


@page("/tenants/{tenant}/users/{user}/deactivate", scopes.USERS_CREATE, "POST")
def deactivate_user(visit: Visit) -> Response:
    """Deactivates a user: tokens, fetches, consents, payments and forms end at once."""
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        user_id = id_in_path(visit, "user")
        deactivation.deactivate_user(owner, user_id)
        visit.record(owner, Deed("user_deactivated", user_id=user_id))
    return back_to(address_of(tenant.name, "users"), "user_deactivated")


@page("/tenants/{tenant}/accesses", scopes.USERS_READ)
def list_accesses(visit: Visit) -> Response:
    """The accesses of a tenant with their states and last faults."""
    t, window, query = visit.t, visit.window(), visit.request.query_params
    user_text, failing_only = query.get("user", "").strip(), query.get("failing") == "1"
    user_id = None
    with suppress(ValueError):
        user_id = UUID(user_text) if user_text else None
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        rows: Sequence[tuple[Access, str]] = ()
        if user_id is not None or not user_text:  # anything but an id is the id of nobody
            rows = accesses.page(owner, offset=window.offset, limit=window.limit, user_id=user_id, failing_only=failing_only)
    filters = Filters(
        t("Auswahl", "Selection"),
        address_of(tenant.name, "accesses"),
        [("user", t("Id des Benutzers", "Id of the user"), user_text)],
        [("failing", t("nur mit Fehler", "only with faults"), failing_only)],
        t("Anzeigen", "Show"),
    )
    columns = (
        t("Zugang", "Access"),
        t("Benutzer", "User"),
        t("Bank", "Bank"),
        t("Stand", "State"),
        t("Daten vom", "Data of"),
        t("letzter Fehler", "last fault"),
        t("Zustimmung bis", "consent until"),
    )
    listing = Listing(
        t("Zugänge", "Accesses"),
        columns,
        [
            (
                IdCell(access.key),
                IdCell(str(access.user_id)),
                PlainCell(bank),
                _access_state(visit, access),
                TimeCell(access.fetched_at),
                _fault(visit, access),
                TimeCell(access.consent_ends_at),
            )
            for access, bank in rows[:PAGE_ROWS]
        ],
        t("Kein Zugang passt zur Auswahl.", "No access fits the selection."),
        visit.pager(window, len(rows)),
    )
    return show_tenant_page(visit, tenant, "accesses", [filters, listing])


def _user_actions(visit: Visit, tenant: Tenant, user: User) -> list[PostAction]:
    t = visit.t
    if not user.active or not visit.may(scopes.USERS_CREATE):
        return []
    warning = t(
        "Token, Abrufe, Zustimmungen, Zahlungen und Formulare des Benutzers enden sofort. Aktivieren geht nur über die"
        " Schnittstelle, mit neuem Passwort.",
        "Tokens, fetches, consents, payments and forms of the user end at once. Activating again takes the interface and a new"
        " password.",
    )
    address = address_of(tenant.name, "users", str(user.id), "deactivate")
    return [PostAction(t("Deaktivieren", "Deactivate"), address, warning, subject=str(user.id)[:8])]


def _day(visit: Visit, user: User) -> str:
    if user.refreshed_on is None:
        return "–"
    return f"{user.refreshed_on:%Y-%m-%d}" if visit.language == "en" else f"{user.refreshed_on:%d.%m.%Y}"


def _access_state(visit: Visit, access: Access) -> StateCell:
    """The state that matters most: a running fetch, what the customer has to do, a fault, or that all is well."""
    t = visit.t
    if access.fetch_id is not None:
        return StateCell(t("wird abgerufen", "being fetched"))
    if _has_ended(visit.now, access.consent_ends_at):
        return StateCell(t("Zustimmung abgelaufen", "consent ended"), "bad")
    if access.waits_for_customer:
        return StateCell(t("wartet auf Kunden", "waits for customer"), "warn")
    if access.issues:
        return StateCell(t("Fehler", "fault"), "bad")
    return StateCell(t("in Ordnung", "well"), "good")


def _has_ended(now: datetime, moment: datetime | None) -> bool:
    return moment is not None and moment <= now


def _fault(visit: Visit, access: Access) -> Cell:
    """The first fault of the last fetch: its code and our text for it, not the words of the bank, which may be personal."""
    codes = [Code(issue["code"]) for issue in access.issues]
    if not codes:
        return PlainCell("–")
    return PlainCell(codes[0].value, note=say(CATALOGUE[codes[0]].title, visit.language))
