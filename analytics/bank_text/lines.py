"""Lines: bookings that say the same, once digits and references are gone, share a 64-bit key and are read only once.

Here belongs the canonical form of a whole booking and its key. `read` uses nothing of a booking that the key does not cover,
so equal keys mean equal lines.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import polars as pl

from analytics.bank_text import channels, intermediaries, sepa
from analytics.bank_text.canonical import fold
from analytics.bank_text.channels import Channel, ChannelTable
from analytics.bank_text.intermediaries import Intermediaries
from analytics.bank_text.line_breaks import NOT_BROKEN, write_unbroken
from analytics.bank_text.line_layout import (
    AMOUNT_BIN,
    BOOKING_TEXT,
    CODE_HIGH,
    CODE_LOW,
    CREDITOR_ID,
    HEADER_BYTES,
    IS_BARE,
    NAME,
    PARTS,
    POSITIVE,
    PURPOSE,
    PURPOSE_CODE,
    ULTIMATE,
    part_span,
)
from analytics.bank_text.merchant import write_merchant
from analytics.frames import LINES, checked
from analytics.native.characters import BAR, BLANK, SLASH, STAR, ZERO, byte, copy, eight_bytes, is_digit, put
from analytics.native.columns import Bytes, Offsets, TextColumns, room, text_column, texts
from analytics.native.compiling import compiled, uncounted
from analytics.native.hashing import (
    FNV_BASIS,
    FREE_SLOT,
    Hashes,
    HashTable,
    Numbers,
    empty_table,
    hashed,
    slot_of,
    value_of,
    word_table,
)

AMOUNT_EDGES = (0, 500, 1500, 4500, 15000, 45000, 95200, 300000)
"""In cents; a line's `amount_bin` is the number of edges that the absolute amount reaches."""
MONTHS = "januar februar maerz april mai juni juli august september oktober november dezember"
CHUNK_ROWS = 65_536
"""Rows that one thread takes at a time."""

_SOURCES = ("purpose", "booking_text", "counterparty_name", "ultimate_name", "gv_code", "counterparty_iban")
READ = (*_SOURCES, "amount_cents")
"""The columns of a booking of which its line is made."""
_FROM_PURPOSE, _FROM_BOOKING_TEXT, _FROM_NAME, _FROM_ULTIMATE, _FROM_CODE, _FROM_IBAN = range(len(_SOURCES))
_TEXTS = (*PARTS, "merchant", "city")
_MERCHANT = _TEXTS.index("merchant")
_NO_SOURCE = 63
_PART_SOURCES = np.array(
    [
        (-_FROM_BOOKING_TEXT, sepa.NOTE, _NO_SOURCE),
        (-_FROM_NAME, sepa.PARTY, _NO_SOURCE),
        (-_FROM_ULTIMATE, sepa.ABWA, sepa.ABWE),
        (_NO_SOURCE, _NO_SOURCE, _NO_SOURCE),
        (_NO_SOURCE, _NO_SOURCE, _NO_SOURCE),
        (sepa.REMITTANCE, _NO_SOURCE, _NO_SOURCE),
    ],
    np.int64,
)
"""Where each part of a line comes from: columns of the booking, negative, or fields of its purpose."""
_MIN_BROKEN_BYTES = 85
"""Shorter texts have too few lines to show that they were broken."""
_CITY_BYTES = 512
"""Bytes for the city of a line behind it, before its merchant."""
_EDGES = np.array(AMOUNT_EDGES, np.int64)
_CARD = channels.CHANNELS.index(Channel.CARD)
_BANKS_WORDS = (BOOKING_TEXT, ULTIMATE, PURPOSE)
"""Parts that say nothing on card payments whose merchant is channel_table: they are the banks' own words."""
_MAX_CODE_DIGITS = 3
_COUNTRY_CHARACTERS, _BUSINESS_CHARACTERS = 4, 3
"""A creditor id begins with country and check digits; behind them are three characters that its owner may choose."""
_MONTH_KEYS, _MONTH_VALUES = word_table({1: MONTHS})
_MIX, _MULTIPLIER, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC6A4A7935BD1E995), np.uint64(47)


