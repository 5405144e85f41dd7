"""Calibrating the scorecard of credit risk: what is learned from outcomes, what the gate refuses, what is kept."""

import json
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from analytics.analyses.credit_risk import scorecard
from models.credit_risk import gate, versions
from models.credit_risk.calibration import Calibration
from models.errors import ModelUnknown, ModelUnreadable, NothingToLearn, PromotionRefused

CARD = scorecard()
TENANT = UUID("11111111-1111-4111-8111-111111111111")
DAY = date(2026, 11, 13)
NOW = datetime(2026, 11, 13, 12, tzinfo=UTC)
TELLING = {"return_debits": 3.0, "debt_service": 2.0, "savings_buffer": 1.5, "income_stability": 1.0}


def outcomes(count: int = 800, seed: int = 5, strength: float = 1.0, against: dict[str, float] | None = None) -> pl.DataFrame:
    """People with points drawn by chance, of whom those with fewer points default more often."""
    chance = np.random.default_rng(seed)
    columns = {signal.name: chance.choice([range_.points for range_ in signal.all_ranges], count) for signal in CARD.signals}
    columns["months_seen"] = np.full(count, 3)
    weights = {**{name: -strength * weight for name, weight in TELLING.items()}, **(against or {})}
    best = {signal.name: signal.max_points for signal in CARD.signals}
    shares = {name: columns[name] / best[name] for name in weights}
    logit = -1.5 + sum(weight * (shares[name] - shares[name].mean()) for name, weight in weights.items())
    defaulted = chance.random(count) < 1 / (1 + np.exp(-logit))
    people = [f"person-{place}" for place in range(count)]
    return pl.DataFrame({"person": people, "outcome": defaulted.astype(np.int64), **columns})


def fitted(points: pl.DataFrame) -> Calibration:
    from models.credit_risk.fitting import calibrate  # loads scikit-learn, in every process that collects tests

    return calibrate(points, CARD, tenant=str(TENANT), scorecard_version="card-1", day=DAY)


@pytest.fixture(scope="module")
def good() -> Calibration:
    return fitted(outcomes())


@pytest.fixture(scope="module")
def poor() -> Calibration:
    return fitted(outcomes(strength=0.0))


def test_it_learns_what_tells_defaults_apart(good: Calibration) -> None:
    strongest = sorted(good.weights, key=lambda name: good.weights[name])[:3]
    assert set(strongest) <= set(TELLING)
    assert good.figures["auc"].value > 0.7
    assert good.figures["gini"].value == pytest.approx(2 * good.figures["auc"].value - 1, abs=1e-5)
    assert good.figures["auc"].low < good.figures["auc"].value < good.figures["auc"].high
    assert good.objections == []


def test_a_signal_without_differences_is_left_out_and_named(good: Calibration) -> None:
    assert good.left_out["months_seen"] == "no differences"
    assert "months_seen" not in good.weights


def test_the_probability_is_that_of_the_outcomes_and_falls_with_points(good: Calibration) -> None:
    points = outcomes()
    probabilities = [good.probability(row) for row in points.select(CARD.names).iter_rows(named=True)]
    assert np.mean(probabilities) == pytest.approx(points["outcome"].mean(), abs=0.01)
    row = points.select(CARD.names).row(0, named=True)
    for signal in CARD.signals:
        few, many = (good.probability({**row, signal.name: number}) for number in (0, signal.max_points))
        assert many <= few


def test_the_figures_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import brier_score_loss, roc_auc_score

    from models.credit_risk.fitting import figure_values

    chance = np.random.default_rng(3)
    truth, predicted = chance.integers(0, 2, 400), chance.random(400)
    values = figure_values(truth, predicted, -predicted)
    assert values["auc"] == pytest.approx(roc_auc_score(truth, predicted))
    assert values["brier"] == pytest.approx(brier_score_loss(truth, predicted))
    assert values["score_auc"] == pytest.approx(values["auc"])
    rates = [[(predicted[truth == kind] <= edge).mean() for edge in predicted] for kind in (0, 1)]
    assert values["ks"] == pytest.approx(np.abs(np.array(rates[0]) - np.array(rates[1])).max())


def test_the_same_outcomes_give_the_same_calibration(good: Calibration) -> None:
    assert fitted(outcomes()) == good


