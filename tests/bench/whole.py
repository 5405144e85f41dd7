"""The whole way of buckets, from stored bookings to stored results: in a module of its own, which has nothing to simulate."""

import analytics  # noqa: F401, I001  before Polars

import os
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import polars as pl

from analytics.tagging import tag
from analytics.frames import CHOICES, RULES, TRANSACTIONS, UNREAD_COLUMNS
from analytics.analyses.suite import analyse
from analytics.tagging.tag import Tagger, Scorer
from models import registry
from models.simulator import Corpus
from pipelines.results.buckets import by_bucket
from pipelines.engine.executors import _environment, _limits
from pipelines.results.tasks import group_buckets
from warehouse.lake import parquet

READ = [name for name in TRANSACTIONS if name not in UNREAD_COLUMNS]
"""The columns of a booking that tagging or an analysis looks at. The whole way reads them, and stands beside reading them."""
BOOKINGS, PRODUCTS, RESULTS = "transactions", "products", "results"


def store(corpus: Corpus, folder: Path, buckets: int) -> None:
    """Writes bookings and products as the lake has them, a file for each bucket. Ids are as long as ours: the simulator's short
    ones would be read much faster than any that we store.
    """
    bookings = corpus.transactions.with_columns(_named(corpus.transactions[name]) for name in ("id", "user", "product"))
    products = corpus.products.with_columns(_named(corpus.products[name]) for name in ("user", "product"))
    for name, frame in ((BOOKINGS, bookings), (PRODUCTS, products)):
        (folder / name).mkdir(parents=True)
        place = pl.col("user").rank("dense").cast(pl.Int64) - 1  # buckets are ranges of users
        parts = frame.sort("user", maintain_order=True).with_columns(bucket=place * buckets // frame["user"].n_unique())
        for (bucket,), part in parts.partition_by("bucket", as_dict=True, include_key=False).items():
            (folder / name / f"{bucket}.parquet").write_bytes(parquet.encode(part, {}))
    pl.DataFrame({"as_of": [corpus.as_of]}).write_parquet(folder / "as_of.parquet")


def _named(texts: pl.Series) -> pl.Series:
    """A UUID for each text, the same one wherever it stands."""
    known = texts.unique()
    return texts.replace_strict(known, pl.Series([str(uuid5(NAMESPACE_OID, text)) for text in known]))


@cache
def scorer() -> Scorer:
    """The model. A process keeps it, as the house does."""
    return registry.shipped()


@cache
def tagger() -> Tagger:
    """The tagger with its cache of lines."""
    return Tagger(scorer())


def ready(folder: Path) -> int:
    """Lets a process load and compile what it needs, on a few bookings; what it learns of their lines is forgotten."""
    bookings, products = _stored(folder, [0])
    _results(bookings.head(2_000), products, folder)
    tagger.cache_clear()
    time.sleep(1)  # so that the other process takes the next one
    return os.getpid()


def whole_way(folder: Path, buckets: Sequence[int]) -> tuple[int, int]:
    """Reads, tags and analyses buckets together and writes each; answers how many bookings they have, and how many rows were
    written.
    """
    bookings, products = _stored(folder, buckets)
    last = {bucket: pl.read_parquet(folder / BOOKINGS / f"{bucket}.parquet", columns=["user"])["user"][-1:] for bucket in buckets}
    results = _results(bookings, products, folder)
    for name, frame in results.items():
        for bucket, own in by_bucket(frame, last):
            (folder / RESULTS / f"{name}-{bucket}.parquet").write_bytes(parquet.encode(own, {}))
    return bookings.height, sum(frame.height for frame in results.values())


def _stored(folder: Path, buckets: Sequence[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    bookings, products = (
        pl.read_parquet([folder / name / f"{bucket}.parquet" for bucket in buckets], columns=columns).rechunk()
        for name, columns in ((BOOKINGS, READ), (PRODUCTS, None))
    )
    return bookings, products


def _results(bookings: pl.DataFrame, products: pl.DataFrame, folder: Path) -> dict[str, pl.DataFrame]:
    tagged = tag.tag_bookings(bookings, products, CHOICES.to_frame(), RULES.to_frame(), tagger())
    whole = bookings.hstack(tagged[[name for name in tagged.columns if name not in bookings.columns]])
    day = pl.read_parquet(folder / "as_of.parquet").item()
    as_of = pl.DataFrame({"user": bookings["user"].unique()}).with_columns(as_of=pl.lit(day, pl.Date))
    return {"transaction_tags": tagged, **analyse(whole, products, as_of)}


def scan(folder: Path) -> float:
    """Seconds for reading the same columns of all bookings, on all cores."""
    begun = time.perf_counter()
    pl.scan_parquet(folder / BOOKINGS / "*.parquet").select(READ).collect()
    return time.perf_counter() - begun


def work(folder: Path, buckets: int, workers: int) -> tuple[float, int, int]:
    """Seconds for the whole way of all buckets in so many processes, which are ready before; bookings, and rows written."""
    shutil.rmtree(folder / RESULTS, ignore_errors=True)
    (folder / RESULTS).mkdir()
    sizes = {
        bucket: pl.scan_parquet(folder / BOOKINGS / f"{bucket}.parquet").select(pl.len()).collect().item()
        for bucket in range(buckets)
    }
    pieces = group_buckets(sizes, workers)
    with _environment(_limits(workers)), ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        list(pool.map(ready, [folder] * workers))
        begun = time.perf_counter()
        counts = list(pool.map(partial(whole_way, folder), pieces))
        seconds = time.perf_counter() - begun
    bookings, written = (sum(column) for column in zip(*counts, strict=True))
    return seconds, bookings, written
