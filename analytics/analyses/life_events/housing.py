"""Events of housing: tenancies, and the purchase of a home."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import events
from analytics.analyses.life_events.succession import (
    change_events,
    runs_without_predecessor,
    runs_without_successor,
    successions,
    with_first_ever,
)
from analytics.frames import NO_LIFE_EVENTS

MAX_CHANGE_DAYS, END_DAYS = 90, 62
MAX_PURCHASE_DAYS = 120
MIN_NOTARY_CENTS = 20_000


def housing(evidence: EventEvidence, runs: pl.DataFrame, beginnings: pl.DataFrame) -> list[pl.DataFrame]:
    """The events of this group. `beginnings` are the days on which users begin to stand on their own feet."""
    return [
        *_tenancies(evidence, runs, beginnings),
        _purchases(evidence, runs),
    ]


def _tenancies(evidence: EventEvidence, runs: pl.DataFrame, beginnings: pl.DataFrame) -> list[pl.DataFrame]:
    rents = runs.filter(pl.col("kind") == "RENT")
    new, ended_rents = rents.filter("new"), rents.filter("over")
    if new.is_empty() and ended_rents.is_empty():
        return []
    pairs = successions(new, ended_rents, MAX_CHANGE_DAYS, same_payee=True)
    moves = pairs.filter(~_is_same_home())
    new_rents = with_first_ever(evidence, runs_without_predecessor(evidence, new, pairs, rents), beginnings, "RENT")
    ended_tenancies = _without_main_home(runs_without_successor(evidence, ended_rents, pairs, END_DAYS, "RENT"), rents)
    later_rents = new_rents.filter(~pl.col("first_ever"), ~pl.col("waiting"))
    until = pl.col("last") + pl.duration(days=pl.col("length") - 1)
    return [
        change_events(moves, "TENANCY_CHANGE", "Umzug: Miete an {} endet, an {} beginnt"),
        events(
            new_rents.filter("first_ever"),
            "TENANCY_FIRST",
            pl.col("first"),
            "Erste Miete",
            pl.col("opening"),
            known_since=pl.col("recognised"),
        ),
        events(
            later_rents, "TENANCY_START", pl.col("first"), "Neue Miete", pl.col("opening"), known_since=pl.col("settled_since")
        ),
        events(ended_tenancies, "TENANCY_END", until, "Miete endet", pl.col("closing"), known_since=pl.col("ended_since")),
    ]


def _without_main_home(ended_rents: pl.DataFrame, rents: pl.DataFrame) -> pl.DataFrame:
    """The ended rents but those beside which a larger one was paid and still is: what ended was a garage, or a share of a
    cooperative, and no home.
    """
    if ended_rents.is_empty():
        return ended_rents
    main_homes = rents.filter("active").select("user", main_first="first", main_cents="latest")
    others = ended_rents.join(main_homes, on="user").filter(
        pl.col("main_first") <= pl.col("last"), pl.col("main_cents").abs() > pl.col("latest").abs()
    )
    return ended_rents.join(others.select("user", "contract"), on=["user", "contract"], how="anti", maintain_order="left")


def _is_same_home() -> pl.Expr:
    """Whether a rent goes on as before to somebody else: the home was sold, or the landlord has another account."""
    return pl.col("earliest_cents") == pl.col("latest_old")


def _purchases(evidence: EventEvidence, runs: pl.DataFrame) -> pl.DataFrame:
    """Two payments for notary, land registry or transfer tax within four months, or one of them or a new policy for the building
    together with new financing.
    """
    signs = evidence.rows.filter(
        (pl.col("kind") == "TRANSFER_TAX") | ((pl.col("kind") == "NOTARY") & (pl.col("amount_cents") <= -MIN_NOTARY_CENTS))
    ).select("user", "id", day="booked_on", latest="amount_cents")
    policies = runs.filter("new", pl.col("insurance") == "HOME_BUILDING").select(
        "user", id=pl.col("opening").list.first(), day="first", latest="latest"
    )
    loans = runs.filter("new", pl.col("kind") == "MORTGAGE").select(
        "user", other=pl.col("opening").list.first(), other_day="first"
    )
    if signs.is_empty() and loans.is_empty():
        return NO_LIFE_EVENTS
    others = pl.concat([loans, signs.select("user", other="id", other_day="day")])
    pairs = pl.concat([signs, policies.join(loans, on="user", how="semi")]).join(others, on="user")
    is_near = (pl.col("day") - pl.col("other_day")).dt.total_days().abs() <= MAX_PURCHASE_DAYS
    close_pairs = pairs.filter(is_near, pl.col("id") != pl.col("other")).sort("user", "day", "id", "other_day", "other")
    first = close_pairs.unique("user", keep="first", maintain_order=True).with_columns(name=pl.lit(""))
    return events(
        first,
        "HOMEOWNERSHIP_START",
        pl.min_horizontal("day", "other_day"),
        "Kauf einer Immobilie erkennbar",
        pl.concat_list("id", "other"),
        pl.lit(0.9),
        known_since=pl.max_horizontal("day", "other_day"),
    )
