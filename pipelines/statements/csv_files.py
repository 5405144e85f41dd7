"""Reads the CSV exports of banks: finds the header line of a known format, then reads all lines below it with expressions.

What a format looks like stands in `csv_formats`. Quoting is strict: a file that was cut off inside a quoted text is refused.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analytics.frames import BOOKINGS
from pipelines.statements.csv_formats import FORMATS, CsvFormat, DayOrder
from pipelines.statements.statement import (
    AMOUNT_LIMIT_CENTS,
    IBAN,
    NO_REFERENCE,
    SEPA_TAG,
    DayBalance,
    Reason,
    Statement,
    StatementAccount,
    StatementFault,
    cents_of,
    decoded,
    tidy,
    with_balance_checked,
    with_period,
)

SEPARATORS = (";", ",", "\t")
HEADER_LINES = 60
"""Lines in which a header is looked for: the longest known preamble has 24."""
HEADER_CHARACTERS = 20_000
DAYS = {
    DayOrder.DAY_FIRST: (r"^([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4}|[0-9]{2})(?:[^0-9]|$)", (3, 2, 1)),
    DayOrder.YEAR_FIRST: (r"^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:[^0-9]|$)", (1, 2, 3)),
}
AMOUNTS = {
    ",": r"^([+-]?)([0-9]{1,3}(?:\.[0-9]{3})+|[0-9]{1,15})(?:,([0-9]{0,2})0*)?$",
    ".": r"^([+-]?)([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?:\.([0-9]{0,2})0*)?$",
}
NOT_OF_AN_AMOUNT = r"[\s\x{a0}€'’]|EUR"
DAY = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{4}|[0-9]{2})")
BALANCE_AMOUNT = re.compile(r"[+-]?[0-9.]+(?:,[0-9]{1,2})?")
LINE = "\x00line"
"""The column with the number of each line; no file can have one of this name."""


@dataclass(frozen=True)
class _Table:
    """The lines of a file around and below its header."""

    format: CsvFormat
    frame: pl.DataFrame
    around: tuple[Sequence[str], ...]
    """The cells of the preamble and of footers."""


def read_csv(content: bytes) -> list[Statement]:
    """The statements of an export, one for each account in it; raises `StatementFault` if it is none or any line is wrong."""
    table = _table(decoded(content))
    try:
        frame = table.format.prepare(table.frame)
    except pl.exceptions.ColumnNotFoundError as error:
        raise StatementFault(Reason.COLUMNS) from error
    bookings = _bookings(table.format, frame)
    accounts = bookings["own_account"].unique(maintain_order=True).to_list() or [""]
    return [_statement(table, bookings.filter(pl.col("own_account") == account), account) for account in accounts]


def _table(text: str) -> _Table:
    """The table of the first known header line."""
    lines = re.split(r"\r\n|\n|\r", text)
    for place, line in enumerate(lines[:HEADER_LINES]):
        for separator in SEPARATORS:
            if separator not in line or len(line) > HEADER_CHARACTERS:
                continue
            names = _cells(line, separator)
            format_ = next((layout for layout in FORMATS if _is_header(layout, names, separator, line)), None)
            if format_ is not None:
                return _below_header(format_, lines, place, separator)
    raise StatementFault(Reason.FORMAT_UNKNOWN)


def _is_header(layout: CsvFormat, names: Sequence[str], separator: str, line: str) -> bool:
    """Whether a line is the header of a format, or for a format without one, its first line."""
    if separator not in layout.separator:
        return False
    return bool(re.search(layout.first_line, line)) if layout.first_line else set(layout.header) <= set(names)


def _below_header(layout: CsvFormat, lines: list[str], place: int, separator: str) -> _Table:
    """The rows below the header, all cells as text; cells beyond the header must be empty, and footers are told apart."""
    names = list(layout.header) if layout.first_line else _unique(_cells(lines[place], separator))
    if layout.unnamed and not names[-1]:
        names[-1] = layout.unnamed
    while names and not names[-1]:
        names.pop()
    first = place if layout.first_line else place + 1
    around: list[Sequence[str]] = [_cells(line, separator) for line in lines[:place]]
    rows: list[list[str | int]] = []
    reader = csv.reader((f"{line}\n" for line in lines[first:]), delimiter=separator, strict=True)
    before = first
    try:
        for cells in reader:
            number, before = before + 1, first + reader.line_num
            values = [cell.strip() for cell in cells]
            while values and not values[-1] and len(values) > len(names):
                values.pop()
            if not any(values):
                continue
            if layout.footer and re.search(layout.footer, ";".join(values)):
                around.append(values)
            elif len(values) != len(names):
                raise StatementFault(Reason.COLUMNS, number)
            else:
                rows.append([*values, number])
    except csv.Error as error:
        raise StatementFault(Reason.MARKUP, first + reader.line_num) from error
    schema = {**dict.fromkeys(names, pl.String), LINE: pl.Int64}
    return _Table(layout, pl.DataFrame(rows, schema=schema, orient="row"), tuple(around))


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a single line; quotes that do not close are part of the text here."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return []


def _unique(names: list[str]) -> list[str]:
    """Names of columns: a second one of the same name gets its number."""
    return [name if name not in names[:place] else f"{name}.{place}" for place, name in enumerate(names)]


def _bookings(layout: CsvFormat, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame of bookings in the order of the file, with the number of the line and the balance after it."""
    column, pattern = layout.pending or ("", "^$")
    table = frame.select(
        LINE,
        booked_on=_day(layout, _column(frame, layout.booked_on)),
        value_on=_day(layout, _column(frame, layout.value_on)),
        value_text=_column(frame, layout.value_on),
        amount_cents=_amount(layout, frame),
        currency=pl.coalesce(_column(frame, layout.currency), pl.lit(layout.default_currency)),
        purpose=_purpose(layout, frame),
        booking_text=_column(frame, layout.booking_text),
        gv_code=_column(frame, layout.gv_code),
        primanota=_column(frame, layout.primanota),
        counterparty_name=_column(frame, layout.name_column),
        counterparty_iban=_iban(_column(frame, layout.iban)),
        counterparty_bic=_bic(_column(frame, layout.bic)),
        ultimate_name=_column(frame, layout.ultimate),
        pending=_column(frame, column).str.contains(pattern).fill_null(False),
        balance=_cents(layout, _column(frame, layout.balance_after)),
        own_account=_column(frame, layout.own_account).fill_null(""),
    )
    newest = table["booked_on"].max()
    undated = pl.when(pl.col("pending") & pl.col("booked_on").is_null()).then(pl.lit(newest, pl.Date)).otherwise("booked_on")
    table = table.with_columns(booked_on=undated)
    _refuse(table, pl.col("booked_on").is_null(), Reason.DAY)
    unreadable_value = pl.col("value_on").is_null() & pl.col("value_text").is_not_null() & ~pl.col("pending")
    _refuse(table, unreadable_value, Reason.DAY)
    _refuse(table, pl.col("amount_cents").is_null() | (pl.col("amount_cents").abs() > AMOUNT_LIMIT_CENTS), Reason.AMOUNT)
    _refuse(table, ~pl.col("currency").str.contains("^[A-Z]{3}$"), Reason.CURRENCY)
    return table


