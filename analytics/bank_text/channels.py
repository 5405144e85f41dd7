"""How a booking came about: the channels, and the table that reads them from codes and texts.

The transaction code counts first, then the booking text, then the purpose. Card payments that the bank books as something else
are told by what the terminal wrote. What a payment was for is not the channel's business: 153 covers wages and pensions.
"""

import csv
import re
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from analytics.bank_text.card_places import has_place
from analytics.bank_text.line_layout import (
    BOOKING_TEXT,
    CODE_HIGH,
    CODE_LOW,
    IS_BARE,
    NAME,
    POSITIVE,
    PURPOSE,
    PURPOSE_CODE,
    part_span,
)
from analytics.native.characters import BLANK, SMALL_A, byte, four_bytes, packed
from analytics.native.columns import Bytes, Offsets
from analytics.native.compiling import uncounted
from analytics.native.phrases import (
    ANYWHERE,
    NO_PHRASE,
    WHOLE,
    Phrase,
    PhraseLists,
    longest_phrase,
    phrase_at,
    phrase_lists,
)

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
"""The transaction code of a booking that has none; real ones have at most three digits."""
_CARD, _DIRECTDEBIT, _DD_RETURN, _COLLECTOR, _TRANSFER, _CASH, _UNKNOWN = (
    CHANNELS.index(channel)
    for channel in (
        Channel.CARD, Channel.DIRECTDEBIT, Channel.DD_RETURN, Channel.DD_RETURN_COLLECTOR,
        Channel.TRANSFER, Channel.CASH, Channel.UNKNOWN,
    )
)  # fmt: skip
_LISTS = ("text", "override", "card", "name", "hint")
_TEXT, _OVERRIDE, _CARDLIKE, _NAMES, _HINT = range(len(_LISTS))
_CODE, _CHANNEL = 0, 1
"""Columns of the purpose codes."""
_PURPOSE_CODE_BYTES = 4


class ChannelTable(NamedTuple):
    """The table in memory, for `channel_of`: channels by transaction code and by purpose code, and phrases that mean them."""

    codes: Offsets
    purpose_codes: Offsets
    phrases: PhraseLists


def channel_table(rows: list[dict[str, str]]) -> ChannelTable:
    """The rows of the table, ready to be looked up."""
    codes = np.full(NO_CODE + 1, _UNKNOWN, np.int64)
    for row in rows:
        if row["kind"] == "code":
            low, _, high = row["match"].partition("-")
            codes[int(low) : int(high or low) + 1] = _number(row)
    purpose_codes = [(packed(row["match"]), _number(row)) for row in rows if row["kind"] == "iso"]
    return ChannelTable(codes, np.array(purpose_codes, np.int64), phrase_lists(*(_phrases(rows, part) for part in _LISTS)))


def _number(row: dict[str, str]) -> int:
    return CHANNELS.index(Channel(row["channel"]))


def _phrases(rows: list[dict[str, str]], part: str) -> list[Phrase]:
    kinds = ("text", "word") if part == "text" else (part,)
    whole = ("word", "name", "hint")
    return [
        Phrase(row["match"], _number(row), WHOLE if row["kind"] in whole else ANYWHERE) for row in rows if row["kind"] in kinds
    ]


@cache
def table() -> ChannelTable:
    """The table that the package brings."""
    return channel_table(rows())


def problems(path: Path = FILE) -> list[str]:
    """The mistakes in the table, a sentence each."""
    forms = {"code": r"\d{1,3}(-\d{1,3})?", "iso": r"[A-Z]{4}"}
    mistakes, keys = [], set()
    for line, row in enumerate(rows(path), 2):
        where = f"{path.name}:{line}"
        if row["kind"] not in KINDS:
            mistakes.append(f"{where} kind: «{row['kind']}» is none of {', '.join(KINDS)}")
        if row["channel"] not in CHANNELS:
            mistakes.append(f"{where} channel: «{row['channel']}» is no channel")
        if not re.fullmatch(forms.get(row["kind"], r"[a-z0-9&]+( [a-z0-9&]+)*"), row["match"]):
            mistakes.append(f"{where} match: «{row['match']}» is not in plain form")
        if (row["kind"], row["match"]) in keys:
            mistakes.append(f"{where} match: «{row['match']}» stands there twice")
        keys.add((row["kind"], row["match"]))
    return mistakes


