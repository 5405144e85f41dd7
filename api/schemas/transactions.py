"""Bodies of bookings, as tenants read and push them."""

import re
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

import orjson
import polars as pl
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema

from api.schemas.base import TEXT, Amount, Line, Number, Wire, day_of
from api.schemas.tags import TagInstanceBody
from pipelines.fetching.validation import CURRENCIES
from pipelines.results.documents.json_text import amount, quoted
from warehouse.stores.transactions import COLUMNS

TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)?")
MIDNIGHT = " 00:00:00"
QUOTED_MIDNIGHT = f'"%Y-%m-%d{MIDNIGHT}"'
SEQUENCE_DIGITS = 12
MAX_PUSHED_BOOKINGS = 10_000
Short = Annotated[Line, StringConstraints(max_length=256)]
Text = Annotated[str, StringConstraints(max_length=4000), Field(json_schema_extra={"pattern": TEXT})]


class Identifier(Wire):
    """The batch that a pushed booking came with."""

    batch: Annotated[Line, StringConstraints(min_length=1, max_length=128)] = Field(alias="batchId", examples=["2026-11-15-01"])


class View(StrEnum):
    """Which tags of bookings are asked for."""

    TRUE = "true"
    CATEGORIES = "categories"
    INSURANCES = "insurances"
    INSURANCE_TYPES = "insurance-types"
    BUSINESS_PARTNERS = "business-partners"
    FREELANCER_CATEGORIES = "freelancer-categories"


TAG_KINDS = {
    View.TRUE: "category",
    View.CATEGORIES: "category",
    View.INSURANCES: "insurance",
    View.INSURANCE_TYPES: "insurance",
    View.BUSINESS_PARTNERS: "partner",
    View.FREELANCER_CATEGORIES: "freelancer",
}


class Classification(Wire):
    """The category of a booking."""

    category: str = Field(examples=["LIVING_GROCERIES"])
    parent_category: str | None = Field(None, alias="parentCategory", examples=["LIVING"], description="Of subcategories only")
    display_name: str = Field(alias="displayName", examples=["Lebensmittel"])
    confidence_level: Number | None = Field(None, alias="confidenceLevel", examples=[0.97], description="From 0 to 1")


