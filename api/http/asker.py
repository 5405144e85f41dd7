"""For whom a request asks: the tenant and its member, by which scarce resources are shared (`FairSlots`).

It belongs to the task of the request, so that no route has to pass it on and none can forget to. Before the token or secret of a
request is checked, it is the tenant that had the same one last (`RequestTurns`). It decides about turns only, never about access.
"""

from collections.abc import Hashable
from contextvars import ContextVar

from warehouse.runtime.fair_slots import STRANGERS

_asker: ContextVar[tuple[Hashable, Hashable]] = ContextVar("asker", default=(STRANGERS, None))


def set_asker(tenant: Hashable, member: Hashable) -> None:
    """From now on the request takes its turns as this member of this tenant."""
    _asker.set((tenant, member))


def name_stranger(member: Hashable) -> None:
    """A request of no known tenant takes its turns as this member of the strangers; any other keeps its tenant."""
    if _asker.get()[0] is STRANGERS:
        _asker.set((STRANGERS, member))


def asker() -> tuple[Hashable, Hashable]:
    """The tenant and the member for whom the current request asks."""
    return _asker.get()
