"""From a persona to what happens on its accounts until a day: one row for each movement, not yet in the words of a bank."""

from dataclasses import fields
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from analytics.frames import checked
from models.simulator.base.calendar import Grid, day_number
from models.simulator.scripted.chance import mix, ratio
from models.simulator.scripted.personas import (
    Counterparty,
    PaymentKind,
    Persona,
    Recurring,
    ScriptedAccount,
    ScriptedHabit,
    Style,
    bank,
    partners,
    seed,
)
from models.simulator.scripted.wordings import write

MOVEMENTS = pl.Schema(
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

NOTE_CENTS = 1_000
CARD_KINDS = (PaymentKind.CARD, PaymentKind.CASH)
"""Movements that a bank shows before it books them."""
_TYPES: dict[object, Any] = {
    int: pl.Int64,
    float: pl.Float64,
    bool: pl.Boolean,
    date: pl.Date,
    str: pl.String,
    str | None: pl.String,
    PaymentKind: pl.String,
    tuple[str, ...]: pl.List(pl.String),
}


def bookings(persona: Persona, start: date, as_of: date) -> dict[str, pl.DataFrame]:
    """By account, all bookings from a day on as its bank tells them on another. Depots have none."""
    moves = movements(persona, start, as_of)
    return {
        account.short: write(moves.filter(pl.col("account") == account.short), account.style)
        for account in persona.accounts
        if not account.securities
    }


def movements(persona: Persona, start: date, as_of: date) -> pl.DataFrame:
    """Everything that the bank knows of on a day, in the order in which it tells it."""
    purchases = _purchases(persona, start, as_of)
    bills = [_bills(persona, card, purchases, start, as_of) for card in persona.accounts if card.settled_from]
    moves = pl.concat([_recurring(persona, start, as_of), purchases, *bills], how="diagonal")
    return checked(moves, MOVEMENTS).sort("booked_on", "pending", "number")


def _recurring(persona: Persona, start: date, as_of: date) -> pl.DataFrame:
    plans = _plans(persona, Recurring)
    months = pl.DataFrame({"month": pl.date_range(start, as_of + timedelta(days=31), "1mo", eager=True)})
    month, due = pl.col("month"), pl.col("due")
    elapsed = (month.dt.year() - start.year) * 12 + month.dt.month() - start.month
    rises = pl.when(pl.col("rise_month") > 0).then(_passed(pl.col("rise_month"), month, start)).otherwise(elapsed // 12)
    amount = pl.col("amount_cents") * (1000 + pl.col("rise_permille") * rises) // 1000 + pl.col("step_cents") * elapsed
    swing = (ratio(pl.col("contract"), elapsed, 1) * 2 - 1) * pl.col("spread_permille") / 1000
    return (
        plans.join(months, how="cross")
        .filter((month.dt.month() - pl.col("anchor")) % pl.col("every") == 0)
        .with_columns(due=month.dt.offset_by((pl.min_horizontal("day", month.dt.month_end().dt.day()) - 1).cast(pl.String) + "d"))
        .filter(due.is_between(pl.col("first"), pl.col("last")))
        .join(_bank_days(start, as_of), on="due")
        .with_columns(booked_on=pl.when("earlier").then("previous").otherwise("next"))
        .filter(pl.col("booked_on").is_between(start, as_of))
        .with_columns(
            amount_cents=(amount * (1 + swing)).round().cast(pl.Int64),
            purpose=pl.col("purpose").str.replace("{month}", due.dt.strftime("%m/%Y"), literal=True),
            value_on="booked_on",
            happened_on="booked_on",
            number=mix(pl.col("contract"), elapsed),
            pending=False,
        )
        .pipe(_movement_columns)
    )


def _in_notes(amount_cents: pl.Expr) -> pl.Expr:
    """The nearest amount that a cash machine pays out: whole tens of euros."""
    return (amount_cents / NOTE_CENTS).round() * NOTE_CENTS


def _passed(calendar_month: pl.Expr, month: pl.Expr, start: date) -> pl.Expr:
    """How often a month of the calendar has begun since a start, without that of the start itself."""
    reached, reached_at_start = (month.dt.month() >= calendar_month), (calendar_month <= start.month)
    return month.dt.year() - start.year + reached.cast(pl.Int64) - reached_at_start.cast(pl.Int64)


def _purchases(persona: Persona, start: date, as_of: date) -> pl.DataFrame:
    lags = {account.short: 2 if account.style is Style.VISA else 1 for account in persona.accounts}
    habits = _plans(persona, ScriptedHabit).with_columns(lag=pl.col("account").replace_strict(lags, return_dtype=pl.Int64))
    days = pl.DataFrame({"day": pl.date_range(start, as_of, "1d", eager=True)})
    day, contract, copy = pl.col("day"), pl.col("contract"), pl.col("copy")
    day_of_epoch = day.to_physical()
    open_days = pl.when("sundays").then(7).otherwise(6)
    happens = (ratio(contract, day_of_epoch, 1) < pl.col("per_week") / open_days) & (pl.col("sundays") | (day.dt.weekday() < 7))
    times = pl.when(ratio(contract, day_of_epoch, 2) < pl.col("twins")).then(2).otherwise(1)
    merchant = (mix(contract, day_of_epoch, 4) % pl.col("merchants").list.len()).cast(pl.Int64)
    # Most purchases are small: the square draws them to the lower end.
    amount = pl.col("low_cents") + (pl.col("high_cents") - pl.col("low_cents")) * ratio(contract, day_of_epoch, 3) ** 2
    unsettled = pl.col("next") > as_of
    by_card = pl.col("kind").is_in(CARD_KINDS)
    return (
        habits.join(days, how="cross")
        .filter(happens)
        .with_columns(copy=pl.int_ranges(times))
        .explode("copy")
        .with_columns(
            due=day + pl.duration(days=pl.col("lag")),
            merchant=pl.col("merchants").list.get(merchant),
            number=mix(contract, day_of_epoch, copy),
            amount_cents=-pl.when(pl.col("kind") == PaymentKind.CASH)
            .then(_in_notes(amount))
            .otherwise(amount.round())
            .cast(pl.Int64),
        )
        .join(_bank_days(start, as_of), on="due")
        .filter(by_card | ~unsettled)
        .with_columns(
            booked_on=pl.when(unsettled).then(day).otherwise("next"),
            value_on=pl.when(unsettled | (pl.col("lag") == 2)).then(day).otherwise("next"),
            happened_on=day,
            pending=unsettled,
            name=pl.coalesce("name", "merchant"),
            ultimate=pl.when(pl.col("name").is_not_null()).then("merchant"),
            city=pl.coalesce("city", pl.lit(persona.city)),
            currency=pl.lit("EUR"),
            purpose=pl.when(by_card).then("merchant").otherwise(pl.format("Ihr Einkauf bei {}", "merchant")),
        )
        .pipe(_movement_columns)
    )


def _bills(persona: Persona, card: ScriptedAccount, purchases: pl.DataFrame, start: date, as_of: date) -> pl.DataFrame:
    """The monthly bills of a card: collected from the account, credited to the card."""
    contract = seed(f"{persona.user_id}/{card.short}")
    month = pl.col("month")
    bills = (
        purchases.filter((pl.col("account") == card.short) & ~pl.col("pending"))
        .group_by(month=pl.col("booked_on").dt.truncate("1mo"))
        .agg(pl.col("amount_cents").sum())
        .with_columns(due=month.dt.offset_by("1mo").dt.offset_by(f"{card.settled_on_day - 1}d"))
        .join(_bank_days(start, as_of), on="due")
        .filter(pl.col("next") <= as_of)
        .with_columns(
            account=pl.lit(card.settled_from),
            kind=pl.lit(PaymentKind.SETTLEMENT.value),
            booked_on="next",
            value_on="next",
            happened_on="next",
            currency=pl.lit("EUR"),
            purpose=pl.format(f"Kreditkartenabrechnung {card.number} {{}}", month.dt.strftime("%m/%Y")),
            name=pl.lit("Kartenabrechnung"),
            contract=pl.lit(contract, dtype=pl.UInt64),
            number=mix(contract, month.to_physical()),
            pending=False,
        )
    )
    card_credits = bills.with_columns(account=pl.lit(card.short), amount_cents=-pl.col("amount_cents"))
    return pl.concat([bills, card_credits]).pipe(_movement_columns)


def _plans(persona: Persona, plan_type: type[Recurring] | type[ScriptedHabit]) -> pl.DataFrame:
    """All plans of one type, one row for each, with the account, the counterparty's fields and the number of the plan."""
    rows = [
        vars(plan) | _row_of(persona, account, plan)
        for account in persona.accounts
        for plan in (account.recurring if plan_type is Recurring else account.habits)
    ]
    types = {entry.name: _TYPES[entry.type] for entry in (*fields(plan_type), *fields(Counterparty))}
    return pl.DataFrame(rows, schema={**types, "account": pl.String, "contract": pl.UInt64})


def _row_of(persona: Persona, account: ScriptedAccount, plan: Recurring | ScriptedHabit) -> dict[str, object]:
    if isinstance(plan, ScriptedHabit):
        plan_name, counterparty = str(plan.merchants), partners()[plan.payer] if plan.payer else Counterparty()
    else:
        plan_name, counterparty = plan.purpose, _counterparty(persona, plan)
    return {
        **vars(counterparty),
        "account": account.short,
        "contract": seed(f"{persona.user_id}/{account.short}/{plan_name}"),
    }


def _counterparty(persona: Persona, plan: Recurring) -> Counterparty:
    own = next((account for account in persona.accounts if account.short == plan.own_account), None)
    if own:
        return Counterparty(own.owner, own.iban, bank(own.bank_code)[0])
    return partners()[plan.partner] if plan.partner else Counterparty()


@lru_cache(maxsize=4)
def _bank_days(start: date, as_of: date) -> pl.DataFrame:
    """Every day on which a movement may be due, with the bank day on or after it and the one on or before it."""
    grid = Grid(start, (as_of.year - start.year) * 12 + as_of.month - start.month + 3)
    days = np.arange(day_number(start), grid.end_day, dtype=np.int32)
    frame = pl.DataFrame({"due": days, "next": grid.forward(days), "previous": grid.back(days)})
    return frame.cast(pl.Date)


def _movement_columns(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(name for name in MOVEMENTS if name in frame.columns)
