"""The way of a million bookings in 64 buckets: ledger to lake, tags, analyses, served results; cold, after a change of few, and
by Dagster.

All cases run one after the other in one process on one database; claims are ratios between them.
"""

import analytics  # noqa: F401, I001  before Polars

import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import sql
from rich.console import Console
from rich.table import Table
from sqlalchemy import make_url

from analytics.frames import BOOKINGS
from tests.bench import memory
from tests.support.households import Settled, settled
from warehouse.lake.tables import TRANSACTION_TAGS

USERS, SEED = 460, 20261115
CHANGED = 0.01
BOOK_AGAIN = sql.SQL(
    "INSERT INTO transactions (id, tenant_id, user_id, product_id, {columns}) "
    "SELECT gen_random_uuid(), tenant_id, user_id, product_id, {columns} FROM ("
    "SELECT DISTINCT ON (user_id) * FROM transactions WHERE user_id = ANY(%s) ORDER BY user_id, sequence DESC) latest"
).format(columns=sql.SQL(", ").join(map(sql.Identifier, BOOKINGS)))
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "buckets.json"


@dataclass(frozen=True)
class Measured:
    """Seconds of each case, and the memory that they took."""

    bookings: int
    users: int
    export: float
    tags: float
    analyses: float
    publish: float
    again_unchanged: float
    again_few_changed: float
    by_dagster: float
    planned_by_dagster: float
    directly: float
    peak_mebibytes: float

    @property
    def cold(self) -> float:
        return self.export + self.tags + self.analyses + self.publish


def main() -> None:
    """Measures, shows and writes the results."""
    console = Console()
    with (
        tempfile.TemporaryDirectory(prefix="kontor-bench-") as folder,
        console.status("Filling the ledger, and measuring …"),
        settled(Path(folder) / "home", USERS, SEED) as house,
    ):
        os.environ |= house.told | _of_dagster(house, Path(folder))
        found = _measure(house)
    table = Table(
        title=f"{found.bookings:,} bookings of {found.users} users in 64 buckets, peak memory {found.peak_mebibytes:,.0f} MiB"
    )
    for name in ("case", "seconds", "bookings/s", "to cold"):
        table.add_column(name, justify="left" if name == "case" else "right")
    for name, seconds in _cases(found).items():
        table.add_row(name, f"{seconds:.1f}", f"{found.bookings / seconds:,.0f}", f"{seconds / found.cold:.3f}")
    console.print(table)
    share = 1 - found.directly / found.by_dagster
    planned = f"{found.planned_by_dagster:.1f} s before it to write down what is planned"
    console.print(f"Dagster itself: {share:.1%} of its run; {planned}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(asdict(found) | {"date": datetime.now(UTC).isoformat(timespec="seconds")}, indent=2) + "\n")


def _cases(found: Measured) -> dict[str, float]:
    return {
        "export to the lake": found.export,
        "tags": found.tags,
        "analyses": found.analyses,
        "publish": found.publish,
        "all of it, cold": found.cold,
        "again, nothing has changed": found.again_unchanged,
        f"again, {CHANGED:.0%} of users changed": found.again_few_changed,
        "everything anew, in one process": found.directly,
        "everything anew, as a run of Dagster": found.by_dagster,
    }


def _measure(house: Settled) -> Measured:
    import dagster as dg

    from pipelines.assets import charts
    from pipelines.definitions import FIRST, LAST, defs
    from pipelines.results import checks, live, tags
    from pipelines.results import tasks as work

    live.prepare()
    buckets = range(64)

    def timed(*tasks: Callable[..., object], **given: Any) -> float:
        return sum(_seconds(partial(work.run_on_buckets, task, buckets, **given)) for task in tasks)

    def check() -> None:
        """What the assets do beside the steps, without Dagster."""
        own = work._context()
        checks.check_transactions(own.database, own.lake, buckets, len(buckets), tags.NAME)
        checks.check_tags(own.lake, buckets, 0, 0)
        checks.check_analyses(own.lake, buckets)
        charts.bars((own.lake.read(TRANSACTION_TAGS, [bucket], ["category"])["category"] for bucket in buckets), "bookings")

    steps = (work.export_buckets, work.tag_buckets, work.analyse_buckets, work.publish_buckets)
    with memory.peak(os.getpid()) as peak:
        export, tagged, analysed, published = (timed(step) for step in steps)
        unchanged = timed(*steps)
        _touch(house, house.people[: max(1, round(CHANGED * len(house.people)))])
        few = timed(*steps)
        directly = timed(*steps[:3], everything=True) + timed(steps[3]) + _seconds(check)
        with dg.DagsterInstance.from_config(str(ROOT)) as instance:
            config = {
                "ops": {name: {"config": {"everything": True}} for name in ("transactions", "transaction_tags", "analyses")}
            }
            job, over = defs.resolve_job_def("analyses_job"), {FIRST: "000", LAST: "063"}
            begun = time.perf_counter()
            run = job.execute_in_process(run_config=config, instance=instance, tags=over)
            whole, stats = time.perf_counter() - begun, instance.get_run_stats(run.run_id)
            by_dagster = (stats.end_time or 0.0) - (stats.start_time or 0.0)
    figures = export, tagged, analysed, published, unchanged, few, by_dagster, whole - by_dagster, directly, peak.mebibytes
    return Measured(house.bookings, len(house.people), *figures)


def _of_dagster(house: Settled, folder: Path) -> dict[str, str]:
    """What `kontor up` tells Dagster: its events lie in PostgreSQL."""
    address = make_url(house.where.dagster).set(drivername="postgresql+psycopg2").render_as_string(False)
    places = {"KONTOR_DAGSTER_DIR": str(folder), "KONTOR_DAGSTER_LOGS": str(folder)}
    return {"KONTOR_DAGSTER_DATABASE_URL": address, "DAGSTER_EVENT_BATCH_SIZE": "64", **places}


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _touch(house: Settled, people: list[UUID]) -> None:
    """Each of these users has another booking, like the last one."""
    with house.admin() as connection:
        connection.execute(BOOK_AGAIN, (people,))
        connection.execute("UPDATE users SET revision = revision + 1 WHERE id = ANY(%s)", (people,))


if __name__ == "__main__":
    main()
