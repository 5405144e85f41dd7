"""The way of a million bookings in 64 buckets: ledger to lake, tags, served results; cold, after a change of few, and by Dagster.

All cases run one after the other in one process on one database; claims are ratios between them.
"""

import io
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
from uuid import UUID, uuid4

import polars as pl
import psycopg
from rich.console import Console
from rich.table import Table
from sqlalchemy import make_url

from analytics.frames import BOOKINGS
from models.corpus import Corpus, simulate
from tests.bench import memory
from warehouse import embedded, migrate, providers, users
from warehouse.database import Database
from warehouse.embedded import Addresses
from warehouse.provisioning import create_tenant
from warehouse.settings import Settings
from warehouse.tables import Access, Product
from warehouse.vault import Vault, create_ring

USERS, SEED = 460, 20261115
CHANGED = 0.01
RESULTS = Path(__file__).resolve().parents[2] / "bench" / "buckets.json"
DEMO = UUID(int=0)
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Measured:
    """Seconds of each case, and the memory that they took."""

    bookings: int
    users: int
    export: float
    tags: float
    publish: float
    again_unchanged: float
    again_few_changed: float
    by_dagster: float
    directly: float
    peak_mebibytes: float

    @property
    def cold(self) -> float:
        return self.export + self.tags + self.publish


def main() -> None:
    """Measures, shows and writes the results."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="kontor-bench-") as folder, console.status("Filling the ledger …"):
        settings = Settings(_env_file=None, home=Path(folder))
        with embedded.addresses(settings) as where:
            create_ring(settings.keys_path)
            migrate.upgrade(where.migration, make_url(where.service).username)
            corpus = simulate(USERS, SEED)
            people = _fill(settings, where, corpus)
            os.environ |= {"KONTOR_HOME": folder, "KONTOR_DATABASE_URL": where.service}
            found = _measure(where, people, corpus.transactions.height)
    table = Table(
        title=f"{found.bookings:,} bookings of {found.users} users in 64 buckets, peak memory {found.peak_mebibytes:,.0f} MiB"
    )
    for name in ("case", "seconds", "bookings/s", "to cold"):
        table.add_column(name, justify="left" if name == "case" else "right")
    for name, seconds in _cases(found).items():
        table.add_row(name, f"{seconds:.1f}", f"{found.bookings / seconds:,.0f}", f"{seconds / found.cold:.3f}")
    console.print(table)
    console.print(f"Dagster itself: {1 - found.directly / found.by_dagster:.1%} of its run")
    RESULTS.write_text(json.dumps(asdict(found) | {"date": datetime.now(UTC).isoformat(timespec="seconds")}, indent=2) + "\n")


def _cases(found: Measured) -> dict[str, float]:
    return {
        "export to the lake": found.export,
        "tags": found.tags,
        "publish": found.publish,
        "all of it, cold": found.cold,
        "again, nothing has changed": found.again_unchanged,
        f"again, {CHANGED:.0%} of users changed": found.again_few_changed,
        "everything anew, in one process": found.directly,
        "everything anew, as a run of Dagster": found.by_dagster,
    }


def _fill(settings: Settings, where: Addresses, corpus: Corpus) -> list[UUID]:
    """Puts the simulated households into the ledger; answers their users."""
    database = Database(where.service, pool=2)
    names = corpus.products["user"].unique(maintain_order=True).to_list()
    with database.operating() as operator:
        new = create_tenant(operator, Vault(settings), "bench", NOW, regulated=True)
        own = operator.for_tenant(new.tenant.id)
        ids = {name: users.create(own, f"user-{number}", "-").id for number, name in enumerate(names)}
        providers.find(operator, DEMO)
        held = {
            name: Access(
                tenant_id=new.tenant.id,
                user_id=ids[name],
                key="bench",
                provider_id=DEMO,
                login_hash=uuid4().bytes,
                sync=True,
                status="COMPLETE",
                fetched_at=NOW,
            )
            for name in names
        }
        operator.session.add_all(held.values())
        operator.session.flush()
        rows = {}
        for ordinal, (name, key, category, iban, owner_name) in enumerate(
            corpus.products.select("user", "product", "category", "iban", "owner_name").iter_rows()
        ):
            rows[name, key] = Product(
                tenant_id=new.tenant.id,
                user_id=ids[name],
                access_id=held[name].id,
                key=key,
                ordinal=ordinal,
                status="COMPLETE",
                category=category,
                name=key,
                owner_name=owner_name or "",
                iban=iban,
                transfer_support=False,
                bulk_transfer_support=False,
                fetched_at=NOW,
            )
        operator.session.add_all(rows.values())
        operator.session.flush()
        places = pl.DataFrame(
            [(name, key, str(row.id), str(row.user_id)) for (name, key), row in rows.items()],
            ["user", "product", "product_id", "user_id"],
            orient="row",
        )
    database.close()
    _copy(where, corpus.transactions.join(places, on=["user", "product"], maintain_order="left"), str(new.tenant.id))
    return list(ids.values())


def _copy(where: Addresses, bookings: pl.DataFrame, tenant: str) -> None:
    """The bookings by COPY, as the server's own superuser."""
    frame = bookings.select(
        id=pl.Series([str(uuid4()) for _ in range(bookings.height)]),
        tenant_id=pl.lit(tenant),
        user_id="user_id",
        product_id="product_id",
        **{name: pl.col(name) for name in BOOKINGS},
    )
    address = make_url(where.migration).set(username="postgres").render_as_string(hide_password=False)
    out = io.BytesIO()
    frame.write_csv(out, include_header=False)
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        with cursor.copy(f"COPY transactions ({', '.join(frame.columns)}) FROM STDIN (FORMAT csv)") as copy:
            copy.write(out.getvalue())
        cursor.execute("ANALYZE transactions")


def _measure(where: Addresses, people: list[UUID], bookings: int) -> Measured:
    import dagster as dg

    from pipelines import checks, tags, work
    from pipelines.definitions import FIRST, LAST, defs

    tags.prepare()
    buckets = range(64)

    def timed(*tasks: Callable[..., object], **given: Any) -> float:
        return sum(_seconds(partial(work.on_buckets, task, buckets, **given)) for task in tasks)

    def check() -> None:
        house = work._house()
        checks.of_transactions(house.database, house.lake, buckets, len(buckets), tags.NAME)
        checks.of_tags(house.lake, buckets, {}, {})

    steps = (work.export_bucket, work.tag_bucket, work.publish_bucket)
    with memory.peak(os.getpid()) as peak:
        export, tagged, published = (timed(step) for step in steps)
        unchanged = timed(*steps)
        _touch(where, people[: max(1, round(CHANGED * len(people)))])
        few = timed(*steps)
        directly = timed(*steps[:2], everything=True) + timed(steps[2]) + _seconds(check)
        with dg.DagsterInstance.ephemeral() as instance:
            config = {"ops": {name: {"config": {"everything": True}} for name in ("transactions", "transaction_tags")}}
            job, over = defs.resolve_job_def("analyses_job"), {FIRST: "000", LAST: "063"}
            by_dagster = _seconds(partial(job.execute_in_process, run_config=config, instance=instance, tags=over))
    return Measured(bookings, len(people), export, tagged, published, unchanged, few, by_dagster, directly, peak.mebibytes)


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _touch(where: Addresses, people: list[UUID]) -> None:
    address = make_url(where.migration).set(username="postgres").render_as_string(hide_password=False)
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE users SET revision = revision + 1 WHERE id = ANY(%s)", (people,))


if __name__ == "__main__":
    main()
