"""The recipes of `docs/recipes.md`, applied to a copy of the house: what they add must work there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analytics import knowledge
from analytics.trees import files as trees

ROOT = Path(__file__).parents[2]
COPIED = ("analytics", "api", "docs", "models", "pipelines", "tests", "warehouse", "pyproject.toml", "dagster.yaml")
FILES = (
    "tests/pipelines/banks/test_contract.py",
    "tests/analytics/test_rent_burden.py",
    "tests/analytics/test_trees.py",
    "tests/analytics/test_categories.py",
    "tests/house/test_conventions.py",
)
HELD = "statements or test_rent or test_trees or examples or endpoint or wire_schemas"
"""What must hold: the new bank keeps the contract of all, the new analysis its own tests and those of trees, the new category
its examples, the new endpoint those of the house. The spec test of the endpoint needs a service: it is not run here."""

TAGGING = """
import json
import polars as pl
from analytics import knowledge, trees
from analytics.frames import CHOICES, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models import registry
from models.simulator import simulate

world = simulate(6, 3)
lines = world.transactions.head(1).select(pl.all().repeat_by(3).explode()).with_columns(
    id=pl.Series(["1", "2", "3"]),
    amount_cents=pl.lit(-1999, pl.Int64),
    counterparty_name=pl.Series(["KRAUSES LAEDCHEN", "Verein", "Knopfkarussell Nord"]),
    purpose=pl.Series(["", "Zwoelferclub 2026", ""]),
)
tagged = tag.tag_bookings(lines, world.products, CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
partner = trees.tree("BUSINESS_PARTNERS").by_name.get("HOFLADEN_KRAUSE")
print(json.dumps([tagged.select("partner", "category").rows(), knowledge.version(), partner and partner.id]))
"""
"""Tags three lines; prints partners and categories, the version of the knowledge, and the id of the own partner."""


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
    for name in (
        "[statements-1]",
        "test_it_is_the_rent_of_a_year_beside_its_income",
        "test_examples_come_out_as_they_should",
        "test_every_endpoint_is_documented",
    ):
        assert re.search(rf"^PASSED .*{re.escape(name)}$", told.stdout, re.M), name


def test_own_rows_decide_and_change_the_version(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "recipes.md").read_text()
    commands = "".join(re.findall(r"^```bash\n(.*?)^```$", page, re.M | re.S))
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-e"], input=commands, text=True, cwd=tmp_path, check=True, env={**os.environ, "PATH": programs})

    environment = {**os.environ, "KONTOR_KNOWLEDGE": str(tmp_path / "knowledge"), "PYTHONPATH": str(ROOT)}
    told = subprocess.run([sys.executable, "-c", TAGGING], env=environment, capture_output=True, text=True, check=True)
    tags, version, number = json.loads(told.stdout.splitlines()[-1])
    assert tags == [["HOFLADEN_KRAUSE", "LIVING_GROCERIES"], ["UNKNOWN", "RECREATION_SPORTS"], ["UNKNOWN", "LIVING_GROCERIES"]]
    assert number == 3 * trees.IDS_PER_TREE + 1_000_001
    assert version != knowledge.version()
