"""The data dictionary of the lake: what each column means, said once, in `columns.csv`. A row without a table is about the column
of that name in all tables; a row with one is about that table alone.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from warehouse.lake.parquet import LakeTable

FILE = Path(__file__).with_name("columns.csv")


def describe(table: LakeTable) -> dict[str, str]:
    """The meanings of the columns of a table, in their order."""
    descriptions = _descriptions()
    return {name: descriptions.get((table.name, name)) or descriptions.get(("", name), "") for name in table.schema.names()}


@cache
def _descriptions() -> Mapping[tuple[str, str], str]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return {(row["table"], row["column"]): row["description"] for row in csv.DictReader(file)}
