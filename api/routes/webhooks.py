"""Webhooks: a tenant's admin client says where each of its clients wants to be told of new transactions.

There is no scope of its own for this in the interface: setting and ending need the one that changes what clients may do,
reading the one that reads clients.
"""

from typing import Annotated
from urllib.parse import quote

from fastapi import Query
from starlette.responses import Response

from api.http.authorization import TokenKind, needs
from api.http.responses import answer, done, link
from api.http.route import router
from api.routes.management import PREFIX, within
from api.schemas.base import Relation
from api.schemas.webhooks import (
    AccessReference,
    Limit,
    NewWebhook,
    Serial,
    WebhookBody,
    WebhookEventBody,
    WebhookSecretBody,
)
from api.services import Held, Services
from warehouse import scopes
from warehouse.stores import clients, webhooks
from warehouse.stores.callers import Caller
from warehouse.stores.webhooks import Event

PATH = "/tenants/{tenant}/clients/{client}/webhook"
routes = router(PREFIX, "Webhooks")

Reads = Annotated[Caller, needs(scopes.CLIENTS_READ, TokenKind.CLIENT)]
Changes = Annotated[Caller, needs(scopes.ROLES_ASSIGN, TokenKind.CLIENT)]


@routes.put(PATH, response_model=WebhookSecretBody)
def set_webhook(tenant: str, client: str, new: NewWebhook, caller: Changes, held: Held) -> Response:
    """Sets where a client is told, and gives a new secret, once. The numbering goes on; a disabled webhook works again."""
    with within(held, caller, tenant) as owner:
        whose = clients.find(owner, client)
        secret = webhooks.register(owner, held.vault, whose, new.url, held.settings)
        webhook = webhooks.find(owner, whose)
        facts = {"url": webhook.url, "serial": webhook.serial, "enabled": webhook.enabled}
        return answer(held, WebhookSecretBody(**facts, secret=secret, relations=_relations(held, tenant, client)))


@routes.get(PATH, response_model=WebhookBody)
def get_webhook(tenant: str, client: str, caller: Reads, held: Held) -> Response:
    """Where a client is told. The secret is not shown again."""
    with within(held, caller, tenant) as owner:
        webhook = webhooks.find(owner, clients.find(owner, client))
        facts = {"url": webhook.url, "serial": webhook.serial, "enabled": webhook.enabled}
        return answer(held, WebhookBody(**facts, relations=_relations(held, tenant, client)))


@routes.delete(PATH, response_class=Response)
def delete_webhook(tenant: str, client: str, caller: Changes, held: Held) -> Response:
    """Ends the webhook of a client, with its events and secrets."""
    with within(held, caller, tenant) as owner:
        webhooks.remove(owner, clients.find(owner, client))
    return done()


@routes.get(f"{PATH}/events", response_model=list[WebhookEventBody])
def list_webhook_events(
    tenant: str,
    client: str,
    caller: Reads,
    held: Held,
    from_serial: Annotated[Serial, Query(alias="from", description="the first number to list", examples=[1])] = 1,
    limit: Annotated[Limit, Query(description="how many at most", examples=[100])] = 100,
) -> Response:
    """The events of the last 30 days in their order, delivered or not: how a receiver mends a gap."""
    days = held.settings.webhook_replay_days
    with within(held, caller, tenant) as owner:
        found = webhooks.events(owner, clients.find(owner, client), from_serial=from_serial, limit=limit, days=days)
        return answer(held, [_event(held, tenant, event) for event in found])


def _event(held: Services, tenant: str, event: Event) -> WebhookEventBody:
    return WebhookEventBody(
        serial=event.serial,
        tenant=tenant,
        user=event.user_id,
        access=_access(held, event.access_key) if event.access_key is not None else None,
        timestamp=event.created_at,
        state=event.state,
    )


def _access(held: Services, key: str) -> AccessReference:
    return AccessReference(id=key, href=f"{link(held, 'customer', 'v2')}/bankzugaenge/{quote(key, safe='')}")


def _relations(held: Services, tenant: str, client: str) -> list[Relation]:
    root = PREFIX.strip("/").split("/")
    href = link(held, *root, "tenants", tenant, "clients", client, "webhook")
    return [Relation(rel="self", href=href), Relation(rel="events", href=f"{href}/events")]
