"""Parameters of the search for bookings."""

import re
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from api.schemas.base import cents

AMOUNT = r"-?[0-9]{1,12}(\.[0-9]{1,2})?"
IBAN = re.compile(r"[A-Za-z]{2}[0-9]{2}( ?[A-Za-z0-9]){4,30}")
MAX_TEXT, MAX_WORDS = 100, 8


class Direction(StrEnum):
    """Money that comes in, or goes out."""

    IN = "in"
    OUT = "out"


def _cents(value: Any) -> int:
    """The integer cents of an amount with at most two decimals."""
    if not isinstance(value, str) or not re.fullmatch(AMOUNT, value):
        raise ValueError("not an amount")
    return cents(Decimal(value).quantize(Decimal("0.01")))


QueryCents = Annotated[int, BeforeValidator(_cents), WithJsonSchema({"type": "string", "pattern": f"^{AMOUNT}$"})]
"""An amount in euros, with a sign; as integer cents."""


def search_words(text: str | None) -> tuple[str, ...]:
    """The words that must all occur; beyond a number of them, the rest is one. An IBAN in groups is one word."""
    if text is None:
        return ()
    if IBAN.fullmatch(text.strip()):
        return (text.replace(" ", ""),)
    return tuple(dict.fromkeys(text.split(maxsplit=MAX_WORDS - 1)))
