"""Routes of the products and positions of a customer."""

from starlette.responses import Response

from analytics.products import WITH_POSITIONS, ProductCategory
from api.bodies.customers import english_product, position_body, product_body
from api.customer import AccessKey, ProductKey, Reads, reading_for
from api.http.errors import Problem
from api.http.responses import json_response
from api.http.route import router
from api.schemas.accesses import EnglishProductBody, PositionBody, ProductBody
from api.services import AppServices
from warehouse.errors import NotFound
from warehouse.stores import accesses, products

routes = router("/customer/v2/bankzugaenge/{access}", "Customer")
platform = router("/ai/v1", "Analysis platform")
CONSENT = "consent"


@routes.get("/{product}", response_model=ProductBody)
def get_product(access: AccessKey, product: ProductKey, caller: Reads, services: AppServices) -> Response:
    """One product."""
    if product == CONSENT:  # the address of `start_sca`, which is no product
        raise Problem(405)
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
