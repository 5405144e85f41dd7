"""For whom a request asks: the tenant and its member, by which scarce resources are shared (`FairSlots`).

It belongs to the task of the request, so that no route has to pass it on and none can forget to. It decides about turns only,
never about access.
"""

from collections.abc import Hashable
from contextvars import ContextVar

STRANGERS = None
"""The tenant of all whose tenant is not known (yet). Together they have the share of one tenant."""
_asker: ContextVar[tuple[Hashable, Hashable]] = ContextVar("asker", default=(STRANGERS, None))


def set_asker(tenant: Hashable, member: Hashable) -> None:
    """From now on the request takes its turns as this member of this tenant."""
    _asker.set((tenant, member))


def asker() -> tuple[Hashable, Hashable]:
    """The tenant and the member for whom the current request asks."""
    return _asker.get()
