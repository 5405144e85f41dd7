"""Financial literacy: points for provision and surplus, points off for what went wrong, and which of them counted."""

import polars as pl

from analytics import trees
from analytics.affordability.window import View
from analytics.loans import PURCHASE
from analytics.products import Category
from analytics.seen import Seen

HIGH, LOW = 3, -2
SURPLUS, STAKES = 0.1, 0.05
MOST_PURCHASES = 3
HELD_MONTHS = 13
"""A yearly premium may be a month late."""
LIABILITY = "LIABILITY_PRIVATE"
INVESTED = ("SAVINGS_SECURITIES", "BANKFINANCE_INVESTMENT")


def literacy(seen: Seen, view: View, totals: pl.DataFrame, lent: pl.DataFrame) -> pl.DataFrame:
    """The totals with `financial_literacy` (low, neutral, high), its score and its reason.

    Totals have the flags as booleans, `overdraft` among them.
    """
    known = totals
    for held in (_saving(seen), _invested(seen, view), _insured(seen), _purchases(seen, view, lent)):
        known = known.join(held, on="user", how="left", maintain_order="left")
    known = known.with_columns(pl.col("saves", "invests", "insured", "purchases").fill_null(value=False))
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


def _active(seen: Seen) -> pl.DataFrame:
    return seen.contracts.filter(pl.col("status") == "ACTIVE")


def _who(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    return rows.select("user").unique().with_columns(pl.lit(value=True).alias(name))


def _saving(seen: Seen) -> pl.DataFrame:
    """Users with an active contract by which money is saved."""
    needs = trees.categories_frame().filter(pl.col("need") == "S")["system_name"].implode()
    saving = pl.col("category").is_in(needs) | pl.col("insurance").is_in(_savings_insurances())
    return _who(_active(seen).filter(saving), "saves")


def _invested(seen: Seen, view: View) -> pl.DataFrame:
    """Users with securities, a depot, or an insurance for old age."""
    plans = _active(seen).filter(pl.col("category").is_in(INVESTED) | pl.col("insurance").is_in(_savings_insurances()))
    bought = view.rows.filter(pl.col("effective_category").is_in(INVESTED), pl.col("amount_cents") < 0)
    depots = seen.products.filter(pl.col("category") == Category.DEPOT)
    return _who(pl.concat([frame.select("user") for frame in (plans, bought, depots)]), "invests")


def _insured(seen: Seen) -> pl.DataFrame:
    held = seen.bookings.lazy().filter(pl.col("insurance") == LIABILITY).select("user", "booked_on", "as_of").collect()
    lately = held.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by(f"-{HELD_MONTHS}mo"))
    contracts = _active(seen).filter(pl.col("insurance") == LIABILITY)
    return _who(pl.concat([lately.select("user"), contracts.select("user")]), "insured")


def _purchases(seen: Seen, view: View, lent: pl.DataFrame) -> pl.DataFrame:
    """Users who paid instalments of several purchases since the window began."""
    paid = seen.contracts.join(view.users.select("user", "first"), on="user").filter(pl.col("date_latest") >= pl.col("first"))
    bought = lent.filter(pl.col("kind") == PURCHASE).join(paid.select("user", contract="id"), on=["user", "contract"], how="semi")
    counted = bought.group_by("user").len().filter(pl.col("len") >= MOST_PURCHASES)
    return _who(counted, "purchases")


def _savings_insurances() -> pl.Series:
    return trees.insurance_types_frame().filter("savings")["system_name"].implode()
