"""`kontor backup` and `kontor restore`: what comes back is what was there, except for those who were erased since."""

from pathlib import Path

import psycopg
import pytest
import structlog
from sqlalchemy import make_url
from typer.testing import CliRunner

from api.cli import app
from tests.support.stack import Stack
from warehouse.errors import Invalid
from warehouse.lake.lake import BUCKET_COUNT_FILE, Lake
from warehouse.lake.tables import LANDING
from warehouse.postgres import embedded
from warehouse.postgres.database import Database
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import accesses

BOOKINGS = "SELECT count(*), md5(string_agg(t::text, '' ORDER BY id)) FROM transactions t WHERE user_id = %s"


def kontor(*arguments: str) -> str:
    with structlog.testing.capture_logs():
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_superuser(address: str) -> str:
    return make_url(address).set(drivername="postgresql", username="postgres").render_as_string(hide_password=False)


def bookings(address: str, user: object) -> tuple[object, ...]:
    with psycopg.connect(as_superuser(address)) as connection:
        return connection.execute(BOOKINGS, (user,)).fetchone() or ()


def test_a_restored_house_has_all_but_those_who_were_erased(stack: Stack, homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = stack.tenant()
    customer, erased = tenant.customer(), tenant.customer()
    key, _ = [person.connected("demo2") for person in (customer, erased)]
    for name, value in stack.told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KONTOR_BACKUP_DATABASE_URL", as_superuser(stack.where.service))
    folder, keys = homes / "backup", homes / "keys-apart"
    with pytest.raises(Invalid, match="apart"):
        kontor("backup", str(folder), "--keys", str(folder / "keys"))
    kontor("backup", str(folder), "--keys", str(keys))
    assert not list(folder.rglob("keys.json"))
    assert (folder / "lake" / BUCKET_COUNT_FILE).exists()
    with pytest.raises(Invalid, match="not empty"):
        kontor("backup", str(folder))
    kontor("user", "erase", tenant.name, erased.username, "--yes")

    home = homes / "restored"
    for name in ("KONTOR_DATABASE_URL", "KONTOR_BACKUP_DATABASE_URL"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("KONTOR_HOME", str(home))
    monkeypatch.setenv("KONTOR_TOMBSTONES_FILE", str(stack.home / "tombstones.csv"))  # the newest one, which no restore replaces
    kontor("restore", str(folder), "--keys", str(keys))
    receipts = kontor("user", "erase-again")
    assert str(erased.user_id) in receipts
    settings = Settings()
    with embedded.addresses(settings) as addresses:
        assert bookings(addresses.service, customer.user_id) == bookings(stack.where.service, customer.user_id)
        assert bookings(addresses.service, erased.user_id) == (0, None)
        database = Database(addresses.service, pool=1)
        with database.acting_for(tenant.tenant_id, customer.user_id) as owner:
            login = accesses.credentials(owner, Vault(settings), accesses.find(owner, key))
        database.close()
    assert login["userid"] == "demo2"
    landed = Lake(settings.lake_path).read(LANDING, range(settings.buckets), ["user"])["user"].to_list()
    assert str(customer.user_id) in landed
    assert str(erased.user_id) not in landed
    with pytest.raises(Invalid, match="has tables already"):
        kontor("restore", str(folder))

    damaged = next((folder / "lake").rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(Invalid, match=f"1 files differ.*{damaged.name}"):
        kontor("restore", str(folder))
    (folder / "manifest.json").unlink()
    with pytest.raises(Invalid, match="no complete backup"):
        kontor("restore", str(folder))
