"""The whole way of a bucket, from stored bookings to stored results: in a module of its own, which has nothing to simulate."""

import analytics  # noqa: F401, I001  before Polars

import os
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import polars as pl

from analytics import tagging
from analytics.frames import CHOICES, RULES
from analytics.suite import analysed
from analytics.tagging import Brain
from models import registry
from models.corpus import Corpus
from pipelines.engine.crews import _environment, _limits
from warehouse import parquet

SCANNED = ("id", "user", "product", "booked_on", "amount_cents", "booking_text", "counterparty_name", "purpose")
"""The columns by which reading is measured: what tagging and analyses read most."""
BOOKINGS, PRODUCTS, RESULTS = "transactions", "products", "results"


def store(corpus: Corpus, folder: Path, buckets: int) -> None:
    """Writes bookings and products as the lake has them, a file for each bucket."""
    for name, frame in ((BOOKINGS, corpus.transactions), (PRODUCTS, corpus.products)):
        (folder / name).mkdir(parents=True)
        parts = frame.with_columns(bucket=pl.col("user").hash() % buckets).partition_by("bucket", as_dict=True, include_key=False)
        for bucket in range(buckets):
            content = parquet.encode(parts.get((bucket,), frame.clear()), {})
            (folder / name / f"{bucket}.parquet").write_bytes(content)
    pl.DataFrame({"as_of": [corpus.as_of]}).write_parquet(folder / "as_of.parquet")


@cache
def brain() -> Brain:
    """What tagging knows. A process keeps it, as the house does."""
    return Brain(registry.shipped())


def ready(folder: Path) -> int:
    """Lets a process load and compile what it needs, on a few bookings; what it learns of their lines is forgotten."""
    bookings, products = _stored(folder, 0)
    _results(bookings.head(2_000), products, folder)
    brain.cache_clear()
    time.sleep(1)  # so that the other process takes the next one
    return os.getpid()


def whole_way(folder: Path, bucket: int) -> tuple[int, int]:
    """Reads, tags, analyses and writes a bucket; answers how many bookings it has, and how many rows were written."""
    bookings, products = _stored(folder, bucket)
    results = _results(bookings, products, folder)
    for name, frame in results.items():
        (folder / RESULTS / f"{name}-{bucket}.parquet").write_bytes(parquet.encode(frame, {}))
    return bookings.height, sum(frame.height for frame in results.values())


def _stored(folder: Path, bucket: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    bookings, products = (pl.read_parquet(folder / name / f"{bucket}.parquet") for name in (BOOKINGS, PRODUCTS))
    return bookings, products


def _results(bookings: pl.DataFrame, products: pl.DataFrame, folder: Path) -> dict[str, pl.DataFrame]:
    tagged = tagging.tag(bookings, products, CHOICES.to_frame(), RULES.to_frame(), brain())
    whole = bookings.hstack(tagged[[name for name in tagged.columns if name not in bookings.columns]])
    day = pl.read_parquet(folder / "as_of.parquet").item()
    as_of = pl.DataFrame({"user": bookings["user"].unique()}).with_columns(as_of=pl.lit(day, pl.Date))
    return {"transaction_tags": tagged, **analysed(whole, products, as_of)}


def scan(folder: Path) -> float:
    """Seconds for reading the columns of all bookings, on all cores."""
    begun = time.perf_counter()
    pl.scan_parquet(folder / BOOKINGS / "*.parquet").select(SCANNED).collect()
    return time.perf_counter() - begun


def work(folder: Path, buckets: int, workers: int) -> tuple[float, int, int]:
    """Seconds for the whole way of all buckets in so many processes, which are ready before; bookings, and rows written."""
    shutil.rmtree(folder / RESULTS, ignore_errors=True)
    (folder / RESULTS).mkdir()
    with _environment(_limits(workers)), ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        list(pool.map(ready, [folder] * workers))
        begun = time.perf_counter()
        counts = list(pool.map(partial(whole_way, folder), range(buckets)))
        seconds = time.perf_counter() - begun
    bookings, written = (sum(column) for column in zip(*counts, strict=True))
    return seconds, bookings, written
