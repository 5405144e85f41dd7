"""Bookings of a product: read, also by the ten thousand, with tags if asked for, and pushed."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode

import polars as pl
from fastapi import Body, Query, Request
from pydantic import Field
from starlette.responses import Response

from analytics.frames import BOOKINGS
from api.bodies.tags import classification_bodies, tag_bodies
from api.http.errors import Problem
from api.http.long_lists import Listed
from api.http.responses import created, freshness, link
from api.http.route import LARGE, has_etag, router
from api.routes.accesses import AccessKey, Modifies, Reads, changing_for, reading_for, user_of
from api.routes.products import ProductKey
from api.schemas.accesses import ACCESSES
from api.schemas.base import Count, Flag, QueryDay, cents
from api.schemas.transactions import (
    BOOKED_ON,
    PUSH_LIMIT,
    SEQUENCE,
    TAG_KINDS,
    PushedTransaction,
    TransactionBody,
    View,
    rendered,
)
from api.services import Held, Services
from pipelines.fetching import push
from pipelines.results import tags
from pipelines.results.documents.tags import tag_writer
from warehouse.errors import Invalid, NotFound
from warehouse.stores import accesses, products, transactions
from warehouse.stores.callers import Caller
from warehouse.stores.transactions import BATCH_ROWS, COLUMNS, Cursor, TransactionWindow

routes = router("/customer/v2/bankzugaenge/{access}/{product}", "Customer")
NAME = "kontoumsaetze"
LIMIT = 10_000
Pushed = Annotated[list[PushedTransaction], Field(min_length=1, max_length=PUSH_LIMIT), Body()]
Row = tuple[Any, ...]
ONWARD = {"description": 'The next page with `rel="next"`, while there is more', "schema": {"type": "string"}}
STATUSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bookings.", "headers": {"Link": ONWARD}},
    304: {"description": "Nothing has changed."},
    429: {},
}


@dataclass(frozen=True)
class BookingQuery:
    """What a request for bookings asks for."""

    access: str
    product: str
    wish: TransactionWindow
    limit: int | None
    view: View | None
    categorize: bool

    @property
    def taggers(self) -> list[str]:
        """Whose tags are shown: those of the view; with a classification at least the tag that it is made from."""
        return [TAG_KINDS[self.view or View.CATEGORIES]] if self.view or self.categorize else []


@routes.get(f"/{NAME}", response_model=list[TransactionBody], responses=STATUSES)
async def list_transactions(
    request: Request,
    access: AccessKey,
    product: ProductKey,
    caller: Reads,
    held: Held,
    first: Annotated[QueryDay | None, Query(alias="from", description="first day", examples=["2026-10-01"])] = None,
    last: Annotated[QueryDay | None, Query(alias="to", description="last day", examples=["2026-10-31"])] = None,
    limit: Annotated[Count | None, Query(ge=1, le=LIMIT, description="at most so many; `Link` leads on", examples=[100])] = None,
    cursor: Annotated[str | None, Query(min_length=1, max_length=64, description="where to go on; taken from `Link`")] = None,
    tag: Annotated[
        View | None, Query(description="with `tags` of this kind; `true` means categories", examples=["categories"])
    ] = None,
    categorize: Annotated[Flag, Query(description="with `classifications`, and `tags`")] = False,
) -> Response:
    """The bookings of a product, the newest first: all of them, or what the query asks for."""
    wish = TransactionWindow(first, last, None if limit is None else limit + 1, _place(cursor))
    asked = BookingQuery(access, product, wish, limit, tag, categorize)
    async with held.lists.of(user_of(caller)):
        if asked.taggers:
            return await held.tagging.run(_with_tags, request, held, caller, asked)
        return await _as_they_are(request, held, caller, asked)


async def _as_they_are(request: Request, held: Services, caller: Caller, asked: BookingQuery) -> Response:
    """The list without tags, sent as it is read."""
    user_id = user_of(caller)
    async with held.reads.acting_for(caller.tenant_id, user_id) as connection:
        found = await transactions.find_product(connection, user_id, asked.access, asked.product)
        if found is None:
            raise NotFound("product")
        product_id, revision = found
        etag = f'"{revision}"'
        if has_etag(request, etag):
            return Response(status_code=304, headers={"ETag": etag})
        listed, last_row, more = Listed(), None, False
        async for piece in transactions.row_batches(connection, product_id, asked.wish):
            kept = piece if asked.limit is None else piece[: asked.limit - listed.rows]
            listed.add(rendered(row) for row in kept)
            last_row = kept[-1] if kept else last_row
            more = len(kept) < len(piece)
    return listed.response({"ETag": etag, **(_onward(held, asked, last_row) if more and last_row else {})})


def _with_tags(request: Request, held: Services, caller: Caller, asked: BookingQuery) -> Response:
    """The list with tags. These rest on all bookings of the user, so that all are read, at one moment with what is listed."""
    with reading_for(held, caller) as owner:
        product = products.find(owner, accesses.find(owner, asked.access), asked.product)
        etag = f'"{tags.state(owner)}"'
        if has_etag(request, etag):
            return Response(status_code=304, headers={"ETag": etag})
        tagged = tags.tagged_bookings(owner)
    found = transactions.cut_window(tagged.bookings, product.id, asked.wish)
    kept = found if asked.limit is None else found.head(asked.limit)
    listed = Listed()
    for piece in kept.iter_slices(BATCH_ROWS):
        listed.add(_bodies(held, piece, asked))
    onward = _onward(held, asked, kept.select(COLUMNS).row(-1)) if kept.height < found.height else {}
    return listed.response({"ETag": etag, **freshness(tagged.revision, precomputed=tagged.precomputed), **onward})


def _bodies(held: Services, bookings: pl.DataFrame, asked: BookingQuery) -> Iterator[dict[str, Any]]:
    """Bookings with what is asked for of their tags."""
    written = tag_bodies(tag_writer(held.settings.base_url), bookings, asked.taggers, tags.tagger().version)
    classified = classification_bodies(bookings) if asked.categorize else iter(())
    for row, of_row in zip(bookings.select(COLUMNS).iter_rows(), written, strict=True):
        more = {"classifications": [next(classified)]} if asked.categorize else {}
        yield {**rendered(row), **more, "tags": of_row}


@routes.post(f"/{NAME}", status_code=201, response_class=Response, openapi_extra={LARGE: True})
async def push_transactions(access: AccessKey, product: ProductKey, bookings: Pushed, caller: Modifies, held: Held) -> Response:
    """Stores bookings beside those of the bank: all of them or none. A batch that is sent again adds nothing."""

    def store() -> None:
        batches = defaultdict(list)
        for booking in bookings:
            batches[booking.identifier.batch].append(_row(booking))
        with changing_for(held, caller) as owner:
            push.push(owner, access, product, batches, datetime.now(held.settings.zone).date())

    await held.changes.insist(store)
    return created(link(held, *ACCESSES, access, product, NAME))


def _place(cursor: str | None) -> Cursor | None:
    try:
        return None if cursor is None else Cursor.read(cursor)
    except Invalid as error:
        raise Problem(400, "cursor: ist ungültig") from error


def _onward(held: Services, asked: BookingQuery, row: Row) -> dict[str, str]:
    """The header that leads to the next page, which begins after this row."""
    days = {"from": asked.wish.first, "to": asked.wish.last}
    query = {name: day.isoformat() for name, day in days.items() if day is not None}
    query |= {"limit": str(asked.limit), "cursor": str(Cursor(row[BOOKED_ON], row[SEQUENCE]))}
    query |= {"tag": asked.view.value} if asked.view else {}
    query |= {"categorize": "true"} if asked.categorize else {}
    return {"Link": f'<{link(held, *ACCESSES, asked.access, asked.product, NAME)}?{urlencode(query)}>; rel="next"'}


def _row(booking: PushedTransaction) -> dict[str, Any]:
    """A pushed booking as a row of the ledger. Blanks around texts, and empty texts, say nothing."""
    values = booking.model_dump(by_alias=False)
    texts = {name: (value.strip() or None) if isinstance(value, str) else value for name, value in values.items()}
    return {name: texts.get(name) for name in BOOKINGS} | {"amount_cents": cents(booking.amount), "pending": False}
