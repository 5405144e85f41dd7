"""The analyses of users in their order, stated once: the name of each, the analyses it rests on, and how it is computed.

A new analysis is one entry in `ANALYSES`: its name is that of its asset, the names of its frames are those of their tables in
the lake.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

from analytics.analyses.affordability import Affordability, affordability
from analytics.analyses.cashflow import Cashflow, cashflow
from analytics.analyses.credit_risk import CreditRisk, credit_risk
from analytics.analyses.disposable_money import disposable_money
from analytics.analyses.life_events import EventEvidence, gather_evidence, large_incomes, life_events, sum_months
from analytics.analyses.life_stages import life_stages
from analytics.analyses.loans import loans
from analytics.analyses.sales_triggers import sales_triggers
from analytics.analyses.savers import Savers, find_savers
from analytics.analyses.snapshot import Snapshot, snapshot
from analytics.frames import (
    AFFORDABILITY,
    AFFORDABILITY_AMOUNTS,
    CASHFLOW,
    CASHFLOW_PREDICTIONS,
    CONTRACT_BOOKINGS,
    CONTRACTS,
    CREDIT_RISK,
    CREDIT_RISK_SIGNALS,
    DISPOSABLE_MONEY,
    LIFE_EVENTS,
    LIFE_STAGES,
    LOANS,
    SALES_TRIGGERS,
    checked,
)

Frames = Mapping[str, pl.DataFrame]
"""The results of the analyses, by the names of their frames."""


class SuiteCache:
    """The intermediate results that the analyses of some users share: each is computed on first access, and only once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @cached_property
    def evidence(self) -> EventEvidence:
        return gather_evidence(self.snapshot)

    @cached_property
    def month_sums(self) -> pl.DataFrame:
        return sum_months(self.snapshot)

    @cached_property
    def large_incomes(self) -> pl.DataFrame:
        return large_incomes(self.evidence, self.month_sums)

    @cached_property
    def savers(self) -> Savers:
        return find_savers(self.snapshot, self.month_sums)

    @cached_property
    def cashflow(self) -> Cashflow:
        return cashflow(self.snapshot)

    @cached_property
    def disposable_money(self) -> pl.DataFrame:
        return disposable_money(self.snapshot, self.cashflow)

    @cached_property
    def life_events(self) -> pl.DataFrame:
        return life_events(self.snapshot, self.evidence, self.large_incomes)

    @cached_property
    def life_stages(self) -> pl.DataFrame:
        return life_stages(self.snapshot, self.life_events, self.evidence, self.savers)

    @cached_property
    def sales_triggers(self) -> pl.DataFrame:
        return sales_triggers(
            self.snapshot, self.life_events, self.life_stages, self.evidence, self.month_sums, self.large_incomes
        )

    @cached_property
    def loans(self) -> pl.DataFrame:
        return loans(self.snapshot)

    @cached_property
    def affordability(self) -> Affordability:
        return affordability(self.snapshot, self.loans, self.savers)

    @cached_property
    def credit_risk(self) -> CreditRisk:
        return credit_risk(self.snapshot, self.affordability, self.loans, self.month_sums)


STEPS = (
    "evidence",
    "month_sums",
    "large_incomes",
    "savers",
    "loans",
    "cashflow",
    "disposable_money",
    "life_events",
    "life_stages",
    "sales_triggers",
    "affordability",
    "credit_risk",
)
"""The results of a `SuiteCache`, each after those that it rests on."""


class AnalysisFrame(NamedTuple):
    """A frame of an analysis: its schema, and how it is computed."""

    schema: pl.Schema
    make: Callable[[SuiteCache], pl.DataFrame]


