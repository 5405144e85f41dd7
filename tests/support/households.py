"""Houses with simulated households in their ledger, for tests and benchmarks of what is done with buckets."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import polars as pl
import psycopg
from sqlalchemy import make_url

from analytics.frames import BOOKINGS
from models.simulator import Corpus, simulate
from tests.support.databases import migrated_database
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.embedded import Addresses
from warehouse.postgres.tables import Access, Product
from warehouse.secrets.vault import Vault, create_ring
from warehouse.settings import Settings
from warehouse.stores import accesses, providers, users
from warehouse.stores.provisioning import create_tenant

DEMO = UUID(int=0)
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Settled:
    """A house in which households live: its addresses, their users, how many bookings they have, and what processes are told."""

    where: Addresses
    people: list[UUID]
    bookings: int
    told: dict[str, str]

    def served(self) -> list[tuple[Any, ...]]:
        """What lies ready for the API, of all users."""
        with self.admin() as connection:
            return connection.execute("SELECT user_id, name, revision, knowledge, content FROM results ORDER BY 1, 2").fetchall()

    def admin(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection that no row-level security holds."""
        return psycopg.connect(admin_address(self.where))


@contextmanager
def settled(home: Path, households: int, seed: int, **told: str) -> Iterator[Settled]:
    """A house with its own database while the block runs. The lake is empty: nothing has been worked on."""
    settings = Settings(_env_file=None, home=home)
    with migrated_database(settings) as where:
        create_ring(settings.keys_path)
        corpus = simulate(households, seed)
        people = fill(settings, where, corpus)
        environment = {"KONTOR_HOME": str(settings.home), "KONTOR_DATABASE_URL": where.service, **told}
        yield Settled(where, people, corpus.transactions.height, environment)


def files_of(lake: Path) -> dict[str, bytes]:
    """Every file of a lake, by its path."""
    return {str(path.relative_to(lake)): path.read_bytes() for path in sorted(lake.rglob("*")) if path.is_file()}


def fill(settings: Settings, where: Addresses, corpus: Corpus) -> list[UUID]:
    """Puts the simulated households into the ledger; answers their users."""
    database = Database(where.service, pool=2)
    names = corpus.products["user"].unique(maintain_order=True).to_list()
    with database.operating() as operator:
        new = create_tenant(operator, Vault(settings), "bench", NOW, regulated=True)
        own = operator.for_tenant(new.tenant.id)
        ids = {name: users.create(own, f"user-{number}", "-").id for number, name in enumerate(names)}
        for id_ in ids.values():
            accesses.record_refresh_day(Owner(operator.session, new.tenant.id, id_), corpus.as_of)
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
    out = io.BytesIO()
    frame.write_csv(out, include_header=False)
    with psycopg.connect(admin_address(where)) as connection, connection.cursor() as cursor:
        with cursor.copy(f"COPY transactions ({', '.join(frame.columns)}) FROM STDIN (FORMAT csv)") as copy:
            copy.write(out.getvalue())
        cursor.execute("ANALYZE transactions")


def admin_address(where: Addresses) -> str:
    """The address of the server for its superuser."""
    return make_url(where.migration).set(username="postgres").render_as_string(hide_password=False)
