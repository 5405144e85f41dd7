"""Tagging, beside the tools that others use for it: rows per second of processor time, whatever the number of cores.

All cases are measured in one process, in turns. Output is checked, not only timed: the way over distinct lines must say the same
as the way that reads every row, and the compiled scores the same as scikit-learn on equal features.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl
from sklearn.pipeline import Pipeline

from analytics.bank_text import lines
from analytics.frames import CHOICES, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models import registry
from models.simulator import Corpus, simulate
from tests.bench import memory, peers

USERS = 500
SEED = 20261115
TRAINING_ROWS = 1_000
PIPELINE_ROWS = 20_000
PEER_ROWS = 2_000
SLOW_ROWS = 20_000
ROUNDS = 3
STEPS = ROUNDS * 5 + 3
COLD, CACHED, IMPORTER, PIPELINE = "tagging, cold", "tagging, lines known", "smart_importer", "scikit-learn, row by row"
COLD_TWICE = "tagging, cold, twice as many bookings of the same lines"
"""As many bookings for each line as more users would have: the bar is set at eight."""


@dataclass(frozen=True)
class Measured:
    """Rates by case and round, what was tagged, and the memory that it took."""

    rates: dict[str, list[float]]
    rows: int
    distinct: int
    growth_mebibytes: float


class OutputDiffers(AssertionError):
    """The quick way says something else than the slow one."""


def measure(tell: Callable[[str], None]) -> Measured:
    """All cases in turns, after the checks."""
    tell("simulating households")
    corpus = simulate(USERS, SEED)
    tell("checking the quick way against the slow one")
    _check(corpus)
    tell("training the others")
    importer, pipeline = _trained(corpus)
    sample = corpus.transactions.sample(PEER_ROWS, seed=SEED)
    given, texts = peers.entries(sample), peers.raw(sample)
    known, doubled = Tagger(registry.shipped()), twice(corpus)
    _tag(corpus, known)
    cases: dict[str, tuple[int, Callable[[], object]]] = {
        COLD: (corpus.transactions.height, lambda: _tag(corpus, Tagger(registry.shipped()))),
        COLD_TWICE: (2 * corpus.transactions.height, lambda: _tag(doubled, Tagger(registry.shipped()))),
        CACHED: (corpus.transactions.height, lambda: _tag(corpus, known)),
        IMPORTER: (PEER_ROWS, lambda: importer.predict(given)),
        PIPELINE: (PEER_ROWS, lambda: pipeline.predict(texts)),
    }
    rates: dict[str, list[float]] = {name: [] for name in cases}
    before = memory.held(os.getpid())
    with memory.peak(os.getpid()) as peak:
        for _ in range(ROUNDS):
            for name, (rows, work) in cases.items():
                tell(name)
                rates[name].append(rows / _seconds(work))
    distinct = lines.keys(corpus.transactions).n_unique()
    return Measured(rates, corpus.transactions.height, distinct, peak.mebibytes - before)


def _tag(corpus: Corpus, tagger: Tagger) -> pl.DataFrame:
    return tag.tag_bookings(corpus.transactions, corpus.products, CHOICES.to_frame(), RULES.to_frame(), tagger)


def twice(corpus: Corpus) -> Corpus:
    """Every user beside another one with the same bookings."""
    others = [pl.col(name) + "-2" for name in ("user", "product")]
    return replace(
        corpus,
        transactions=pl.concat([corpus.transactions, corpus.transactions.with_columns(pl.col("id") + "-2", *others)]),
        products=pl.concat([corpus.products, corpus.products.with_columns(others)]),
    )


def _trained(corpus: Corpus) -> tuple[peers.SmartImporter, Pipeline]:
    rows = corpus.transactions.with_columns(corpus.truth["category"]).sample(PIPELINE_ROWS, seed=1)
    few = rows.head(TRAINING_ROWS)
    return peers.SmartImporter(few, few["category"]), peers.char_pipeline(rows, rows["category"])


def _seconds(work: Callable[[], object]) -> float:
    """Processor time, of all threads."""
    started = time.process_time()
    work()
    return time.process_time() - started


def _check(corpus: Corpus) -> None:
    """Tagging every row gives what tagging distinct lines gives."""
    rows = corpus.transactions.head(SLOW_ROWS)
    tagger = Tagger(registry.shipped())
    slow = tag.tag_each_line(lines.read(rows), tagger)
    keyed = rows.select(lines.keys(rows))
    first = rows.with_columns(keyed["key"]).unique("key", keep="first", maintain_order=True).drop("key")
    quick = keyed.join(tag.tag_lines(lines.read(first), tagger), on="key", how="left", maintain_order="left")
    if not quick.select(slow.columns).equals(slow):
        raise OutputDiffers(f"of {SLOW_ROWS} rows some are tagged differently by the two ways")
