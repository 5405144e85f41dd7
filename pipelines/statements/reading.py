"""Reads any statement file: the format is recognised by the content, never by the name of the file."""

import re

from pipelines.statements.camt import read_camt
from pipelines.statements.csv_files import read_csv
from pipelines.statements.mt940 import read_mt940
from pipelines.statements.statement import Reason, Statement, StatementFault

MAX_BYTES = 10 * 1024 * 1024
ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!")
SWIFT_START = re.compile(rb"(?:\A|[\r\n@}:])[ \t]*:20:")
RECOGNITION_BYTES = 4096


def read(content: bytes, *, max_bytes: int = MAX_BYTES) -> tuple[Statement, ...]:
    """The statements of a file, at least one; raises `StatementFault` for everything else, and never returns a part of a file."""
    if len(content) > max_bytes:
        raise StatementFault(Reason.TOO_LARGE)
    start = content.removeprefix(b"\xef\xbb\xbf")[:RECOGNITION_BYTES].lstrip()
    if not start:
        raise StatementFault(Reason.EMPTY)
    if start.startswith(ARCHIVES):
        raise StatementFault(Reason.ARCHIVE)
    if start.startswith(b"<"):
        return tuple(read_camt(content))
    if SWIFT_START.search(start):
        return tuple(read_mt940(content))
    return tuple(read_csv(content))
