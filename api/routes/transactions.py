"""Bookings of a product: read, also by the ten thousand, and pushed."""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from tempfile import SpooledTemporaryFile
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
from api.route import LARGE, has_etag, router
from api.routes.accesses import AccessKey, Modifies, Reads, changing_for, user_of
from api.routes.products import ProductKey
from api.schemas.accesses import ACCESSES
from api.schemas.base import Count, QueryDay, cents
from api.schemas.transactions import BOOKED_ON, PUSH_LIMIT, SEQUENCE, PushedTransaction, TransactionBody, rendered
from api.services import Held, Services
from pipelines import push
from warehouse import transactions
from warehouse.errors import DatabaseUnavailable, Invalid, NotFound
from warehouse.transactions import Cursor, Wish

routes = router("/customer/v2/bankzugaenge/{access}/{product}", "Customer")
NAME = "kontoumsaetze"
LIMIT = 10_000
SPOOL_BYTES = 1024 * 1024
PIECE_BYTES = 256 * 1024
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
    limit: Annotated[Count | None, Query(ge=1, le=LIMIT, description="at most so many; `Link` leads on", examples=[100])] = None,
    cursor: Annotated[str | None, Query(min_length=1, max_length=64, description="where to go on; taken from `Link`")] = None,
) -> Response:
    """The bookings of a product, the newest first: all of them, or what the query asks for."""
    wish = Wish(first, last, None if limit is None else limit + 1, _place(cursor))
    try:
        async with held.lists.of(user_of(caller)), held.reads.acting_for(caller.tenant_id, user_of(caller)) as connection:
            found = await transactions.product_of(connection, user_of(caller), access, product)
            if found is None:
                raise NotFound("product")
            product_id, revision = found
            etag = f'"{revision}"'
            if has_etag(request, etag):
                return Response(status_code=304, headers={"ETag": etag})
            listed, last_row, more = Listed(), None, False
            async for piece in transactions.pieces(connection, product_id, wish):
                kept = piece if limit is None else piece[: limit - listed.rows]
                listed.add(kept)
                last_row = kept[-1] if kept else last_row
                more = len(kept) < len(piece)
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable from error
    onward = {"Link": _next(held, access, product, wish, last_row, limit)} if more and last_row and limit else {}
    return listed.response({"ETag": etag, **onward})


@routes.post(f"/{NAME}", status_code=201, response_class=Response, openapi_extra={LARGE: True})
async def push_transactions(access: AccessKey, product: ProductKey, bookings: Pushed, caller: Modifies, held: Held) -> Response:
    """Stores bookings beside those of the bank: all of them or none. A batch that is sent again adds nothing."""

    def store() -> None:
        batches = defaultdict(list)
        for booking in bookings:
            batches[booking.identifier.batch].append(_row(booking))
        with changing_for(held, caller) as owner:
            push.push(owner, access, product, batches)

    await held.changes.insist(store)
    return created(link(held, *ACCESSES, access, product, NAME))


@dataclass
class Listed:
    """The JSON text of a list, in a file when it is long: the database is free again before the first byte is sent."""

    file: SpooledTemporaryFile[bytes] = field(default_factory=lambda: SpooledTemporaryFile(SPOOL_BYTES))  # noqa: SIM115 (closed when it was sent)
    size: int = 0
    rows: int = 0

    def add(self, rows: list[Row]) -> None:
        """Writes more rows."""
        if rows:
            text = orjson.dumps([rendered(row) for row in rows])
            self.size += self.file.write((b"," if self.rows else b"[") + text[1:-1])
            self.rows += len(rows)

    def response(self, headers: dict[str, str]) -> Response:
        """The list as an answer; its file is gone when it was sent."""
        self.size += self.file.write(b"]" if self.rows else b"[]")
        self.file.seek(0)
        if self.size <= SPOOL_BYTES:
            with self.file:
                return Response(self.file.read(), 200, headers, media_type="application/json")
        return LongAnswer(self.file, {**headers, "Content-Length": str(self.size)})


class LongAnswer(StreamingResponse):
    """A file that is sent piece by piece and then closed, also when its receiver has gone."""

    def __init__(self, file: SpooledTemporaryFile[bytes], headers: dict[str, str]) -> None:
        super().__init__(iter(partial(file.read, PIECE_BYTES), b""), headers=headers, media_type="application/json")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def _place(cursor: str | None) -> Cursor | None:
    try:
        return None if cursor is None else Cursor.read(cursor)
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
