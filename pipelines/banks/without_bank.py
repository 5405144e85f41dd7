"""Providers without a bank: nobody is asked for data. Customers upload statement files, or a tenant keeps accounts of its own.

They are connectors so that the catalogue offers them like banks; their accesses are never fetched (`warehouse.stores.providers`).
"""

# ruff: noqa: ARG002  there is nobody to pass the arguments to

from collections.abc import Iterator
from uuid import UUID

from analytics.products import CARDS, WITH_POSITIONS, ProductCategory
from pipelines.banks.base import (
    Capability,
    CatalogueBank,
    Done,
    Failed,
    FetchRequest,
    Offer,
    Order,
    Part,
    Payee,
    Reply,
    Turn,
    Unusable,
)

STATEMENT_FILES, OWN_ACCOUNTS = "statement_files", "own_accounts"
"""The names of the two connectors."""


class WithoutBank:
    """A provider without login fields. Every call is a fault: there is no bank to answer it."""

    def __init__(self, name: str, hint: str, capabilities: tuple[Capability, ...]) -> None:
        self.name = name
        self._hint = hint
        self._capabilities = capabilities

    def offer(self, provider: CatalogueBank) -> Offer | None:
        """No login fields; the categories of products that its accesses can have."""
        if provider.connector != self.name:
            return None
        groups = {
            Capability.ACCOUNTS: frozenset(ProductCategory) - CARDS - WITH_POSITIONS,
            Capability.CARDS: CARDS,
            Capability.DEPOTS: WITH_POSITIONS,
        }
        categories = frozenset().union(*(groups[capability] for capability in self._capabilities))
        channel = tuple(category for category in ProductCategory if category in categories)
        return Offer((), self._capabilities, (channel,), self._hint)

    def fetch(self, request: FetchRequest) -> Iterator[Part]:
        raise Unusable

    def start(self, order: Order, request: FetchRequest) -> Turn:
        raise Unusable

    def resume(self, request: FetchRequest, state: bytes, reply: Reply) -> Turn:
        raise Unusable

    def outcome(self, request: FetchRequest, reference: UUID) -> Done | Failed | None:
        return None

    def verify_payee(self, request: FetchRequest, name: str, iban: str) -> Payee:
        raise Unusable


def statement_files() -> WithoutBank:
    """The provider of customers who upload statement files."""
    hint = "Kontoauszüge als Datei aus Ihrem Online-Banking: CAMT, MT940 oder CSV."
    return WithoutBank(STATEMENT_FILES, hint, (Capability.ACCOUNTS, Capability.CARDS))


def own_accounts() -> WithoutBank:
    """The provider of accounts that a tenant keeps itself."""
    return WithoutBank(OWN_ACCOUNTS, "Konten, deren Umsätze und Salden Sie selbst übertragen.", tuple(Capability))
