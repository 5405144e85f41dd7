"""Reports to read."""

import json
from pathlib import Path

import polars as pl

from models.evaluation import reports, tables
from models.evaluation.metrics import accuracy, figure

BOOKINGS = pl.DataFrame(
    {
        "truth": ["A", "A", "B", "B", "A", "B"] * 5,
        "prediction": ["A", "B", "B", "B", "A", "A"] * 5,
        "confidence": [0.9, 0.4, 0.8, 0.7, 0.95, 0.5] * 5,
        "amount_cents": [-100, -200, -300, -400, -500, -600] * 5,
        "user": ["a", "b", "c", "a", "b", "c"] * 5,
        "merchant": ["x", "y", "z", "x", "y", "z"] * 5,
        "merchant_seen": [True, True, False, False, True, False] * 5,
        "format_seen": [True, False, True, False, True, True] * 5,
        "merchant_of_test": [False, False, True, True, False, True] * 5,
        "branded": [True] * 30,
    },
    schema=tables.LABELLED_BOOKINGS,
)


def test_a_report_has_gates_tables_and_pictures(tmp_path: Path) -> None:
    figures = tables.category_figures(BOOKINGS, times=20)
    baselines = {"majority": figure(BOOKINGS.with_columns(prediction=pl.lit("A")), accuracy, "merchant", 20)}
    rules_alone = {"category_unseen_accuracy": figures["category_seen_accuracy"]}
    rules_alone["category_test_merchant_accuracy"] = figures["category_unseen_macro_f1"]
    told = reports.report(BOOKINGS, figures, {"model": "2026.11.1-abc"}, baselines, rules_alone)
    paths = reports.write(told, tmp_path)
    assert [path.name for path in paths] == [
        "quality.json",
        "quality.md",
        "quality-reliability.png",
        "quality-confusions.png",
        "quality-cells.png",
    ]
    assert json.loads(paths[0].read_text()) == told
    page = paths[1].read_text()
    without = {row["name"]: row["without_model"] for row in told["gates"]}
    assert without["category_unseen_accuracy"] == figures["category_seen_accuracy"].value
    assert without["category_seen_accuracy"] is None
    ungated = {row["name"]: (row["value"], row["without_model"]) for row in told["ungated"]}
    of_test = figures["category_test_merchant_accuracy"].value, figures["category_unseen_macro_f1"].value
    assert ungated["category_test_merchant_accuracy"] == of_test
    assert not ungated.keys() & without.keys()
    for part in (
        "2026.11.1-abc",
        "## Gates",
        "## Figures without a gate",
        "| Category, named brand of the test alone |",
        "**missed**",
        "| majority |",
        "| unseen | seen |",
        "quality-cells.png",
    ):
        assert part in page
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths[2:])


def test_the_same_figures_give_the_same_files(tmp_path: Path) -> None:
    told = reports.report(BOOKINGS, tables.category_figures(BOOKINGS, times=20), {})
    first = [path.read_bytes() for path in reports.write(told, tmp_path / "a")]
    assert first == [path.read_bytes() for path in reports.write(told, tmp_path / "b")]


def test_a_report_without_mistakes_can_be_drawn(tmp_path: Path) -> None:
    right = BOOKINGS.with_columns(prediction="truth")
    assert reports.write(reports.report(right, tables.category_figures(right, times=20), {}), tmp_path)
