"""The documentation's commands work: every `bash` block of a page runs, in order, in one shell."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.http import errors
from api.schemas import messages
from tests.support.preloaded import preloaded
from tests.support.stack import Stack

ROOT = Path(__file__).parents[2]


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
