"""Simulated households as customers of the demo bank: `household1`, `household2`, … each different and always the same.

The bookings of a household are those of the simulator up to the day of the fetch; later days add to them. `household1since202605`
is the same household, of which the bank has bookings since that month only.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from schwifty import IBAN

from analytics.products import WITH_POSITIONS, ProductCategory
from pipelines.banks.base import FetchedPosition, FetchedProduct
from pipelines.banks.demo import security
from pipelines.banks.demo.histories import PAYING_CATEGORIES, START, Customer, DemoAccount

if TYPE_CHECKING:
    import polars as pl

USER_ID = re.compile(r"household(?P<number>[1-9][0-9]{0,5})(since(?P<year>20[0-9]{2})(?P<month>0[1-9]|1[0-2]))?")
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


class HouseholdLogin(NamedTuple):
    """A household by its number, and the first day of its bookings at the bank."""

    number: int
    first: date


class Life(NamedTuple):
    """The bookings and products of a household."""

    transactions: "pl.DataFrame"
    products: "pl.DataFrame"


LIVES: dict[int, Life] = {}
"""The households that were simulated in advance, by number."""


class SimulatedHouseholds:
    """Histories of the household simulator."""

    def find(self, user_id: str) -> Customer | None:
        """The customer with this user id."""
        login = _login(user_id)
        return _customer(user_id, login) if login else None

    def bookings(self, customer: Customer, as_of: date) -> Mapping[str, "pl.DataFrame"]:
        """By product key, all bookings as the bank tells them on a day."""
        import polars as pl

        whole = _by_product(_login_of(customer))
        frames = {account.product.key: whole[account.product.key] for account in customer.accounts}
        return {key: frame.filter(pl.col("booked_on") <= as_of) for key, frame in frames.items()}

    def positions(self, customer: Customer, as_of: date) -> Mapping[str, tuple[FetchedPosition, ...]]:
        """By key of each depot, its positions on a day: all that was paid in lies in one fund."""
        bookings = self.bookings(customer, as_of)
        depots = [account.product.key for account in customer.accounts if account.product.category in WITH_POSITIONS]
        return {key: _fund(int(bookings[key]["amount_cents"].sum())) for key in depots}


def user_id_of(number: int, since: date | None = None) -> str:
    """The user id of a household at the bank, which has its bookings since the month of a day."""
    return f"household{number}" + (f"since{since:%Y%m}" if since else "")


@contextmanager
def simulated_in_advance(numbers: range, since: date | None, until: date) -> Iterator[None]:
    """Simulates households together, which takes a small part of the time that each alone would. As long as the context is open,
    the bank knows the texts of their bookings from `since` to `until` only.
    """
    from models.simulator import simulate_banks

    world = simulate_banks(len(numbers), SEED, START, HORIZON_MONTHS, numbers.start, (since or START, until))
    transactions = world.transactions.partition_by("user", maintain_order=True, as_dict=True)
    products = world.products.partition_by("user", maintain_order=True, as_dict=True)
    LIVES.update(
        (int(str(user).removeprefix("u")), Life(transactions.get((user,), world.transactions.clear()), of_user))
        for (user,), of_user in products.items()
    )
    try:
        yield
    finally:
        LIVES.clear()
        _by_product.cache_clear()


def _login(user_id: str) -> HouseholdLogin | None:
    match = USER_ID.fullmatch(user_id)
    if match is None:
        return None
    return HouseholdLogin(int(match["number"]), date(int(match["year"]), int(match["month"]), 1) if match["year"] else START)


def _login_of(customer: Customer) -> HouseholdLogin:
    login = _login(customer.user_id)
    if login is None:
        raise ValueError("not a household")  # only `find` makes these customers
    return login


def _life(number: int) -> Life:
    return LIVES.get(number) or _single_life(number)


@lru_cache(maxsize=8)
def _single_life(number: int) -> Life:
    from models.simulator import simulate

    world = simulate(1, SEED, START, HORIZON_MONTHS, first_user=number)
    return Life(world.transactions, world.products)


@lru_cache(maxsize=8)
def _by_product(login: HouseholdLogin) -> dict[str, "pl.DataFrame"]:
    """The bookings of each product, the oldest first, by the product's key at the bank."""
    import polars as pl

    from analytics.frames import BOOKINGS

    life = _life(login.number)
    settled = life.transactions.filter(pl.col("booked_on") >= login.first).with_columns(pending=False)
    settled = settled.sort("booked_on", maintain_order=True)
    return {
        _key(row): settled.filter(pl.col("product") == row["product"]).select(BOOKINGS.names())
        for row in life.products.iter_rows(named=True)
    }


def _customer(user_id: str, login: HouseholdLogin) -> Customer:
    rows = _life(login.number).products.iter_rows(named=True)
    accounts = tuple(_account(row, _by_product(login)[_key(row)]) for row in rows)
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
