"""The interface's words for the kinds of bank products."""

from typing import Annotated

from analytics.products import Category
from api.schemas.base import shape

WIRE_CATEGORIES: dict[Category, str] = {
    Category.CHECKING: "GIROKONTO",
    Category.SAVINGS: "SPARKONTO",
    Category.FIXED_DEPOSIT: "FESTGELDKONTO",
    Category.LOAN: "KREDITKONTO",
    Category.CALL_MONEY: "TAGESGELDKONTO",
    Category.HOME_SAVINGS: "BAUSPARKONTO",
    Category.OTHER_ACCOUNT: "SONSTIGESKONTO",
    Category.CREDIT_CARD: "KREDITKARTE",
    Category.OTHER_CARD: "SONSTIGEKARTE",
    Category.DEPOT: "DEPOT",
    Category.OTHER_PRODUCT: "SONSTIGESPRODUKT",
}
CATEGORIES = {word: category for category, word in WIRE_CATEGORIES.items()}
"""The same the other way round."""


def known_category(word: str) -> str:
    """The word, if it is one of the interface."""
    if word not in CATEGORIES:
        raise ValueError("unknown category")
    return word


WireCategory = Annotated[str, shape("ProductCategory", WIRE_CATEGORIES.values())]
