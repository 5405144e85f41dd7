"""Lines: bookings that say the same, once digits and references are gone, share a 64-bit key and are read only once.

Here belongs the canonical form of a whole booking and its key. `read` uses nothing of a booking that the key does not cover,
so equal keys mean equal lines.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import polars as pl

from analytics.bank_text import channels, intermediaries, merchant, sepa
from analytics.bank_text.canonical import fold
from analytics.bank_text.channels import Channel
from analytics.bank_text.line_breaks import mended
from analytics.frames import LINES, checked
from analytics.native.columns import WIDTH, Offsets, TextColumns, room, text_at, texts, written
from analytics.native.compiling import compiled, inner, peek, peek64, peek_word, poke, poke64
from analytics.native.dense_ids import HashTable, Numbers, empty
from analytics.native.phrases import BASIS, hashed, word_table

AMOUNT_EDGES = (0, 500, 1500, 4500, 15000, 45000, 95200, 300000)
"""In cents; a line's `amount_bin` is the number of edges that the absolute amount reaches."""
MONTHS = "januar februar maerz april mai juni juli august september oktober november dezember"
CHUNK = 65_536
"""Rows that one thread takes at a time."""

_SOURCES = ("purpose", "booking_text", "counterparty_name", "ultimate_name", "gv_code", "counterparty_iban")
READ = (*_SOURCES, "amount_cents")
"""The columns of a booking of which its line is made."""
_PURPOSE, _BOOKED, _NAME, _ULTIMATE, _CODE, _ACCOUNT = range(6)
_PARTS = ("booking_text", "name", "ultimate", "creditor_id", "purpose_code", "purpose")
_TEXTS = (*_PARTS, "merchant", "city")
_PLACES = 8 * (sepa.SPANS + len(_PARTS) + 1)
"""Bytes before a line: where its SEPA fields were found and where its parts were written."""
_CREDITOR_ID, _PURPOSE_CODE = 3, 4
_NONE = 63
_FIELDS = np.array(
    [
        (-_BOOKED, sepa.NOTE, _NONE),
        (-_NAME, sepa.PARTY, _NONE),
        (-_ULTIMATE, sepa.ABWA, sepa.ABWE),
        (_NONE, _NONE, _NONE),
        (_NONE, _NONE, _NONE),
        (sepa.REMITTANCE, _NONE, _NONE),
    ],
    np.int64,
)
"""Where each text of a line comes from: columns of the booking, negative, or fields of its purpose."""
_SHORTEST_BROKEN = 85
_HEADER = 8
_CITY = 512
"""Bytes for the city of a line behind it, before its merchant."""
_EDGES = np.array(AMOUNT_EDGES, np.int64)
_CARD = channels.CHANNELS.index(Channel.CARD)
_PURPOSE_PART, _MERCHANT = 5, 6
_BANKS_WORDS = (0, 2, _PURPOSE_PART)
"""Parts that say nothing on card payments whose merchant is known: they are the banks' own words."""
_MONTHS, _IS_MONTH = word_table({1: MONTHS})
_MIX = np.uint64(0x9E3779B97F4A7C15)


def keys(transactions: pl.DataFrame, threads: int | None = None) -> pl.Series:
    """The key of each booking's line."""
    source, amounts = _source(transactions)
    out = np.zeros(transactions.height, np.uint64)
    size = _longest(transactions)

    def fill(first: int) -> None:
        work = np.zeros(size, np.uint8)
        _keys(source.address, amounts, first, min(first + CHUNK, len(out)), work.ctypes.data, out)

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        list(pool.map(fill, range(0, transactions.height, CHUNK)))
    return pl.Series("key", out)


def read(transactions: pl.DataFrame) -> pl.DataFrame:
    """The line of each booking, in the order given; pass each distinct line once."""
    return _read(transactions, distinct=False)[0]


def contents(transactions: pl.DataFrame) -> tuple[pl.DataFrame, Numbers]:
    """The lines of bookings without those that say the same as another, and which of them is that of each booking.

    More is the same than by their keys: the town of a card payment says nothing.
    """
    return _read(transactions, distinct=True)


def _read(transactions: pl.DataFrame, distinct: bool) -> tuple[pl.DataFrame, Numbers]:
    source, amounts = _source(transactions)
    rows = transactions.height
    work = np.zeros(_longest(transactions), np.uint8)
    found, header, number = np.zeros(rows, np.uint64), np.zeros((rows, 4), np.uint8), np.empty(rows, np.int32)
    out = np.empty((len(_TEXTS), room(*(transactions[name] for name in _SOURCES[:4])) + 32 * rows), np.uint8)
    offsets = np.zeros((len(_TEXTS), rows + 1), np.int64)
    known, paid = channels.table(), intermediaries.table()
    count = _lines(
        source.address,
        amounts,
        known.address,
        known.codes,
        known.isos,
        paid.address,
        work.ctypes.data,
        empty(1 << (2 * rows).bit_length() if distinct else 0),
        number,
        found,
        header,
        out,
        offsets,
    )
    texts = [written(name, out[part], offsets[part, : count + 1]) for part, name in enumerate(_TEXTS)]
    header = header[:count]
    read = pl.DataFrame(texts).with_columns(
        key=pl.Series(found[:count]),
        positive=pl.Series(header[:, 0] == 1),
        amount_bin=pl.Series(header[:, 1]),
        channel=_named(header[:, 2], list(channels.CHANNELS)),
        via=_named(header[:, 3], paid.services),
    )
    return checked(read, LINES), number


