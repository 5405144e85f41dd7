"""SQL over the lake: DuckDB in memory with a view for each table, for reading only, and of all files only those of the lake.

There is no database file: one that is open for writing shuts out every reader. Imported only where a query is asked.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation, StatementType

from warehouse.errors import Invalid
from warehouse.lake import parquet
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.storage import Storage, retry_read
from warehouse.lake.tables import TABLES

CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "enable_external_file_cache": False,  # files are replaced while a notebook has a connection
    "python_enable_replacements": False,  # names in a query are tables, not variables of the program
    "temp_directory": "",  # bookings are not spilled to a disk
}
_WILD = frozenset("*?[")


def connect(lake: Lake, tables: Sequence[LakeTable] = TABLES) -> DuckDBPyConnection:
    """A connection with a view for each table, which has `bucket` (a landing also `slot`) as its last columns."""
    connection = duckdb.connect(":memory:", config=CONFIGURATION)
    try:
        if not lake.place.local:
            connection.register_filesystem(lake.place.filesystem)
        for table in tables:
            _create_view(connection, lake, table)
        _shut(connection, lake.place)
    except BaseException:
        connection.close()
        raise
    return connection


def ask(connection: DuckDBPyConnection, query: str) -> DuckDBPyRelation:
    """The answer to one query, not yet computed. Whatever is no query is refused, since it could write into the lake."""
    with explain_errors():
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != StatementType.SELECT:
            raise Invalid("one query is taken: select, with, from, describe, summarize or show")
        return connection.sql(query)


@contextmanager
def explain_errors() -> Iterator[None]:
    """What DuckDB objects to, as a fact that says what to do."""
    try:
        yield
    except duckdb.CatalogException as error:
        raise Invalid(f"{error}\nThe tables are {', '.join(table.name for table in TABLES)}.") from error
    except duckdb.OutOfMemoryException as error:
        raise Invalid(f"{error}\nAsk for fewer columns, or bucket by bucket: where bucket = 17.") from error
    except duckdb.IOException as error:
        raise Invalid(f"{error}\nA file was replaced meanwhile: ask again.") from error
    except duckdb.Error as error:
        raise Invalid(str(error)) from error


def _create_view(connection: DuckDBPyConnection, lake: Lake, table: LakeTable) -> None:
    paths = retry_read(lambda: _checked_paths(lake, table))
    keys = {"bucket": "SMALLINT"} | ({"slot": "VARCHAR"} if table.landing else {})
    if not paths:
        _create_empty(connection, table, keys)
        return
    if not table.landing:  # buckets that are written later are seen as well; a landing's compacted pieces must not be
        paths = [f"{table.name}/bucket=*/part.parquet"]
    files = ", ".join(_quoted(f"{lake.place.address}/{path}") for path in paths)
    columns = ", ".join(f'"{name}"' for name in (*table.schema, *keys))
    types = ", ".join(f"'{name}': {kind}" for name, kind in keys.items())
    connection.execute(
        f'CREATE VIEW "{table.name}" AS SELECT {columns} '  # noqa: S608  # nosec B608  # names of our own tables
        f"FROM read_parquet([{files}], hive_partitioning = true, hive_types = {{{types}}})"
    )


def _checked_paths(lake: Lake, table: LakeTable) -> list[str]:
    paths = [file.path for file in lake.files(table)]
    parquet.require(lake.place, paths, table)
    return paths


def _create_empty(connection: DuckDBPyConnection, table: LakeTable, keys: dict[str, str]) -> None:
    """A view without rows, with the types that Parquet would give it."""
    connection.from_arrow(table.schema.to_frame().to_arrow()).create(f"no {table.name}")
    added = ", ".join(f"NULL::{kind} AS {name}" for name, kind in keys.items())
    connection.execute(f'CREATE VIEW "{table.name}" AS SELECT *, {added} FROM "no {table.name}"')  # noqa: S608  # nosec B608  # as above


def _shut(connection: DuckDBPyConnection, place: Storage) -> None:
    """From here on only the lake can be reached, and that cannot be changed."""
    if _WILD & set(place.address):
        raise Invalid(f"DuckDB cannot read a lake whose path has one of {' '.join(sorted(_WILD))}: {place.address}")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET allowed_directories = [{_quoted(place.address + '/')}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
