"""The analyses of users in their order, stated once: what each is called, what it rests on, and how it is made.

A new analysis is one line in `ANALYSES`: its name is that of its frame, its table in the lake and its asset.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from analytics.affordability import AFFORDABILITY, AMOUNTS, Affordability, affordability
from analytics.cashflow import PREDICTIONS, STATISTICS, Cashflow, cashflow
from analytics.disposable import DISPOSABLE, disposable
from analytics.events import EVENTS, Ground, ground, life_events, sums
from analytics.frames import CONTRACT_BOOKINGS, CONTRACTS, checked
from analytics.loans import LOANS, loans
from analytics.seen import Seen, seen
from analytics.stages import STAGES, life_stages
from analytics.triggers import TRIGGERS, sales_triggers

Frames = Mapping[str, pl.DataFrame]
"""What the analyses say, by their names."""


class Workings:
    """What the analyses of some users share: each part is made when it is first wanted, and once."""

    def __init__(self, given: Seen) -> None:
        self.seen = given

    @cached_property
    def base(self) -> Ground:
        return ground(self.seen)

    @cached_property
    def summed(self) -> pl.DataFrame:
        return sums(self.seen.bookings)

    @cached_property
    def cashflow(self) -> Cashflow:
        return cashflow(self.seen)

    @cached_property
    def events(self) -> pl.DataFrame:
        return life_events(self.seen, self.base, self.summed)

    @cached_property
    def stages(self) -> pl.DataFrame:
        return life_stages(self.seen, self.events, self.base, self.summed)

    @cached_property
    def triggers(self) -> pl.DataFrame:
        return sales_triggers(self.seen, self.events, self.stages, self.base, self.summed)

    @cached_property
    def affordability(self) -> Affordability:
        return affordability(self.seen)


@dataclass(frozen=True)
class Analysis:
    """An analysis: the name and the schema of its frame, of which others it is made, and how."""

    name: str
    schema: pl.Schema
    rests_on: tuple[str, ...]
    make: Callable[[Workings], pl.DataFrame]
    about: str


ANALYSES = (
    Analysis("contracts", CONTRACTS, (), lambda w: w.seen.contracts, "Regular payments with period, next date and amount."),
    Analysis("contract_bookings", CONTRACT_BOOKINGS, ("contracts",), lambda w: w.seen.payments, "The bookings of contracts."),
    Analysis("loans", LOANS, ("contract_bookings",), lambda w: loans(w.seen), "What was borrowed, estimated by instalments."),
    Analysis("cashflow", STATISTICS, ("contract_bookings",), lambda w: w.cashflow.statistics, "Sums by tag, month and week."),
    Analysis(
        "cashflow_predictions", PREDICTIONS, ("cashflow",), lambda w: w.cashflow.predictions, "What is to be expected, by tag."
    ),
    Analysis(
        "disposable_money",
        DISPOSABLE,
        ("cashflow_predictions",),
        lambda w: disposable(w.seen, w.cashflow),
        "What is left of the salary, and will be.",
    ),
    Analysis("life_events", EVENTS, ("contract_bookings",), lambda w: w.events, "What has changed in a user's life."),
    Analysis("life_stages", STAGES, ("life_events",), lambda w: w.stages, "How a user earns, lives and saves."),
    Analysis("sales_triggers", TRIGGERS, ("life_stages",), lambda w: w.triggers, "Occasions to talk with a user."),
    Analysis("affordability", AFFORDABILITY, ("loans",), lambda w: w.affordability.affordability, "Income, expenses and risks."),
    Analysis(
        "affordability_amounts",
        AMOUNTS,
        ("affordability",),
        lambda w: w.affordability.amounts,
        "What income and expenses consist of.",
    ),
)


def analysed(tagged: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """All analyses of tagged bookings (the columns of `TRANSACTIONS` and `TAGGED`) on the as-of dates (frame `AS_OF`)."""
    workings = Workings(seen(tagged, products, as_of))
    return {analysis.name: checked(analysis.make(workings), analysis.schema) for analysis in ANALYSES}
