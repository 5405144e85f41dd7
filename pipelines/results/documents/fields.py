"""The fields of documents, each described once by a pydantic model, which stands beside its writer.

The type of a field says how its column is written as JSON. `api/schemas` takes the same models for the OpenAPI document.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, get_args

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from pipelines.results.documents.json_text import amount, day, mean_amount, plain, quoted, rate

SHAPE = "x-shape"
NUMBER = WithJsonSchema({"type": "number"})


@dataclass(frozen=True)
class Written:
    """How the column of a field becomes JSON."""

    write: Callable[[str], pl.Expr]


@dataclass(frozen=True)
class Column:
    """The column of a field, where it does not have the field's name."""

    name: str


Euros = Annotated[Decimal, NUMBER, Written(amount)]
MeanEuros = Annotated[Decimal, NUMBER, Written(mean_amount)]
Rate = Annotated[Decimal, NUMBER, Written(rate)]
Confidence = Annotated[Rate, Column("confidence")]
Day = Annotated[date, Written(day)]
Count = Annotated[int, Written(plain)]
Truth = Annotated[bool, Written(plain)]
Text = Annotated[str, Written(quoted)]
Texts = Annotated[list[str], Written(quoted)]


class DocumentPart(BaseModel):
    """A part of a document. Its names on the wire are those of the fields in camel case; fields without a value are left out."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


def shape(name: str, words: Iterable[str] | None = None, **limits: Any) -> FieldInfo:
    """The field of a type with its own name in the OpenAPI document, limited to these words if there are any."""
    extra: dict[str, Any] = {SHAPE: name} if words is None else {SHAPE: name, "enum": list(words)}
    field: FieldInfo = Field(json_schema_extra=extra, **limits)
    return field


def field_texts(model: type[DocumentPart], names: Iterable[str] | None = None, /, **prepared: pl.Expr) -> dict[str, pl.Expr]:
    """The JSON of the fields of these names, by their wire names: as prepared, or else from their columns."""
    fields = {name: model.model_fields[name] for name in names or model.model_fields}
    return {str(field.alias): prepared[name] if name in prepared else _text(model, name) for name, field in fields.items()}


@cache
def _text(model: type[DocumentPart], name: str) -> pl.Expr:
    """The JSON of a field from its column; the expression is made once for each process."""
    field = model.model_fields[name]
    marks = [*field.metadata, *(mark for choice in get_args(field.annotation) for mark in getattr(choice, "__metadata__", ()))]
    column = next((mark.name for mark in marks if isinstance(mark, Column)), name)
    return next(mark.write(column) for mark in marks if isinstance(mark, Written))
