"""What all pages of one tenant share: their addresses, their tabs, and the page of a secret that is shown once."""

from collections.abc import Sequence
from uuid import UUID

from starlette.responses import Response

from api.console import render
from api.console.pages import (
    Block,
    ConsolePage,
    SecretNote,
    StateCell,
)
from api.console.visits import Visit
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.postgres.tables import Tenant

TENANTS = f"{render.ROOT}/tenants"


def address_of(tenant: str, *segments: str) -> str:
    return "/".join((TENANTS, tenant, *segments))


def show_tenant_page(visit: Visit, tenant: Tenant, tab: str, blocks: Sequence[Block]) -> Response:
    """A page of a tenant, with its tabs."""
    t = visit.t
    tabs = [
        ("", scopes.TENANTS_READ, t("Mandant", "Tenant")),
        ("clients", scopes.CLIENTS_READ, t("Clients", "Clients")),
        ("keys", scopes.CLIENTS_READ, t("Schlüssel", "Keys")),
        ("users", scopes.USERS_READ, t("Benutzer", "Users")),
        ("accesses", scopes.USERS_READ, t("Zugänge", "Accesses")),
        ("webhooks", scopes.CLIENTS_READ, t("Webhooks", "Webhooks")),
    ]
    links = [
        (text, address_of(tenant.name, *filter(None, [name])), name == tab) for name, scope, text in tabs if visit.may(scope)
    ]
    crumbs = [(t("Mandanten", "Tenants"), TENANTS)] if visit.is_operator else []
    return visit.show(ConsolePage(tenant.name, blocks, "tenants", crumbs, links))


def show_secret(visit: Visit, tenant: Tenant, tab: str, lead: str, secret: str) -> Response:
    heading = visit.t("Nur jetzt zu sehen", "Shown this once")
    return show_tenant_page(visit, tenant, tab, [SecretNote(heading, lead, secret)])


def id_in_path(visit: Visit, name: str) -> UUID:
    """An id in the address; anything but a UUID names nothing."""
    try:
        return UUID(visit.path_value(name))
    except ValueError as error:
        raise NotFound(name) from error


def active_state(visit: Visit, is_active: bool) -> StateCell:
    return StateCell(visit.t("aktiv", "active"), "good") if is_active else StateCell(visit.t("gesperrt", "disabled"), "bad")
