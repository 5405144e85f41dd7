"""The handbook as the API serves it, and what it is built from."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from api.routes import docs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "index.html").write_text("<title>Kontor</title><script>start()</script>")
    (tmp_path / "handbook" / "search.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "handbook"


def app_of(folder: Path) -> FastAPI:
    """An app with the handbook of this folder."""
    app = FastAPI()
    docs.install_handbook(app, folder)
    return app


def get(folder: Path, path: str) -> httpx.Response:
    """The answer of an app with the handbook of this folder."""
    return get_from(app_of(folder), path)


def get_from(app: FastAPI, path: str) -> httpx.Response:
    """The answer of an app."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://kontor", follow_redirects=True) as client:
            return await client.get(path)

    return asyncio.run(ask())


def test_it_is_served_where_it_was_built(folder: Path) -> None:
    answer = get(folder, "/handbook")
    assert (answer.status_code, answer.url.path) == (200, "/handbook/index.html")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self' 'sha256-" in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert get(folder, "/handbook/search.js").text == "1"


@pytest.mark.parametrize("path", ["/handbook/none.html", "/handbook/../secret.txt", "/handbook/%2e%2e/secret.txt"])
def test_nothing_else_is(folder: Path, path: str) -> None:
    answer = get(folder, path)
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_it_is_there_as_soon_as_it_is_built(tmp_path: Path) -> None:
    app = app_of(tmp_path / "handbook")
    assert get_from(app, "/handbook").status_code == get_from(app, "/handbook/index.html").status_code == 404
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "index.html").write_text("<title>Kontor</title>")
    assert get_from(app, "/handbook").text == "<title>Kontor</title>"


def test_it_is_built_by_what_starts_everything() -> None:
    recipe = (ROOT / "Makefile").read_text().split("\nrun:")[1].split("\n\n")[0]
    assert "$(MAKE) --no-print-directory docs" in recipe
    assert recipe.index("docs") < recipe.index("kontor up")


def test_every_page_has_its_place_in_the_handbook() -> None:
    """Pages of decisions are reached from their list."""
    named = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert named == {page for page in pages if not page.startswith("decisions/0")}


def test_it_loads_nothing_from_elsewhere() -> None:
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in settings
    assert not re.search("https?://", settings)
