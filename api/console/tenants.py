"""The pages of tenants, their programs and their API keys, and what can be done about them.

Every change calls the function that the interface or the command line calls, in one transaction with its entry in the audit log.
"""

from starlette.responses import RedirectResponse, Response

from api.console.formats import number
from api.console.pages import (
    ActionCell,
    ActionChoice,
    Cell,
    ConsolePage,
    FactSheet,
    IdCell,
    LinkCell,
    Listing,
    PlainCell,
    PostAction,
    TimeCell,
)
from api.console.roles import CLIENTS_CHANGE, TENANTS_CHANGE
from api.console.tenant_pages import active_state, address_of, id_in_path, show_secret, show_tenant_page
from api.console.visits import PAGE_ROWS, Visit, back_to, page
from pipelines import deactivation
from warehouse import scopes
from warehouse.errors import Invalid
from warehouse.postgres.audit_log import Deed
from warehouse.postgres.tables import ApiKey, Client, Tenant
from warehouse.stores import api_keys, clients, tenants

OVERLAP_HOURS = ("0", "24", "168")
HOUR_SECONDS = 3600


@page("/tenants", scopes.TENANTS_READ)
def list_tenants(visit: Visit) -> Response:
    """All tenants; somebody who has one is led there."""
    if not visit.is_operator:
        return RedirectResponse(address_of(visit.user.tenant_name or ""), 303)
    t, window = visit.t, visit.window()
    with visit.services.database.surveying() as operator:
        rows = tenants.summaries(operator, offset=window.offset, limit=window.limit)
    columns = (
        t("Mandant", "Tenant"),
        t("Stand", "State"),
        t("Art", "Kind"),
        t("Benutzer", "Users"),
        t("Zugänge", "Accesses"),
        t("mit Fehler", "with faults"),
    )
    listing = Listing(
        t("Alle Mandanten", "All tenants"),
        columns,
        [
            (
                LinkCell(row.tenant.name, address_of(row.tenant.name)),
                active_state(visit, row.tenant.active),
                PlainCell(_kind(visit, row.tenant)),
                PlainCell(number(row.users, visit.language), is_number=True),
                PlainCell(number(row.accesses, visit.language), is_number=True),
                PlainCell(number(row.failing_accesses, visit.language), is_number=True),
            )
            for row in rows[:PAGE_ROWS]
        ],
        t(
            "Es gibt noch keinen Mandanten. Legen Sie einen an: kontor tenant create NAME",
            "There is no tenant yet. Create one: kontor tenant create NAME",
        ),
        visit.pager(window, len(rows)),
    )
    return visit.show(ConsolePage(t("Mandanten", "Tenants"), [listing], "tenants"))


@page("/tenants/{tenant}", scopes.TENANTS_READ)
def show_tenant(visit: Visit) -> Response:
    """One tenant in numbers, and its switch."""
    t = visit.t
    with visit.within(visit.path_value("tenant")) as (owner, _):
        (summary,) = tenants.summaries(owner)
        callbacks = tenants.callbacks(owner)
    tenant = summary.tenant
    facts: list[tuple[str, Cell]] = [
        (t("Stand", "State"), active_state(visit, tenant.active)),
        (t("Art", "Kind"), PlainCell(_kind(visit, tenant))),
        (t("Beschreibung", "Description"), PlainCell(tenant.description or "–")),
        (t("Aktive Benutzer", "Active users"), PlainCell(number(summary.users, visit.language))),
        (t("Zugänge", "Accesses"), PlainCell(number(summary.accesses, visit.language))),
        (t("Zugänge mit Fehler", "Accesses with faults"), PlainCell(number(summary.failing_accesses, visit.language))),
        (t("Rückkehradressen", "Callback addresses"), PlainCell(", ".join(callbacks) or t("keine Liste", "no list"))),
    ]
    return show_tenant_page(visit, tenant, "", [FactSheet(t("Angaben", "Details"), facts, _tenant_actions(visit, tenant))])


@page("/tenants/{tenant}/disable", TENANTS_CHANGE, "POST")
def disable_tenant(visit: Visit) -> Response:
    """Disables a tenant: its logins are refused, and everything begun for it ends."""
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        deactivation.disable_tenant(owner)
        visit.record(owner, Deed("tenant_disabled", tenant.name))
    return back_to(address_of(tenant.name), "tenant_disabled")


