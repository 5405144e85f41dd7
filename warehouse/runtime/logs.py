"""One stream of JSON lines on standard output. Logs carry ids and counts, never personal data."""

import logging
import os
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, BinaryIO, cast

import orjson
import structlog

MAX_LIBRARY_TEXT_LENGTH = 300


def configure(level: str) -> None:
    """Configures this process to log one JSON object per line, libraries included."""
    structlog.configure(
        processors=[
            _add_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.JSONRenderer(serializer=orjson.dumps),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level)),
        logger_factory=structlog.BytesLoggerFactory(cast("BinaryIO", Lines(sys.stdout.fileno()))),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[LibraryHandler()], level=max(logging.INFO, getattr(logging, level)), force=True)


class Lines:
    """A file to which lines are written. One that cannot be written, as on a full disk, is dropped: no work fails for it. After
    one of which only a part could be written, a new line begins.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._is_torn = False

    def write(self, line: bytes) -> None:
        """Writes a line."""
        with suppress(OSError):
            text = b"\n" + line if self._is_torn else line
            self._is_torn = os.write(self._file, text) < len(text)

    def flush(self) -> None:
        """Nothing: a line is written at once."""


def _add_level(_logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {"level": method, **event}


class LibraryHandler(logging.Handler):
    """Logs the messages of libraries as JSON, without the texts of errors."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        facts: dict[str, Any] = {"logger": record.name, "text": first_line(record.getMessage())}
        if record.exc_info and record.exc_info[1] is not None:
            facts["error"] = describe(record.exc_info[1])
        log.log(record.levelno, "library", **facts)


def first_line(text: str) -> str:
    """The beginning of a message of others. After the first line come traces, with the texts of errors in them."""
    return text.partition("\n")[0][:MAX_LIBRARY_TEXT_LENGTH]


def describe(error: BaseException) -> dict[str, Any]:
    """An error for the log: its kind and where it arose, not its text, which may quote a person's data."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {trace.tb_frame.f_code.co_name}")
        trace = trace.tb_next
    return {"kind": f"{type(error).__module__}.{type(error).__qualname__}", "frames": frames[-12:]}
