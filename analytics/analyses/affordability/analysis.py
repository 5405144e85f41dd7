"""Affordability: what a household earns, needs and spends in a month, what is left, and what a lender has to know.

Credit decisions rest on it, so there are rules only, no model: the same bookings give the same answer, every flag names its
bookings and says in German why. Nobody with fewer than three full months of history gets an answer.
"""

from typing import NamedTuple

import polars as pl

from analytics.analyses.affordability import words
from analytics.analyses.affordability.amounts import amounts, cells, stakes, totals
from analytics.analyses.affordability.cards import cards
from analytics.analyses.affordability.flags import FLAGS, RENT, evidence
from analytics.analyses.affordability.literacy import literacy
from analytics.analyses.affordability.window import AffordabilityWindow, view
from analytics.analyses.loans import loans
from analytics.analyses.snapshot import Snapshot
from analytics.frames import AFFORDABILITY, checked

MOST_RATIO = 10.0
"""What is spent without any income."""


class Affordability(NamedTuple):
    """The frames `AFFORDABILITY`, by user, and `AMOUNTS`, by user, part, regularity and category."""

    affordability: pl.DataFrame
    amounts: pl.DataFrame


def affordability(seen: Snapshot, lent: pl.DataFrame | None = None) -> Affordability:
    """The affordability of all users with at least three full months; for the others there is no row.

    Loans that are worked out already can be handed in.
    """
    looked = view(seen)
    sums, staked = cells(seen, looked), stakes(seen, looked)
    told, lent = words.told(seen, looked), loans(seen) if lent is None else lent
    whole = _flagged(totals(looked, sums, staked), looked, evidence(seen, looked, told, lent))
    for more in (cards(seen, looked, told).rename({"ids": "credit_cards_ids", "cards": "credit_cards"}), _ids(staked)):
        whole = whole.join(more, on="who", how="left", maintain_order="left")
    judged = literacy(seen, looked, _rated(whole), lent)
    named = judged.with_columns(
        window_first="first",
        window_last=pl.col("end").dt.offset_by("-1d"),
        gambling_ids=pl.col("gambling_ids").fill_null(pl.lit([], pl.List(pl.String))),
    )
    return Affordability(checked(named.select(AFFORDABILITY.names()), AFFORDABILITY), amounts(looked, sums))


def _ids(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort("who", "booked_on", "id").group_by("who").agg(gambling_ids="id")


def _rated(whole: pl.DataFrame) -> pl.DataFrame:
    """With the ratios: never without a value, and capped where there is no income."""
    expenses, left = pl.col("expenses"), pl.col("discretionary_for_irregular_luxuries")
    spent = expenses > 0
    luxuries = pl.when(spent).then(pl.col("luxuries") / expenses).otherwise(0.0)
    return whole.with_columns(
        ratio_luxuries_to_expenses=luxuries,
        ratio_necessities_to_expenses=pl.when(spent).then(1.0 - luxuries).otherwise(0.0),
        **{f"ratio_{part}_to_income": _to_income(part) for part in ("luxuries", "necessities", "expenses")},
        ratio_gambling_to_discretionary_for_irregular_luxuries=pl.when(pl.col("gambling") == 0)
        .then(0.0)
        .when(left <= 0)
        .then(1.0)
        .otherwise(pl.col("gambling") / pl.max_horizontal(left, 1)),
    )


def _to_income(part: str) -> pl.Expr:
    share = (pl.col(part) / pl.max_horizontal("income", 1)).clip(0.0, MOST_RATIO)
    return pl.when(pl.col("income") > 0).then(share).when(pl.col(part) > 0).then(MOST_RATIO).otherwise(0.0)


def _flagged(whole: pl.DataFrame, looked: AffordabilityWindow, found: pl.DataFrame) -> pl.DataFrame:
    """With all flags, the bookings that they rest on, and the reasons."""
    flagged = found.group_by("flag", "who", maintain_order=True).agg(ids="id", latest=pl.last("booked_on"))
    parts = flagged.partition_by("flag", include_key=False, as_dict=True)
    missing = [flag for flag in FLAGS if (flag,) not in parts]
    whole = whole.with_columns(told for flag in missing for told in _unflagged(flag))
    for (flag,), part in parts.items():
        own = whole[["who", "first"]].join(part, on="who", how="left", maintain_order="left")
        ids = pl.col("ids").fill_null(pl.lit([], pl.List(pl.String))).alias(f"{flag}_ids")
        reason = _reason(*FLAGS[str(flag)]).alias(f"{flag}_reason")
        whole = whole.hstack(own.select(pl.col("ids").is_not_null().alias(str(flag)), ids, reason))
    return _with_rent(whole, looked, found)


def _reason(one: str, several: str) -> pl.Expr:
    count = pl.col("ids").list.len()
    noun = pl.when(count == 1).then(pl.lit(one)).otherwise(pl.lit(several))
    last = pl.format("{} {}, zuletzt am {}", count, noun, pl.col("latest").dt.strftime("%d.%m.%Y"))
    return pl.when(pl.col("ids").is_not_null()).then(last).otherwise(_none(several))


def _none(several: str) -> pl.Expr:
    return pl.format("keine {} seit dem {}", pl.lit(several), pl.col("first").dt.strftime("%d.%m.%Y"))


def _unflagged(flag: str) -> tuple[pl.Expr, ...]:
    """The columns of a flag that nobody has."""
    no_ids = pl.lit([], pl.List(pl.String)).alias(f"{flag}_ids")
    return pl.lit(value=False).alias(flag), no_ids, _none(FLAGS[flag][1]).alias(f"{flag}_reason")


def _with_rent(whole: pl.DataFrame, looked: AffordabilityWindow, found: pl.DataFrame) -> pl.DataFrame:
    """With the day of the latest rent, where rent is paid."""
    paid = looked.rows.filter(pl.col("effective_category") == RENT, pl.col("amount_cents") < 0).select("who", "booked_on")
    told = found.filter(pl.col("flag") == "rental_payments").select("who", "booked_on")
    latest = pl.concat([paid, told]).group_by("who").agg(most_recent_rental_payment=pl.max("booked_on"))
    joined = whole.join(latest, on="who", how="left", maintain_order="left")
    date = pl.when("rental_payments").then("most_recent_rental_payment")
    return joined.with_columns(most_recent_rental_payment=date)
