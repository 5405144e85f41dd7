"""`kontor sql`: queries on the lake."""

import re
import sys
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from api.cli.installation import console, read_settings, show
from warehouse.errors import BackfillNeeded, Invalid, LakeDamaged

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyRelation

    from warehouse.lake.lake import Lake

BATCH_ROWS = 50_000


class OutputFormat(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("sql")(run_query)


def run_query(
    query: Annotated[
        str | None, typer.Argument(help="The query. Without one, the tables are listed.", show_default=False)
    ] = None,
    form: Annotated[
        OutputFormat | None,
        typer.Option("--format", help="Format of the result. Default: by the suffix of the file, else a table."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the result.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows to print as a table.")] = 50,
) -> None:
    """Run a read-only query on the lake, in the SQL dialect of DuckDB."""
    from warehouse.lake import sql  # loads DuckDB, which no other command needs
    from warehouse.lake.lake import Lake
    from warehouse.lake.tables import TABLES

    path = read_settings().lake_path
    lake = Lake(path)
    if query is None:
        if not _list_tables(lake, as_json=form is OutputFormat.JSON) and form is not OutputFormat.JSON:
            console.print(f"The lake at {path} is empty. To read another one, set KONTOR_HOME or KONTOR_LAKE.", highlight=False)
        return
    output_format = _format(form, out)
    words = set(re.findall(r"\w+", query.lower()))
    tables = [table for table in TABLES if table.name in words] or TABLES
    with sql.explain_errors(), sql.connect(lake, tables) as connection:
        result = sql.ask(connection, query)
        if output_format is OutputFormat.TABLE:
            _print(result, limit)
        else:
            _write(_frame(result), output_format, out)


def _list_tables(lake: "Lake", as_json: bool) -> bool:
    """Prints every table with its rows and columns; returns whether there is any file."""
    from warehouse.lake.tables import TABLES

    rows = []
    for table in TABLES:
        try:
            files = lake.statistics(table)
            counts: dict[str, Any] = {"buckets": files.height, "rows": files["rows"].sum(), "bytes": files["bytes"].sum()}
        except (LakeDamaged, BackfillNeeded) as error:
            counts = {"buckets": None, "rows": str(error), "bytes": None}
        keys = ["bucket", "slot"] if table.landing else ["bucket"]
        rows.append({"table": table.name, **counts, "columns": [*table.schema.names(), *keys]})
    show(rows, as_json, "Tables")
    return any(row["buckets"] != 0 for row in rows)


def _format(form: OutputFormat | None, out: Path | None) -> OutputFormat:
    """The format of the result: the option, or else by the suffix of the file."""
    suffix = out.suffix.lower().removeprefix(".") if out else ""
    by_suffix = OutputFormat(suffix) if suffix in ("csv", "json", "parquet") else OutputFormat.TABLE
    output_format = form or by_suffix
    if out and output_format is OutputFormat.TABLE:
        raise Invalid(f"use --format to choose the format of {out.name}: csv, json or parquet")
    if output_format is OutputFormat.PARQUET and not out:
        raise Invalid("use --out to name the Parquet file")
    return output_format


def _print(result: "DuckDBPyRelation", limit: int) -> None:
    """Prints the first rows and the number of further ones, which are not kept in memory."""
    rows: list[dict[str, Any]] = []
    total = 0
    for batch in result.to_arrow_reader(BATCH_ROWS):
        rows += batch.slice(0, max(0, limit - total)).to_pylist()
        total += batch.num_rows
    table = Table()
    for name in result.columns:
        table.add_column(Text(_plain(name)), overflow="fold")
    for row in islice(rows, limit):
        table.add_row(*("" if value is None else Text(_plain(str(value))) for value in row.values()))
    console.print(table)
    if total > limit:
        console.print(f"{total - limit} more rows. Use --limit to print more, or --out to write all to a file.", highlight=False)


def _plain(text: str) -> str:
    """A bank's text without control characters of terminals."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _frame(result: "DuckDBPyRelation") -> "pl.DataFrame":
    import polars as pl

    try:
        frame: pl.DataFrame = result.pl()
    except pl.exceptions.PolarsError as error:
        raise Invalid(f"a column of this type cannot be written; cast it to varchar: {error}") from error
    return frame


def _write(frame: "pl.DataFrame", form: OutputFormat, out: Path | None) -> None:
    """Writes all rows to the file, or to standard output."""
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
        raise Invalid(f"the result cannot be written as {form}; cast nested columns to varchar or json: {error}") from error
    except OSError as error:
        raise Invalid(f"{out} cannot be written: {error.strerror}") from error
    if out:
        console.print(f"Wrote {frame.height} rows to {out}.", highlight=False, markup=False)
