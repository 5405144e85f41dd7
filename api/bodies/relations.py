"""Which relations a caller sees: only those that work with its token and for its tenant."""

from collections.abc import Iterable

from api.schemas.base import Relation
from warehouse.scopes import CUSTOMER_MODIFY, CUSTOMER_TRANSFER
from warehouse.stores.callers import Caller

CHANGES = (
    *("add_bankzugaenge", "delete_bankzugaenge", "delete_bankzugang", "delete_regprotect_sessions", "start_sca"),
    *("add_kontoauszug", "add_bankprodukt", "change_bankprodukt", "delete_bankprodukt"),
)
PAYMENTS = ("start_ueberweisung", "initiate_single_transfer", "initiate_bulk_transfer")
MOVES = ("set_method", "set_medium", "submit_text_tan", "confirm_payee")
REQUIRED_SCOPES = {**dict.fromkeys(CHANGES, CUSTOMER_MODIFY), **dict.fromkeys(PAYMENTS, CUSTOMER_TRANSFER)}
REGULATED_ONLY = ("start_ueberweisung", "initiate_bulk_transfer")
"""Relations that redirect tenants may not use."""


def usable_relations(caller: Caller, relations: Iterable[Relation]) -> list[Relation]:
    """The relations of a customer, an access or a product that the caller may use."""
    allowed = (relation for relation in relations if caller.regulated or relation.rel not in REGULATED_ONLY)
    return [
        relation for relation in allowed if relation.rel not in REQUIRED_SCOPES or REQUIRED_SCOPES[relation.rel] in caller.scopes
    ]


def usable_moves(caller: Caller, relations: Iterable[Relation]) -> list[Relation]:
    """The relations of a consent that the caller may use. (A caller who may see a payment may also continue it.)"""
    return [relation for relation in relations if relation.rel not in MOVES or CUSTOMER_MODIFY in caller.scopes]
