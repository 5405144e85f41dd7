"""What is known about payment services, marketplaces and billing offices: `knowledge/intermediaries.csv` in memory."""

import csv
import re
from functools import cache
from pathlib import Path

import numpy as np

from analytics.bank_text import card_places
from analytics.native.compiling import inner, peek64
from analytics.native.phrases import ANYWHERE, START, WHOLE, Phrase, Phrases

FILE = Path(__file__).parents[1] / "knowledge" / "tables" / "intermediaries.csv"
KINDS = {
    "name": "a payment service by its own name: the merchant stands in the purpose",
    "own": "a name that begins like a payment service, but is somebody else",
    "sign": "words in the purpose that tell of a service where no name is given",
    "prefix": "what a payment service writes before the merchant",
    "after": "words in the purpose behind which the merchant stands; with `via` only that service writes them",
    "stop": "where a merchant in the purpose ends",
    "lead": "words before the merchant on card lines that say nothing",
    "carrier": "a bank that settles cards for others: the merchant is the ultimate party",
    "brand": "how a merchant that is always the same one begins",
    "inside": "words in the purpose that tell which of its shops a merchant (`under`) was",
    "billing": "who collects for medical practices",
    "practice": "how the name of a practice begins",
    "noise": "words that are never a merchant",
    "alone": "words that are never a merchant by themselves, but may belong to the name of one behind it",
}
_MODES = {"after": ANYWHERE, "sign": ANYWHERE, "stop": START}
_LOOSE = ("stop", "inside")
_SURE = 12
"""Letters from which on a phrase is looked for inside words too: blanks before it may be lost."""
_TABLES = (
    "lead",
    "carrier",
    "service",
    "via",
    "sign",
    "after",
    "stop",
    "brand",
    "inside",
    "billing",
    "practice",
    "noise",
    "alone",
    "under",
)
LEAD, CARRIER, SERVICE, VIA, SIGN, AFTER, STOP, BRAND, INSIDE, BILLING, PRACTICE, NOISE, ALONE, UNDER = (
    8 * number for number in range(len(_TABLES))
)
_ROWS = 8 * len(_TABLES)
"""Behind the tables of phrases: for each row its service, merchant and `under` as address and length, whether it is a prefix."""
PLACES = _ROWS + 8
_ROW = 48


class IntermediaryTable:
    """What is known about payment services, in memory, for `unwrap_at`."""

    def __init__(self, rows: list[dict[str, str]], where: card_places.CardPlaceTable) -> None:
        self.services = ["", *sorted({row["via"] for row in rows} - {""})]
        texts = [[np.frombuffer(row[name].encode() or b" ", np.uint8) for name in ("merchant", "under")] for row in rows]
        self._rows = np.array(
            [
                (
                    self.services.index(row["via"]),
                    merchant.ctypes.data,
                    len(row["merchant"]),
                    row["kind"] == "prefix",
                    under.ctypes.data,
                    len(row["under"]),
                )
                for row, (merchant, under) in zip(rows, texts, strict=True)
            ],
            np.int64,
        )
        phrases = [Phrases(_phrases(rows, name)) for name in _TABLES]
        self._table = np.array([*(each.address for each in phrases), self._rows.ctypes.data, where.address], np.int64)
        self._held = texts, phrases, where
        self.address = int(self._table.ctypes.data)


def _phrases(rows: list[dict[str, str]], name: str) -> list[Phrase]:
    services = [(number, row) for number, row in enumerate(rows) if row["kind"] in ("name", "prefix", "own")]
    if name == "service":
        return [Phrase(row["match"], number, WHOLE) for number, row in services]
    if name == "via":
        return [Phrase("via " + row["match"].rstrip("*"), number, WHOLE) for number, row in services if row["via"]]
    if name == "under":
        return [Phrase(row["under"], number, WHOLE) for number, row in enumerate(rows) if row["under"]]
    return [
        Phrase(row["match"], number, ANYWHERE if name in _LOOSE and len(row["match"]) >= _SURE else _MODES.get(name, WHOLE))
        for number, row in enumerate(rows)
        if row["kind"] == name
    ]


@cache
def table() -> IntermediaryTable:
    """The table that the package brings."""
    return IntermediaryTable(_read(FILE), card_places.table())


def brands() -> frozenset[str]:
    """The merchants that are written as one however they are named."""
    return frozenset(row["merchant"] for row in _read(FILE) if row["kind"] == "brand")


def problems(path: Path = FILE) -> list[str]:
    """What is wrong in the table, a sentence each."""
    found, seen = [], set()
    plain = re.compile(r"[a-z0-9&]+( [a-z0-9&]+)*")
    for line, row in enumerate(_read(path), 2):
        where = f"{path.name}:{line}"
        if row["kind"] not in KINDS:
            found.append(f"{where} kind: «{row['kind']}» is none of {', '.join(KINDS)}")
        if not plain.fullmatch(row["match"].replace("*", " ").strip()):
            found.append(f"{where} match: «{row['match']}» is not in plain form")
        if row["via"] and not re.fullmatch(r"[A-Z0-9]+(_[A-Z0-9]+)*", row["via"]):
            found.append(f"{where} via: «{row['via']}» is no system name")
        if (row["kind"] in ("name", "prefix", "sign")) != bool(row["via"]) and row["kind"] != "after":
            found.append(f"{where} via: services have one, other rows have none")
        if (row["kind"] in ("brand", "inside")) != bool(plain.fullmatch(row["merchant"])):
            found.append(f"{where} merchant: brands have one in plain form, other rows have none")
        if (row["kind"] == "inside") != bool(row["under"]):
            found.append(f"{where} under: only rows inside a merchant have one")
        if (row["kind"], row["match"], row["under"]) in seen:
            found.append(f"{where} match: «{row['match']}» stands there twice")
        seen.add((row["kind"], row["match"], row["under"]))
    return found


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@inner
def entry(table: int, row: int, column: int) -> int:
    """A number of a row: service, address and length of the merchant, whether a prefix, address and length of `under`."""
    return peek64(peek64(table + _ROWS) + _ROW * row + 8 * column)
