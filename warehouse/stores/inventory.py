"""Counts and checksums of all tables, to compare a restored service with its backup.

Databases with the same rows have the same checksums, whatever the order of the rows. They reveal nothing about a person.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import text

from warehouse.lake.lake import Lake
from warehouse.lake.tables import TABLES
from warehouse.postgres.database import Owner

TABLE_NAMES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename COLLATE \"C\""
COUNT_ROWS = "SELECT count(*), coalesce(sum(hashtextextended(row::text, 0)::numeric), 0) FROM public.{table} AS row"
TEXT_SETTINGS = ("SET LOCAL timezone = 'UTC'", "SET LOCAL datestyle = 'ISO'", "SET LOCAL bytea_output = 'hex'")
"""The settings that the text form of a row depends on."""


@dataclass(frozen=True)
class TableSummary:
    """A table of PostgreSQL with the number of its rows, or a table of the lake with the number of its files."""

    where: str
    name: str
    count: int
    checksum: str


def database_tables(owner: Owner) -> Iterator[TableSummary]:
    """The tables of PostgreSQL. Open the transaction with `surveying`, so that all are read as of one moment."""
    connection = owner.session.connection()
    for setting in TEXT_SETTINGS:
        connection.execute(text(setting))
    for table in connection.scalars(text(TABLE_NAMES)).all():
        quoted_name = connection.dialect.identifier_preparer.quote(table)
        count, total = connection.execute(text(COUNT_ROWS.format(table=quoted_name))).one()
        yield TableSummary("postgresql", table, count, hashlib.sha256(str(total).encode()).hexdigest()[:16])


def lake_tables(lake: Lake) -> Iterator[TableSummary]:
    """The tables of the lake; the checksum covers names and contents of the files."""
    for table in TABLES:
        paths, digest = lake.storage.find(table.name), hashlib.sha256()
        for path in paths:
            digest.update(
                path.encode() + b"\0" + hashlib.sha256(lake.storage.filesystem.cat_file(lake.storage.at(path))).digest()
            )
        yield TableSummary("lake", table.name, len(paths), digest.hexdigest()[:16])
