"""What the demo bank needs of a source of customers and bookings: the protocol `Histories`, and its values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Protocol

from analytics.products import ProductCategory
from pipelines.banks.base import Balance, FetchedPosition, FetchedProduct, Medium, Method

if TYPE_CHECKING:
    import polars as pl

START = date(2023, 11, 1)
"""The first day of every history."""
PAYING_CATEGORIES = frozenset({ProductCategory.CHECKING, ProductCategory.CALL_MONEY})
"""Products from which a customer can pay."""


@dataclass(frozen=True)
class DemoAccount:
    """A product as the bank keeps it: its balance before the first booking, and in which further currencies it is kept."""

    product: FetchedProduct
    opening_cents: int = 0
    further: tuple[Balance, ...] = ()


@dataclass(frozen=True)
class Customer:
    """A customer of the bank. Depots have positions, everything else has bookings."""

    user_id: str
    accounts: tuple[DemoAccount, ...]
    pin: str = field(default="demo", repr=False)
    methods: tuple[Method, ...] = ()
    media: tuple[Medium, ...] = ()


class Histories(Protocol):
    """A supply of customers and of what happened on their accounts."""

    def find(self, user_id: str) -> Customer | None:
        """The customer with this user id."""

    def bookings(self, customer: Customer, as_of: date) -> Mapping[str, "pl.DataFrame"]:
        """By product key, all bookings (frame `BOOKINGS`, the oldest first) as the bank tells them on a day."""

    def positions(self, customer: Customer, as_of: date) -> Mapping[str, tuple[FetchedPosition, ...]]:
        """By key of each depot, its positions on a day."""
