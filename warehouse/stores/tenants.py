"""The store of tenants and their settings."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from warehouse.errors import CallbackRefused, Invalid, NotFound
from warehouse.inputs import naming
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, CallbackUrl, Tenant, Token, User


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


@dataclass(frozen=True)
class TenantSummary:
    """A tenant with the numbers of its users and accesses, and of the accesses whose last fetch had a fault."""

    tenant: Tenant
    users: int
    accesses: int
    failing_accesses: int


def summaries(owner: Owner, *, offset: int = 0, limit: int = 1) -> list[TenantSummary]:
    """Tenants that the owner may see, by name."""
    of_tenant = Access.tenant_id == Tenant.id
    statement = owner.rows(Tenant).add_columns(
        select(func.count()).where(User.tenant_id == Tenant.id, User.active).scalar_subquery(),
        select(func.count()).where(of_tenant).scalar_subquery(),
        select(func.count()).where(of_tenant, func.jsonb_array_length(Access.issues) > 0).scalar_subquery(),
    )
    rows = owner.session.execute(statement.order_by(Tenant.name).offset(offset).limit(limit))
    return [TenantSummary(*row) for row in rows]


def disable(owner: Owner) -> None:
    """Disables the tenant and deletes all tokens of its clients and users, so that enabling it revives none."""
    _lock(owner).active = False
    owner.session.execute(delete(Token).where(Token.tenant_id == owner.tenant))


def enable(owner: Owner) -> None:
    """Enables the disabled tenant."""
    _lock(owner).active = True


def lock_corrections(owner: Owner) -> None:
    """Blocks other changes of the rules of the tenant until this transaction ends."""
    owner.session.execute(owner.rows(Tenant).with_only_columns(Tenant.id).with_for_update(key_share=True))


def touch(owner: Owner) -> None:
    """Raises the revision of the tenant: the results of all its users become stale."""
    owner.session.execute(update(Tenant).where(Tenant.id == owner.tenant).values(revision=Tenant.revision + 1))


def add_callback(owner: Owner, url: str) -> str:
    """Adds an address to the allow-list of the tenant; returns it as stored."""
    address = naming.callback_url(url)
    owner.session.execute(insert(CallbackUrl).values(tenant_id=owner.tenant, url=address).on_conflict_do_nothing())
    return address


def remove_callback(owner: Owner, url: str) -> None:
    """Removes an address from the allow-list of the tenant."""
    condition = (CallbackUrl.tenant_id == owner.tenant, CallbackUrl.url == naming.callback_url(url))
    if not owner.session.scalars(delete(CallbackUrl).where(*condition).returning(CallbackUrl.url)).all():
        raise NotFound(f"callback address {url}")


def check_callback(owner: Owner, url: str) -> str:
    """A callback address, normalised as browsers do. If there is an allow-list, it must be one of its addresses or below one."""
    try:
        address = naming.return_url(url)
    except Invalid as error:
        raise CallbackRefused from error
    bases = callbacks(owner)
    if bases and not any(naming.is_below(address, base) for base in bases):
        raise CallbackRefused
    return address


def check_opener(owner: Owner, value: str) -> str:
    """The origin of a page that opens the form in a window of its own. It must be that of an address of the allow-list, without
    which nobody may.
    """
    try:
        page_origin = naming.origin(value)
    except Invalid as error:
        raise CallbackRefused from error
    if not any(naming.is_origin_of(page_origin, base) for base in callbacks(owner)):
        raise CallbackRefused
    return page_origin


def callbacks(owner: Owner) -> list[str]:
    """The allow-list of the tenant."""
    return [row.url for row in owner.session.scalars(owner.rows(CallbackUrl).order_by(CallbackUrl.url))]


def _lock(owner: Owner) -> Tenant:
    """The tenant, locked so that nothing begins in it until this transaction ends."""
    return owner.session.scalars(owner.for_tenant(owner.tenant).rows(Tenant).with_for_update()).one()