def test_chance_is_refused(poor: Calibration) -> None:
    assert any("AUC" in reason for reason in poor.objections)


def test_too_few_outcomes_are_refused() -> None:
    reasons = fitted(outcomes(120)).objections
    assert f"120 outcomes, at least {gate.MIN_OUTCOMES} are needed" in reasons


def test_outcomes_of_one_kind_teach_nothing() -> None:
    with pytest.raises(NothingToLearn, match="defaults"):
        fitted(outcomes().with_columns(outcome=pl.lit(0, pl.Int64)))


def test_signals_that_count_the_wrong_way_are_left_out_and_too_many_are_refused() -> None:
    wrong = dict.fromkeys([name for name in CARD.names if name not in TELLING][:12], 2.0)
    found = fitted(outcomes(against=wrong))
    assert set(wrong) - {"months_seen"} <= {name for name, reason in found.left_out.items() if reason == gate.WRONG_WAY}
    assert all(weight <= 0 for weight in found.weights.values())
    assert any("count the wrong way" in reason for reason in found.objections)


def test_nobody_is_in_what_is_kept(good: Calibration, tmp_path: Path) -> None:
    text = versions.add(tmp_path / str(TENANT), good).read_text()
    assert "person" not in text
    assert Calibration.model_validate_json(text) == good


def test_the_plot_is_a_picture(good: Calibration) -> None:
    from models.credit_risk.plots import plot

    assert plot(good).startswith(b"\x89PNG")


def test_a_calibration_is_promoted_and_rolled_back(good: Calibration, tmp_path: Path) -> None:
    folder = tmp_path / str(TENANT)
    assert versions.active_version(folder) == "none"
    versions.add(folder, good)
    assert versions.active_version(folder) == "none"
    versions.promote(folder, good.version, by="eva", at=NOW, why="first one")
    assert versions.active_version(folder) == good.version
    versions.roll_back(folder, "none", by="eva", at=NOW, why="complaints")
    assert versions.active_version(folder) == "none"
    versions.roll_back(folder, good.version, by="eva", at=NOW, why="it was not that")
    assert [(entry.before, entry.version) for entry in versions.log(folder)] == [
        ("none", good.version),
        (good.version, "none"),
        ("none", good.version),
    ]


def test_the_gate_refuses_and_a_reason_overrides_it(poor: Calibration, tmp_path: Path) -> None:
    folder = tmp_path / str(TENANT)
    versions.add(folder, poor)
    with pytest.raises(PromotionRefused):
        versions.promote(folder, poor.version, by="eva", at=NOW, why="try", override_reason=" ")
    with pytest.raises(ModelUnknown):
        versions.roll_back(folder, poor.version, by="eva", at=NOW, why="try")
    assert versions.active_version(folder) == "none"
    entry = versions.promote(folder, poor.version, by="eva", at=NOW, why="try", override_reason="a test tenant")
    assert (entry.overridden, entry.why) == (tuple(poor.objections), "try (a test tenant)")


@pytest.mark.parametrize("version", ["../other", "none", "", "a/b", "2026-11-13-00000000"])
def test_what_is_no_version_is_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(ModelUnknown):
        versions.find(tmp_path / str(TENANT), version)


def test_the_calibration_of_another_tenant_is_refused(good: Calibration, tmp_path: Path) -> None:
    versions.add(tmp_path / str(other := uuid4()), good)
    with pytest.raises(ModelUnreadable, match="another tenant"):
        versions.find(tmp_path / str(other), good.version)


@pytest.mark.parametrize(
    "change", [{"weights": {"gambling": 0.5}}, {"intercept": "NaN"}, {"more": 1}, {"weights": {"unheard": -1}}]
)
def test_an_altered_file_is_refused(good: Calibration, tmp_path: Path, change: dict[str, object]) -> None:
    folder = tmp_path / str(TENANT)
    path = versions.add(folder, good)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ModelUnreadable):
        versions.find(folder, good.version)
    with pytest.raises(ValidationError):
        Calibration.model_validate_json(path.read_text())


def test_serving_a_calibration_loads_neither_scikit_learn_nor_matplotlib() -> None:
    code = "import sys, pipelines.results.calibration; print(*sorted({'sklearn', 'joblib', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []
