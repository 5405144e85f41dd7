"""The pages of the analyses are made from schemas and the table of quality, and none is forgotten."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from api.routes import analyses

ROOT = Path(__file__).parents[2]
README_SCORES = {
    ("Life events", "F1"): "life events",
    ("Sales triggers", "F1 from end to end"): "sales triggers, end to end",
    ("Contracts", "F1, three or more bookings"): "contracts with three or more bookings",
}
README_PERCENTAGES = {
    ("Next date", "at most one day off"): "next date of a contract, at most one day off",
    ("Cashflow, next month", "error of expenses"): "next month's expenses",
    ("Cashflow, next month", "error of income"): "next month's income",
    ("Disposable money", "error ten days before salary"): "disposable money, ten days before the salary",
}
TIMES_BEST = tuple(f"error of {what}, times the best possible" for what in ("expenses", "income", "what is left"))


def _program() -> Any:
    spec = importlib.util.spec_from_file_location("analysis_pages", ROOT / "docs" / "analysis_pages.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


pages = _program()


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    """If it is not: `python docs/analysis_pages.py`."""
    assert (ROOT / "docs" / "analyses" / f"{name}.md").read_text() == pages.markdown(name)


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_has_figures(name: str) -> None:
    for figure in pages.PAGES[name].figures:
        assert f"| {figure} |" in pages.markdown(name)


def test_every_analysis_has_a_page() -> None:
    routes = [route for route in analyses.routes.routes if isinstance(route, APIRoute) and "GET" in (route.methods or ())]
    paths = {route.path.removeprefix("/customer/v2/ai/") for route in routes}
    assert paths == {page.path for page in pages.PAGES.values()}


def test_the_readme_has_the_figures_of_the_last_evaluation() -> None:
    cells = [
        line.strip("| \n").split(" | ")
        for line in (ROOT / "docs" / "quality.md").read_text().splitlines()
        if line.startswith("| ")
    ]
    gated = [row for row in cells if row[0] != "analysis" and row[-1] in ("reached", "moonshot", "missed")]
    values = {(row[0], row[1]): row[2] for row in gated}
    readme = (ROOT / "README.md").read_text()
    shown = {row[0]: row[1] for row in (line.strip("| ").split(" | ") for line in readme.splitlines() if line.startswith("| "))}
    assert f"{sum(row[-1] != 'missed' for row in gated)} of {len(gated)} gates are met" in readme
    for figure, name in README_SCORES.items():
        assert shown[name] == f"F1 {values[figure]}", name
    for figure, name in README_PERCENTAGES.items():
        assert shown[name].startswith(f"{100 * float(values[figure]):.1f} %"), name
    times_best = [value for (_, metric), value in values.items() if metric in TIMES_BEST]
    assert shown["error of expenses, income, disposable money, times that of the best possible forecast"] == "; ".join(times_best)
