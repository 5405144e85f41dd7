"""Signs of life stages on the as-of date: active contracts, wages, paid invoices, recent bookings.

Each sign has `user`, `since`, `cents` (a month or a booking, positive), `bookings` and `description`, the words for people.
"""

import polars as pl

from analytics.analyses.life_events.career import monthly_wage
from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.words import WAGE_KINDS
from analytics.frames import LIFE_SIGNS, NO_LIFE_SIGNS, collected

MAX_LATEST_WAGE_DAYS, MAX_WAGES_DAYS, MIN_WAGES = 45, 100, 2
"""A payer pays wages if the latest is at most this old, and there were at least `MIN_WAGES` within `MAX_WAGES_DAYS`."""
YEARLY_DAYS = 396
"""Thirteen months: they contain every yearly payment."""
HALF_YEAR_BACK = "-6mo"
SIGN_COLUMNS = tuple(LIFE_SIGNS)


def active_contracts(evidence: EventEvidence, description: str, *kinds: str) -> pl.DataFrame:
    """A sign for each active contract of these kinds."""
    if evidence.active_kinds.isdisjoint(kinds):
        return NO_LIFE_SIGNS
    runs = evidence.runs.lazy().filter("active", pl.col("kind").is_in(kinds))
    return collected(
        runs.select("user", since="first", cents=pl.col("latest").abs(), bookings="closing", description=pl.lit(description))
    )


def recent_kinds(evidence: EventEvidence, description: str, days: int, *kinds: str) -> pl.DataFrame:
    """A sign for each user with a booking of these kinds in the last `days`."""
    if evidence.booked_kinds.isdisjoint(kinds):
        return NO_LIFE_SIGNS
    return recent_bookings(evidence, evidence.rows.filter(pl.col("kind").is_in(kinds)), description, days)


def recent_bookings(evidence: EventEvidence, rows: pl.DataFrame, description: str, days: int) -> pl.DataFrame:
    """A sign for each user whose latest of these bookings is at most `days` old."""
    if rows.is_empty():
        return NO_LIFE_SIGNS
    dated_rows = rows.lazy().join(evidence.histories.lazy(), on="user", maintain_order="left")
    spans = dated_rows.group_by("user", maintain_order=True).agg(
        pl.last("as_of"),
        since=pl.first("booked_on"),
        last=pl.last("booked_on"),
        cents=pl.last("amount_cents").abs(),
        id=pl.last("id"),
    )
    recent_spans = spans.filter((pl.col("as_of") - pl.col("last")).dt.total_days() <= days)
    return collected(
        recent_spans.select("user", "since", "cents", bookings=pl.concat_list("id"), description=pl.lit(description))
    )


def current_wages(evidence: EventEvidence) -> pl.DataFrame:
    """The current wages, with their `kind`: active contracts, and payers with recent wages."""
    if evidence.booked_kinds.isdisjoint(WAGE_KINDS):
        return pl.Schema({"kind": pl.String(), **LIFE_SIGNS}).to_frame()
    runs = evidence.runs.filter("active", pl.col("kind").is_in(WAGE_KINDS))
    contract_wages = runs.select(
        "user", "kind", since="first", cents=monthly_wage(), bookings="closing", description=pl.lit("Gehalt")
    )
    rows = evidence.rows.filter(pl.col("kind").is_in(WAGE_KINDS)).join(evidence.histories, on="user", maintain_order="left")
    age = (pl.col("as_of") - pl.col("booked_on")).dt.total_days()
    payers = rows.group_by("user", "counterparty_key", maintain_order=True).agg(
        pl.last("kind"),
        count=(age <= MAX_WAGES_DAYS).sum(),
        age=age.min(),
        since=pl.first("booked_on"),
        cents=pl.col("amount_cents").median().round().cast(pl.Int64),
        bookings=pl.col("id").tail(1),
        description=pl.lit("Gehalt").first(),
    )
    recent_payers = payers.filter(pl.col("count") >= MIN_WAGES, pl.col("age") <= MAX_LATEST_WAGE_DAYS)
    return pl.concat([contract_wages, recent_payers.select(contract_wages.columns)])


def current_revenue(evidence: EventEvidence) -> pl.DataFrame:
    """A sign for each user whom several customers paid in the last half year, more than wages."""
    if "REVENUE" not in evidence.booked_kinds:
        return NO_LIFE_SIGNS
    rows = evidence.rows.filter(pl.col("kind").is_in([*WAGE_KINDS, "REVENUE"])).join(
        evidence.histories, on="user", maintain_order="left"
    )
    is_recent = pl.col("booked_on") > pl.col("as_of").dt.offset_by(HALF_YEAR_BACK)
    is_revenue = pl.col("kind") == "REVENUE"
    totals = rows.group_by("user", maintain_order=True).agg(
        since=pl.col("booked_on").filter(is_revenue).first(),
        earned=pl.col("amount_cents").filter(is_revenue & is_recent).sum(),
        paid=pl.col("amount_cents").filter(~is_revenue & is_recent).sum(),
        payers=pl.col("counterparty_key").filter(is_revenue & is_recent).n_unique(),
        bookings=pl.col("id").filter(is_revenue & is_recent).tail(3),
    )
    self_employed = totals.filter(pl.col("earned") > pl.col("paid"), pl.col("payers") >= 2)
    return self_employed.select("user", "since", "bookings", cents="earned", description=pl.lit("Bezahlte Rechnungen"))
