"""Places on card lines: where terminals write city and country, and where a merchant's name ends before them."""

import csv
import re
from pathlib import Path

from analytics.native.characters import BAR, BLANK, NINE, SLASH, SMALL_A, byte, copy, is_digit, letters, put, same, stands_at
from analytics.native.columns import Bytes
from analytics.native.compiling import uncounted
from analytics.native.phrases import (
    NO_PHRASE,
    WHOLE,
    Phrase,
    PhraseLists,
    is_word,
    last_word_end,
    next_word,
    opening_phrase,
    phrase_at,
    word_end,
    word_start,
)

CITIES = Path(__file__).parents[1] / "knowledge" / "tables" / "cities.csv"
_CITY_KEEPERS = (
    "stadtwerke stadt gemeinde landeshauptstadt hansestadt universitaet uni hochschule klinikum klinik zoo flughafen airport"
    " messe sparkasse volksbank raiffeisenbank kreissparkasse verkehrsbetriebe therme tierpark theater oper museum finanzamt"
    " landkreis amtsgericht hauptbahnhof hbf bahnhof parkhaus amt rathaus bistum kirche in konsum kvg stadtkasse gemeindekasse"
    " kreiskasse landratsamt krankenhaus universitaetsklinikum uniklinik opernhaus schauspielhaus staatstheater philharmonie"
    " tierheim"
)
"""Words behind which a city belongs to the name."""
_COUNTRIES = (
    "de deu at aut ch che lu lux nl nld be bel fr fra gb gbr ie irl us usa es esp it ita dk dnk se swe no nor pl pol cz cze"
    " pt prt gr grc hr hrv hu hun tr tur fi fin ee lt lv mt cy si sk ro bg"
)
MAX_CITY_BYTES = 60
"""No word is added to a city that has this many bytes, and longer words are cut."""
CITY, CITY_KEEPER, COUNTRY = range(3)
"""The lists of phrases of places: the first ones in the lists that functions of this module are given."""
_MAX_CITY_WORDS = 4
_MIN_CUT_CITY_BYTES = 4
_MIN_PLACE_BYTES = 6
_COUNTRY_BYTES = 2
_MIN_SSE_BYTES = 8
_STR, _SSE = letters("str"), letters("sse")


def phrases() -> list[list[Phrase]]:
    """Cities, words behind which a city belongs to the name, and countries, each as a list of phrases."""
    return [[Phrase(word, 0, WHOLE) for word in words] for words in (_cities(CITIES), _CITY_KEEPERS.split(), _COUNTRIES.split())]


def problems(path: Path = CITIES) -> list[str]:
    """The mistakes in the table of cities, a sentence each."""
    mistakes, cities = [], set()
    for line, city in enumerate(_cities(path), 2):
        if not re.fullmatch(r"[a-z]+( [a-z]+)*", city):
            mistakes.append(f"{path.name}:{line} city: «{city}» is not in plain form")
        if city in cities:
            mistakes.append(f"{path.name}:{line} city: «{city}» stands there twice")
        cities.add(city)
    return mistakes


def _cities(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row["city"] for row in csv.DictReader(file)]


@uncounted
def has_place(line: Bytes, begin: int, end: int) -> bool:
    """Whether a text ends in place and country behind slashes, as terminals write it."""
    mark = end - _COUNTRY_BYTES - 1
    if (
        end - begin < _MIN_PLACE_BYTES
        or byte(line, mark) != SLASH
        or not is_word(byte(line, end - 1))
        or not is_word(byte(line, end - 2))
    ):
        return False
    return first_mark(line, begin + 1, mark) < mark


@uncounted
def _is_mark(c: int) -> bool:
    return c in (SLASH, BAR)


@uncounted
def first_mark(line: Bytes, begin: int, end: int) -> int:
    """Where the first slash or double slash stands; the end if there is none."""
    for i in range(begin, end):
        if _is_mark(byte(line, i)):
            return i
    return end


