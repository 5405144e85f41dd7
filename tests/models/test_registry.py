"""Gates, and which model is in use."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from models import registry
from models.categoriser.model import Categoriser
from models.errors import ModelUnknown, ModelUnreadable, PromotionRefused
from models.evaluation.gates import GATES, objections, verdicts
from models.evaluation.metrics import Figure

GOOD = {gate.name: Figure(gate.gate, gate.gate - 0.01, gate.gate + 0.01, 1000) for gate in GATES}
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def with_value(name: str, value: float) -> dict[str, Figure]:
    return {**GOOD, name: Figure(value, value - 0.01, value + 0.01, 1000)}


def model(bias: float = 0.0) -> Categoriser:
    return Categoriser(
        "2026.11.1",
        ("LIVING_GROCERIES", "INCOME_SALARY"),
        np.zeros((256, 2), np.int8),
        np.ones(2, np.float32),
        np.full(2, bias, np.float32),
        1.0,
    )


def report(figures: dict[str, Figure]) -> dict[str, object]:
    return {"figures": {name: one.as_dict() for name, one in figures.items()}}


def test_figures_at_the_gates_pass_and_are_no_moonshots() -> None:
    rows = verdicts(GOOD)
    assert [row["name"] for row in rows] == [gate.name for gate in GATES]
    assert all(row["passed"] and not row["moonshot_reached"] for row in rows)


def test_lower_is_better_for_losses_and_errors() -> None:
    lower = {gate.name for gate in GATES if not gate.higher_is_better}
    assert lower == {"category_format_loss", "category_calibration_error", "insurance_missed"}
    row = next(row for row in verdicts(with_value("insurance_missed", 0.005)) if row["name"] == "insurance_missed")
    assert row["moonshot_reached"]
    row = next(row for row in verdicts(with_value("insurance_missed", 0.05)) if row["name"] == "insurance_missed")
    assert not row["passed"]


def test_a_candidate_as_good_as_the_incumbent_meets_no_objection() -> None:
    assert objections(GOOD, GOOD) == []
    assert objections(GOOD, None) == []


def test_a_missed_hard_gate_is_an_objection() -> None:
    assert "category_seen_accuracy" in objections(with_value("category_seen_accuracy", 0.96), None)[0]


def test_a_figure_that_is_no_number_is_an_objection() -> None:
    assert objections(with_value("category_seen_accuracy", float("nan")), None)


def test_a_missed_soft_gate_is_none_while_the_incumbent_is_no_better() -> None:
    poor = with_value("partner_recall", 0.5)
    assert objections(poor, poor) == []
    assert objections(poor, GOOD) == ["partner_recall fell from 0.9300 to 0.5000, beyond the interval"]


def test_worse_within_the_interval_is_no_objection() -> None:
    slightly = {**GOOD, "partner_recall": Figure(0.925, 0.92, 0.93, 1000)}
    assert objections(slightly, GOOD) == []


def test_what_is_not_measured_any_more_is_an_objection() -> None:
    fewer = {name: one for name, one in GOOD.items() if name not in ("salary_f1", "category_seen_accuracy")}
    assert len(objections(fewer, GOOD)) == 3
    assert objections(fewer, None) == ["category_seen_accuracy was not measured"]


def test_an_empty_folder_uses_the_shipped_model(tmp_path: Path) -> None:
    assert registry.active_version(tmp_path) == ""
    assert registry.log(tmp_path) == []


def test_a_promoted_model_is_in_use_and_logged(tmp_path: Path) -> None:
    candidate = model()
    registry.add(tmp_path, candidate, report(GOOD))
    assert registry.active_version(tmp_path) == ""
    entry = registry.promote_figures(tmp_path, candidate.version, GOOD, {}, by="eva", at=NOON, why="more merchants")
    assert registry.active(tmp_path).version == candidate.version
    assert registry.log(tmp_path) == [entry]
    assert (entry.before, entry.at, entry.by, entry.why) == ("shipped", "2026-11-15T12:00:00+00:00", "eva", "more merchants")


def test_promotion_reads_the_reports_that_lie_beside_the_models(tmp_path: Path) -> None:
    first, second = model(), model(1.0)
    registry.add(tmp_path, first, report(GOOD))
    registry.promote_figures(tmp_path, first.version, GOOD, {}, by="eva", at=NOON, why="first")
    registry.add(tmp_path, second, report(with_value("salary_f1", 0.5)))
    with pytest.raises(PromotionRefused) as refused:
        registry.promote(tmp_path, second.version, by="eva", at=NOON, why="second")
    assert refused.value.reasons == ["salary_f1 fell from 0.9850 to 0.5000, beyond the interval"]
    assert registry.active_version(tmp_path) == first.version
    assert len(registry.log(tmp_path)) == 1


def test_a_reason_overrides_objections_and_is_kept(tmp_path: Path) -> None:
    candidate = model()
    poor = with_value("category_seen_accuracy", 0.9)
    registry.add(tmp_path, candidate, report(poor))
    with pytest.raises(PromotionRefused):
        registry.promote_figures(tmp_path, candidate.version, poor, {}, by="eva", at=NOON, why="x", override_reason="  ")
    entry = registry.promote_figures(
        tmp_path, candidate.version, poor, {}, by="eva", at=NOON, why="urgent", override_reason="the old one is broken"
    )
    assert entry.why == "urgent (the old one is broken)"
    assert len(entry.overridden) == 1
    assert registry.active_version(tmp_path) == candidate.version


def test_rolling_back_returns_to_what_was_in_use(tmp_path: Path) -> None:
    first, second = model(), model(1.0)
    for one in (first, second):
        registry.add(tmp_path, one, report(GOOD))
        registry.promote_figures(tmp_path, one.version, GOOD, GOOD, by="eva", at=NOON, why="new")
    registry.roll_back(tmp_path, first.version, by="ole", at=NOON, why="complaints")
    assert registry.active(tmp_path).version == first.version
    registry.roll_back(tmp_path, "shipped", by="ole", at=NOON, why="more complaints")
    assert registry.active_version(tmp_path) == ""
    assert [entry.version for entry in registry.log(tmp_path)] == [first.version, second.version, first.version, "shipped"]


def test_rolling_back_to_what_was_never_in_use_is_refused(tmp_path: Path) -> None:
    registry.add(tmp_path, model(), report(GOOD))
    with pytest.raises(ModelUnknown):
        registry.roll_back(tmp_path, model().version, by="ole", at=NOON, why="x")


@pytest.mark.parametrize("version", ["../../etc/passwd", "", "a/b", "x" * 80, "2026..1"])
def test_versions_cannot_lead_out_of_the_folder(tmp_path: Path, version: str) -> None:
    with pytest.raises(ModelUnknown):
        registry.promote(tmp_path, version, by="eva", at=NOON, why="x")


def test_a_damaged_model_is_not_promoted(tmp_path: Path) -> None:
    candidate = model()
    registry.add(tmp_path, candidate, report(GOOD)).write_bytes(b"rubbish")
    with pytest.raises(ModelUnreadable):
        registry.promote(tmp_path, candidate.version, by="eva", at=NOON, why="x")


def test_the_folder_lists_what_can_be_used(tmp_path: Path) -> None:
    candidate = model()
    registry.add(tmp_path, candidate, report(GOOD))
    registry.promote_figures(tmp_path, candidate.version, GOOD, {}, by="eva", at=NOON, why="new")
    found = [known for known in registry.versions(tmp_path) if known.version != "shipped"]
    assert [(known.version, known.active) for known in found] == [(candidate.version, True)]
    assert found[0].figures["salary_f1"].value == 0.985


class TestStandIns:
    """A version in use that cannot be read is replaced by the last good one before it, at last by the shipped one."""

    def put_into_use(self, folder: Path, *biases: float) -> list[Categoriser]:
        models = [model(bias) for bias in biases]
        for one in models:
            registry.add(folder, one, report(GOOD))
            registry.promote_figures(folder, one.version, GOOD, GOOD, by="eva", at=NOON, why="new")
        return models

    @pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "rubbish"])
    def test_the_last_good_one_stands_in(self, tmp_path: Path, damage: str) -> None:
        first, second = self.put_into_use(tmp_path, 1.0, 2.0)
        path = tmp_path / f"{second.version}.npz"
        contents = {"empty": b"", "truncated": path.read_bytes()[:-40], "rubbish": b"rubbish" * 100}
        path.unlink() if damage == "missing" else path.write_bytes(contents[damage])
        choice = registry.choose(tmp_path)
        assert (choice.model.version, choice.requested) == (first.version, second.version)
        assert choice.problem

    def test_without_a_good_one_it_is_the_shipped_one(self, tmp_path: Path) -> None:
        for one in self.put_into_use(tmp_path, 1.0, 2.0):
            (tmp_path / f"{one.version}.npz").write_bytes(b"")
        assert registry.active(tmp_path).version == registry.shipped().version

    def test_one_that_was_rolled_back_does_not(self, tmp_path: Path) -> None:
        first, second = self.put_into_use(tmp_path, 1.0, 2.0)
        registry.roll_back(tmp_path, first.version, by="ole", at=NOON, why="complaints")
        (tmp_path / f"{first.version}.npz").unlink()
        assert registry.active(tmp_path).version == registry.shipped().version != second.version

    @pytest.mark.parametrize("pointer", [b"", b"../../etc/passwd", b"\xff\xfe", b"x" * 200])
    def test_a_pointer_that_names_no_version(self, tmp_path: Path, pointer: bytes) -> None:
        (only,) = self.put_into_use(tmp_path, 1.0)
        (tmp_path / "active").write_bytes(pointer)
        choice = registry.choose(tmp_path)
        assert (choice.model.version, choice.requested) == (only.version, "unreadable")

    def test_a_damaged_log_names_nobody(self, tmp_path: Path) -> None:
        _, second = self.put_into_use(tmp_path, 1.0, 2.0)
        (tmp_path / "log.json").write_bytes(b"[{")
        assert registry.choose(tmp_path).problem is None
        (tmp_path / f"{second.version}.npz").unlink()
        assert registry.active(tmp_path).version == registry.shipped().version

    def test_a_repaired_one_is_used_again(self, tmp_path: Path) -> None:
        _, second = self.put_into_use(tmp_path, 1.0, 2.0)
        path, stamps = tmp_path / f"{second.version}.npz", [registry.stamp(tmp_path, second.version)]
        content = path.read_bytes()
        path.write_bytes(content[:100])
        stamps.append(registry.stamp(tmp_path, second.version))
        path.write_bytes(content)
        assert registry.choose(tmp_path).problem is None
        path.unlink()
        stamps.append(registry.stamp(tmp_path, second.version))
        assert len(set(stamps)) == 3
