"""One job or one home after another: which new run follows which that ended, and which stands alone."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import YEAR, events

OVERLAP_DAYS = 45
"""So long the old one may go on beside the new one: a last wage, a double rent."""
WAIT_DAYS, LAST_BESIDE_DAYS = 75, 35
"""So long after its start a new one may still turn out to follow another whose last payment lies about the same time."""


def followed(new: pl.DataFrame, over: pl.DataFrame, within: int, *, same_payee: bool = False) -> pl.DataFrame:
    """The new runs that follow one that ended, with the latest such one; of the same payee, if that may be, only one beside which
    it had begun, since otherwise the old one goes on.
    """
    gap = (pl.col("first") - pl.col("last_old")).dt.total_days()
    pairs = new.join(over, on="user", suffix="_old").filter(
        pl.col("contract") != pl.col("contract_old"),
        (pl.col("payee") != pl.col("payee_old")) | (pl.lit(same_payee) & (gap <= 0)),
        pl.col("first_old") < pl.col("first"),
        gap.is_between(-OVERLAP_DAYS, within),
    )
    return pairs.sort("contract", "last_old", "contract_old").unique("contract", keep="last", maintain_order=True)


def changed(pairs: pl.DataFrame, item: str, what: str) -> pl.DataFrame:
    """An event for each pair, on the day when the new one began."""
    reason = pl.format(f"{what}: {{}} endet, {{}} beginnt", _told("name_old"), _told("name"))
    bookings = pl.concat_list("closing_old", "opening")
    return events(pairs.with_columns(reason=reason, name=pl.lit("")), item, pl.col("first"), pl.col("reason"), bookings)


def alone(new: pl.DataFrame, pairs: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """The new runs that follow none, with `waiting`: another one may yet turn out to have ended."""
    rest = new.join(pairs, on="contract", how="anti")
    young = (pl.col("as_of") - pl.col("first")).dt.total_days() <= WAIT_DAYS
    near = (pl.col("last_other") - pl.col("first")).dt.total_days().is_between(-WAIT_DAYS, LAST_BESIDE_DAYS)
    beside = others.filter("active").select("user", other="contract", last_other="last")
    waits = rest.join(beside, on="user").filter(young, near, pl.col("other") != pl.col("contract")).select("contract").unique()
    return rest.join(waits.with_columns(waiting=True), on="contract", how="left").with_columns(pl.col("waiting").fill_null(False))


def first_ever(base: EventEvidence, new: pl.DataFrame, *kinds: str) -> pl.DataFrame:
    """The new runs with `first_ever`: a year of history before, and in it no booking of these kinds (guard FIRST)."""
    seen = base.rows.filter(pl.col("kind").is_in(kinds)).group_by("user").agg(earliest=pl.col("booked_on").min())
    long = (pl.col("first") - pl.col("start")).dt.total_days() >= YEAR
    joined = new.join(seen, on="user", how="left", maintain_order="left")
    return joined.with_columns(first_ever=long & (pl.col("earliest").is_null() | (pl.col("earliest") >= pl.col("first"))))


def left(base: EventEvidence, over: pl.DataFrame, pairs: pl.DataFrame, within: int, *kinds: str) -> pl.DataFrame:
    """The runs that ended with nothing new of these kinds within so many days after, of which so many have passed.

    New is whoever is seen first about then and with at least half the amount, even if it is no contract yet.
    """
    rows = base.rows.filter(pl.col("kind").is_in(kinds), pl.col("counterparty_key") != "")
    others = rows.group_by("user", "counterparty_key").agg(
        seen=pl.col("booked_on").min(), most=pl.col("amount_cents").abs().max()
    )
    gap = (pl.col("seen") - pl.col("last")).dt.total_days()
    alike = pl.col("most") * 2 >= pl.col("median").abs()
    replaced = over.join(others, on="user").filter(gap.is_between(-OVERLAP_DAYS, within), alike, pl.col("seen") > pl.col("first"))
    rest = over.join(replaced, on="contract", how="anti").join(pairs, left_on="contract", right_on="contract_old", how="anti")
    return rest.filter((pl.col("as_of") - pl.col("last")).dt.total_days() > within)


def _told(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(name).otherwise(pl.lit("ohne Namen"))
