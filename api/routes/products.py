"""Products and positions of a customer."""

from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from analytics.products import WITH_POSITIONS, ProductCategory
from api.bodies.customers import english_product, position_body, product_body
from api.http.responses import answer
from api.http.route import router
from api.routes.accesses import AccessKey, Reads, reading_for
from api.schemas.accesses import EnglishProductBody, PositionBody, ProductBody
from api.services import Held
from warehouse.errors import NotFound
from warehouse.stores import accesses, products

routes = router("/customer/v2/bankzugaenge/{access}", "Customer")
platform = router("/ai/v1", "Analysis platform")
ProductKey = Annotated[str, Path(examples=["DE02120300000000202051"])]


@routes.get("/{product}", response_model=ProductBody)
def get_product(access: AccessKey, product: ProductKey, caller: Reads, held: Held) -> Response:
    """One product."""
    with reading_for(held, caller) as owner:
        found = accesses.find(owner, access)
        return answer(held, product_body(held, caller, found, products.find(owner, found, product)))


@routes.get("/{product}/depotpositionen", response_model=list[PositionBody])
def list_positions(access: AccessKey, product: ProductKey, caller: Reads, held: Held) -> Response:
    """The securities in a depot. A product that is no depot has none to show."""
    with reading_for(held, caller) as owner:
        found = products.find(owner, accesses.find(owner, access), product)
        if ProductCategory(found.category) not in WITH_POSITIONS:
            raise NotFound("positions")
        return answer(held, [position_body(position) for position in products.positions(owner, found)])


@platform.get("/products", response_model=list[EnglishProductBody])
def list_english_products(caller: Reads, held: Held) -> Response:
    """All products of the customer in the English-named form."""
    with reading_for(held, caller) as owner:
        found = accesses.visible(owner)
        below = products.visible(owner, found)
        return answer(held, [english_product(held, caller, access, product) for access in found for product in below[access.id]])
