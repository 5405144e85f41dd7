"""Simulated households as customers of the demo bank: `household1`, `household2`, … each different and always the same.

The bookings of a household are those of the simulator up to the day of the fetch; later days add to them.
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
HORIZON_MONTHS = 96
"""Households are simulated for this long at once, so that bookings that were told never change."""
PRODUCT_NAMES = {
    ProductCategory.CHECKING: "Girokonto",
    ProductCategory.CALL_MONEY: "Tagesgeldkonto",
    ProductCategory.CREDIT_CARD: "Kreditkarte",
    ProductCategory.DEPOT: "Depot",
    ProductCategory.LOAN: "Kreditkonto",
    ProductCategory.OTHER_ACCOUNT: "Wallet",
}
RESERVE_CENTS = 50_000
"""The lowest balance that an account ever has."""


class SimulatedHouseholds:
    """Histories of the household simulator."""

    def find(self, user_id: str) -> Customer | None:
        """The customer with this user id."""
        match = USER_ID.fullmatch(user_id)
        return _customer(user_id, int(match[1])) if match else None

    def bookings(self, customer: Customer, as_of: date) -> Mapping[str, "pl.DataFrame"]:
        """By product key, all bookings as the bank tells them on a day."""
        import polars as pl

        whole = _by_product(_number(customer))
        frames = {account.product.key: whole[account.product.key] for account in customer.accounts}
        return {key: frame.filter(pl.col("booked_on") <= as_of) for key, frame in frames.items()}

    def positions(self, customer: Customer, as_of: date) -> Mapping[str, tuple[FetchedPosition, ...]]:
        """By key of each depot, its positions on a day: all that was paid in lies in one fund."""
        bookings = self.bookings(customer, as_of)
        depots = [account.product.key for account in customer.accounts if account.product.category in WITH_POSITIONS]
        return {key: _fund(int(bookings[key]["amount_cents"].sum())) for key in depots}


def _number(customer: Customer) -> int:
    match = USER_ID.fullmatch(customer.user_id)
    if match is None:
        raise ValueError("not a household")  # only `find` makes these customers
    return int(match[1])


@lru_cache(maxsize=8)
def _life(number: int) -> "Corpus":
    from models.simulator import simulate

    return simulate(1, SEED, START, HORIZON_MONTHS, first_user=number)


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
    parsed_iban = IBAN(iban) if iban else None
    product = FetchedProduct(
        _key(row),
        category,
        PRODUCT_NAMES.get(category, "Konto"),
        row["owner_name"] or "",
        account_number=parsed_iban.account_code if parsed_iban else None,
        iban=iban,
        bic=str(parsed_iban.bic) if parsed_iban and parsed_iban.bic else None,
        blz=parsed_iban.bank_code if parsed_iban else None,
        bank_name=parsed_iban.bank_name if parsed_iban else None,
        transfer_support=category in PAYING_CATEGORIES,
    )
    lowest_sum = bookings["amount_cents"].cum_sum().min() if bookings.height else 0
    lowest_cents = int(lowest_sum) if isinstance(lowest_sum, int) else 0
    return DemoAccount(
        product, opening_cents=0 if category is ProductCategory.CREDIT_CARD else RESERVE_CENTS - min(lowest_cents, 0)
    )


def _key(row: dict[str, str | None]) -> str:
    return row["iban"] or f"SIM-{row['product']}"


def _fund(paid_cents: int) -> tuple[FetchedPosition, ...]:
    price, total = Decimal("100.00"), abs(paid_cents)
    quantity = Decimal(total) / 100 / price
    return (FetchedPosition("Weltfonds", quantity, by_piece=True, price=price, currency="EUR", total_cents=total),)