def keys(transactions: pl.DataFrame, threads: int | None = None) -> pl.Series:
    """The key of each booking's line."""
    out = np.zeros(transactions.height, np.uint64)

    def fill(first: int) -> None:
        chunk = transactions[first : first + CHUNK_ROWS]
        source = _texts(chunk)
        _keys(source.data, source.offsets, _amounts(chunk), _work(source), out[first : first + CHUNK_ROWS])

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        list(pool.map(fill, range(0, transactions.height, CHUNK_ROWS)))
    return pl.Series("key", out)


def read(transactions: pl.DataFrame) -> pl.DataFrame:
    """The line of each booking, in the order given; pass each distinct line once."""
    return _read(transactions, distinct=False)[0]


def contents(transactions: pl.DataFrame) -> tuple[pl.DataFrame, Numbers]:
    """The distinct lines of bookings, and for each booking the row of its line.

    More is the same than by their keys: the town of a card payment says nothing.
    """
    return _read(transactions, distinct=True)


def _read(transactions: pl.DataFrame, distinct: bool) -> tuple[pl.DataFrame, Numbers]:
    source, rows = _texts(transactions), transactions.height
    line_keys, header, number = np.zeros(rows, np.uint64), np.zeros((rows, 4), np.uint8), np.empty(rows, np.int32)
    channel_table, services = channels.table(), intermediaries.table()
    out = np.empty((len(_TEXTS), room(source.data, rows) + max(services.longest_merchant, 32) * rows), np.uint8)
    offsets = np.zeros((len(_TEXTS), rows + 1), np.int64)
    count = _lines(
        source.data,
        source.offsets,
        _amounts(transactions),
        channel_table,
        services.arrays,
        _work(source),
        empty_table(rows),
        distinct,
        number,
        line_keys,
        header,
        out.reshape(-1),
        offsets,
    )
    columns = [text_column(name, out[part], offsets[part, : count + 1]) for part, name in enumerate(_TEXTS)]
    header = header[:count]
    lines = pl.DataFrame(columns).with_columns(
        key=pl.Series(line_keys[:count]),
        positive=pl.Series(header[:, 0] == 1),
        amount_bin=pl.Series(header[:, 1]),
        channel=_names(header[:, 2], list(channels.CHANNELS)),
        via=_names(header[:, 3], services.services),
    )
    return checked(lines, LINES), number


def _names(numbers: npt.NDArray[np.uint8], names: list[str]) -> pl.Series:
    return pl.Series(names, dtype=pl.String)[numbers]


def _texts(transactions: pl.DataFrame) -> TextColumns:
    return texts(*(transactions[name] for name in _SOURCES))


def _amounts(transactions: pl.DataFrame) -> npt.NDArray[np.int64]:
    return transactions["amount_cents"].cast(pl.Int64).fill_null(0).to_numpy(writable=True)


def _work(source: TextColumns) -> Bytes:
    """Room for the longest line, for a text without its line breaks, and for city and merchant behind it."""
    longest = np.diff(source.offsets[:_FROM_CODE]).max(axis=1, initial=0)
    return np.zeros(4 * (int(longest.sum()) + _CITY_BYTES), np.uint8)


@compiled
def _keys(data: Bytes, source_offsets: Offsets, amounts: Offsets, line: Bytes, line_keys: Hashes) -> None:
    spans, parts = np.zeros((len(sepa.COLUMNS), 2), np.int64), np.zeros(len(PARTS) + 1, np.int64)
    for row in range(line_keys.size):
        line_keys[row] = _hash(line, 0, _write_line(data, source_offsets, row, amounts[row], spans, parts, line))


