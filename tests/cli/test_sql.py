"""`kontor sql`, without a database."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from api.cli import app
from warehouse.errors import BackfillNeeded, Invalid
from warehouse.lake import landing
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.tables import LANDING, TABLES, TRANSACTIONS, USERS

USER = pl.DataFrame(
    {"user": ["anna", "bert", None], "tenant": ["t", "[/red]", "\x1b[31mt"], "revision": [1, 2, 3]}
    | dict.fromkeys(("as_of", "serial"), [None] * 3),
    schema=USERS.schema,
)


def kontor(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setenv("KONTOR_HOME", str(tmp_path))
    lake = Lake(str(tmp_path / "lake"))
    lake.write(USERS, 17, USER, {})
    return lake


def test_an_answer_is_a_table() -> None:
    shown = kontor("sql", "select user, revision * 2 as twice from users where user = 'bert'")
    assert shown.splitlines()[3].strip("│ ").replace("│", " ").split() == ["bert", "4"]
    assert "twice" in shown


def test_texts_are_shown_as_they_are_and_no_terminal_obeys_them() -> None:
    shown = kontor("sql", "select tenant from users order by revision")
    assert "[/red]" in shown
    assert "\x1b" not in shown
    assert "�[31mt" in shown


def test_only_the_first_rows_are_printed_and_the_others_counted() -> None:
    assert "2 more rows" in kontor("sql", "from users", "--limit", "1")
    assert "more rows" not in kontor("sql", "from users", "--limit", "3")
    shown = kontor("sql", "select * from range(200000)")
    assert "199950 more rows" in shown
    assert len(shown.splitlines()) < 60


def test_an_answer_can_be_written_to_a_file(tmp_path: Path) -> None:
    for suffix, read in (("csv", pl.read_csv), ("json", pl.read_json), ("parquet", pl.read_parquet)):
        out = tmp_path / f"answer.{suffix}"
        assert "Wrote 3 rows" in kontor("sql", "select user, revision, bucket from users", "--out", str(out))
        assert read(out)["revision"].to_list() == [1, 2, 3]
        assert read(out)["bucket"].to_list() == [17, 17, 17]


def test_scripts_read_the_answer_from_the_output() -> None:
    query = "select user, revision from users where user is not null"
    assert json.loads(kontor("sql", query, "--format", "json")) == [
        {"user": "anna", "revision": 1},
        {"user": "bert", "revision": 2},
    ]
    assert kontor("sql", query, "--format", "csv") == "user,revision\nanna,1\nbert,2\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select * from userz"], "Did you mean .*users(.|\n)*The tables are landing, transactions"),
        (["selec 1"], "syntax error"),
        (["select 1 / 'x'"], "Conversion Error"),
        (["select * from read_text('/etc/passwd')"], "disabled by configuration"),
        (["copy users to 'users.csv'"], "one query is taken"),
        (["from users", "--format", "parquet"], "use --out"),
        (["from users", "--out", "users.txt"], "use --format"),
        (["from users", "--out", "/no/such/folder.csv"], "cannot be written"),
        (["select [1, 2] as pair", "--format", "csv"], "cast nested columns"),
        (["select interval 1 day as pause", "--format", "csv"], "cast it to varchar"),
    ],
)
def test_what_cannot_be_answered_is_said_with_what_to_do(arguments: list[str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        kontor("sql", *arguments)


def test_a_wrong_query_ends_with_code_1_and_no_traceback(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from api.cli import main; main()", "sql", 'select * from "[/red]"'],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert "[/red]" in run.stderr


def test_without_a_query_the_tables_are_listed(lake: Lake) -> None:
    landing.append(lake, LANDING, "2026-11-15T06", 1, "a", LANDING.schema.to_frame())
    found = {row["table"]: row for row in json.loads(kontor("sql", "--format", "json"))}
    assert list(found) == [table.name for table in TABLES]
    assert (found["users"]["rows"], found["users"]["buckets"]) == (3, 1)
    assert found["transactions"]["rows"] == 0
    assert found["landing"]["columns"][-2:] == ["bucket", "slot"]
    assert "transaction_tags" in kontor("sql")


def test_a_table_that_needs_a_backfill_stops_only_questions_to_it(lake: Lake) -> None:
    lake.write(LakeTable("transactions", USERS.schema), 4, USER, {})
    assert "anna" in kontor("sql", "select user from users")
    with pytest.raises(BackfillNeeded, match="backfill transactions"):
        kontor("sql", f"select count(*) from {TRANSACTIONS.name}")


def test_without_a_lake_every_table_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(tmp_path / "nothing"))
    assert json.loads(kontor("sql", "select count(*) as rows from transactions", "--format", "json")) == [{"rows": 0}]
    assert not (tmp_path / "nothing").exists()


def test_the_schema_tells_what_columns_mean() -> None:
    rows = json.loads(kontor("lake", "schema", "transactions", "--json"))
    amount = next(row for row in rows if row["column"] == "amount_cents")
    assert amount == {
        "table": "transactions",
        "column": "amount_cents",
        "type": "Int64",
        "meaning": "Amount in cents of the currency; spending is negative",
    }
    with pytest.raises(Invalid, match="there are landing, transactions"):
        kontor("lake", "schema", "nothing")