@page("/tenants/{tenant}/enable", TENANTS_CHANGE, "POST")
def enable_tenant(visit: Visit) -> Response:
    """Enables a disabled tenant."""
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        tenants.enable(owner)
        visit.record(owner, Deed("tenant_enabled", tenant.name))
    return back_to(address_of(tenant.name), "tenant_enabled")


@page("/tenants/{tenant}/clients", scopes.CLIENTS_READ)
def list_clients(visit: Visit) -> Response:
    """The programs of a tenant."""
    t, window = visit.t, visit.window()
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        rows = list(clients.visible(owner))[window.offset :][: window.limit]
    columns = (t("Client", "Client"), t("Stand", "State"), t("Rechte", "Scopes"), t("Rollen", "Roles"), t("Aktionen", "Actions"))
    listing = Listing(
        t("Clients", "Clients"),
        columns,
        [
            (
                IdCell(f"{tenant.name}/{client.name}"),
                active_state(visit, client.active),
                PlainCell(", ".join(scope.removeprefix("http://service/") for scope in client.granted_scopes) or "–"),
                PlainCell(", ".join(role.name for role in client.roles) or "–"),
                ActionCell(_client_actions(visit, tenant, client)),
            )
            for client in rows[:PAGE_ROWS]
        ],
        t("Dieser Mandant hat keinen Client.", "This tenant has no client."),
        visit.pager(window, len(rows)),
    )
    return show_tenant_page(visit, tenant, "clients", [listing])


@page("/tenants/{tenant}/clients/{client}/disable", CLIENTS_CHANGE, "POST")
def disable_client(visit: Visit) -> Response:
    """Disables a client: its tokens and everything begun through it end."""
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        deactivation.disable_client(owner, visit.path_value("client"))
        visit.record(owner, Deed("client_disabled", visit.path_value("client")))
    return back_to(address_of(tenant.name, "clients"), "client_disabled")


@page("/tenants/{tenant}/clients/{client}/enable", CLIENTS_CHANGE, "POST")
def enable_client(visit: Visit) -> Response:
    """Enables a disabled client."""
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        clients.enable(owner, visit.path_value("client"))
        visit.record(owner, Deed("client_enabled", visit.path_value("client")))
    return back_to(address_of(tenant.name, "clients"), "client_enabled")


@page("/tenants/{tenant}/clients/{client}/rotate", CLIENTS_CHANGE, "POST")
def rotate_client_secret(visit: Visit) -> Response:
    """A new secret of a client, shown once. The old one stays valid for the overlap that was chosen."""
    hours, name = visit.form_fields.get("overlap", "0"), visit.path_value("client")
    if hours not in OVERLAP_HOURS:
        raise Invalid("overlap")
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        secret = clients.rotate_secret(owner, name, overlap_seconds=int(hours) * HOUR_SECONDS)
        visit.record(owner, Deed("client_secret_rotated", name, details={"overlap_hours": int(hours)}))
    lead = visit.t("Das neue Geheimnis von {name}:", "The new secret of {name}:", name=f"{tenant.name}/{name}")
    return show_secret(visit, tenant, "clients", lead, secret)


@page("/tenants/{tenant}/keys", scopes.CLIENTS_READ)
def list_keys(visit: Visit) -> Response:
    """The API keys of a tenant; whose they are is told only to those who may see users."""
    t, window, sees_users = visit.t, visit.window(), visit.may(scopes.USERS_READ)
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        rows = api_keys.page(owner, offset=window.offset, limit=window.limit)
    columns = [t("Schlüssel", "Key"), t("Client", "Client"), t("Stand", "State"), t("angelegt", "created")]
    listing = Listing(
        t("API-Schlüssel", "API keys"),
        [*columns, *([t("Benutzer", "User")] if sees_users else []), t("Aktionen", "Actions")],
        [
            (
                IdCell(str(key.id)),
                PlainCell(client, note=key.description),
                active_state(visit, key.active),
                TimeCell(key.created_at),
                *([IdCell(str(key.user_id))] if sees_users else []),
                ActionCell(_key_actions(visit, tenant, key)),
            )
            for key, client in rows[:PAGE_ROWS]
        ],
        t("Dieser Mandant hat keinen API-Schlüssel.", "This tenant has no API key."),
        visit.pager(window, len(rows)),
    )
    return show_tenant_page(visit, tenant, "keys", [listing])