def _statement(table: _Table, bookings: pl.DataFrame, own_account: str) -> Statement:
    """The lines of one account as a statement, with the balances that the file tells."""
    layout = table.format
    iban = _own_iban(table, own_account)
    number = None if iban else own_account or None
    currencies = bookings["currency"].unique().to_list()
    currency = currencies[0] if len(currencies) == 1 else layout.default_currency
    opening, closing = _told_balance(table, layout.opening), _told_balance(table, layout.closing)
    chained = _chained_balances(bookings) if layout.balance_after else None
    if chained is not None:
        opening, closing = chained
    frame = tidy(bookings.select(pl.col(name).cast(kind) for name, kind in BOOKINGS.items()))
    account = StatementAccount(iban=iban, number=number, currency=currency, is_card=layout.is_card)
    return with_balance_checked(with_period(Statement(layout.name, account, frame, opening=opening, closing=closing)))


def _chained_balances(bookings: pl.DataFrame) -> tuple[DayBalance, DayBalance] | None:
    """The opening and closing balance of lines that each tell the balance after them; None if one does not."""
    booked = bookings.filter(~pl.col("pending"))
    if booked.is_empty() or booked["balance"].null_count():
        return None
    if booked["booked_on"][0] > booked["booked_on"][-1] or _runs_backwards(booked):
        booked = booked.reverse()
    opening = int(booked["balance"][0] - booked["amount_cents"][0])
    return DayBalance(opening, booked["booked_on"][0]), DayBalance(int(booked["balance"][-1]), booked["booked_on"][-1])


def _runs_backwards(booked: pl.DataFrame) -> bool:
    """Whether balances lead from the last line to the first, as in a file of one day with the newest line first."""
    if booked.height < 2:
        return False
    return bool(booked["balance"][0] - booked["amount_cents"][0] == booked["balance"][1])


def _column(frame: pl.DataFrame, names: str | tuple[str, ...]) -> pl.Expr:
    """The first filled of some columns; null where the file has none of them."""
    present = [name for name in ((names,) if isinstance(names, str) else names) if name and name in frame.columns]
    if not present:
        return pl.lit(None, pl.String)
    return pl.coalesce(pl.when(pl.col(name) != "").then(pl.col(name)) for name in present)


