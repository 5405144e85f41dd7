"""Cost per user against users: one house that grows by simulated households, from the demo bank to served results.

At each size the new households are loaded by all cores (`kontor simulate --into`: users, accesses, fetches, landing, ledger),
then everything is exported, tagged, analysed and published anew by each engine. Cost is processor time of our processes as well
as wall time, since other programs may want the same cores. The memory is the most that any of our processes held, PostgreSQL
apart.
"""

import analytics  # noqa: F401, I001  before Polars

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import psutil
import psycopg
import typer
from rich.console import Console
from rich.table import Table

from pipelines.engine.executors import keeping_executor
from tests.support.databases import migrated_database
from tests.support.households import admin_address
from warehouse.errors import KontorError
from warehouse.postgres.database import Database
from warehouse.runtime import logs
from warehouse.secrets.vault import Vault, create_ring
from warehouse.settings import Settings
from warehouse.stores.provisioning import create_tenant

SIZES = "2000,8000,20000"
MAX_GROWTH, MAX_MEBIBYTES = 1.15, 2048
MAX_SHARE = 0.6
"""Of the time of the first engine that another one may take."""
LOAD = "load"
STEPS = (LOAD, "export", "tags", "analyses", "publish")
LOOK_SECONDS = 0.2
WIDTH = 150
RESULTS = Path(__file__).resolve().parents[2] / "bench" / "scale.json"
PICTURE = Path("docs/images/scale.png")


class Missed(KontorError):
    """Cost per user, memory or the time of an engine are beyond their bars."""


@dataclass(frozen=True)
class Step:
    """What a step took: the users of whom it did something, seconds, seconds of processors, and the most that a process held."""

    users: int
    seconds: float
    processors: float
    mebibytes: float

    @property
    def milliseconds(self) -> float:
        """Of wall time for each user."""
        return 1000 * self.seconds / self.users


@dataclass(frozen=True)
class Size:
    """The measured steps with this number of users, computed by an engine."""

    users: int
    bookings: int
    steps: dict[str, Step]
    engine: str = "inline"

    @property
    def milliseconds(self) -> float:
        """Of wall time for each user, all steps together."""
        return sum(step.milliseconds for step in self.steps.values())

    @property
    def processor_milliseconds(self) -> float:
        """The same of processor time."""
        return sum(1000 * step.processors / step.users for step in self.steps.values())

    @property
    def seconds(self) -> float:
        """Of wall time for the steps of the engine, which does not load."""
        return sum(step.seconds for name, step in self.steps.items() if name != LOAD)

    @property
    def mebibytes(self) -> float:
        """The most that a process held in any step."""
        return max(step.mebibytes for step in self.steps.values())


def main(
    users: Annotated[str, typer.Option(help="Numbers of users, rising, separated by commas.")] = SIZES,
    months: Annotated[int, typer.Option(min=1, max=36, help="Months of bookings of each household.")] = 36,
    buckets: Annotated[int, typer.Option(min=1, help="Buckets of the house.")] = 64,
    engines: Annotated[
        str, typer.Option(help="Engines, separated by commas: inline, processes, dask. Sizes after the first use the first.")
    ] = "inline",
    picture: Annotated[Path, typer.Option(help="Where the picture is drawn.")] = PICTURE,
    results: Annotated[Path, typer.Option(help="Where the figures are written.")] = RESULTS,
    strict: Annotated[bool, typer.Option("--strict", help="Fail if a bar is missed.")] = False,
) -> None:
    """Measures, shows, draws and writes the results, after each size those that there are."""
    logs.configure("WARNING")
    console, measured = Console(width=WIDTH), []
    numbers = sorted(int(number) for number in users.split(","))
    results.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kontor-scale-") as folder:
        for size in measure(Path(folder), numbers, months, buckets=buckets, engines=tuple(engines.split(","))):
            measured.append(size)
            facts = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "months": months, "buckets": buckets}
            results.write_text(json.dumps(facts | {"sizes": [asdict(one) for one in measured]}, indent=2) + "\n")
            console.print(table(measured, months))
    draw([size for size in measured if size.engine == measured[0].engine], months, picture)
    misses = misses_of(measured)
    for miss in misses:
        console.print(f"[red]{miss}[/]", highlight=False)
    if misses and strict:
        raise Missed("; ".join(misses))


