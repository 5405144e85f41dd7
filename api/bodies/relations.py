"""Which relations a caller is shown: only those that work with its token and for its tenant."""

from collections.abc import Iterable

from api.schemas.base import Relation
from warehouse.scopes import CUSTOMER_MODIFY, CUSTOMER_TRANSFER
from warehouse.stores.callers import Caller

CHANGES = ("add_bankzugaenge", "delete_bankzugaenge", "delete_bankzugang", "delete_regprotect_sessions", "start_sca")
PAYMENTS = ("start_ueberweisung", "initiate_single_transfer", "initiate_bulk_transfer")
MOVES = ("set_method", "set_medium", "submit_text_tan")
NEEDED = {**dict.fromkeys(CHANGES, CUSTOMER_MODIFY), **dict.fromkeys(PAYMENTS, CUSTOMER_TRANSFER)}
NOT_IN_THE_FORM = ("start_ueberweisung", "initiate_bulk_transfer")
"""What tenants that use the redirect form may not do."""


def offered(caller: Caller, relations: Iterable[Relation]) -> list[Relation]:
    """The relations of a customer, an access or a product that the caller can follow."""
    allowed = (relation for relation in relations if caller.regulated or relation.rel not in NOT_IN_THE_FORM)
    return [relation for relation in allowed if relation.rel not in NEEDED or NEEDED[relation.rel] in caller.scopes]


def offered_moves(caller: Caller, relations: Iterable[Relation]) -> list[Relation]:
    """The relations of a consent that the caller can follow. (Who may see a payment may also move it.)"""
    return [relation for relation in relations if relation.rel not in MOVES or CUSTOMER_MODIFY in caller.scopes]
