"""Where dates and rhythms are known to mislead, by name: each mode a life in raw bookings, read on the whole real way."""

from datetime import date

import pytest

from tests.analytics.lives import months
from tests.analytics.statements import CARD, ORDER, Book, debits, everyday, lines, wage, weekly

BOOK = Book()


MONTH_ENDS = {
    day: BOOK.life(lines(ORDER, months("2024-07", "2026-06", day), -640.0, "Wohnbau Rheinland eG", "Miete Whg 12 {:%m.%Y}"))
    for day in (28, 29, 30, 31)
}


@pytest.mark.parametrize("day", [28, 29, 30, 31])
def test_month_end_28_29_30_31_is_monthly(day: int) -> None:
    contract = BOOK.told(MONTH_ENDS[day]).contract()
    assert (contract["period"], contract["regular_count"], contract["status"]) == ("MONTH_ONE", 24, "ACTIVE")
    assert contract["date_next"].replace(day=1) == date(2026, 7, 1)
    assert abs(contract["date_next"].day - day) <= 2


FRIDAY_3RD = [date(2026, 1, 5), date(2026, 2, 3), date(2026, 3, 3)]
EASTER = BOOK.life(
    lines(ORDER, [*months("2025-09", "2025-12", 3), *FRIDAY_3RD], -500.0, "Hausverwaltung Krause GmbH", "Miete {:%m/%Y}"),
    as_of=date(2026, 3, 31),
)


def test_easter_shifts_the_next_date() -> None:
    contract = BOOK.told(EASTER).contract()
    assert contract["date_next"] == date(2026, 4, 7)  # the 3rd is Good Friday, the 6th Easter Monday


WEEKS = BOOK.life(
    lines(ORDER, weekly(date(2021, 1, 29), 30), -60.0, "Maria Kowalski", "Haushaltshilfe Lohn"),
    lines(CARD, [date(2020, 12, 28), date(2021, 1, 2)], [-40.0, -30.0], "REWE SAGT DANKE. 41234//Koeln/DE", "Debitk.4"),
    as_of=date(2021, 1, 31),
)


def test_53_week_years_keep_their_last_week_and_weekly_contracts() -> None:
    result = BOOK.told(WEEKS)
    assert result.cents("LIVING_GROCERIES", "2020_W53") == -7_000
    assert result.cents("LIVING_GROCERIES", "2021_W01") == 0
    contract = result.contract()
    assert (contract["period"], contract["regular_count"], contract["date_next"]) == ("WEEK_ONE", 30, date(2021, 2, 5))


ONCE = BOOK.life(
    everyday(date(2025, 10, 1)),
    debits(date(2026, 1, 2), -487.3, "HUK-COBURG", "Kfz-Versicherung K-AM 471 Beitrag 01.01.2026-31.12.2026 VS-Nr. 471/123456-K"),
)
TWICE = BOOK.life(
    everyday(),
    debits([date(2025, 1, 2), date(2026, 1, 2)], [-455.1, -487.3], "HUK-COBURG", "Kfz-Versicherung K-AM 471 VS-Nr. 471/123456-K"),
)


CHEAPER = BOOK.life(
    everyday(),
    debits([date(2025, 1, 2), date(2026, 1, 2)], [-455.1, -387.3], "HUK-COBURG", "Kfz-Versicherung K-AM 471 VS-Nr. 471/123456-K"),
)
LATER = BOOK.life(
    everyday(),
    debits([date(2025, 1, 2), date(2026, 1, 13)], -455.1, "HUK-COBURG", "Kfz-Versicherung K-AM 471 VS-Nr. 471/123456-K"),
)


@pytest.mark.parametrize(("user", "count"), [(ONCE, 1), (TWICE, 2), (CHEAPER, 2), (LATER, 2)])
def test_an_annual_contract_seen_once_or_twice_says_how_sure_its_period_is(user: str, count: int) -> None:
    contract = BOOK.told(user).contract()
    assert (contract["insurance"], contract["period"], contract["regular_count"]) == ("VEHICLE_CAR", "YEAR_ONE", count)
    assert contract["status"] == "ACTIVE"
    assert 0.5 <= contract["period_confidence"] <= 0.95
    assert date(2027, 1, 1) <= contract["date_next"] <= date(2027, 1, 13)


GYM = "Sportstudio Aktiv GmbH"
PAUSED = [*months("2024-09", "2025-05", 1), *months("2025-10", "2026-06", 1)]
RESUMED = BOOK.life(everyday(), debits(PAUSED, -39.9, GYM, "Mitgliedsbeitrag Fitness {:%m/%Y} Mitgliedsnr. 4477"))
CANCELLED = BOOK.life(
    everyday(last=date(2025, 8, 31)),
    debits(PAUSED, -39.9, GYM, "Mitgliedsbeitrag Fitness {:%m/%Y} Mitgliedsnr. 4477"),
    as_of=date(2025, 8, 31),
)


