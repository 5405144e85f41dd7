"""From plans to what happens on the accounts: one row for each movement, not yet in the words of a bank."""

from datetime import date, timedelta

import polars as pl

from analytics.frames import checked
from pipelines.banks.demo.bankdays import calendar
from pipelines.banks.demo.chance import mixed, ratio
from pipelines.banks.demo.histories import START
from pipelines.banks.demo.planned import habits, recurring
from pipelines.banks.demo.plans import PaymentKind, Persona, Settlement, Style, seed

EVENTS = pl.Schema(
    {
        "account": pl.String,
        "kind": pl.String,
        "booked_on": pl.Date,
        "value_on": pl.Date,
        "happened_on": pl.Date,
        "amount_cents": pl.Int64,
        "currency": pl.String,
        "foreign_currency": pl.String,
        "purpose": pl.String,
        "name": pl.String,
        "iban": pl.String,
        "bic": pl.String,
        "creditor_id": pl.String,
        "ultimate": pl.String,
        "merchant": pl.String,
        "city": pl.String,
        "country": pl.String,
        "number": pl.UInt64,
        "contract": pl.UInt64,
        "pending": pl.Boolean,
    }
)
"""`number` names the movement and `contract` the plan behind it: references and mandates come from them."""

CARD_KINDS = (PaymentKind.CARD, PaymentKind.CASH)
"""Movements that a bank shows before it books them."""


def events(life: Persona, as_of: date) -> pl.DataFrame:
    """Everything that the bank knows of on a day, in the order in which it tells it."""
    frames = [_recurring(life, as_of), _habits(life, as_of)]
    frames += [_settled(life, settlement, frames[1], as_of) for settlement in life.settlements]
    told = checked(pl.concat(frames, how="diagonal"), EVENTS)
    return told.sort("booked_on", "pending", "number")


def _recurring(life: Persona, as_of: date) -> pl.DataFrame:
    plans = recurring(life)
    months = pl.DataFrame({"month": pl.date_range(START, as_of + timedelta(days=31), "1mo", eager=True)})
    month, due = pl.col("month"), pl.col("due")
    elapsed = (month.dt.year() - START.year) * 12 + month.dt.month() - START.month
    raised = pl.col("amount_cents") * (1000 + pl.col("rise_permille") * (elapsed // 12)) // 1000 + pl.col("step_cents") * elapsed
    swing = (ratio(pl.col("contract"), elapsed, 1) * 2 - 1) * pl.col("spread_permille") / 1000
    return (
        plans.join(months, how="cross")
        .filter((month.dt.month() - pl.col("anchor")) % pl.col("every") == 0)
        .with_columns(due=month.dt.offset_by((pl.min_horizontal("day", month.dt.month_end().dt.day()) - 1).cast(pl.String) + "d"))
        .filter(due.is_between(pl.col("first"), pl.col("last")))
        .join(calendar(as_of.year + 1), left_on="due", right_on="day")
        .with_columns(booked_on=pl.when("earlier").then("previous").otherwise("next"))
        .filter(pl.col("booked_on").is_between(START, as_of))
        .with_columns(
            amount_cents=(raised * (1 + swing)).round().cast(pl.Int64),
            purpose=pl.col("purpose").str.replace("{month}", due.dt.strftime("%m/%Y"), literal=True),
            value_on="booked_on",
            happened_on="booked_on",
            number=mixed(pl.col("contract"), elapsed),
            pending=False,
        )
        .pipe(_known)
    )


def _habits(life: Persona, as_of: date) -> pl.DataFrame:
    lags = {holder.short: 2 if holder.style is Style.VISA else 1 for holder in life.holders}
    plans = habits(life).with_columns(lag=pl.col("account").replace_strict(lags, return_dtype=pl.Int64))
    days = pl.DataFrame({"day": pl.date_range(START, as_of, "1d", eager=True)})
    day, contract, copy = pl.col("day"), pl.col("contract"), pl.col("copy")
    open_days = pl.when("sundays").then(7).otherwise(6)
    happens = (ratio(contract, _number(day), 1) < pl.col("per_week") / open_days) & (pl.col("sundays") | (day.dt.weekday() < 7))
    times = pl.when(ratio(contract, _number(day), 2) < pl.col("twins")).then(2).otherwise(1)
    # Most purchases are small: the square draws them to the lower end.
    amount = pl.col("low_cents") + (pl.col("high_cents") - pl.col("low_cents")) * ratio(contract, _number(day), 3) ** 2
    unsettled = pl.col("next") > as_of
    card = pl.col("kind").is_in(CARD_KINDS)
    return (
        plans.join(days, how="cross")
        .filter(happens)
        .with_columns(copy=pl.int_ranges(times))
        .explode("copy")
        .with_columns(
            booking_day=day + pl.duration(days=pl.col("lag")),
            merchant=pl.col("merchants").list.get(
                (mixed(contract, _number(day), 4) % pl.col("merchants").list.len()).cast(pl.Int64)
            ),
            number=mixed(contract, _number(day), copy),
            amount_cents=-amount.round().cast(pl.Int64),
        )
        .join(calendar(as_of.year + 1), left_on="booking_day", right_on="day")
        .filter(card | ~unsettled)
        .with_columns(
            booked_on=pl.when(unsettled).then(day).otherwise("next"),
            value_on=pl.when(unsettled | (pl.col("lag") == 2)).then(day).otherwise("next"),
            happened_on=day,
            pending=unsettled,
            name=pl.coalesce("name", "merchant"),
            ultimate=pl.when(pl.col("name").is_not_null()).then("merchant"),
            city=pl.coalesce("city", pl.lit(life.city)),
            currency=pl.lit("EUR"),
        )
        .with_columns(purpose=pl.when(~card).then(pl.format("Ihr Einkauf bei {}", "merchant")).otherwise("merchant"))
        .pipe(_known)
    )


def _settled(life: Persona, settlement: Settlement, purchases: pl.DataFrame, as_of: date) -> pl.DataFrame:
    """The monthly bill of a card: collected from the account, credited to the card."""
    number = next(holder.product.account_number for holder in life.holders if holder.short == settlement.card)
    bills = (
        purchases.filter((pl.col("account") == settlement.card) & ~pl.col("pending"))
        .group_by(month=pl.col("booked_on").dt.truncate("1mo"))
        .agg(pl.col("amount_cents").sum())
        .with_columns(due=pl.col("month").dt.offset_by("1mo").dt.offset_by(f"{settlement.day - 1}d"))
        .join(calendar(as_of.year + 1), left_on="due", right_on="day")
        .filter(pl.col("next") <= as_of)
        .with_columns(
            kind=pl.lit(PaymentKind.SETTLEMENT.value),
            booked_on="next",
            value_on="next",
            happened_on="next",
            currency=pl.lit("EUR"),
            purpose=pl.format(f"Kreditkartenabrechnung {number} {{}}", pl.col("month").dt.strftime("%m/%Y")),
            name=pl.lit("Kartenabrechnung"),
            contract=pl.lit(seed(f"{life.user_id}/{settlement.card}"), dtype=pl.UInt64),
            pending=False,
        )
        .with_columns(number=mixed(pl.col("contract"), _number(pl.col("month"))))
    )
    sides = (
        bills.with_columns(account=pl.lit(settlement.account)),
        bills.with_columns(account=pl.lit(settlement.card), amount_cents=-pl.col("amount_cents")),
    )
    return pl.concat(sides).pipe(_known)


def _number(day: pl.Expr) -> pl.Expr:
    return day.to_physical()


def _known(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(name for name in EVENTS if name in frame.columns)
