"""The webhooks of a tenant, the events that were sent to them, and sending some again."""

from starlette.responses import Response

from api.console.formats import number
from api.console.pages import (
    ActionCell,
    Cell,
    FactSheet,
    IdCell,
    LinkCell,
    Listing,
    PlainCell,
    PostAction,
    StateCell,
    TimeCell,
)
from api.console.tenant_pages import address_of, show_secret, show_tenant_page
from api.console.visits import PAGE_ROWS, Visit, back_to, page
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.postgres.audit_log import Deed
from warehouse.stores import clients, deliveries, webhooks
from warehouse.stores.webhooks import EventState, SentEvent, WebhookSummary

DROPPED_DAYS = 7
MAX_SERIAL_DIGITS = 18


@page("/tenants/{tenant}/webhooks", scopes.CLIENTS_READ)
def list_webhooks(visit: Visit) -> Response:
    """The webhooks of a tenant."""
    t, window = visit.t, visit.window()
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        rows = webhooks.summaries(owner, dropped_days=DROPPED_DAYS)[window.offset :][: window.limit]
    columns = (
        t("Client", "Client"),
        t("Stand", "State"),
        t("Adresse", "Address"),
        t("Ereignisse", "Events"),
        t("warten", "waiting"),
        t("verworfen (7 Tage)", "dropped (7 days)"),
    )
    listing = Listing(
        t("Webhooks", "Webhooks"),
        columns,
        [
            (
                LinkCell(hook.client, address_of(tenant.name, "webhooks", hook.client)),
                _hook_state(visit, hook),
                IdCell(hook.webhook.url),
                PlainCell(number(hook.webhook.serial, visit.language), is_number=True),
                PlainCell(number(hook.pending, visit.language), is_number=True),
                PlainCell(number(hook.dropped, visit.language), is_number=True),
            )
            for hook in rows[:PAGE_ROWS]
        ],
        t("Kein Client dieses Mandanten hat einen Webhook.", "No client of this tenant has a webhook."),
        visit.pager(window, len(rows)),
    )
    return show_tenant_page(visit, tenant, "webhooks", [listing])


@page("/tenants/{tenant}/webhooks/{client}", scopes.CLIENTS_READ)
def list_deliveries(visit: Visit) -> Response:
    """A webhook with the events that were sent to it."""
    t, window, name, sees_users = visit.t, visit.window(), visit.path_value("client"), visit.may(scopes.USERS_READ)
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        client = clients.find(owner, name)
        hooks = {hook.client: hook for hook in webhooks.summaries(owner, dropped_days=DROPPED_DAYS)}
        rows = webhooks.latest_events(owner, client, offset=window.offset, limit=window.limit)
    hook = hooks[name]
    address = address_of(tenant.name, "webhooks", name)
    warning = t(
        "Bis zum Ende der Überlappung wird auch mit dem alten Geheimnis signiert.",
        "Until the overlap ends, events are signed with the old secret too.",
    )
    rotate = PostAction(t("Geheimnis erneuern", "Rotate secret"), f"{address}/rotate", warning)
    facts: list[tuple[str, Cell]] = [
        (t("Client", "Client"), IdCell(f"{tenant.name}/{name}")),
        (t("Adresse", "Address"), IdCell(hook.webhook.url)),
        (t("Stand", "State"), _hook_state(visit, hook)),
        (t("Arten", "Types"), PlainCell(", ".join(hook.webhook.types))),
    ]
    columns = [t("Nr.", "No."), t("Art", "Type"), t("Stand", "State"), t("entstanden", "created"), t("Versuche", "attempts")]
    all_again = PostAction(
        t("Alle verworfenen erneut senden", "Send all dropped ones again"),
        f"{address}/replay",
        t("Gesendet wird mit den alten Nummern, in ihrer Reihenfolge.", "They are sent with their old numbers, in order."),
    )
    listing = Listing(
        t("Zustellungen", "Deliveries"),
        [*columns, *([t("Benutzer", "User"), t("Zugang", "Access")] if sees_users else []), t("Aktionen", "Actions")],
        [
            (
                PlainCell(number(event.serial, visit.language), is_number=True),
                IdCell(event.type),
                _event_state(visit, event),
                TimeCell(event.created_at),
                PlainCell(number(event.attempts, visit.language), is_number=True),
                *((IdCell(str(event.user_id or "–")), IdCell(event.access_key or "–")) if sees_users else ()),
                ActionCell(_event_actions(visit, hook, event, address)),
            )
            for event in rows[:PAGE_ROWS]
        ],
        t("Es wurde noch nichts gesendet.", "Nothing was sent yet."),
        visit.pager(window, len(rows)),
        actions=[all_again] if hook.dropped and hook.webhook.enabled and visit.may(scopes.ROLES_ASSIGN) else (),
    )
    sheet = FactSheet(t("Webhook", "Webhook"), facts, [rotate] if visit.may(scopes.ROLES_ASSIGN) else ())
    return show_tenant_page(visit, tenant, "webhooks", [sheet, listing])


