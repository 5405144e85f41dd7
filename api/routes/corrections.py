"""Routes by which customers correct the category of a booking, named by its product or by its id alone."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from analytics import trees
from api.customer import AccessKey, Modifies, ProductKey, changing_for, user_of
from api.http.errors import misnamed, wrong
from api.http.responses import empty_response
from api.http.route import router
from api.routes.transactions import NAME, BookingKey, booking_id
from api.schemas.base import Flag
from api.schemas.corrections import ItemInput, TransactionPut
from api.schemas.languages import Text
from api.services import AppServices
from pipelines.results import corrections
from warehouse.stores import accesses, products

routes = router("/customer/v2/bankzugaenge/{access}/{product}", "Customer")
platform = router("/ai/v1", "Analysis platform")
TREE = "CATEGORIES"
NO_CATEGORY = Text("ist keine Kategorie, die eine Buchung haben kann", "is not a category that a booking can have")
ChangeExisting = Annotated[
    Flag, Query(alias="changeExisting", description="also all that there are of the same counterparty (name and IBAN)")
]
CreateRule = Annotated[Flag, Query(alias="createRule", description="also all of the same counterparty that are to come")]


@routes.put(f"/{NAME}/{{transaction}}", response_class=Response)
async def update_category(
    access: AccessKey,
    product: ProductKey,
    transaction: BookingKey,
    choice: TransactionPut,
    caller: Modifies,
    services: AppServices,
    change_existing: ChangeExisting = False,
    create_rule: CreateRule = False,
) -> Response:
    """Makes a category the customer's own choice for a booking. It must fit the sign of the amount."""
    item = category_of(choice.tags, "tags")

    def change() -> None:
        with changing_for(services, caller) as owner:
            product_row = products.find(owner, accesses.find(owner, access), product)
            states = corrections.choose(
                owner,
                booking_id(transaction),
                item,
                product=product_row.id,
                change_existing=change_existing,
                create_rule=create_rule,
                recent=services.recent_tags,
            )
        services.recent_tags.carry(user_of(caller), states)

    await services.changes.insist(change)
    return empty_response()


@platform.put("/transactions/{transaction}", response_class=Response)
async def update_transaction(
    transaction: BookingKey,
    choice: TransactionPut,
    caller: Modifies,
    services: AppServices,
    change_existing: ChangeExisting = False,
    create_rule: CreateRule = False,
) -> Response:
    """Makes a category the customer's own choice for a booking of which only the id is known."""
    item = category_of(choice.tags, "tags")

    def change() -> None:
        with changing_for(services, caller) as owner:
            states = corrections.choose(
                owner,
                booking_id(transaction),
                item,
                change_existing=change_existing,
                create_rule=create_rule,
                recent=services.recent_tags,
            )
        services.recent_tags.carry(user_of(caller), states)

    await services.changes.insist(change)
    return empty_response()


@platform.delete("/transactions/{transaction}/tags", response_class=Response)
async def delete_choice(
    transaction: BookingKey, caller: Modifies, services: AppServices, change_existing: ChangeExisting = False
) -> Response:
    """Takes the customer's own choice back: what is recognised, or what a rule says, holds again."""

    def change() -> None:
        with changing_for(services, caller) as owner:
            recent = services.recent_tags
            states = corrections.retract(owner, booking_id(transaction), change_existing=change_existing, recent=recent)
        recent.carry(user_of(caller), states)

    await services.changes.insist(change)
    return empty_response()


def category_of(choice: ItemInput, field: str) -> str:
    """The system name of the category that a request names; main categories and sums are refused."""
    if choice.tag_tree.system_name != TREE:
        text = Text("nur {tree} kann geändert werden", "only {tree} can be changed")
        raise wrong(f"{field}.tagTree.systemName", text, sent_value=choice.tag_tree.system_name, tree=TREE)
    categories = trees.tree("CATEGORIES")
    item = categories.by_name.get(choice.system_name)
    if item is None or not item.assignable:
        names = (category.system_name for category in categories.assignable)
        raise misnamed(f"{field}.systemName", NO_CATEGORY, "body", choice.system_name, names)
    return item.system_name
