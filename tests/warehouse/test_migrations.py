"""Migrations: they make the tables that the code describes, once, however many run them."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import NullPool, create_engine, make_url

from tests.support.stack import Stack
from warehouse.errors import KontorError
from warehouse.postgres import embedded, migrate
from warehouse.postgres.database import service_url
from warehouse.postgres.tables import Base


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Whether a table is described by our code, and not by the job queue's."""
    return kind != "table" or not (name or "").startswith("procrastinate_")


def test_the_tables_are_those_of_the_code(stack: Stack) -> None:
    with create_engine(service_url(stack.where.migration), poolclass=NullPool).connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": is_ours})
        assert compare_metadata(context, Base.metadata) == []


def test_migrating_at_the_same_time_is_safe(stack: Stack) -> None:
    admin = make_url(stack.where.service).set(username="postgres", database="postgres").render_as_string(hide_password=False)
    fresh = make_url(stack.where.migration).set(username="postgres", database="fresh").render_as_string(hide_password=False)
    embedded.ensure_database(fresh, beside=admin)
    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(lambda _: migrate.upgrade(fresh, "kontor"), range(3)))
    assert sorted(before or "" for before, _ in outcomes) == ["", migrate.newest(), migrate.newest()]
    assert migrate.revision(fresh) == migrate.newest()


def test_the_newest_revision_is_the_one_that_alembic_ends_at(stack: Stack) -> None:
    with create_engine(service_url(stack.where.migration), poolclass=NullPool).connect() as connection:
        assert ScriptDirectory.from_config(migrate.alembic_config(connection)).get_current_head() == migrate.newest()


def test_an_older_version_runs_on_a_newer_database(stack: Stack) -> None:
    admin = make_url(stack.where.service).set(username="postgres", database="postgres").render_as_string(hide_password=False)
    address = make_url(admin).set(database="newer").render_as_string(hide_password=False)
    embedded.ensure_database(address, beside=admin)
    with pytest.raises(KontorError, match="kontor migrate"):
        migrate.require_tables(address)
    migrate.upgrade(address, None)
    migrate.require_tables(address)
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    migrate.require_tables(address)


def test_a_role_that_bypasses_row_security_is_noticed(stack: Stack) -> None:
    admin = make_url(stack.where.service).set(username="postgres").render_as_string(hide_password=False)
    assert migrate.bypasses_row_security(admin)
    assert not migrate.bypasses_row_security(stack.where.service)


def test_migrations_go_down_and_up_again(stack: Stack) -> None:
    from alembic import command

    admin = make_url(stack.where.service).set(username="postgres", database="postgres").render_as_string(hide_password=False)
    address = make_url(admin).set(database="updown").render_as_string(hide_password=False)
    embedded.ensure_database(address, beside=admin)
    migrate.upgrade(address, None)
    with create_engine(service_url(address), poolclass=NullPool).begin() as connection:
        command.downgrade(migrate.alembic_config(connection), "base")
    with psycopg.connect(address) as plain:
        left = plain.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'")
        assert left.fetchone() == (0,)
    migrate.upgrade(address, None)
