"""How PostgreSQL's own programs are called: with the password where no other user of the machine can read it."""

from pathlib import Path

import pytest

from warehouse.postgres import dumps
from warehouse.postgres.embedded import Addresses
from warehouse.settings import Settings

PROGRAM = """#!/bin/sh
echo "$PGPASSWORD" > "$CALLS/password"
echo "$@" > "$CALLS/arguments"
"""
ADDRESS = "postgresql://{role}:s%40crets@db.example.de:5433/kontor?sslmode=require"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the called program notes its password and its arguments."""
    for name in ("pg_dump", "pg_restore"):
        (tmp_path / name).write_text(PROGRAM)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CALLS", str(tmp_path))
    return tmp_path


def test_programs_get_the_password_of_their_role_and_show_it_to_nobody(calls: Path) -> None:
    service, owner, backup = (ADDRESS.format(role=role) for role in ("kontor", "kontor_owner", "kontor_backup"))
    settings = Settings(_env_file=None, home=calls, database_url=service, migration_url=owner, backup_database_url=backup)
    addresses = Addresses(service=service, migration=owner, dagster=service)
    for work, role in ((dumps.dump, "kontor_backup"), (dumps.restore, "kontor_owner")):
        work(settings, addresses, calls / "kontor.dump")
        arguments = (calls / "arguments").read_text()
        assert f"--dbname=postgresql://{role}@db.example.de:5433/kontor?sslmode=require " in arguments
        assert (calls / "password").read_text() == "s@crets\n"
