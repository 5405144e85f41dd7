"""Looking for texts in everything that a house keeps: all rows of all tables, all files, what is compressed in them included."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl
import psycopg
from psycopg import sql
from sqlalchemy import make_url

from pipelines.results.tags import NAME, decode
from tests.support.stack import Stack
from warehouse.lake.packing import unpack

TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
)
OF_THE_BANK, OF_THE_SERVER = "demo-bank", "postgres"
SERVER_LOG = "log"
PARQUET = b"PAR1"


def found(stack: Stack, texts: Iterable[str]) -> dict[str, set[str]]:
    """Where each text stands, whatever its case: `database.table`, or the path of a file below the home."""
    wanted = {text: _written(text) for text in texts}
    places: dict[str, set[str]] = {text: set() for text in wanted}
    for place, content in _everything(stack):
        lowered = content.lower()
        for text, ways in wanted.items():
            if any(way in lowered for way in ways):
                places[text].add(place)
    return places


def _written(text: str) -> tuple[str, ...]:
    """A text as it may stand somewhere: plain, escaped as in JSON, or in the hexadecimal digits of bytes."""
    plain = text.lower()
    return plain, plain.encode("ascii", "backslashreplace").decode(), text.encode().hex()


def _everything(stack: Stack) -> Iterator[tuple[str, str]]:
    for address in (stack.where.service, stack.where.dagster):
        yield from rows(address)
    for path in sorted(stack.home.rglob("*")):
        inside = path.relative_to(stack.home)
        if path.is_file() and _ours(inside):
            yield str(inside), _content(path)


def _result(name: str, content: bytes) -> str:
    """What lies ready, as it can be read."""
    return str(decode(content).to_dicts()) if name == NAME else unpack(content).decode("utf-8", "replace")


def rows(address: str) -> Iterator[tuple[str, str]]:
    """All rows of a database, those of a table at once, as its superuser sees them."""
    url = make_url(address).set(username="postgres", drivername="postgresql")
    with psycopg.connect(url.render_as_string(hide_password=False)) as connection:
        for schema, name in connection.execute(TABLES).fetchall():
            table = sql.Identifier(schema, name)
            rows = connection.execute(sql.SQL("SELECT t::text FROM {} t").format(table)).fetchall()
            yield f"{url.database}.{name}", "\n".join(row[0] for row in rows)
            if name == "results":
                contents = connection.execute(sql.SQL("SELECT name, content FROM {}").format(table)).fetchall()
                yield f"{url.database}.{name}", "\n".join(_result(*content) for content in contents)


def _ours(path: Path) -> bool:
    """Not what the demo bank remembers, and of the server's own files only its log: its tables are read as tables."""
    return path.parts[0] != OF_THE_BANK and (path.parts[0] != OF_THE_SERVER or path.parts[1:] == (SERVER_LOG,))


def _content(path: Path) -> str:
    plain = path.read_bytes().decode("utf-8", "replace")
    if not is_parquet(path.read_bytes()):
        return plain
    return plain + str(pl.read_parquet(path, hive_partitioning=False).to_dicts())


def is_parquet(content: bytes) -> bool:
    """Whether this is a whole file of Parquet, whatever its name: a killed writer leaves it under another one."""
    return content.startswith(PARQUET) and content.endswith(PARQUET)
