"""What is going on at the as-of date: contracts that are active, wages, invoices, bookings of the last months.

Each sign has `user`, `since`, `cents` (a month or a booking, positive), `bookings` and `what`, the words for people.
"""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.words import WAGES
from analytics.frames import LIFE_SIGNS

WAGE_DAYS, WAGES_DAYS, LEAST_WAGES = 45, 100, 2
"""Somebody is paid wages if the last one is so young and there were so many within so many days."""
YEARLY_DAYS = 396
"""Thirteen months: what is paid once a year is seen within them."""
HALF_A_YEAR = "-6mo"
COLUMNS = tuple(LIFE_SIGNS)


def active(base: EventEvidence, what: str, *kinds: str) -> pl.DataFrame:
    """The active contracts of these kinds; `since` is the start of the history where they were there from the first."""
    if base.active_kinds.isdisjoint(kinds):
        return LIFE_SIGNS.to_frame()
    runs = base.runs.filter("active", pl.col("kind").is_in(kinds))
    return runs.select("user", since="first", cents=pl.col("latest").abs(), bookings="closing", what=pl.lit(what))


def recent(base: EventEvidence, what: str, days: int, *kinds: str) -> pl.DataFrame:
    """Users with bookings of these kinds in the last days."""
    if base.booked_kinds.isdisjoint(kinds):
        return LIFE_SIGNS.to_frame()
    return latest(base, base.rows.filter(pl.col("kind").is_in(kinds)), what, days)


def latest(base: EventEvidence, rows: pl.DataFrame, what: str, days: int) -> pl.DataFrame:
    """Users whose latest of these bookings is so young."""
    if rows.is_empty():
        return LIFE_SIGNS.to_frame()
    joined = rows.join(base.histories, on="user", maintain_order="left")
    spans = joined.group_by("user", maintain_order=True).agg(
        pl.last("as_of"),
        since=pl.first("booked_on"),
        last=pl.last("booked_on"),
        cents=pl.last("amount_cents").abs(),
        id=pl.last("id"),
    )
    young = spans.filter((pl.col("as_of") - pl.col("last")).dt.total_days() <= days)
    return young.select("user", "since", "cents", bookings=pl.concat_list("id"), what=pl.lit(what))


def wages(base: EventEvidence) -> pl.DataFrame:
    """The wages that are being paid, with their `kind`: contracts, and payers whose last wages are young."""
    if base.booked_kinds.isdisjoint(WAGES):
        return pl.Schema({"kind": pl.String(), **LIFE_SIGNS}).to_frame()
    runs = base.runs.filter("active", pl.col("kind").is_in(WAGES))
    known = runs.select("user", "kind", since="first", cents=pl.col("median").abs(), bookings="closing", what=pl.lit("Gehalt"))
    rows = base.rows.filter(pl.col("kind").is_in(WAGES)).join(base.histories, on="user", maintain_order="left")
    age = (pl.col("as_of") - pl.col("booked_on")).dt.total_days()
    payers = rows.group_by("user", "counterparty_key", maintain_order=True).agg(
        pl.last("kind"),
        count=(age <= WAGES_DAYS).sum(),
        age=age.min(),
        since=pl.first("booked_on"),
        cents=pl.col("amount_cents").median().round().cast(pl.Int64),
        bookings=pl.col("id").tail(1),
        what=pl.lit("Gehalt").first(),
    )
    young = payers.filter(pl.col("count") >= LEAST_WAGES, pl.col("age") <= WAGE_DAYS)
    return pl.concat([known, young.select(known.columns)])


def revenue(base: EventEvidence) -> pl.DataFrame:
    """Users whom several customers paid in the last half year, more than wages came in."""
    if "REVENUE" not in base.booked_kinds:
        return LIFE_SIGNS.to_frame()
    rows = base.rows.filter(pl.col("kind").is_in([*WAGES, "REVENUE"])).join(base.histories, on="user", maintain_order="left")
    young = pl.col("booked_on") > pl.col("as_of").dt.offset_by(HALF_A_YEAR)
    own = pl.col("kind") == "REVENUE"
    totals = rows.group_by("user", maintain_order=True).agg(
        since=pl.col("booked_on").filter(own).first(),
        earned=pl.col("amount_cents").filter(own & young).sum(),
        paid=pl.col("amount_cents").filter(~own & young).sum(),
        payers=pl.col("counterparty_key").filter(own & young).n_unique(),
        bookings=pl.col("id").filter(own & young).tail(3),
    )
    found = totals.filter(pl.col("earned") > pl.col("paid"), pl.col("payers") >= 2)
    return found.select("user", "since", "bookings", cents="earned", what=pl.lit("Bezahlte Rechnungen"))
