"""Webhook routes: a tenant's admin client sets the address at which each client is notified, and of what.

The interface has no scope for webhooks: setting and deleting need the one that assigns roles, reading the one that reads clients.
"""

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from api.http.authorization import TokenKind, needs
from api.http.responses import Links, empty_response, json_response
from api.http.route import router
from api.routes.management import PREFIX, TENANTS, record, within
from api.schemas.base import Relation
from api.schemas.webhooks import Limit, NewWebhook, Serial, WebhookBody, WebhookEventBody, WebhookSecretBody
from api.services import AppServices
from pipelines.webhooks import notices
from warehouse import scopes
from warehouse.postgres.audit_log import Deed
from warehouse.postgres.tables import Webhook
from warehouse.stores import clients, webhooks
from warehouse.stores.callers import Caller
from warehouse.stores.webhooks import Event

PATH = "/tenants/{tenant}/clients/{client}/webhook"
routes = router(PREFIX, "Webhooks")

Reads = Annotated[Caller, needs(scopes.CLIENTS_READ, TokenKind.CLIENT)]
Changes = Annotated[Caller, needs(scopes.ROLES_ASSIGN, TokenKind.CLIENT)]


@routes.put(PATH, response_model=WebhookSecretBody)
def set_webhook(tenant: str, client: str, new: NewWebhook, caller: Changes, services: AppServices) -> Response:
    """Sets where a client is told, and of which types of events; gives a new secret, once. The numbering goes on, and a disabled
    webhook works again.
    """
    with within(services, caller, tenant) as owner:
        client_row = clients.find(owner, client)
        secret = webhooks.register(owner, services.vault, client_row, new.url, services.settings, new.types)
        record(owner, caller, Deed("webhook_set", client))
        facts = _facts(services.links, tenant, client, webhooks.find(owner, client_row))
        return json_response(services.zone, WebhookSecretBody(**facts, secret=secret))


@routes.get(PATH, response_model=WebhookBody)
def get_webhook(tenant: str, client: str, caller: Reads, services: AppServices) -> Response:
    """Where a client is told. The secret is not shown again."""
    with within(services, caller, tenant) as owner:
        webhook = webhooks.find(owner, clients.find(owner, client))
        return json_response(services.zone, WebhookBody(**_facts(services.links, tenant, client, webhook)))


@routes.delete(PATH, response_class=Response)
def delete_webhook(tenant: str, client: str, caller: Changes, services: AppServices) -> Response:
    """Ends the webhook of a client, with its events and secrets."""
    with within(services, caller, tenant) as owner:
        webhooks.remove(owner, clients.find(owner, client))
        record(owner, caller, Deed("webhook_remove", client))
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
    """An event in the words in which it was sent."""
    facts = {"serial": event.serial, "type": event.type, "event": event.type, "tenant": tenant, "state": event.state}
    references = notices.references(event, links.base_url)
    return WebhookEventBody.model_validate({**facts, **references, "timestamp": event.created_at})


def _facts(links: Links, tenant: str, client: str, webhook: Webhook) -> dict[str, Any]:
    """What is shown of a webhook."""
    return {
        "url": webhook.url,
        "types": webhook.types,
        "serial": webhook.serial,
        "enabled": webhook.enabled,
        "relations": _relations(links, tenant, client),
    }


def _relations(links: Links, tenant: str, client: str) -> list[Relation]:
    href = links.to(*TENANTS, tenant, "clients", client, "webhook")
    return [Relation(rel="self", href=href), Relation(rel="events", href=f"{href}/events")]
