"""The rows that an operator has added to the tables of knowledge: CSV files in the folder that `KONTOR_KNOWLEDGE` names.

A file has the name and columns of the table that it adds to. A row with the number of a partner or the id of a rule of ours
replaces that row; all others are added at the end. Each file is read once, so that a process works with one state of them and
knows its version; another state is taken up with the next start.
"""

import csv
import io
import os
from functools import cache
from pathlib import Path

SETTING = "KONTOR_KNOWLEDGE"
KEYS = {"partners.csv": "number", "rules.csv": "id", "lexicon.csv": None}
"""The tables that may have own rows, and the column by which such a row replaces one of ours."""
FIRST_OWN_NUMBER = 1_000_000
"""The numbers of own partners begin here, so that none is ever that of a partner of ours."""
Row = dict[str, str]


class OwnTablesBroken(ValueError):
    """The folder or a file in it cannot be read as a table of knowledge; the message says where and why."""


def own_folder() -> Path | None:
    """The folder with own rows, if the environment names one."""
    name = os.environ.get(SETTING, "")
    return Path(name) if name else None


@cache
def own_files(folder: Path | None = None) -> dict[str, bytes]:
    """The files with own rows by name: those of the folder, else of the one that the environment names."""
    place = folder or own_folder()
    if place is None:
        return {}
    if not place.is_dir():
        raise OwnTablesBroken(f"{place} is no folder; create it, or unset {SETTING}")
    if strange := sorted(path.name for path in place.glob("*.csv") if path.name not in KEYS):
        raise OwnTablesBroken(f"{place / strange[0]} adds to no table; there may be {', '.join(KEYS)}")
    return {name: (place / name).read_bytes() for name in KEYS if (place / name).is_file()}


def table_rows(path: Path) -> list[Row]:
    """The rows of a table of ours with the own ones."""
    columns, rows = _read(path.name, path.read_bytes())
    content = own_files().get(path.name)
    if content is None:
        return rows
    own_columns, own_rows = _read(path.name, content)
    if own_columns != columns:
        raise OwnTablesBroken(f"{path.name}:1 header: write the columns {', '.join(columns)}")
    return merged(rows, own_rows, KEYS[path.name])


def table_bytes(path: Path) -> bytes:
    """The content of a table of ours with the own rows, as a CSV file."""
    if path.name not in own_files():
        return path.read_bytes()
    rows = table_rows(path)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def merged(rows: list[Row], own_rows: list[Row], key: str | None) -> list[Row]:
    """The rows, those replaced that have the key of an own one, and the other own ones."""
    if key is None:
        return [*rows, *own_rows]
    own = {row[key]: row for row in own_rows}
    present = {row[key] for row in rows}
    return [*(own.get(row[key], row) for row in rows), *(row for row in own_rows if row[key] not in present)]


def _read(name: str, content: bytes) -> tuple[list[str], list[Row]]:
    """Columns and rows of a table."""
    try:
        reader = csv.DictReader(io.StringIO(content.decode(), newline=""))
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise OwnTablesBroken(f"{name} is no CSV file in UTF-8") from error
    if any(None in row or None in row.values() for row in rows):
        raise OwnTablesBroken(f"{name} has a row with more or fewer cells than the header; quote cells that contain commas")
    return list(reader.fieldnames or ()), rows
