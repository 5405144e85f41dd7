"""Places on card lines: where terminals write city and country, and where a merchant's name ends before them."""

import csv
import re
from functools import cache
from pathlib import Path

import numpy as np

from analytics.native.compiling import inner, peek, peek64, poke
from analytics.native.phrases import (
    WHOLE,
    Phrase,
    Phrases,
    begins,
    copy,
    is_word,
    last_end,
    next_word,
    phrase_at,
    same,
    word_end,
    word_start,
)

CITIES = Path(__file__).parents[1] / "knowledge" / "tables" / "cities.csv"
_KEEPERS = (
    "stadtwerke stadt gemeinde landeshauptstadt hansestadt universitaet uni hochschule klinikum klinik zoo flughafen airport"
    " messe sparkasse volksbank raiffeisenbank kreissparkasse verkehrsbetriebe therme tierpark theater oper museum finanzamt"
    " landkreis amtsgericht hauptbahnhof hbf bahnhof parkhaus amt rathaus bistum kirche in"
)
"""Words behind which a city belongs to the name."""
_LANDS = (
    "de deu at aut ch che lu lux nl nld be bel fr fra gb gbr ie irl us usa es esp it ita dk dnk se swe no nor pl pol cz cze"
    " pt prt gr grc hr hrv hu hun tr tur fi fin ee lt lv mt cy si sk ro bg"
)
_LONGEST_CITY = 60
_CITY, _KEEPER, _LAND = 0, 8, 16


class CardPlaceTable:
    """Cities, countries and the words behind which a city belongs to the name, in memory."""

    def __init__(self, cities: list[str]) -> None:
        self._phrases = [
            Phrases(Phrase(word, 0, WHOLE) for word in words) for words in (cities, _KEEPERS.split(), _LANDS.split())
        ]
        self._table = np.array([phrases.address for phrases in self._phrases], np.int64)
        self.address = int(self._table.ctypes.data)


@cache
def table() -> CardPlaceTable:
    """The table that the package brings."""
    return CardPlaceTable(_cities(CITIES))


def problems(path: Path = CITIES) -> list[str]:
    """What is wrong in the table of cities, a sentence each."""
    found, seen = [], set()
    for line, city in enumerate(_cities(path), 2):
        if not re.fullmatch(r"[a-z]+( [a-z]+)*", city):
            found.append(f"{path.name}:{line} city: «{city}» is not in plain form")
        if city in seen:
            found.append(f"{path.name}:{line} city: «{city}» stands there twice")
        seen.add(city)
    return found


def _cities(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row["city"] for row in csv.DictReader(file)]


@inner
def has_place(begin: int, end: int) -> bool:
    """Whether a text ends in place and country behind slashes, as terminals write it."""
    if end - begin < 6 or peek(end - 3) != 47 or not is_word(peek(end - 1)) or not is_word(peek(end - 2)):
        return False
    return first_mark(begin + 1, end - 3) < end - 3


@inner
def first_mark(begin: int, end: int) -> int:
    for i in range(begin, end):
        if peek(i) == 47 or peek(i) == 124:
            return i
    return end


@inner
def write_place(begin: int, end: int, city: int) -> int:
    """Writes the place of `merchant//city/land`, `merchant/street/city/land` or `merchant/city`."""
    mark = first_mark(begin, end)
    if mark == end:
        return city
    first, count, last, before = mark, 1, mark, begin
    for i in range(mark + 1, end):
        if peek(i) == 47 or peek(i) == 124:
            before, last = last, i
            count += 1
    if peek(first) == 124 and count > 1:
        return write_words(first + 1, first_mark(first + 1, end), city)
    if word_end(last + 1, end) - last == 3:
        return write_words(before + 1, last, city) if count > 1 else city
    return write_words(last + 1, end, city)


@inner
def write_words(begin: int, end: int, at: int) -> int:
    """Writes words up to the first number."""
    start = at
    i = next_word(begin, end)
    while i < end and at - start < _LONGEST_CITY and not (at > start and peek(i) < 58):
        stop = word_end(i, end)
        if peek(i) >= 97:
            if at > start:
                poke(at, 32)
                at += 1
            at = copy(i, min(stop - i, _LONGEST_CITY), at)
        i = next_word(stop, end)
    return at


@inner
def closing_city(places: int, begin: int, end: int, sure: bool, city: int) -> tuple[int, int]:
    """Where a text ends without a known city and its country behind it, and where the city is written."""
    last = last_end(begin, end)
    word = word_start(begin, last)
    land = word > begin and is_land(places, word, last)
    if land:
        last = last_end(begin, word)
    first = begin if land and sure else begin + 1
    start = word_start(begin, last)
    for _ in range(4):
        if start < first or start == last:
            break
        row, after, _ = phrase_at(peek64(places + _CITY), start, begin, last)
        if row >= 0 and after == last:
            return _kept(places, begin, start, end), write_words(start, last, city)
        start = word_start(begin, last_end(begin, start))
    return (last if sure else end), city


@inner
def _kept(places: int, begin: int, start: int, end: int) -> int:
    """Where the merchant ends before a city; behind some words the city belongs to the name."""
    last = last_end(begin, start)
    return end if last > begin and begins(places + _KEEPER, word_start(begin, last), last) >= 0 else last


@inner
def without_city(places: int, begin: int, end: int, city: int, city_end: int) -> int:
    """Where a merchant ends without its city, whole or cut off by the bank."""
    first = word_end(city, city_end) - city
    i = next_word(word_end(begin, end), end)
    while first > 0 and i < end:
        stop = word_end(i, end)
        size = stop - i
        if (size == first or (size >= 4 and size < first and stop == end)) and same(city, i, size):
            return _kept(places, begin, i, end)
        i = next_word(stop, end)
    return end


@inner
def before_street(begin: int, end: int) -> int:
    """Where a text ends before a street with its number."""
    i = next_word(word_end(begin, end), end)
    while i < end:
        stop = word_end(i, end)
        following = next_word(stop, end)
        street = _ends_in(i, stop, 0x727473) or (stop - i > 7 and _ends_in(i, stop, 0x657373))
        if street and following < end and 48 <= peek(following) <= 57:
            return last_end(begin, i)
        i = following
    return end


@inner
def _ends_in(begin: int, end: int, letters: int) -> bool:
    """Whether a word of more than three letters ends in these three, the last one highest."""
    if end - begin <= 3:
        return False
    return peek(end - 3) | peek(end - 2) << 8 | peek(end - 1) << 16 == letters


@inner
def is_land(places: int, begin: int, end: int) -> bool:
    """Whether a word names a country."""
    return begins(places + _LAND, begin, end) >= 0
