"""Events of money: vehicles, loans, savings, large incomes, a change of account, difficulties to pay."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import ALIVE, COOLDOWN_DAYS, NEW_DAYS, alive_before, events, sureness
from analytics.analyses.life_events.vehicles import vehicles
from analytics.analyses.life_events.words import WAGES
from analytics.analyses.snapshot import Snapshot
from analytics.frames import LIFE_EVENTS

PAYOUT_DAYS = 60
LEAST_LOAN = 50_000
MOVED_CONTRACTS, MOVED_DAYS = 5, 60


def financial(base: EventEvidence, runs: pl.DataFrame, seen: Snapshot, large: pl.DataFrame) -> list[pl.DataFrame]:
    """The events of this group. All that was seen is needed to look up on which product contracts are paid."""
    return [
        *vehicles(base, runs),
        _loans(base, runs),
        _large(large),
        _switches(base, seen),
        _difficulties(base),
    ]


def _loans(base: EventEvidence, runs: pl.DataFrame) -> pl.DataFrame:
    """Pay-outs and new instalments; instalments that a pay-out preceded belong to it."""
    new = runs.filter("new", pl.col("kind") == "LOAN").select("user", "first", "name", "latest", "opening", sure=sureness())
    payouts = base.rows.filter(pl.col("kind") == "PAYOUT", pl.col("amount_cents") >= LEAST_LOAN).join(base.histories, on="user")
    if new.is_empty() and payouts.is_empty():
        return LIFE_EVENTS.to_frame()
    late = (pl.col("booked_on") - pl.col("start")).dt.total_days() >= NEW_DAYS
    paid = payouts.filter(late, alive_before(base, payouts, pl.col("booked_on")) >= ALIVE)
    single = paid.select(
        "user",
        first="booked_on",
        name=pl.col("counterparty_name").fill_null(""),
        latest="amount_cents",
        opening=pl.concat_list("id"),
        sure=pl.lit(0.9),
    )
    near = (pl.col("first") - pl.col("booked_on")).dt.total_days().is_between(0, PAYOUT_DAYS)
    covered = new.join(paid.select("user", "booked_on"), on="user").filter(near)
    found = pl.concat([single, new.join(covered, on=["user", "first", "opening"], how="anti")])
    return events(found, "LOAN_START", pl.col("first"), "Neuer Kredit", pl.col("opening"), pl.col("sure"))


def _large(large: pl.DataFrame) -> pl.DataFrame:
    return events(large, "LARGEINCOME", pl.col("day"), "Große Einnahme", pl.col("ids"), pl.lit(0.9), pl.col("cents"))


def _switches(base: EventEvidence, seen: Snapshot) -> pl.DataFrame:
    """Wages come to another product than before, and with them at least five other contracts moved."""
    if base.booked_kinds.isdisjoint(WAGES):
        return LIFE_EVENTS.to_frame()
    wages = base.rows.filter(pl.col("kind").is_in(WAGES)).select(
        "user", "id", "product", day="booked_on", latest="amount_cents", payer="counterparty_key"
    )
    of = ["user", "payer"]
    wages = wages.with_columns(before=pl.col("product").shift(1).over(of), after=pl.col("product").shift(-1).over(of))
    stays = pl.col("after").is_null() | (pl.col("after") == pl.col("product"))
    moved = wages.filter(pl.col("before") != pl.col("product"), stays)
    if moved.is_empty():  # nearly always: then all bookings need not be searched
        return LIFE_EVENTS.to_frame()
    paid = seen.payments.join(moved, on="user", how="semi").filter("regular")
    there = seen.bookings.join(moved, on="user", how="semi").select("user", "id", "product")
    paid = paid.join(there, on=["user", "id"]).sort("contract", "booked_on", "id")
    paid = paid.with_columns(before=pl.col("product").shift(1).over("user", "contract"))
    changes = paid.filter(pl.col("before") != pl.col("product")).select(
        "user", "contract", "product", "before", changed="booked_on"
    )
    near = (pl.col("changed") - pl.col("day")).dt.total_days().abs() <= MOVED_DAYS
    both = moved.join(changes, on=["user", "product", "before"]).filter(near)
    counted = both.group_by("user", "id", "day", "latest").agg(contracts=pl.col("contract").n_unique())
    found = counted.filter(pl.col("contracts") > MOVED_CONTRACTS).with_columns(name=pl.lit(""))
    return events(found, "ACCOUNT_SWITCH", pl.col("day"), "Gehalt und Verträge ziehen um", pl.concat_list("id"), pl.lit(0.9))


def _difficulties(base: EventEvidence) -> pl.DataFrame:
    """A returned debit, a collector or a seizure after half a year without any."""
    kinds = ["RETURNED_DEBIT", "COLLECTION", "SEIZURE"]
    if base.booked_kinds.isdisjoint(kinds):
        return LIFE_EVENTS.to_frame()
    bad = base.rows.filter(pl.col("kind").is_in(kinds)).join(base.histories, on="user", maintain_order="left")
    before = pl.col("booked_on").shift(1).over("user").fill_null(pl.col("start"))
    clean = (pl.col("booked_on") - before).dt.total_days() >= COOLDOWN_DAYS
    first = bad.filter(clean).with_columns(name=pl.col("counterparty_name").fill_null(""), latest="amount_cents")
    what = pl.col("kind").replace_strict(
        {"RETURNED_DEBIT": "Rücklastschrift", "COLLECTION": "Inkasso", "SEIZURE": "Pfändung"}, return_dtype=pl.String
    )
    return events(first, "PAYMENTDIFFICULTY_START", pl.col("booked_on"), what, pl.concat_list("id"), pl.lit(0.85))
