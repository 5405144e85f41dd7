"""What is known about payment services, marketplaces and billing offices: `knowledge/intermediaries.csv` in memory."""

import csv
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analytics.bank_text import card_places
from analytics.native.characters import letters
from analytics.native.columns import Bytes, Offsets
from analytics.native.phrases import ANYWHERE, START, WHOLE, Phrase, PhraseLists, phrase_lists

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
_MIN_LOOSE_LETTERS = 12
"""Letters from which on a phrase is looked for inside words too: blanks before it may be lost."""
_LISTS = (
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
_FIRST_LIST = len((card_places.CITY, card_places.CITY_KEEPER, card_places.COUNTRY))
LEAD, CARRIER, SERVICE, VIA, SIGN, AFTER, STOP, BRAND, INSIDE, BILLING, PRACTICE, NOISE, ALONE, UNDER = (
    _FIRST_LIST + number for number in range(len(_LISTS))
)
"""The lists of phrases, behind those of places."""
NO_SERVICE = 0


class Intermediaries(NamedTuple):
    """What kernels need: the phrases of all lists, whose meanings are rows of the table, and for each row its facts."""

    phrases: PhraseLists
    service: Offsets
    is_prefix: npt.NDArray[np.bool_]
    merchants: Bytes
    merchant_borders: Offsets
    unders: Bytes
    under_borders: Offsets


class IntermediaryTable:
    """What is known about payment services, in memory, for `write_merchant`."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.services = ["", *sorted({row["via"] for row in rows} - {""})]
        self.longest_merchant = max(len(row["merchant"]) for row in rows)
        self.arrays = Intermediaries(
            phrase_lists(*card_places.phrases(), *(_phrases(rows, name) for name in _LISTS)),
            np.array([self.services.index(row["via"]) for row in rows], np.int64),
            np.array([row["kind"] == "prefix" for row in rows]),
            *_joined([row["merchant"] for row in rows]),
            *_joined([row["under"] for row in rows]),
        )


def _joined(names: list[str]) -> tuple[Bytes, Offsets]:
    """Names one behind the other, and where each begins."""
    return letters("".join(names)).copy(), np.cumsum([0, *map(len, names)]).astype(np.int64)


def _phrases(rows: list[dict[str, str]], name: str) -> list[Phrase]:
    services = [(number, row) for number, row in enumerate(rows) if row["kind"] in ("name", "prefix", "own")]
    if name == "service":
        return [Phrase(row["match"], number, WHOLE) for number, row in services]
    if name == "via":
        return [Phrase("via " + row["match"].rstrip("*"), number, WHOLE) for number, row in services if row["via"]]
    if name == "under":
        return [Phrase(row["under"], number, WHOLE) for number, row in enumerate(rows) if row["under"]]
    return [
        Phrase(
            row["match"],
            number,
            ANYWHERE if name in _LOOSE and len(row["match"]) >= _MIN_LOOSE_LETTERS else _MODES.get(name, WHOLE),
        )
        for number, row in enumerate(rows)
        if row["kind"] == name
    ]


@cache
def table() -> IntermediaryTable:
    """The table that the package brings."""
    return IntermediaryTable(_read(FILE))


def brands() -> frozenset[str]:
    """The merchants that are written as one however they are named."""
    return frozenset(row["merchant"] for row in _read(FILE) if row["kind"] == "brand")


def problems(path: Path = FILE) -> list[str]:
    """The mistakes in the table, a sentence each."""
    mistakes, keys = [], set()
    plain = re.compile(r"[a-z0-9&]+( [a-z0-9&]+)*")
    for line, row in enumerate(_read(path), 2):
        where = f"{path.name}:{line}"
        if row["kind"] not in KINDS:
            mistakes.append(f"{where} kind: «{row['kind']}» is none of {', '.join(KINDS)}")
        if not plain.fullmatch(row["match"].replace("*", " ").strip()):
            mistakes.append(f"{where} match: «{row['match']}» is not in plain form")
        if row["via"] and not re.fullmatch(r"[A-Z0-9]+(_[A-Z0-9]+)*", row["via"]):
            mistakes.append(f"{where} via: «{row['via']}» is no system name")
        if (row["kind"] in ("name", "prefix", "sign")) != bool(row["via"]) and row["kind"] != "after":
            mistakes.append(f"{where} via: services have one, other rows have none")
        if (row["kind"] in ("brand", "inside")) != bool(plain.fullmatch(row["merchant"])):
            mistakes.append(f"{where} merchant: brands have one in plain form, other rows have none")
        if (row["kind"] == "inside") != bool(row["under"]):
            mistakes.append(f"{where} under: only rows inside a merchant have one")
        if (row["kind"], row["match"], row["under"]) in keys:
            mistakes.append(f"{where} match: «{row['match']}» stands there twice")
        keys.add((row["kind"], row["match"], row["under"]))
    return mistakes


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
