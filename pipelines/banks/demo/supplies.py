"""Several supplies of customers as one."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from pipelines.banks.base import FetchedPosition
from pipelines.banks.demo.histories import Customer, Histories

if TYPE_CHECKING:
    import polars as pl


class Supplies:
    """The first supply that knows a customer answers for it."""

    def __init__(self, supplies: tuple[Histories, ...]) -> None:
        self._supplies = supplies

    def find(self, user_id: str) -> Customer | None:
        """The customer with this user id."""
        return next((customer for supply in self._supplies if (customer := supply.find(user_id))), None)

    def bookings(self, customer: Customer, as_of: date) -> Mapping[str, "pl.DataFrame"]:
        """By product key, all bookings as the bank tells them on a day."""
        return self._of(customer).bookings(customer, as_of)

    def positions(self, customer: Customer, as_of: date) -> Mapping[str, tuple[FetchedPosition, ...]]:
        """By key of each depot, its positions on a day."""
        return self._of(customer).positions(customer, as_of)

    def _of(self, customer: Customer) -> Histories:
        return next(supply for supply in self._supplies if supply.find(customer.user_id))