def test_a_cancelled_then_resumed_contract_is_over_and_then_active_again() -> None:
    assert BOOK.told(CANCELLED).contract()["status"] == "INACTIVE"
    result = BOOK.told(RESUMED)
    contract = result.contract(status="ACTIVE")
    assert (contract["amount_next"], contract["date_next"]) == (-3_990, date(2026, 7, 1))
    assert result.contracts["regular_count"].sum() == 18
    assert result.expected("RECREATION_SPORTS", "2026_M07")["fixed"] == -3_990


RISE = BOOK.life(
    debits(
        months("2025-01", "2026-06", 20),
        [-39.95] * 11 + [-42.37] + [-44.95] * 6,
        "1&1 Telecom GmbH",
        "Kd.-Nr. K123456789 DSL Internet Rechnung {:%m.%Y} RG10012{n:04}",
    )
)


def test_a_price_rise_with_a_pro_rata_booking_is_one_contract_at_the_new_price() -> None:
    contract = BOOK.told(RISE).contract()
    assert (contract["regular_count"], contract["amount_first"], contract["amount_next"]) == (18, -3_995, -4_495)
    assert contract["price_changes"][-1]["after"] == -4_495


NUMBERS = ("Rate {n}/24", "Rate Nr. {n} von 24", "{n}. Rate von 24", "Ratenzahlung {n}/24")
INSTALMENTS = {
    words: BOOK.life(
        everyday(),
        debits(months("2024-07", "2026-06", 15), -89.0, "Consors Finanz BNP Paribas", f"Ratenkredit Nr. 4012345678 {words}"),
    )
    for words in NUMBERS
}


@pytest.mark.parametrize("words", NUMBERS)
def test_the_instalment_n_of_n_ends_the_loan(words: str) -> None:
    result = BOOK.told(INSTALMENTS[words])
    contract = result.contract()
    assert (contract["category"], contract["status"], contract["amount_next"]) == ("BANKFINANCE_CREDITPAYMENT", "INACTIVE", None)
    loan = result.frames["loans"].row(0, named=True)
    assert (loan["installments_paid"], loan["term_months"], loan["remaining_amount"]) == (24, 24, 0)
    assert not result.afford["existing_loans"]
    assert result.expected("BANKFINANCE_CREDITPAYMENT", "2026_M07")["fixed"] == 0


LAST_SEEN = date(2026, 5, 1)
STALE = BOOK.life(
    everyday(last=LAST_SEEN),
    wage("2024-01", "2026-04"),
    lines(ORDER, months("2024-01", "2026-05", 1), -780.0, "Wohnbau Rheinland eG", "Miete Whg 12 {:%m.%Y}"),
    debits(months("2024-01", "2026-04", 9), -12.99, "Netflix International B.V.", "Netflix Monatsabo {:%m/%Y}"),
)


def test_an_access_that_was_not_refreshed_for_60_days_ends_nothing() -> None:
    result = BOOK.told(STALE)
    assert not [item for item in result.happened if item.endswith("_END")]
    assert "LABOURMARKET_UNEMPLOYED" not in result.stages
    assert result.frames["disposable_money"].is_empty()
    assert result.cents("HOUSING_RENT", "2026_M04") == -78_000
    assert result.cents("EXPENSES", "2026_M06") == 0


SHORT = BOOK.life(
    everyday(date(2026, 4, 1)),
    wage("2026-04", "2026-06"),
    lines(ORDER, months("2026-04", "2026-06", 2), -780.0, "Wohnbau Rheinland eG", "Miete Whg 12 {:%m.%Y}"),
    debits(months("2026-04", "2026-06", 9), -12.99, "Netflix International B.V.", "Netflix Monatsabo {:%m/%Y}"),
    lines(CARD, [date(2026, 4, 20), date(2026, 5, 11)], -62.0, "ARAL AG//KOELN/DE", "Debitk.4 2028-12"),
)


def test_a_history_of_only_90_days_has_no_yearly_contracts_and_no_first_events() -> None:
    result = BOOK.told(SHORT)
    assert sorted(result.contracts["category"]) == ["HOUSING_RENT", "INCOME_SALARY", "RECREATION_ONLINE"]
    assert set(result.contracts["period"]) == {"MONTH_ONE"}
    assert result.happened == {}
    assert not [item for item in result.triggers if item.startswith(("LIFEEVENT", "MISSINGINSURANCE_PRIVATELIABILITY"))]
