"""Tags and analyses for bookings that come with the request: nothing is stored, and nothing that is stored is looked at."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

import orjson
import polars as pl
from fastapi import Body
from fastapi.exceptions import RequestValidationError
from pydantic import SkipValidation, TypeAdapter, ValidationError
from starlette.responses import Response

from analytics.frames import PRODUCTS, TAG_KINDS
from analytics.products import ProductCategory
from api.bodies.tags import tag_bodies
from api.http.authorization import TokenKind, needs
from api.http.errors import Problem
from api.http.long_lists import Listed
from api.http.route import LARGE, router
from api.schemas.analyses import AnalysesBody
from api.schemas.categories import CATEGORIES
from api.schemas.records import (
    ANALYSES,
    RECORDS,
    AnalysesRequest,
    ProductRecord,
    TaggedRecord,
    TransactionRecord,
    body,
    bookings,
    entity_id,
)
from api.services import Held, Services
from pipelines.results import live, tags
from pipelines.results.documents.tags import tag_writer
from warehouse import scopes
from warehouse.stores.callers import Caller

routes = router("/ai/v1", "Analysis platform")
Reads = Annotated[Caller, needs(scopes.CUSTOMER_READ, TokenKind.ANY)]
Records = Annotated[list[TransactionRecord], SkipValidation, Body(description="1 to 10,000 bookings, of any users")]
PIECE = 1000
ANALYSES_OF = {
    "contracts": "contracts",
    "cashflow": "cashflow",
    "disposableMoney": "disposable-money",
    "lifeEvents": "life-events",
    "lifeStages": "life-stages",
    "salesTriggers": "sales-triggers",
    "affordability": "affordability",
}
"""The fields of the answer, and the documents in them."""
T = TypeVar("T")
IBAN = r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"


@routes.post("/transactions/tags", response_model=list[TaggedRecord], responses={429: {}}, openapi_extra={LARGE: True})
async def tag_records(records: Records, _caller: Reads, held: Held) -> Response:
    """The same bookings in the same order, each with its tags. Bookings of different users are tagged apart from each other."""
    return await held.tagging.run(_tagged, held, records)


def _tagged(held: Services, given: Any) -> Response:
    records = _checked(RECORDS, given)
    found = bookings(records)
    tagged = found.hstack(tags.tag_unstored(found, _products(found)).drop("id", "user", "product"))
    named = _named(tagged, records)
    writer, version, listed = tag_writer(held.settings.base_url), tags.tagger().version, Listed()
    for start in range(0, len(records), PIECE):
        written = tag_bodies(writer, named.slice(start, PIECE), TAG_KINDS, version)
        listed.add(body(record, of_record) for record, of_record in zip(records[start : start + PIECE], written, strict=True))
    return listed.response()


@routes.post("/analyses", response_model=AnalysesBody, responses={429: {}}, openapi_extra={LARGE: True})
async def analyse_records(records: Annotated[AnalysesRequest, SkipValidation, Body()], _caller: Reads, held: Held) -> Response:
    """All analyses of one user's bookings, each as its own endpoint answers it."""
    return await held.tagging.run(_analysed, held, records)


def _analysed(held: Services, given: Any) -> Response:
    asked = _checked(ANALYSES, given)
    today = datetime.now(held.settings.zone).date()
    if asked.as_of is not None and asked.as_of > today:
        raise Problem(400, "asOf: liegt in der Zukunft")
    records = asked.transactions
    if len({(record.tenant, record.user) for record in records}) > 1:
        raise Problem(400, "transactions: gehören mehreren Benutzern")
    ids = [entity_id(record, place) for place, record in enumerate(records)]
    if len(set(ids)) < len(ids):
        raise Problem(400, "transactions.id: steht mehrfach")
    user = pl.lit(records[0].user)
    found = bookings(records).with_columns(pl.Series("id", ids), user=user)
    owned = _owned(asked.products, _products(found))
    tagged = found.hstack(tags.tag_unstored(found, owned).drop("id", "user", "product"))
    made = live.make_documents_of(tagged, owned, asked.as_of or today, held.settings.base_url)
    whole = {wire: orjson.Fragment(made[name]) for wire, name in ANALYSES_OF.items()}
    return Response(orjson.dumps(whole), media_type="application/json")


def _owned(told: Sequence[ProductRecord], named: pl.DataFrame) -> pl.DataFrame:
    """The products that are told of, and those that only bookings name."""
    rows = [
        {
            "user": named["user"][0],
            "product": product.id,
            "category": CATEGORIES.get(product.category or "", ProductCategory.OTHER_ACCOUNT).value,
            "iban": (product.iban or "").replace(" ", "") or None,
            "owner_name": (product.owner or "").strip() or None,
        }
        for product in told
    ]
    known = pl.DataFrame(rows, schema=PRODUCTS).unique("product", keep="first", maintain_order=True)
    return pl.concat([known, named.join(known, on="product", how="anti", maintain_order="left")])


def _checked(kind: TypeAdapter[T], given: Any) -> T:
    """What was given, or what is wrong with the first thing that is not as it should be."""
    try:
        return kind.validate_python(given)
    except ValidationError as error:
        raise RequestValidationError(
            [{**item, "loc": ("body", *item["loc"])} for item in error.errors(include_context=False)]
        ) from error


def _products(found: pl.DataFrame) -> pl.DataFrame:
    """The products that the bookings name. What they are is not told; one that is called by its IBAN is known by it."""
    known = found.select("user", "product").unique(maintain_order=True)
    iban = pl.when(pl.col("product").str.contains(IBAN)).then("product")
    columns = known.with_columns(
        category=pl.lit(ProductCategory.OTHER_ACCOUNT.value), iban=iban, owner_name=pl.lit(None, pl.String)
    )
    return columns.select(PRODUCTS.names())


def _named(tagged: pl.DataFrame, records: list[TransactionRecord]) -> pl.DataFrame:
    """The bookings by the names that the caller knows, also where one points to another."""
    ids = pl.Series([entity_id(record, place) for place, record in enumerate(records)], dtype=pl.String)
    links = {name: ids.gather(tagged[name].cast(pl.UInt32)) for name in ("refund_of", "pair_of")}
    return tagged.with_columns(ids.alias("id"), pl.Series("user", [record.user for record in records], pl.String), **links)
