"""An account as the bank knows it, and its limits; apart from the books, which take long to load."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analytics.products import ProductCategory

if TYPE_CHECKING:
    from pipelines.banks.base import FetchedProduct

STORED_DAYS = 1500
"""How far back the bank tells bookings."""
CARD_DAYS = 90
"""The same for cards with an order of their own."""
FREE_DAYS = 90
"""How far back it tells them without a confirmation."""
ACCOUNT_TYPES = {
    ProductCategory.CHECKING: 1,
    ProductCategory.SAVINGS: 10,
    ProductCategory.CALL_MONEY: 11,
    ProductCategory.FIXED_DEPOSIT: 20,
    ProductCategory.DEPOT: 30,
    ProductCategory.LOAN: 40,
    ProductCategory.CREDIT_CARD: 50,
    ProductCategory.OTHER_CARD: 51,
    ProductCategory.HOME_SAVINGS: 70,
}
OTHER_TYPE = 90


@dataclass(frozen=True)
class BankAccount:
    """An account with what it may be used for."""

    product: "FetchedProduct"
    opening_cents: int
    orders: tuple[str, ...]

    @property
    def number(self) -> str:
        """The account number, which cards and depots have as well."""
        return self.product.account_number or self.product.key

    @property
    def account_type(self) -> int:
        """The kind of the account as user parameters number it."""
        return ACCOUNT_TYPES.get(self.product.category, OTHER_TYPE)
