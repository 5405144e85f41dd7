"""The store of tenants and their settings."""

from collections.abc import Sequence

from sqlalchemy import delete, update
from sqlalchemy.dialects.postgresql import insert

from warehouse import naming
from warehouse.errors import CallbackRefused, Invalid, NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import CallbackUrl, Tenant


def create(owner: Owner, name: str, *, regulated: bool, description: str | None = None) -> Tenant:
    """A new tenant."""
    return owner.add(Tenant(name=naming.segment(name), regulated=regulated, description=description), f"tenant {name}")


def find(owner: Owner, name: str) -> Tenant:
    """The tenant of this name, if the owner may see it."""
    tenant = owner.session.scalar(owner.rows(Tenant).where(Tenant.name == name))
    if tenant is None:
        raise NotFound(f"tenant {name}")
    return tenant


def visible(owner: Owner) -> Sequence[Tenant]:
    """All tenants that the owner may see: its own, or all for the operator."""
    return owner.session.scalars(owner.rows(Tenant).order_by(Tenant.name)).all()


def lock_corrections(owner: Owner) -> None:
    """Lets no other change of what the tenant says for its users happen until this transaction ends."""
    owner.session.execute(owner.rows(Tenant).with_only_columns(Tenant.id).with_for_update(key_share=True))


def touch(owner: Owner) -> None:
    """Raises the tenant's revision: what was computed for any of its users is stale."""
    owner.session.execute(update(Tenant).where(Tenant.id == owner.tenant).values(revision=Tenant.revision + 1))


def add_callback(owner: Owner, url: str) -> str:
    """Puts an address on the tenant's allow-list; answers it as it is stored."""
    address = naming.callback_url(url)
    owner.session.execute(insert(CallbackUrl).values(tenant_id=owner.tenant, url=address).on_conflict_do_nothing())
    return address


def remove_callback(owner: Owner, url: str) -> None:
    """Takes an address off the tenant's allow-list."""
    condition = (CallbackUrl.tenant_id == owner.tenant, CallbackUrl.url == naming.callback_url(url))
    if not owner.session.scalars(delete(CallbackUrl).where(*condition).returning(CallbackUrl.url)).all():
        raise NotFound(f"callback address {url}")


def check_callback(owner: Owner, url: str) -> str:
    """A callback address of this tenant as a browser would open it: at or below one of the allow-list, if there is one."""
    try:
        address = naming.return_url(url)
    except Invalid as error:
        raise CallbackRefused from error
    allowed = callbacks(owner)
    if allowed and not any(naming.is_below(address, base) for base in allowed):
        raise CallbackRefused
    return address


def callbacks(owner: Owner) -> list[str]:
    """The tenant's allow-list."""
    return [row.url for row in owner.session.scalars(owner.rows(CallbackUrl).order_by(CallbackUrl.url))]
