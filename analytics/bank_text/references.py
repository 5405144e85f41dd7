"""Numbers and spans inside purposes: whose contract or customer a payment names, and which time it covers.

On demand and with regular expressions: only regular payments are asked. The expressions say `[0-9]` and not the class of digits,
which holds those of all scripts and takes several times as long to compile.
"""

from functools import cache

import numpy as np
import polars as pl

from analytics.bank_text import sepa
from analytics.frames import collected, divided, nulls

MIN_NUMBER_CHARACTERS = 5
"""A value with fewer letters and digits is no number of a contract."""
_VALUE = r"((?:[a-z]{1,4}[./-]?|[a-z]{1,2} )?[0-9][a-z0-9]*(?:[./-][a-z0-9]+)*(?: [0-9][a-z0-9./-]*)*)"
_NUMBER = r"[ .-]{0,2}(?:nr|nummer|no)?[ .:#-]{0,3}"
_CONTRACT = r"\b(?:vertrags?|vers(?:icherungs)?|vs|policen?|vk|leasing)[ .-]{0,2}(?:schein|konto|vertrag)?" + _NUMBER + _VALUE
_WHO = r"\b(?:kunden?|kd|mitglieds?|beitrags)[ .-]{0,2}(?:konto)?"
_WRITTEN = r"((?:[a-z]{1,4}[./-]?|[a-z]{1,2} )?(?:[0-9]{1,4}(?: [0-9]{3,4})+\b|[0-9][a-z0-9]*(?:[./-][a-z0-9]+)*))"
"""A number as it is written: in blocks of at most four digits, or without blanks. What follows behind a blank is another one."""
_WRITTEN_CONTRACT = (
    r"(?i)\b(?:vertrags?|vers(?:icherungs)?|vs|policen?|vk|leasing)[ .-]{0,2}(?:schein|konto|vertrag)?" + _NUMBER + _WRITTEN
)
_WRITTEN_CUSTOMER = r"(?i)" + _WHO + _NUMBER + _WRITTEN
_NUMBER_STEMS = ("vert", "vers", "vs", "polic", "vk", "leasing", "kund", "kd", "mitglied", "beitrags")
"""Parts of which every text has one that names a number: they are found faster, and most texts have none."""
_GLUED_DATE = r"(?:(?:0[1-9]|[12][0-9]|3[01])\.(?:0[1-9]|1[0-2])\.(?:20)?[0-9]{2}|[ ./-](?:(?:0[1-9]|1[0-2])[./-])?20[1-4][0-9])$"
"""A date, a month or a year behind a number: every payment has another one."""
_DATE = r"[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{4}|[0-9]{2})"
_DATE_OR_MONTH = rf"^(?:[a-z]{{1,2}} )?(?:{_DATE}|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|20[0-9]{{2}}$|[0-9]{{1,2}}[./]20[0-9]{{2}}$)"
_SPAN = rf"({_DATE})\s*(?:-|–|bis)\s*({_DATE})"
_MONTH = r"\b(0?[1-9]|1[0-2])[/.](20[0-9]{2})\b"
_QUARTER = r"\b(?:q([1-4])[ /.-]?(20[0-9]{2})|([1-4])\. ?quartal ?(20[0-9]{2}))\b"
_INSTALMENT = r"(?:rate|raten|ratenzahlung|teilzahlung)\s*(?:nr\.?\s*)?([0-9]{1,3})\s*(?:/|von)\s*([0-9]{1,3})(?:[^0-9]|$)"
_NTH = r"(?:^|[^0-9])([0-9]{1,3})\.\s*rate\s*(?:/|von)\s*([0-9]{1,3})(?:[^0-9]|$)"
_PERIODS = (
    (1, r"monatlich|monatsbeitrag|mtl\b"),
    (3, r"1/4[ -]?j(?:ae|ä)hr|viertelj(?:ae|ä)hr|quartalsbeitrag|quartalsweise"),
    (6, r"1/2[ -]?j(?:ae|ä)hr|halbj(?:ae|ä)hr"),
    (12, r"1/1[ -]?j(?:ae|ä)hr|\bj(?:ae|ä)hrlich|jahresbeitrag|jahresrechnung|jahresabo"),
)
_STEMS = (
    *(f"{digit}." for digit in range(10)), "/20", "q1", "q2", "q3", "q4", "quartal", "monat", "mtl", "jahres", "jähr", "jaehr",
)  # fmt: skip
"""Parts of which every text has one that says anything about a span: they are found faster, and most texts have none."""

