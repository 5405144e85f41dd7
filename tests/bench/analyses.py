"""Analyses, beside reading what they rest on, and beside what others use: in turns, and with their output checked.

The whole way is a share of the rate at which Polars reads the same files; both have all cores. Contracts and cashflow stand
beside pandas by the clock, and beside a detector of recurring payments by processor time. One user's analyses stand beside the
share that they have in those of all.
"""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from analytics.analyses.contracts import contracts
from analytics.analyses.snapshot import Snapshot, snapshot
from analytics.analyses.suite import analyse
from analytics.bank_text import lines
from analytics.frames import CHOICES, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models import registry
from models.simulator import Corpus, simulate
from tests.bench import same_rules, whole
from tests.bench.others import NotInstalled, Others, others
from tests.bench.tagging import OutputDiffers, twice

USERS, SEED = 250, 20261115
FEW = 8
LIVE_BOOKINGS = 2_000
BUCKETS = (8, 64)
ROUNDS = 3
STEPS = 3 + ROUNDS * (2 * len(BUCKETS) + 8)
SCAN, LIVE, SHARE = "reading the same columns", "one user's analyses", "the user's share of all users' analyses"
CONTRACTS, RECURRING, RULE, RULE_PANDAS = (
    "contracts",
    "fin-infra, recurring payments",
    "the simple rule",
    "the simple rule, pandas",
)
CONTRACTS_WALL = "contracts, by the clock"
SUMS, SUMS_PANDAS, VIEW = "cashflow sums", "cashflow sums, pandas", "cashflow as stored and shown"


def whole_way(buckets: int) -> str:
    """The name of the case."""
    return f"the whole way in {buckets} buckets"


PAIRS = (
    *((whole_way(buckets), SCAN) for buckets in BUCKETS),
    (CONTRACTS, RECURRING),
    (CONTRACTS_WALL, RULE_PANDAS),
    (RULE, RULE_PANDAS),
    (SUMS, SUMS_PANDAS),
    (VIEW, SUMS_PANDAS),
    (LIVE, SHARE),
)
"""What is compared with what."""


@dataclass(frozen=True)
class Measured:
    """Rates in rows per second by case and round, and facts about what was measured."""

    rates: dict[str, list[float]]
    facts: dict[str, float]


def measure(tell: Callable[[str], None]) -> Measured:
    """All cases in turns. Where the others cannot be installed, theirs are left out."""
    tell("simulating households")
    corpus = _past(simulate(USERS, SEED))
    found = Measured({}, {})
    _whole(corpus, found, tell)
    tell("tagging what is analysed")
    known = _seen(corpus)
    for _ in range(ROUNDS):
        _live(known, found, tell)
    try:
        with tempfile.TemporaryDirectory(prefix="kontor-bench-") as folder:
            few = same_rules.give(known, Path(folder), FEW)
            tell("installing what others use")
            with others(Path(folder)) as strangers:
                for _ in range(ROUNDS):
                    _beside(known, few, strangers, Path(folder), found, tell)
    except NotInstalled as error:
        tell(f"left out: {error}")
    return found


def _past(corpus: Corpus) -> Corpus:
    """Without what is simulated only to know how things go on."""
    past = ~corpus.truth["future"]
    return replace(corpus, transactions=corpus.transactions.filter(past), truth=corpus.truth.filter(past))


