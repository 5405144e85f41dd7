"""Successions of jobs and homes: which new run follows which ended one, and which have no predecessor or successor."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import YEAR_DAYS, events, silence_day

MAX_OVERLAP_DAYS = 45
"""The old run may continue this long beside the new one: a last wage, a double rent."""
MAX_BEGINNING_DAYS = 100
"""A first home or job may come this long before studies or an apprenticeship begin."""
MAX_WAIT_DAYS, MAX_LAST_PAYMENT_DAYS = 75, 35
"""For this long after its start a new run may still prove to follow another one, whose last payment lies around the same time."""


def successions(new: pl.DataFrame, ended_runs: pl.DataFrame, max_days: int, *, same_payee: bool = False) -> pl.DataFrame:
    """Each new run that follows an ended one, paired with the latest of them. With `same_payee` the payee may be the same."""
    gap = (pl.col("first") - pl.col("last_old")).dt.total_days()
    pairs = new.join(ended_runs, on="user", suffix="_old").filter(
        pl.col("contract") != pl.col("contract_old"),
        (pl.col("payee") != pl.col("payee_old")) | pl.lit(same_payee),
        pl.col("first_old") < pl.col("first"),
        gap.is_between(-MAX_OVERLAP_DAYS, max_days),
    )
    return pairs.sort("contract", "last_old", "contract_old").unique("contract", keep="last", maintain_order=True)


def change_events(pairs: pl.DataFrame, item: str, template: str) -> pl.DataFrame:
    """An event for each pair, on the first day of the new run. The template has a place for the old name and one for the new."""
    reason = pl.format(template, _name_or_none("name_old"), _name_or_none("name"))
    bookings = pl.concat_list("closing_old", "opening")
    known_since = pl.max_horizontal("recognised", "ended_since_old")
    return events(
        pairs.with_columns(reason=reason, name=pl.lit("")),
        item,
        pl.col("first"),
        pl.col("reason"),
        bookings,
        known_since=known_since,
    )


def runs_without_predecessor(
    evidence: EventEvidence, new: pl.DataFrame, pairs: pl.DataFrame, others: pl.DataFrame
) -> pl.DataFrame:
    """The new runs that follow none, with `waiting`: whether another run may still prove to have ended, and `settled_since`: the
    day since which none can.
    """
    unpaired_runs = new.join(pairs, on="contract", how="anti")
    is_recent = (pl.col("as_of") - pl.col("first")).dt.total_days() <= MAX_WAIT_DAYS
    is_near = (pl.col("last_other") - pl.col("first")).dt.total_days().is_between(-MAX_WAIT_DAYS, MAX_LAST_PAYMENT_DAYS)
    active_others = others.filter("active").select("user", other="contract", last_other="last")
    waiting_runs = (
        unpaired_runs.join(active_others, on="user")
        .filter(is_recent, is_near, pl.col("other") != pl.col("contract"))
        .select("contract")
        .unique()
    )
    flagged_runs = unpaired_runs.join(
        waiting_runs.with_columns(waiting=True), on="contract", how="left", maintain_order="left"
    ).with_columns(pl.col("waiting").fill_null(False))
    settled_days = _settled_days(evidence, unpaired_runs, others)
    return flagged_runs.join(settled_days, on="contract", how="left", maintain_order="left").with_columns(
        settled_since=pl.max_horizontal("recognised", "settled_since")
    )


def _settled_days(evidence: EventEvidence, new: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """By new run (`contract`) the day since which each run beside it either goes on or has ended (`settled_since`)."""
    beside = others.select(
        "user", other="contract", first_other="first", last_other="last", due_other="due", length_other="length"
    )
    rivals = (
        new.select("user", "contract", "first")
        .join(beside, on="user")
        .filter(
            pl.col("other") != pl.col("contract"),
            pl.col("first_other") <= pl.col("first").dt.offset_by(f"{MAX_WAIT_DAYS}d"),
            pl.col("last_other") >= pl.col("first").dt.offset_by(f"-{MAX_WAIT_DAYS}d"),
        )
    )
    later_payments = rivals.join(evidence.payments.select("day", other="contract"), on="other").filter(
        pl.col("day") > pl.col("first").dt.offset_by(f"{MAX_LAST_PAYMENT_DAYS}d")
    )
    going_on = later_payments.group_by("contract", "other").agg(pl.min("day"))
    missing_since = silence_day(pl.col("due_other"), pl.col("length_other"))
    settled = pl.min_horizontal(pl.coalesce("day", missing_since), pl.col("first").dt.offset_by(f"{MAX_WAIT_DAYS + 1}d"))
    with_payments = rivals.join(going_on, on=["contract", "other"], how="left")
    return with_payments.group_by("contract").agg(settled_since=settled.max())


def with_first_ever(evidence: EventEvidence, new: pl.DataFrame, beginnings: pl.DataFrame, *kinds: str) -> pl.DataFrame:
    """The new runs with `first_ever` (guard FIRST): no booking of these kinds lies before them, in at least a year of history or
    since the user began to study or to be trained (`beginnings`: `user`, `day`).
    """
    first_bookings = evidence.rows.filter(pl.col("kind").is_in(kinds)).group_by("user").agg(earliest=pl.col("booked_on").min())
    has_year_of_history = (pl.col("first") - pl.col("start")).dt.total_days() >= YEAR_DAYS
    begins_young = (pl.col("day") <= pl.col("first").dt.offset_by(f"{MAX_BEGINNING_DAYS}d")).fill_null(False)
    dated_runs = new.join(first_bookings, on="user", how="left", maintain_order="left").join(
        beginnings, on="user", how="left", maintain_order="left"
    )
    return dated_runs.with_columns(
        first_ever=(has_year_of_history | begins_young) & (pl.col("earliest").is_null() | (pl.col("earliest") >= pl.col("first")))
    ).drop("day")


def runs_without_successor(
    evidence: EventEvidence, ended_runs: pl.DataFrame, pairs: pl.DataFrame, max_days: int, *kinds: str
) -> pl.DataFrame:
    """The runs that ended more than `max_days` ago, with no new payee of these kinds within that time.

    A payee is new if its first booking lies in that time and it paid at least half the amount, even without a contract yet.
    """
    rows = evidence.rows.filter(pl.col("kind").is_in(kinds), pl.col("counterparty_key") != "")
    payees = rows.group_by("user", "counterparty_key").agg(
        seen=pl.col("booked_on").min(), most=pl.col("amount_cents").abs().max()
    )
    gap = (pl.col("seen") - pl.col("last")).dt.total_days()
    is_similar = pl.col("most") * 2 >= pl.col("median").abs()
    replaced_runs = ended_runs.join(payees, on="user").filter(
        gap.is_between(-MAX_OVERLAP_DAYS, max_days), is_similar, pl.col("seen") > pl.col("first")
    )
    unpaired_runs = ended_runs.join(replaced_runs, on="contract", how="anti").join(
        pairs, left_on="contract", right_on="contract_old", how="anti"
    )
    given_up_since = pl.max_horizontal("ended_since", pl.col("last").dt.offset_by(f"{max_days + 1}d"))
    return unpaired_runs.filter((pl.col("as_of") - pl.col("last")).dt.total_days() > max_days).with_columns(
        ended_since=given_up_since
    )


def _name_or_none(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(name).otherwise(pl.lit("einem unbekannten Konto"))
