"""The analysis of affordability: puts together amounts, ratios, flags with their reasons, cards and financial literacy."""

from typing import NamedTuple

import polars as pl

from analytics.analyses.affordability import words
from analytics.analyses.affordability.amounts import amounts, cells, stakes, totals
from analytics.analyses.affordability.cards import cards
from analytics.analyses.affordability.flags import FLAGS, RENT_CATEGORY, flag_evidence
from analytics.analyses.affordability.literacy import literacy
from analytics.analyses.affordability.window import AffordabilityWindow, affordability_window
from analytics.analyses.life_events.months import sum_months
from analytics.analyses.loans import loans
from analytics.analyses.savers import Savers, find_savers
from analytics.analyses.snapshot import Snapshot
from analytics.frames import AFFORDABILITY, checked

MAX_RATIO = 10.0
"""The upper limit of ratios to income, and their value for expenses without income."""


class Affordability(NamedTuple):
    """The frames `AFFORDABILITY`, by user, and `AFFORDABILITY_AMOUNTS`, by user, part, regularity and category."""

    affordability: pl.DataFrame
    amounts: pl.DataFrame


def affordability(snapshot: Snapshot, user_loans: pl.DataFrame | None = None, user_savers: Savers | None = None) -> Affordability:
    """The affordability of all users with at least three full months; the others have no row.

    Loans (frame `LOANS`) and savers are computed if they are not passed.
    """
    user_savers = find_savers(snapshot, sum_months(snapshot)) if user_savers is None else user_savers
    window = affordability_window(snapshot)
    sums, stake_rows = cells(snapshot, window), stakes(snapshot, window)
    debits, user_loans = words.worded_debits(snapshot, window), loans(snapshot) if user_loans is None else user_loans
    users = _with_flags(totals(window, sums, stake_rows), window, flag_evidence(snapshot, window, debits, user_loans))
    for columns in (
        cards(snapshot, window, debits).rename({"ids": "credit_cards_ids", "cards": "credit_cards"}),
        _gambling_ids(stake_rows),
    ):
        users = users.join(columns, on="user_index", how="left", maintain_order="left")
    rated_users = literacy(snapshot, window, _with_ratios(users), user_loans, user_savers)
    complete = rated_users.with_columns(
        window_first="first",
        window_last=pl.col("end").dt.offset_by("-1d"),
        gambling_ids=pl.col("gambling_ids").fill_null(pl.lit([], pl.List(pl.String))),
    )
    return Affordability(checked(complete.select(AFFORDABILITY.names()), AFFORDABILITY), amounts(window, sums))


def _gambling_ids(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort("user_index", "booked_on", "id").group_by("user_index").agg(gambling_ids="id")


def _with_ratios(users: pl.DataFrame) -> pl.DataFrame:
    """With the ratios, which are never null and at most `MAX_RATIO`."""
    expenses, discretionary = pl.col("expenses"), pl.col("discretionary_for_irregular_luxuries")
    has_expenses = expenses > 0
    luxuries = pl.when(has_expenses).then(pl.col("luxuries") / expenses).otherwise(0.0)
    return users.with_columns(
        ratio_luxuries_to_expenses=luxuries,
        ratio_necessities_to_expenses=pl.when(has_expenses).then(1.0 - luxuries).otherwise(0.0),
        **{f"ratio_{part}_to_income": _ratio_to_income(part) for part in ("luxuries", "necessities", "expenses")},
        ratio_gambling_to_discretionary_for_irregular_luxuries=pl.when(pl.col("gambling") == 0)
        .then(0.0)
        .when(discretionary <= 0)
        .then(1.0)
        .otherwise(pl.col("gambling") / pl.max_horizontal(discretionary, 1)),
    )


def _ratio_to_income(part: str) -> pl.Expr:
    share = (pl.col(part) / pl.max_horizontal("income", 1)).clip(0.0, MAX_RATIO)
    return pl.when(pl.col("income") > 0).then(share).when(pl.col(part) > 0).then(MAX_RATIO).otherwise(0.0)


def _with_flags(users: pl.DataFrame, window: AffordabilityWindow, evidence: pl.DataFrame) -> pl.DataFrame:
    """With all flags, the ids of the bookings behind them, and the reasons."""
    flag_rows = evidence.group_by("flag", "user_index", maintain_order=True).agg(ids="id", latest=pl.last("booked_on"))
    parts = flag_rows.partition_by("flag", include_key=False, as_dict=True)
    missing = [flag for flag in FLAGS if (flag,) not in parts]
    users = users.with_columns(column for flag in missing for column in _without_flag(flag))
    for (flag,), part in parts.items():
        user_flags = users[["user_index", "first"]].join(part, on="user_index", how="left", maintain_order="left")
        ids = pl.col("ids").fill_null(pl.lit([], pl.List(pl.String))).alias(f"{flag}_ids")
        reason = _reason(*FLAGS[str(flag)]).alias(f"{flag}_reason")
        users = users.hstack(user_flags.select(pl.col("ids").is_not_null().alias(str(flag)), ids, reason))
    return _with_rent(users, window, evidence)


def _reason(one: str, several: str) -> pl.Expr:
    count = pl.col("ids").list.len()
    noun = pl.when(count == 1).then(pl.lit(one)).otherwise(pl.lit(several))
    last = pl.format("{} {}, zuletzt am {}", count, noun, pl.col("latest").dt.strftime("%d.%m.%Y"))
    return pl.when(pl.col("ids").is_not_null()).then(last).otherwise(_no_evidence(several))


def _no_evidence(several: str) -> pl.Expr:
    return pl.format("keine {} seit dem {}", pl.lit(several), pl.col("first").dt.strftime("%d.%m.%Y"))


def _without_flag(flag: str) -> tuple[pl.Expr, ...]:
    """The columns of a flag that no user has."""
    no_ids = pl.lit([], pl.List(pl.String)).alias(f"{flag}_ids")
    return pl.lit(value=False).alias(flag), no_ids, _no_evidence(FLAGS[flag][1]).alias(f"{flag}_reason")


def _with_rent(users: pl.DataFrame, window: AffordabilityWindow, evidence: pl.DataFrame) -> pl.DataFrame:
    """With the day of the latest rent, null where no rent is paid."""
    rents = window.rows.filter(pl.col("effective_category") == RENT_CATEGORY, pl.col("amount_cents") < 0).select(
        "user_index", "booked_on"
    )
    flagged_rents = evidence.filter(pl.col("flag") == "rental_payments").select("user_index", "booked_on")
    latest = pl.concat([rents, flagged_rents]).group_by("user_index").agg(most_recent_rental_payment=pl.max("booked_on"))
    dated_users = users.join(latest, on="user_index", how="left", maintain_order="left")
    date = pl.when("rental_payments").then("most_recent_rental_payment")
    return dated_users.with_columns(most_recent_rental_payment=date)
