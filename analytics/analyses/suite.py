"""The analyses of users in their order, stated once: what each is called, what it rests on, and how it is made.

A new analysis is one entry in `ANALYSES`: its name is that of its asset, those of its frames are those of their tables in the
lake.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

from analytics.analyses.affordability import Affordability, affordability
from analytics.analyses.cashflow import Cashflow, cashflow
from analytics.analyses.disposable_money import disposable_money
from analytics.analyses.life_events import EventEvidence, gather_evidence, large_incomes, life_events, sums
from analytics.analyses.life_stages import life_stages
from analytics.analyses.loans import loans
from analytics.analyses.sales_triggers import sales_triggers
from analytics.analyses.snapshot import Snapshot, snapshot
from analytics.frames import (
    AFFORDABILITY,
    AFFORDABILITY_AMOUNTS,
    CASHFLOW,
    CASHFLOW_PREDICTIONS,
    CONTRACT_BOOKINGS,
    CONTRACTS,
    DISPOSABLE_MONEY,
    LIFE_EVENTS,
    LIFE_STAGES,
    LOANS,
    SALES_TRIGGERS,
    checked,
)

Frames = Mapping[str, pl.DataFrame]
"""What the analyses say, by the names of frames."""


class SuiteCache:
    """What the analyses of some users share: each part is made when it is first wanted, and once."""

    def __init__(self, given: Snapshot) -> None:
        self.seen = given

    @cached_property
    def base(self) -> EventEvidence:
        return gather_evidence(self.seen)

    @cached_property
    def summed(self) -> pl.DataFrame:
        return sums(self.seen)

    @cached_property
    def large(self) -> pl.DataFrame:
        return large_incomes(self.base, self.summed)

    @cached_property
    def cashflow(self) -> Cashflow:
        return cashflow(self.seen)

    @cached_property
    def events(self) -> pl.DataFrame:
        return life_events(self.seen, self.base, self.large)

    @cached_property
    def stages(self) -> pl.DataFrame:
        return life_stages(self.seen, self.events, self.base, self.summed)

    @cached_property
    def triggers(self) -> pl.DataFrame:
        return sales_triggers(self.seen, self.events, self.stages, self.base, self.summed, self.large)

    @cached_property
    def loans(self) -> pl.DataFrame:
        return loans(self.seen)

    @cached_property
    def affordability(self) -> Affordability:
        return affordability(self.seen, self.loans)


class AnalysisFrame(NamedTuple):
    """A frame that an analysis gives, and how it is made."""

    schema: pl.Schema
    make: Callable[[SuiteCache], pl.DataFrame]


@dataclass(frozen=True)
class Analysis:
    """An analysis: its name, which others it is made of, and its frames by their names."""

    name: str
    rests_on: tuple[str, ...]
    about: str
    frames: Mapping[str, AnalysisFrame]


ANALYSES = (
    Analysis(
        "contracts",
        (),
        "Regular payments: period, day rule, next date and amount, status; their bookings, and what loans among them are like.",
        {
            "contracts": AnalysisFrame(CONTRACTS, lambda w: w.seen.contracts),
            "contract_bookings": AnalysisFrame(CONTRACT_BOOKINGS, lambda w: w.seen.payments),
            "loans": AnalysisFrame(LOANS, lambda w: w.loans),
        },
    ),
    Analysis(
        "cashflow",
        ("contracts",),
        "What came in and went out, by category or partner and by month and week, and what is to be expected.",
        {
            "cashflow": AnalysisFrame(CASHFLOW, lambda w: w.cashflow.statistics),
            "cashflow_predictions": AnalysisFrame(CASHFLOW_PREDICTIONS, lambda w: w.cashflow.predictions),
        },
    ),
    Analysis(
        "disposable_money",
        ("contracts", "cashflow"),
        "What is left of the latest salary, and will be left when the next one comes.",
        {"disposable_money": AnalysisFrame(DISPOSABLE_MONEY, lambda w: disposable_money(w.seen, w.cashflow))},
    ),
    Analysis(
        "life_events",
        ("contracts",),
        "What has changed in a user's life, by the contracts and bookings that show it.",
        {"life_events": AnalysisFrame(LIFE_EVENTS, lambda w: w.events)},
    ),
    Analysis(
        "life_stages",
        ("contracts", "life_events"),
        "How a user earns, lives and saves, and how old the youngest child is.",
        {"life_stages": AnalysisFrame(LIFE_STAGES, lambda w: w.stages)},
    ),
    Analysis(
        "sales_triggers",
        ("contracts", "life_events", "life_stages"),
        "Occasions to talk with a user, each by an exact rule.",
        {"sales_triggers": AnalysisFrame(SALES_TRIGGERS, lambda w: w.triggers)},
    ),
    Analysis(
        "affordability",
        ("contracts",),
        "Income and expenses by need and regularity, what is left, and signs of risk.",
        {
            "affordability": AnalysisFrame(AFFORDABILITY, lambda w: w.affordability.affordability),
            "affordability_amounts": AnalysisFrame(AFFORDABILITY_AMOUNTS, lambda w: w.affordability.amounts),
        },
    ),
)
FRAMES = {name: frame for analysis in ANALYSES for name, frame in analysis.frames.items()}


def analysed(tagged: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """All analyses of tagged bookings (the columns of `TRANSACTIONS` and `TAGGED`) on the as-of dates (frame `AS_OF`)."""
    workings = SuiteCache(snapshot(tagged.rechunk(), products, as_of))
    return {name: checked(frame.make(workings), frame.schema) for name, frame in FRAMES.items()}


def nothing() -> dict[str, pl.DataFrame]:
    """What the analyses say of nobody."""
    return {name: frame.schema.to_frame() for name, frame in FRAMES.items()}
