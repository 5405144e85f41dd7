"""Tags and analyses of bookings that come with the request: nothing is stored, and no stored data are read."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import orjson
import polars as pl
from fastapi import Body
from pydantic import SkipValidation
from starlette.responses import Response

from analytics.frames import PRODUCTS, TAG_KINDS
from analytics.products import ProductCategory
from api.bodies.tags import tag_texts
from api.http.authorization import TokenKind, needs
from api.http.errors import wrong
from api.http.long_lists import JsonListWriter
from api.http.mistakes import IN_FUTURE
from api.http.negotiation import current_language
from api.http.route import LARGE, router, validated
from api.schemas.analyses import AnalysesBody
from api.schemas.base import cents
from api.schemas.categories import CATEGORIES
from api.schemas.languages import Language, Text
from api.schemas.records import (
    ANALYSES,
    RECORDS,
    AnalysesRequest,
    ProductRecord,
    TaggedRecord,
    TransactionRecord,
    body,
    booking_frame,
    entity_id,
)
from api.services import AppServices, Services
from pipelines.results import live, tags
from pipelines.results.calibration import calibrated_documents, calibration_in_use
from pipelines.results.english import english_document
from warehouse import scopes
from warehouse.stores.callers import Caller

routes = router("/ai/v1", "Analysis platform")
Reads = Annotated[Caller, needs(scopes.CUSTOMER_READ, TokenKind.ANY)]
Records = Annotated[list[TransactionRecord], SkipValidation, Body(description="1 to 10,000 bookings, of any users")]
BATCH_ROWS = 1000
DOCUMENT_NAMES = {
    "contracts": "contracts",
    "cashflow": "cashflow",
    "disposableMoney": "disposable-money",
    "lifeEvents": "life-events",
    "lifeStages": "life-stages",
    "salesTriggers": "sales-triggers",
    "affordability": "affordability",
    "creditRisk": "credit-risk",
}
"""The documents by the fields of the response that carry them."""
IBAN = r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"


@routes.post("/transactions/tags", response_model=list[TaggedRecord], responses={429: {}}, openapi_extra={LARGE: True})
async def tag_records(records: Records, caller: Reads, services: AppServices) -> Response:
    """The same bookings in the same order, each with its tags. Bookings of different users are tagged apart from each other."""
    return await services.compute(caller, _tag, services, caller, records, current_language())


def _tag(services: Services, caller: Caller, content: Any, language: Language) -> Response:
    records = validated(RECORDS, content)
    bookings = booking_frame(records)
    new_tags = tags.tag_unstored(bookings, _products(bookings), caller.tenant_id)
    tagged_bookings = bookings.hstack(new_tags.drop("id", "user", "product"))
    rows = _with_callers_ids(tagged_bookings, records)
    version = tags.version(caller.tenant_id)
    base_url, writer = services.settings.base_url, JsonListWriter()
    for start in range(0, len(records), BATCH_ROWS):
        tag_lists = tag_texts(base_url, rows.slice(start, BATCH_ROWS), TAG_KINDS, version, language)
        batch = records[start : start + BATCH_ROWS]
        writer.add(body(record, orjson.Fragment(text)) for record, text in zip(batch, tag_lists, strict=True))
    return writer.response()


@routes.post("/analyses", response_model=AnalysesBody, responses={429: {}}, openapi_extra={LARGE: True})
async def analyse_records(
    records: Annotated[AnalysesRequest, SkipValidation, Body()], caller: Reads, services: AppServices
) -> Response:
    """All analyses of one user's bookings, each as its own endpoint answers it."""
    return await services.compute(caller, _analyse, services, caller, records, current_language())


def _analyse(services: Services, caller: Caller, content: Any, language: Language) -> Response:
    request = validated(ANALYSES, content)
    today = datetime.now(services.zone).date()
    if request.as_of is not None and request.as_of > today:
        raise wrong("asOf", IN_FUTURE, sent_value=str(request.as_of))
    records = request.transactions
    if len({(record.tenant, record.user) for record in records}) > 1:
        raise wrong("transactions", Text("gehören mehreren Benutzern", "belong to several users"))
    ids = [entity_id(record, place) for place, record in enumerate(records)]
    if len(set(ids)) < len(ids):
        raise wrong("transactions.id", Text("steht mehrfach", "is repeated"))
    bookings = booking_frame(records).with_columns(pl.Series("id", ids), user=pl.lit(records[0].user))
    products = _all_products(request.products, _products(bookings))
    new_tags = tags.tag_unstored(bookings, products, caller.tenant_id)
    tagged_bookings = bookings.hstack(new_tags.drop("id", "user", "product"))
    documents = calibrated_documents(
        live.make_documents_of(tagged_bookings, products, request.as_of or today, services.settings.base_url),
        calibration_in_use(services.settings.home, caller.tenant_id),
    )
    fields = {field: orjson.Fragment(documents[name]) for field, name in DOCUMENT_NAMES.items()}
    body = orjson.dumps(fields)
    return Response(english_document(body) if language == "en" else body, media_type="application/json")


def _all_products(records: Sequence[ProductRecord], booked_products: pl.DataFrame) -> pl.DataFrame:
    """The described products, and those that only bookings name."""
    rows = [
        {
            "user": booked_products["user"][0],
            "product": product.id,
            "category": CATEGORIES.get(product.category or "", ProductCategory.OTHER_ACCOUNT).value,
            "iban": (product.iban or "").replace(" ", "") or None,
            "owner_name": (product.owner or "").strip() or None,
            "balance_cents": None if product.balance is None else cents(product.balance),
        }
        for product in records
    ]
    products = pl.DataFrame(rows, schema=PRODUCTS).unique("product", keep="first", maintain_order=True)
    return pl.concat([products, booked_products.join(products, on="product", how="anti", maintain_order="left")])


def _products(bookings: pl.DataFrame) -> pl.DataFrame:
    """The products that bookings name, of unknown kind; a product named by its IBAN has that IBAN."""
    products = bookings.select("user", "product").unique(maintain_order=True)
    iban = pl.when(pl.col("product").str.contains(IBAN)).then("product")
    columns = products.with_columns(
        category=pl.lit(ProductCategory.OTHER_ACCOUNT.value),
        iban=iban,
        owner_name=pl.lit(None, pl.String),
        balance_cents=pl.lit(None, pl.Int64),
    )
    return columns.select(PRODUCTS.names())


def _with_callers_ids(bookings: pl.DataFrame, records: list[TransactionRecord]) -> pl.DataFrame:
    """The bookings with the ids that the caller uses, also where one booking refers to another."""
    ids = pl.Series([entity_id(record, place) for place, record in enumerate(records)], dtype=pl.String)
    links = {name: ids.gather(bookings[name].cast(pl.UInt32)) for name in ("refund_of", "pair_of")}
    return bookings.with_columns(ids.alias("id"), pl.Series("user", [record.user for record in records], pl.String), **links)
