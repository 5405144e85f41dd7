"""Copies of the tombstones outside of PostgreSQL: in the lake, and in a file that no restore replaces.

A restored database, or a restored lake, is older than an erasure. The other copies say who has to be erased again.
"""

from pathlib import Path

import polars as pl

from warehouse.errors import TombstonesUnreadable
from warehouse.lake.core_tables import TOMBSTONES
from warehouse.lake.lake import Lake
from warehouse.runtime import files

BUCKET = 0
"""The lake has its tombstones in one file."""
KINDS = ("user", "access")
UUID_FORMAT = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


def read(lake: Lake, path: Path) -> pl.DataFrame:
    """All tombstones of both copies (`TOMBSTONES`)."""
    return _merged(lake.read(TOMBSTONES), _read_file(path))


def add(lake: Lake, path: Path, tombstones: pl.DataFrame) -> None:
    """Adds tombstones to the copies that lack them, and returns when they would survive a crash. One caller at a time."""
    in_lake, in_file = lake.read(TOMBSTONES), _read_file(path)
    if (all_in_lake := _merged(in_lake, tombstones)).height > in_lake.height:
        lake.write(TOMBSTONES, BUCKET, all_in_lake, {})
    if (all_in_file := _merged(in_file, tombstones)).height > in_file.height or not path.exists():
        files.replace(path, all_in_file.write_csv().encode(), private=True)


def _merged(*frames: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(frames).unique("id", keep="first").sort("id")


def _read_file(path: Path) -> pl.DataFrame:
    """The tombstones of the file, none if there is no file."""
    try:
        frame = pl.read_csv(path, schema=TOMBSTONES.schema)
    except FileNotFoundError:
        return TOMBSTONES.schema.to_frame()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path) from error
    is_id = pl.col("id", "user", "tenant").str.contains(UUID_FORMAT)
    if not frame.select(pl.all_horizontal(is_id, pl.col("kind").is_in(KINDS)).fill_null(value=False).all()).item():
        raise _unreadable(path)
    return frame


def _unreadable(path: Path) -> TombstonesUnreadable:
    return TombstonesUnreadable(f"{path} is no list of tombstones: bring back its latest copy, then start again")
