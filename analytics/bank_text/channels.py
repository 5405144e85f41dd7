"""How a booking came about: the channels, and the table that reads them from codes and texts.

The transaction code counts first, then the booking text, then the purpose. Card payments that the bank books as something else
are told by what the terminal wrote. What a payment was for is not the channel's business: 153 covers wages and pensions.
"""

import csv
import re
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from analytics.bank_text.card_places import has_place
from analytics.native.compiling import inner, peek, peek32, peek64
from analytics.native.phrases import ANYWHERE, WHOLE, Phrase, Phrases, longest_phrase, phrase_at

FILE = Path(__file__).parents[1] / "knowledge" / "tables" / "channels.csv"


class Channel(StrEnum):
    """The way a booking took."""

    CARD = "CARD"
    DIRECTDEBIT = "DIRECTDEBIT"
    DD_RETURN = "DD_RETURN"
    DD_RETURN_COLLECTOR = "DD_RETURN_COLLECTOR"
    STANDINGORDER = "STANDINGORDER"
    TRANSFER = "TRANSFER"
    SALARY = "SALARY"
    VL = "VL"
    PUBLIC = "PUBLIC"
    TRANSFER_RETURN = "TRANSFER_RETURN"
    CASH = "CASH"
    FEE = "FEE"
    INTEREST = "INTEREST"
    SECURITIES = "SECURITIES"
    LOAN = "LOAN"
    CARDSETTLE = "CARDSETTLE"
    INTERNAL = "INTERNAL"
    UNKNOWN = "UNKNOWN"


CHANNELS = tuple(Channel)
KINDS = {
    "code": "a transaction code or a range of them",
    "iso": "a purpose code, where neither code nor text say more than that money was transferred",
    "text": "letters in the booking text",
    "word": "whole words in the booking text",
    "override": "letters in booking text or purpose that tell of a card whatever the payment was booked as",
    "card": "letters in booking text or purpose that tell of a card where the payment was booked as a direct debit",
    "name": "words at the beginning of the name that tell of a card",
    "hint": "whole words in the purpose, where nothing else says anything",
}
"""What a row of the table may match. The longest match counts, of equals the last row."""
NO_CODE = 1000
_CARD, _DIRECTDEBIT, _DD_RETURN, _COLLECTOR, _TRANSFER, _CASH, _UNKNOWN = (
    CHANNELS.index(channel)
    for channel in (
        Channel.CARD, Channel.DIRECTDEBIT, Channel.DD_RETURN, Channel.DD_RETURN_COLLECTOR,
        Channel.TRANSFER, Channel.CASH, Channel.UNKNOWN,
    )
)  # fmt: skip
_PARTS = ("text", "override", "card", "name", "hint")
_TEXT, _OVERRIDE, _CARDLIKE, _NAMES, _HINT = (8 * number for number in range(len(_PARTS)))


class ChannelTable:
    """The table in memory, for `channel_at`."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.codes = np.full(NO_CODE + 1, _UNKNOWN, np.int64)
        for row in rows:
            if row["kind"] == "code":
                low, _, high = row["match"].partition("-")
                self.codes[int(low) : int(high or low) + 1] = CHANNELS.index(Channel(row["channel"]))
        self.isos = np.array(
            [
                (int.from_bytes(row["match"].encode(), "little"), CHANNELS.index(Channel(row["channel"])))
                for row in rows
                if row["kind"] == "iso"
            ],
            np.int64,
        )
        self._phrases = [Phrases(_phrases(rows, part)) for part in _PARTS]
        self._table = np.array([phrases.address for phrases in self._phrases], np.int64)
        self.address = int(self._table.ctypes.data)


def _phrases(rows: list[dict[str, str]], part: str) -> list[Phrase]:
    kinds = ("text", "word") if part == "text" else (part,)
    return [
        Phrase(
            row["match"], CHANNELS.index(Channel(row["channel"])), WHOLE if row["kind"] in ("word", "name", "hint") else ANYWHERE
        )
        for row in rows
        if row["kind"] in kinds
    ]


@cache
def table() -> ChannelTable:
    """The table that the package brings."""
    return ChannelTable(rows())


def problems(path: Path = FILE) -> list[str]:
    """What is wrong in the table, a sentence each."""
    forms = {"code": r"\d{1,3}(-\d{1,3})?", "iso": r"[A-Z]{4}"}
    found, seen = [], set()
    for line, row in enumerate(rows(path), 2):
        where = f"{path.name}:{line}"
        if row["kind"] not in KINDS:
            found.append(f"{where} kind: «{row['kind']}» is none of {', '.join(KINDS)}")
        if row["channel"] not in CHANNELS:
            found.append(f"{where} channel: «{row['channel']}» is no channel")
        if not re.fullmatch(forms.get(row["kind"], r"[a-z0-9&]+( [a-z0-9&]+)*"), row["match"]):
            found.append(f"{where} match: «{row['match']}» is not in plain form")
        if (row["kind"], row["match"]) in seen:
            found.append(f"{where} match: «{row['match']}» stands there twice")
        seen.add((row["kind"], row["match"]))
    return found


def rows(path: Path = FILE) -> list[dict[str, str]]:
    """The table as it stands in the file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@inner
