"""PostgreSQL with all tables for tests that need a server of their own: set up once in each process, then copied.

Nothing is forced to the disk, since no test pulls the plug: what a killed server has written, the kernel still has. How a server
comes about from nothing is seen by the tests of `kontor up`, what migrations do by their own.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from warehouse.postgres import embedded, migrate
from warehouse.postgres.embedded import Addresses
from warehouse.runtime import files
from warehouse.settings import Settings

UNUSED_DATABASE = "unused"
"""A copy of the service's database to which nobody ever connects: only such a one can be copied while the server runs."""
UNFORCED = ("fsync", "full_page_writes")


@contextmanager
def migrated_database(settings: Settings) -> Iterator[Addresses]:
    """The addresses of the server of a data directory, which runs while the block does."""
    files.make_folder(settings.home)
    subprocess.run(["cp", "-a", _template(settings.home.parent), settings.home / "postgres"], check=True)
    with embedded.addresses(settings) as where:
        yield where


@cache
def _template(folder: Path) -> Path:
    """The files of a server with all tables that has stopped."""
    settings = Settings(_env_file=None, home=folder / "template", database_url=None)
    with embedded.addresses(settings) as where:
        migrate.upgrade(where.migration, make_url(where.service).username)
        admin = make_url(where.service).set(username="postgres", database="postgres").render_as_string(hide_password=False)
        with psycopg.connect(admin, autocommit=True) as connection:
            for name in UNFORCED:
                connection.execute(f"ALTER SYSTEM SET {name} = off")
            connection.execute(f"CREATE DATABASE {UNUSED_DATABASE} TEMPLATE kontor OWNER {embedded.OWNER}")
    data = settings.home / "postgres"
    (data / embedded.USERS_FILE).unlink(missing_ok=True)
    return data
