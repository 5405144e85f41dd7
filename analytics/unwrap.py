"""Who really was paid: the merchant behind card terminals, payment services and marketplaces.

Works on lines in rich canonical form, where slashes and stars still tell merchant, place and service apart. What is known about
services and banks stands in `knowledge/intermediaries.csv`; whose brand a merchant is belongs to the partners.
"""

import csv
import re
from functools import cache
from pathlib import Path

import numpy as np

from analytics.channels import CHANNELS, Channel, has_place
from analytics.kernels import inner, peek, peek64, poke
from analytics.names import is_legal_form, name_key_at
from analytics.phrases import (
    ANYWHERE,
    START,
    WHOLE,
    Phrase,
    Phrases,
    first_phrase,
    is_word,
    next_word,
    phrase_at,
    word_end,
    word_start,
)

FOLDER = Path(__file__).parent / "knowledge"
FILE = FOLDER / "intermediaries.csv"
CITIES = FOLDER / "cities.csv"
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
}
_MODES = {"after": ANYWHERE, "sign": ANYWHERE, "stop": START}
_LOOSE = ("stop", "inside")
_SURE = 12
"""Letters from which on a phrase is looked for inside words too: blanks before it may be lost."""
_TABLES = (
    "lead", "carrier", "service", "via", "sign", "after", "stop", "brand", "inside", "billing", "practice", "noise", "city", "keeper", "land",
)  # fmt: skip
_LEAD, _CARRIER, _SERVICE, _VIA, _SIGN, _AFTER, _STOP, _BRAND, _INSIDE, _BILLING, _PRACTICE, _NOISE, _CITY, _KEEPER, _LAND = (
    8 * number for number in range(len(_TABLES))
)
_ROWS = 8 * len(_TABLES)
"""Behind the tables of phrases: for each row its service, its merchant and `under` as address and length, whether it is a prefix."""
_ROW = 48
_KEEPERS = (
    "stadtwerke stadt gemeinde landeshauptstadt hansestadt universitaet uni hochschule klinikum klinik zoo flughafen airport messe"
    " sparkasse volksbank raiffeisenbank kreissparkasse verkehrsbetriebe therme tierpark theater oper museum finanzamt landkreis"
    " amtsgericht hauptbahnhof hbf bahnhof parkhaus amt rathaus bistum kirche in"
).split()
"""Words behind which a city belongs to the name."""
_LANDS = (
    "de deu at aut ch che lu lux nl nld be bel fr fra gb gbr ie irl us usa es esp it ita dk dnk se swe no nor pl pol cz cze pt prt"
    " gr grc hr hrv hu hun tr tur fi fin ee lt lv mt cy si sk ro bg"
).split()
_MOST_WORDS = 6
_LONGEST_TITLE = 8
_LONGEST_CITY = 60
_CARD, _CASH = CHANNELS.index(Channel.CARD), CHANNELS.index(Channel.CASH)


class Table:
    """What is known about payment services, in memory, for `unwrap_at`."""

    def __init__(self, rows: list[dict[str, str]], cities: list[str]) -> None:
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
        phrases = [Phrases(_phrases(rows, name, cities)) for name in _TABLES]
        self._table = np.array([*(each.address for each in phrases), self._rows.ctypes.data], np.int64)
        self._held = texts, phrases
        self.address = int(self._table.ctypes.data)


def _phrases(rows: list[dict[str, str]], name: str, cities: list[str]) -> list[Phrase]:
    words = {"city": cities, "keeper": _KEEPERS, "land": _LANDS}
    if name in words:
        return [Phrase(word, 0, WHOLE) for word in words[name]]
    services = [(number, row) for number, row in enumerate(rows) if row["kind"] in ("name", "prefix", "own")]
    if name == "service":
        return [Phrase(row["match"], number, WHOLE) for number, row in services]
    if name == "via":
        return [Phrase("via " + row["match"].rstrip("*"), number, WHOLE) for number, row in services if row["via"]]
    return [
        Phrase(row["match"], number, ANYWHERE if name in _LOOSE and len(row["match"]) >= _SURE else _MODES.get(name, WHOLE))
        for number, row in enumerate(rows)
        if row["kind"] == name
    ]


