"""What customers say about the category of a booking, by its place or by its id alone."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from starlette.responses import Response

from analytics import trees
from api.http.errors import Problem
from api.http.responses import done
from api.http.route import router
from api.routes.accesses import AccessKey, Modifies, changing_for
from api.routes.products import ProductKey
from api.routes.transactions import NAME
from api.schemas.base import Flag
from api.schemas.corrections import ItemInput, TransactionPut
from api.services import Held
from pipelines.results import corrections
from warehouse.errors import NotFound
from warehouse.stores import accesses, products

routes = router("/customer/v2/bankzugaenge/{access}/{product}", "Customer")
platform = router("/ai/v1", "Analysis platform")
TREE = "CATEGORIES"
BookingKey = Annotated[str, Path(examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"])]
Alike = Annotated[
    Flag, Query(alias="changeExisting", description="also all that there are of the same counterparty (name and IBAN)")
]
ToCome = Annotated[Flag, Query(alias="createRule", description="also all of the same counterparty that are to come")]


@routes.put(f"/{NAME}/{{transaction}}", response_class=Response)
async def update_category(
    access: AccessKey,
    product: ProductKey,
    transaction: BookingKey,
    wished: TransactionPut,
    caller: Modifies,
    held: Held,
    change_existing: Alike = False,
    create_rule: ToCome = False,
) -> Response:
    """Makes a category the customer's own choice for a booking. It must fit the sign of the amount."""
    item = wished_category(wished.tags, "tags")

    def change() -> None:
        with changing_for(held, caller) as owner:
            found = products.find(owner, accesses.find(owner, access), product)
            flags = {"change_existing": change_existing, "create_rule": create_rule}
            corrections.choose(owner, _id(transaction), item, product=found.id, **flags)

    await held.changes.insist(change)
    return done()


@platform.put("/transactions/{transaction}", response_class=Response)
async def update_transaction(
    transaction: BookingKey,
    wished: TransactionPut,
    caller: Modifies,
    held: Held,
    change_existing: Alike = False,
    create_rule: ToCome = False,
) -> Response:
    """Makes a category the customer's own choice for a booking of which only the id is known."""
    item = wished_category(wished.tags, "tags")

    def change() -> None:
        with changing_for(held, caller) as owner:
            corrections.choose(owner, _id(transaction), item, change_existing=change_existing, create_rule=create_rule)

    await held.changes.insist(change)
    return done()


@platform.delete("/transactions/{transaction}/tags", response_class=Response)
async def delete_choice(transaction: BookingKey, caller: Modifies, held: Held, change_existing: Alike = False) -> Response:
    """Takes the customer's own choice back: what is recognised, or what a rule says, holds again."""

    def change() -> None:
        with changing_for(held, caller) as owner:
            corrections.retract(owner, _id(transaction), change_existing=change_existing)

    await held.changes.insist(change)
    return done()


def wished_category(given: ItemInput, field: str) -> str:
    """The system name of the category that a request names; groups of categories and sums are none that a booking can have."""
    if given.tag_tree.system_name != TREE:
        raise Problem(400, f"{field}.tagTree.systemName: nur {TREE} kann geändert werden")
    item = trees.tree("CATEGORIES").by_name.get(given.system_name)
    if item is None or not item.assignable:
        raise Problem(400, f"{field}.systemName: ist keine Kategorie, die eine Buchung haben kann")
    return item.system_name


def _id(value: str) -> UUID:
    """The id of a booking; one that is not even a UUID names none."""
    try:
        return UUID(value)
    except ValueError as error:
        raise NotFound("transaction") from error
