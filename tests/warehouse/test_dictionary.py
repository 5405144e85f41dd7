"""Every column of the lake is described, once."""

import csv

from warehouse.lake import dictionary
from warehouse.lake.tables import TABLES


def test_every_column_has_a_meaning() -> None:
    assert [(table.name, name) for table in TABLES for name, meaning in dictionary.describe(table).items() if not meaning] == []


def test_every_description_is_of_a_column_and_there_is_one_of_each() -> None:
    with dictionary.FILE.open(encoding="utf-8", newline="") as file:
        rows = [(row["table"], row["column"]) for row in csv.DictReader(file)]
    assert len(set(rows)) == len(rows)
    own = {(table.name, name) for table in TABLES for name in table.schema.names()}
    common = {("", name) for table, name in own if (table, name) not in rows}
    assert set(rows) <= own | common, "a description that no column needs"
    assert rows == sorted(rows)


def test_the_description_of_a_table_goes_before_that_of_all_tables() -> None:
    meanings = {table.name: dictionary.describe(table) for table in TABLES}
    assert meanings["transactions"]["id"] != meanings["contracts"]["id"]
    assert meanings["transactions"]["user"] == meanings["contracts"]["user"]
