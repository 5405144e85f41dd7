"""Sales triggers of made-up lives: every rule at its boundary."""

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics import trees
from analytics.analyses.life_events import life_events
from analytics.analyses.life_stages import life_stages
from analytics.analyses.sales_triggers import sales_triggers
from analytics.frames import SALES_TRIGGERS
from tests.analytics.lives import (
    TODAY,
    book,
    child_benefit,
    debit,
    everyday,
    life,
    months,
    rent,
    take_snapshot,
    tell,
    triggers_of,
    wage,
)

WHOLE = ("2024-01", "2026-06")
LIABILITY, DISABILITY, HEALTH = (
    f"MISSINGINSURANCE_{name}" for name in ("PRIVATELIABILITY", "OCCUPATIONALDISABILITY", "PRIVATEHEALTH")
)
MISSING = {LIABILITY, DISABILITY, HEALTH}
SURPLUS, LARGE = "FINANCIAL_SAVINGSPOTENTIAL", "FINANCIAL_LARGEINCOME"
BILLS = (
    debit("BILLS_MOBILE", months(*WHOLE, 5), -20.0, "Netz"),
    debit("BILLS_ELECTRICITY", months(*WHOLE, 6), -60.0, "Strom"),
)


def job(euros: float = 2500.0, first: str = "2024-01", **more: Any) -> pl.DataFrame:
    return wage(days=months(first, "2026-06", 28), euros=euros, name="Alt GmbH", **more)


def policy(insurance: str, days: list[date], category: str = "INSURANCE_LIABILITY") -> pl.DataFrame:
    return debit(category, days, -60.0, "Versicherer", "Beitrag", insurance=insurance)


def test_nobody_without_bookings_has_triggers() -> None:
    nothing = take_snapshot()
    events = life_events(nothing)
    assert_frame_equal(sales_triggers(nothing, events, life_stages(nothing, events)), SALES_TRIGGERS.to_frame())


def test_every_trigger_is_an_item_of_the_tree_and_names_its_bookings() -> None:
    whole = take_snapshot(everyday(), job(4000.0), *BILLS)
    events = life_events(whole)
    result = sales_triggers(whole, events, life_stages(whole, events))
    assert set(result["item"]) == {*MISSING, SURPLUS}
    assert set(result["item"]) <= {item.system_name for item in trees.tree("SALES_TRIGGERS").items}
    assert result["bookings"].list.len().min() >= 1  # type: ignore[operator]


# Missing insurance


def test_a_covered_account_without_policies_lacks_liability_and_disability() -> None:
    assert MISSING & set(triggers_of(everyday(), job(), *BILLS)) == {LIABILITY, DISABILITY}


def test_an_account_is_covered_with_three_active_contracts_of_which_one_is_income() -> None:
    assert not MISSING & set(triggers_of(everyday(), job(), BILLS[0]))
    more = debit("BILLS_FIXEDINTERNET", months(*WHOLE, 7), -40.0, "Kabel")
    assert not MISSING & set(triggers_of(everyday(), *BILLS, more))


@pytest.mark.parametrize(("first", "covered"), [(date(2025, 6, 30), True), (date(2025, 7, 1), False)])
def test_an_account_is_covered_after_twelve_months(first: date, covered: bool) -> None:
    young = [part.filter(pl.col("booked_on") > date(2025, 7, 1)) for part in (job(), *BILLS)]
    assert (LIABILITY in triggers_of(everyday(first=first), *young)) == covered


@pytest.mark.parametrize("insurance", ["LIABILITY_PRIVATE", "OTHER_BUNDLE", "LIABILITY_OTHER", "OTHER_OTHER"])
def test_whatever_may_contain_liability_is_liability(insurance: str) -> None:
    assert LIABILITY not in triggers_of(everyday(), job(), *BILLS, policy(insurance, [date(2026, 1, 2)]))


def test_liability_of_a_dog_is_not_that_of_its_owner() -> None:
    assert LIABILITY in triggers_of(everyday(), job(), *BILLS, policy("LIABILITY_DOG", [date(2026, 1, 2)]))


