"""The kinds of bank products, as they are stored and computed with. Their words on the wire are in `api/schemas/`."""

from enum import StrEnum


class ProductCategory(StrEnum):
    """The kind of a bank product. The `OTHER` ones could be assigned neither by the bank nor by us."""

    CHECKING = "CHECKING"
    SAVINGS = "SAVINGS"
    FIXED_DEPOSIT = "FIXED_DEPOSIT"
    LOAN = "LOAN"
    CALL_MONEY = "CALL_MONEY"
    HOME_SAVINGS = "HOME_SAVINGS"
    OTHER_ACCOUNT = "OTHER_ACCOUNT"
    CREDIT_CARD = "CREDIT_CARD"
    OTHER_CARD = "OTHER_CARD"
    DEPOT = "DEPOT"
    OTHER_PRODUCT = "OTHER_PRODUCT"


PAYMENT_ACCOUNTS = frozenset({ProductCategory.CHECKING, ProductCategory.CREDIT_CARD, ProductCategory.OTHER_CARD})
"""Products that people pay with."""
CARDS = frozenset({ProductCategory.CREDIT_CARD, ProductCategory.OTHER_CARD})
SAVING_PRODUCTS = (
    ProductCategory.SAVINGS,
    ProductCategory.CALL_MONEY,
    ProductCategory.FIXED_DEPOSIT,
    ProductCategory.HOME_SAVINGS,
    ProductCategory.DEPOT,
)
"""Products that hold saved money: it was saved when it left the others."""
WITH_POSITIONS = frozenset({ProductCategory.DEPOT})
"""Products that have securities positions instead of bookings."""