def channel_at(table: int, codes: npt.NDArray[np.int64], isos: npt.NDArray[np.int64], line: int, marks: int) -> int:
    """The channel of a line in canonical form, as its number in `CHANNELS`."""
    positive, bare = peek(line) == 1, peek(line + 4) == 1
    booked, booked_end = peek64(marks), peek64(marks + 8) - 1
    name, name_end = booked_end + 1, peek64(marks + 16) - 1
    channel = codes[peek(line + 2) << 8 | peek(line + 3)]
    if channel == _UNKNOWN:
        channel = _or_else(longest_phrase(peek64(table + _TEXT), booked, booked_end), _UNKNOWN)
        if channel == _DD_RETURN and not positive:
            channel = _COLLECTOR
    purpose, end = peek64(marks + 40), peek64(marks + 48) - 1
    if channel in (_UNKNOWN, _TRANSFER):
        channel = _by_purpose_code(isos, channel, peek64(marks + 32), purpose - 1)
    channel = _by_card(table, channel, booked, booked_end, name, name_end, purpose, end)
    if channel == _UNKNOWN:
        channel = _or_else(longest_phrase(peek64(table + _HINT), purpose, end), _UNKNOWN)
    if channel == _UNKNOWN and bare and not positive and (name < name_end or _ends_abroad(purpose, end)):
        return _CARD
    return channel


@inner
def _ends_abroad(begin: int, end: int) -> bool:
    """Whether a text ends in two letters, as card statements name the country."""
    return end - begin > 4 and peek(end - 3) == 32 and peek(end - 2) >= 97 and peek(end - 1) >= 97


@inner
def _by_card(table: int, channel: int, booked: int, booked_end: int, name: int, name_end: int, purpose: int, end: int) -> int:
    """The channel after asking whether a card was used; only weak channels ask."""
    if channel != _UNKNOWN and channel != _DIRECTDEBIT and channel != _TRANSFER and channel != _CARD:
        return channel
    found = longest_phrase(peek64(table + _OVERRIDE), purpose, end)
    found = _or_else(found, longest_phrase(peek64(table + _OVERRIDE), booked, booked_end))
    if found < 0 and name < name_end:
        found, _, _ = phrase_at(peek64(table + _NAMES), name, name, name_end)
    if found < 0 and channel != _TRANSFER and channel != _CARD:
        found = longest_phrase(peek64(table + _CARDLIKE), purpose, end)
        found = _or_else(found, longest_phrase(peek64(table + _CARDLIKE), booked, booked_end))
        found = _CARD if found < 0 and has_place(name, name_end) else found
    return _or_else(found, channel)


@inner
def _by_purpose_code(isos: npt.NDArray[np.int64], channel: int, begin: int, end: int) -> int:
    if end - begin == 4:
        for k in range(len(isos)):
            if isos[k, 0] == peek32(begin):
                return int(isos[k, 1])
    return channel


@inner
def _or_else(found: int, otherwise: int) -> int:
    return found if found >= 0 else otherwise