def _whole(corpus: Corpus, found: Measured, tell: Callable[[str], None]) -> None:
    """The whole way and the reading of the same files, with so many bookings for each line as more users would have."""
    doubled, workers = twice(corpus), len(os.sched_getaffinity(0))
    found.facts["rows"] = doubled.transactions.height
    found.facts["ratio_rows_to_distinct_lines"] = round(
        doubled.transactions.height / lines.keys(doubled.transactions).n_unique(), 2
    )
    with tempfile.TemporaryDirectory(prefix="kontor-bench-") as place:
        folders = {buckets: Path(place) / f"{buckets}" for buckets in BUCKETS}
        for buckets, folder in folders.items():
            whole.store(doubled, folder, buckets)
        for _ in range(ROUNDS):
            for buckets, folder in folders.items():
                tell(SCAN)
                _add(found, SCAN, found.facts["rows"] / min(whole.scan(folder) for _ in range(2)), once=buckets == BUCKETS[0])
                tell(whole_way(buckets))
                seconds, rows, written = whole.work(folder, buckets, workers)
                if rows != doubled.transactions.height or found.facts.setdefault("rows_written", written) != written:
                    raise OutputDiffers(f"{rows} bookings and {written} rows of results")
                _add(found, whole_way(buckets), rows / seconds)


def _seen(corpus: Corpus) -> Snapshot:
    past = corpus.transactions
    tagged = tag.tag_bookings(past, corpus.products, CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
    booked = past.hstack(tagged[[name for name in tagged.columns if name not in past.columns]])
    return snapshot(booked, corpus.products, past.select(pl.col("user").unique().sort(), as_of=pl.lit(corpus.as_of)))


def _live(known: Snapshot, found: Measured, tell: Callable[[str], None]) -> None:
    """The user with the number of bookings nearest to 2,000, alone and as a share of all."""
    tell(LIVE)
    counts = known.bookings.group_by("user").len().sort((pl.col("len").cast(pl.Int64) - LIVE_BOOKINGS).abs(), "user")
    given = known.bookings.drop("as_of"), known.products, known.as_of
    alone = [frame.filter(pl.col("user") == counts["user"][0]) for frame in given]
    rows = alone[0].height
    analyse(alone[0], alone[1], alone[2])
    seconds = min(_processor(lambda: analyse(alone[0], alone[1], alone[2])) for _ in range(3))
    _add(found, LIVE, rows / seconds)
    _add(found, SHARE, known.bookings.height / _processor(lambda: analyse(*given)))
    found.facts.update(live_rows=rows, live_ms=round(seconds * 1000, 1))


def _beside(
    known: Snapshot, few: list[str], strangers: Others, folder: Path, found: Measured, tell: Callable[[str], None]
) -> None:
    """Contracts and cashflow, and what others do about them, one after the other."""
    rows = known.bookings.height
    tell(CONTRACTS)
    begun, processor = time.perf_counter(), time.process_time()
    ours = contracts(known.bookings).contracts
    _add(found, CONTRACTS_WALL, rows / (time.perf_counter() - begun))
    _add(found, CONTRACTS, rows / (time.process_time() - processor))
    tell(RECURRING)
    theirs = strangers.run("recurring")
    _add(found, RECURRING, known.bookings.filter(pl.col("user").is_in(few)).height / theirs["processor"])
    same = ours.filter(pl.col("user").is_in(few)).height
    found.facts.update(users=len(few), contracts=same, recurring=theirs["found"])
    for case, other, task, ready in (
        (RULE, RULE_PANDAS, "regular", same_rules.for_rule(known)),
        (SUMS, SUMS_PANDAS, "sums", same_rules.for_sums(known)),
    ):
        tell(case)
        begun = time.perf_counter()
        result = ready()
        _add(found, case, rows / (time.perf_counter() - begun))
        tell(other)
        _add(found, other, rows / strangers.run(task)["wall"])
        if not same_rules.equal(task, result, pl.read_parquet(folder / f"{task}.parquet")):
            raise OutputDiffers(f"{case}: pandas finds something else")
        found.facts[f"{task}_rows"] = result.height
    tell(VIEW)
    view = same_rules.for_view(known)
    begun = time.perf_counter()
    view()
    _add(found, VIEW, rows / (time.perf_counter() - begun))


def _processor(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _add(found: Measured, case: str, rate: float, *, once: bool = True) -> None:
    if once:
        found.rates.setdefault(case, []).append(rate)
