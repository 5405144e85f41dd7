"""`docs/asvs.md` is complete and true: every requirement of levels 1 and 2 once and in order, with files and tests that exist."""

import re
from collections import Counter

from tests.house.test_security_rows import REASON_LENGTH, ROOT, TEST, written_in

COUNTS = {1: 27, 2: 11, 3: 19, 4: 10, 5: 9, 6: 35, 7: 18, 8: 7, 9: 7, 10: 29, 11: 14, 12: 9, 13: 13, 14: 9, 15: 13, 16: 16, 17: 7}
"""How many requirements of levels 1 and 2 each chapter of ASVS 5.0.0 has."""
LEVELS = {"1": 70, "2": 183}
PAGE = (ROOT / "docs" / "asvs.md").read_text()
ROWS = re.findall(r"^\| (V\d+\.\d+\.\d+) \| (\d) \| (.+?) \| (.+?) \| (.+) \|$", PAGE, re.M)
ID = re.compile(r"V\d+\.\d+\.\d+")
SOURCE = re.compile(r"`((?:analytics|api|deploy|models|pipelines|warehouse)/[^`\s:]+)")
STATUSES = {
    "`tests/": "met, with a test",
    "No test": "met, without a test named here",
    "Not applicable: ": "not applicable",
    "Open: ": "open",
}
"""What a requirement counts as, by the beginning of its last cell."""


def status(reason: str) -> str:
    return next(name for beginning, name in STATUSES.items() if reason.startswith(beginning))


def test_requirements_are_complete_and_in_order() -> None:
    numbers = [tuple(map(int, name.removeprefix("V").split("."))) for name, *_ in ROWS]
    assert numbers == sorted(set(numbers))
    assert Counter(chapter for chapter, *_ in numbers) == COUNTS
    assert Counter(level for _, level, *_ in ROWS) == LEVELS
    assert len(ROWS) == len(re.findall(r"^\| V\d+\.\d+\.\d+ \| \d \|", PAGE, re.M)), "a row is not well formed"


def faults(how: str, reason: str) -> list[str]:
    """What is wrong with a row."""
    tests = [test.partition("::") for test in TEST.findall(reason)]
    is_open = status(reason) in ("not applicable", "open")
    rules = {
        "a cell too many": " | " not in how + reason,
        "nothing is said about how it is met": how != "–" or is_open,
        "too short a reason": status(reason) == "met, with a test" or len(reason) >= REASON_LENGTH or ID.search(reason),
    }
    return [
        *(f"no test {path}::{inside}" for path, _, inside in tests if inside not in written_in(path)),
        *(f"no file {path}" for path in SOURCE.findall(how + reason) if not (ROOT / path).exists()),
        *(name for name, is_kept in rules.items() if not is_kept),
    ]


def test_a_requirement_names_what_exists() -> None:
    assert {row[0]: faults(row[3], row[4]) for row in ROWS if faults(row[3], row[4])} == {}


def test_a_wrong_row_has_faults() -> None:
    reason = "`tests/house/test_asvs.py::test_nobody_wrote`"
    assert faults("–", reason) == [f"no test {reason.strip('`')}", "nothing is said about how it is met"]
    assert faults("`api/nowhere.py`", "No test | why") == ["no file api/nowhere.py", "a cell too many", "too short a reason"]


def test_what_is_open_is_listed_once() -> None:
    section = PAGE.split("\n## What is open\n")[1].split("\n## ")[0]
    listing = [name for line in section.splitlines() if line.startswith("| V") for name in ID.findall(line.split(" | ")[0])]
    assert sorted(listing) == sorted(name for name, *_, reason in ROWS if status(reason) == "open")


def test_the_numbers_are_right() -> None:
    summary = dict(re.findall(r"^\| ([a-z, ]+) \| (\d+) \|$", PAGE, re.M))
    counts = Counter(status(reason) for *_, reason in ROWS)
    assert summary == {**{name: str(counts[name]) for name in STATUSES.values()}, "all": str(len(ROWS))}
