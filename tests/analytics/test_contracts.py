"""Contracts in the bookings of made-up users: what is one, what is none, and what comes next."""

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics.analyses.contracts import Contracts
from analytics.analyses.snapshot import snapshot
from analytics.calendar import easter_sunday
from analytics.frames import AS_OF, PRODUCTS, TAGGED, TRANSACTIONS

AS_OF_DAY = date(2026, 6, 30)
BOOKED = pl.Schema({**TRANSACTIONS, **TAGGED})
USUAL: dict[str, Any] = {
    "user": "anna",
    "product": "giro",
    "currency": "EUR",
    "purpose": "",
    "booking_text": "",
    "pending": False,
    "channel": "DIRECTDEBIT",
    "counterparty_key": "DE02120300000000202051",
    "counterparty_name": "Stadtwerke",
    "category": "BILLS_ELECTRICITY",
    "insurance": "UNRELATED_OTHER",
    "partner": "UNKNOWN",
}


def book(days: list[date], cents: int | list[int] = -5000, **columns: Any) -> pl.DataFrame:
    """Bookings on these days, alike but for what is said."""
    amounts = [cents] * len(days) if isinstance(cents, int) else cents
    about = {**USUAL, **columns}
    rows = [
        {**about, "id": f"{about['user']}-{about['counterparty_key']}-{place:03}", "booked_on": day, "amount_cents": amount}
        for place, (day, amount) in enumerate(zip(days, amounts, strict=True))
    ]
    return pl.DataFrame([{"effective_category": row["category"], **row} for row in rows], schema=BOOKED)


