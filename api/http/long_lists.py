"""Long lists as answers: their JSON text is made piece by piece, and lies in a file when it is long, to need little memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

SPOOL_BYTES = 1024 * 1024
PIECE_BYTES = 256 * 1024


@dataclass
class Listed:
    """The JSON text of a list, in a file when it is long: the database is free again before the first byte is sent."""

    file: SpooledTemporaryFile[bytes] = field(default_factory=lambda: SpooledTemporaryFile(SPOOL_BYTES))  # noqa: SIM115 (closed when it was sent)
    size: int = 0
    rows: int = 0

    def add(self, bodies: Iterable[dict[str, Any]]) -> None:
        """Writes more bodies."""
        given = list(bodies)
        if given:
            text = orjson.dumps(given)
            self.size += self.file.write((b"," if self.rows else b"[") + text[1:-1])
            self.rows += len(given)

    def response(self, headers: dict[str, str] | None = None) -> Response:
        """The list as an answer; its file is gone when it was sent."""
        self.size += self.file.write(b"]" if self.rows else b"[]")
        self.file.seek(0)
        if self.size <= SPOOL_BYTES:
            with self.file:
                return Response(self.file.read(), 200, headers, media_type="application/json")
        return LongAnswer(self.file, {**(headers or {}), "Content-Length": str(self.size)})


class LongAnswer(StreamingResponse):
    """A file that is sent piece by piece and then closed, also when its receiver has gone."""

    def __init__(self, file: SpooledTemporaryFile[bytes], headers: dict[str, str]) -> None:
        super().__init__(iter(partial(file.read, PIECE_BYTES), b""), headers=headers, media_type="application/json")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)
