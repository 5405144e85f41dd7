"""Financial events: vehicles, loans, large incomes, a change of account, payment difficulties."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import (
    COOLDOWN_DAYS,
    MIN_ACTIVITY_BOOKINGS,
    MIN_HISTORY_DAYS,
    bookings_before,
    events,
    run_confidence,
)
from analytics.analyses.life_events.vehicles import vehicles
from analytics.analyses.life_events.words import WAGE_KINDS
from analytics.analyses.snapshot import Snapshot
from analytics.frames import NO_LIFE_EVENTS

MAX_PAYOUT_DAYS = 60
MIN_LOAN_CENTS, MIN_TRANCHE_CENTS = 50_000, 10_000
MAX_TRANCHE_DAYS, MAX_MONTHLY_DAYS = 100, 45
"""A pay-out by the same lender within this time belongs to the same loan: a student loan is paid out month by month. Less than
`MIN_LOAN_CENTS` is only a loan if it is paid out monthly."""
MIN_OTHER_CONTRACTS, MAX_MOVE_DAYS = 5, 60
MOVING_KINDS = (*WAGE_KINDS, "PENSION")


def financial(evidence: EventEvidence, runs: pl.DataFrame, snapshot: Snapshot, large_incomes: pl.DataFrame) -> list[pl.DataFrame]:
    """The events of this group. The snapshot tells on which product contracts are paid."""
    return [
        *vehicles(evidence, runs),
        _loans(evidence, runs),
        _large_income_events(large_incomes),
        _account_switches(evidence, snapshot),
        _payment_difficulties(evidence),
    ]


def _loans(evidence: EventEvidence, runs: pl.DataFrame) -> pl.DataFrame:
    """Pay-outs, and new instalments without a pay-out before them."""
    new = runs.filter("new", pl.col("kind") == "LOAN").select(
        "user", "first", "name", "latest", "opening", "recognised", sure=run_confidence()
    )
    payouts = evidence.rows.filter(pl.col("kind") == "PAYOUT", pl.col("amount_cents") >= MIN_TRANCHE_CENTS).join(
        evidence.histories, on="user"
    )
    since_tranche = (pl.col("booked_on") - pl.col("booked_on").shift(1).over("user", "counterparty_key")).dt.total_days()
    until_tranche = (pl.col("booked_on").shift(-1).over("user", "counterparty_key") - pl.col("booked_on")).dt.total_days()
    is_large = pl.col("amount_cents") >= MIN_LOAN_CENTS
    is_loan = is_large | (until_tranche <= MAX_MONTHLY_DAYS).fill_null(False)
    confirmed = pl.when(is_large).then("booked_on").otherwise(pl.col("booked_on").shift(-1).over("user", "counterparty_key"))
    payouts = payouts.sort("user", "booked_on", "id").with_columns(confirmed=confirmed)
    payouts = payouts.filter(is_loan, (since_tranche > MAX_TRANCHE_DAYS).fill_null(True))
    if new.is_empty() and payouts.is_empty():
        return NO_LIFE_EVENTS
    is_late = (pl.col("booked_on") - pl.col("start")).dt.total_days() >= MIN_HISTORY_DAYS
    visible_payouts = payouts.filter(is_late, bookings_before(evidence, payouts, pl.col("booked_on")) >= MIN_ACTIVITY_BOOKINGS)
    single = visible_payouts.select(
        "user",
        first="booked_on",
        name=pl.col("counterparty_name").fill_null(""),
        latest="amount_cents",
        opening=pl.concat_list("id"),
        recognised="confirmed",
        sure=pl.lit(0.9),
    )
    is_near = (pl.col("first") - pl.col("booked_on")).dt.total_days().is_between(0, MAX_PAYOUT_DAYS)
    covered_runs = new.join(visible_payouts.select("user", "booked_on"), on="user").filter(is_near)
    loan_starts = pl.concat([single, new.join(covered_runs, on=["user", "first", "opening"], how="anti")])
    return events(
        loan_starts,
        "LOAN_START",
        pl.col("first"),
        "Neuer Kredit",
        pl.col("opening"),
        pl.col("sure"),
        known_since=pl.col("recognised"),
    )


def _large_income_events(large_incomes: pl.DataFrame) -> pl.DataFrame:
    return events(large_incomes, "LARGEINCOME", pl.col("day"), "Große Einnahme", pl.col("ids"), pl.lit(0.9), pl.col("cents"))


def _account_switches(evidence: EventEvidence, snapshot: Snapshot) -> pl.DataFrame:
    """Wages or pensions that move to another product together with at least `MIN_OTHER_CONTRACTS` other contracts."""
    if evidence.booked_kinds.isdisjoint(MOVING_KINDS):
        return NO_LIFE_EVENTS
    wages = evidence.rows.filter(pl.col("kind").is_in(MOVING_KINDS)).select(
        "user", "id", "product", "kind", day="booked_on", latest="amount_cents", payer="counterparty_key"
    )
    payer_keys = ["user", "payer"]
    wages = wages.with_columns(
        before=pl.col("product").shift(1).over(payer_keys), after=pl.col("product").shift(-1).over(payer_keys)
    )
    stays = pl.col("after").is_null() | (pl.col("after") == pl.col("product"))
    moved_wages = wages.filter(pl.col("before") != pl.col("product"), stays)
    if moved_wages.is_empty():  # nearly always: then the search through all bookings is saved
        return NO_LIFE_EVENTS
    payments = snapshot.payments.join(moved_wages, on="user", how="semi").filter("regular")
    products = snapshot.bookings.join(moved_wages, on="user", how="semi").select("user", "id", "product")
    payments = payments.join(products, on=["user", "id"]).sort("contract", "booked_on", "id")
    payments = payments.with_columns(before=pl.col("product").shift(1).over("user", "contract"))
    changes = payments.filter(pl.col("before") != pl.col("product")).select(
        "user", "contract", "product", "before", changed="booked_on"
    )
    near = (pl.col("changed") - pl.col("day")).dt.total_days().abs() <= MAX_MOVE_DAYS
    moved_together = moved_wages.join(changes, on=["user", "product", "before"]).filter(near)
    moved_counts = moved_together.group_by("user", "id", "kind", "day", "latest").agg(
        contracts=pl.col("contract").n_unique(), moved_since=pl.max("changed")
    )
    switches = moved_counts.filter(pl.col("contracts") > MIN_OTHER_CONTRACTS).with_columns(name=pl.lit(""))
    return events(
        switches,
        "ACCOUNT_SWITCH",
        pl.col("day"),
        pl.when(pl.col("kind") == "PENSION")
        .then(pl.lit("Rente und Verträge ziehen um"))
        .otherwise(pl.lit("Gehalt und Verträge ziehen um")),
        pl.concat_list("id"),
        pl.lit(0.9),
        known_since=pl.max_horizontal("day", "moved_since"),
    )


def _payment_difficulties(evidence: EventEvidence) -> pl.DataFrame:
    """A returned debit, a debt collection or a seizure after half a year without any."""
    kinds = ["RETURNED_DEBIT", "COLLECTION", "SEIZURE"]
    if evidence.booked_kinds.isdisjoint(kinds):
        return NO_LIFE_EVENTS
    difficulties = evidence.rows.filter(pl.col("kind").is_in(kinds)).join(evidence.histories, on="user", maintain_order="left")
    before = pl.col("booked_on").shift(1).over("user").fill_null(pl.col("start"))
    is_clean = (pl.col("booked_on") - before).dt.total_days() >= COOLDOWN_DAYS
    first = difficulties.filter(is_clean).with_columns(name=pl.col("counterparty_name").fill_null(""), latest="amount_cents")
    description = pl.col("kind").replace_strict(
        {"RETURNED_DEBIT": "Rücklastschrift", "COLLECTION": "Inkasso", "SEIZURE": "Pfändung"}, return_dtype=pl.String
    )
    return events(first, "PAYMENTDIFFICULTY_START", pl.col("booked_on"), description, pl.concat_list("id"), pl.lit(0.85))