def monthly(count: int, day: int = 3, last: tuple[int, int] = (2026, 6)) -> list[date]:
    """The same day in so many months, the last one in that month."""
    months = [last[0] * 12 + last[1] - 1 - back for back in reversed(range(count))]
    return [date(month // 12, month % 12 + 1, day) for month in months]


def found(bookings: pl.DataFrame, as_of: date = AS_OF_DAY) -> Contracts:
    users = bookings["user"].unique().sort()
    days = pl.DataFrame({"user": users, "as_of": [as_of] * users.len()}, schema=AS_OF)
    whole = snapshot(bookings, PRODUCTS.to_frame(), days)
    return Contracts(whole.contracts, whole.payments, whole.payment_rows)


def only(bookings: pl.DataFrame, as_of: date = AS_OF_DAY) -> dict[str, Any]:
    return found(bookings, as_of).contracts.row(0, named=True)


def test_a_monthly_debit_is_a_contract_with_all_its_sums() -> None:
    contract = only(book(monthly(12), [-5000] * 6 + [-5500] * 6))
    assert (contract["period"], contract["period_confidence"], contract["status"]) == ("MONTH_ONE", None, "ACTIVE")
    assert (contract["amount_first"], contract["amount_latest"], contract["amount_next"]) == (-5000, -5500, -5500)
    assert (contract["amount_minimum"], contract["amount_maximum"], contract["amount_median"]) == (-5500, -5000, -5250)
    assert contract["amount_total_regular"] == -63_000
    assert contract["date_next"] == date(2026, 7, 3)
    assert contract["growth_rate"] == pytest.approx(-0.1)
    assert contract["price_changes"] == [{"date": date(2026, 1, 3), "before": -5000, "after": -5500}]


@pytest.mark.parametrize(
    ("cents", "following"),
    [
        ([-5000] * 3 + [-5200] * 12 + [-5400] * 12, -5600),
        ([-5000] * 3 + [-5200] * 12 + [-5460] * 12, -5706),
        ([-5000] * 4 + [-5200] * 12, -5408),
        ([-5000] * 4 + [-6500] * 12, -6500),
        ([-5000] * 4 + [-5200] * 11, -5200),
    ],
)
def test_a_price_that_rises_every_year_rises_again(cents: list[int], following: int) -> None:
    assert only(book(monthly(len(cents)), cents))["amount_next"] == following


def test_a_price_that_has_just_risen_stays_for_a_year() -> None:
    cents = [-5000] * 12 + [-5200] * 12 + [-5400] * 12
    for count in (25, 26, 30):
        contract = only(book(monthly(count), cents[:count]))
        assert contract["amount_next"] == contract["amount_latest"] == -5400
    seasonal = [-5000, -5000, -5000, -9000, *[-5000] * 11, -9000, *[-5000] * 11, -9000]
    assert only(book(monthly(len(seasonal)), seasonal))["amount_next"] == -5000


def test_nobody_without_bookings_has_contracts() -> None:
    nothing = found(BOOKED.to_frame())
    assert nothing.contracts.is_empty()
    assert nothing.bookings.is_empty()


def test_the_supermarket_on_the_same_weekday_is_a_habit() -> None:
    fridays = [date(2026, 6, 26) - timedelta(weeks=week) for week in range(50)]
    spending = [-4000 - 137 * (week % 17) for week in range(50)]
    shop = book(sorted(fridays), spending, category="LIVING_GROCERIES", channel="CARD", counterparty_key="rewe")
    assert found(shop).contracts.is_empty()


def test_the_same_amount_every_friday_between_friends_is_no_contract() -> None:
    fridays = sorted(date(2026, 6, 26) - timedelta(weeks=week, days=week % 3) for week in range(50))
    columns = {"category": "BANKFINANCE_TRANSFER", "channel": "TRANSFER"}
    assert found(book(fridays, [-1000 - 350 * (at % 4) for at in range(50)], **columns)).contracts.is_empty()


def test_a_yearly_premium_seen_twice_is_a_contract_with_an_uncertain_period() -> None:
    premium = {"category": "INSURANCE_LIABILITY", "insurance": "LIABILITY_PRIVATE"}
    contract = only(book([date(2025, 2, 3), date(2026, 2, 2)], -6900, **premium))
    assert contract["period"] == "YEAR_ONE"
    assert contract["period_confidence"] is not None
    assert contract["status"] == "ACTIVE"
    assert contract["date_next"].year == 2027


def test_a_premium_seen_once_says_how_sure_its_period_is() -> None:
    result = {"category": "INSURANCE_LIABILITY", "insurance": "LIABILITY_PRIVATE", "purpose": "Beitrag 01.03.2026-28.02.2027"}
    contract = only(book([date(2026, 3, 2)], -6900, **result))
    assert (contract["period"], contract["period_confidence"], contract["date_start"]) == ("YEAR_ONE", 0.95, date(2026, 3, 1))


def test_one_purchase_long_ago_is_no_contract() -> None:
    assert found(book([date(2025, 1, 7)], -999, category="RECREATION_ONLINE")).contracts.is_empty()


@pytest.mark.parametrize("day", [28, 30, 31])
def test_what_is_paid_at_the_end_of_the_month_is_monthly(day: int) -> None:
    months = [(2025, month) for month in range(7, 13)] + [(2026, month) for month in range(1, 7)]
    ends = [date(year, month, min(day, 28 if month == 2 else 30 if month in (4, 6, 9, 11) else 31)) for year, month in months]
    contract = only(book(ends))
    assert contract["period"] == "MONTH_ONE"
    assert contract["date_next"] in {date(2026, 7, 28), date(2026, 7, 30), date(2026, 7, 31)}


def test_the_next_date_is_no_holiday() -> None:
    forward = [day + timedelta(days={6: 2, 7: 1}.get(day.isoweekday(), 0)) for day in monthly(12, last=(2026, 3))]
    assert all(day.isoweekday() < 6 for day in forward)
    contract = only(book(forward), date(2026, 3, 31))
    assert easter_sunday(2026) == date(2026, 4, 5)
    assert contract["date_next"] == date(2026, 4, 7)  # the 3rd is Good Friday, the 6th is Easter Monday


def test_a_late_payment_is_overdue_and_then_the_contract_is_over() -> None:
    payments = book(monthly(12, last=(2026, 5)))
    late = only(payments, date(2026, 6, 10))
    assert (late["status"], late["overdue"], late["date_next"]) == ("ACTIVE", True, date(2026, 6, 11))
    over = only(payments, date(2026, 6, 30))
    assert (over["status"], over["overdue"], over["date_next"], over["amount_next"]) == ("INACTIVE", False, None, None)


def test_the_last_instalment_ends_a_loan() -> None:
    rates = book(monthly(12), category="BANKFINANCE_CREDITPAYMENT")
    result = rates.with_columns(purpose=pl.format("Rate {} von 12", pl.int_range(1, 13)))
    assert only(result)["status"] == "INACTIVE"


def test_a_settlement_belongs_to_the_contract_but_is_not_regular() -> None:
    payments = book(monthly(12))
    settled = book([date(2026, 2, 18)], -13_000, purpose="Nachzahlung Jahresabrechnung 2025").with_columns(id=pl.lit("settled"))
    returned = book([date(2026, 3, 12)], 2_000, purpose="Guthaben").with_columns(id=pl.lit("returned"))
    whole = found(pl.concat([payments, settled, returned]))
    beside = whole.bookings.filter(~pl.col("regular"))
    assert sorted(beside["id"]) == ["returned", "settled"]
    contract = whole.contracts.row(0, named=True)
    assert (contract["amount_total_regular"], contract["amount_total_non_regular"]) == (-60_000, -11_000)


def test_two_contracts_with_one_partner_are_told_apart_by_their_amounts() -> None:
    small, large = book(monthly(12, day=2), -1999), book(monthly(12, day=16), -4999).with_columns(id=pl.col("id") + "b")
    both = found(pl.concat([small, large])).contracts
    assert sorted(both["amount_latest"]) == [-4999, -1999]


def test_a_landlord_who_changes_the_bank_keeps_the_contract_if_the_partner_is_known() -> None:
    rent = {"category": "HOUSING_RENT", "channel": "STANDINGORDER", "partner": "VONOVIA"}
    before = book(monthly(12, last=(2025, 12)), -80_000, **rent)
    after = book(monthly(6), -80_000, counterparty_key="DE77", **rent)
    assert only(pl.concat([before, after]))["regular_count"] == 18


def test_neither_order_nor_other_users_change_anything() -> None:
    mine = pl.concat(
        [book(monthly(12)), book(monthly(9, day=15), -1299, counterparty_key="netflix", category="RECREATION_ONLINE")]
    )
    alone = found(mine)
    crowd = pl.concat([book(monthly(12), user="berta"), mine, book(monthly(7), user="carl")]).sample(
        fraction=1, shuffle=True, seed=3
    )
    together = found(crowd)
    assert_frame_equal(together.contracts.filter(user="anna"), alone.contracts)
    assert_frame_equal(together.bookings.filter(user="anna"), alone.bookings)


def test_what_comes_after_the_as_of_date_is_not_seen() -> None:
    payments = book(monthly(12))
    day = date(2026, 3, 31)
    assert_frame_equal(found(payments, day).contracts, found(payments.filter(pl.col("booked_on") <= day), day).contracts)


# Without a mandate, and beside other contracts of the same payee


def every(days: int, count: int, last: date = date(2026, 6, 20)) -> list[date]:
    return [last - timedelta(days=days * back) for back in reversed(range(count))]


@pytest.mark.parametrize(
    ("days", "period", "category", "channel"),
    [
        (7, "WEEK_ONE", "RECREATION_SPORTS", "CARD"),
        (14, "WEEK_TWO", "RECREATION_SPORTS", "DIRECTDEBIT"),
        (28, "WEEK_FOUR", "RECREATION_SPORTS", "CARD"),
        (28, "WEEK_FOUR", "OTHER_SPENDING", "TRANSFER"),
    ],
)
def test_weekly_fees_are_contracts_without_a_mandate(days: int, period: str, category: str, channel: str) -> None:
    contract = only(book(every(days, 13), -2490, category=category, channel=channel))
    assert (contract["period"], contract["status"]) == (period, "ACTIVE")


def test_two_premiums_of_two_years_are_a_contract_without_a_mandate_even_if_the_price_rises() -> None:
    premiums = book(
        [date(2024, 9, 30), date(2025, 10, 2)], [-31_240, -33_570], category="INSURANCE_VEHICLE", insurance="VEHICLE_CAR"
    )
    contract = only(premiums)
    assert (contract["period"], contract["regular_count"]) == ("YEAR_ONE", 2)
    assert contract["price_changes"] == [{"date": date(2025, 10, 2), "before": -31_240, "after": -33_570}]


def test_yearly_rises_are_price_changes() -> None:
    days = [date(2023, 1, 2), date(2024, 1, 2), date(2025, 1, 2), date(2026, 1, 2)]
    contract = only(book(days, [-6000, -6300, -6600, -6950], category="INSURANCE_LIABILITY", insurance="LIABILITY_PRIVATE"))
    assert [change["after"] for change in contract["price_changes"]] == [-6300, -6600, -6950]


def test_semester_fees_are_a_contract() -> None:
    days = [date(2024, 8, 1), date(2025, 2, 4), date(2025, 7, 30), date(2026, 2, 2)]
    fees = book(days, [-31_100, -31_900, -33_200, -33_900], category="EDUCATION_ACADEMIC", purpose="Semesterbeitrag Rückmeldung")
    assert only(fees.with_columns(channel=pl.lit("TRANSFER")))["period"] == "HALFYEAR_ONE"


def test_rent_of_a_student_hall_is_a_contract_beside_meals_of_the_same_payee() -> None:
    about = {"partner": "STUDIERENDENWERK_BERLIN", "counterparty_key": "stw"}
    hall = book(monthly(9, 1), -31_000, category="HOUSING_RENT", purpose="Miete Wohnheim", channel="TRANSFER", **about)
    days = [date(2025, 10, 5) + timedelta(days=11 * number + number * number % 7) for number in range(14)]
    meals = book(days, -2000, category="RECREATION_ENTERTAINMENTFOOD", purpose="Mensa", channel="CARD", **about)
    contracts = found(pl.concat([hall, meals.with_columns(id=pl.format("meal-{}", "id"))])).contracts
    assert contracts.select("category", "amount_latest", "period").rows() == [("HOUSING_RENT", -31_000, "MONTH_ONE")]


def test_taxes_of_one_office_are_contracts_of_their_own() -> None:
    office = {"partner": "FINANZAMT", "counterparty_key": "fa", "category": "TAXES", "channel": "TRANSFER"}
    vat = book(monthly(12, 10), [-40_000 - 700 * (at % 5) for at in range(12)], purpose="Umsatzsteuer", **office)
    quarters = [date(2025, 9, 10), date(2025, 12, 10), date(2026, 3, 10), date(2026, 6, 10)]
    income = book(quarters, -120_000, purpose="Einkommensteuer Vorauszahlung", **office)
    contracts = found(pl.concat([vat, income.with_columns(id=pl.format("est-{}", "id"))])).contracts
    assert sorted(contracts["period"]) == ["MONTH_ONE", "QUARTER_ONE"]


def test_the_dog_tax_of_one_town_and_the_care_of_another_are_two_contracts() -> None:
    town = {"partner": "STADTKASSE", "channel": "DIRECTDEBIT"}
    dog = book(
        [date(2024, 2, 15), date(2025, 2, 17), date(2026, 2, 16)],
        -9600,
        category="TAXES",
        counterparty_key="A",
        purpose="Hundesteuer",
        **town,
    )
    care = book(monthly(12, 1), -25_000, category="FAMILY_CHILDCARE", counterparty_key="B", purpose="Kita", **town)
    contracts = found(pl.concat([dog, care.with_columns(id=pl.format("kita-{}", "id"))])).contracts
    assert sorted(contracts.select("category", "period").rows()) == [("FAMILY_CHILDCARE", "MONTH_ONE"), ("TAXES", "YEAR_ONE")]


def test_policies_of_one_insurer_in_different_months_are_contracts_of_their_own() -> None:
    insurer = {"partner": "ALLIANZ", "counterparty_key": "az", "category": "INSURANCE_VEHICLE", "insurance": "VEHICLE_CAR"}
    first = book([date(year, 1, 2) for year in (2024, 2025, 2026)], -28_000, purpose="Vertragsnr. KR-111222 Kfz", **insurer)
    second = book([date(year, 4, 1) for year in (2024, 2025, 2026)], -61_000, purpose="Vertragsnr. KR-999888 Kfz", **insurer)
    contracts = found(pl.concat([first, second.with_columns(id=pl.format("second-{}", "id"))])).contracts
    assert sorted(contracts.select("amount_latest", "period").rows()) == [(-61_000, "YEAR_ONE"), (-28_000, "YEAR_ONE")]
    assert sorted(contracts["contract_numbers"].to_list()) == [["KR-111222"], ["KR-999888"]]


def test_two_customers_of_one_payee_are_two_contracts() -> None:
    first = book(monthly(12, 3), -4500, purpose="Kundennr. 1111 2222 Abschlag")
    second = book(monthly(12, 17), -4600, purpose="Kundennr. 3333 4444 Abschlag").with_columns(id=pl.format("second-{}", "id"))
    contracts = found(pl.concat([first, second])).contracts
    assert sorted(contracts["customer_numbers"].to_list()) == [["1111 2222"], ["3333 4444"]]


@pytest.mark.parametrize(
    "category", ["BANKFINANCE_ATMWITHDRAWAL", "BANKFINANCE_CASHWITHDRAWAL", "TRANSFER_INTERNAL", "TRANSFER_SAVINGS"]
)
def test_cash_and_own_transfers_are_never_contracts(category: str) -> None:
    assert found(book(monthly(24), -20_000, category=category, channel="STANDINGORDER")).contracts.is_empty()


def test_numbers_stay_the_same_over_months() -> None:
    texts = [f"Kundennr. 4711 0815 Rechnung 99{month:02} vom 0{month}.06.2026 Vertragskonto 200123456" for month in range(1, 7)]
    bills = book(monthly(6), -5000).with_columns(purpose=pl.Series(texts))
    for count in (4, 5, 6):
        contract = only(bills.head(count), date(2026, count, 20))
        assert (contract["customer_numbers"], contract["contract_numbers"]) == (["4711 0815"], ["200123456"])


@pytest.mark.parametrize(
    ("cents", "following", "why"),
    [
        ([-5000] * 12, -5000, "wie zuletzt"),
        ([-5000] * 12 + [-5200] * 12 + [-5400] * 12, -5600, "mit der Anpassung, die jedes Jahr um diese Zeit kommt"),
        ([-5000, -6000, -4700, -5900], -5900, "der mittlere der letzten drei Beträge"),
        ([-5000, -5100, -4900, -5200, -5000, -5150], -5150, "wie zuletzt"),
    ],
)
def test_the_reason_explains_the_next_amount(cents: list[int], following: int, why: str) -> None:
    contract = only(book(monthly(len(cents)), cents))
    assert contract["amount_next"] == following
    assert contract["reason"].endswith(f"; nächster Betrag {why}")


@pytest.mark.parametrize(
    ("cents", "following", "why"),
    [
        (
            [300_000, 306_000, 295_000, 309_000, 300_000, 312_000],
            304_000,
            "im Mittel der letzten sechs Beträge, höchster und niedrigster durch die nächsten ersetzt",
        ),
        ([300_000, 301_000, 302_000, 303_000, 304_000, 305_000], 305_000, "wie zuletzt"),
        ([300_000, 300_000, 295_000, 309_000, 300_000, 312_000], 312_000, "wie zuletzt"),
        ([306_000, 295_000, 309_000, 300_000, 312_000], 312_000, "wie zuletzt"),
    ],
)
def test_a_wage_that_differs_in_every_month_is_expected_at_its_level(cents: list[int], following: int, why: str) -> None:
    contract = only(book(monthly(len(cents)), cents, category="INCOME_SALARY", channel="SALARY"))
    assert contract["amount_next"] == following
    assert contract["reason"].endswith(f"; nächster Betrag {why}")