@uncounted
def write_place(line: Bytes, begin: int, end: int, city: int) -> int:
    """Writes the place of `merchant//city/land`, `merchant/street/city/land` or `merchant/city`, and returns where it ends."""
    mark = first_mark(line, begin, end)
    if mark == end:
        return city
    first, count, last, before = mark, 1, mark, begin
    for i in range(mark + 1, end):
        if _is_mark(byte(line, i)):
            before, last = last, i
            count += 1
    if byte(line, first) == BAR and count > 1:
        return write_words(line, first + 1, first_mark(line, first + 1, end), city)
    if word_end(line, last + 1, end) - last - 1 == _COUNTRY_BYTES:
        return write_words(line, before + 1, last, city) if count > 1 else city
    return write_words(line, last + 1, end, city)


@uncounted
def write_words(line: Bytes, begin: int, end: int, at: int) -> int:
    """Writes words up to the first number, and returns where they end."""
    start = at
    i = next_word(line, begin, end)
    while i < end and at - start < MAX_CITY_BYTES and not (at > start and byte(line, i) <= NINE):
        stop = word_end(line, i, end)
        if byte(line, i) >= SMALL_A:
            if at > start:
                put(line, at, BLANK)
                at += 1
            at = copy(line, i, min(stop, i + MAX_CITY_BYTES), line, at)
        i = next_word(line, stop, end)
    return at


@uncounted
def closing_city(phrase_lists: PhraseLists, line: Bytes, begin: int, end: int, certain: bool, city: int) -> tuple[int, int]:
    """Where a text ends without a phrase_lists city and its country behind it, and where the city that was written ends.

    `certain` says that a city must stand there, so that it may be all that the text has.
    """
    last = last_word_end(line, begin, end)
    word = word_start(line, begin, last)
    has_country = word > begin and is_country(phrase_lists, line, word, last)
    if has_country:
        last = last_word_end(line, begin, word)
    first = begin if has_country and certain else begin + 1
    start = word_start(line, begin, last)
    for _ in range(_MAX_CITY_WORDS):
        if start < first or start == last:
            break
        row, after, _ = phrase_at(phrase_lists, CITY, line, start, begin, last)
        if row != NO_PHRASE and after == last:
            return _merchant_end(phrase_lists, line, begin, start, end), write_words(line, start, last, city)
        start = word_start(line, begin, last_word_end(line, begin, start))
    return (last if certain else end), city


@uncounted
def _merchant_end(phrase_lists: PhraseLists, line: Bytes, begin: int, start: int, end: int) -> int:
    """Where the merchant ends before a city; behind some words the city belongs to the name."""
    last = last_word_end(line, begin, start)
    if last > begin and opening_phrase(phrase_lists, CITY_KEEPER, line, word_start(line, begin, last), last) != NO_PHRASE:
        return end
    return last


@uncounted
def without_city(phrase_lists: PhraseLists, line: Bytes, begin: int, end: int, city: int, city_end: int) -> int:
    """Where a merchant ends without its city, whole or cut off by the bank."""
    length = word_end(line, city, city_end) - city
    i = next_word(line, word_end(line, begin, end), end)
    while length > 0 and i < end:
        stop = word_end(line, i, end)
        size = stop - i
        if (size == length or (_MIN_CUT_CITY_BYTES <= size < length and stop == end)) and same(line, city, line, i, size):
            return _merchant_end(phrase_lists, line, begin, i, end)
        i = next_word(line, stop, end)
    return end


@uncounted
def before_street(line: Bytes, begin: int, end: int) -> int:
    """Where a text ends before a street with its number."""
    i = next_word(line, word_end(line, begin, end), end)
    while i < end:
        stop = word_end(line, i, end)
        following = next_word(line, stop, end)
        is_street = _ends_in(line, i, stop, _STR) or (stop - i >= _MIN_SSE_BYTES and _ends_in(line, i, stop, _SSE))
        if is_street and following < end and is_digit(byte(line, following)):
            return last_word_end(line, begin, i)
        i = following
    return end


@uncounted
def _ends_in(line: Bytes, begin: int, end: int, ending: Bytes) -> bool:
    """Whether a word is longer than this ending and ends in it."""
    return end - begin > ending.size and stands_at(line, end - ending.size, ending)


@uncounted
def is_country(phrase_lists: PhraseLists, line: Bytes, begin: int, end: int) -> bool:
    """Whether a word names a country."""
    return opening_phrase(phrase_lists, COUNTRY, line, begin, end) != NO_PHRASE
