"""The audit never takes silence for safety, and the bill of materials is complete."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.model.bom import Bom

from tests.house.audit import SOUND, UNKNOWN, WEAK, bill, pins, verdict

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements-dask.lock").read_text()
GOOD = {"name": "httpx", "version": "0.28.1", "vulns": []}
SKIPPED = {"name": "httpx", "skip_reason": "Dependency not found on PyPI and could not be audited"}
BAD = {"name": "jinja2", "version": "2.0", "vulns": [{"id": "PYSEC-2021-66", "fix_versions": ["2.11.3"]}]}


def said(*dependencies: dict[str, Any]) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


@pytest.mark.parametrize(
    ("answer", "code", "word"),
    [
        (said(GOOD), SOUND, "1 packages"),
        (said(GOOD, BAD), WEAK, "PYSEC-2021-66"),
        (said(SKIPPED, BAD), WEAK, "PYSEC-2021-66"),
        (said(GOOD, SKIPPED), UNKNOWN, "1 of 2 (httpx)"),
        (said(), UNKNOWN, "could not be reached"),
        ("", UNKNOWN, "could not be reached"),
        ("Traceback", UNKNOWN, "could not be reached"),
    ],
)
def test_only_what_was_checked_is_told_sound(answer: str, code: int, word: str) -> None:
    found, text = verdict(answer)
    assert found == code
    assert word in text


def test_the_bill_names_everything_that_is_installed_and_others_can_read_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    read = Bom.from_json(bill(LOCK, project))  # type: ignore[attr-defined]
    named = {(part.name, part.version) for part in read.components}
    starts = [line for line in LOCK.splitlines() if line[:1].isalnum()]
    assert len(named) == len(starts) > 100
    assert all(part.hashes for part in read.components)
    assert {("starlette", pin.version) for pin in pins(LOCK) if pin.name == "starlette"} <= named
    assert bill(LOCK, project) == bill(LOCK, project)
