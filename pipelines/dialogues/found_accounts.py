"""The accounts behind a login, among which a customer chooses before anything is connected. Stored sealed, and only for the
session.
"""

from dataclasses import dataclass
from uuid import UUID

from pydantic import TypeAdapter

from analytics.products import ProductCategory
from pipelines.banks.base import FetchedProduct, Header
from warehouse.postgres.database import Owner
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.stores import dialogues

FIELD = "accounts"


@dataclass(frozen=True)
class FoundAccount:
    """An account, card or depot. `pays`: whether transfers can be made from it."""

    key: str
    name: str
    category: ProductCategory
    owner_name: str
    number: str | None
    pays: bool


_STORED = TypeAdapter(tuple[FoundAccount, ...])


def accounts_of(header: Header) -> tuple[FoundAccount, ...]:
    """The accounts of a header."""
    return tuple(_account(product) for product in header.products)


def seal(owner: Owner, vault: Vault, dialogue_id: UUID, accounts: tuple[FoundAccount, ...]) -> None:
    """Stores the accounts with the dialogue."""
    sealed_values.put(owner, vault, dialogues.order_subject(dialogue_id), FIELD, _STORED.dump_json(accounts))


def unseal(owner: Owner, vault: Vault, dialogue_id: UUID) -> tuple[FoundAccount, ...]:
    """The stored accounts of a dialogue."""
    return _STORED.validate_json(sealed_values.get(owner, vault, dialogues.order_subject(dialogue_id), FIELD))


def _account(product: FetchedProduct) -> FoundAccount:
    return FoundAccount(
        product.key,
        product.name,
        product.category,
        product.owner_name,
        product.iban or product.account_number,
        product.transfer_support,
    )
