"""Routes of the products and positions of a customer: read, and kept by the tenant itself where there is no bank."""

from datetime import UTC, datetime, time
from typing import Annotated, Any

from fastapi import Body
from starlette.responses import Response

from analytics.products import WITH_POSITIONS, ProductCategory
from api.bodies.customers import english_product, position_body, product_body
from api.customer import AccessKey, Modifies, ProductKey, Reads, changing_for, reading_for
from api.http.errors import Problem
from api.http.responses import created_response, empty_response, json_response
from api.http.route import router
from api.schemas.accesses import ACCESSES, EnglishProductBody, PositionBody, ProductBody
from api.schemas.base import cents
from api.schemas.categories import CATEGORIES
from api.schemas.own_products import OPERATIONS, PRODUCTS, NewProduct, ProductChange
from api.services import AppServices, Services
from pipelines.fetching import own_products
from pipelines.fetching.own_products import OwnProducts
from warehouse.errors import NotFound
from warehouse.stores import accesses, products

routes = router("/customer/v2/bankzugaenge/{access}", "Customer")
platform = router("/ai/v1", "Analysis platform")
TEXT_COLUMNS = ("currency", "iban", "bic", "blz", "account_number", "bank_name")
NewProductBody = Annotated[
    NewProduct, Body(examples=[{"id": "kasse", "bezeichnung": "Bargeldkasse", "kategorie": "SONSTIGESKONTO", "saldo": 120.5}])
]
ProductChangeBody = Annotated[ProductChange, Body(examples=[{"saldo": 98.2, "saldoDatum": "2026-11-15 00:00:00"}])]


@routes.post(f"/{PRODUCTS}", status_code=201, response_class=Response, responses={409: {}})
async def add_product(access: AccessKey, product: NewProductBody, caller: Modifies, services: AppServices) -> Response:
    """Adds a product to an access without a bank, for bookings and balances that the tenant pushes."""

    def add() -> str:
        with changing_for(services, caller) as owner:
            columns = {"owner_name": "", **_columns(services, product)}
            return own_products.add(owner, _place(services, access), product.key, columns)

    return created_response(services.links.to(*ACCESSES, access, await services.changes.insist(add)))


@routes.patch("/{product}", response_class=Response, responses={409: {}})
async def change_product(
    access: AccessKey, product: ProductKey, changes: ProductChangeBody, caller: Modifies, services: AppServices
) -> Response:
    """Changes a product of an access without a bank: its name, kind, balance or numbers."""
    _require_product(product)

    def change() -> None:
        with changing_for(services, caller) as owner:
            own_products.change(owner, _place(services, access), product, _columns(services, changes))

    await services.changes.insist(change)
    return empty_response()


@routes.delete("/{product}", response_class=Response, responses={409: {}})
async def delete_product(access: AccessKey, product: ProductKey, caller: Modifies, services: AppServices) -> Response:
    """Deletes a product of an access without a bank, with its bookings."""
    _require_product(product)

    def remove() -> None:
        with changing_for(services, caller) as owner:
            own_products.remove(owner, _place(services, access), product)

    await services.changes.insist(remove)
    return empty_response()


@routes.get("/{product}", response_model=ProductBody)
def get_product(access: AccessKey, product: ProductKey, caller: Reads, services: AppServices) -> Response:
    """One product."""
    _require_product(product)
    with reading_for(services, caller) as owner:
        access_row = accesses.find(owner, access)
        product_row = products.find(owner, access_row, product)
        return json_response(services.zone, product_body(services.links, caller, access_row, product_row))


@routes.get("/{product}/depotpositionen", response_model=list[PositionBody])
def list_positions(access: AccessKey, product: ProductKey, caller: Reads, services: AppServices) -> Response:
    """The securities in a depot. A product that is no depot has none to show."""
    with reading_for(services, caller) as owner:
        row = products.find(owner, accesses.find(owner, access), product)
        if ProductCategory(row.category) not in WITH_POSITIONS:
            raise NotFound("positions")
        return json_response(services.zone, [position_body(position) for position in products.positions(owner, row)])


@platform.get("/products", response_model=list[EnglishProductBody])
def list_english_products(caller: Reads, services: AppServices) -> Response:
    """All products of the customer in the English-named form."""
    with reading_for(services, caller) as owner:
        rows = accesses.visible(owner)
        rows_by_access = products.visible(owner, rows)
        pairs = [(access, product) for access in rows for product in rows_by_access[access.id]]
        return json_response(services.zone, [english_product(services.links, caller, *pair) for pair in pairs])


def _require_product(key: str) -> None:
    """Raises 405 for the address of an operation, which is no product."""
    if key in OPERATIONS:
        raise Problem(405)


def _place(services: Services, access: str) -> OwnProducts:
    return OwnProducts(services.settings, access, datetime.now(UTC))


def _columns(services: Services, product: ProductChange) -> dict[str, Any]:
    """The columns that a body sets. What a product must have cannot be emptied; a balance without a day is today's."""
    fields = product.model_fields_set | ({"currency"} if isinstance(product, NewProduct) else set())
    columns: dict[str, Any] = {name: getattr(product, name) for name in TEXT_COLUMNS if name in fields}
    if product.currency is None:
        columns.pop("currency", None)
    if product.name is not None:
        columns["name"] = product.name
    if product.category is not None:
        columns["category"] = str(CATEGORIES[product.category])
    if "owner_name" in fields:
        columns["owner_name"] = product.owner_name or ""
    if "balance" in fields:
        day = product.balance_on or datetime.now(services.zone).date()
        columns["balance_cents"] = None if product.balance is None else cents(product.balance)
        columns["balance_at"] = None if product.balance is None else datetime.combine(day, time(), services.zone)
    return columns
