"""The analyses of users in their order, stated once: what rests on what."""

from dataclasses import dataclass

import polars as pl

from analytics.affordability import Affordability, affordability
from analytics.cashflow import Cashflow, cashflow
from analytics.disposable import disposable
from analytics.events import ground, life_events, sums
from analytics.loans import loans
from analytics.seen import Seen, seen
from analytics.stages import life_stages
from analytics.triggers import sales_triggers


@dataclass(frozen=True)
class Suite:
    """What all analyses say of some users, each as of their day."""

    seen: Seen
    loans: pl.DataFrame
    cashflow: Cashflow
    disposable: pl.DataFrame
    events: pl.DataFrame
    stages: pl.DataFrame
    triggers: pl.DataFrame
    affordability: Affordability


def analysed(tagged: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> Suite:
    """All analyses of tagged bookings (the columns of `TRANSACTIONS` and `TAGGED`) on the as-of dates (frame `AS_OF`)."""
    given = seen(tagged, products, as_of)
    flows = cashflow(given)
    base, summed = ground(given), sums(given.bookings)
    events = life_events(given, base, summed)
    stages = life_stages(given, events, base, summed)
    return Suite(
        seen=given,
        loans=loans(given),
        cashflow=flows,
        disposable=disposable(given, flows),
        events=events,
        stages=stages,
        triggers=sales_triggers(given, events, stages, base, summed),
        affordability=affordability(given),
    )
