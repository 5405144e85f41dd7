"""The recipes of `docs/recipes.md`, applied to a copy of the house: what they add must work there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COPIED = ("analytics", "api", "docs", "models", "pipelines", "tests", "warehouse", "pyproject.toml", "dagster.yaml")
FILES = (
    "tests/pipelines/banks/test_contract.py",
    "tests/analytics/test_rent_burden.py",
    "tests/analytics/test_trees.py",
    "tests/house/test_conventions.py",
)
HELD = "statements or test_rent or test_trees or endpoint or wire_schemas"
"""What must hold: the new bank keeps the contract of all, the new analysis its own tests and those of trees, the new endpoint
those of the house. The spec test of the endpoint needs a service of its own, and is not run here."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the house with all recipes applied."""
    copy = tmp_path_factory.mktemp("recipes")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name)
        else:
            shutil.copy(ROOT / name, copy / name)
    page = (ROOT / "docs" / "recipes.md").read_text()
    for change in re.findall(r"^```diff\n(.*?)^```$", page, re.M | re.S):
        subprocess.run(["git", "apply", "--unsafe-paths", "-"], input=change, text=True, cwd=copy, check=True)
    return copy


def test_what_the_recipes_add_works(house: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:xdist", "-p", "no:cacheprovider", "-k", HELD, *FILES]
    # Uncompiled: machine code is kept by the place of its source, and compiling it for a copy takes minutes.
    environment = {**os.environ, "PYTHONPATH": str(house), "NUMBA_DISABLE_JIT": "1"}
    told = subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout[-3000:] + told.stderr[-3000:]
    for name in ("[statements-1]", "test_it_is_the_rent_of_a_year_beside_its_income", "test_every_endpoint_is_documented"):
        assert re.search(rf"^PASSED .*{re.escape(name)}$", told.stdout, re.M), name
