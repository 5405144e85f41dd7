"""`kontor tenant design`, against a real database."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from api.cli import app
from tests.support.stack import Stack
from warehouse.errors import Invalid, NotFound

LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>'
NOTHING: dict[str, Any] = {"name": None, "colour": None, "logo": None, "imprint": None, "privacy": None, "terms": []}


@pytest.fixture(autouse=True)
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(stack.home))
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.service)


@pytest.fixture(scope="module")
def name(stack: Stack) -> str:
    return stack.tenant().name


def design(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["tenant", "design", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def design_json(*arguments: str) -> dict[str, Any]:
    [row] = json.loads(design(*arguments, "--json"))
    return {key: value for key, value in row.items() if key != "tenant"}


def written(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_a_design_is_said_in_parts_shown_and_reset(name: str, tmp_path: Path) -> None:
    assert design_json(name) == NOTHING
    logo, german = written(tmp_path / "logo", LOGO), written(tmp_path / "de.txt", "\ufeff# Bedingungen\n\nGuten Tag, {tenant}\n")
    said = design_json(name, "--name", "Sparfüchse", "--colour", "#0A5C36", "--logo", logo, "--terms-de", german)
    assert said == {
        "name": "Sparfüchse",
        "colour": "#0a5c36",
        "logo": f"image/svg+xml, {len(LOGO)} bytes",
        "imprint": None,
        "privacy": None,
        "terms": ["de"],
    }
    english, page = written(tmp_path / "en.txt", "Hello"), "https://app.example.de/imprint"
    more = design_json(name, "--imprint", page, "--privacy", page, "--terms-en", english)
    assert more == said | {"imprint": page, "privacy": page, "terms": ["de", "en"]}
    assert design_json(name) == more
    assert "Sparfüchse" in design(name)
    assert design_json(name, "--name", "", "--imprint", "") == more | {"name": None, "imprint": None}
    assert design_json(name, "--reset", "--colour", "#000000") == NOTHING | {"colour": "#000000"}
    assert design_json(name, "--reset") == NOTHING
    assert design_json(name) == NOTHING


@pytest.mark.parametrize(
    ("option", "content", "reason"),
    [
        ("--logo", b"GIF89a", "PNG, JPEG, WebP or SVG"),
        ("--logo", b"\x89PNG\r\n\x1a\n" + bytes(64 * 1024), "at most 64 KiB"),
        ("--logo", LOGO.replace("/>", "><script/></svg>"), "no element <script>"),
        ("--terms-de", b"Gr\xfc\xdfe", "given is not a UTF-8 text file"),
        ("--terms-en", "Hello\x07", "line 1"),
        ("--terms-en", "", "1 to 20,000 characters"),
    ],
)
def test_files_that_are_refused(name: str, tmp_path: Path, option: str, content: str | bytes, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        design(name, option, written(tmp_path / "given", content))
    assert design_json(name) == NOTHING


def test_what_stands_in_the_way_is_said(name: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="for example #0a5c36"):
        design(name, "--colour", "green")
    with pytest.raises(NotFound, match="tenant nobody"):
        design("nobody")
    missing = CliRunner().invoke(app, ["tenant", "design", name, "--logo", str(tmp_path / "none.png")])
    assert missing.exit_code == 2