def _named(numbers: npt.NDArray[np.uint8], names: list[str]) -> pl.Series:
    return pl.Series(names, dtype=pl.String)[numbers]


def _source(transactions: pl.DataFrame) -> tuple[TextColumns, npt.NDArray[np.int64]]:
    amounts = np.ascontiguousarray(transactions["amount_cents"].cast(pl.Int64).fill_null(0).to_numpy())
    amounts.flags.writeable = False
    return texts(*(transactions[name] for name in _SOURCES)), amounts


def _longest(transactions: pl.DataFrame) -> int:
    """Bytes that the longest line may take, with the places of its fields before it."""
    longest = [transactions[name].str.len_bytes().max() for name in _SOURCES[:4]]
    return _PLACES + 4 * (sum(size for size in longest if isinstance(size, int)) + _CITY)


@compiled
def _keys(table: int, amounts: Offsets, first: int, last: int, work: int, out: npt.NDArray[np.uint64]) -> None:
    line = work + _PLACES
    for row in range(first, last):
        out[row] = _hash(line, _line(table, row, amounts[row], work, line))


@compiled
def _lines(
    table: int,
    amounts: Offsets,
    known: int,
    codes: Offsets,
    isos: Offsets,
    services: int,
    work: int,
    seen: HashTable,
    number: Numbers,
    keys: npt.NDArray[np.uint64],
    header: npt.NDArray[np.uint8],
    out: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
) -> int:
    """Keys, headers and texts of each line, and their number; of each booking the number of its line.

    Where there is a table of those seen, what says the same is written over by the next.
    """
    line = work + _PLACES
    marks = work + 8 * sepa.SPANS
    hashes, numbers = seen.keys, seen.numbers
    count = 0
    for row in range(len(number)):
        end = _line(table, row, amounts[row], work, line)
        keys[count] = _hash(line, end)
        channel = channels.channel_at(known, codes, isos, line, marks)
        merchant_end, city_end, via = merchant.unwrap_at(services, channel, marks, end, end + _CITY)
        header[count, 0], header[count, 1], header[count, 2], header[count, 3] = peek(line), peek(line + 1), channel, via
        bare = channel == _CARD and merchant_end > end + _CITY and (merchant_end > end + _CITY + 1 or peek(end + _CITY) != 48)
        content = np.uint64(peek(line) | peek(line + 1) << 8 | channel << 16 | via << 32) * _MIX
        for part in range(len(_TEXTS)):
            begin, stop = end, city_end
            if part == _MERCHANT or (bare and part == 1):
                begin, stop = end + _CITY, merchant_end
            elif part < len(_PARTS):
                begin, stop = peek64(marks + 8 * part), peek64(marks + 8 * part + 8) - 1
                stop = begin if bare and part in _BANKS_WORDS else stop
            at = _copy(begin, stop, out[part], offsets[part, count])
            if part == _PURPOSE_PART:
                at = _without_months(out[part], offsets[part, count], at)
            offsets[part, count + 1] = at
            if part <= _MERCHANT:
                start = out.ctypes.data + part * out.shape[1]
                content = (content ^ _hash(start + offsets[part, count], start + at)) * _MIX
        number[row] = count
        if len(hashes):
            place = np.int64(content >> np.uint64(20)) & (len(hashes) - 1)
            while numbers[place] >= 0 and hashes[place] != content:
                place = (place + 1) & (len(hashes) - 1)
            if numbers[place] >= 0:
                number[row] = numbers[place]
                continue
            hashes[place], numbers[place] = content, count
        count += 1
    return count


@inner
def _without_months(text: npt.NDArray[np.uint8], begin: int, end: int) -> int:
    """Writes a zero in the place of each name of a month, and says where the text ends then."""
    at = i = begin
    while i < end:
        stop, h = i, np.uint64(BASIS)
        while stop < end and text[stop] >= 48:
            h = hashed(h, text[stop])
            stop += 1
        if stop > i and (i == begin or text[i - 1] == 32) and _is_month(h):
            text[at] = 48
            at, i = at + 1, stop
        while i < end and i <= stop:
            text[at] = text[i]
            at, i = at + 1, i + 1
    return at


