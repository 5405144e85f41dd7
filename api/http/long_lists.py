"""Long lists as responses. Their JSON is written piece by piece, and to a file when it is long, to use little memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import Any

import orjson
import polars as pl
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from api.http.unread_answers import LONG_BYTES

MAX_MEMORY_BYTES = 1024 * 1024


@dataclass
class JsonListWriter:
    """Writes a JSON list, to a file when it is long, so that the database is released before the first byte is sent."""

    file: SpooledTemporaryFile[bytes] = field(default_factory=lambda: SpooledTemporaryFile(MAX_MEMORY_BYTES))  # noqa: SIM115 (closed after sending)
    size: int = 0
    rows: int = 0

    def add(self, bodies: Iterable[dict[str, Any]]) -> None:
        """Appends bodies to the list."""
        elements = list(bodies)
        if elements:
            text = orjson.dumps(elements)
            self.size += self.file.write((b"," if self.rows else b"[") + text[1:-1])
            self.rows += len(elements)

    def add_texts(self, texts: pl.Series) -> None:
        """Appends elements that are JSON already."""
        if len(texts):
            self.size += self.file.write((b"," if self.rows else b"[") + texts.str.join(",").item().encode())
            self.rows += len(texts)

    def response(self, headers: dict[str, str] | None = None) -> Response:
        """The list as a response, which closes the file after sending."""
        self.size += self.file.write(b"]" if self.rows else b"[]")
        self.file.seek(0)
        if self.size <= MAX_MEMORY_BYTES:
            with self.file:
                return Response(self.file.read(), 200, headers, media_type="application/json")
        return SpooledResponse(self.file, {**(headers or {}), "Content-Length": str(self.size)})


class SpooledResponse(StreamingResponse):
    """A file that is sent piece by piece and then closed, also when the caller disconnects."""

    def __init__(self, file: SpooledTemporaryFile[bytes], headers: dict[str, str]) -> None:
        super().__init__(iter(partial(file.read, LONG_BYTES), b""), headers=headers, media_type="application/json")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)