def _day(layout: CsvFormat, text: pl.Expr) -> pl.Expr:
    pattern, (year, month, day) = DAYS[layout.day_order]
    years = text.str.extract(pattern, year)
    full_years = pl.when(years.str.len_chars() == 2).then("20" + years).otherwise(years)
    parts = [full_years, text.str.extract(pattern, month).str.zfill(2), text.str.extract(pattern, day).str.zfill(2)]
    return pl.concat_str(parts, separator="-").str.to_date("%Y-%m-%d", strict=False)


def _cents(layout: CsvFormat, text: pl.Expr) -> pl.Expr:
    """Cents of amounts as they stand in the file; null where one is none, or finer than cents."""
    plain = text.str.replace_all("\u2212", "-", literal=True).str.replace_all(NOT_OF_AN_AMOUNT, "")
    pattern = AMOUNTS[layout.decimal]
    whole = plain.str.extract(pattern, 2).str.replace_all(r"[.,]", "").cast(pl.Int64, strict=False)
    hundredths = plain.str.extract(pattern, 3).fill_null("").str.pad_end(2, "0").cast(pl.Int64, strict=False)
    cents = whole * 100 + hundredths
    return pl.when(plain.str.extract(pattern, 1) == "-").then(-cents).otherwise(cents)


def _amount(layout: CsvFormat, frame: pl.DataFrame) -> pl.Expr:
    """The signed cents of each line, with the further amounts of its payment."""
    amount = _cents(layout, _column(frame, layout.amount)) * layout.sign
    for name in layout.added:
        text = _column(frame, name)
        amount = amount + pl.when(text.is_null()).then(0).otherwise(_cents(layout, text))
    return amount


def _purpose(layout: CsvFormat, frame: pl.DataFrame) -> pl.Expr:
    """The purpose in the form of the house: references as lines with their tags, where the text has none of its own."""
    text = pl.concat_str([_column(frame, name) for name in layout.purpose], separator=" ", ignore_nulls=True)
    tags: list[pl.Expr] = []
    for tag, name in layout.references.items():
        value = _column(frame, name)
        tags.append(pl.when(~value.str.to_uppercase().is_in(list(NO_REFERENCE))).then(pl.concat_str(pl.lit(f"{tag}+"), value)))
    if layout.original:
        tags.append(_original_amount(layout, frame, *layout.original))
    if not tags:
        return text
    references = pl.concat_str(tags, separator="\n", ignore_nulls=True)
    tagged = pl.concat_str([references, pl.when(text != "").then("SVWZ+" + text)], separator="\n", ignore_nulls=True)
    return pl.when((references == "") | text.str.contains(SEPA_TAG.pattern)).then(text).otherwise(tagged)


def _original_amount(layout: CsvFormat, frame: pl.DataFrame, amount: str, currency: str) -> pl.Expr:
    """The amount in a foreign currency behind its tag; null where the payment was in the currency of its line."""
    code, own = _column(frame, currency), pl.coalesce(_column(frame, layout.currency), pl.lit(layout.default_currency))
    number = _column(frame, amount).str.strip_chars_start("+-").str.replace(layout.decimal, ",", literal=True)
    return pl.when(code != own).then(pl.concat_str(pl.lit("OAMT+"), code, pl.lit(" "), number))


def _iban(text: pl.Expr) -> pl.Expr:
    plain = text.str.replace_all(r"\s", "").str.to_uppercase()
    return pl.when(plain.str.contains(f"^(?:{IBAN.pattern})$")).then(plain)


def _bic(text: pl.Expr) -> pl.Expr:
    return pl.when(text.str.contains(r"^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$")).then(text)


def _refuse(table: pl.DataFrame, wrong: pl.Expr, reason: Reason) -> None:
    """Raises for the first line that is wrong."""
    lines = table.filter(wrong)[LINE]
    if len(lines):
        raise StatementFault(reason, int(lines.min()))  # type: ignore[arg-type]


def _own_iban(table: _Table, own_account: str) -> str | None:
    """The IBAN of the account: from its column, or the first one above the header."""
    cells = [own_account, *(cell for row in table.around for cell in row)]
    for cell in cells:
        for word in re.split(r"[/:]| - ", cell):
            plain = re.sub(r"\s", "", word).strip("'").upper()
            match = re.search(r"[A-Z]{2}[0-9]{20}$", plain) or IBAN.fullmatch(plain)
            if match:
                return match[0]
    return None


def _told_balance(table: _Table, label: str) -> DayBalance | None:
    """The balance in the row that has this label, behind it; a cell `S` in the row says that it is a debt."""
    for row in table.around if label else ():
        place = next((place for place, cell in enumerate(row) if re.search(label, cell)), len(row))
        for cell in row[place + 1 :]:
            plain = re.sub(r"[\s\xa0€]|EUR", "", cell).replace("\u2212", "-")
            if BALANCE_AMOUNT.fullmatch(plain) and not DAY.fullmatch(plain):
                cents = cents_of(plain.replace(".", ""))
                return DayBalance(-cents if "S" in row else cents)
    return None
