"""SQL over the lake: DuckDB in memory with a view for each table. It only reads, and only files of the lake.

There is no database file, since one that is open for writing locks out every reader. Import this only where a query is run: it
loads DuckDB.
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
_WILDCARDS = frozenset("*?[")


def connect(lake: Lake, tables: Sequence[LakeTable] = TABLES) -> DuckDBPyConnection:
    """A connection with a view for each table. The last columns of a view are `bucket` and, for a landing, `slot`."""
    connection = duckdb.connect(":memory:", config=CONFIGURATION)
    try:
        if not lake.storage.local:
            connection.register_filesystem(lake.storage.filesystem)
        for table in tables:
            _create_view(connection, lake, table)
        _restrict(connection, lake.storage)
    except BaseException:
        connection.close()
        raise
    return connection


def ask(connection: DuckDBPyConnection, query: str) -> DuckDBPyRelation:
    """The result of one query, not yet computed. Other statements are refused, since they could write into the lake."""
    with explain_errors():
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != StatementType.SELECT:
            raise Invalid("one query is taken: select, with, from, describe, summarize or show")
        return connection.sql(query)


@contextmanager
def explain_errors() -> Iterator[None]:
    """Turns errors of DuckDB into `Invalid`, with a hint on what to do."""
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
    if not table.landing:  # a pattern also finds buckets that are written later; of a landing it would find compacted pieces
        paths = [f"{table.name}/bucket=*/part.parquet"]
    files = ", ".join(_quoted(f"{lake.storage.address}/{path}") for path in paths)
    columns = ", ".join(f'"{name}"' for name in (*table.schema, *keys))
    types = ", ".join(f"'{name}': {kind}" for name, kind in keys.items())
    connection.execute(
        f'CREATE VIEW "{table.name}" AS SELECT {columns} '  # noqa: S608  # names of our own tables
        f"FROM read_parquet([{files}], hive_partitioning = true, hive_types = {{{types}}})"
    )


def _checked_paths(lake: Lake, table: LakeTable) -> list[str]:
    paths = [file.path for file in lake.files(table)]
    parquet.require(lake.storage, paths, table)
    return paths


def _create_empty(connection: DuckDBPyConnection, table: LakeTable, keys: dict[str, str]) -> None:
    """A view without rows, with the types that Parquet would give it."""
    connection.from_arrow(table.schema.to_frame().to_arrow()).create(f"no {table.name}")
    key_columns = ", ".join(f"NULL::{kind} AS {name}" for name, kind in keys.items())
    connection.execute(f'CREATE VIEW "{table.name}" AS SELECT *, {key_columns} FROM "no {table.name}"')  # noqa: S608  # as above


def _restrict(connection: DuckDBPyConnection, storage: Storage) -> None:
    """Limits the connection to the files of the lake, for good."""
    if _WILDCARDS & set(storage.address):
        raise Invalid(f"DuckDB cannot read a lake whose path has one of {' '.join(sorted(_WILDCARDS))}: {storage.address}")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET allowed_directories = [{_quoted(storage.address + '/')}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