@dataclass(frozen=True)
class Analysis:
    """An analysis: its name, the analyses it rests on, and its frames by their names."""

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
            "contracts": AnalysisFrame(CONTRACTS, lambda cache: cache.snapshot.contracts),
            "contract_bookings": AnalysisFrame(CONTRACT_BOOKINGS, lambda cache: cache.snapshot.payments),
            "loans": AnalysisFrame(LOANS, lambda cache: cache.loans),
        },
    ),
    Analysis(
        "cashflow",
        ("contracts",),
        "What came in and went out, by category or partner and by month and week, and what is to be expected.",
        {
            "cashflow": AnalysisFrame(CASHFLOW, lambda cache: cache.cashflow.statistics),
            "cashflow_predictions": AnalysisFrame(CASHFLOW_PREDICTIONS, lambda cache: cache.cashflow.predictions),
        },
    ),
    Analysis(
        "disposable_money",
        ("contracts", "cashflow"),
        "What is left of the latest salary, and will be left when the next one comes.",
        {"disposable_money": AnalysisFrame(DISPOSABLE_MONEY, lambda cache: cache.disposable_money)},
    ),
    Analysis(
        "life_events",
        ("contracts",),
        "What has changed in a user's life, by the contracts and bookings that show it.",
        {"life_events": AnalysisFrame(LIFE_EVENTS, lambda cache: cache.life_events)},
    ),
    Analysis(
        "life_stages",
        ("contracts", "life_events"),
        "How a user earns, lives and saves, and how old the youngest child is.",
        {"life_stages": AnalysisFrame(LIFE_STAGES, lambda cache: cache.life_stages)},
    ),
    Analysis(
        "sales_triggers",
        ("contracts", "life_events", "life_stages"),
        "Occasions to talk with a user, each by an exact rule.",
        {"sales_triggers": AnalysisFrame(SALES_TRIGGERS, lambda cache: cache.sales_triggers)},
    ),
    Analysis(
        "affordability",
        ("contracts",),
        "Income and expenses by need and regularity, what is left, and signs of risk.",
        {
            "affordability": AnalysisFrame(AFFORDABILITY, lambda cache: cache.affordability.affordability),
            "affordability_amounts": AnalysisFrame(AFFORDABILITY_AMOUNTS, lambda cache: cache.affordability.amounts),
        },
    ),
    Analysis(
        "credit_risk",
        ("contracts", "affordability"),
        "A class from A to E by a scorecard, with the points, evidence and reason of every signal, and stress values.",
        {
            "credit_risk": AnalysisFrame(CREDIT_RISK, lambda cache: cache.credit_risk.credit_risk),
            "credit_risk_signals": AnalysisFrame(CREDIT_RISK_SIGNALS, lambda cache: cache.credit_risk.signals),
        },
    ),
)
FRAMES = {name: frame for analysis in ANALYSES for name, frame in analysis.frames.items()}


class FramesOnDemand(Mapping[str, pl.DataFrame]):
    """The frames of all analyses of some users, each computed when it is asked for first, with what it rests on. Several threads
    may ask: nothing is computed twice.
    """

    def __init__(self, suite_cache: SuiteCache) -> None:
        self._suite_cache = suite_cache
        self._frames: dict[str, pl.DataFrame] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> pl.DataFrame:
        with self._lock:
            if name not in self._frames:
                self._frames[name] = checked(FRAMES[name].make(self._suite_cache), FRAMES[name].schema)
            return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(FRAMES)

    def __len__(self) -> int:
        return len(FRAMES)

    @property
    def inputs_bytes(self) -> int:
        """The memory of what the analyses read: bookings, products, contracts and their payments."""
        read = self._suite_cache.snapshot
        return sum(int(frame.estimated_size()) for frame in (read.bookings, read.products, read.contracts, read.payments))


def analyse(tagged_bookings: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """All analyses of tagged bookings (the columns of `TRANSACTIONS` and `TAGGED`) on the as-of dates (frame `AS_OF`)."""
    return dict(analyse_on_demand(tagged_bookings, products, as_of))


def analyse_on_demand(tagged_bookings: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> FramesOnDemand:
    """The frames of `analyse`, each computed when it is asked for; only contracts, on which all rest, are recognised now."""
    return FramesOnDemand(SuiteCache(snapshot(tagged_bookings.rechunk(), products, as_of)))


def empty_frames() -> dict[str, pl.DataFrame]:
    """The frames of all analyses without a row."""
    return {name: frame.schema.to_frame() for name, frame in FRAMES.items()}
