"""How columns, tables and pictures are shown beside an asset. Metadata are counts and figures, never lines of people."""

import base64
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import dagster as dg

if TYPE_CHECKING:
    from warehouse.lake.parquet import LakeTable

_KINDS = {bool: "bool", int: "int", float: "float", str: "string"}


def columns(schema: Mapping[str, Any]) -> dg.TableSchema:
    """The columns of a table, with their kinds."""
    return dg.TableSchema([dg.TableColumn(name, str(kind)) for name, kind in schema.items()])


def files(table: "LakeTable") -> dict[str, Any]:
    """A table of the lake: its columns, and how to ask it."""
    ask = dg.MetadataValue.md(f'`kontor sql "describe {table.name}"`')
    return {"dagster/column_schema": columns(table.schema), "dagster/table_name": table.name, "ask": ask}


def rows(table: Any) -> dict[str, Any]:
    """A table of PostgreSQL: its columns."""
    kinds = {column.name: column.type for column in table.__table__.columns}
    return {"dagster/column_schema": columns(kinds), "dagster/table_name": table.__tablename__}


def records(found: list[dict[str, Any]]) -> dg.TableMetadataValue:
    """Rows as a table that can be shown: what is no number is nothing."""
    first: Mapping[str, Any] = found[0] if found else {"nothing": ""}
    kinds = [dg.TableColumn(name, _KINDS[type(value)]) for name, value in first.items()]
    told = [dg.TableRecord({name: _rounded(value) for name, value in row.items()}) for row in found]
    return dg.MetadataValue.table(told, dg.TableSchema(kinds))


def image(png: bytes) -> dg.MarkdownMetadataValue:
    """A picture that is kept with the metadata."""
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{base64.b64encode(png).decode()})")


def listed(reasons: list[str] | tuple[str, ...]) -> dg.TableMetadataValue | dg.TextMetadataValue:
    """Sentences, one below the other: in a table, whose cells break lines, which lists beside an asset do not."""
    return records([{"reason": reason} for reason in reasons]) if reasons else dg.MetadataValue.text("none")


def settings(config: Mapping[str, Mapping[str, Any]]) -> dg.MarkdownMetadataValue:
    """What to write into a launchpad, by asset."""
    lines = ["ops:"]
    for asset, fields in config.items():
        lines += [f"  {asset}:", "    config:", *(f"      {name}: {value}" for name, value in fields.items())]
    return dg.MetadataValue.md("\n".join(["```yaml", *lines, "```"]))


def _rounded(value: Any) -> Any:
    return (round(value, 4) if isfinite(value) else None) if isinstance(value, float) else value
