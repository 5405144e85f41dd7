"""The demo bank's own customers as `Histories`: their lives turned into bookings and positions."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from pipelines.banks.base import FetchedPosition
from pipelines.banks.demo.histories import Customer, DemoAccount
from pipelines.banks.demo.lives import LIVES
from pipelines.banks.demo.plans import Persona

if TYPE_CHECKING:
    import polars as pl


class Households:
    """Histories of given lives."""

    def __init__(self, lives: tuple[Persona, ...] = LIVES) -> None:
        self._lives = {life.user_id: life for life in lives}

    def find(self, user_id: str) -> Customer | None:
        """The customer with this user id."""
        life = self._lives.get(user_id)
        if life is None:
            return None
        accounts = tuple(DemoAccount(holder.product, holder.opening_cents, holder.further) for holder in life.holders)
        return Customer(user_id, accounts, life.pin, life.methods, life.media)

    def bookings(self, customer: Customer, as_of: date) -> Mapping[str, "pl.DataFrame"]:
        """By product key, all bookings as the bank tells them on a day."""
        import polars as pl

        from pipelines.banks.demo.events import events
        from pipelines.banks.demo.texts import written

        life = self._lives[customer.user_id]
        told = events(life, as_of)
        return {
            holder.product.key: written(told.filter(pl.col("account") == holder.short), holder.style)
            for holder in life.holders
            if not holder.securities
        }

    def positions(self, customer: Customer, as_of: date) -> Mapping[str, tuple[FetchedPosition, ...]]:
        """By key of each depot, its positions on a day."""
        from pipelines.banks.demo.depots import positions

        holders = self._lives[customer.user_id].holders
        return {holder.product.key: positions(holder.securities, as_of) for holder in holders if holder.securities}
