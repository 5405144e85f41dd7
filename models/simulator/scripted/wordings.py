"""Each kind of bank's way of writing a booking: from movements to the frame `BOOKINGS`."""

from functools import cache

import polars as pl

from analytics.frames import BOOKINGS, checked
from models.simulator.scripted.personas import FOLDER, PaymentKind, Style

_kind, _number, _contract = pl.col("kind"), pl.col("number"), pl.col("contract")
_is_card = _kind.is_in([PaymentKind.CARD, PaymentKind.CASH])
_mandated = (_kind == PaymentKind.DEBIT) & pl.col("creditor_id").is_not_null()
_OPENING_SECONDS, _OPEN_SECONDS = 28_800, 43_200
"""Shops are open from eight to eight."""


def write(movements: pl.DataFrame, style: Style) -> pl.DataFrame:
    """The movements of one account in the words of its bank, in the same order."""
    pending = pl.col("pending")
    names = {"name": "counterparty_name", "iban": "counterparty_iban", "bic": "counterparty_bic", "ultimate": "ultimate_name"}
    return checked(
        movements.with_columns(purpose=_PURPOSES[style])
        .join(_booking_texts().filter(pl.col("style") == style), on="kind", how="left", maintain_order="left")
        .rename(names)
        .with_columns(
            purpose=pl.when(pending).then(pl.format("VORGEMERKT {}", "merchant")).otherwise("purpose"),
            booking_text=pl.when(pending).then(pl.lit("VORMERKUNG")).otherwise("booking_text"),
            **{name: pl.when(~pending).then(name) for name in ("gv_code", "primanota", "counterparty_iban", "counterparty_bic")},
        )
        .select(BOOKINGS.names()),
        BOOKINGS,
    )


@cache
def _booking_texts() -> pl.DataFrame:
    """By style and kind: booking text, code and batch."""
    return pl.read_csv(FOLDER / "booking_texts.csv", infer_schema=False)


def _digits(number: pl.Expr, length: int) -> pl.Expr:
    rest: pl.Expr = number % 10**length
    return rest.cast(pl.String).str.zfill(length)


def _money(cents: pl.Expr) -> pl.Expr:
    whole = cents.round().cast(pl.Int64)
    return pl.format("{},{}", whole // 100, _digits(whole, 2))


def _if(condition: pl.Expr, text: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(text).otherwise(pl.lit(""))


def _moment() -> pl.Expr:
    seconds = _number % _OPEN_SECONDS + _OPENING_SECONDS
    return (pl.col("happened_on").cast(pl.Datetime) + pl.duration(seconds=seconds)).dt.strftime("%Y-%m-%dT%H:%M:%S")


_reference = pl.format("R{}", _digits(_number, 12))
_mandate = pl.format("M-{}", _digits(_contract, 8))
_has_name, _has_ultimate = pl.col("name").is_not_null(), pl.col("ultimate").is_not_null()


def _savings_bank() -> pl.Expr:
    """As in MT940: subfields behind their names, joined without a blank; the card line has merchant, place and time."""
    line = pl.format("{}//{}/{} {} Debitk.0 2028-12", "merchant", pl.col("city").str.to_uppercase(), "country", _moment())
    subfields = pl.concat_str(
        _if(_has_name, "EREF+" + _reference),
        _if(_mandated, "MREF+" + _mandate),
        _if(_mandated, "CRED+" + pl.col("creditor_id")),
        "SVWZ+" + pl.col("purpose"),
        _if(_has_ultimate, "ABWE+" + pl.col("ultimate")),
    )
    return pl.when(_is_card).then(line).otherwise(subfields)


def _cooperative() -> pl.Expr:
    """The plain purpose first, references behind it, and the counterparty apart."""
    line = pl.format("{}/{}/{} {} girocard Folgenr. 0 Verfalld. 2812", "merchant", "city", "country", _moment())
    text = pl.concat_str(
        pl.col("purpose"),
        _if(_has_name, " EREF: " + _reference),
        _if(_mandated, pl.format(" MREF: {} CRED: {}", _mandate, "creditor_id")),
        _if(_has_ultimate, " ABWE: " + pl.col("ultimate")),
        _if(pl.col("iban").is_not_null(), pl.format(" IBAN: {} BIC: {}", "iban", "bic")),
    )
    return pl.when(_is_card).then(line).otherwise(text)


def _direct() -> pl.Expr:
    """Words instead of codes; direct debits lose their blanks on the way. No time, so that twins stay twins."""
    line = pl.format("{} {} {} KAUFUMSATZ {}", "merchant", "city", "country", pl.col("happened_on").dt.strftime("%d.%m"))
    debit = pl.format("{} Mandat:{} Referenz:{}", "purpose", _mandate, _reference).str.replace_all(" ", "", literal=True)
    return pl.when(_is_card).then(line).when(_kind == PaymentKind.DEBIT).then(debit).otherwise("purpose")


def _visa() -> pl.Expr:
    """A card statement: merchant, place and the amount in the currency of the purchase. No time, so that twins stay twins."""
    cents = pl.col("amount_cents").abs()
    rate = 1.05 + (_contract % 100).cast(pl.Float64) / 1000
    abroad = pl.format("{} {} Kurs {}", _money((cents * rate).round().cast(pl.Int64)), "foreign_currency", _money(rate * 100))
    amount = pl.when(pl.col("foreign_currency").is_null()).then(pl.format("{} EUR", _money(cents))).otherwise(abroad)
    return pl.when(_is_card).then(pl.format("{} {} {} VISA {}", "merchant", "city", "country", amount)).otherwise("purpose")


_PURPOSES = {
    Style.SAVINGS_BANK: _savings_bank(),
    Style.COOPERATIVE: _cooperative(),
    Style.DIRECT: _direct(),
    Style.VISA: _visa(),
}
