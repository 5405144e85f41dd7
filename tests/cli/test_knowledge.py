"""`kontor knowledge`: what it says about tables in order and out of order."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analytics import knowledge
from api.cli import app
from warehouse.errors import Invalid


def test_the_shipped_tables_are_in_order() -> None:
    result = CliRunner().invoke(app, ["knowledge", "check", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output) == {"version": knowledge.version(), "problems": []}


def test_mistakes_are_listed_and_the_command_fails(tmp_path: Path) -> None:
    (tmp_path / "everyday.csv").write_text("word,kind\nhaus,word\nhaus,word\n")
    result = CliRunner().invoke(app, ["knowledge", "check", "--folder", str(tmp_path)])
    assert result.exit_code == 1
    assert result.output == "everyday.csv:3 word: »haus« stands in line 2 already; merge the two or rename one\n"


def test_no_service_starts_with_wrong_own_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "partners.csv").write_text("number,name\n1,a\n")
    monkeypatch.setenv("KONTOR_KNOWLEDGE", str(tmp_path))
    checked = CliRunner().invoke(app, ["knowledge", "check"])
    assert checked.exit_code == 1
    assert checked.output.startswith("partners.csv:1 header: write the columns number, system_name")
    for command in ("serve", "worker", "up"):
        refused = CliRunner().invoke(app, [command])
        assert isinstance(refused.exception, Invalid), command
        assert "partners.csv:1 header" in str(refused.exception)