@pytest.mark.parametrize(("day", "is_insured"), [(date(2025, 5, 30), True), (date(2025, 5, 29), False)])
def test_a_policy_paid_within_thirteen_months_is_held(day: date, is_insured: bool) -> None:
    single = book("INSURANCE_LIABILITY", [day], -60.0, "Versicherer", insurance="LIABILITY_PRIVATE")
    assert (LIABILITY not in triggers_of(everyday(), job(), *BILLS, single)) == is_insured


@pytest.mark.parametrize("product", ["OCCUPATIONAL", "SERVICE", "EARNING", "BASICABILITY"])
def test_each_cover_of_the_ability_to_work_counts(product: str) -> None:
    insurance = policy(f"INCAPACITY_{product}", months(*WHOLE, 1), "INSURANCE_INCAPACITY")
    assert DISABILITY not in triggers_of(everyday(), job(), *BILLS, insurance)


def test_accident_insurance_covers_no_disability_and_pensioners_need_none() -> None:
    accident = policy("INCAPACITY_ACCIDENT", months(*WHOLE, 1), "INSURANCE_INCAPACITY")
    pension = book("INCOME_PENSION", months(*WHOLE, 28), 1800.0, "Rentenversicherung", "Rente")
    assert DISABILITY in triggers_of(everyday(), job(), *BILLS, accident)
    assert MISSING & set(triggers_of(everyday(), pension, *BILLS)) == {LIABILITY}


@pytest.mark.parametrize(("last", "tells"), [(3200.00, True), (3199.99, False), (3199.97, False)])
def test_private_health_from_exactly_3200_euros_on(last: float, tells: bool) -> None:
    days = months(*WHOLE, 28)
    payments = wage(days=days, euros=[3200.0] * (len(days) - 1) + [last], name="Alt GmbH")
    result = triggers_of(everyday(), payments)
    assert (HEALTH in result) == tells
    assert not tells or result[HEALTH] == 320_000


def test_the_last_three_full_months_decide_about_private_health() -> None:
    days = months(*WHOLE, 28)
    risen = wage(days=days, euros=[3000.0] * (len(days) - 3) + [3200.0] * 3, name="Alt GmbH")
    assert HEALTH in triggers_of(everyday(), risen)
    assert HEALTH not in triggers_of(everyday(last=date(2026, 6, 29)), risen, as_of=date(2026, 6, 29))


def test_who_has_private_health_insurance_or_a_pension_needs_none() -> None:
    insurance = policy("HEALTH_PRIVATE", months(*WHOLE, 1), "INSURANCE_HEALTH")
    pension = book("INCOME_PENSION", months(*WHOLE, 28), 4000.0, "Versorgungswerk", "Rente")
    assert HEALTH not in triggers_of(everyday(), job(4000.0), insurance)
    assert HEALTH not in triggers_of(everyday(), pension)


def test_two_full_months_are_too_few_for_private_health() -> None:
    assert HEALTH not in triggers_of(everyday(first=date(2026, 4, 2)), job(4000.0, "2026-04"))
    assert HEALTH in triggers_of(everyday(first=date(2026, 4, 1)), job(4000.0, "2026-04"))


# Life events


EVENT_DAY = date(2025, 6, 2)


def trigger_on(day: date, item: str) -> dict[str, Any] | None:
    """The trigger as it stands on a day, by the bookings until then."""
    every = [EVENT_DAY + timedelta(days=at) for at in (0, 30, 61, 91, 122, 153, 183, 214, 244)]
    old = [date(2024, 1, 2) + timedelta(days=at) for at in range(0, 510, 30)]
    lives = {
        "LIFEEVENT_FIRSTAPARTMENT": [rent(days=every, euros=-700.0, name="Wohnbau")],
        "LIFEEVENT_NEWAPARTMENT": [
            rent(days=old, euros=-600.0, name="Alter Vermieter"),
            rent(days=every, euros=-700.0, name="Wohnbau"),
        ],
        "LIFEEVENT_FIRSTEMPLOYMENT": [wage(days=every, euros=2000.0, name="Neu AG")],
        "LIFEEVENT_NEWEMPLOYMENT": [wage(days=old, euros=2000.0, name="Alt GmbH"), wage(days=every, euros=2000.0, name="Neu AG")],
        "LIFEEVENT_FIRSTCHILD": [child_benefit(days=every, euros=255.0)],
        "FINANCIAL_SALARYINCREASE": [wage(days=[*old, *every], euros=[2000.0] * len(old) + [2100.0] * 9, name="Alt GmbH")],
    }
    parts = [part.filter(pl.col("booked_on") <= day) for part in (everyday(last=day), *lives[item])]
    rows = tell(life(*parts, as_of=day)).triggers.filter(pl.col("item") == item)
    return None if rows.is_empty() else rows.row(0, named=True)


