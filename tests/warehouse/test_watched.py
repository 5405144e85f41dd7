"""What people on call watch beside work: ages of secrets, dialogues that do not end, and how sure tags are."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from tests.support.databases import migrated_database
from warehouse.postgres import watched
from warehouse.postgres.database import Database
from warehouse.secrets.vault import Vault, create_ring
from warehouse.settings import Settings
from warehouse.stores.provisioning import create_tenant


@pytest.fixture(scope="module")
def settings(homes: Path) -> Settings:
    made = Settings(home=homes / "watched")
    create_ring(made.keys_path)
    return made


@pytest.fixture(scope="module")
def database(settings: Settings) -> Iterator[Database]:
    with migrated_database(settings) as where:
        opened = Database(where.service, pool=1)
        yield opened
        opened.close()


def change(database: Database, statement: str) -> None:
    address = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, options="-c kontor.operator=on") as connection:
        connection.execute(statement)


def read(database: Database, key: str = "k1") -> watched.Watched:
    with database.surveying() as operator:
        return watched.read(operator, key)


def test_an_empty_installation_has_no_ages_and_no_counts(database: Database) -> None:
    assert read(database) == watched.Watched(None, None, 0, 0, 0, 0)


def test_the_age_of_a_key_counts_from_its_first_use(database: Database) -> None:
    with database.operating() as operator:
        watched.note_key(operator, "k1")
    change(database, "UPDATE vault_keys SET first_used_at = now() - interval '10 days'")
    with database.operating() as operator:
        watched.note_key(operator, "k1")
        watched.note_key(operator, "k2")
    assert int((read(database).vault_key_seconds or 0) // 86400) == 10
    assert int((read(database, "k2").vault_key_seconds or 0) // 86400) == 0
    assert read(database, "k3").vault_key_seconds is None


def test_the_oldest_certificate_of_an_active_tenant_counts(database: Database, settings: Settings) -> None:
    with database.operating() as operator:
        for name in ("one", "two"):
            create_tenant(operator, Vault(settings), name, datetime.now(UTC), regulated=True)
    older = "UPDATE certificates SET created_at = now() - interval '20 days' WHERE tenant_id = "
    change(database, f"{older} (SELECT id FROM tenants WHERE name = 'one')")
    assert int((read(database).certificate_seconds or 0) // 86400) == 20
    change(database, "UPDATE tenants SET active = false WHERE name = 'one'")
    assert int((read(database).certificate_seconds or 0) // 86400) == 0


def test_buckets_that_are_tagged_again_replace_their_counts(database: Database) -> None:
    with database.operating() as operator:
        watched.put_tag_states(operator, {})
        watched.put_tag_states(operator, {1: (100, 9), 2: (50, 1)})
        watched.put_tag_states(operator, {1: (120, 6)})
    state = read(database)
    assert (state.tagged_bookings, state.unsure_bookings) == (170, 7)