@cache
def table() -> Table:
    """The table that the package brings."""
    return Table(_read(FILE), [row["city"] for row in _read(CITIES)])


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
def unwrap_at(table: int, channel: int, marks: int, city: int, at: int) -> tuple[int, int, int]:
    """Writes merchant and city of a line: where each ends, and the number of the service between."""
    begin, end = peek64(marks + 8), peek64(marks + 16) - 1
    ultimate, ultimate_end = end + 1, peek64(marks + 24) - 1
    purpose, purpose_end = peek64(marks + 40), peek64(marks + 48) - 1
    card = channel == _CARD or channel == _CASH or has_place(begin, end)
    carried = _begins(table + _CARRIER, begin, end) >= 0 and (card or ultimate < ultimate_end)
    if carried or begin == end:
        begin, end, card = ultimate, ultimate_end, card or (carried and ultimate < ultimate_end)
    from_purpose = begin == end
    if from_purpose and card:
        begin = _behind(table + _LEAD, _behind_numbers(purpose, purpose_end), purpose_end)
        end = _stop(table, begin, purpose_end)
    elif card:
        begin = _behind(table + _LEAD, begin, end)
    elif from_purpose:
        begin, end = purpose, _title(purpose, purpose_end)
    begin, end, via, moved = _service(table, begin, end, purpose, purpose_end)
    written = _brand(table, begin, end, purpose, purpose_end, at)
    if written > at:
        return written, _city(table, card, end, end, purpose, purpose_end, city), via
    if not card and not moved:
        practice, practice_end = _practice(table, begin, end, purpose, purpose_end)
        return name_key_at(practice, practice_end, at), city, via
    city_end = _city(table, card, begin, end, purpose, purpose_end, city)
    end = _first_mark(begin, end)
    if city_end == city and card:
        end, city_end = _closing_city(table, begin, end, from_purpose, city)
    written = name_key_at(begin, _before_street(begin, end), at)
    return _without_city(table, at, written, city, city_end), city_end, via


@inner
def _service(table: int, begin: int, end: int, purpose: int, purpose_end: int) -> tuple[int, int, int, bool]:
    """Where the merchant stands if a service is named first, the service's number, and whether the merchant was found elsewhere."""
    row, after = -1, begin
    if begin < end:
        row, after, _ = phrase_at(peek64(table + _SERVICE), begin, begin, end)
    elif purpose < purpose_end:
        row, _, _ = first_phrase(peek64(table + _SIGN), purpose, purpose_end)
    if row >= 0 and _entry(table, row, 0) == 0:  # begins like a service, but is not one
        return begin, end, 0, False
    if row < 0:
        row, start, _ = first_phrase(peek64(table + _VIA), begin, end)
        if row < 0 or start == begin:
            return begin, end, 0, False
        return begin, start, _entry(table, row, 0), True
    via = _entry(table, row, 0)
    if _entry(table, row, 3):
        rest = next_word(after, end)
        return (rest, end, via, True) if rest < end else (begin, end, via, False)
    found, found_end = _in_purpose(table, via, purpose, purpose_end)
    return (found, found_end, via, True) if found < found_end else (begin, end, via, False)


@inner
def _in_purpose(table: int, via: int, purpose: int, purpose_end: int) -> tuple[int, int]:
    """Where a service names the merchant: behind its usual words, before them, or alone."""
    row, start, after = first_phrase(peek64(table + _AFTER), purpose, purpose_end)
    while row >= 0 and _entry(table, row, 0) and _entry(table, row, 0) != via:
        row, start, after = first_phrase(peek64(table + _AFTER), after, purpose_end)
    if row >= 0:
        before = _behind_codes(table, purpose, start)
        after = next_word(after, purpose_end)
        return _fuller(before, start, after, _stop(table, after, purpose_end))
    begin = _behind_codes(table, purpose, purpose_end)
    stop = _stop(table, begin, purpose_end)
    row, start, _ = first_phrase(peek64(table + _VIA), begin, stop)
    if row >= 0:
        return begin, start
    return begin, (stop if _first_mark(begin, stop) < stop else _before_codes(table, begin, stop))


@inner
def _fuller(before: int, before_end: int, after: int, after_end: int) -> tuple[int, int]:
    """Of the name before and behind the usual words the one that is longer or less torn, if they are the same."""
    i, j = before, after
    while True:
        i, j = next_word(i, before_end), next_word(j, after_end)
        if j >= after_end or i >= before_end or peek(i) != peek(j):
            break
        i, j = i + 1, j + 1
    if j < after_end or before >= before_end:
        return (after, after_end) if after < after_end else (before, before_end)
    torn = i >= before_end and before_end - before > after_end - after + 1
    return (after, after_end) if torn else (before, before_end)


@inner
def _behind_codes(table: int, begin: int, end: int) -> int:
    """The first word that may belong to a merchant."""
    i = next_word(begin, end)
    while i < end and _is_code(table, i, word_end(i, end), end):
        i = next_word(word_end(i, end), end)
    return i


