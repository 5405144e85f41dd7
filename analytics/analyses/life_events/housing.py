"""Events of housing: tenancies, the financing of a home, and buying one."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import events
from analytics.analyses.life_events.succession import alone, changed, first_ever, followed, left
from analytics.frames import LIFE_EVENTS

CHANGE_DAYS, END_DAYS = 90, 62
PURCHASE_DAYS = 120
LEAST_NOTARY_CENTS = 20_000


def housing(base: EventEvidence, runs: pl.DataFrame) -> list[pl.DataFrame]:
    """The events of this group."""
    return [
        *_tenancies(base, runs),
        _purchases(base, runs),
    ]


def _tenancies(base: EventEvidence, runs: pl.DataFrame) -> list[pl.DataFrame]:
    rents = runs.filter(pl.col("kind") == "RENT")
    new, over = rents.filter("new"), rents.filter("over")
    if new.is_empty() and over.is_empty():
        return []
    pairs = followed(new, over, CHANGE_DAYS, same_payee=True)
    single = first_ever(base, alone(new, pairs, rents), "RENT")
    gone = left(base, over, pairs, END_DAYS, "RENT")
    again = single.filter(~pl.col("first_ever"), ~pl.col("waiting"))
    until = pl.col("last") + pl.duration(days=pl.col("length") - 1)
    return [
        changed(pairs, "TENANCY_CHANGE", "Umzug"),
        events(single.filter("first_ever"), "TENANCY_FIRST", pl.col("first"), "Erste Miete", pl.col("opening")),
        events(again, "TENANCY_START", pl.col("first"), "Neue Miete", pl.col("opening")),
        events(gone, "TENANCY_END", until, "Miete endet", pl.col("closing")),
    ]


def _purchases(base: EventEvidence, runs: pl.DataFrame) -> pl.DataFrame:
    """Two of notary, land registry and transfer tax within four months, or one of them or a policy for the building with new
    financing.
    """
    signs = base.rows.filter(
        (pl.col("kind") == "TRANSFER_TAX") | ((pl.col("kind") == "NOTARY") & (pl.col("amount_cents") <= -LEAST_NOTARY_CENTS))
    ).select("user", "id", day="booked_on", latest="amount_cents")
    policies = runs.filter("new", pl.col("insurance") == "HOME_BUILDING").select(
        "user", id=pl.col("opening").list.first(), day="first", latest="latest"
    )
    loans = runs.filter("new", pl.col("kind") == "MORTGAGE").select(
        "user", other=pl.col("opening").list.first(), other_day="first"
    )
    if signs.is_empty() and loans.is_empty():
        return LIFE_EVENTS.to_frame()
    others = pl.concat([loans, signs.select("user", other="id", other_day="day")])
    pairs = pl.concat([signs, policies.join(loans, on="user", how="semi")]).join(others, on="user")
    near = (pl.col("day") - pl.col("other_day")).dt.total_days().abs() <= PURCHASE_DAYS
    found = pairs.filter(near, pl.col("id") != pl.col("other")).sort("user", "day", "id", "other_day", "other")
    first = found.unique("user", keep="first", maintain_order=True).with_columns(name=pl.lit(""))
    day = pl.min_horizontal("day", "other_day")
    return events(first, "HOMEOWNERSHIP_START", day, "Kauf einer Immobilie erkennbar", pl.concat_list("id", "other"), pl.lit(0.9))
