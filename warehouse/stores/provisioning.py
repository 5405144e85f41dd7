"""Provisioning of tenants: the tenant, its certificate, an admin client, an application client and its default role."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from warehouse import scopes
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Tenant
from warehouse.secrets import certificates
from warehouse.secrets.vault import Vault
from warehouse.stores import clients, tenants

ADMIN, APP, CUSTOMER = "admin", "app", "customer"


@dataclass(frozen=True)
class NewTenant:
    """A new tenant, with the secrets of its clients by client name. They cannot be shown again."""

    tenant: Tenant
    secrets: dict[str, str]


def create_tenant(
    owner: Owner,
    vault: Vault,
    name: str,
    now: datetime,
    *,
    regulated: bool,
    description: str | None = None,
    callback_urls: Iterable[str] = (),
) -> NewTenant:
    """A tenant that is ready to call the API."""
    tenant = tenants.create(owner, name, regulated=regulated, description=description)
    tenant_owner = owner.for_tenant(tenant.id)
    certificates.create(tenant_owner, vault, name, now)
    for url in callback_urls:
        tenants.add_callback(tenant_owner, url)
    _, admin_secret = clients.create(tenant_owner, ADMIN, scopes.MANAGEMENT, description="Manages users")
    _, app_secret = clients.create(tenant_owner, APP, scopes.CUSTOMER, description="Acts for users")
    clients.create_role(
        tenant_owner, APP, CUSTOMER, scopes.CUSTOMER, default_role=True, description="A customer with own bank accesses"
    )
    return NewTenant(tenant, {ADMIN: admin_secret, APP: app_secret})
