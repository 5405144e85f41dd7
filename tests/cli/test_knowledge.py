"""`kontor knowledge`: what it says about tables in order and out of order."""

import json
from pathlib import Path

from typer.testing import CliRunner

from analytics import knowledge
from api.cli import app


def test_the_shipped_tables_are_in_order() -> None:
    result = CliRunner().invoke(app, ["knowledge", "check", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output) == {"version": knowledge.version(), "problems": []}


def test_mistakes_are_listed_and_the_command_fails(tmp_path: Path) -> None:
    (tmp_path / "everyday.csv").write_text("word,kind\nhaus,word\nhaus,word\n")
    result = CliRunner().invoke(app, ["knowledge", "check", "--folder", str(tmp_path)])
    assert result.exit_code == 1
    assert result.output == "everyday.csv:3 word: »haus« stands in line 2 already; merge the two or rename one\n"
