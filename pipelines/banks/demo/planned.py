"""Plans as frames: one row for each, its partner's fields beside its own."""

from dataclasses import asdict

import polars as pl

from pipelines.banks.demo.plans import Counterparty, Persona, Recurring, ScriptedHabit, seed

_Kinds = dict[str, pl.DataType | type[pl.DataType]]

_PARTNER: _Kinds = {
    "name": pl.String,
    "iban": pl.String,
    "bic": pl.String,
    "creditor_id": pl.String,
    "contract": pl.UInt64,
}
_RECURRING: _Kinds = {
    "account": pl.String,
    "kind": pl.String,
    "amount_cents": pl.Int64,
    "purpose": pl.String,
    "day": pl.Int64,
    "every": pl.Int64,
    "anchor": pl.Int64,
    "first": pl.Date,
    "last": pl.Date,
    "rise_permille": pl.Int64,
    "step_cents": pl.Int64,
    "spread_permille": pl.Int64,
    "earlier": pl.Boolean,
    "ultimate": pl.String,
    "currency": pl.String,
    **_PARTNER,
}
_HABITS: _Kinds = {
    "account": pl.String,
    "merchants": pl.List(pl.String),
    "per_week": pl.Float64,
    "low_cents": pl.Int64,
    "high_cents": pl.Int64,
    "kind": pl.String,
    "sundays": pl.Boolean,
    "twins": pl.Float64,
    "city": pl.String,
    "country": pl.String,
    "foreign_currency": pl.String,
    **_PARTNER,
}


def recurring(life: Persona) -> pl.DataFrame:
    """What recurs in a life."""
    rows = [_flat(plan, plan.partner, f"{life.user_id}/{plan.account}/{plan.purpose}") for plan in life.recurring]
    return pl.DataFrame(rows, schema=_RECURRING)


def habits(life: Persona) -> pl.DataFrame:
    """What is habit in a life."""
    rows = [_flat(plan, plan.payer, f"{life.user_id}/{plan.account}/{plan.merchants}") for plan in life.habits]
    return pl.DataFrame(rows, schema=_HABITS)


def _flat(plan: Recurring | ScriptedHabit, partner: Counterparty | None, name: str) -> dict[str, object]:
    """A plan as a row, its partner's fields beside its own."""
    return asdict(plan) | asdict(partner or Counterparty("")) | {"name": partner and partner.name, "contract": seed(name)}
