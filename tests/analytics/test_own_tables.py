"""Rows that an operator adds to the tables of knowledge: what is wrong with them, and what they do."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from analytics import knowledge_checks
from analytics.knowledge.catalogue import PARTNER_COLUMNS
from analytics.own_tables import merged, own_files

RULE_COLUMNS = tuple(
    (Path(__file__).parents[2] / "analytics/knowledge/tables/rules.csv").read_text().partition("\n")[0].split(",")
)
SHOP = {
    "number": "1000001",
    "system_name": "HOFLADEN_KRAUSE",
    "display_name": "Hofladen Krause",
    "aliases": "hofladen krause",
    "categories": "LIVING_GROCERIES:1",
}
RULE = {
    "id": "own-club",
    "priority": "15",
    "item": "RECREATION_SPORTS",
    "confidence": "0.95",
    "sign": "-",
    "words": "zwoelferclub",
    "reason": "Beitrag zum Zwölferclub",
}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes own rows of a table; returns the folder."""

    def rows(name: str, columns: tuple[str, ...], *rows: dict[str, str]) -> Path:
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
        return tmp_path

    return rows


def test_good_rows_have_no_problems(write: Write) -> None:
    write("rules.csv", RULE_COLUMNS, RULE)
    assert knowledge_checks.own_problems(write("partners.csv", PARTNER_COLUMNS, SHOP)) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"number": "9900"}, "partners.csv:2 number: 9900 is kept for Kontor; own partners have numbers from 1000000"),
        ({"number": "1"}, "partners.csv:2 system_name: 1 is REWE; own partners have numbers from 1000000"),
        (
            {"aliases": "rewe markt"},
            "partners.csv:2 aliases: »rewe markt« belongs to line 2 of Kontor's table already; leave it with one of them",
        ),
        ({"categories": "GROCERIES:1"}, "partners.csv:2 categories: »GROCERIES« is not an item of the tree CATEGORIES"),
    ],
)
def test_a_problem_names_its_line(write: Write, change: dict[str, str], sentence: str) -> None:
    assert knowledge_checks.own_problems(write("partners.csv", PARTNER_COLUMNS, {**SHOP, **change})) == [sentence]


def test_other_columns_and_no_folder_are_refused(write: Write, tmp_path: Path) -> None:
    (told,) = knowledge_checks.own_problems(tmp_path / "nowhere")
    assert "is no folder" in told
    (told,) = knowledge_checks.own_problems(write("partners.csv", ("number", "name")))
    assert told.startswith("partners.csv:1 header: write the columns number, system_name")


def test_other_files_are_refused(write: Write) -> None:
    (told,) = knowledge_checks.own_problems(write("everyday.csv", ("word", "kind")))
    assert told.endswith("adds to no table; there may be partners.csv, rules.csv, lexicon.csv")


def test_a_row_with_a_number_of_ours_replaces_it_in_its_place_and_others_follow() -> None:
    rows = [{"id": "a", "x": "1"}, {"id": "b", "x": "2"}]
    assert merged(rows, [{"id": "c", "x": "3"}, {"id": "a", "x": "4"}], "id") == [
        {"id": "a", "x": "4"},
        {"id": "b", "x": "2"},
        {"id": "c", "x": "3"},
    ]
    assert merged(rows, [{"id": "a", "x": "4"}], None) == [*rows, {"id": "a", "x": "4"}]


def test_a_process_keeps_the_rows_that_it_began_with(write: Write) -> None:
    folder = write("rules.csv", RULE_COLUMNS, RULE)
    before = own_files(folder)
    write("rules.csv", RULE_COLUMNS)
    assert own_files(folder) == before
