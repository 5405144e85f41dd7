"""Financial literacy: points for provision and surplus, points off for what went wrong, and which of them counted."""

from functools import cache

import polars as pl

from analytics import trees
from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.loans import PURCHASE
from analytics.analyses.snapshot import Snapshot
from analytics.products import ProductCategory

HIGH, LOW = 3, -2
SURPLUS, STAKES = 0.1, 0.05
MOST_PURCHASES = 3
HELD_MONTHS = 13
"""A yearly premium may be a month late."""
LIABILITY = "LIABILITY_PRIVATE"
INVESTED = ("SAVINGS_SECURITIES", "BANKFINANCE_INVESTMENT")


def literacy(seen: Snapshot, view: AffordabilityWindow, totals: pl.DataFrame, lent: pl.DataFrame) -> pl.DataFrame:
    """The totals with `financial_literacy` (low, neutral, high), its score and its reason.

    Totals have the flags as booleans, `overdraft` among them.
    """
    active = seen.contracts.filter(pl.col("status") == "ACTIVE")
    held = {
        "saves": _saving(active),
        "invests": _invested(seen, view, active),
        "insured": _insured(seen, active),
        "purchases": _purchases(seen, view, lent),
    }
    known = totals.with_columns(**{name: pl.col("user").is_in(users.unique().implode()) for name, users in held.items()})
    points = pl.sum_horizontal(pl.when(rule).then(pl.lit(score)).otherwise(0) for score, rule, _ in _rules())
    scored = known.with_columns(
        financial_literacy_score=points.cast(pl.Int8),
        financial_literacy_reason=pl.concat_str(
            [pl.when(rule).then(pl.lit(f"{score:+d} {name}")) for score, rule, name in _rules()],
            separator="; ",
            ignore_nulls=True,
        ),
    )
    score = pl.col("financial_literacy_score")
    named = pl.when(score >= HIGH).then(pl.lit("high")).when(score <= LOW).then(pl.lit("low")).otherwise(pl.lit("neutral"))
    return scored.with_columns(financial_literacy=named)


def _rules() -> list[tuple[int, pl.Expr, str]]:
    """Points, when they count, and what they are for."""
    surplus, income = pl.col("income") - pl.col("expenses"), pl.col("income")
    return [
        (1, pl.col("saves"), "spart regelmäßig"),
        (1, pl.col("invests"), "Wertpapiere oder Altersvorsorge"),
        (1, pl.col("insured"), "private Haftpflichtversicherung"),
        (1, (income > 0) & (surplus >= SURPLUS * income), "Überschuss von mindestens 10 % der Einnahmen"),
        (-1, pl.col("overdraft"), "Überziehungszinsen"),
        (-1, pl.col("reminder_charges"), "Mahngebühren"),
        (-1, surplus < 0, "Ausgaben über den Einnahmen"),
        (-1, pl.col("gambling") > STAKES * income, "Glücksspiel über 5 % der Einnahmen"),
        (-1, pl.col("purchases"), "mindestens drei Ratenkäufe"),
        (-2, pl.col("return_debits"), "Rücklastschriften"),
        (-2, pl.col("debt_collection_payments"), "Inkasso"),
        (-2, pl.col("seizure_payments"), "Pfändung oder Vollstreckung"),
    ]


def _saving(active: pl.DataFrame) -> pl.Series:
    """Users with an active contract by which money is saved."""
    saving = pl.col("category").is_in(_savings()) | pl.col("insurance").is_in(_savings_insurances())
    return active.filter(saving)["user"]


def _invested(seen: Snapshot, view: AffordabilityWindow, active: pl.DataFrame) -> pl.Series:
    """Users with securities, a depot, or an insurance for old age."""
    plans = active.filter(pl.col("category").is_in(INVESTED) | pl.col("insurance").is_in(_savings_insurances()))
    bought = view.rows.filter(pl.col("effective_category").is_in(INVESTED), pl.col("amount_cents") < 0)
    depots = seen.products.filter(pl.col("category") == ProductCategory.DEPOT)
    return pl.concat([frame["user"] for frame in (plans, bought, depots)])


def _insured(seen: Snapshot, active: pl.DataFrame) -> pl.Series:
    held = seen.bookings[["user", "booked_on", "as_of"]].filter(seen.bookings["insurance"] == LIABILITY)
    lately = held.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by(f"-{HELD_MONTHS}mo"))
    return pl.concat([lately["user"], active["user"].filter(active["insurance"] == LIABILITY)])


def _purchases(seen: Snapshot, view: AffordabilityWindow, lent: pl.DataFrame) -> pl.Series:
    """Users who paid instalments of several purchases since the window began."""
    bought = lent.filter(pl.col("kind") == PURCHASE)
    if bought.is_empty():
        return bought["user"]
    paid = seen.contracts.join(view.users.select("user", "first"), on="user").filter(pl.col("date_latest") >= pl.col("first"))
    bought = bought.join(paid.select("user", contract="id"), on=["user", "contract"], how="semi")
    return bought.group_by("user").len().filter(pl.col("len") >= MOST_PURCHASES)["user"]


@cache
def _savings() -> pl.Series:
    return trees.categories_frame().filter(pl.col("need") == "S")["system_name"].implode()


@cache
def _savings_insurances() -> pl.Series:
    return trees.insurance_types_frame().filter("savings")["system_name"].implode()
