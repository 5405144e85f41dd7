"""Routes of a product's bookings: read, also by the ten thousand and with tags, push, and delete what was pushed."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

import polars as pl
from fastapi import Body, Path, Query, Request
from pydantic import FailFast, Field, SkipValidation, TypeAdapter
from starlette.responses import Response

from analytics.frames import BOOKINGS
from api.bodies.tags import classification_texts, tag_texts
from api.customer import AccessKey, Modifies, ProductKey, Reads, changing_for, reading_for, user_of
from api.http.errors import wrong
from api.http.long_lists import JsonListWriter
from api.http.negotiation import current_language
from api.http.responses import Links, created_response, empty_response, freshness, language_etag
from api.http.route import LARGE, has_etag, router, validated
from api.schemas.accesses import ACCESSES
from api.schemas.base import Count, Flag, Line, QueryDay, cents
from api.schemas.languages import Language, Text
from api.schemas.transactions import (
    BOOKED_ON,
    MAX_PUSHED_BOOKINGS,
    SEQUENCE,
    TAG_KINDS,
    PushedTransaction,
    TransactionBody,
    View,
    transaction_fields,
    transaction_texts,
)
from api.services import AppServices, Services
from pipelines.fetching import push
from pipelines.results import tags
from pipelines.results.documents.json_text import json_object
from warehouse.errors import Invalid, NotFound
from warehouse.stores import accesses, products, transactions
from warehouse.stores.callers import Caller
from warehouse.stores.transactions import BATCH_ROWS, COLUMNS, Cursor, TransactionWindow

routes = router("/customer/v2/bankzugaenge/{access}/{product}", "Customer")
NAME = "kontoumsaetze"
MAX_ROWS = 10_000
TAGGED_ROWS = 1_000
"""Rows that are written with their tags at once: some megabytes."""
Bookings = Annotated[list[PushedTransaction], FailFast(), Field(min_length=1, max_length=MAX_PUSHED_BOOKINGS)]
PUSHED = TypeAdapter(Bookings)
Pushed = Annotated[Bookings, SkipValidation, Body()]
BookingKey = Annotated[str, Path(examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"])]
Row = tuple[Any, ...]
NEXT_LINK = {"description": 'The next page with `rel="next"`, while there is more', "schema": {"type": "string"}}
STATUSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bookings.", "headers": {"Link": NEXT_LINK}},
    304: {"description": "Nothing has changed."},
    429: {},
}


@dataclass(frozen=True)
class BookingQuery:
    """The parameters of a request for bookings."""

    access: str
    product: str
    window: TransactionWindow
    limit: int | None
    view: View | None
    categorize: bool

    @property
    def taggers(self) -> list[str]:
        return view_taggers(self.view, categorize=self.categorize)


def view_taggers(view: View | None, *, categorize: bool) -> list[str]:
    """The taggers whose tags are shown: that of the view; with a classification at least the one behind it."""
    return [TAG_KINDS[view or View.CATEGORIES]] if view or categorize else []


@routes.get(f"/{NAME}", response_model=list[TransactionBody], responses=STATUSES)
async def list_transactions(
    request: Request,
    access: AccessKey,
    product: ProductKey,
    caller: Reads,
    services: AppServices,
    first: Annotated[QueryDay | None, Query(alias="from", description="first day", examples=["2026-10-01"])] = None,
    last: Annotated[QueryDay | None, Query(alias="to", description="last day", examples=["2026-10-31"])] = None,
    limit: Annotated[
        Count | None, Query(ge=1, le=MAX_ROWS, description="at most so many; `Link` leads on", examples=[100])
    ] = None,
    cursor: Annotated[str | None, Query(min_length=1, max_length=64, description="where to go on; taken from `Link`")] = None,
    tag: Annotated[
        View | None, Query(description="with `tags` of this kind; `true` means categories", examples=["categories"])
    ] = None,
    categorize: Annotated[Flag, Query(description="with `classifications`, and `tags`")] = False,
) -> Response:
    """The bookings of a product, the newest first: all of them, or what the query asks for."""
    window = TransactionWindow(first, last, None if limit is None else limit + 1, _cursor(cursor))
    query = BookingQuery(access, product, window, limit, tag, categorize)
    async with services.lists.of(user_of(caller)):
        if query.taggers:
            return await services.compute(caller, _with_tags, request, services, caller, query, current_language())
        async with services.list_connections.hold(caller.tenant_id, user_of(caller)):
            return await _without_tags(request, services, caller, query)


async def _without_tags(request: Request, services: Services, caller: Caller, query: BookingQuery) -> Response:
    """The list without tags, written to the response while it is read."""
    user_id = user_of(caller)
    async with services.reads.acting_for(caller.tenant_id, user_id) as connection:
        product = await transactions.find_product(connection, user_id, query.access, query.product)
        if product is None:
            raise NotFound("product")
        product_id, revision = product
        etag = f'"{revision}"'
        if has_etag(request, etag):
            return Response(status_code=304, headers={"ETag": etag})
        batches = transactions.row_batches(connection, *transactions.list_query(product_id, query.window), query.window.limit)
        async with aclosing(batches):  # while the connection is ours: also if the caller goes away
            writer, next_row = await write_rows(services, caller, batches, query.limit, transaction_fields)
    return writer.response({"ETag": etag, **(_next_page(services.links, query, next_row) if next_row else {})})


async def write_rows(
    services: Services,
    caller: Caller,
    batches: AsyncIterator[list[Row]],
    limit: int | None,
    body: Callable[[Row], dict[str, Any]],
) -> tuple[JsonListWriter, Row | None]:
    """The list of the bodies of all rows, and the row after which the next page begins, if there is one. Batches are read and
    written in turn, so that the event loop works as much for each tenant. A tenant with a crowd of lists rests after each batch
    while others are active: as long as the batch took.
    """
    writer, last_row, has_more, is_at_end = JsonListWriter(), None, False, False
    while not is_at_end:
        async with services.list_turns.hold(caller.tenant_id, caller.user_id):
            began_at = time.perf_counter()
            piece: list[Row] = await anext(batches, [])
            rows = piece if limit is None else piece[: limit - writer.rows]
            writer.add(body(row) for row in rows)
            last_row = rows[-1] if rows else last_row
            has_more = len(rows) < len(piece)
            is_at_end = len(piece) < BATCH_ROWS
        if services.list_connections.is_crowding(caller.tenant_id):
            await asyncio.sleep(time.perf_counter() - began_at)
    return writer, last_row if has_more else None


def _with_tags(request: Request, services: Services, caller: Caller, query: BookingQuery, language: Language) -> Response:
    """The list with tags. Tags depend on all bookings of the user, which are read in the same snapshot as the listed ones."""
    with reading_for(services, caller) as owner:
        product = products.find(owner, accesses.find(owner, query.access), query.product)
        etag = language_etag(str(tags.state(owner)), language)
        if has_etag(request, etag):
            return Response(status_code=304, headers={"ETag": etag})
        tagged = tags.tagged_bookings(owner, services.recent_tags)
    matching_bookings = transactions.cut_window(tagged.bookings, product.id, query.window)
    bookings = matching_bookings if query.limit is None else matching_bookings.head(query.limit)
    writer = JsonListWriter()
    for piece in bookings.iter_slices(TAGGED_ROWS):
        writer.add_texts(tagged_texts(services, piece, query.taggers, tagged.version, language, categorize=query.categorize))
    has_more = bookings.height < matching_bookings.height
    next_page = _next_page(services.links, query, bookings.select(COLUMNS).row(-1)) if has_more else {}
    return writer.response(
        {"ETag": etag, **freshness(tagged.revision, tagged.version, precomputed=tagged.precomputed), **next_page}
    )


def tagged_texts(
    services: Services,
    bookings: pl.DataFrame,
    taggers: Sequence[str],
    version: str,
    language: Language,
    *,
    categorize: bool,
    more: Mapping[str, pl.Expr] | None = None,
) -> pl.Series:
    """The JSON of bookings with the tags of these taggers, which are of this version, with classifications if they are asked for,
    and with further fields.
    """
    tags_column = tag_texts(services.settings.base_url, bookings, taggers, version, language)
    classifications = pl.concat_str(pl.lit("["), classification_texts(language), pl.lit("]"))
    classification = {"classifications": classifications} if categorize else {}
    values = {**transaction_texts(), **classification, "tags": pl.col("tags"), **(more or {})}
    return bookings.with_columns(tags_column).select(json_object(values).alias("text")).to_series()


@routes.post(f"/{NAME}", status_code=201, response_class=Response, openapi_extra={LARGE: True})
async def push_transactions(
    access: AccessKey, product: ProductKey, bookings: Pushed, caller: Modifies, services: AppServices
) -> Response:
    """Stores bookings beside those of the bank: all of them or none. A batch that is sent again adds nothing."""

    def store() -> None:
        batches = defaultdict(list)
        for booking in validated(PUSHED, bookings):
            batches[booking.identifier.batch].append(_row(booking))
        with changing_for(services, caller) as owner:
            push.push(owner, access, product, batches, datetime.now(services.settings.zone).date())

    await services.changes.insist(store)
    return created_response(services.links.to(*ACCESSES, access, product, NAME))


@routes.delete(f"/{NAME}/{{transaction}}", response_class=Response, responses={409: {}})
async def delete_transaction(
    access: AccessKey, product: ProductKey, transaction: BookingKey, caller: Modifies, services: AppServices
) -> Response:
    """Deletes a booking that was pushed. One of the bank cannot be deleted: the next fetch would bring it back."""

    def remove() -> None:
        with changing_for(services, caller) as owner:
            push.remove(owner, access, product, booking_id(transaction))

    await services.changes.insist(remove)
    return empty_response()


@routes.delete(f"/{NAME}", response_class=Response)
async def delete_batch(
    access: AccessKey,
    product: ProductKey,
    caller: Modifies,
    services: AppServices,
    batch: Annotated[
        Line, Query(alias="batchId", min_length=1, max_length=128, description="`identifier.batchId`", examples=["2026-11-15-01"])
    ],
) -> Response:
    """Deletes all bookings of a product that were pushed in a batch."""

    def remove() -> None:
        with changing_for(services, caller) as owner:
            push.remove_batch(owner, access, product, batch)

    await services.changes.insist(remove)
    return empty_response()


def booking_id(value: str) -> UUID:
    """The id of a booking; anything but a UUID names none."""
    try:
        return UUID(value)
    except ValueError as error:
        raise NotFound("transaction") from error


def _cursor(cursor: str | None) -> Cursor | None:
    try:
        return None if cursor is None else Cursor.read(cursor)
    except Invalid as error:
        raise wrong(
            "cursor",
            Text("ist ungültig: nehmen Sie den aus dem Header Link", "is invalid: take the one from the Link header"),
            "query",
        ) from error


def _next_page(links: Links, query: BookingQuery, row: Row) -> dict[str, str]:
    """The header with the address of the next page, which begins after this row."""
    days = {"from": query.window.first, "to": query.window.last}
    parameters = {name: day.isoformat() for name, day in days.items() if day is not None}
    parameters |= {"limit": str(query.limit), "cursor": str(Cursor(row[BOOKED_ON], row[SEQUENCE]))}
    parameters |= {"tag": query.view.value} if query.view else {}
    parameters |= {"categorize": "true"} if query.categorize else {}
    return {"Link": f'<{links.to(*ACCESSES, query.access, query.product, NAME)}?{urlencode(parameters)}>; rel="next"'}


def _row(booking: PushedTransaction) -> dict[str, Any]:
    """A pushed booking as a row of the ledger: texts without surrounding blanks, and None for empty ones."""
    values = booking.model_dump(by_alias=False)
    texts = {name: (value.strip() or None) if isinstance(value, str) else value for name, value in values.items()}
    return {name: texts.get(name) for name in BOOKINGS} | {"amount_cents": cents(booking.amount), "pending": False}
