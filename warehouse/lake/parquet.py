"""Tables of the lake as Parquet: what a table is, the bytes of a frame, and the footer of a file."""

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, NamedTuple

import polars as pl

from analytics.frames import checked
from warehouse.errors import BackfillNeeded, Invalid, LakeDamaged
from warehouse.lake.storage import Storage

GROUP_ROWS = 262_144
"""Small enough that a scan can skip groups and share them among cores, large enough for zstd to find repetitions. Minima and
maxima are written only for files of several groups: users are spread over files, so that no file can be skipped."""
ZSTD_LEVEL = 1
"""Takes a quarter less time to write than the default level, and the files are no larger."""
MAX_ROWS_AT_ONCE = 4 * GROUP_ROWS
"""Tables with more rows are written group by group, so that their memory does not grow with them."""
MIN_NUMBERED_ROWS, MIN_REPETITIONS = 16_384, 16
"""From this many rows on, and with each text this often in a group of rows, numbering texts here is quicker than in Polars."""
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ABOUT, _PIECES, _TYPES = "kontor.", "kontor-pieces", "ARROW:schema"


@dataclass(frozen=True)
class LakeTable:
    """A table and its columns. A landing keeps every piece, by slot; the others have one file for each bucket."""

    name: str
    schema: pl.Schema
    landing: bool = False

    def __post_init__(self) -> None:
        if not is_table_name(self.name):
            raise Invalid(f"{self.name!r} is no name for a table: small letters, digits and _")