def rows(path: Path = FILE) -> list[dict[str, str]]:
    """The table as it stands in the file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@uncounted
def channel_of(table: ChannelTable, line: Bytes, header: int, parts: Offsets) -> int:
    """The channel of a line in canonical form, as its number in `CHANNELS`."""
    positive, bare = byte(line, header + POSITIVE) == 1, byte(line, header + IS_BARE) == 1
    booking_text, booking_text_end = part_span(parts, BOOKING_TEXT)
    channel = table.codes[byte(line, header + CODE_HIGH) << 8 | byte(line, header + CODE_LOW)]
    if channel == _UNKNOWN:
        channel = _first_known(longest_phrase(table.phrases, _TEXT, line, booking_text, booking_text_end), _UNKNOWN)
        if channel == _DD_RETURN and not positive:
            channel = _COLLECTOR
    if channel in (_UNKNOWN, _TRANSFER):
        channel = _by_purpose_code(table.purpose_codes, channel, line, parts)
    channel = _by_card(table.phrases, channel, line, parts)
    name, name_end = part_span(parts, NAME)
    purpose, purpose_end = part_span(parts, PURPOSE)
    if channel == _UNKNOWN:
        channel = _first_known(longest_phrase(table.phrases, _HINT, line, purpose, purpose_end), _UNKNOWN)
    if channel == _UNKNOWN and bare and not positive and (name < name_end or _ends_abroad(line, purpose, purpose_end)):
        return _CARD
    return channel


@uncounted
def _ends_abroad(line: Bytes, begin: int, end: int) -> bool:
    """Whether a text ends in two letters, as card statements name the country."""
    return end - begin > 4 and byte(line, end - 3) == BLANK and byte(line, end - 2) >= SMALL_A and byte(line, end - 1) >= SMALL_A


@uncounted
def _by_card(phrases: PhraseLists, channel: int, line: Bytes, parts: Offsets) -> int:
    """The channel after looking whether a card was used; other channels than the weak ones stay."""
    if channel != _UNKNOWN and channel != _DIRECTDEBIT and channel != _TRANSFER and channel != _CARD:
        return channel
    booking_text, booking_text_end = part_span(parts, BOOKING_TEXT)
    name, name_end = part_span(parts, NAME)
    purpose, purpose_end = part_span(parts, PURPOSE)
    by_card = longest_phrase(phrases, _OVERRIDE, line, purpose, purpose_end)
    by_card = _first_known(by_card, longest_phrase(phrases, _OVERRIDE, line, booking_text, booking_text_end))
    if by_card == NO_PHRASE and name < name_end:
        by_card, _, _ = phrase_at(phrases, _NAMES, line, name, name, name_end)
    if by_card == NO_PHRASE and channel != _TRANSFER and channel != _CARD:
        by_card = longest_phrase(phrases, _CARDLIKE, line, purpose, purpose_end)
        by_card = _first_known(by_card, longest_phrase(phrases, _CARDLIKE, line, booking_text, booking_text_end))
        by_card = _CARD if by_card == NO_PHRASE and has_place(line, name, name_end) else by_card
    return _first_known(by_card, channel)


@uncounted
def _by_purpose_code(purpose_codes: Offsets, channel: int, line: Bytes, parts: Offsets) -> int:
    begin, end = part_span(parts, PURPOSE_CODE)
    if end - begin == _PURPOSE_CODE_BYTES:
        code = four_bytes(line, begin)
        for k in range(len(purpose_codes)):
            if purpose_codes[k, _CODE] == code:
                return int(purpose_codes[k, _CHANNEL])
    return channel


@uncounted
def _first_known(channel: int, otherwise: int) -> int:
    return channel if channel != NO_PHRASE else otherwise
