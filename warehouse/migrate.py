"""Bringing a database to the tables that this version needs."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, NullPool, create_engine, text

from warehouse.database import service_url

FOLDER = Path(__file__).parent / "migrations"
LOCK = 7_001_001


def upgrade(migration_url: str, service_role: str | None) -> tuple[str | None, str]:
    """Runs the missing migrations as the tables' owner and lets the service's role work with them; answers before and after.

    A lock lets only one process migrate at a time; others wait and then find nothing to do.
    """
    config = _config()
    with _engine(migration_url).begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        before = MigrationContext.configure(connection).get_current_revision()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        if service_role is not None and service_role != connection.scalar(text("SELECT current_user")):
            role = connection.dialect.identifier_preparer.quote(service_role)
            connection.execute(text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"))
            connection.execute(text(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"))
    return before, newest()


def revision(url: str) -> str | None:
    """The revision that a database is at."""
    with _engine(url).connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def newest() -> str:
    """The revision that this version of the code needs."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def bypasses_row_security(url: str) -> bool:
    """Whether the role of an address is one that PostgreSQL does not hold to row-level security."""
    with _engine(url).connect() as connection:
        return bool(connection.scalar(text("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")))


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    return config


def _engine(url: str) -> Engine:
    return create_engine(service_url(url), poolclass=NullPool, hide_parameters=True)