def measure(
    folder: Path, users: list[int], months: int, *, buckets: int = 64, engines: tuple[str, ...] = ("inline",)
) -> Iterator[Size]:
    """A house in a folder that grows to each of these numbers of users. At the first one it is measured with all engines, at the
    others with the first engine.
    """
    settings = Settings(_env_file=None, home=folder / "home", database_url=None, migration_url=None, lake=None)
    with migrated_database(settings) as where:
        create_ring(settings.keys_path)
        environment = {
            "KONTOR_HOME": str(settings.home),
            "KONTOR_LAKE": settings.lake_path,
            "KONTOR_DATABASE_URL": where.service,
            "KONTOR_BUCKETS": str(buckets),
        }
        with _environment(environment):
            settings = Settings(_env_file=None)
            database = Database(where.service, pool=1)
            with database.operating() as operator:
                tenant = create_tenant(operator, Vault(settings), "scale", datetime.now(UTC), regulated=True).tenant.id
            database.close()
            since, before = _first_day(datetime.now(UTC).date(), months), 0
            with psycopg.connect(admin_address(where), autocommit=True) as admin:
                for number in users:
                    load = _loaded(settings, tenant, since, number, number - before)
                    admin.execute("ANALYZE")
                    for engine in engines if before == 0 else engines[:1]:
                        with _environment({"KONTOR_ENGINE": engine}), keeping_executor():
                            size = _measured(admin, settings, number, load, engine)
                        yield size
                    before = number


def _loaded(settings: Settings, tenant: UUID, since: date, users: int, new: int) -> Step:
    """A house that has grown to this number of users, of which some are new."""
    from pipelines import simulated_users

    by_all_cores = settings.model_copy(update={"engine": "processes", "log_level": "WARNING"})
    return step(lambda: list(simulated_users.load(tenant, users, since, by_all_cores)), new)


def _measured(admin: psycopg.Connection[tuple[Any, ...]], settings: Settings, users: int, load: Step, engine: str) -> Size:
    """The steps of an engine for all users."""
    from pipelines.results import live, tasks

    live.prepare()
    everyone = range(settings.buckets)

    def anew(task: Callable[..., object], **options: Any) -> Callable[[], object]:
        return partial(tasks.run_on_buckets, task, everyone, **options)

    admin.execute("TRUNCATE results")
    ways = {
        "export": anew(tasks.export_buckets, everything=True),
        "tags": anew(tasks.tag_buckets, everything=True),
        "analyses": anew(tasks.analyse_buckets, everything=True),
        "publish": anew(tasks.publish_buckets),
    }
    steps = {LOAD: load} | {name: step(way, users) for name, way in ways.items()}
    row = admin.execute("SELECT (SELECT count(*) FROM transactions), (SELECT count(DISTINCT user_id) FROM results)").fetchone()
    if row is None or row[1] != users:
        raise Missed(f"{users} users were loaded, results of {row and row[1]} are served")
    return Size(users, row[0], steps, engine)


