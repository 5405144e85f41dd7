"""What all bodies share: their base model, and the types of their values."""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from pipelines.results.documents.fields import SHAPE as SHAPE
from pipelines.results.documents.fields import DocumentPart
from pipelines.results.documents.fields import shape as shape

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
COUNT = re.compile("[0-9]{1,18}")
MAX_AMOUNT = Decimal("999999999999.99")
CENT = Decimal("0.01")
MAX_DIGITS = 20
EXACT = Context(prec=40, traps=[Inexact, InvalidOperation, Overflow])


class Wire(BaseModel):
    """A body, or a part of one. Unknown fields of a request are ignored; fields that are not there are left out of answers."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, serialize_by_alias=True, str_strip_whitespace=False)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema, in which our own names describe the fields with other names: `saldo` is described as `Balance`."""
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, field in cls.model_fields.items():
            if field.alias in properties and field.alias not in (to_camel(name), "id"):
                properties[field.alias].setdefault("description", name.replace("_", " ").capitalize())
        return schema


@cache
def field_names() -> frozenset[str]:
    """All field names of all bodies, which error messages may repeat."""
    return frozenset(name for base in (Wire, DocumentPart) for model in _models(base) for name in _names(model))


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for child in model.__subclasses__():
        yield from _models(child)


def _names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield field.alias or name


def _one_line(value: str) -> str:
    if NOT_ON_A_LINE.search(value):
        raise ValueError("control character")
    return value


def _true_or_false(value: Any) -> bool:
    """A boolean, written `true` or `false`; other spellings like `1` and `yes` are refused."""
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise ValueError("not a boolean")


def _exact_amount(value: Any) -> Decimal:
    """The exact value of a JSON number with at most two decimals. Strings are refused, and floats never occur."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError("not a number")
    amount = Decimal(value)
    if not amount.is_finite() or (amount and not -MAX_DIGITS < amount.adjusted() < MAX_DIGITS):
        raise ValueError("amount out of range")
    try:
        exact = EXACT.create_decimal(amount).quantize(CENT, context=EXACT)  # raises instead of rounding
    except ArithmeticError as error:
        raise ValueError("more than two decimals") from error
    if abs(exact) > MAX_AMOUNT:
        raise ValueError("amount out of range")
    return exact


def _plain_day(value: Any) -> Any:
    """A day of the form yyyy-mm-dd; other spellings are refused."""
    if isinstance(value, str) and not DAY.fullmatch(value):
        raise ValueError("not a day")
    return value


def day_of(text: str) -> date:
    """The day of a text of the form yyyy-mm-dd; raises for one that no calendar has."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError("not a day") from error


def _plain_count(value: Any) -> Any:
    """A number of at most 18 digits alone; other spellings are refused."""
    if isinstance(value, str) and not COUNT.fullmatch(value):
        raise ValueError("not a whole number")
    return value


Count = Annotated[int, BeforeValidator(_plain_count)]
QueryDay = Annotated[date, BeforeValidator(_plain_day), WithJsonSchema({"type": "string", "format": "date"})]
TEXT = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$"
CONTROLS = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
NOT_ON_A_LINE = re.compile(f"[{CONTROLS}\\ud800-\\udfff]")
Line = Annotated[str, AfterValidator(_one_line), Field(json_schema_extra={"pattern": f"^[^{CONTROLS}]*$"})]
Number = Annotated[Decimal, WithJsonSchema({"type": "number"})]
"""An exact number of a response: an amount with two decimals, or a rate with as many as it needs."""
Flag = Annotated[bool, BeforeValidator(_true_or_false), WithJsonSchema({"type": "boolean"})]
Amount = Annotated[Decimal, BeforeValidator(_exact_amount), WithJsonSchema({"type": "number", "examples": [12.5]})]
"""Euros with exactly two decimals on the wire; `cents` and `amount` convert to the integer for calculations, and back."""


def cents(amount: Decimal) -> int:
    """The integer cents of an amount."""
    return int(amount.scaleb(2))


def amount(value_cents: int) -> Decimal:
    """The amount of integer cents, with its two decimals."""
    return Decimal(value_cents).scaleb(-2)


class Relation(Wire):
    """A link that can be followed from an object."""

    rel: str = Field(examples=["self"])
    href: str = Field(examples=["http://127.0.0.1:8000/auth/mgmt/v1/tenants/demo"])


class Message(Wire):
    """Something to tell the end customer, in German."""

    level: Annotated[str, shape("MessageLevel", ["INFO", "ERROR"])] = Field(examples=["ERROR"])
    code: str = Field(examples=["BA404"], description="What programs look at; the head of this document lists them")
    message: str = Field(examples=["Das Objekt wurde nicht gefunden."], description="To be shown as it is; can be reworded")
    details: str | None = Field(None, examples=["username: fehlt"], description="What varies, such as the fields that are wrong")


class AllowedValue(Wire):
    """What a field allows, in the words of JSON Schema. Only what applies is there."""

    type: str | None = Field(None, examples=["string"])
    values: list[str] | None = Field(None, examples=[["categories", "insurances"]], description="The allowed values, at most 25")
    pattern: str | None = Field(None, examples=["^[0-9]{8}$"])
    format: str | None = Field(None, examples=["date"])
    minimum: Number | None = Field(None, examples=[1])
    maximum: Number | None = Field(None, examples=[10000])
    multiple_of: Number | None = Field(None, alias="multipleOf", examples=[0.01])
    min_length: int | None = Field(None, alias="minLength", examples=[1])
    max_length: int | None = Field(None, alias="maxLength", examples=[64])
    min_items: int | None = Field(None, alias="minItems", examples=[1])
    max_items: int | None = Field(None, alias="maxItems", examples=[20])
    sample: str | None = Field(None, examples=["10010010"], description="A value that would fit")


class FieldProblem(Wire):
    """A mistake in one field of the request."""

    field: str = Field(examples=["transfers[0].iban"], description="As the request writes it; empty for the whole body")
    place: Annotated[str, shape("FieldPlace", ["body", "form", "query", "path", "header"])] = Field(examples=["query"])
    problem: str = Field(examples=["muss mindestens 1 sein"])
    given: str | None = Field(
        None, examples=["0"], description="What was sent, shortened; left out for secrets, and where nothing was sent"
    )
    allowed: AllowedValue | None = None
    did_you_mean: str | None = Field(
        None, alias="didYouMean", examples=["username"], description="The field whose name is close to one that was sent"
    )


class ProblemMessage(Message):
    """What went wrong, in German, or in English for callers that prefer it (`Accept-Language`)."""

    hint: str | None = Field(None, examples=["Korrigieren Sie die genannten Felder."], description="What to do about it")
    documentation: str | None = Field(
        None, examples=["http://127.0.0.1:8000/docs/errors/BA400"], description="The page about this code"
    )
    fields: list[FieldProblem] | None = Field(None, description="Each mistake by itself; `details` tells the same in one line")


class Problems(Wire):
    """The body of every answer of 4xx and 5xx. `X-Correlation-ID` of the answer names the request in our logs."""

    messages: list[ProblemMessage]
