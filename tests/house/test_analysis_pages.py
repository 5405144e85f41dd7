"""The pages of the analyses are made from schemas and the table of quality, and none is forgotten."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from api.routes import analyses

ROOT = Path(__file__).parents[2]


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
