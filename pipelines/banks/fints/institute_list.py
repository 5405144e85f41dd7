"""The list of FinTS banks that the Deutsche Kreditwirtschaft sends to registered products: a table with bank code, name and the
address for PIN and TAN, separated by semicolons, in the encoding of Windows.

Columns are found by their titles: their number and order have changed over the years.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.banks.fints.connection import InsecureAddress, check_address
from warehouse.errors import Invalid

MAX_LIST_BYTES = 20 * 1024 * 1024
BLZ = re.compile("[0-9]{8}")
BIC = re.compile("[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")
ADDRESS_TITLE = re.compile(r"pin/?\s*tan.*(?:url|adresse)", re.IGNORECASE)
VERSION = re.compile(r"3[.,]?0")
"""FinTS 3.0, however it is written; older versions are left out."""
ENCODINGS = ("utf-8-sig", "cp1252")


@dataclass(frozen=True)
class Institute:
    """A bank with its address."""

    blz: str
    name: str
    address: str
    bic: str | None = None


def read_institutes(content: bytes) -> list[Institute]:
    """The banks with an address for FinTS 3.0, each bank code once. Raises `Invalid` for a file that is no such list."""
    if len(content) > MAX_LIST_BYTES:
        raise Invalid("the list is larger than 20 MB")
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(_decoded(content)), delimiter=";")]
    titles_at = next((place for place, row in enumerate(rows) if "blz" in {cell.casefold() for cell in row}), None)
    if titles_at is None:
        raise Invalid("no column is called BLZ: this is not the list of FinTS banks")
    columns = _columns(rows[titles_at])
    institutes = {institute.blz: institute for institute in _institutes(rows[titles_at + 1 :], columns)}
    if not institutes:
        raise Invalid("the list has no address for FinTS 3.0 with PIN and TAN")
    return list(institutes.values())


@dataclass(frozen=True)
class _Columns:
    """The places of the columns; None for one that the list lacks."""

    blz: int
    address: int
    name: int | None
    bic: int | None
    version: int | None


def _columns(titles: Sequence[str]) -> _Columns:
    by_title = {title.casefold(): place for place, title in reversed(list(enumerate(titles)))}
    address = next((place for place, title in enumerate(titles) if ADDRESS_TITLE.search(title)), None)
    if address is None:
        raise Invalid("no column has the addresses for PIN and TAN")
    version = next((place for place, title in enumerate(titles) if place > address and "version" in title.casefold()), None)
    return _Columns(by_title["blz"], address, by_title.get("institut"), by_title.get("bic"), version)


def _institutes(rows: Sequence[Sequence[str]], columns: _Columns) -> Iterator[Institute]:
    for row in rows:
        blz, address, version = (_cell(row, place) for place in (columns.blz, columns.address, columns.version))
        if not BLZ.fullmatch(blz) or not address or (version and not VERSION.search(version)):
            continue
        try:
            check_address(address)
        except InsecureAddress:
            continue
        bic = _cell(row, columns.bic)
        yield Institute(blz, _cell(row, columns.name) or blz, address, bic if BIC.fullmatch(bic) else None)


def _cell(row: Sequence[str], place: int | None) -> str:
    return row[place] if place is not None and place < len(row) else ""


def _decoded(content: bytes) -> str:
    for encoding in ENCODINGS:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise Invalid("the list is no text in UTF-8 or Windows-1252")
