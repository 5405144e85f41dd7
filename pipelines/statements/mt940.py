"""Reads MT940 and MT942: SWIFT's account statements as German banks write them, with the structured field 86 or without it.

Field numbers are those of the standard: 25 account, 28C number and page, 60 opening, 61 line, 86 its text, 62 closing. 34F stands
in the advance notices of MT942 alone, whose lines are not booked yet.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import lru_cache

import polars as pl

from pipelines.statements.statement import (
    BIC,
    CURRENCY,
    IBAN,
    DayBalance,
    Reason,
    Statement,
    StatementAccount,
    StatementFault,
    bookings_of_groups,
    cents_of,
    currency_of,
    decoded,
    joined_lines,
    joined_pages,
    with_balance_checked,
    with_period,
)

PLAIN_FIELDS = ("13", "13D", "20", "21", "23", "25", "25P", "28", "28C", "34F", "61", "64", "65", "86", "90C", "90D", "NS")
FIELDS = frozenset((*PLAIN_FIELDS, "60F", "60M", "62F", "62M"))
NUMBER = r"(?:0*[0-9]{1,15}(?:,[0-9]*)?|,[0-9]+)"
"""An amount. Some banks leave out the comma of whole numbers, others fill up with zeros."""
BALANCE = re.compile(rf"(C|D)([0-9]{{6}})([A-Z]{{3}})({NUMBER})")
LINE = re.compile(rf"([0-9]{{6}})([0-9]{{4}})?(R?[CD]|E[CD])[A-Z]?({NUMBER})([A-Z][A-Z0-9 ]{{3}})")
CREDITS = frozenset(("C", "RD", "EC"))
STRUCTURED = re.compile(r" ?([0-9]{3})([^A-Za-z0-9\s])(?=[0-9][0-9])")
ACCOUNT_LENGTH = 50
"""The standard has 35; some banks add a BIC."""
DETAILS_WIDTH, PURPOSE_WIDTH = 65, 27
BOOKING_TEXT, PRIMANOTA, BANK, ACCOUNT, FOREIGN_IBAN = "00", "10", "30", "31", "38"
PURPOSE = frozenset((*map(str, range(20, 30)), *map(str, range(60, 64))))
NAME = FIRST_NAME_LINE, SECOND_NAME_LINE = "32", "33"
SUBFIELDS = frozenset((BOOKING_TEXT, PRIMANOTA, BANK, ACCOUNT, "34", *NAME, *PURPOSE))
RESERVED = frozenset(map(str, range(35, 100))) - PURPOSE
"""Subfields of single banks behind those of the counterparty, such as `?70`: not a part of the name before them."""
TAG_AT_START = re.compile(r"[A-Z]{4}\+")
ULTIMATE = re.compile(r"(?:^|\n)ABW[AE]\+(.*?)(?=\n[A-Z]{4}\+|$)", re.S)
ULTIMATE_MARK = "ABW"
END, OWN_NOTES = "-", "NS"
Row = tuple[object, ...]

MAX_PLAIN_LENGTH = 12
"""An amount of at most this many characters is below the limit."""
MAX_CACHED_DAYS = 4096
"""A statement names few days, each many times."""


@dataclass
class _Message:
    """The fields of one message, as they are read. A row is complete when the next one begins."""

    line: int
    account: StatementAccount = field(default_factory=StatementAccount)
    number: str | None = None
    opening: DayBalance | None = None
    closing: DayBalance | None = None
    is_first_page: bool = True
    is_last_page: bool = True
    is_notice: bool = False
    is_ended: bool = False
    entries: list[tuple[int, str, str]] = field(default_factory=list)


def read_mt940(content: bytes) -> list[Statement]:
    """All statements of a file; raises `StatementFault` if any part of it cannot be read."""
    messages = [(message, _rows(message)) for message in _messages(_fields(decoded(content)))]
    frames = bookings_of_groups([rows for _, rows in messages])
    statements: list[Statement] = []
    goes_on = False
    for (message, _), bookings in zip(messages, frames, strict=True):
        statement = _statement(message, bookings)
        if statements and goes_on and not message.is_first_page and statements[-1].account == statement.account:
            statement = joined_pages(statements.pop(), statement)
        statements.append(statement)
        goes_on = not message.is_last_page
    if not statements:
        raise StatementFault(Reason.FORMAT_UNKNOWN)
    return [with_balance_checked(with_period(statement)) for statement in statements]


def _fields(text: str) -> Iterator[tuple[int, str, str]]:
    """The fields with the number of their first line, their name and their lines; `END` for the end of a message."""
    if "@@:" in text:  # a line break of old transports
        text = text.replace("@@", "\n")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if "{4:" in text:
        lines = [line.rpartition("{4:")[2] for line in lines]
    number, name, value = 0, "", list[str]()
    for place, line in enumerate(lines, 1):
        mark = line[:1]
        if mark == ":" and (end := line.find(":", 1)) > 0 and line[1:end] in FIELDS:
            if name:
                yield number, name, "\n".join(value)
            number, name, value = place, line[1:end], [line[end + 1 :]]
        elif mark == "-" and _is_end(line, lines[place : place + 1]):
            if name:
                yield number, name, "\n".join(value)
            number, name, value = place, END, []
        elif name:
            value.append(line)
    if name:
        yield number, name, "\n".join(value)


def _is_end(line: str, following: list[str]) -> bool:
    """Whether a line ends its message; a lone hyphen before another field of the message is the rest of a wrapped text."""
    return line.rstrip() in ("-", "-}") and not any(
        next_line.startswith(":") and next_line[:4] != ":20:" for next_line in following
    )


def _messages(fields: Iterator[tuple[int, str, str]]) -> Iterator[_Message]:
    """The messages of a file, each from its field 20 on."""
    message: _Message | None = None
    before = ""
    for line, name, value in fields:
        if name == "20":
            if message is not None:
                yield message
            message = _Message(line)
        elif message is None:
            if name != END:
                raise StatementFault(Reason.FIELD_MISSING, line)
        elif name == END:
            message.is_ended = True
        else:
            _take(message, line, name, value, before)
        before = name if name != OWN_NOTES else before
    if message is not None:
        yield message


def _take(message: _Message, line: int, name: str, value: str, before: str) -> None:
    """Puts a field into its message. A text that does not follow a line is about the statement as a whole."""
    if name == "61":
        message.entries.append((line, value, ""))
    elif name == "86" and before == "61":
        place, entry, _ = message.entries.pop()
        message.entries.append((place, entry, value))
    elif name in ("25", "25P"):
        message.account = _account(line, value)
    elif name in ("28", "28C"):
        message.number = value.strip()
    elif name in ("60F", "60M"):
        message.is_first_page = name == "60F"
        message.opening, message.account = _balance(line, value, message.account)
    elif name in ("62F", "62M"):
        message.is_last_page = name == "62F"
        message.closing, message.account = _balance(line, value, message.account)
    elif name == "34F":
        message.is_notice = True
        if message.account.currency is None:
            message.account = replace(message.account, currency=value.strip()[:3])


def _rows(message: _Message) -> list[Row]:
    """The rows of a message; without a closing balance and without its end it was cut off."""
    if message.closing is None and not message.is_ended and not message.is_notice:
        raise StatementFault(Reason.TRUNCATED, message.line)
    if not (message.entries or message.opening or message.closing or message.is_notice):
        raise StatementFault(Reason.FIELD_MISSING, message.line)
    currency = currency_of(message.account.currency, message.entries[0][0]) if message.entries else ""
    return [_row(message, currency, *entry) for entry in message.entries]


def _statement(message: _Message, bookings: pl.DataFrame) -> Statement:
    """A message as a statement."""
    return Statement(
        "MT942" if message.is_notice else "MT940",
        message.account,
        bookings,
        message.opening.day if message.opening else None,
        message.closing.day if message.closing else None,
        message.opening,
        message.closing,
    )


def _account(line: int, value: str) -> StatementAccount:
    """The account by its IBAN, or by bank and number, with the currency behind it where banks write one."""
    text = re.sub(r"\s", "", value).upper()
    if len(text) > ACCOUNT_LENGTH:
        raise StatementFault(Reason.FIELD_MISSING, line)
    bank, _, number = text.rpartition("/")
    iban = IBAN.match(number)
    currency = number[-3:] if CURRENCY.fullmatch(number[-3:]) and len(number) > 3 else None
    number = number.removesuffix(currency or "")
    return StatementAccount(
        iban=number if iban and IBAN.fullmatch(number) else None,
        number=None if iban else number or None,
        bic=bank if BIC.fullmatch(bank) else None,
        blz=bank if len(bank) == 8 and bank.isdecimal() else None,
        currency=currency,
    )


def _balance(line: int, value: str, account: StatementAccount) -> tuple[DayBalance, StatementAccount]:
    match = BALANCE.match(value.strip())
    if match is None:
        raise StatementFault(Reason.AMOUNT, line)
    cents = cents_of(match[4], line)
    balance = DayBalance(-cents if match[1] == "D" else cents, _day(match[2], line))
    return balance, replace(account, currency=currency_of(match[3], line))


def _row(message: _Message, currency: str, line: int, entry: str, text: str) -> Row:
    """One booking from the fields 61 and 86."""
    head, _, details = entry.partition("\n")
    match = LINE.match(head.strip())
    if match is None:
        raise StatementFault(Reason.AMOUNT, line)
    value_day, entry_day, mark, amount, code = match.groups()
    cents = _cents(amount, line)
    booked_on, value_on = _days(value_day, entry_day, line)
    subfields, purpose = _subfields(text)
    if not subfields:
        purpose = _unstructured(text, details)
    bank = subfields[BANK].strip() if BANK in subfields else ""
    ultimate = ULTIMATE.search(purpose) if ULTIMATE_MARK in purpose else None
    return (
        booked_on,
        value_on,
        cents if mark in CREDITS else -cents,
        currency,
        purpose or None,
        subfields.get(BOOKING_TEXT),
        subfields.get("GVC") or (code[1:] if code[1:].isdecimal() else None),
        subfields.get(PRIMANOTA),
        _name(subfields),
        _iban(subfields) if ACCOUNT in subfields or FOREIGN_IBAN in subfields else None,
        bank if bank and BIC.fullmatch(bank) else None,
        ultimate[1].replace("\n", " ").strip() if ultimate else None,
        message.is_notice or mark[0] == "E",
    )


def _cents(amount: str, line: int) -> int:
    """The hundredths of an amount that `LINE` has matched; those with two digits behind the comma, as nearly all are, at once."""
    if len(amount) <= MAX_PLAIN_LENGTH and amount[-3:-2] == ",":
        return int(amount[:-3] or "0") * 100 + int(amount[-2:])
    return cents_of(amount, line)


def _iban(subfields: dict[str, str]) -> str | None:
    """The IBAN of the counterparty, where one of the fields for it is one."""
    accounts = ["".join(subfields[key].split()).upper() for key in (ACCOUNT, FOREIGN_IBAN) if key in subfields]
    return next((account for account in accounts if IBAN.fullmatch(account)), None)


def _subfields(text: str) -> tuple[dict[str, str], str]:
    """The subfields of a structured field 86, the transaction code as `GVC`, and the purpose in them; nothing for an
    unstructured one.

    Subfields stand in ascending order: a question mark and a smaller number are part of a text.
    """
    match = STRUCTURED.match(text)
    if match is None:
        return {}, ""
    code, mark = match.groups()
    subfields, key, purpose_keys = {"GVC": code}, "", list[str]()
    if "\n" in text:
        text = text.replace("\n", "")
    for part in text[match.end() :].split(mark):
        name = part[:2]
        if name > key and (name in SUBFIELDS or (name in RESERVED and key >= BANK)):
            key = name
            subfields[key] = part[2:]
            if name in PURPOSE:
                purpose_keys.append(name)
        elif key:
            subfields[key] += mark + part
    return subfields, _purpose([subfields[name] for name in purpose_keys])


def _purpose(lines: list[str]) -> str:
    """The purpose, each SEPA tag in a line of its own."""
    if len(lines) <= 1:
        return lines[0].strip() if lines else ""
    paragraphs: list[list[str]] = []
    for line in lines:
        if not paragraphs or TAG_AT_START.match(line):
            paragraphs.append([])
        paragraphs[-1].append(line)
    return "\n".join([joined_lines(paragraph, PURPOSE_WIDTH) for paragraph in paragraphs])


def _name(subfields: dict[str, str]) -> str:
    """The name of the counterparty, which is cut into two lines where it is long."""
    first_line = subfields.get(FIRST_NAME_LINE, "")
    if SECOND_NAME_LINE not in subfields:
        return first_line.strip()
    return joined_lines((first_line, subfields[SECOND_NAME_LINE]), PURPOSE_WIDTH)


def _unstructured(text: str, details: str) -> str:
    """The whole text, or what stands behind the line itself where there is no text."""
    return joined_lines((text or details).split("\n"), DETAILS_WIDTH)


def _day(digits: str, line: int) -> date:
    """A day YYMMDD. The 29th and 30th of February, with which banks count interest, are its last day."""
    try:
        return _calendar_day(digits)
    except ValueError as error:
        raise StatementFault(Reason.DAY, line) from error


def _days(value_digits: str, entry_digits: str | None, line: int) -> tuple[date, date]:
    """The booking day and the value date of a line."""
    try:
        return _days_of_line(value_digits, entry_digits)
    except ValueError as error:
        raise StatementFault(Reason.DAY, line) from error


@lru_cache(MAX_CACHED_DAYS)
def _days_of_line(value_digits: str, entry_digits: str | None) -> tuple[date, date]:
    """The booking day MMDD, in the year in which it is nearest to the value date: years change between the two."""
    value_on = _calendar_day(value_digits)
    if entry_digits is None:
        return value_on, value_on
    days = [_calendar_day(f"{year % 100:02}{entry_digits}") for year in range(value_on.year - 1, value_on.year + 2)]
    return min(days, key=lambda day: abs(day - value_on)), value_on


@lru_cache(MAX_CACHED_DAYS)
def _calendar_day(digits: str) -> date:
    year, month, day = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    year += 1900 if year >= 80 else 2000
    if month == 2 and day in (29, 30):
        return date(year, 3, 1) - timedelta(days=1)
    return date(year, month, day)
