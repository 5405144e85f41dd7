"""Each bank's way of writing a booking: from events to the frame `BOOKINGS`. One function a style."""

from collections.abc import Callable, Mapping

import polars as pl

from analytics.frames import BOOKINGS, checked
from pipelines.banks.demo.plans import PaymentKind, Style

_kind, _number, _contract = pl.col("kind"), pl.col("number"), pl.col("contract")
_is_card = _kind.is_in([PaymentKind.CARD, PaymentKind.CASH])
_seconds = _number % 43_200 + 28_800
"""Shops are open from eight to eight."""


def written(events: pl.DataFrame, style: Style) -> pl.DataFrame:
    """The events of one account in the words of its bank."""
    booked = _STYLES[style](events)
    pending = pl.col("pending")
    return checked(
        booked.with_columns(
            purpose=pl.when(pending).then(pl.format("VORGEMERKT {}", "merchant")).otherwise("purpose"),
            booking_text=pl.when(pending).then(pl.lit("VORMERKUNG")).otherwise("booking_text"),
            **{name: pl.when(~pending).then(name) for name in ("gv_code", "primanota", "counterparty_iban", "counterparty_bic")},
        ).select(BOOKINGS.names()),
        BOOKINGS,
    )


def _savings_bank(events: pl.DataFrame) -> pl.DataFrame:
    """As in MT940: subfields behind their names, joined without a blank; the card line has merchant, place and time."""
    line = pl.format("{}//{}/{} {} Debitk.0 2028-12", "merchant", pl.col("city").str.to_uppercase(), "country", _moment())
    subfields = pl.concat_str(
        pl.when(pl.col("name").is_not_null()).then("EREF+" + _reference()).otherwise(pl.lit("")),
        pl.when("mandated").then("MREF+" + _mandate()).otherwise(pl.lit("")),
        pl.when("mandated").then("CRED+" + pl.col("creditor_id")).otherwise(pl.lit("")),
        pl.lit("SVWZ+") + pl.col("purpose"),
        pl.when(pl.col("ultimate").is_not_null()).then("ABWE+" + pl.col("ultimate")).otherwise(pl.lit("")),
    )
    return _named(
        events,
        purpose=pl.when(_is_card).then(line).otherwise(subfields),
        words={
            PaymentKind.SALARY: ("LOHN  GEHALT", "153", "9603"),
            PaymentKind.PENSION: ("RENTE", "153", "9603"),
            PaymentKind.BENEFIT: ("GUTSCHR. UEBERWEISUNG OEFFENTL. KASSEN", "156", "9603"),
            PaymentKind.CREDIT: ("GUTSCHR. UEBERWEISUNG", "166", "9601"),
            PaymentKind.DEBIT: ("FOLGELASTSCHRIFT", "105", "9248"),
            PaymentKind.STANDING: ("DAUERAUFTRAG", "117", "9245"),
            PaymentKind.TRANSFER: ("ONLINE-UEBERWEISUNG", "177", "9311"),
            PaymentKind.CARD: ("KARTENZAHLUNG", "106", "9290"),
            PaymentKind.CASH: ("BARGELDAUSZAHLUNG", "083", "9291"),
            PaymentKind.FEE: ("ENTGELTABSCHLUSS", "808", "9800"),
            PaymentKind.INTEREST: ("ABSCHLUSS", "805", "9800"),
            PaymentKind.INSTALMENT: ("DARLEHENSRATE", "601", "9700"),
            PaymentKind.SETTLEMENT: ("KREDITKARTENABRECHNUNG", "006", "9292"),
            PaymentKind.SECURITIES: ("WERTPAPIERE", "303", "9500"),
        },
    )


def _cooperative(events: pl.DataFrame) -> pl.DataFrame:
    """The plain purpose first, references behind it, and the counterparty apart."""
    line = pl.format("{}/{}/{} {} girocard Folgenr. 0 Verfalld. 2812", "merchant", "city", "country", _moment())
    text = pl.concat_str(
        pl.col("purpose"),
        pl.when(pl.col("name").is_not_null()).then(" EREF: " + _reference()).otherwise(pl.lit("")),
        pl.when("mandated").then(pl.format(" MREF: {} CRED: {}", _mandate(), "creditor_id")).otherwise(pl.lit("")),
        pl.when(pl.col("ultimate").is_not_null()).then(" ABWE: " + pl.col("ultimate")).otherwise(pl.lit("")),
        pl.when(pl.col("iban").is_not_null()).then(pl.format(" IBAN: {} BIC: {}", "iban", "bic")).otherwise(pl.lit("")),
    )
    return _named(
        events,
        purpose=pl.when(_is_card).then(line).otherwise(text),
        words={
            PaymentKind.SALARY: ("Lohn/Gehalt/Rente", "153", "4051"),
            PaymentKind.PENSION: ("Lohn/Gehalt/Rente", "153", "4051"),
            PaymentKind.BENEFIT: ("Überweisungsgutschr.", "156", "4051"),
            PaymentKind.CREDIT: ("Überweisungsgutschr.", "166", "4050"),
            PaymentKind.DEBIT: ("Basislastschrift", "105", "4240"),
            PaymentKind.STANDING: ("Dauerauftragsbelast", "117", "4170"),
            PaymentKind.TRANSFER: ("Überweisungsauftrag", "116", "4110"),
            PaymentKind.CARD: ("Kartenzahlung girocard", "107", "4260"),
            PaymentKind.CASH: ("Auszahlung girocard", "083", "4261"),
            PaymentKind.FEE: ("Kontoführungsgebühr", "808", "8000"),
            PaymentKind.INTEREST: ("Zinsen", "814", "8000"),
            PaymentKind.INSTALMENT: ("Annuität", "602", "7000"),
            PaymentKind.SETTLEMENT: ("Kreditkartenabrechnung", "006", "4270"),
            PaymentKind.SECURITIES: ("Wertpapierabrechnung", "303", "5000"),
        },
    )


