"""Columns, tables and images for the metadata of assets: counts and figures, never rows of persons."""

import base64
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import dagster as dg

from warehouse.lake import dictionary

if TYPE_CHECKING:
    from warehouse.lake.parquet import LakeTable

_KINDS = {bool: "bool", int: "int", float: "float", str: "string"}


def columns(schema: Mapping[str, Any], descriptions: Mapping[str, str] | None = None) -> dg.TableSchema:
    """The columns of a table, with their kinds and meanings."""
    return dg.TableSchema(
        [dg.TableColumn(name, str(kind), description=(descriptions or {}).get(name)) for name, kind in schema.items()]
    )


def files(table: "LakeTable") -> dict[str, Any]:
    """A table of the lake: its columns, and a query for it."""
    ask = dg.MetadataValue.md(f"`kontor lake schema {table.name}`")
    return {
        "dagster/column_schema": columns(table.schema, dictionary.describe(table)),
        "dagster/table_name": table.name,
        "ask": ask,
    }


def rows(table: Any) -> dict[str, Any]:
    """A table of PostgreSQL: its columns."""
    kinds = {column.name: column.type for column in table.__table__.columns}
    return {"dagster/column_schema": columns(kinds), "dagster/table_name": table.__tablename__}


def records(rows: list[dict[str, Any]]) -> dg.TableMetadataValue:
    """Rows as a table for the Dagster UI; numbers that are not finite become empty."""
    first: Mapping[str, Any] = rows[0] if rows else {"nothing": ""}
    kinds = [dg.TableColumn(name, _KINDS[type(value)]) for name, value in first.items()]
    table_records = [dg.TableRecord({name: _rounded(value) for name, value in row.items()}) for row in rows]
    return dg.MetadataValue.table(table_records, dg.TableSchema(kinds))


def image(png: bytes) -> dg.MarkdownMetadataValue:
    """An image that is stored within the metadata."""
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{base64.b64encode(png).decode()})")


def listed(reasons: list[str] | tuple[str, ...]) -> dg.TableMetadataValue | dg.TextMetadataValue:
    """Sentences as rows of a table, whose cells break lines; lists beside an asset do not."""
    return records([{"reason": reason} for reason in reasons]) if reasons else dg.MetadataValue.text("none")


def settings(config: Mapping[str, Mapping[str, Any]]) -> dg.MarkdownMetadataValue:
    """The run configuration for a launchpad, by asset."""
    lines = ["ops:"]
    for asset, fields in config.items():
        lines += [f"  {asset}:", "    config:", *(f"      {name}: {value}" for name, value in fields.items())]
    return dg.MetadataValue.md("\n".join(["```yaml", *lines, "```"]))


def _rounded(value: Any) -> Any:
    return (round(value, 4) if isfinite(value) else None) if isinstance(value, float) else value