@compiled
def _lines(
    data: Bytes,
    source_offsets: Offsets,
    amounts: Offsets,
    channel_table: ChannelTable,
    services: Intermediaries,
    line: Bytes,
    contents: HashTable,
    distinct: bool,
    number: Numbers,
    line_keys: Hashes,
    header: Bytes,
    out: Bytes,
    offsets: Offsets,
) -> int:
    """Keys, headers and texts of each line, and their number; of each booking the row of its line.

    Text `k` of the lines goes into the k-th of equal parts of `out`. Where only distinct lines are asked for, one that says the
    same as another is written over by the next.
    """
    spans, parts = np.zeros((len(sepa.COLUMNS), 2), np.int64), np.zeros(len(PARTS) + 1, np.int64)
    size = out.size // len(_TEXTS)
    count = 0
    for row in range(number.size):
        end = _write_line(data, source_offsets, row, amounts[row], spans, parts, line)
        line_keys[count] = _hash(line, 0, end)
        channel = channels.channel_of(channel_table, line, 0, parts)
        merchant = end + _CITY_BYTES
        merchant_end, city_end, via = write_merchant(services, channel, line, parts, end, merchant)
        header[count, 0], header[count, 1], header[count, 2], header[count, 3] = line[POSITIVE], line[AMOUNT_BIN], channel, via
        only_merchant = (
            channel == _CARD and merchant_end > merchant and (merchant_end > merchant + 1 or byte(line, merchant) != ZERO)
        )
        facts = byte(line, POSITIVE) | byte(line, AMOUNT_BIN) << 8 | channel << 16 | via << 32
        content = np.uint64(facts) * _MIX
        for part in range(len(_TEXTS)):
            begin, stop = end, city_end
            if part == _MERCHANT or (only_merchant and part == NAME):
                begin, stop = merchant, merchant_end
            elif part < len(PARTS):
                begin, stop = part_span(parts, part)
                stop = begin if only_merchant and part in _BANKS_WORDS else stop
            base = part * size
            at = _copy_without_marks(line, begin, stop, out, base + offsets[part, count])
            if part == PURPOSE:
                at = _collapse_months(out, base + offsets[part, count], at)
            offsets[part, count + 1] = at - base
            if part <= _MERCHANT:
                content = (content ^ _hash(out, base + offsets[part, count], at)) * _MIX
        number[row] = count
        if distinct:
            slot = slot_of(contents.keys, contents.values, content)
            if contents.values[slot] != FREE_SLOT:
                number[row] = contents.values[slot]
                continue
            contents.keys[slot], contents.values[slot] = content, count
        count += 1
    return count


@uncounted
def _collapse_months(text: Bytes, begin: int, end: int) -> int:
    """Writes a zero in the place of each name of a month, and returns where the text ends then."""
    at = i = begin
    while i < end:
        stop, key = i, FNV_BASIS
        while stop < end and byte(text, stop) >= ZERO:
            key = hashed(key, byte(text, stop))
            stop += 1
        if stop > i and (i == begin or byte(text, i - 1) == BLANK) and value_of(_MONTH_KEYS, _MONTH_VALUES, key) != FREE_SLOT:
            put(text, at, ZERO)
            at, i = at + 1, stop
        while i < end and i <= stop:
            put(text, at, byte(text, i))
            at, i = at + 1, i + 1
    return at


@uncounted
def _copy_without_marks(line: Bytes, begin: int, end: int, out: Bytes, at: int) -> int:
    """Writes a text, and blanks for the marks that only the reading of a line needs; returns the position behind it."""
    for i in range(begin, end):
        c = byte(line, i)
        put(out, at, BLANK if c in (SLASH, BAR, STAR) else c)
        at += 1
    return at


@uncounted
def _write_line(data: Bytes, source_offsets: Offsets, row: int, amount: int, spans: Offsets, parts: Offsets, line: Bytes) -> int:
    """Writes a booking in canonical form and where its parts begin, and returns the position behind it."""
    low, high = source_offsets[_FROM_PURPOSE, row], source_offsets[_FROM_PURPOSE, row + 1]
    fields = sepa.segment(data, low, high, spans)
    at = HEADER_BYTES
    for part in range(len(PARTS)):
        parts[part] = at
        if part == CREDITOR_ID:
            at = _write_creditor(data, low, spans, fields, line, at)
        elif part == PURPOSE_CODE:
            at = sepa.write_value(data, low, spans, sepa.PURP, line, at) if fields >> sepa.PURP & 1 else at
        else:
            at = _write_part(data, source_offsets, row, part, spans, fields, line, at)
        put(line, at, 0)
        at += 1
    parts[len(PARTS)] = at
    name, name_end = part_span(parts, NAME)
    purpose, purpose_end = part_span(parts, PURPOSE)
    _write_header(data, source_offsets, row, amount, line, name == name_end or purpose == purpose_end)
    return at


