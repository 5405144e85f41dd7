"""`kontor train`, `kontor evaluate` and `kontor model`, without a database."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from api.cli import app
from models import registry
from models.categoriser.model import Categoriser
from models.evaluation.gates import ANALYSES, GATES
from warehouse.errors import KontorError

GOOD = {"figures": {gate.name: {"value": gate.gate, "low": gate.gate, "high": gate.gate, "rows": 10} for gate in GATES}}


def kontor(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def kontor_json(*arguments: str) -> Any:
    return json.loads(kontor(*arguments, "--json"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KONTOR_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def version(home: Path) -> str:
    """A model in the folder that nobody uses yet."""
    classes = ("LIVING_GROCERIES", "INCOME_SALARY")
    ones, zeros = np.ones(2, np.float32), np.zeros(2, np.float32)
    model = Categoriser("2026.12.1", classes, np.zeros((256, 2), np.int8), ones, zeros, 1.0)
    registry.add(home / "models", model, GOOD)
    return model.version


def used(rows: list[dict[str, str]]) -> list[str]:
    return [row["version"] for row in rows if row["in use"]]


def test_models_are_listed_promoted_and_rolled_back(version: str) -> None:
    assert version in {row["version"] for row in kontor_json("model", "list")}
    assert "is in use" in kontor(
        "model", "promote", version, "--why", "more merchants", "--by", "eva", "--override", "first of its kind"
    )
    assert used(kontor_json("model", "list")) == [version]
    kontor("model", "rollback", "shipped", "--why", "complaints")
    assert used(kontor_json("model", "list")) in ([], ["shipped"])


def test_a_refused_promotion_says_why(home: Path, version: str) -> None:
    path = home / "models" / f"{version}.json"
    poor = json.loads(path.read_text())
    poor["figures"]["category_seen_accuracy"]["value"] = 0.5
    path.write_text(json.dumps(poor))
    with pytest.raises(KontorError, match=r"PromotionRefused: category_seen_accuracy is 0\.5000, the gate is 0\.97"):
        kontor("model", "promote", version, "--why", "hope")


def test_labelled_lines_with_a_mistake_are_refused_before_anything_is_trained(home: Path) -> None:
    path = home / "bank.csv"
    path.write_text("name,amount,category\nImkerei,-12.90,HONEY\n")
    with pytest.raises(KontorError, match=r"LabelledLinesInvalid: bank\.csv: line 2: there is no category HONEY"):
        kontor("train", "--examples", str(path))


def test_an_unknown_model_is_a_fact() -> None:
    with pytest.raises(KontorError, match="ModelUnknown"):
        kontor("evaluate", "--model", "2020.1-nothing")


@pytest.mark.thorough  # the same training by Dagster is in tests/pipelines/test_training.py
def test_a_small_model_is_trained_examined_and_reported(home: Path) -> None:
    made = kontor_json("train", "--users", "10", "--examined", "10", "--looks", "1", "--label", "2027.1.1")
    assert made["version"].startswith("2027.1.1-")
    assert "category_seen_accuracy" in {row["name"] for row in made["gates"]}
    shown = kontor("evaluate", "--model", made["version"], "--users", "10", "--out", str(home / "report"))
    assert "Gates" in shown
    assert made["version"] in (home / "report" / "quality.md").read_text()


@pytest.mark.thorough
def test_analyses_are_examined_and_reported(home: Path) -> None:
    few = ("evaluate", "analyses", "--people", "5", "--seed", "3")
    rows = kontor_json(*few)
    assert [row["name"] for row in rows] == [gate.name for gate in ANALYSES]
    missed = sum(not row["passed"] for row in rows)
    strict = CliRunner().invoke(app, [*few, "--strict", "--out", str(home / "report")], catch_exceptions=False)
    assert strict.exit_code == (1 if missed else 0)
    assert "Analyses of 5 people, seed 3" in strict.output
    assert f"{missed} of {len(rows)} gates are missed." in strict.output
    assert (home / "report" / "analyses-gates.png").read_bytes().startswith(b"\x89PNG")
    assert "| Sales triggers |" in (home / "report" / "analyses.md").read_text()