def is_table_name(name: str) -> bool:
    """Whether a table may have this name."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True)
class Footer:
    """What a file holds besides its rows."""

    rows: int
    about: dict[str, str]
    pieces: list[tuple[str, int]]
    """Of a compacted file: its pieces in order, each with its number of rows."""


class UserRange(NamedTuple):
    """Users by the first and the last of their ids as texts, both included."""

    first: str
    last: str


ALL_USERS = UserRange("", "~")


def encode(frame: pl.DataFrame, about: Mapping[str, str], pieces: Sequence[tuple[str, int]] = ()) -> bytes:
    """The frame as Parquet. Equal frames give equal bytes, on any machine with the same Polars."""
    metadata = {_TYPES: _types(tuple(frame.schema.items()))} | {f"{_ABOUT}{key}": about[key] for key in sorted(about)}
    if pieces:
        metadata[_PIECES] = json.dumps(pieces, separators=(",", ":"))
    content = io.BytesIO()
    _numbered(frame.rechunk()).write_parquet(
        content,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        statistics=frame.height > GROUP_ROWS,
        row_group_size=GROUP_ROWS,
        metadata=metadata,
    )
    return content.getvalue()


class PieceEncoder:
    """The bytes of a table whose rows come in pieces, in memory that depends neither on their number nor on that of the rows. The
    bytes do not depend on how the rows were cut. What does not fit lies in files without a name,
    of which a killed process leaves nothing.
    """

    def __init__(self, schema: pl.Schema) -> None:
        self.rows = 0
        self._frames = [schema.to_frame()]
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> "PieceEncoder":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for file in self._files:
            file.close()

    def add(self, frame: pl.DataFrame) -> None:
        """Takes the next rows."""
        self.rows += frame.height
        self._frames.append(frame)
        if self.rows > MAX_ROWS_AT_ONCE:
            self._spill()

    def encode(self, about: Mapping[str, str]) -> bytes:
        """All rows as Parquet."""
        if not self._files:
            return encode(pl.concat(self._frames), about)
        with TemporaryFile() as whole:
            pl.scan_parquet([_path(file) for file in self._files], glob=False).sink_parquet(
                _path(whole),
                compression="zstd",
                compression_level=ZSTD_LEVEL,
                statistics=True,
                row_group_size=GROUP_ROWS,
                metadata={f"{_ABOUT}{key}": about[key] for key in sorted(about)},
                engine="streaming",
            )
            whole.seek(0)
            return whole.read()

    def _spill(self) -> None:
        """Puts what is held in memory on the disk."""
        file = TemporaryFile()  # noqa: SIM115 (closed at the end)
        self._files.append(file)
        pl.concat(self._frames).write_parquet(_path(file), compression="lz4")
        self._frames = [self._frames[0].clear()]


def _path(file: IO[bytes]) -> str:
    """The path by which this process reaches an open file without a name."""
    return f"/dev/fd/{file.fileno()}"


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with repetitive texts as enums: Parquet writes texts as numbers, and numbering is most of the cost of writing.

    Readers see texts, since the file states the types of the original frame.
    """
    if frame.height < MIN_NUMBERED_ROWS:
        return frame
    groups = -(-frame.height // GROUP_ROWS)
    max_distinct = frame.height // (MIN_REPETITIONS * groups)  # every group has all distinct texts
    texts = [column for column in frame if column.dtype == pl.String and not column.has_nulls()]
    return frame.with_columns(_enum(column, max_distinct) for column in texts)


def _enum(column: pl.Series, max_distinct: int) -> pl.Series:
    """A column of texts as an enum, or as it is if it has more distinct texts than this; most that have more show it in their
    first rows.
    """
    if column.head(2 * max_distinct + 1).n_unique() > max_distinct:
        return column
    from analytics.native.dense_ids import Numbering  # loads numba, which processes that write no large table need not

    numbers, first_rows = Numbering().of(column.hash().to_numpy())
    if first_rows.size > max_distinct:
        return column
    return pl.Series(column.name, numbers).cast(pl.UInt32).cat.to(pl.Enum(column[first_rows]))


@cache
def _types(columns: tuple[tuple[str, pl.DataType], ...]) -> str:
    """The types of columns in the form in which Polars writes them into a file."""
    content = io.BytesIO()
    pl.DataFrame(schema=dict(columns)).write_parquet(content)
    content.seek(0)
    return pl.read_parquet_metadata(content)[_TYPES]


def footer(storage: Storage, path: str) -> Footer:
    """The footer of a file."""
    from pyarrow import ArrowException, parquet

    try:
        with storage.open(path) as source:
            metadata = parquet.read_metadata(source)
    except FileNotFoundError:
        raise
    except (ArrowException, OSError) as error:
        raise _damaged(path) from error
    texts = {key.decode(): value.decode() for key, value in (metadata.metadata or {}).items()}
    about = {key.removeprefix(_ABOUT): value for key, value in texts.items() if key.startswith(_ABOUT)}
    return Footer(metadata.num_rows, about, [(name, rows) for name, rows in json.loads(texts.get(_PIECES, "[]"))])


def scan(storage: Storage, paths: Sequence[str], schema: pl.Schema) -> pl.LazyFrame:
    """The rows of files, one after the other, in the columns of the schema."""
    sources: Any = [storage.source(path) for path in paths]
    return pl.scan_parquet(sources, schema=schema, hive_partitioning=False, glob=False)


def read(
    storage: Storage, paths: Sequence[str], table: LakeTable, columns: Sequence[str], users: UserRange = ALL_USERS
) -> pl.DataFrame:
    """The same, read, of all users or of some. If that fails, the error names the file that is damaged."""
    rows = scan(storage, paths, table.schema)
    try:
        frame = (
            (rows if users == ALL_USERS else rows.filter(pl.col("user").is_between(pl.lit(users.first), pl.lit(users.last))))
            .select(columns)
            .collect()
        )
    except FileNotFoundError:
        raise
    except READ_ERRORS:
        require(storage, paths, table)
        for path in paths:
            read_raw(storage, path)
        raise
    return checked(frame, pl.Schema({name: table.schema[name] for name in columns}))


def read_raw(storage: Storage, path: str, columns: list[str] | None = None) -> pl.DataFrame:
    """One file with the columns that it has, or some of them."""
    try:
        return pl.read_parquet(storage.source(path), columns=columns, hive_partitioning=False, glob=False)
    except FileNotFoundError:
        raise
    except READ_ERRORS as error:
        raise _damaged(path) from error


def require(storage: Storage, paths: Sequence[str], table: LakeTable) -> None:
    """Raises `BackfillNeeded` if a file has other columns than the table."""
    for path in paths:
        columns = columns_of(storage, path)
        if dict(columns) != dict(table.schema):
            differ = sorted(name for name in {*columns, *table.schema} if columns.get(name) != table.schema.get(name))
            raise BackfillNeeded(
                f"{path} was written with other columns than the table {table.name} has now ({', '.join(differ)}): "
                f"backfill {table.name} for this bucket"
            )


def columns_of(storage: Storage, path: str) -> pl.Schema:
    """The columns of one file, in its order."""
    try:
        source = storage.source(path)
        return pl.Schema(pl.read_parquet_schema(io.BytesIO(source) if isinstance(source, bytes) else source))
    except FileNotFoundError:
        raise
    except READ_ERRORS as error:
        raise _damaged(path) from error


def _damaged(path: str) -> LakeDamaged:
    return LakeDamaged(f"{path} of the lake is not a Parquet file that can be read: delete it and backfill its bucket")
