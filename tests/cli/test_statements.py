"""`kontor statement` and `kontor anonymise`, on files alone: neither needs a database."""

import json
from pathlib import Path

from typer.testing import CliRunner

from api.cli import app
from pipelines.statements.reading import read
from tests.pipelines.statements.samples import OWN, SAMPLES
from tests.pipelines.statements.test_hostile import CAMT

VOLKSBANK = next(sample for sample in SAMPLES if sample.format == "Volksbank")


def test_files_are_shown_and_no_booking(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(CAMT)
    (tmp_path / "b.csv").write_bytes(VOLKSBANK.content.replace(b"-850,00", b"-840,00"))
    result = CliRunner().invoke(app, ["statement", str(tmp_path / "a.xml"), str(tmp_path / "b.csv")], catch_exceptions=False)
    assert result.exit_code == 0
    assert "CAMT.053.001.08" in result.output
    assert "which fit" in result.output
    assert "difference (balance): declared 115000, actual 116000" in result.output
    assert OWN in result.output
    assert "Hausverwaltung" not in result.output


def test_a_file_that_is_no_statement_is_told_with_its_line(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_bytes(VOLKSBANK.content)
    bad.write_bytes(VOLKSBANK.content.replace(b"-850,00", b"viel"))
    result = CliRunner().invoke(app, ["statement", "--json", str(good), str(bad)], catch_exceptions=False)
    assert result.exit_code == 1
    shown = json.loads(result.output)
    assert shown[0]["statements"][0]["lines"] == 2
    assert shown[0]["problem"] is None
    assert shown[1]["problem"] == {"reason": "AMOUNT", "line": 2}
    plain = CliRunner().invoke(app, ["statement", str(bad)], catch_exceptions=False)
    assert "no statement: AMOUNT, line 2" in plain.output.replace("\n", "")


def test_an_anonymised_copy_is_written_and_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "giro.csv"
    file.write_bytes(VOLKSBANK.content)
    result = CliRunner().invoke(app, ["anonymise", str(file)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (statement,) = read((tmp_path / "giro.anonymised.csv").read_bytes())
    assert statement.account.iban != OWN
    assert file.read_bytes() == VOLKSBANK.content
    assert CliRunner().invoke(app, ["anonymise", str(file), "--out", str(file)]).exit_code == 1
    assert file.read_bytes() == VOLKSBANK.content
