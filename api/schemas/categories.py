"""The interface's words for the kinds of bank products."""

from typing import Annotated

from analytics.products import ProductCategory
from api.schemas.base import shape

WIRE_CATEGORIES: dict[ProductCategory, str] = {
    ProductCategory.CHECKING: "GIROKONTO",
    ProductCategory.SAVINGS: "SPARKONTO",
    ProductCategory.FIXED_DEPOSIT: "FESTGELDKONTO",
    ProductCategory.LOAN: "KREDITKONTO",
    ProductCategory.CALL_MONEY: "TAGESGELDKONTO",
    ProductCategory.HOME_SAVINGS: "BAUSPARKONTO",
    ProductCategory.OTHER_ACCOUNT: "SONSTIGESKONTO",
    ProductCategory.CREDIT_CARD: "KREDITKARTE",
    ProductCategory.OTHER_CARD: "SONSTIGEKARTE",
    ProductCategory.DEPOT: "DEPOT",
    ProductCategory.OTHER_PRODUCT: "SONSTIGESPRODUKT",
}
CATEGORIES = {word: category for category, word in WIRE_CATEGORIES.items()}
"""Categories by their words."""


def checked_category(word: str) -> str:
    """The word itself; raises for one that the interface does not have."""
    if word not in CATEGORIES:
        raise ValueError("unknown category")
    return word


WireCategory = Annotated[str, shape("ProductCategory", WIRE_CATEGORIES.values())]
