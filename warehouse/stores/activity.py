"""Whether those for whom a flow runs are active: its tenant and user, and the client and the API key through which it was begun.

A fetch, a dialogue and a form session each store the client and the API key that began them. A flow of no client (the schedule)
needs some active client that serves the user. Deactivation ends all flows at once (`pipelines/deactivation.py`); these checks
stop what was begun at the same moment.
"""

from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, bindparam, exists, select
from sqlalchemy.orm import InstrumentedAttribute

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import ApiKey, Client, ClientRole, RoleUser, Tenant, User

IS_SERVED = (
    exists()
    .where(RoleUser.user_id == User.id, ClientRole.id == RoleUser.role_id, Client.id == ClientRole.client_id, Client.active)
    .correlate(User)
)
"""Whether a user has a role at an active client: otherwise nobody can read what is fetched."""


def is_active(owner: Owner) -> bool:
    """Whether tenant, user, client and API key of the owner, as far as it has them, are all active."""
    return owner.session.scalar(_statement_for(owner), _ids(owner)) is not None


def lock_active(owner: Owner) -> bool:
    """The same. Until this transaction ends, none of them can be deactivated; other changes of their rows go on."""
    return owner.session.scalar(_statement_for(owner).with_for_update(read=True, key_share=True), _ids(owner)) is not None


def begun_by(owner: Owner, client: InstrumentedAttribute[Any], api_key: InstrumentedAttribute[Any]) -> list[ColumnElement[bool]]:
    """The conditions for flows that were begun through the client and the API key of the owner; none if it has neither."""
    columns = ((client, owner.client_id), (api_key, owner.api_key_id))
    return [column == id_ for column, id_ in columns if id_ is not None]


def _ids(owner: Owner) -> dict[str, UUID | None]:
    ids = {"tenant": owner.tenant, "user": owner.user_id, "client": owner.client_id, "api_key": owner.api_key_id}
    return {name: id_ for name, id_ in ids.items() if id_ is not None}


def _statement_for(owner: Owner) -> Select[Any]:
    return _active_tenant(frozenset(_ids(owner)))


@cache
def _active_tenant(names: frozenset[str]) -> Select[Any]:
    """The id of the tenant; no row if somebody is inactive. Flows ask often, so that each form of it is built once."""
    statement = select(Tenant.id).where(Tenant.id == bindparam("tenant"), Tenant.active)
    if "user" in names:
        statement = statement.join(User, User.tenant_id == Tenant.id).where(User.id == bindparam("user"), User.active)
    if "client" in names:
        statement = statement.join(Client, Client.tenant_id == Tenant.id).where(Client.id == bindparam("client"), Client.active)
    elif "user" in names:
        statement = statement.where(IS_SERVED)
    if "api_key" in names:
        statement = statement.join(ApiKey, ApiKey.tenant_id == Tenant.id).where(ApiKey.id == bindparam("api_key"), ApiKey.active)
    return statement
