"""Bookings of a product: read, also by the ten thousand, and pushed."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any
from urllib.parse import urlencode

import orjson
import psycopg
from fastapi import Body, Query, Request
from pydantic import Field
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from analytics.frames import BOOKINGS
from api.answers import created, link
from api.errors import Problem
from api.route import LARGE, router
from api.routes.accesses import AccessKey, Modifies, Reads, acting_for, user_of
from api.routes.products import ProductKey
from api.schemas.accesses import ACCESSES
from api.schemas.base import QueryDay, cents
from api.schemas.transactions import BOOKED_ON, PUSH_LIMIT, SEQUENCE, PushedTransaction, TransactionBody, rendered
from api.services import Held, Services
from pipelines import push
from pipelines.answers import CURRENCIES
from warehouse import transactions
from warehouse.errors import DatabaseUnavailable, Invalid, NotFound
from warehouse.transactions import PIECE, Cursor, Wish

routes = router("/customer/v2/bankzugaenge/{access}/{product}", "Customer")
NAME = "kontoumsaetze"
LIMIT = 10_000
Pushed = Annotated[list[PushedTransaction], Field(min_length=1, max_length=PUSH_LIMIT), Body()]
Row = tuple[Any, ...]


@routes.get(f"/{NAME}", response_model=list[TransactionBody], responses={304: {"description": "Nothing has changed."}})
async def list_transactions(
    request: Request,
    access: AccessKey,
    product: ProductKey,
    caller: Reads,
    held: Held,
    first: Annotated[QueryDay | None, Query(alias="from", description="first day", examples=["2026-10-01"])] = None,
    last: Annotated[QueryDay | None, Query(alias="to", description="last day", examples=["2026-10-31"])] = None,
    limit: Annotated[int | None, Query(ge=1, le=LIMIT, description="at most so many; `Link` leads on", examples=[100])] = None,
    cursor: Annotated[str | None, Query(max_length=64, description="where to go on; taken from `Link`")] = None,
) -> Response:
    """The bookings of a product, the newest first: all of them, or what the query asks for."""
    wish = Wish(first, last, None if limit is None else limit + 1, _place(cursor))
    async with AsyncExitStack() as opened:
        try:
            connection = await opened.enter_async_context(held.reads.acting_for(caller.tenant_id, user_of(caller)))
            found = await transactions.product_of(connection, user_of(caller), access, product)
            if found is None:
                raise NotFound("product")
            product_id, revision = found
            etag = {"ETag": f'"{revision}"'}
            if request.headers.get("if-none-match") == etag["ETag"]:
                return Response(status_code=304, headers=etag)
            pieces = transactions.pieces(connection, product_id, wish)
            rows: list[Row] = await anext(pieces, [])
            if limit is None and len(rows) == PIECE:
                return Stream(opened.pop_all(), rows, pieces, held.settings.request_timeout_seconds, etag)
            rows += [row async for piece in pieces for row in piece]
        except psycopg.OperationalError as error:
            raise DatabaseUnavailable from error
    onward = {"Link": _next(held, access, product, wish, rows[limit - 1], limit)} if limit and len(rows) > limit else {}
    return Response(orjson.dumps([rendered(row) for row in rows[:limit]]), 200, etag | onward, media_type="application/json")


@routes.post(f"/{NAME}", status_code=201, response_class=Response, openapi_extra={LARGE: True})
def push_transactions(access: AccessKey, product: ProductKey, bookings: Pushed, caller: Modifies, held: Held) -> Response:
    """Stores bookings beside those of the bank: all of them or none. A batch that is sent again adds nothing."""
    batches = defaultdict(list)
    for booking in bookings:
        if booking.currency not in CURRENCIES:
            raise Problem(400, "waehrung: ist ungültig")
        batches[booking.identifier.batch].append(_row(booking))
    with acting_for(held, caller) as owner:
        push.push(owner, access, product, batches)
    return created(link(held, *ACCESSES, access, product, NAME))


class Stream(StreamingResponse):
    """A list that is sent as it is read. What it reads from is closed when it was sent, or when the receiver takes too long."""

    def __init__(
        self,
        opened: AsyncExitStack,
        head: list[Row],
        pieces: AsyncIterator[list[Row]],
        seconds: float,
        headers: dict[str, str],
    ) -> None:
        super().__init__(_written(head, pieces), headers=headers, media_type="application/json")
        self._opened = opened
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._opened, asyncio.timeout(self._seconds):
            await super().__call__(scope, receive, send)


async def _written(head: list[Row], pieces: AsyncIterator[list[Row]]) -> AsyncIterator[bytes]:
    """The JSON text of a list, piece by piece."""
    yield orjson.dumps([rendered(row) for row in head])[:-1]
    async for piece in pieces:
        yield b"," + orjson.dumps([rendered(row) for row in piece])[1:-1]
    yield b"]"


def _place(cursor: str | None) -> Cursor | None:
    try:
        return Cursor.read(cursor) if cursor else None
    except Invalid as error:
        raise Problem(400, "cursor: ist ungültig") from error


def _next(held: Services, access: str, product: str, wish: Wish, row: Row, limit: int) -> str:
    """The address of the next page."""
    days = {"from": wish.first, "to": wish.last}
    query = {name: day.isoformat() for name, day in days.items() if day is not None}
    query |= {"limit": str(limit), "cursor": str(Cursor(row[BOOKED_ON], row[SEQUENCE]))}
    return f'<{link(held, *ACCESSES, access, product, NAME)}?{urlencode(query)}>; rel="next"'


def _row(booking: PushedTransaction) -> dict[str, Any]:
    """A pushed booking as a row of the ledger. Blanks around texts, and empty texts, say nothing."""
    values = booking.model_dump(by_alias=False)
    texts = {name: (value.strip() or None) if isinstance(value, str) else value for name, value in values.items()}
    return {name: texts.get(name) for name in BOOKINGS} | {"amount_cents": cents(booking.amount), "pending": False}