@uncounted
def _write_part(
    data: Bytes, source_offsets: Offsets, row: int, part: int, spans: Offsets, fields: int, line: Bytes, at: int
) -> int:
    """Writes one text from the first of its sources that says anything; words of the bank are added to its booking text."""
    start = at
    for k in range(_PART_SOURCES.shape[1]):
        source, begin, end = _PART_SOURCES[part, k], 0, 0
        if source < 0:
            begin, end = source_offsets[-source, row], source_offsets[-source, row + 1]
        elif fields >> source & 1:
            begin, end = spans[source, sepa.SPAN_START], spans[source, sepa.SPAN_END]
        if begin == end:
            continue
        first = at
        if at > start:
            put(line, at, BLANK)
            first += 1
        if source == sepa.REMITTANCE:
            after = _fold_unbroken(data, source_offsets, row, begin, end, line, first)
        else:
            after = fold(data, begin, end, line, first, False, True)
        at = after if after > first else at
        if at > start and part != BOOKING_TEXT:
            break
    return at


@uncounted
def _fold_unbroken(data: Bytes, source_offsets: Offsets, row: int, begin: int, end: int, line: Bytes, at: int) -> int:
    """Writes a part of the purpose without the line breaks of the bank, and returns the position behind it."""
    low, high = source_offsets[_FROM_PURPOSE, row], source_offsets[_FROM_PURPOSE, row + 1]
    if high - low >= _MIN_BROKEN_BYTES:
        spare = at + end - begin + 16
        spare_end = write_unbroken(data, low, high, begin, end, line, spare)
        if spare_end != NOT_BROKEN:
            return fold(line, spare, spare_end, line, at, False, True)
    return fold(data, begin, end, line, at, False, True)


@uncounted
def _write_creditor(data: Bytes, low: int, spans: Offsets, fields: int, line: Bytes, at: int) -> int:
    """Writes the creditor id without the characters that its owner may choose, and returns the position behind it."""
    if not fields >> sepa.CRED & 1:
        return at
    end = sepa.write_value(data, low, spans, sepa.CRED, line, at)
    if end == at:
        return at
    rest = at + _COUNTRY_CHARACTERS
    return copy(line, rest + _BUSINESS_CHARACTERS, end, line, rest)


@uncounted
def _write_header(data: Bytes, source_offsets: Offsets, row: int, amount: int, line: Bytes, is_silent: bool) -> None:
    """Writes sign, amount and transaction code, and whether neither an account nor both name and purpose are told."""
    count = 0
    for edge in _EDGES:
        count += edge <= abs(amount)
    code = _first_code(data, source_offsets[_FROM_CODE, row], source_offsets[_FROM_CODE, row + 1])
    has_account = source_offsets[_FROM_IBAN, row] < source_offsets[_FROM_IBAN, row + 1]
    for k in range(HEADER_BYTES):
        put(line, k, 0)
    line[POSITIVE], line[AMOUNT_BIN] = amount >= 0, count
    line[CODE_HIGH], line[CODE_LOW] = code >> 8, code & 255
    line[IS_BARE] = is_silent and not has_account


@uncounted
def _first_code(data: Bytes, i: int, end: int) -> int:
    """The first number of at most three digits in a transaction code, or `NO_CODE`."""
    while i < end:
        code = size = 0
        while i < end and is_digit(byte(data, i)):
            code = code * 10 + byte(data, i) - ZERO
            size += 1
            i += 1
        if 0 < size <= _MAX_CODE_DIGITS:
            return code
        i += 1
    return channels.NO_CODE


@uncounted
def _hash(text: Bytes, begin: int, end: int) -> np.uint64:
    """Sixty-four bits over the bytes, eight at a time."""
    key = _MIX ^ np.uint64(end - begin) * _MULTIPLIER
    i = begin
    while i + 8 <= end:
        key = _add_word(key, eight_bytes(text, i))
        i += 8
    if i < end:
        word = np.uint64(0)
        for k in range(end - i):
            word |= np.uint64(byte(text, i + k)) << np.uint64(8 * k)
        key = _add_word(key, word)
    key = (key ^ (key >> _SHIFT)) * _MULTIPLIER
    return key ^ (key >> _SHIFT)


@uncounted
def _add_word(key: np.uint64, word: np.uint64) -> np.uint64:
    word *= _MULTIPLIER
    return (key ^ (word ^ (word >> _SHIFT)) * _MULTIPLIER) * _MULTIPLIER
