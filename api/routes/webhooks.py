"""Webhook routes: a tenant's admin client sets the address at which each client is notified of new transactions.

The interface has no scope for webhooks: setting and deleting need the one that assigns roles, reading the one that reads clients.
"""

from typing import Annotated
from urllib.parse import quote

from fastapi import Query
from starlette.responses import Response

from api.http.authorization import TokenKind, needs
from api.http.responses import Links, empty_response, json_response
from api.http.route import router
from api.routes.management import PREFIX, TENANTS, within
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
from api.services import AppServices
from warehouse import scopes
from warehouse.stores import clients, webhooks
from warehouse.stores.callers import Caller
from warehouse.stores.webhooks import Event

PATH = "/tenants/{tenant}/clients/{client}/webhook"
routes = router(PREFIX, "Webhooks")

Reads = Annotated[Caller, needs(scopes.CLIENTS_READ, TokenKind.CLIENT)]
Changes = Annotated[Caller, needs(scopes.ROLES_ASSIGN, TokenKind.CLIENT)]


@routes.put(PATH, response_model=WebhookSecretBody)
def set_webhook(tenant: str, client: str, new: NewWebhook, caller: Changes, services: AppServices) -> Response:
    """Sets where a client is told, and gives a new secret, once. The numbering goes on; a disabled webhook works again."""
    with within(services, caller, tenant) as owner:
        client_row = clients.find(owner, client)
        secret = webhooks.register(owner, services.vault, client_row, new.url, services.settings)
        webhook = webhooks.find(owner, client_row)
        facts = {"url": webhook.url, "serial": webhook.serial, "enabled": webhook.enabled}
        return json_response(
            services.zone, WebhookSecretBody(**facts, secret=secret, relations=_relations(services.links, tenant, client))
        )


@routes.get(PATH, response_model=WebhookBody)
def get_webhook(tenant: str, client: str, caller: Reads, services: AppServices) -> Response:
    """Where a client is told. The secret is not shown again."""
    with within(services, caller, tenant) as owner:
        webhook = webhooks.find(owner, clients.find(owner, client))
        facts = {"url": webhook.url, "serial": webhook.serial, "enabled": webhook.enabled}
        return json_response(services.zone, WebhookBody(**facts, relations=_relations(services.links, tenant, client)))


@routes.delete(PATH, response_class=Response)
def delete_webhook(tenant: str, client: str, caller: Changes, services: AppServices) -> Response:
    """Ends the webhook of a client, with its events and secrets."""
    with within(services, caller, tenant) as owner:
        webhooks.remove(owner, clients.find(owner, client))
    return empty_response()


@routes.get(f"{PATH}/events", response_model=list[WebhookEventBody])
def list_webhook_events(
    tenant: str,
    client: str,
    caller: Reads,
    services: AppServices,
    from_serial: Annotated[Serial, Query(alias="from", description="the first number to list", examples=[1])] = 1,
    limit: Annotated[Limit, Query(description="how many at most", examples=[100])] = 100,
) -> Response:
    """The events of the last 30 days in their order, delivered or not: how a receiver mends a gap."""
    days = services.settings.webhook_replay_days
    with within(services, caller, tenant) as owner:
        events = webhooks.events(owner, clients.find(owner, client), from_serial=from_serial, limit=limit, days=days)
        return json_response(services.zone, [_event(services.links, tenant, event) for event in events])


def _event(links: Links, tenant: str, event: Event) -> WebhookEventBody:
    return WebhookEventBody(
        serial=event.serial,
        tenant=tenant,
        user=event.user_id,
        access=_access(links, event.access_key) if event.access_key is not None else None,
        timestamp=event.created_at,
        state=event.state,
    )


def _access(links: Links, key: str) -> AccessReference:
    return AccessReference(id=key, href=f"{links.to('customer', 'v2')}/bankzugaenge/{quote(key, safe='')}")


def _relations(links: Links, tenant: str, client: str) -> list[Relation]:
    href = links.to(*TENANTS, tenant, "clients", client, "webhook")
    return [Relation(rel="self", href=href), Relation(rel="events", href=f"{href}/events")]