@page("/tenants/{tenant}/keys/{key}/disable", CLIENTS_CHANGE, "POST")
def disable_key(visit: Visit) -> Response:
    """Disables an API key: its tokens and everything begun with them end."""
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        key, _, user = api_keys.find(owner, id_in_path(visit, "key"))
        deactivation.disable_api_key(owner, key.id)
        visit.record(owner, Deed("key_disabled", str(key.id), user_id=user.id))
    return back_to(address_of(tenant.name, "keys"), "key_disabled")


@page("/tenants/{tenant}/keys/{key}/enable", CLIENTS_CHANGE, "POST")
def enable_key(visit: Visit) -> Response:
    """Enables a disabled API key."""
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        key, _, user = api_keys.find(owner, id_in_path(visit, "key"))
        api_keys.enable(owner, key.id)
        visit.record(owner, Deed("key_enabled", str(key.id), user_id=user.id))
    return back_to(address_of(tenant.name, "keys"), "key_enabled")


@page("/tenants/{tenant}/keys/{key}/rotate", CLIENTS_CHANGE, "POST")
def rotate_key(visit: Visit) -> Response:
    """A new API key in place of one, shown once. The old one is disabled."""
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        old_id = id_in_path(visit, "key")
        new_key, secret = deactivation.replace_api_key(owner, old_id)
        details = {"new_key": str(new_key.id)}
        visit.record(owner, Deed("key_rotated", str(old_id), user_id=new_key.user_id, details=details))
    lead = visit.t("Der neue Schlüssel an Stelle von {key}:", "The new key in place of {key}:", key=str(old_id))
    return show_secret(visit, tenant, "keys", lead, secret)


def _tenant_actions(visit: Visit, tenant: Tenant) -> list[PostAction]:
    t, address = visit.t, address_of(tenant.name)
    if not visit.may(TENANTS_CHANGE):
        return []
    if not tenant.active:
        return [PostAction(t("Freigeben", "Enable"), f"{address}/enable")]
    warning = t(
        "Anmeldungen werden abgelehnt; Token, Abrufe, Dialoge mit Banken und Formulare aller Benutzer enden sofort.",
        "Logins are refused; tokens, fetches, dialogues with banks and forms of all users end at once.",
    )
    return [PostAction(t("Sperren", "Disable"), f"{address}/disable", warning)]


def _client_actions(visit: Visit, tenant: Tenant, client: Client) -> list[PostAction]:
    t, address = visit.t, address_of(tenant.name, "clients", client.name)
    if not visit.may(CLIENTS_CHANGE):
        return []
    if not client.active:
        return [PostAction(t("Freigeben", "Enable"), f"{address}/enable", subject=client.name)]
    overlaps = {
        "0": t("gar nicht", "not at all"),
        "24": t("einen Tag", "one day"),
        "168": t("sieben Tage", "seven days"),
    }
    choice = ActionChoice(
        "overlap",
        t("Das alte Geheimnis gilt noch", "The old secret stays valid"),
        [(hours, overlaps[hours]) for hours in OVERLAP_HOURS],
    )
    shown_once = t("Das neue Geheimnis wird einmal gezeigt.", "The new secret is shown once.")
    ends = t(
        "Token und alles, was über den Client begonnen wurde, enden sofort.",
        "Tokens and everything begun through the client end at once.",
    )
    return [
        PostAction(t("Geheimnis erneuern", "Rotate secret"), f"{address}/rotate", shown_once, choice=choice, subject=client.name),
        PostAction(t("Sperren", "Disable"), f"{address}/disable", ends, subject=client.name),
    ]


def _key_actions(visit: Visit, tenant: Tenant, key: ApiKey) -> list[PostAction]:
    t, address, subject = visit.t, address_of(tenant.name, "keys", str(key.id)), str(key.id)[:8]
    if not visit.may(CLIENTS_CHANGE):
        return []
    if not key.active:
        return [PostAction(t("Freigeben", "Enable"), f"{address}/enable", subject=subject)]
    ends = t(
        "Token und alles, was mit dem Schlüssel begonnen wurde, enden sofort.",
        "Tokens and everything begun with the key end at once.",
    )
    shown_once = t(
        "Der neue Schlüssel wird einmal gezeigt, der alte gesperrt.", "The new key is shown once, the old one is disabled."
    )
    return [
        PostAction(t("Erneuern", "Rotate"), f"{address}/rotate", f"{shown_once} {ends}", subject=subject),
        PostAction(t("Sperren", "Disable"), f"{address}/disable", ends, subject=subject),
    ]


def _kind(visit: Visit, tenant: Tenant) -> str:
    return visit.t("reguliert", "regulated") if tenant.regulated else visit.t("mit Formular", "redirect")
