"""Bodies of products that a tenant keeps itself, on an access without a bank."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from api.schemas.accesses import ACCESS_KEY, WHEN
from api.schemas.base import Amount, Line, Wire
from api.schemas.categories import WIRE_CATEGORIES, WireCategory, checked_category
from api.schemas.statement_files import STATEMENTS
from api.schemas.transactions import Day, checked_currency

PRODUCTS = "bankprodukte"
"""The last segment of the address to which products are added."""
OPERATIONS = frozenset({"consent", "issues", STATEMENTS, PRODUCTS})
"""Segments where ids of products stand that are addresses of operations."""
SHORT_CHARACTERS = 70
Short = Annotated[Line, StringConstraints(max_length=SHORT_CHARACTERS)]
Name = Annotated[Line, StringConstraints(min_length=1, max_length=SHORT_CHARACTERS)]
Iban = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$")]
Bic = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9]{8}([A-Za-z0-9]{3})?$")]
Blz = Annotated[str, StringConstraints(pattern="^[0-9]{8}$")]
Category = Annotated[WireCategory, AfterValidator(checked_category)]
Currency = Annotated[str, AfterValidator(checked_currency)]


def _own_key(key: str) -> str:
    if key in OPERATIONS:
        raise ValueError("address of an operation")
    return key


OwnKey = Annotated[str, StringConstraints(pattern=ACCESS_KEY), AfterValidator(_own_key)]


class ProductChange(Wire):
    """What changes of a product that the tenant keeps itself. Fields that are not there stay; null empties one."""

    name: Name | None = Field(None, alias="bezeichnung", examples=["Bargeldkasse"])
    category: Category | None = Field(None, alias="kategorie", examples=["SONSTIGESKONTO"])
    currency: Currency | None = Field(None, alias="waehrung", examples=["EUR"])
    balance: Amount | None = Field(None, alias="saldo", examples=[1234.56])
    balance_on: Day | None = Field(None, alias="saldoDatum", examples=[WHEN], description="Today if there is none")
    owner_name: Short | None = Field(None, alias="inhaber", examples=["Erika Mustermann"])
    iban: Iban | None = Field(None, examples=["DE02120300000000202051"])
    bic: Bic | None = Field(None, examples=["BYLADEM1001"])
    blz: Blz | None = Field(None, examples=["12030000"])
    account_number: Short | None = Field(None, alias="kontonummer", examples=["202051"])
    bank_name: Short | None = Field(None, alias="kreditinstitut", examples=["Sparkasse Altdorf"])


class NewProduct(ProductChange):
    """A product that the tenant keeps itself."""

    key: OwnKey | None = Field(None, alias="id", examples=["kasse"], description="Chosen by the caller; a UUID if there is none")
    name: Name = Field(alias="bezeichnung", examples=["Bargeldkasse"])
    category: Category = Field(alias="kategorie", examples=[next(iter(WIRE_CATEGORIES.values()))])
    currency: Currency = Field("EUR", alias="waehrung", examples=["EUR"])
