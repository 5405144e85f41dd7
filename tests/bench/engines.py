"""The engines beside each other: 64 real buckets from the ledger to served results, with the same number of processes.

The measure is a plain pool of the standard library, which knows nothing of lost workers. All engines do the same in every round,
one after the other, and must leave the same files and counts. Claims are ratios within one run; that of processor time also holds
while other programs want the same cores. The start of the processes is told apart: it is paid once for any number of buckets.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import psutil
import typer
from rich.console import Console
from rich.table import Table

from pipelines.engine.executors import TaskExecutor, _environment, _limits, open_executor
from pipelines.engine.run import _attempt, _Done, _Job, _run_until_broken
from tests.bench import machine
from tests.support.households import Settled, files_of, settled
from tests.support.whole_way import ready, whole_way
from warehouse.settings import Settings

BUCKETS, SEED = 64, 20261115
PLAIN = "plain pool"
RESULTS = Path(__file__).resolve().parents[2] / "bench" / "engines.json"
Work = Callable[[Callable[[int], Any], int], list[Any]]


class OutputDiffers(Exception):
    """An engine has done something else than it was asked to: no result."""


@dataclass(frozen=True)
class Measured:
    """Seconds of an engine, round by round: until its processes are ready, for all buckets, and those of processors meanwhile."""

    start: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    processors: list[float] = field(default_factory=list)


def main(
    households: Annotated[int, typer.Option(min=BUCKETS, help="Simulated households in the ledger.")] = 128,
    rounds: Annotated[int, typer.Option(min=1, help="Each gives every engine all buckets once.")] = 3,
    workers: Annotated[int, typer.Option(min=1, help="Processes of each engine.")] = len(os.sched_getaffinity(0)),
) -> None:
    """Measures, shows and writes the results."""
    console = Console()
    found = {name: Measured() for name in (PLAIN, "processes", "dask")}
    with (
        tempfile.TemporaryDirectory(prefix="kontor-bench-") as folder,
        console.status("Filling the ledger …") as status,
        settled(Path(folder) / "home", households, SEED) as house,
    ):
        os.environ |= house.told
        outputs = set()
        for number, (name, measured) in product(range(rounds), found.items()):
            status.update(f"Round {number + 1}: {name} …")
            outputs.add(_round(house, Path(folder), name, workers, measured))
    if len(outputs) != 1:
        raise OutputDiffers("the engines leave different files")
    console.print(_table(found, house, workers))
    about = {"bookings": house.bookings, "users": len(house.people), "buckets": BUCKETS, "workers": workers, "rounds": rounds}
    facts = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine.facts(None, fixed_addresses=False)}
    engines = {
        name: asdict(each) | {"ratio_to_plain_pool": _ratios(found[PLAIN].work, each.work)} for name, each in found.items()
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**facts, **about, **engines}, indent=2) + "\n")


def _round(house: Settled, home: Path, name: str, workers: int, measured: Measured) -> str:
    """Lets an engine do all buckets, keeps its seconds, and answers a digest of what it has written."""
    with house.admin() as connection:
        connection.execute("TRUNCATE results")
    begun = time.perf_counter()
    with _plain(workers) if name == PLAIN else _crew(name, workers) as work:
        work(ready, workers)
        measured.start.append(time.perf_counter() - begun)
        begun, used = time.perf_counter(), _processors()
        found = work(whole_way, BUCKETS)
        measured.work.append(time.perf_counter() - begun)
        measured.processors.append(_processors() - used)
    counts = tuple(map(sum, zip(*found, strict=True)))
    served = len({user for user, *_ in house.served()})
    if (*counts, served) != (len(house.people), house.bookings, len(house.people), len(house.people)):
        raise OutputDiffers(f"{name}: users, bookings, results and users served are {(*counts, served)}")
    files = files_of(home / "lake")
    return sha256(b"".join(path.encode() + content for path, content in files.items())).hexdigest()


def _processors() -> float:
    """The processor time of this process and of those that it has started."""
    ours = psutil.Process()
    return float(sum(sum(process.cpu_times()[:2]) for process in (ours, *ours.children(recursive=True))))


@contextmanager
def _plain(workers: int) -> Iterator[Work]:
    with _environment(_limits(workers)), ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield lambda task, count: list(pool.map(task, range(count)))


@contextmanager
def _crew(name: str, workers: int) -> Iterator[Work]:
    """The processes of one of our engines, kept for more than one run, so that their start can be told apart."""
    with open_executor(Settings.model_validate({"engine": name, "engine_workers": workers}), BUCKETS) as crew:
        yield lambda task, count: _run(crew, task, count)


def _run(crew: TaskExecutor, task: Callable[[int], Any], count: int) -> list[Any]:
    jobs = [_Job(number, number) for number in range(count)]
    outcomes = [outcome for _, outcome in _run_until_broken(crew, partial(_attempt, task, None), jobs)]
    return [outcome.value for outcome in outcomes if isinstance(outcome, _Done)]


def _ratios(plain: list[float], other: list[float]) -> list[float]:
    """The rate of an engine to that of the plain pool, round by round."""
    return [round(ours / theirs, 3) for ours, theirs in zip(plain, other, strict=True)]


def _table(found: dict[str, Measured], house: Settled, workers: int) -> Table:
    title = f"{house.bookings:,} bookings of {len(house.people)} users in {BUCKETS} buckets, {workers} processes"
    shown = Table(title=title, title_justify="left")
    for column in ("engine", "start, s", "work, s", "bookings/s", "rate to\nplain pool", "all rounds", "by processor\ntime"):
        shown.add_column(column, justify="left" if column == "engine" else "right")
    for name, measured in found.items():
        ratios, seconds = _ratios(found[PLAIN].work, measured.work), median(measured.work)
        figures = (f"{median(measured.start):.1f}", f"{seconds:.1f}", f"{house.bookings / seconds:,.0f}")
        used = median(_ratios(found[PLAIN].processors, measured.processors))
        shown.add_row(name, *figures, f"{median(ratios):.2f}", ", ".join(f"{ratio:.2f}" for ratio in ratios), f"{used:.2f}")
    return shown


if __name__ == "__main__":
    typer.run(main)
