"""Work of flows in this process, measured in rows per second: fetching, storing, merging. A new one is one more value in `WORKS`.

All ratios are to reading 10,000 stored bookings as the merge reads them. PostgreSQL counts the rows that a work has written to
the ledger: another number than expected is no result.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day

import polars as pl
from sqlalchemy import text

from pipelines.banks.demo.histories import START
from pipelines.context import Context
from pipelines.fetching import merge, refresh
from tests.bench import memory
from tests.bench.seeding import Customer, begin, begin_again, first_product, flows, newcomer
from warehouse.errors import KontorError
from warehouse.settings import Settings
from warehouse.stores import ledger

ROUNDS = 3
MANY = 10_000
STORED = f"stored-{MANY}"
NOW = datetime.combine(START + refresh.OVERLAP - timedelta(days=1), time_of_day(12), UTC)
"""So soon after the first booking that a refresh asks for all of them again."""
FLUSH = text("SELECT pg_stat_force_next_flush()")
WRITTEN = text("SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relname = 'transactions'")
Timed = Callable[[], object]


@dataclass(frozen=True)
class Work:
    """What is done once a round. Its block makes ready, gives what is timed, and checks what came of it."""

    name: str
    rows: int
    block: Callable[[Context, Customer, int], AbstractContextManager[Timed]]
    writes: int = 0


@dataclass
class Measured:
    """What the rounds of a work gave, a rate for each, and the memory that it takes in a process of its own."""

    work: Work
    rows_per_second: list[float] = field(default_factory=list)
    growth_mebibytes: float = 0.0


def measure(settings: Settings, customer: Customer, tell: Callable[[str], None]) -> list[Measured]:
    """All works in turn, round by round; the first of them is the measure of the others."""
    results = [Measured(work) for work in (READ, *WORKS)]
    with flows(settings) as house:
        tell("warm-up: storing what is read and merged")
        refresh.fetch_access(house, begin(house, customer, f"test_many_{MANY}", STORED), NOW)
        _run(house, customer, AGAIN)
        for _ in range(ROUNDS):
            for result in results:
                tell(result.work.name)
                result.rows_per_second.append(result.work.rows / _run(house, customer, result.work))
    for result in results:
        tell(f"memory: {result.work.name}")
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
            result.growth_mebibytes = fresh.submit(_growth, settings, customer, result.work).result()
    return results


def _run(house: Context, customer: Customer, work: Work) -> float:
    """How many seconds a work takes, after checking what it has written."""
    before = _written(house)
    with work.block(house, customer, work.rows) as timed:
        began = time.perf_counter()
        timed()
        seconds = time.perf_counter() - began
    if (written := _written(house) - before) != work.writes:
        raise KontorError(f"{work.name}: wrote {written} rows to the ledger, not {work.writes}")
    return seconds


def _written(house: Context) -> int:
    """How many rows of the ledger were ever written: what the one connection of this house has counted, and all others told."""
    with house.database.operating() as operator:
        operator.session.execute(FLUSH)
    with house.database.operating() as operator:
        return int(operator.session.execute(WRITTEN).scalar_one())


def _growth(settings: Settings, customer: Customer, work: Work) -> float:
    """By how many mebibytes a fresh process grows that does this work once; what every work loads is loaded before."""
    with flows(settings) as house, _first_fetch(house, customer, 100) as warm_up:
        warm_up()
        with work.block(house, customer, work.rows) as timed:
            held = memory.held(os.getpid())
            with memory.peak(os.getpid()) as peak:
                timed()
    return peak.mebibytes - held


# The works.


@contextmanager
def _reading(house: Context, customer: Customer, rows: int) -> Iterator[Timed]:
    with house.database.acting_for(customer.tenant, customer.user) as owner:
        product, found = first_product(owner, STORED), []
        yield lambda: found.append(ledger.window(owner, product, START))
        _require(found[0].height, rows)


@contextmanager
def _first_fetch(house: Context, customer: Customer, rows: int) -> Iterator[Timed]:
    job = begin(house, newcomer(house, customer.tenant), f"test_many_{rows}", "first")
    yield lambda: refresh.fetch_access(house, job, NOW)


@contextmanager
def _fetch_again(house: Context, customer: Customer, rows: int) -> Iterator[Timed]:
    job = begin_again(house, customer, STORED)
    yield lambda: refresh.fetch_access(house, job, NOW)
    with house.database.acting_for(customer.tenant, customer.user) as owner:
        product = first_product(owner, STORED)
        _require(ledger.window(owner, product, START).height, rows)
        if product.complete_from is None or product.complete_from >= START:
            raise KontorError("a part of the bookings was not asked for again")


@contextmanager
def _merging_unchanged(house: Context, customer: Customer, rows: int) -> Iterator[Timed]:
    stored, found = _stored(house, customer), []
    yield lambda: found.append(merge.reconcile(stored, stored.drop("id")))
    _require(0 if found[0] else stored.height, rows)


@contextmanager
def _merging_rewritten(house: Context, customer: Customer, rows: int) -> Iterator[Timed]:
    stored, found = _stored(house, customer), []
    told = stored.drop("id").with_columns(pl.col("purpose").str.to_uppercase())
    yield lambda: found.append(merge.reconcile(stored, told))
    _require(found[0].changed.height, rows)


def _stored(house: Context, customer: Customer) -> pl.DataFrame:
    with house.database.acting_for(customer.tenant, customer.user) as owner:
        return ledger.window(owner, first_product(owner, STORED), START)


def _require(found: int, expected: int) -> None:
    if found != expected:
        raise KontorError(f"{found} rows instead of {expected}")


READ = Work("read 10,000 stored", MANY, _reading)
AGAIN = Work("fetch 10,000 again, unchanged", MANY, _fetch_again)
WORKS = (
    Work("first fetch of 10,000", MANY, _first_fetch, writes=MANY),
    Work("first fetch of 50,000", 50_000, _first_fetch, writes=50_000),
    AGAIN,
    Work("merge 10,000 unchanged", MANY, _merging_unchanged),
    Work("merge 10,000 rewritten texts", MANY, _merging_rewritten),
)
STEPS = 1 + (ROUNDS + 1) * (1 + len(WORKS))