@inner
def _is_month(h: np.uint64) -> bool:
    place = np.int64(h & np.uint64(len(_MONTHS) - 1))
    while _IS_MONTH[place] and _MONTHS[place] != h:
        place = (place + 1) & (len(_MONTHS) - 1)
    return bool(_IS_MONTH[place])


@inner
def _copy(begin: int, end: int, out: npt.NDArray[np.uint8], at: int) -> int:
    """Writes a text, and blanks for the marks that only the reading of a line needs."""
    for i in range(begin, end):
        c = peek(i)
        out[at] = 32 if c == 47 or c == 124 or c == 42 else c
        at += 1
    return at


@inner
def _line(table: int, row: int, amount: int, spans: int, line: int) -> int:
    """Writes a booking in canonical form, the header and each part with a zero byte behind it, and says where it ends."""
    low, high = text_at(table + WIDTH * _PURPOSE, row)
    found = sepa.segment(low, high, spans)
    marks = spans + 8 * sepa.SPANS
    at = line + _HEADER
    for part in range(len(_PARTS)):
        poke64(marks + 8 * part, at)
        if part == _CREDITOR_ID:
            at = _creditor(low, spans, found, at)
        elif part == _PURPOSE_CODE:
            at = sepa.value(low, spans, sepa.PURP, at) if found >> sepa.PURP & 1 else at
        else:
            at = _text(table, row, part, low, high, spans, found, at)
        poke(at, 0)
        at += 1
    poke64(marks + 8 * len(_PARTS), at)
    silent = at == peek64(marks + 40) + 1 or peek64(marks + 8) + 1 == peek64(marks + 16)
    _head(table, row, amount, line, silent)
    return at


@inner
def _text(table: int, row: int, part: int, low: int, high: int, spans: int, found: int, at: int) -> int:
    """Writes one text from the first of its sources that says anything; words of the bank are added to its booking text."""
    start = at
    for source in range(3):
        begin, end = 0, 0
        field = _FIELDS[part, source]
        if field < 0:
            begin, end = text_at(table - WIDTH * field, row)
        elif found >> field & 1:
            begin, end = peek64(spans + 16 * field), peek64(spans + 16 * field + 8)
            if field == sepa.REMITTANCE:
                begin, end = _unbroken(low, high, begin, end, at)
        if begin == end:
            continue
        if at > start:
            poke(at, 32)
        after = fold(begin, end, at + (at > start), False, True)
        at = after if after > at + (at > start) else at
        if at > start and part > 0:
            break
    return at


@inner
def _unbroken(low: int, high: int, begin: int, end: int, at: int) -> tuple[int, int]:
    """Where the text stands without the line breaks of the bank; behind the line if it had some."""
    if high - low < _SHORTEST_BROKEN:
        return begin, end
    spare = at + end - begin + 16
    mend = mended(low, high, begin, end, spare)
    return (spare, mend) if mend else (begin, end)


@inner
def _creditor(low: int, spans: int, found: int, at: int) -> int:
    """The creditor id without the three characters that its owner may choose."""
    if not found >> sepa.CRED & 1:
        return at
    end = sepa.value(low, spans, sepa.CRED, at)
    if end == at:
        return at
    for i in range(at + 7, end):
        poke(i - 3, peek(i))
    return end - 3


@inner
def _head(table: int, row: int, amount: int, line: int, silent: bool) -> None:
    """Sign, amount, transaction code, and whether name or purpose are all that is told of the other side."""
    count = 0
    for edge in _EDGES:
        count += edge <= abs(amount)
    begin, end = text_at(table + WIDTH * _CODE, row)
    code = _code(begin, end)
    begin, end = text_at(table + WIDTH * _ACCOUNT, row)
    poke(line, amount >= 0)
    poke(line + 1, count)
    poke(line + 2, code >> 8)
    poke(line + 3, code & 255)
    poke(line + 4, silent and begin == end)
    for k in range(5, _HEADER):
        poke(line + k, 0)


@inner
def _code(i: int, end: int) -> int:
    """The first number of at most three digits in a transaction code."""
    while i < end:
        code = size = 0
        while i < end and 48 <= peek(i) <= 57:
            code = code * 10 + peek(i) - 48
            size += 1
            i += 1
        if 0 < size <= 3:
            return code
        i += 1
    return channels.NO_CODE


@inner
def _hash(begin: int, end: int) -> np.uint64:
    """Sixty-four bits over the bytes, eight at a time."""
    poke64(end, 0)
    m, shift = np.uint64(0xC6A4A7935BD1E995), np.uint64(47)
    h = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(end - begin) * m
    for i in range(begin, end, 8):
        word = peek_word(i) * m
        h = (h ^ (word ^ (word >> shift)) * m) * m
    h = (h ^ (h >> shift)) * m
    return h ^ (h >> shift)