def _direct(events: pl.DataFrame) -> pl.DataFrame:
    """Words instead of codes; direct debits lose their blanks on the way. No time, so that twins stay twins."""
    line = pl.format("{} {} {} KAUFUMSATZ {}", "merchant", "city", "country", pl.col("happened_on").dt.strftime("%d.%m"))
    debit = pl.concat_str(pl.col("purpose"), pl.lit(" Mandat:") + _mandate(), pl.lit(" Referenz:") + _reference())
    text = pl.when(_kind == PaymentKind.DEBIT).then(debit.str.replace_all(" ", "", literal=True)).otherwise("purpose")
    return _named(
        events,
        purpose=pl.when(_is_card).then(line).otherwise(text),
        words={
            PaymentKind.SALARY: ("Gehalt/Rente", None, None),
            PaymentKind.PENSION: ("Gehalt/Rente", None, None),
            PaymentKind.BENEFIT: ("Gutschrift", None, None),
            PaymentKind.CREDIT: ("Gutschrift", None, None),
            PaymentKind.DEBIT: ("Lastschrift", None, None),
            PaymentKind.STANDING: ("Dauerauftrag/Terminueberweisung", None, None),
            PaymentKind.TRANSFER: ("Ueberweisung", None, None),
            PaymentKind.CARD: ("Kartenzahlung", None, None),
            PaymentKind.CASH: ("Bargeldabhebung", None, None),
            PaymentKind.FEE: ("Entgelt", None, None),
            PaymentKind.INTEREST: ("Zinsertrag", None, None),
            PaymentKind.INSTALMENT: ("Lastschrift", None, None),
            PaymentKind.SETTLEMENT: ("Visa-Kartenabrechnung", None, None),
            PaymentKind.SECURITIES: ("Wertpapierkauf", None, None),
        },
    )


def _visa(events: pl.DataFrame) -> pl.DataFrame:
    """A card statement: merchant, place and the amount in the currency of the purchase. No time, so that twins stay twins."""
    cents = pl.col("amount_cents").abs()
    rate = 1.05 + (_contract % 100).cast(pl.Float64) / 1000
    abroad = pl.format("{} {} Kurs {}", _money((cents * rate).round().cast(pl.Int64)), "foreign_currency", _money(rate * 100))
    amount = pl.when(pl.col("foreign_currency").is_null()).then(pl.format("{} EUR", _money(cents))).otherwise(abroad)
    return _named(
        events,
        purpose=pl.when(_is_card).then(pl.format("{} {} {} VISA {}", "merchant", "city", "country", amount)).otherwise("purpose"),
        words=dict.fromkeys(PaymentKind, ("Visa-Umsatz", None, None))
        | {PaymentKind.SETTLEMENT: ("Ausgleich Kartenkonto", None, None)},
    )


_Words = Mapping[PaymentKind, tuple[str, str | None, str | None]]
_STYLES: Mapping[Style, Callable[[pl.DataFrame], pl.DataFrame]] = {
    Style.SAVINGS_BANK: _savings_bank,
    Style.COOPERATIVE: _cooperative,
    Style.DIRECT: _direct,
    Style.VISA: _visa,
}


def _named(events: pl.DataFrame, purpose: pl.Expr, words: _Words) -> pl.DataFrame:
    """The columns of `BOOKINGS`, with the bank's booking text, code and batch for each kind."""
    codes = pl.DataFrame(
        [(kind.value, *entry) for kind, entry in words.items()],
        schema={"kind": pl.String, "booking_text": pl.String, "gv_code": pl.String, "primanota": pl.String},
        orient="row",
    )
    return (
        events.with_columns(mandated=(_kind == PaymentKind.DEBIT) & pl.col("creditor_id").is_not_null())
        .with_columns(purpose=purpose)
        .join(codes, on="kind", how="left", maintain_order="left")
        .rename(
            {"name": "counterparty_name", "iban": "counterparty_iban", "bic": "counterparty_bic", "ultimate": "ultimate_name"}
        )
    )


def _reference() -> pl.Expr:
    return pl.format("R{}", _digits(_number, 12))


def _mandate() -> pl.Expr:
    return pl.format("M-{}", _digits(_contract, 8))


def _digits(number: pl.Expr, length: int) -> pl.Expr:
    rest: pl.Expr = number % 10**length
    return rest.cast(pl.String).str.zfill(length)


def _moment() -> pl.Expr:
    return (pl.col("happened_on").cast(pl.Datetime) + pl.duration(seconds=_seconds)).dt.strftime("%Y-%m-%dT%H:%M:%S")


def _money(cents: pl.Expr) -> pl.Expr:
    whole = cents.round().cast(pl.Int64)
    return pl.format("{},{}", whole // 100, _digits(whole, 2))
