"""Migrations: upgrading a database to the tables of this version.

Alembic is imported only where it is used: loading it takes longer than most commands take to run.
"""

from pathlib import Path
from typing import Any

from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, Engine, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from warehouse.errors import Busy, KontorError
from warehouse.postgres.database import service_url
from warehouse.runtime import patience

FOLDER = Path(__file__).parent / "migrations"
LOCK = 7_001_001
LOCK_SECONDS = 2
PAUSES_SECONDS = (1, 2, 4, 8, 15, 30)


def upgrade(migration_url: str, service_role: str | None) -> tuple[str | None, str]:
    """Runs the missing migrations as the owner of the tables and grants them to the role of the service; returns the revisions
    before and after.

    Requests go on meanwhile. A migration that waits for a table blocks everybody who comes after it, so it waits for a moment
    only, gives up its place and tries again later.
    """

    def attempt() -> tuple[str | None, str]:
        try:
            return _upgrade(migration_url, service_role)
        except OperationalError as error:
            if isinstance(error.orig, LockNotAvailable):
                raise Busy from error
            raise

    try:
        return patience.retry(attempt, Busy, PAUSES_SECONDS)
    except Busy as error:
        raise KontorError(
            "a transaction holds a table that must be changed; nothing was changed. Find it in pg_stat_activity, end it, and run "
            "'kontor migrate' again"
        ) from error


def _upgrade(migration_url: str, service_role: str | None) -> tuple[str | None, str]:
    """One attempt. A lock lets one process migrate at a time; others wait and then find nothing to do."""
    from alembic import command

    with _engine(migration_url).begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))
        before = _revision(connection)
        command.upgrade(alembic_config(connection), "head")
        if service_role is not None and service_role != connection.scalar(text("SELECT current_user")):
            role = connection.dialect.identifier_preparer.quote(service_role)
            connection.execute(text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"))
            connection.execute(text(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"))
    return before, newest()


def revision(url: str) -> str | None:
    """The revision of a database; None for one without tables."""
    with _engine(url).connect() as connection:
        return _revision(connection)


def require_tables(url: str) -> None:
    """Raises `KontorError` if a database is older than this version. A newer one is fine: old workers run on during upgrades."""
    if (revision(url) or "") < newest():
        raise KontorError("the database does not have this version's tables: run 'kontor migrate'")


def newest() -> str:
    """The revision that this version of the code needs: the number of the last migration."""
    return max(path.name.partition("_")[0] for path in (FOLDER / "versions").glob("[0-9]*.py"))


def bypasses_row_security(url: str) -> bool:
    """Whether row-level security does not apply to the role of an address."""
    with _engine(url).connect() as connection:
        return bool(connection.scalar(text("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")))


def alembic_config(connection: Connection) -> Any:
    """The configuration of Alembic for an open connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    return config


def _revision(connection: Connection) -> str | None:
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    number: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return number


def _engine(url: str) -> Engine:
    return create_engine(service_url(url), poolclass=NullPool, hide_parameters=True)