def _first_day(today: date, months: int) -> date:
    """The first day of the earliest of this number of months, of which the last one is the current one."""
    month = today.year * 12 + today.month - months
    return date(month // 12, month % 12 + 1, 1)


def step(work: Callable[[], object], users: int) -> Step:
    """What some work for these users takes."""
    over, most_bytes = threading.Event(), 0
    before, begun = _usage()[0], time.perf_counter()
    seconds = dict(before)

    def look() -> None:
        nonlocal most_bytes
        while True:
            used_seconds, held_bytes = _usage()
            seconds.update(used_seconds)
            most_bytes = max(most_bytes, held_bytes)
            if over.wait(LOOK_SECONDS):
                return

    thread = threading.Thread(target=look)
    thread.start()
    try:
        work()
    finally:
        over.set()
        thread.join()
    return Step(users, time.perf_counter() - begun, sum(seconds.values()) - sum(before.values()), most_bytes / 2**20)


def _usage() -> tuple[dict[int, float], int]:
    """The processor seconds of each of our processes until now, and the most memory that one of them holds, in bytes; PostgreSQL
    apart.
    """
    ours = psutil.Process()
    seconds, most_bytes = {}, 0
    for process in (ours, *ours.children(recursive=True)):
        try:
            if process.name() != "postgres":
                seconds[process.pid] = sum(process.cpu_times()[:2])
                most_bytes = max(most_bytes, process.memory_info().rss)
        except psutil.NoSuchProcess:  # it has ended meanwhile
            continue
    return seconds, most_bytes


def misses_of(measured: list[Size]) -> list[str]:
    """What has grown beyond its bar from the first to the last size, and engines that gain too little over the first one."""
    first = measured[0]
    last = [size for size in measured if size.engine == first.engine][-1]
    growth = last.processor_milliseconds / first.processor_milliseconds
    misses = [f"processor time per user grew to {growth:.2f} times that of {first.users:,} users"] if growth > MAX_GROWTH else []
    growth = last.milliseconds / first.milliseconds
    misses += [f"time per user grew to {growth:.2f} times that of {first.users:,} users"] if growth > MAX_GROWTH else []
    misses += [
        f"{size.users:,} users, {size.engine}: {size.mebibytes:,.0f} MiB" for size in measured if size.mebibytes > MAX_MEBIBYTES
    ]
    shares = [(size, share_of(size, measured)) for size in measured]
    return misses + [
        f"{size.users:,} users: {size.engine} takes {share:.2f} of the time of {first.engine}"
        for size, share in shares
        if size.engine != first.engine and share > MAX_SHARE
    ]


def share_of(size: Size, measured: list[Size]) -> float:
    """The time of the steps of an engine, as a share of that of the first engine for as many users."""
    return size.seconds / next(one.seconds for one in measured if one.users == size.users)


def table(measured: list[Size], months: int) -> Table:
    """Milliseconds for each user by step, memory, and the time without loading as a share of that of the first engine."""
    shown = Table(title=f"Cost per user, {months} months of bookings", title_justify="left")
    last_columns = ("all, ms", "processors, ms", "most memory, MiB", "share of time")
    columns = ("users", "bookings", "engine", *(f"{name}, ms" for name in STEPS), *last_columns)
    for column in columns:
        shown.add_column(column, justify="right")
    for size in measured:
        each = (f"{size.steps[name].milliseconds:.1f}" for name in STEPS)
        sums = (f"{size.milliseconds:.1f}", f"{size.processor_milliseconds:.1f}", f"{size.mebibytes:,.0f}")
        shown.add_row(f"{size.users:,}", f"{size.bookings:,}", size.engine, *each, *sums, f"{share_of(size, measured):.2f}")
    return shown


def draw(measured: list[Size], months: int, path: Path) -> None:
    """The picture: cost per user by step against users."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=(7, 4), layout="constrained")
    axes = picture.subplots()
    users = [size.users for size in measured]
    axes.stackplot(users, *([size.steps[name].milliseconds for size in measured] for name in STEPS), labels=STEPS, alpha=0.8)
    axes.plot(users, [size.processor_milliseconds for size in measured], "k--", marker="o", label="processor time of all steps")
    axes.set(xlabel="users", ylabel=f"ms for each user, {months} months of bookings", ylim=(0, None), xticks=users)
    axes.legend(loc="lower right")
    FigureCanvasAgg(picture)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, format="png", dpi=96, metadata={"Software": None})


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


if __name__ == "__main__":
    typer.run(main)
