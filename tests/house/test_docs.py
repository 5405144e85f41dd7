"""The documentation's commands work: every `bash` block of a page runs, in order, in one shell; all others at least exist."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from starlette.routing import Route

from api.app import create_app
from api.cli import app as cli
from api.http import errors
from api.schemas import messages
from pipelines.banks.fints.addresses import addresses
from tests.support.preloaded import preloaded
from tests.support.stack import Stack
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
MIN_BANKS = 2300
"""So many banks with an address are promised."""


def blocks(page: str) -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


@pytest.fixture(scope="module")
def environment(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the shell is told, where the demo's tenants are."""
    with preloaded(tmp_path_factory.mktemp("kontor")) as folder:
        told = {
            **os.environ,
            "PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "KONTOR_HOME": str(stack.home),
            "KONTOR_DATABASE_URL": stack.where.service,
            "KONTOR_MIGRATION_URL": stack.where.migration,
            "KONTOR_BASE_URL": stack.base_url,
        }
        subprocess.run(["kontor", "demo", "seed"], env=told, check=True, capture_output=True)
        yield told


@pytest.mark.parametrize("page", ["docs/tenants.md", "docs/tenants/sync.md", "docs/operators.md", "docs/data-scientists.md"])
def test_the_commands_of_a_page_run(environment: dict[str, str], tmp_path: Path, page: str) -> None:
    script = "\n".join(blocks(page))
    assert script.count("\n") > 10
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]


def test_tenants_read_what_to_do_about_every_code() -> None:
    lines = (ROOT / "docs" / "tenants.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
    told = {code for row in rows if len(row) == 4 and row[3] for code in re.findall(r"`(BA\d+)`", row[0] + row[1])}
    assert told == {*(code for code, _ in errors.TEXTS.values()), *(code.value for code in messages.TEXTS)}


def test_the_notebook_of_the_page_runs(environment: dict[str, str], tmp_path: Path) -> None:
    """What stands there to be run in a notebook, on the lake of the commands before."""
    section = (ROOT / "docs/data-scientists.md").read_text().split("## Asking the lake")[1].split("\n## ")[0]
    cells = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
    assert len(cells) == 2
    run = subprocess.run([sys.executable, "-c", "\n".join(cells)], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]


@pytest.mark.parametrize(
    "page",
    [
        path.relative_to(ROOT).as_posix()
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("[at]*/*.md"))]
    ],
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), f"{page} -> {target}"


def test_every_picture_is_there_shown_and_small() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for page in pages for name in re.findall(r"!\[[^]]+\]\((?:docs/)?images/([^)]+)\)", page.read_text())}
    pictures = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}
    assert shown == set(pictures)
    assert {name: size for name, size in pictures.items() if size > 150_000} == {}


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(?:bash|console|sh)\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"(?<!`)`((?:\.venv/bin/)?kontor [a-z][^`\n]*|make [a-z][^`\n]*)`(?!`)")


def commands(page: Path, program: str) -> list[list[str]]:
    """The words of every command of a program that a page prints, in blocks and inside sentences."""
    text = page.read_text().replace("\\\n", " ")
    lines = [line.split("#")[0] for block in FENCED.findall(text) for line in block.splitlines()]
    lines += INLINE.findall(text)
    printed = (re.search(rf"(?:^\s*|[;&|(] ?|bin/|-- |exec [\w-]+ |^\w+=\S+ ){program} ([a-z-].*)", line) for line in lines)
    return [re.split(r"[;&|>)]", match[1])[0].split() for match in printed if match]


def unknown_parts(words: list[str], group: Any) -> list[str]:
    """What a command of the documentation has that our command line has not: a name of a command, or an option."""
    command, names = group, list(words)
    while (subcommands := getattr(command, "commands", {})) and names and not names[0].startswith(("-", "<", "…")):
        name = names.pop(0).strip('".,')
        if name not in subcommands:
            return [name]
        command = subcommands[name]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    return [word for word in (name.partition("=")[0] for name in names) if word.startswith("--") and word not in options]


def test_every_command_of_ours_that_is_printed_exists() -> None:
    """Those that need another machine's services cannot run here; their names and options are at least those of the program."""
    group = typer.main.get_command(cli)
    printed = [(page.name, words) for page in PAGES for words in commands(page, "kontor")]
    assert len(printed) > 120
    assert [(page, words) for page, words in printed if unknown_parts(words, group)] == []


def test_every_target_of_make_that_is_printed_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    printed = {words[0].rstrip(".,:") for page in PAGES for words in commands(page, "make") if words}
    assert len(printed) > 10
    assert printed - targets == set()


def test_every_request_that_is_printed_exists() -> None:
    """`GET /customer/v2/…` anywhere in the documentation is a route, and takes this method."""
    app = create_app(Settings(database_url="postgresql://nowhere/none"))
    routes = [
        (method, re.sub(r"\{[^}]*\}", "[^/]+", route.path.rstrip("/")))
        for route in app.routes
        if isinstance(route, Route)
        for method in route.methods or ()
    ]
    requests = {
        (method, re.sub(r"[{<][^}>]*[}>]|…", "x", path).partition("?")[0].rstrip("/."))
        for page in PAGES
        if page.name != "recipes.md"  # its endpoints are those that a reader would add
        for method, path in re.findall(r"\b(GET|POST|PUT|PATCH|DELETE) (/[\w{}<>/.…-]+)", page.read_text())
    }
    assert len(requests) > 60
    missing = {(method, path) for method, path in requests if not any(method == m and re.fullmatch(p, path) for m, p in routes)}
    assert missing == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_of_json_can_be_read(page: Path) -> None:
    """One document, or one on each line."""
    for block in re.findall(r"^```json\n(.*?)^```", page.read_text(), re.M | re.S):
        try:
            json.loads(block)
        except ValueError:
            for line in block.splitlines():
                json.loads(line)


@pytest.mark.parametrize("page", ["README.md", "docs/operators.md"])
def test_the_number_of_banks_is_that_of_the_addresses(page: str) -> None:
    assert len(addresses()) >= MIN_BANKS
    assert f"{len(addresses()):,}" in (ROOT / page).read_text()
