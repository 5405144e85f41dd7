"""The number that names the state of all that a user's tags and analyses rest on, except the knowledge they are made with."""

from sqlalchemy import select

from warehouse.database import Owner
from warehouse.tables import Tenant, User


def current(owner: Owner) -> int:
    """Grows with every change of the user's data and wishes, and of the tenant's rules.

    A sum, so that a rule of a tenant does not have to be written into the rows of all its users.
    """
    both = select(User.revision + Tenant.revision).join(Tenant, Tenant.id == User.tenant_id)
    return owner.session.scalars(both.where(User.tenant_id == owner.tenant, User.id == owner.user_id)).one()