@inner
def _before_codes(table: int, begin: int, end: int) -> int:
    """Where the words that may belong to a merchant end."""
    i, count, last = begin, 0, begin
    while i < end and count < _MOST_WORDS and not _is_code(table, i, word_end(i, end), end):
        last = word_end(i, end)
        i = next_word(last, end)
        count += 1
    return last


@inner
def _is_code(table: int, begin: int, end: int, limit: int) -> bool:
    """Whether a word is a number, a code or one that is never a merchant."""
    zeros = letters = 0
    for i in range(begin, end):
        zeros += peek(i) == 48
        letters += peek(i) >= 97
    _, after, found = phrase_at(peek64(table + _NOISE), begin, begin, limit)
    return letters == 0 or zeros > 0 or (found > 0 and after == end)


@inner
def _brand(table: int, begin: int, end: int, purpose: int, purpose_end: int, at: int) -> int:
    """Writes the merchant that a text always means, more exactly where the purpose tells."""
    row = _inside(table, begin, end, begin, end)
    if row < 0 and (purpose > end or purpose_end < begin):
        row = _inside(table, begin, end, purpose, purpose_end)
    if row < 0:
        row = _begins(table + _BRAND, begin, end)
    return _copy(_entry(table, row, 1), _entry(table, row, 2), at) if row >= 0 else at


@inner
def _inside(table: int, begin: int, end: int, low: int, high: int) -> int:
    """The row that tells which of its shops a merchant was, by words somewhere; -1 if there is none."""
    row, _, after = first_phrase(peek64(table + _INSIDE), low, high)
    while row >= 0:
        under, size = _entry(table, row, 4), _entry(table, row, 5)
        if word_end(begin, end) - begin == size and _same(under, begin, size):
            return row
        row, _, after = first_phrase(peek64(table + _INSIDE), after, high)
    return -1


@inner
def _practice(table: int, begin: int, end: int, purpose: int, purpose_end: int) -> tuple[int, int]:
    """Where the practice is named for which somebody collects."""
    if _begins(table + _BILLING, begin, end) < 0:
        return begin, end
    row, start, _ = first_phrase(peek64(table + _PRACTICE), purpose, purpose_end)
    return (start, _before_codes(table, start, _stop(table, start, purpose_end))) if row >= 0 else (begin, end)


@inner
def _city(table: int, card: bool, begin: int, end: int, purpose: int, purpose_end: int, city: int) -> int:
    """Writes the place that the terminal states, and says where it ends."""
    if not card:
        return city
    city_end = _place(begin, end, city)
    if city_end > city:
        return city_end
    stop = _stop(table, purpose, purpose_end)
    city_end = _place(purpose, stop, city) if purpose != begin else city
    if city_end > city:
        return city_end
    stated = _behind(table + _LEAD, purpose, stop)
    last = word_start(stated, _last(stated, stop))
    if stated == purpose or last <= stated or _begins(table + _LAND, last, stop) < 0 or _same_word(stated, begin, end):
        return city
    return _words(stated, last, city)


@inner
def _place(begin: int, end: int, city: int) -> int:
    """Writes the place of `merchant//city/land`, `merchant/street/city/land` or `merchant/city`."""
    mark = _first_mark(begin, end)
    if mark == end:
        return city
    first, count, last, before = mark, 1, mark, begin
    for i in range(mark + 1, end):
        if peek(i) == 47 or peek(i) == 124:
            before, last = last, i
            count += 1
    if peek(first) == 124 and count > 1:
        return _words(first + 1, _first_mark(first + 1, end), city)
    if count > 1 and word_end(last + 1, end) - last == 3:
        return _words(before + 1, last, city)
    return _words(last + 1, end, city)


@inner
def _words(begin: int, end: int, at: int) -> int:
    """Writes words up to the first number."""
    start = at
    i = next_word(begin, end)
    while i < end and at - start < _LONGEST_CITY and not (at > start and peek(i) < 58):
        stop = word_end(i, end)
        if peek(i) >= 97:
            if at > start:
                poke(at, 32)
                at += 1
            at = _copy(i, min(stop - i, _LONGEST_CITY), at)
        i = next_word(stop, end)
    return at


