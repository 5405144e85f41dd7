"""A simulated world as Parquet files: one folder per table, one file per block of users, in bounded memory."""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import date
from multiprocessing import get_context
from pathlib import Path

import polars as pl

from models.simulator.base.corpus import Corpus
from models.simulator.simulation import simulate

TABLES = ("transactions", "products", "truth", "contracts", "events", "stages", "users")
ROWS_PER_PART = 1 << 21
"""The row numbers of a part start at this times its number, so that they are unique in the folder."""
ROWS_PER_USER_MONTH = 85
"""More rows than a user has in a month on average, so that a part stays below `ROWS_PER_PART`."""
MAX_USERS_PER_PART = 500


@dataclass(frozen=True)
class Plan:
    """The settings of a simulation that is written to files."""

    users: int
    seed: int
    start: date
    months: int
    splits: tuple[str, ...]
    formats: tuple[str, ...]

    @property
    def users_per_part(self) -> int:
        return max(1, min(MAX_USERS_PER_PART, ROWS_PER_PART // (self.months * ROWS_PER_USER_MONTH)))

    @property
    def parts(self) -> int:
        return -(-self.users // self.users_per_part)


class TooManyUsers(ValueError):
    """There are more row numbers than fit into 32 bits."""


@dataclass(frozen=True)
class WrittenPart:
    """The number of a written part, with its users and rows."""

    part: int
    users: int
    rows: int


def write(plan: Plan, folder: Path, processes: int = 2) -> Iterator[WrittenPart]:
    """Writes all parts; yields each when it is written."""
    if plan.parts * ROWS_PER_PART > 1 << 32:
        raise TooManyUsers(f"{plan.users} users do not fit into one folder")
    for table in TABLES:
        (folder / table).mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(write_part, plan, folder, part) for part in range(plan.parts)]
        for job in as_completed(jobs):
            yield job.result()


def write_part(plan: Plan, folder: Path, part: int) -> WrittenPart:
    """Simulates and writes one block of users."""
    first = part * plan.users_per_part
    count = min(plan.users_per_part, plan.users - first)
    corpus = simulate(count, plan.seed, plan.start, plan.months, plan.splits, plan.formats, first_user=first)
    frames = {name: getattr(corpus, name) for name in TABLES}
    frames["truth"] = _renumbered(corpus, part)
    for name, frame in frames.items():
        _replace(frame, folder / name / f"part-{part:05d}.parquet")
    return WrittenPart(part, count, corpus.truth.height)


def _renumbered(corpus: Corpus, part: int) -> pl.DataFrame:
    if corpus.truth.height > ROWS_PER_PART:
        raise TooManyUsers(f"part {part} has {corpus.truth.height} rows")
    return corpus.truth.with_columns((pl.col("row", "refund_of") + pl.lit(part * ROWS_PER_PART, pl.UInt32)).cast(pl.UInt32))


def _replace(frame: pl.DataFrame, path: Path) -> None:
    """Writes under another name first, so that a file is always complete."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        frame.write_parquet(file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
