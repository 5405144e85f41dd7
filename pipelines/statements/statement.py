"""An account statement as a file tells it, what is wrong with a file, and what all formats share: money, days and texts."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

import polars as pl

from analytics.frames import BOOKINGS, checked
from warehouse.errors import Invalid

TEXT_LENGTH = 4_000
AMOUNT_LIMIT_CENTS = 10**13
IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
BIC = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")
CURRENCY = re.compile(r"[A-Z]{3}")
NO_REFERENCE = frozenset(("NOTPROVIDED", "NOT PROVIDED", "NONREF", "KEINE REFERENZ", "NICHT ANGEGEBEN"))
SEPA_TAG = re.compile(r"(?:EREF|KREF|MREF|CRED|DEBT|SVWZ|PURP|ABWA|ABWE|OAMT|COAM|RREF|BREF)\+")
TEXTS = [name for name, kind in BOOKINGS.items() if kind == pl.String]
_CONTROL = r"[\x00-\x09\x0b-\x1f\x7f\x{85}\x{2028}\x{2029}]+"
_AMOUNT = re.compile(r"([+-]?)0*([0-9]{0,15})(?:[.,]([0-9]{0,2})0*)?")


class Reason(StrEnum):
    """Why a file, or a line of it, cannot be read."""

    EMPTY = "EMPTY"
    TOO_LARGE = "TOO_LARGE"
    TOO_MANY_LINES = "TOO_MANY_LINES"
    FORMAT_UNKNOWN = "FORMAT_UNKNOWN"
    ARCHIVE = "ARCHIVE"
    ENCODING = "ENCODING"
    DOCTYPE = "DOCTYPE"
    MARKUP = "MARKUP"
    TRUNCATED = "TRUNCATED"
    COLUMNS = "COLUMNS"
    AMOUNT = "AMOUNT"
    CURRENCY = "CURRENCY"
    DAY = "DAY"
    TEXT_TOO_LONG = "TEXT_TOO_LONG"
    FIELD_MISSING = "FIELD_MISSING"
    IMPLAUSIBLE = "IMPLAUSIBLE"
    IMPLAUSIBLE_ACCOUNT = "IMPLAUSIBLE_ACCOUNT"


class StatementFault(Invalid):
    """A file that is not a readable statement: why, and the first line that shows it. Nothing of such a file is used."""

    def __init__(self, reason: Reason, line: int | None = None) -> None:
        self.reason, self.line = reason, line
        super().__init__(reason.value if line is None else f"{reason.value} in line {line}")


class Subject(StrEnum):
    """What a statement says about itself and its lines do not confirm."""

    BALANCE = "BALANCE"
    """The closing balance is not the opening balance and all booked lines; values are cents."""
    LINES = "LINES"
    """The number of entries."""
    BATCH = "BATCH"
    """The parts of a batch do not add up to its entry, which therefore stays one line; values are cents."""


@dataclass(frozen=True)
class Difference:
    """Something that a file declares, and what its lines give instead."""

    subject: Subject
    declared: int
    actual: int


@dataclass(frozen=True)
class StatementAccount:
    """The account of a statement, as far as the file names it."""

    iban: str | None = None
    number: str | None = None
    bic: str | None = None
    blz: str | None = None
    currency: str | None = None
    owner_name: str | None = None
    is_card: bool = False


@dataclass(frozen=True)
class DayBalance:
    """A booked balance; the day is unknown in some formats."""

    cents: int
    day: date | None = None


@dataclass(frozen=True)
class Statement:
    """One account over one period. `bookings` is the frame `BOOKINGS`, the oldest first."""

    format: str
    account: StatementAccount
    bookings: pl.DataFrame = field(repr=False)
    first_day: date | None = None
    last_day: date | None = None
    opening: DayBalance | None = None
    closing: DayBalance | None = None
    differences: tuple[Difference, ...] = ()


def with_balance_checked(statement: Statement) -> Statement:
    """The statement, with a difference if its balances are known and its booked lines do not lead from one to the other."""
    if statement.opening is None or statement.closing is None:
        return statement
    is_booked, is_foreign = ~pl.col("pending"), pl.col("currency") != statement.account.currency
    total, has_foreign = statement.bookings.select(
        pl.col("amount_cents").filter(is_booked).sum(), foreign=(is_booked & is_foreign).any()
    ).row(0)
    if has_foreign:
        return statement  # lines in other currencies do not add up
    actual = statement.opening.cents + int(total)
    if actual == statement.closing.cents:
        return statement
    difference = Difference(Subject.BALANCE, statement.closing.cents, actual)
    return replace(statement, differences=(*statement.differences, difference))


def with_period(statement: Statement) -> Statement:
    """The statement, with the days of its lines where the file names no period."""
    days = statement.bookings["booked_on"]
    if days.is_empty():
        return statement
    return replace(statement, first_day=statement.first_day or days[0], last_day=statement.last_day or days[-1])


def joined_pages(first: Statement, second: Statement) -> Statement:
    """Two pages of one statement as one, from the opening of the first to the closing of the second."""
    return replace(
        first,
        bookings=pl.concat([first.bookings, second.bookings]),
        last_day=second.last_day or first.last_day,
        closing=second.closing,
        differences=(*first.differences, *second.differences),
    )


def bookings_of_rows(rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    """The frame of bookings from rows with the values of its columns in their order."""
    return tidy(frame_of_rows(rows))


def bookings_of_groups(groups: Sequence[Sequence[Sequence[object]]]) -> list[pl.DataFrame]:
    """The frame of bookings for each group of rows. Texts are tidied once for all: some files have a group for each day."""
    frame = with_tidy_texts(frame_of_rows([row for rows in groups for row in rows]))
    ends = itertools.accumulate(len(rows) for rows in groups)
    return [in_order(frame[end - len(rows) : end]) for rows, end in zip(groups, ends, strict=True)]


def frame_of_rows(rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    """Rows as they stand in the file, a tenth of the size that they have as rows."""
    if not rows:
        return BOOKINGS.to_frame()
    return pl.DataFrame(dict(zip(BOOKINGS, zip(*rows, strict=True), strict=True)), schema=BOOKINGS)


def tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """The bookings in their schema with tidy texts, the oldest first and pending ones last of their day."""
    return in_order(with_tidy_texts(frame))


def with_tidy_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """The bookings in their schema. Texts are trimmed, empty ones null, and IBANs have no blanks."""
    texts = pl.col(TEXTS).str.replace_all(_CONTROL, " ").str.strip_chars()
    codes = pl.col("counterparty_iban", "counterparty_bic").str.replace_all(r"\s", "").str.to_uppercase()
    tidied = checked(frame, BOOKINGS).with_columns(texts).with_columns(codes)
    tidied = tidied.with_columns(pl.when(pl.col(TEXTS) != "").then(pl.col(TEXTS)))
    if tidied.select(pl.any_horizontal(pl.col(TEXTS).str.len_chars() > TEXT_LENGTH).any()).item():
        raise StatementFault(Reason.TEXT_TOO_LONG)
    return tidied


def in_order(bookings: pl.DataFrame) -> pl.DataFrame:
    """Bookings in the order of a file or its reverse, as the oldest first, pending ones last of their day."""
    if bookings.height <= 1:
        return bookings
    days = bookings["booked_on"]
    if days[0] > days[-1]:
        bookings = bookings.reverse()
    return bookings.sort("booked_on", "pending", maintain_order=True)


def cents_of(text: str, line: int | None = None) -> int:
    """The hundredths of an amount without thousands separators; raises `StatementFault` for anything finer than hundredths.

    Currencies without a subunit are counted in hundredths as well: 500 yen are 50,000.
    """
    parts = _AMOUNT.fullmatch(text.strip())
    if parts is None or not parts[0].strip("+-.,"):
        raise StatementFault(Reason.AMOUNT, line)
    cents = int(parts[2] or "0") * 100 + int((parts[3] or "").ljust(2, "0"))
    if cents > AMOUNT_LIMIT_CENTS:
        raise StatementFault(Reason.AMOUNT, line)
    return -cents if parts[1] == "-" else cents


def currency_of(text: str | None, line: int | None = None) -> str:
    """The code of a currency; raises `StatementFault` if it is none."""
    if text is None or not CURRENCY.fullmatch(text):
        raise StatementFault(Reason.CURRENCY, line)
    return text


def german_amount(cents: int) -> str:
    """An amount as banks write it into purposes, for example `53,00`."""
    return f"{abs(cents) // 100},{abs(cents) % 100:02}"


def purpose_of(references: Mapping[str, str | None], remittance: str | None) -> str | None:
    """The purpose in the form of the house: a line `EREF+…` for each reference, then the remittance behind `SVWZ+`.

    A remittance that brings its own tags stays as it is, and so does one without any reference.
    """
    if remittance and SEPA_TAG.search(remittance):
        return remittance
    lines = [f"{tag}+{value}" for tag, value in references.items() if value and value.upper() not in NO_REFERENCE]
    if lines and remittance:
        lines.append(f"SVWZ+{remittance}")
    return "\n".join(lines) or remittance


def joined_lines(lines: Iterable[str], width: int) -> str:
    """Lines of a fixed width as the text that they were cut from: a full line goes on in the next one without a blank."""
    text, full = "", True
    for line in lines:
        text += line if full or line.startswith(" ") else f" {line}"
        full = len(line) >= width
    return text.strip()


def decoded(content: bytes) -> str:
    """The text of a file: UTF-8 or UTF-16 where it is valid, else the code page in which its umlauts are letters."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _strictly(content, "utf-16")
    if b"\x00" in content:
        raise StatementFault(Reason.ENCODING)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        high = set(content) - set(range(0x80))
        old_umlauts = high & set("äöüÄÖÜ".encode("cp437"))
        if old_umlauts and not high & set("äöüÄÖÜß".encode("latin-1")):
            return content.decode("cp437")
        return content.decode("cp1252", errors="replace") if high & set(range(0x80, 0xA0)) else content.decode("iso-8859-1")


def _strictly(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise StatementFault(Reason.ENCODING) from error
