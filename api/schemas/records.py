"""Transaction records of the analysis platform: bookings that come with a request, and return with their tags.

A request has thousands of them, so that patterns check them instead of Python functions where possible.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import orjson
import polars as pl
from pydantic import AfterValidator, ConfigDict, FailFast, Field, StringConstraints, TypeAdapter, WithJsonSchema

from analytics.frames import TRANSACTIONS
from api.schemas.base import CONTROLS, SHAPE, TEXT, Amount, QueryDay, Wire, cents, day_of
from api.schemas.categories import WireCategory, checked_category
from api.schemas.tags import TagInstanceBody
from api.schemas.transactions import checked_currency, plausible_day

MAX_RECORDS = 10_000
MAX_PRODUCTS = 200
LINE = f"^[^{CONTROLS}]*$"
MOMENT = r"^\d{4}-\d{2}-\d{2}([ T]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})?)?$"
DAY_LENGTH, MOMENT_LENGTH = 10, 19
SEPARATOR = "\n"  # no id holds it


def _moment(value: str) -> str:
    """The timestamp in the form of the interface. A time zone is ignored, so that the days of bookings do not shift."""
    plausible_day(day_of(value[:DAY_LENGTH]))
    return f"{value[:DAY_LENGTH]} {value[DAY_LENGTH + 1 : MOMENT_LENGTH] or '00:00:00'}"


Moment = Annotated[
    str,
    StringConstraints(pattern=MOMENT, max_length=40),
    AfterValidator(_moment),
    WithJsonSchema({"type": "string", "format": "timestamp", "pattern": MOMENT}),
]
Id = Annotated[str, StringConstraints(pattern=LINE, min_length=1, max_length=128)]
Short = Annotated[str, StringConstraints(pattern=LINE, max_length=256)]
Text = Annotated[str, StringConstraints(max_length=4000), Field(json_schema_extra={"pattern": TEXT})]


class TransactionRecord(Wire):
    """A booking to be tagged. `tags` that come with it are not looked at."""

    amount: Amount = Field(alias="betrag", examples=[-12.5])
    booked_at: Moment = Field(alias="buchungsdatum", examples=["2026-11-13 00:00:00"])
    purpose: Text = Field(alias="verwendungszweck", examples=["Rechnung 4711"])
    user: Id = Field(examples=["kunde-1"], description="Bookings of one user are looked at together")
    provider: Id = Field(examples=["00000000-0000-0000-0000-000000000000"])
    product: Id = Field(examples=["DE02120300000000202051"])
    tenant: Id = Field(examples=["demo"])
    booking_text: Short | None = Field(None, alias="buchungstext", examples=["LASTSCHRIFT"])
    counterparty_bic: Short | None = Field(None, alias="gegenkontoBic", examples=["BYLADEM1001"])
    counterparty_iban: Short | None = Field(None, alias="gegenkontoIban", examples=["DE02120300000000202051"])
    counterparty_name: Short | None = Field(None, alias="gegenkontoInhaber", examples=["Stadtwerke"])
    ultimate_name: Short | None = Field(None, alias="gegenkontoInhaberAbweichend", examples=["Stadtwerke Vertrieb"])
    gv_code: Short | None = Field(None, alias="gvCode", examples=["105"])
    hash: Short | None = Field(None, examples=["20261113000000004711"])
    id: Short | None = Field(None, examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"])
    primanota: Short | None = Field(None, alias="primanotaNummer", examples=["9248"])
    currency: Annotated[str, AfterValidator(checked_currency)] | None = Field(None, alias="waehrung", examples=["EUR"])
    value_at: Moment | None = Field(None, alias="wertstellungsdatum", examples=["2026-11-13 00:00:00"])


class ProductRecord(Wire):
    """A product of the user whose bookings come with the request. Other fields of a product are not looked at."""

    id: Id = Field(examples=["konto-1"], description="What bookings name as `product`")
    iban: Short | None = Field(None, examples=["DE02120300000000202051"])
    category: Annotated[WireCategory, AfterValidator(checked_category)] | None = Field(None, examples=["GIROKONTO"])
    owner: Short | None = Field(None, examples=["Erika Mustermann"])
    balance: Amount | None = Field(None, alias="saldo", examples=[1234.56], description="In euros, on the day of `asOf`")


class AnalysesRequest(Wire):
    """Bookings of one user to be analysed, as of a day."""

    model_config = ConfigDict(json_schema_extra={SHAPE: "AnalysesRequest"})

    as_of: QueryDay | None = Field(None, alias="asOf", examples=["2026-11-15"], description="Without it, today")
    transactions: Annotated[list[TransactionRecord], FailFast()] = Field(min_length=1, max_length=MAX_RECORDS)
    products: Annotated[list[ProductRecord], FailFast()] = Field(default=[], max_length=MAX_PRODUCTS)


class TaggedRecord(TransactionRecord):
    """The record with its tags: category, insurance type, partner and freelancer category."""

    tags: list[TagInstanceBody]


RECORDS = TypeAdapter(Annotated[list[TransactionRecord], FailFast(), Field(min_length=1, max_length=MAX_RECORDS)])
ANALYSES = TypeAdapter(AnalysesRequest)
AMOUNT = str(TransactionRecord.model_fields["amount"].alias)


def booking_frame(records: Sequence[TransactionRecord]) -> pl.DataFrame:
    """The records as a frame of the schema `TRANSACTIONS`; a booking's id is its position, since ids of records may repeat."""
    columns: dict[str, Any] = {name: [getattr(record, name) for record in records] for name in TRANSACTIONS if name in SAME_NAMES}
    columns |= {
        "amount_cents": [cents(record.amount) for record in records],
        "booked_on": [record.booked_at for record in records],
        "value_on": [record.value_at for record in records],
        "user": [f"{record.tenant}{SEPARATOR}{record.user}" for record in records],
    }
    schema = {name: pl.Int64 if name == "amount_cents" else pl.String for name in columns}
    frame = pl.DataFrame(columns, schema=schema).with_row_index("id")
    texts = [pl.col(name).str.strip_chars().replace("", None) for name in SAME_NAMES - {"currency", "product"}]
    return frame.with_columns(
        *texts,
        pl.col("id").cast(pl.String),
        pl.col("booked_on", "value_on").str.head(DAY_LENGTH).str.to_date("%Y-%m-%d"),
        pl.col("currency").fill_null("EUR"),
        pending=pl.lit(False),
    ).select(TRANSACTIONS.names())


def entity_id(record: TransactionRecord, place: int) -> str:
    """The id of a record in its tags: its own id or hash, or else its position in the list."""
    return record.id or record.hash or str(place)


def body(record: TransactionRecord, tags: orjson.Fragment) -> dict[str, Any]:
    """The record as it was sent, with its tags."""
    fields = record.model_dump(by_alias=True, exclude_unset=True)
    return {**fields, AMOUNT: orjson.Fragment(format(record.amount, "f")), "tags": tags}


SAME_NAMES = frozenset(TRANSACTIONS) & frozenset(TransactionRecord.model_fields) - {"id", "user"}