@pytest.mark.parametrize(
    ("item", "days"),
    [
        ("LIFEEVENT_FIRSTAPARTMENT", 90),
        ("LIFEEVENT_NEWAPARTMENT", 90),
        ("LIFEEVENT_FIRSTEMPLOYMENT", 90),
        ("LIFEEVENT_NEWEMPLOYMENT", 90),
        ("FINANCIAL_SALARYINCREASE", 90),
        ("LIFEEVENT_FIRSTCHILD", 180),
    ],
)
def test_a_trigger_lives_from_the_first_day_on_which_its_event_shows(item: str, days: int) -> None:
    trigger = trigger_on(EVENT_DAY + timedelta(days=75), item)
    assert trigger is not None
    known = trigger["trigger_date"]
    assert EVENT_DAY < known <= EVENT_DAY + timedelta(days=75)
    assert trigger["event_date"] == EVENT_DAY
    assert trigger_on(known - timedelta(days=1), item) is None
    for later in (known, known + timedelta(days=days)):
        still = trigger_on(later, item)
        assert still is not None
        assert still["trigger_date"] == known
    assert trigger_on(known + timedelta(days=days + 1), item) is None


# Savings potential


def left_over(surplus: list[float], income: float = 1000.0, *more: pl.DataFrame) -> dict[str, int | None]:
    """Who keeps so much of the income of each of the last six months."""
    days = months("2026-01", "2026-06", 20)
    spending = book("SHOPPING_OTHER", days, [euros - income for euros in surplus], "Laden", channel="CARD")
    history = book("SHOPPING_OTHER", months("2024-01", "2025-12", 20), -income, "Laden", channel="CARD")
    return triggers_of(wage(days=months(*WHOLE, 15), euros=income, name="Alt GmbH"), spending, history, *more)


@pytest.mark.parametrize(
    ("surplus", "income", "tells"),
    [
        ([100.0] * 6, 1000.0, True),
        ([100.0] * 5 + [99.99], 1000.0, False),
        ([150.0] * 6, 3000.0, True),
        ([150.0] * 5 + [149.99], 3000.0, False),
        ([300.0] * 5 + [-50.0], 1000.0, True),
        ([300.0] * 4 + [-50.0, 0.0], 1000.0, False),
    ],
)
def test_savings_potential_needs_enough_in_five_of_six_months(surplus: list[float], income: float, tells: bool) -> None:
    result = left_over(surplus, income)
    assert (SURPLUS in result) == tells
    assert not tells or result[SURPLUS] == round(sum(surplus) / 6 * 100)


def test_what_is_saved_already_is_potential() -> None:
    plan = debit("SAVINGS_SECURITIES", months(*WHOLE, 16), -100.0, "Broker", "Sparplan")
    assert SURPLUS in left_over([100.0] * 6, 1000.0, plan)


@pytest.mark.parametrize(("day", "tells"), [(date(2025, 12, 30), True), (date(2025, 12, 31), False), (date(2026, 5, 4), False)])
def test_nobody_with_difficulties_to_pay_has_savings_potential(day: date, tells: bool) -> None:
    bad = book("TRANSFER_REVERSAL", [day], 30.0, "Shop", "Rücklastschrift", channel="DD_RETURN")
    assert (SURPLUS in left_over([200.0] * 6, 1000.0, bad)) == tells


# Large income


