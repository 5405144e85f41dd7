"""Writing a world: whole files, numbered through, and the command that does it."""

import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from api.cli import app
from models.simulator.base.banks import FORMATS
from models.simulator.base.splits import SPLITS
from models.simulator.write import ROWS_PER_PART, TABLES, Plan, TooManyUsers, write, write_part

PLAN = Plan(users=6, seed=2, start=date(2024, 1, 1), months=12, splits=SPLITS, formats=FORMATS)


def test_parts_are_whole_files_of_every_table(tmp_path: Path) -> None:
    for table in TABLES:
        (tmp_path / table).mkdir()
    written = write_part(PLAN, tmp_path, 0)
    for table in TABLES:
        assert [path.name for path in (tmp_path / table).iterdir()] == ["part-00000.parquet"]
    assert pl.read_parquet(tmp_path / "transactions" / "*.parquet").height == written.rows


def test_rows_of_different_parts_have_different_numbers(tmp_path: Path) -> None:
    for table in TABLES:
        (tmp_path / table).mkdir()
    write_part(Plan(users=503, seed=2, start=date(2024, 1, 1), months=12, splits=SPLITS, formats=FORMATS), tmp_path, 1)
    truth = pl.read_parquet(tmp_path / "truth" / "*.parquet")
    assert set(truth["user"]) == {500, 501, 502}
    assert truth["row"].min() == ROWS_PER_PART
    assert truth["refund_of"].drop_nulls().is_in(truth["row"].implode()).all()


def test_more_users_than_numbers_are_refused(tmp_path: Path) -> None:
    many = Plan(users=2_000_000, seed=2, start=date(2024, 1, 1), months=39, splits=SPLITS, formats=FORMATS)
    with pytest.raises(TooManyUsers):
        next(write(many, tmp_path))


def test_the_command_writes_a_world(tmp_path: Path) -> None:
    arguments = [
        "simulate",
        "--users",
        "5",
        "--months",
        "12",
        "--out",
        str(tmp_path),
        "--formats",
        "ing,card_statement",
        "--json",
    ]
    done = CliRunner().invoke(app, [*arguments, "--processes", "1"])
    assert done.exit_code == 0, done.output
    assert "bookings of 5 users" in json.dumps(json.loads(done.stdout))
    assert set(pl.read_parquet(tmp_path / "truth" / "*.parquet")["format"]) <= {"ing", "card_statement"}
