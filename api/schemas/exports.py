"""Bodies of exports of a customer's data."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from api.schemas.accesses import AccessBodies
from api.schemas.base import Wire, shape
from api.schemas.transactions import TransactionBody


class ExportFormat(StrEnum):
    """How data are exported: all as JSON, or the bookings as a table or as account statements."""

    JSON = "json"
    CSV = "csv"
    CAMT = "camt"


class ReportFormat(StrEnum):
    """How a report is shown: as a page, or as a file to keep."""

    HTML = "html"
    PDF = "pdf"


ProductBookings = Annotated[dict[str, list[TransactionBody]], shape("ProductBookings")]
AccessBookings = Annotated[dict[str, ProductBookings], shape("AccessBookings")]


class ExportBody(Wire):
    """All data of a customer: the accesses with their products as everywhere, and the bookings, the oldest first."""

    accesses: AccessBodies = Field(alias="bankzugaenge", description="By their ids")
    bookings: AccessBookings = Field(alias="kontoumsaetze", description="By the id of the access, then of the product")


EXPORT_NAMES = {name: field.alias or name for name, field in ExportBody.model_fields.items()}
"""The fields as the interface names them."""