def windfall(*euros: float, day: date = date(2026, 5, 20), category: str = "INCOME_OTHER") -> dict[str, int | None]:
    """Who earns 2,000 a month and gets this from one payer on one day."""
    single_payments = [book(category, [day], amount, "Lebensversicherung", f"Auszahlung {at}") for at, amount in enumerate(euros)]
    numbered_payments = [part.with_columns(id=pl.format("{} {}", "id", pl.lit(at))) for at, part in enumerate(single_payments)]
    return triggers_of(everyday(), wage(days=months(*WHOLE, 28), euros=2000.0, name="Alt GmbH"), *numbered_payments)


@pytest.mark.parametrize(("euros", "tells"), [(4000.0, True), (3999.99, False), (9000.0, True)])
def test_a_large_income_is_exactly_twice_the_average_month(euros: float, tells: bool) -> None:
    result = windfall(euros)
    assert (LARGE in result) == tells
    assert not tells or result[LARGE] == round(euros * 100)


def test_what_one_payer_pays_on_one_day_is_one_income() -> None:
    assert windfall(2000.0, 2000.0)[LARGE] == 400_000


@pytest.mark.parametrize(("days", "tells"), [(60, True), (61, False)])
def test_a_large_income_is_told_for_60_days(days: int, tells: bool) -> None:
    assert (LARGE in windfall(9000.0, day=TODAY - timedelta(days=days))) == tells


@pytest.mark.parametrize("category", ["BANKFINANCE_CREDITINCOME", "TRANSFER_INTERNAL", "TRANSFER_REFUND", "SHOPPING_ELECTRONICS"])
def test_pay_outs_transfers_and_refunds_are_no_income(category: str) -> None:
    assert LARGE not in windfall(9000.0, category=category)


def test_a_gift_is_a_large_income() -> None:
    assert windfall(9000.0, category="OTHER_INCOME")[LARGE] == 900_000


def test_what_private_people_give_is_part_of_an_average_month() -> None:
    given = book("OTHER_INCOME", months(*WHOLE, 5), 600.0, "Eltern", "Zuschuss")
    small = wage(days=months(*WHOLE, 28), euros=400.0, name="Alt GmbH")
    gift = book("OTHER_INCOME", [TODAY - timedelta(days=20)], 1500.0, "Oma", "Zum Geburtstag")
    assert LARGE not in triggers_of(everyday(), given, small, gift)
    assert LARGE in triggers_of(everyday(), small, gift)


@pytest.mark.parametrize(("first", "tells"), [(date(2026, 2, 1), True), (date(2026, 2, 2), False)])
def test_three_full_months_must_lie_before_a_large_income(first: date, tells: bool) -> None:
    payments = wage(days=months("2026-02", "2026-06", 28), euros=2000.0, name="Alt GmbH")
    bonus = book("INCOME_OTHER", [date(2026, 5, 20)], 9000.0, "Versicherung", "Auszahlung")
    assert (LARGE in triggers_of(everyday(first=first), payments, bonus)) == tells


def test_months_before_the_last_twelve_do_not_count() -> None:
    poor = wage(days=months("2024-01", "2025-04", 28), euros=200.0, name="Alt GmbH")
    rich = wage(days=months("2025-05", "2026-06", 28), euros=2000.0, name="Neu AG")
    bonus = book("INCOME_OTHER", [date(2026, 5, 20)], 3999.99, "Versicherung", "Auszahlung")
    assert LARGE not in triggers_of(everyday(), poor, rich, bonus)


# For all


def test_neither_the_order_of_bookings_nor_other_users_change_anything() -> None:
    anna = [everyday(), job(4000.0), *BILLS, book("INCOME_OTHER", [date(2026, 5, 20)], 9000.0, "Versicherung", "Auszahlung")]
    other = [part.with_columns(user=pl.lit("bert"), id="bert " + pl.col("id")) for part in (everyday(), job())]

    def of(*parts: pl.DataFrame) -> pl.DataFrame:
        whole = take_snapshot(*parts)
        events = life_events(whole)
        return sales_triggers(whole, events, life_stages(whole, events)).filter(pl.col("user") == "anna")

    assert_frame_equal(of(pl.concat([*anna, *other]).sample(fraction=1, shuffle=True, seed=5)), of(*anna))
