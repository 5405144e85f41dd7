"""Tags for bookings that come with the request: nothing is stored, and nothing that is stored is looked at."""

from typing import Annotated, Any

import polars as pl
from fastapi import Body
from fastapi.exceptions import RequestValidationError
from pydantic import SkipValidation, ValidationError
from starlette.responses import Response

from analytics.frames import PRODUCTS, TAGGERS
from analytics.products import Category
from api.access import Kind, needs
from api.lists import Listed
from api.route import LARGE, router
from api.schemas.records import RECORDS, TaggedRecord, TransactionRecord, body, bookings, entity_id
from api.services import Held, Services
from api.tags import tag_bodies
from pipelines import tags
from pipelines.documents.tags import tag_writer
from warehouse import scopes
from warehouse.callers import Caller

routes = router("/ai/v1/transactions", "Analysis platform")
Reads = Annotated[Caller, needs(scopes.CUSTOMER_READ, Kind.ANY)]
Records = Annotated[list[TransactionRecord], SkipValidation, Body(description="1 to 10,000 bookings, of any users")]
PIECE = 1000
IBAN = r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"


@routes.post("/tags", response_model=list[TaggedRecord], responses={429: {}}, openapi_extra={LARGE: True})
async def tag_records(records: Records, _caller: Reads, held: Held) -> Response:
    """The same bookings in the same order, each with its tags. Bookings of different users are tagged apart from each other."""
    return await held.tagging.run(_tagged, held, records)


def _tagged(held: Services, given: Any) -> Response:
    records = _checked(given)
    found = bookings(records)
    tagged = found.hstack(tags.tagged_alone(found, _products(found)).drop("id", "user", "product"))
    named = _named(tagged, records)
    writer, version, listed = tag_writer(held.settings.base_url), tags.brain().version, Listed()
    for start in range(0, len(records), PIECE):
        written = tag_bodies(writer, named.slice(start, PIECE), TAGGERS, version)
        listed.add(body(record, of_record) for record, of_record in zip(records[start : start + PIECE], written, strict=True))
    return listed.response()


def _checked(given: Any) -> list[TransactionRecord]:
    """The records, or what is wrong with the first one that is not as it should be."""
    try:
        return RECORDS.validate_python(given)
    except ValidationError as error:
        raise RequestValidationError(
            [{**item, "loc": ("body", *item["loc"])} for item in error.errors(include_context=False)]
        ) from error


def _products(found: pl.DataFrame) -> pl.DataFrame:
    """The products that the bookings name. What they are is not told; one that is called by its IBAN is known by it."""
    known = found.select("user", "product").unique(maintain_order=True)
    iban = pl.when(pl.col("product").str.contains(IBAN)).then("product")
    columns = known.with_columns(category=pl.lit(Category.OTHER_ACCOUNT.value), iban=iban, owner_name=pl.lit(None, pl.String))
    return columns.select(PRODUCTS.names())


def _named(tagged: pl.DataFrame, records: list[TransactionRecord]) -> pl.DataFrame:
    """The bookings by the names that the caller knows, also where one points to another."""
    ids = pl.Series([entity_id(record, place) for place, record in enumerate(records)], dtype=pl.String)
    links = {name: ids.gather(tagged[name].cast(pl.UInt32)) for name in ("refund_of", "pair_of")}
    return tagged.with_columns(ids.alias("id"), pl.Series("user", [record.user for record in records], pl.String), **links)