@page("/tenants/{tenant}/webhooks/{client}/replay", scopes.ROLES_ASSIGN, "POST")
def replay_dropped(visit: Visit) -> Response:
    """Sends all dropped events of a webhook again."""
    name = visit.path_value("client")
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        count = deliveries.replay_dropped(owner, clients.find(owner, name), visit.services.settings.webhook_replay_days)
        visit.record(owner, Deed("events_replayed", name, details={"count": count}))
    return back_to(address_of(tenant.name, "webhooks", name), "events_replayed")


@page("/tenants/{tenant}/webhooks/{client}/events/{serial}/replay", scopes.ROLES_ASSIGN, "POST")
def replay_event(visit: Visit) -> Response:
    """Sends one event of a webhook again."""
    name, serial = visit.path_value("client"), visit.path_value("serial")
    if not (serial.isascii() and serial.isdigit() and len(serial) <= MAX_SERIAL_DIGITS):
        raise NotFound("event")
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        deliveries.replay(owner, clients.find(owner, name), int(serial))
        visit.record(owner, Deed("event_replayed", f"{name} {serial}"))
    return back_to(address_of(tenant.name, "webhooks", name), "event_replayed")


@page("/tenants/{tenant}/webhooks/{client}/rotate", scopes.ROLES_ASSIGN, "POST")
def rotate_webhook_secret(visit: Visit) -> Response:
    """A new secret of a webhook, shown once."""
    name, services = visit.path_value("client"), visit.services
    with visit.within(visit.path_value("tenant")) as (owner, tenant):
        overlap_seconds = services.settings.webhook_secret_overlap_seconds
        secret = webhooks.rotate_secret(owner, services.vault, clients.find(owner, name), overlap_seconds)
        visit.record(owner, Deed("webhook_secret_rotated", name))
    lead = visit.t("Das neue Geheimnis des Webhooks von {name}:", "The new secret of the webhook of {name}:", name=name)
    return show_secret(visit, tenant, "webhooks", lead, secret)


def _event_actions(visit: Visit, hook: WebhookSummary, event: SentEvent, address: str) -> list[PostAction]:
    t = visit.t
    may_send = hook.webhook.enabled and event.has_subject and event.state != EventState.PENDING
    if not may_send or not visit.may(scopes.ROLES_ASSIGN):
        return []
    return [PostAction(t("Erneut senden", "Send again"), f"{address}/events/{event.serial}/replay", subject=str(event.serial))]


def _hook_state(visit: Visit, hook: WebhookSummary) -> StateCell:
    if not hook.webhook.enabled:
        return StateCell(visit.t("abgeschaltet", "disabled"), "bad")
    return StateCell(visit.t("aktiv", "active"), "warn" if hook.dropped else "good")


def _event_state(visit: Visit, event: SentEvent) -> StateCell:
    t = visit.t
    states = {
        EventState.PENDING: (t("wartet", "waiting"), "warn"),
        EventState.DELIVERED: (t("zugestellt", "delivered"), "good"),
        EventState.DROPPED: (t("verworfen", "dropped"), "bad"),
    }
    text, tone = states[EventState(event.state)]
    return StateCell(text, tone, t("erneut gesendet", "sent again") if event.replayed_at else None)
