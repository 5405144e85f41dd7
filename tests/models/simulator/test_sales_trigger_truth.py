"""The rules of sales triggers and savings as they are read row by row, at their thresholds."""

from dataclasses import replace
from datetime import date

import pytest

from models.simulator.truth.life_stages import saving_truth
from models.simulator.truth.plain_users import Booking, TrueContract, TrueLife, month_of, months_before
from models.simulator.truth.sales_triggers import large_income_truth, trigger_truth

AS_OF = date(2026, 6, 30)
MONTHS = [date(2025 + month // 12, month % 12 + 1, 1) for month in range(18)]


def booking(day: date, cents: int, category: str, insurance: str = "UNRELATED_OTHER", payer: str = "A") -> Booking:
    return Booking(day, cents, category, insurance, payer, on_savings_product=False, difficulty=False)


def life(*more: Booking, salary: int = 320_000, work: str = "LABOURMARKET_EMPLOYED") -> TrueLife:
    """A year and a half of wages and rent, with what is given."""
    wages = [booking(day, salary, "INCOME_SALARY") for day in MONTHS]
    rents = [booking(day, -100_000, "HOUSING_RENT") for day in MONTHS]
    contracts = (
        TrueContract("INCOME_SALARY", "", True),
        TrueContract("HOUSING_RENT", "", True),
        TrueContract("BILLS_MOBILE", "", True),
    )
    return TrueLife("u0000001", AS_OF, (*wages, *rents, *more), contracts, (), work)


def triggers(of: TrueLife) -> set[str]:
    return set(trigger_truth([of])["item"])


@pytest.mark.parametrize(("cents", "there"), [(320_000, True), (319_999, False)])
def test_private_health_begins_at_exactly_3200_euros(cents: int, there: bool) -> None:
    assert ("MISSINGINSURANCE_PRIVATEHEALTH" in triggers(life(salary=cents))) is there
    assert "MISSINGINSURANCE_PRIVATEHEALTH" not in triggers(life(salary=cents, work="LABOURMARKET_RETIRED"))


@pytest.mark.parametrize(("cents", "there"), [(640_000, True), (639_999, False)])
def test_an_income_is_large_at_exactly_twice_the_average(cents: int, there: bool) -> None:
    paid = life(booking(date(2026, 5, 15), cents, "INCOME_OTHER", payer="B"))
    assert ("FINANCIAL_LARGEINCOME" in triggers(paid)) is there
    parts = [booking(date(2026, 5, 15), cents // 2, "INCOME_OTHER", payer=payer) for payer in ("B", "C")]
    assert "FINANCIAL_LARGEINCOME" not in triggers(life(*parts)), "of two payers"


def test_large_incomes_lie_25_days_apart() -> None:
    days = (date(2025, 9, 1), date(2025, 9, 20), date(2026, 3, 1))
    known = life(*(booking(day, 5_000_000 * 4**place, "INCOME_OTHER", payer="B") for place, day in enumerate(days)))
    assert large_income_truth([known])["date"].to_list() == [days[0], days[2]]


def test_an_insurance_counts_for_thirteen_months() -> None:
    item = "MISSINGINSURANCE_PRIVATELIABILITY"
    assert item in triggers(life())
    for day, there in ((date(2025, 5, 30), False), (date(2025, 5, 29), True)):
        assert (item in triggers(life(booking(day, -5_000, "INSURANCE_LIABILITY", "LIABILITY_PRIVATE")))) is there


def test_difficulties_leave_no_potential_to_save() -> None:
    known = life()
    bad = Booking(date(2026, 1, 2), -500, "BANKFINANCE_OTHER", "UNRELATED_OTHER", "", on_savings_product=False, difficulty=True)
    assert "FINANCIAL_SAVINGSPOTENTIAL" in triggers(known)
    assert "FINANCIAL_SAVINGSPOTENTIAL" not in triggers(replace(known, bookings=(*known.bookings, bad)))


@pytest.mark.parametrize(
    ("aside", "plan", "stage"),
    [
        (-1_000, True, "NONE"),
        (0, True, "NONE"),
        (3_200, False, "OCCASIONAL"),
        (3_200, True, "REGULAR"),
        (48_000, True, "INTENSIVE"),
    ],
)
def test_savings_are_a_share_of_income(aside: int, plan: bool, stage: str) -> None:
    known = life(*(booking(day, -aside, "SAVINGS_ACCOUNT") for day in MONTHS))
    contracts = (*known.contracts, TrueContract("SAVINGS_ACCOUNT", "", plan))
    assert saving_truth([replace(known, contracts=contracts)])["item"].to_list() == [f"SAVINGS_{stage}"]


def test_months_are_counted_back_to_days_that_exist() -> None:
    assert months_before(date(2026, 3, 31), 1) == date(2026, 2, 28)
    assert months_before(date(2026, 12, 31), 12) == date(2025, 12, 31)
    assert months_before(date(2026, 1, 15), 13) == date(2024, 12, 15)
    assert month_of(date(2026, 1, 1)) - month_of(date(2025, 12, 31)) == 1