class TransactionBody(Wire):
    """A booking."""

    id: str = Field(examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"], description="Stays over any number of refreshes")
    amount: Number = Field(alias="betrag", examples=[-12.5])
    purpose: str | None = Field(None, alias="verwendungszweck", examples=["Rechnung 4711"])
    booking_text: str | None = Field(None, alias="buchungstext", examples=["LASTSCHRIFT"])
    gv_code: str | None = Field(None, alias="gvCode", examples=["105"])
    primanota: str | None = Field(None, alias="primanotaNummer", examples=["9248"])
    booked_on: str = Field(alias="buchungsdatum", examples=["2026-11-13 00:00:00"])
    value_on: str | None = Field(None, alias="wertstellungsdatum", examples=["2026-11-13 00:00:00"])
    counterparty_name: str | None = Field(None, alias="gegenkontoInhaber", examples=["Stadtwerke"])
    counterparty_iban: str | None = Field(None, alias="gegenkontoIban", examples=["DE02120300000000202051"])
    counterparty_bic: str | None = Field(None, alias="gegenkontoBic", examples=["BYLADEM1001"])
    ultimate_name: str | None = Field(None, alias="gegenkontoInhaberAbweichend", examples=["Stadtwerke Vertrieb"])
    currency: str = Field(alias="waehrung", examples=["EUR"])
    hash: str = Field(examples=["20261113000000004711"], description="Orders the bookings of a product")
    pending: bool | None = Field(None, alias="vorgemerkt", examples=[True])
    identifier: Identifier | None = None
    classifications: list[Classification] | None = Field(None, description="With `categorize=true`")
    tags: list[TagInstanceBody] | None = Field(None, description="With `tag` or `categorize=true`")


class FoundTransactionBody(TransactionBody):
    """A booking, with where it belongs."""

    access_id: str = Field(alias="accessId", examples=["0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10"], description="`id` of its access")
    product_id: str = Field(alias="productId", examples=["DE02120300000000202051"], description="`id` of its product")


WIRE_NAMES = {name: field.alias or name for name, field in TransactionBody.model_fields.items()}
INDEX = {name: COLUMNS.index(name) for name in COLUMNS}
COPIED_COLUMNS = [
    (WIRE_NAMES[name], INDEX[name])
    for name in COLUMNS
    if name in WIRE_NAMES and name not in ("id", "booked_on", "value_on", "pending")
]
ID, SEQUENCE, CENTS, BOOKED_ON, VALUE_ON, PENDING, BATCH = (
    INDEX[name] for name in ("id", "sequence", "amount_cents", "booked_on", "value_on", "pending", "batch")
)


def transaction_fields(row: tuple[Any, ...]) -> dict[str, Any]:
    """The body of a row of `COLUMNS`, built without pydantic, since a list can have many thousands of rows."""
    body = {name: row[index] for name, index in COPIED_COLUMNS if row[index] is not None}
    cents = row[CENTS]
    day = row[BOOKED_ON].isoformat()
    body["id"] = str(row[ID])
    body[WIRE_NAMES["amount"]] = orjson.Fragment(f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}")
    body[WIRE_NAMES["booked_on"]] = day + MIDNIGHT
    if row[VALUE_ON] is not None:
        body[WIRE_NAMES["value_on"]] = row[VALUE_ON].isoformat() + MIDNIGHT
    body["hash"] = f"{day.replace('-', '')}{row[SEQUENCE]:0{SEQUENCE_DIGITS}d}"
    if row[PENDING]:
        body[WIRE_NAMES["pending"]] = True
    if row[BATCH] is not None:
        body["identifier"] = {"batchId": row[BATCH]}
    return body


def transaction_texts() -> dict[str, pl.Expr]:
    """The same fields as JSON, as expressions on a frame of bookings."""
    sequence = pl.col("sequence").cast(pl.String).str.zfill(SEQUENCE_DIGITS)
    return {
        **{name: quoted(COLUMNS[index]) for name, index in COPIED_COLUMNS},
        "id": quoted("id"),
        WIRE_NAMES["amount"]: amount("amount_cents"),
        WIRE_NAMES["booked_on"]: pl.col("booked_on").dt.strftime(QUOTED_MIDNIGHT),
        WIRE_NAMES["value_on"]: pl.col("value_on").dt.strftime(QUOTED_MIDNIGHT),
        "hash": pl.concat_str(pl.col("booked_on").dt.strftime('"%Y%m%d'), sequence, pl.lit('"')),
        WIRE_NAMES["pending"]: pl.when("pending").then(pl.lit("true")),
        "identifier": pl.concat_str(pl.lit('{"batchId":'), quoted("batch"), pl.lit("}")),
    }


def _day(value: Any) -> date:
    """The day of a timestamp or date as the interface writes it; a `T` is accepted between day and time."""
    if not isinstance(value, str) or not TIMESTAMP.fullmatch(value):
        raise ValueError("not a date")
    return day_of(value[:10])


def plausible_day(value: date) -> date:
    """The day itself; raises for one that no booking can have."""
    if not date(1970, 1, 1) <= value <= date(2199, 12, 31):
        raise ValueError("day out of range")
    return value


Day = Annotated[
    date,
    AfterValidator(plausible_day),
    BeforeValidator(_day),
    WithJsonSchema({"type": "string", "format": "timestamp", "pattern": r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2})?$"}),
]


def checked_currency(value: str) -> str:
    """The currency itself; raises for an unknown one."""
    if value not in CURRENCIES:
        raise ValueError("not a currency")
    return value


class PushedTransaction(Wire):
    """A booking that a tenant pushes. Its id is ours to give."""

    amount: Amount = Field(alias="betrag", examples=[-12.5])
    booked_on: Day = Field(alias="buchungsdatum", examples=["2026-11-13 00:00:00"])
    value_on: Day | None = Field(None, alias="wertstellungsdatum", examples=["2026-11-13 00:00:00"])
    purpose: Text | None = Field(None, alias="verwendungszweck", examples=["Rechnung 4711"])
    booking_text: Short | None = Field(None, alias="buchungstext", examples=["LASTSCHRIFT"])
    gv_code: Short | None = Field(None, alias="gvCode", examples=["105"])
    primanota: Short | None = Field(None, alias="primanotaNummer", examples=["9248"])
    counterparty_name: Short | None = Field(None, alias="gegenkontoInhaber", examples=["Stadtwerke"])
    counterparty_iban: Short | None = Field(None, alias="gegenkontoIban", examples=["DE02120300000000202051"])
    counterparty_bic: Short | None = Field(None, alias="gegenkontoBic", examples=["BYLADEM1001"])
    ultimate_name: Short | None = Field(None, alias="gegenkontoInhaberAbweichend", examples=["Stadtwerke Vertrieb"])
    currency: Annotated[str, AfterValidator(checked_currency)] = Field("EUR", alias="waehrung", examples=["EUR"])
    identifier: Identifier
