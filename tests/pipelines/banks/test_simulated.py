"""Simulated households as customers of the demo bank: as many lives as are asked for, each of them the same for ever."""

import os
import subprocess
import sys
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from schwifty import IBAN

from analytics.frames import BOOKINGS
from analytics.products import WITH_POSITIONS, ProductCategory
from pipelines.banks.base import FetchedBookings, FetchRequest, Header, Holdings, WrongCredentials
from pipelines.banks.demo import DemoBank
from pipelines.banks.demo.histories import START, Customer, DemoAccount
from pipelines.banks.demo.households import Households
from pipelines.banks.demo.simulated import SimulatedHouseholds
from pipelines.banks.demo.supplies import Supplies
from tests.pipelines.banks.cases import DEMO, NOW, demo

ROOT = Path(__file__).parents[3]
LOGINS = ("household1", "household2", "household8")
TODAY = NOW.date()
SUPPLY = SimulatedHouseholds()
TOLD = "from tests.pipelines.banks.test_simulated import digest; print(digest('household1'))"


def customer_of(user_id: str) -> Customer:
    customer = SUPPLY.find(user_id)
    assert customer is not None
    return customer


def frame_of(user_id: str, as_of: date = TODAY) -> pl.DataFrame:
    """All bookings of a household, with the key of their product."""
    frames = SUPPLY.bookings(customer_of(user_id), as_of).items()
    return pl.concat(frame.with_columns(product=pl.lit(key)) for key, frame in frames)


def digest(user_id: str) -> str:
    """A household in a few letters: its products and all its bookings."""
    return sha256(repr(customer_of(user_id)).encode() + frame_of(user_id).write_csv().encode()).hexdigest()


def test_the_same_login_has_the_same_history_in_every_process() -> None:
    elsewhere = subprocess.run(
        [sys.executable, "-c", TOLD],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert elsewhere.stdout.strip() == digest("household1")


def test_two_logins_are_two_lives() -> None:
    assert len({digest(user_id) for user_id in LOGINS}) == len(LOGINS)
    keys = [account.product.key for user_id in LOGINS for account in customer_of(user_id).accounts]
    assert len(set(keys)) == len(keys)
    holders = {account.product.owner_name for user_id in LOGINS for account in customer_of(user_id).accounts}
    assert len(holders) >= len(LOGINS)


@pytest.mark.parametrize("user_id", LOGINS)
def test_every_product_has_bookings_in_order_and_in_form(user_id: str) -> None:
    frames = SUPPLY.bookings(customer_of(user_id), TODAY)
    assert list(frames) == [account.product.key for account in customer_of(user_id).accounts]
    for frame in frames.values():
        assert frame.schema == BOOKINGS
        assert frame.height > 0
        assert frame["booked_on"].is_sorted()
        assert frame["booked_on"].is_between(START, TODAY).all()
        assert (
            frame.select("booked_on", "value_on", "amount_cents", "currency", "pending").null_count().sum_horizontal().item() == 0
        )
        assert (frame["amount_cents"] != 0).all()
        assert set(frame["currency"]) == {"EUR"}
        assert not frame["pending"].any()


@pytest.mark.parametrize("user_id", LOGINS)
def test_later_days_add_and_change_nothing(user_id: str) -> None:
    early, late = frame_of(user_id), frame_of(user_id, TODAY + timedelta(days=60))
    assert late.height > early.height
    assert late.filter(pl.col("booked_on") <= TODAY).equals(early)
    assert frame_of(user_id, START - timedelta(days=1)).is_empty()


@pytest.mark.parametrize("user_id", LOGINS)
def test_ibans_are_valid_and_no_account_is_ever_overdrawn(user_id: str) -> None:
    frames = SUPPLY.bookings(customer_of(user_id), TODAY)
    for account in customer_of(user_id).accounts:
        assert account.product.iban is None or IBAN(account.product.iban).is_valid
        assert account.product.category is ProductCategory.CREDIT_CARD or lowest(account, frames[account.product.key]) > 0


def lowest(account: DemoAccount, bookings: pl.DataFrame) -> int:
    """The balance on the worst day."""
    sums: list[int] = bookings["amount_cents"].cum_sum().to_list()
    return account.opening_cents + min(0, *sums)


@pytest.mark.parametrize("user_id", LOGINS)
def test_the_bank_tells_a_household_as_it_tells_any_customer(tmp_path: Path, user_id: str) -> None:
    header, *details = DemoBank(tmp_path).fetch(FetchRequest(DEMO.provider, demo(user_id, "demo"), NOW))
    assert isinstance(header, Header)
    assert [product.key for product in header.products] == [account.product.key for account in customer_of(user_id).accounts]
    depots = {product.key: product.balance_cents for product in header.products if product.category in WITH_POSITIONS}
    holdings = {
        part.product: sum(position.total_cents or 0 for position in part.positions)
        for part in details
        if isinstance(part, Holdings)
    }
    assert holdings == depots
    booked = {part.product: part.frame for part in details if isinstance(part, FetchedBookings)}
    for account, product in zip(customer_of(user_id).accounts, header.products, strict=True):
        if product.key not in depots:
            assert product.balance_cents == account.opening_cents + booked[product.key]["amount_cents"].sum()
            assert booked[product.key].equals(SUPPLY.bookings(customer_of(user_id), TODAY)[product.key])


@pytest.mark.parametrize(
    "user_id", ["household", "household0", "household01", "household1000000", "household-1", "Household1", "1"]
)
def test_other_user_ids_are_no_households(tmp_path: Path, user_id: str) -> None:
    assert SUPPLY.find(user_id) is None
    with pytest.raises(WrongCredentials):
        list(DemoBank(tmp_path).fetch(FetchRequest(DEMO.provider, demo(user_id, "demo"), NOW)))


def test_each_supply_answers_for_its_own_customers() -> None:
    both = Supplies((Households(), SUPPLY))
    for supply, user_id in ((Households(), "demo1"), (SUPPLY, "household8")):
        customer = both.find(user_id)
        assert customer is not None
        assert customer == supply.find(user_id)
        assert both.positions(customer, TODAY) == supply.positions(customer, TODAY)
        frames, own_frames = both.bookings(customer, TODAY), supply.bookings(customer, TODAY)
        assert list(frames) == list(own_frames)
        assert all(frames[key].equals(own_frames[key]) for key in own_frames)
    assert both.find("nobody") is None


def test_the_first_supply_that_knows_a_customer_answers() -> None:
    class Twin(SimulatedHouseholds):
        def find(self, user_id: str) -> Customer | None:
            return Customer(user_id, ()) if user_id == "household1" else None

        def bookings(self, customer: Customer, as_of: date) -> dict[str, pl.DataFrame]:
            return {}

    both = Supplies((Twin(), SUPPLY))
    customer = both.find("household1")
    assert customer == Customer("household1", ())
    assert both.bookings(customer, TODAY) == {}
