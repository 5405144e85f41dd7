"""Tables of the lake as Parquet: what a table is, the bytes of a frame, and what a file says about itself without its rows."""

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl

from analytics.frames import checked
from warehouse.errors import BackfillNeeded, Invalid, LakeDamaged
from warehouse.lake.storage import Storage

ROWS_IN_GROUP = 262_144
"""Small enough that a scan skips groups and shares them among cores, large enough that zstd finds what repeats. What is smallest
and largest is told only where there are several to choose from: users are spread over files, so that no file can be skipped."""
LEVEL = 1
"""Of zstd: a quarter less time to write than with its usual level, and the files are no larger."""
LEAST_ROWS, LEAST_REPEATED = 16_384, 16
"""So many rows, and each text so often in a group of rows: then numbering the texts here is quicker than Polars' own way."""
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ABOUT, _PIECES, _TYPES = "kontor.", "kontor-pieces", "ARROW:schema"


@dataclass(frozen=True)
class LakeTable:
    """A table and its columns. A landing keeps every piece that came, by slot; the others have one file for each bucket."""

    name: str
    schema: pl.Schema
    landing: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise Invalid(f"{self.name!r} is no name for a table: small letters, digits and _")


@dataclass(frozen=True)
class Footer:
    """What stands in a file beside its rows."""

    rows: int
    about: dict[str, str]
    pieces: list[tuple[str, int]]
    """For a compacted file: the pieces in it, in order, with their rows."""


def encode(frame: pl.DataFrame, about: Mapping[str, str], pieces: Sequence[tuple[str, int]] = ()) -> bytes:
    """The frame as Parquet. Equal frames give equal bytes, on any machine with the same Polars."""
    metadata = {_TYPES: _types(tuple(frame.schema.items()))} | {f"{_ABOUT}{key}": about[key] for key in sorted(about)}
    if pieces:
        metadata[_PIECES] = json.dumps(pieces, separators=(",", ":"))
    content = io.BytesIO()
    _numbered(frame.rechunk()).write_parquet(
        content,
        compression="zstd",
        compression_level=LEVEL,
        statistics=frame.height > ROWS_IN_GROUP,
        row_group_size=ROWS_IN_GROUP,
        metadata=metadata,
    )
    return content.getvalue()


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with texts that repeat as numbers of texts: Parquet writes them so, and numbering is most of what writing costs.

    In the file they are texts, since it says of its columns what the frame says.
    """
    if frame.height < LEAST_ROWS:
        return frame
    groups = -(-frame.height // ROWS_IN_GROUP)
    most = frame.height // (LEAST_REPEATED * groups)  # all distinct texts stand in every group
    texts = [column for column in frame if column.dtype == pl.String and not column.has_nulls()]
    distinct_texts = {column.name: column.unique(maintain_order=True) for column in texts if _repeats(column, most)}
    return frame.cast({name: pl.Enum(distinct) for name, distinct in distinct_texts.items()})


def _repeats(column: pl.Series, max_distinct: int) -> bool:
    """Whether a column has no more distinct texts than this; most that have more show it in their first rows."""
    return column.head(2 * max_distinct + 1).n_unique() <= max_distinct and column.n_unique() <= max_distinct


@cache
def _types(columns: tuple[tuple[str, pl.DataType], ...]) -> str:
    """What a file says of the types of its columns, as Polars words it."""
    content = io.BytesIO()
    pl.DataFrame(schema=dict(columns)).write_parquet(content)
    content.seek(0)
    return pl.read_parquet_metadata(content)[_TYPES]


def footer(place: Storage, path: str) -> Footer:
    """What a file says about itself."""
    from pyarrow import ArrowException, parquet

    try:
        with place.opened(path) as source:
            found = parquet.read_metadata(source)
    except FileNotFoundError:
        raise
    except (ArrowException, OSError) as error:
        raise _damaged(path) from error
    texts = {key.decode(): value.decode() for key, value in (found.metadata or {}).items()}
    about = {key.removeprefix(_ABOUT): value for key, value in texts.items() if key.startswith(_ABOUT)}
    return Footer(found.num_rows, about, [(name, rows) for name, rows in json.loads(texts.get(_PIECES, "[]"))])


def scan(place: Storage, paths: Sequence[str], schema: pl.Schema) -> pl.LazyFrame:
    """The rows of files, one after the other, in the columns of the schema."""
    sources: Any = [place.source(path) for path in paths]
    return pl.scan_parquet(sources, schema=schema, hive_partitioning=False, glob=False)


def read(place: Storage, paths: Sequence[str], table: LakeTable, columns: Sequence[str]) -> pl.DataFrame:
    """The same, read. If that fails, says which file is to blame."""
    try:
        frame = scan(place, paths, table.schema).select(columns).collect()
    except FileNotFoundError:
        raise
    except UNREADABLE:
        require(place, paths, table)
        for path in paths:
            read_raw(place, path)
        raise
    return checked(frame, pl.Schema({name: table.schema[name] for name in columns}))


def read_raw(place: Storage, path: str, columns: list[str] | None = None) -> pl.DataFrame:
    """One file with the columns that it has, or some of them."""
    try:
        return pl.read_parquet(place.source(path), columns=columns, hive_partitioning=False, glob=False)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise _damaged(path) from error


def require(place: Storage, paths: Sequence[str], table: LakeTable) -> None:
    """Returns if every file has the columns of the table."""
    for path in paths:
        found = columns_of(place, path)
        if dict(found) != dict(table.schema):
            differ = sorted(name for name in {*found, *table.schema} if found.get(name) != table.schema.get(name))
            raise BackfillNeeded(
                f"{path} was written with other columns than the table {table.name} has now ({', '.join(differ)}): "
                f"backfill {table.name} for this bucket"
            )


def columns_of(place: Storage, path: str) -> pl.Schema:
    """The columns of one file, in its order."""
    try:
        source = place.source(path)
        return pl.Schema(pl.read_parquet_schema(io.BytesIO(source) if isinstance(source, bytes) else source))
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise _damaged(path) from error


def _damaged(path: str) -> LakeDamaged:
    return LakeDamaged(f"{path} of the lake is not a Parquet file that can be read: delete it and backfill its bucket")