@inner
def _closing_city(table: int, begin: int, end: int, sure: bool, city: int) -> tuple[int, int]:
    """Where a text ends without a known city and its country behind it, and where the city is written."""
    last = _last(begin, end)
    word = word_start(begin, last)
    if word > begin and _begins(table + _LAND, word, last) >= 0:
        last = _last(begin, word)
    start = word_start(begin, last)
    for _ in range(4):
        if start <= begin:
            break
        row, after, _ = phrase_at(peek64(table + _CITY), start, begin, last)
        if row >= 0 and after == last:
            return _kept(table, begin, start, end), _words(start, last, city)
        start = word_start(begin, _last(begin, start))
    return (last if sure else end), city


@inner
def _behind_numbers(i: int, end: int) -> int:
    """The first word that has a letter."""
    i = next_word(i, end)
    while i < end and peek(i) < 58 and _only_digits(i, word_end(i, end)):
        i = next_word(word_end(i, end), end)
    return i


@inner
def _only_digits(begin: int, end: int) -> bool:
    for i in range(begin, end):
        if peek(i) >= 58:
            return False
    return True


@inner
def _title(begin: int, end: int) -> int:
    """Where a name with a legal form ends with which a purpose begins; the beginning if there is none."""
    i, count = next_word(begin, end), 0
    last = begin
    while i < end and count < _LONGEST_TITLE and not _only_digits(i, word_end(i, end)):
        stop = word_end(i, end)
        count += 1
        if count > 1 and is_legal_form(i, stop):
            last = stop
        elif last > begin and stop - i > 2:
            break
        i = next_word(stop, end)
    return last


@inner
def _kept(table: int, begin: int, start: int, end: int) -> int:
    """Where the merchant ends before a city; behind some words the city belongs to the name."""
    last = _last(begin, start)
    return end if _begins(table + _KEEPER, word_start(begin, last), last) >= 0 else last


@inner
def _without_city(table: int, begin: int, end: int, city: int, city_end: int) -> int:
    """Where a merchant ends without its city, whole or cut off by the bank."""
    first = word_end(city, city_end) - city
    i = next_word(word_end(begin, end), end)
    while first > 0 and i < end:
        stop = word_end(i, end)
        size = stop - i
        if (size == first or (size >= 4 and size < first and stop == end)) and _same(city, i, size):
            return _kept(table, begin, i, end)
        i = next_word(stop, end)
    return end


@inner
def _before_street(begin: int, end: int) -> int:
    """Where a text ends before a street with its number."""
    i = next_word(word_end(begin, end), end)
    while i < end:
        stop = word_end(i, end)
        following = next_word(stop, end)
        street = _ends_in(i, stop, 0x727473) or (stop - i > 7 and _ends_in(i, stop, 0x657373))
        if street and following < end and 48 <= peek(following) <= 57:
            return _last(begin, i)
        i = following
    return end


@inner
def _ends_in(begin: int, end: int, letters: int) -> bool:
    """Whether a word of more than three letters ends in these three, the last one highest."""
    if end - begin <= 3:
        return False
    return peek(end - 3) | peek(end - 2) << 8 | peek(end - 1) << 16 == letters


@inner
def _behind(phrases: int, begin: int, end: int) -> int:
    """Where a text goes on behind words that say nothing."""
    while begin < end:
        row, after, _ = phrase_at(peek64(phrases), begin, begin, end)
        following = next_word(after, end)
        if row < 0 or following >= end:
            break
        begin = following
    return begin


@inner
def _begins(phrases: int, begin: int, end: int) -> int:
    """The row with which a text begins, or -1."""
    if begin >= end:
        return -1
    row, _, _ = phrase_at(peek64(phrases), begin, begin, end)
    return row


@inner
def _stop(table: int, begin: int, end: int) -> int:
    _, start, _ = first_phrase(peek64(table + _STOP), begin, end)
    return start


@inner
def _first_mark(begin: int, end: int) -> int:
    for i in range(begin, end):
        if peek(i) == 47 or peek(i) == 124:
            return i
    return end


@inner
def _last(begin: int, end: int) -> int:
    """Where the last word ends."""
    while end > begin and not is_word(peek(end - 1)):
        end -= 1
    return end


@inner
def _same(one: int, other: int, size: int) -> bool:
    for i in range(size):
        if peek(one + i) != peek(other + i):
            return False
    return True


@inner
def _same_word(one: int, begin: int, end: int) -> bool:
    """Whether two texts begin with the same word."""
    size = word_end(begin, end) - begin
    return size > 0 and _same(one, begin, size)


@inner
def _copy(begin: int, size: int, at: int) -> int:
    for i in range(begin, begin + size):
        poke(at, peek(i))
        at += 1
    return at


@inner
def _entry(table: int, row: int, column: int) -> int:
    return peek64(peek64(table + _ROWS) + _ROW * row + 8 * column)
