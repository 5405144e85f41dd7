"""`kontor sql`: questions to the lake."""

import re
import sys
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Shown
from rich.text import Text

from api.cli.desk import console, read_settings, show
from warehouse.errors import BackfillNeeded, Invalid, LakeDamaged

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyRelation

    from warehouse.lake.lake import Lake

BATCH = 50_000


class OutputFormat(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("sql")(ask)


def ask(
    query: Annotated[
        str | None, typer.Argument(help="The query; without one, the tables are listed.", show_default=False)
    ] = None,
    form: Annotated[
        OutputFormat | None,
        typer.Option("--format", help="How the answer is written; default: what the file's name says, or a table."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the answer.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows of a table that are printed.")] = 50,
) -> None:
    """Ask the lake in DuckDB's SQL, for reading only."""
    from warehouse.lake import sql  # loads DuckDB, which no other command needs
    from warehouse.lake.lake import Lake
    from warehouse.lake.tables import TABLES

    path = read_settings().lake_path
    lake = Lake(path)
    if query is None:
        if not _list_tables(lake, as_json=form is OutputFormat.JSON) and form is not OutputFormat.JSON:
            console.print(f"The lake at {path} is empty. KONTOR_HOME or KONTOR_LAKE say where another one lies.", highlight=False)
        return
    chosen = _format(form, out)
    words = set(re.findall(r"\w+", query.lower()))
    tables = [table for table in TABLES if table.name in words] or TABLES
    with sql.explain_errors(), sql.connect(lake, tables) as connection:
        answer = sql.ask(connection, query)
        if chosen is OutputFormat.TABLE:
            _print(answer, limit)
        else:
            _write(_frame(answer), chosen, out)


def _list_tables(lake: "Lake", as_json: bool) -> bool:
    """Prints every table with its rows and columns; answers whether there is any file."""
    from warehouse.lake.tables import TABLES

    rows = []
    for table in TABLES:
        try:
            found = lake.statistics(table)
            counted: dict[str, Any] = {"buckets": found.height, "rows": found["rows"].sum(), "bytes": found["bytes"].sum()}
        except (LakeDamaged, BackfillNeeded) as trouble:
            counted = {"buckets": None, "rows": str(trouble), "bytes": None}
        keys = ["bucket", "slot"] if table.landing else ["bucket"]
        rows.append({"table": table.name, **counted, "columns": [*table.schema.names(), *keys]})
    show(rows, as_json, "Tables")
    return any(row["buckets"] != 0 for row in rows)


def _format(form: OutputFormat | None, out: Path | None) -> OutputFormat:
    """How to write the answer."""
    suffix = out.suffix.lower().removeprefix(".") if out else ""
    chosen = form or (
        OutputFormat(suffix) if suffix in (OutputFormat.CSV, OutputFormat.JSON, OutputFormat.PARQUET) else OutputFormat.TABLE
    )
    if out and chosen is OutputFormat.TABLE:
        raise Invalid(f"--format says how to write {out.name}: csv, json or parquet")
    if chosen is OutputFormat.PARQUET and not out:
        raise Invalid("--out says where the Parquet file goes")
    return chosen


def _print(answer: "DuckDBPyRelation", limit: int) -> None:
    """Prints the first rows, and says how many more there are, without holding those."""
    rows: list[dict[str, Any]] = []
    total = 0
    for batch in answer.to_arrow_reader(BATCH):
        rows += batch.slice(0, max(0, limit - total)).to_pylist()
        total += batch.num_rows
    table = Shown()
    for name in answer.columns:
        table.add_column(Text(_plain(name)), overflow="fold")
    for row in islice(rows, limit):
        table.add_row(*("" if value is None else Text(_plain(str(value))) for value in row.values()))
    console.print(table)
    if total > limit:
        console.print(f"{total - limit} more rows: --limit prints more, --out writes all.", highlight=False)


def _plain(text: str) -> str:
    """A bank's text without signs that a terminal obeys."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _frame(answer: "DuckDBPyRelation") -> "pl.DataFrame":
    import polars as pl

    try:
        frame: pl.DataFrame = answer.pl()
    except pl.exceptions.PolarsError as error:
        raise Invalid(f"a column of this type cannot be written, cast it to varchar: {error}") from error
    return frame


def _write(frame: "pl.DataFrame", form: OutputFormat, out: Path | None) -> None:
    """Writes all rows, to the file or for a script that reads along."""
    import polars as pl

    try:
        if form is OutputFormat.PARQUET and out:
            frame.write_parquet(out)
        elif form is OutputFormat.CSV:
            text = frame.write_csv()
            out.write_text(text) if out else sys.stdout.write(text)
        else:
            text = frame.write_json() + "\n"
            out.write_text(text) if out else sys.stdout.write(text)
    except pl.exceptions.PolarsError as error:
        raise Invalid(f"this cannot be written as {form}, cast nested columns to varchar or json: {error}") from error
    except OSError as error:
        raise Invalid(f"{out} cannot be written: {error.strerror}") from error
    if out:
        console.print(f"{frame.height} rows are in {out}.", highlight=False, markup=False)