_NO_SPAN = pl.DataFrame(
    {"first": [None], "last": [None], "months": [None]}, schema={"first": pl.Date(), "last": pl.Date(), "months": pl.Int32()}
)
"""One row that says nothing about a span."""


def instalment(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Which instalment of how many a text in small letters names, as texts: `rate 3/24`, `ratenzahlung nr. 3 von 24`,
    `3. rate von 24`.
    """
    nth, of = (pl.coalesce(text.str.extract(_INSTALMENT, at), text.str.extract(_NTH, at)) for at in (1, 2))
    return nth, of


def contract_number(purposes: pl.Series) -> pl.Series:
    """The number of the contract or policy that a purpose names, letters and digits only; null if it names none."""
    return _number(purposes, _remittances(purposes), _CONTRACT).alias(purposes.name)


def written_numbers(purposes: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The number of the contract and that of the customer or member that each purpose names, as the payee writes them, or null.

    Dates and the numbers of invoices are no part of them.
    """
    contract, customer = _written_numbers(purposes, (_WRITTEN_CONTRACT, _WRITTEN_CUSTOMER))
    return contract, customer


def customer_number(purposes: pl.Series) -> pl.Series:
    """The number of the customer or member alone, as `written_numbers` has it."""
    (customer,) = _written_numbers(purposes, (_WRITTEN_CUSTOMER,))
    return customer


def billing_span(purposes: pl.Series) -> pl.DataFrame:
    """The days `first` to `last` that a purpose says it covers, and its rhythm in `months`; null where it says nothing."""
    return _span(_remittances(purposes))


def numbered_span(purposes: pl.Series) -> pl.DataFrame:
    """The span, and whether a number of a contract is named (`numbered`)."""
    texts = _remittances(purposes)
    return _span(texts).with_columns(numbered=_number(purposes, texts, _CONTRACT).is_not_null())


def _span(texts: pl.Series) -> pl.DataFrame:
    likely = texts.str.contains_any(list(_STEMS)).fill_null(value=False).to_numpy()
    row = np.where(likely, np.cumsum(likely), 0)  # the first one says nothing
    spans = _spans_in(texts.filter(likely).to_frame("text")) if likely.any() else _NO_SPAN.clear()
    return pl.concat([_NO_SPAN, spans])[row]


def _spans_in(texts: pl.DataFrame) -> pl.DataFrame:
    groups, dates, span = _span_columns()
    return collected(texts.lazy().with_columns(**groups).with_columns(**dates).select(**span))


@cache
def _span_columns() -> tuple[dict[str, pl.Expr], ...]:
    """What is read in a `text`: the groups of the expressions, the dates in these, and the span."""
    text, undated = pl.col("text"), pl.col("text").str.replace_all(_DATE, "")
    groups = {
        "span": text.str.extract_groups(_SPAN),
        "dated": undated.str.extract_groups(_MONTH),
        "quartered": text.str.extract_groups(_QUARTER),
    }
    month, year = (pl.col("dated").struct[at].cast(pl.Int32) for at in (0, 1))
    dates = {
        "start": _date(pl.col("span").struct[0]),
        "end": _date(pl.col("span").struct[1]),
        "month": pl.date(year, month, 1),
        "quarter": pl.date(_either(1, 3), _either(0, 2) * 3 - 2, 1),
        "rhythm": pl.coalesce(pl.when(text.str.contains(pattern)).then(pl.lit(months, pl.Int32)) for months, pattern in _PERIODS),
    }
    spanned = pl.col("end") >= pl.col("start")
    days = (pl.col("end") - pl.col("start")).dt.total_days() + 1
    quarter_end = pl.col("quarter").dt.offset_by("2mo").dt.month_end()
    span = {
        "first": pl.when(spanned).then("start").otherwise(pl.coalesce("quarter", "month")),
        "last": pl.when(spanned).then("end").otherwise(pl.coalesce(quarter_end, pl.col("month").dt.month_end())),
        "months": pl.coalesce(
            "rhythm",
            pl.when(spanned).then(divided(days, 30.4).round().cast(pl.Int32)),
            pl.when(pl.col("quarter").is_not_null()).then(pl.lit(3, pl.Int32)),
            pl.when(pl.col("month").is_not_null()).then(pl.lit(1, pl.Int32)),
        ),
    }
    return groups, dates, span


def _remittances(purposes: pl.Series) -> pl.Series:
    """What purposes tell the payer, in small letters."""
    return sepa.fields(purposes, ("remittance",)).to_series().str.to_lowercase()


def _written_numbers(purposes: pl.Series, patterns: tuple[str, ...]) -> list[pl.Series]:
    """What each pattern finds, without a date behind it, where that is a number."""
    texts = sepa.fields(purposes, ("remittance",)).to_series()
    rows = texts.str.contains_any(list(_NUMBER_STEMS), ascii_case_insensitive=True).fill_null(value=False).arg_true()
    no_numbers = nulls(purposes.len(), pl.String)
    if rows.is_empty():
        return [no_numbers for _ in patterns]
    raw = (
        texts[rows].to_frame("text").lazy().select(pl.col("text").str.extract(pattern, 1).alias(pattern) for pattern in patterns)
    )
    return [_cut_numbers(purposes, rows, column, no_numbers) for column in collected(raw)]


def _cut_numbers(purposes: pl.Series, rows: pl.Series, raw: pl.Series, no_numbers: pl.Series) -> pl.Series:
    """By purpose what was read in some rows, without a date behind it, where that is a number."""
    is_read = raw.is_not_null()
    if not is_read.any():
        return no_numbers
    rows, text = rows.filter(is_read), pl.col("raw").str.replace(_GLUED_DATE, "").str.strip_chars(" ./-")
    numbers = collected(raw.filter(is_read).to_frame("raw").lazy().select(text).with_columns(lower=text.str.to_lowercase()))
    is_number = _checked_number(purposes[rows], numbers["lower"]).is_not_null()
    return no_numbers.clone().scatter(rows.filter(is_number), numbers["raw"].filter(is_number))


def _number(purposes: pl.Series, texts: pl.Series, pattern: str) -> pl.Series:
    """What the pattern finds, letters and digits only, where that is a number."""
    return _checked_number(purposes, texts.str.extract(pattern, 1))


def _checked_number(purposes: pl.Series, raw: pl.Series) -> pl.Series:
    """The letters and digits, unless they are too few, a date, an account number or the payment's own reference."""
    rows = raw.is_not_null().arg_true()
    if rows.is_empty():
        return raw
    values = sepa.fields(purposes[rows], ("eref",)).lazy().with_columns(raw[rows].alias("raw"))
    stripped_values = values.select(_alphanumeric(pl.col("eref")), raw=pl.col("raw").str.strip_chars(" ./-"))
    numbers = collected(stripped_values.with_columns(value=_alphanumeric(pl.col("raw"))).select(_value_of_number())).to_series()
    return nulls(raw.len(), pl.String).scatter(rows, numbers)


@cache
def _value_of_number() -> pl.Expr:
    """The `value`, null where it is no number."""
    dated = pl.col("raw").str.contains(_DATE_OR_MONTH)
    account = pl.col("value").str.contains(r"^[A-Z]{2}[0-9]{18,}")
    own = (pl.col("value") == pl.col("eref")).fill_null(value=False)
    return pl.when(~(dated | account | (pl.col("value").str.len_chars() < MIN_NUMBER_CHARACTERS) | own)).then("value")


def _alphanumeric(text: pl.Expr) -> pl.Expr:
    return text.str.to_uppercase().str.replace_all(r"[^A-Z0-9]", "")


def _date(text: pl.Expr) -> pl.Expr:
    return pl.coalesce(
        pl.when(text.str.contains(r"[0-9]{4}$")).then(text).str.to_date("%d.%m.%Y", strict=False),
        text.str.to_date("%d.%m.%y", strict=False),
    )


def _either(one: int, other: int) -> pl.Expr:
    return pl.coalesce(pl.col("quartered").struct[one], pl.col("quartered").struct[other]).cast(pl.Int32)
