"""Financial literacy: points for provision and surplus, negative points for payment problems, and the reasons."""

import polars as pl

from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.loan_purposes import PURCHASE
from analytics.analyses.savers import Savers, saving_insurances
from analytics.analyses.snapshot import Snapshot
from analytics.products import ProductCategory

MIN_HIGH_SCORE, MAX_LOW_SCORE = 3, -2
MIN_SURPLUS_SHARE, MAX_STAKES_SHARE = 0.1, 0.05
MIN_PURCHASES = 3
INSURANCE_MONTHS = 13
"""A yearly premium may be a month late."""
LIABILITY = ("LIABILITY_PRIVATE", "LIABILITY_OTHER", "OTHER_BUNDLE")
"""Private liability, and policies that include it."""
INVESTMENT_CATEGORIES = ("SAVINGS_SECURITIES", "BANKFINANCE_INVESTMENT")


def literacy(
    snapshot: Snapshot, window: AffordabilityWindow, totals: pl.DataFrame, loans: pl.DataFrame, user_savers: Savers
) -> pl.DataFrame:
    """The totals with `financial_literacy` (low, neutral, high), its score and its reason.

    The totals contain the flags as booleans, with `overdraft`.
    """
    active = snapshot.contracts.filter(pl.col("status") == "ACTIVE")
    users_by_rule = {
        "saves": user_savers.regular["user"],
        "invests": _investors(snapshot, window, active),
        "insured": _insured_users(snapshot, active),
        "purchases": _instalment_buyers(snapshot, window, loans),
    }
    rated_users = totals.with_columns(
        **{name: pl.col("user").is_in(users.unique().implode()) for name, users in users_by_rule.items()}
    )
    points = pl.sum_horizontal(pl.when(rule).then(pl.lit(score)).otherwise(0) for score, rule, _ in _rules())
    scored_users = rated_users.with_columns(
        financial_literacy_score=points.cast(pl.Int8),
        financial_literacy_reason=pl.concat_str(
            [pl.when(rule).then(pl.lit(f"{score:+d} {name}")) for score, rule, name in _rules()],
            separator="; ",
            ignore_nulls=True,
        ),
    )
    score = pl.col("financial_literacy_score")
    level = (
        pl.when(score >= MIN_HIGH_SCORE)
        .then(pl.lit("high"))
        .when(score <= MAX_LOW_SCORE)
        .then(pl.lit("low"))
        .otherwise(pl.lit("neutral"))
    )
    return scored_users.with_columns(financial_literacy=level)


def _rules() -> list[tuple[int, pl.Expr, str]]:
    """Each rule: its points, its condition, and its German reason."""
    surplus, income = pl.col("income") - pl.col("expenses"), pl.col("income")
    return [
        (1, pl.col("saves"), "spart regelmäßig"),
        (1, pl.col("invests"), "Wertpapiere oder Altersvorsorge"),
        (1, pl.col("insured"), "private Haftpflichtversicherung"),
        (1, (income > 0) & (surplus >= MIN_SURPLUS_SHARE * income), "Überschuss von mindestens 10 % der Einnahmen"),
        (-1, pl.col("overdraft"), "Überziehungszinsen"),
        (-1, pl.col("reminder_charges"), "Mahngebühren"),
        (-1, surplus < 0, "Ausgaben über den Einnahmen"),
        (-1, pl.col("gambling") > MAX_STAKES_SHARE * income, "Glücksspiel über 5 % der Einnahmen"),
        (-1, pl.col("purchases"), "mindestens drei Ratenkäufe"),
        (-2, pl.col("return_debits"), "Rücklastschriften"),
        (-2, pl.col("debt_collection_payments"), "Inkasso"),
        (-2, pl.col("seizure_payments"), "Pfändung oder Vollstreckung"),
    ]


def _investors(snapshot: Snapshot, window: AffordabilityWindow, active: pl.DataFrame) -> pl.Series:
    """Users with securities, a depot, or a pension insurance."""
    plans = active.filter(pl.col("category").is_in(INVESTMENT_CATEGORIES) | pl.col("insurance").is_in(saving_insurances()))
    purchases = window.rows.filter(pl.col("effective_category").is_in(INVESTMENT_CATEGORIES), pl.col("amount_cents") < 0)
    depots = snapshot.products.filter(pl.col("category") == ProductCategory.DEPOT)
    return pl.concat([frame["user"] for frame in (plans, purchases, depots)])


def _insured_users(snapshot: Snapshot, active: pl.DataFrame) -> pl.Series:
    insurance_bookings = snapshot.bookings[["user", "booked_on", "as_of"]].filter(snapshot.bookings["insurance"].is_in(LIABILITY))
    recent_bookings = insurance_bookings.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by(f"-{INSURANCE_MONTHS}mo"))
    return pl.concat([recent_bookings["user"], active["user"].filter(active["insurance"].is_in(LIABILITY))])


def _instalment_buyers(snapshot: Snapshot, window: AffordabilityWindow, loans: pl.DataFrame) -> pl.Series:
    """Users who paid instalments of at least `MIN_PURCHASES` purchases since the window began."""
    purchases = purchases_since(snapshot, window.users.select("user", "first"), loans)
    return purchases.group_by("user").len().filter(pl.col("len") >= MIN_PURCHASES)["user"]


def purchases_since(snapshot: Snapshot, first_days: pl.DataFrame, loans: pl.DataFrame) -> pl.DataFrame:
    """The purchases in instalments (rows of `LOANS`) that were paid for on or after the user's day `first`."""
    purchases = loans.filter(pl.col("kind") == PURCHASE)
    if purchases.is_empty():
        return purchases
    paid_contracts = snapshot.contracts.join(first_days, on="user").filter(pl.col("date_latest") >= pl.col("first"))
    return purchases.join(paid_contracts.select("user", contract="id"), on=["user", "contract"], how="semi")
