"""`docs/security.md` is complete and true: every row is there once, with tests that exist or a reason why there is none."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
COUNTS = {
    "A": 20,
    "B": 16,
    "C": 7,
    "D": 25,
    "E": 5,
    "F": 24,
    "G": 20,
    "J": 26,
    "K": 17,
    "L": 14,
    "M": 23,
    "N": 20,
    "P": 11,
    "R": 23,
    "S": 11,
}
"""How many rows each section has at least: no rule is dropped."""
ROWS = re.findall(r"^\| ([A-Z]\d\d) \| (.+?) \| (.+) \|$", (ROOT / "docs" / "security.md").read_text(), re.M)
TEST = re.compile(r"`(tests/[^`]+)`(?:<br>)?")
REASON_LENGTH = 30  # shorter ones are none


@cache
def written_in(path: str) -> set[str]:
    """The tests of a file, those of a class with its name before them."""
    found = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
    return {name for name in found if name.split("::")[-1].startswith("test_")}


def test_rows_are_numbered_and_none_is_dropped() -> None:
    sections = Counter(name[0] for name, _, _ in ROWS)
    assert [name for name, _, _ in ROWS] == [
        f"{section}{number:02d}" for section, count in sections.items() for number in range(1, count + 1)
    ]
    assert {section: min(count, COUNTS[section]) for section, count in sections.items()} == COUNTS


def faults(reason: str) -> list[str]:
    """The tests of a row that nobody wrote, or that it has neither a test nor a reason."""
    tests = [test.partition("::") for test in TEST.findall(reason) if "::" in test]
    missing = [f"no test {path}::{inside}" for path, _, inside in tests if inside not in written_in(path)]
    return missing if tests or len(TEST.sub("", reason)) >= REASON_LENGTH else ["neither a test nor a reason"]


def test_a_row_has_tests_that_exist_or_a_reason() -> None:
    assert {name: faults(reason) for name, _, reason in ROWS if faults(reason)} == {}


def test_a_wrong_row_has_faults() -> None:
    assert faults("`tests/house/test_asvs.py::test_nobody_wrote`") == ["no test tests/house/test_asvs.py::test_nobody_wrote"]
    assert faults("`tests/house/test_asvs.py` short") == ["neither a test nor a reason"]
