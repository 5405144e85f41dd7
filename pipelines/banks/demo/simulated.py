"""Simulated households as customers of the demo bank: `household1`, `household2`, … each another life, the same in every process.

A household's bookings are those of the simulator up to the day on which they are asked for; later days add to them.
"""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from schwifty import IBAN

from analytics.products import WITH_POSITIONS, ProductCategory
from pipelines.banks.base import FetchedPosition, FetchedProduct
from pipelines.banks.demo import security
from pipelines.banks.demo.histories import PAYING_CATEGORIES, START, Customer, DemoAccount

if TYPE_CHECKING:
    import polars as pl

    from models.simulator import Corpus

USER_ID = re.compile(r"household([1-9][0-9]{0,5})")
SEED = 2026
MONTHS = 96
"""The horizon: lives are made whole, then told day by day, so that what was told never changes."""
NAMES = {
    ProductCategory.CHECKING: "Girokonto",
    ProductCategory.CALL_MONEY: "Tagesgeldkonto",
    ProductCategory.CREDIT_CARD: "Kreditkarte",
    ProductCategory.DEPOT: "Depot",
    ProductCategory.LOAN: "Kreditkonto",
    ProductCategory.OTHER_ACCOUNT: "Wallet",
}
RESERVE_CENTS = 50_000
"""What is left on an account on its worst day."""


class SimulatedHouseholds:
    """Histories of the household simulator."""

    def find(self, user_id: str) -> Customer | None:
        """The customer with this user id."""
        found = USER_ID.fullmatch(user_id)
        return _customer(user_id, int(found[1])) if found else None

    def bookings(self, customer: Customer, as_of: date) -> Mapping[str, "pl.DataFrame"]:
        """By product key, all bookings as the bank tells them on a day."""
        import polars as pl

        whole = _by_product(_number(customer))
        told = {account.product.key: whole[account.product.key] for account in customer.accounts}
        return {key: frame.filter(pl.col("booked_on") <= as_of) for key, frame in told.items()}

    def positions(self, customer: Customer, as_of: date) -> Mapping[str, tuple[FetchedPosition, ...]]:
        """By key of each depot, its positions on a day: all that was paid in lies in one fund."""
        paid = self.bookings(customer, as_of)
        depots = [account.product.key for account in customer.accounts if account.product.category in WITH_POSITIONS]
        return {key: _fund(int(paid[key]["amount_cents"].sum())) for key in depots}


def _number(customer: Customer) -> int:
    found = USER_ID.fullmatch(customer.user_id)
    if found is None:
        raise ValueError("not a household")  # only `find` makes these customers
    return int(found[1])


@lru_cache(maxsize=8)
def _life(number: int) -> "Corpus":
    from models.simulator import simulate

    return simulate(1, SEED, START, MONTHS, first_user=number)


@lru_cache(maxsize=8)
def _by_product(number: int) -> dict[str, "pl.DataFrame"]:
    """The bookings of each product, the oldest first, by the product's key at the bank."""
    import polars as pl

    from analytics.frames import BOOKINGS

    life = _life(number)
    settled = life.transactions.with_columns(pending=False).sort("booked_on", maintain_order=True)
    return {
        _key(row): settled.filter(pl.col("product") == row["product"]).select(BOOKINGS.names())
        for row in life.products.iter_rows(named=True)
    }


def _customer(user_id: str, number: int) -> Customer:
    rows = _life(number).products.iter_rows(named=True)
    accounts = tuple(_account(row, _by_product(number)[_key(row)]) for row in rows)
    return Customer(user_id, accounts, methods=(security.PUSH, security.APP), media=(security.PHONE_APP,))


def _account(row: dict[str, str | None], bookings: "pl.DataFrame") -> DemoAccount:
    category, iban = ProductCategory(row["category"] or ""), row["iban"]
    known = IBAN(iban) if iban else None
    product = FetchedProduct(
        _key(row),
        category,
        NAMES.get(category, "Konto"),
        row["owner_name"] or "",
        account_number=known.account_code if known else None,
        iban=iban,
        bic=str(known.bic) if known and known.bic else None,
        blz=known.bank_code if known else None,
        bank_name=known.bank_name if known else None,
        transfer_support=category in PAYING_CATEGORIES,
    )
    lowest = bookings["amount_cents"].cum_sum().min() if bookings.height else 0
    low = int(lowest) if isinstance(lowest, int) else 0
    return DemoAccount(product, opening_cents=0 if category is ProductCategory.CREDIT_CARD else RESERVE_CENTS - min(low, 0))


def _key(row: dict[str, str | None]) -> str:
    return row["iban"] or f"SIM-{row['product']}"


def _fund(paid_cents: int) -> tuple[FetchedPosition, ...]:
    price, total = Decimal("100.00"), abs(paid_cents)
    quantity = Decimal(total) / 100 / price
    return (FetchedPosition("Weltfonds", quantity, by_piece=True, price=price, currency="EUR", total_cents=total),)
