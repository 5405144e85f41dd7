"""Classes of cases in which contracts were missed, torn apart or thrown together, each with small examples of its own."""

from datetime import date
from typing import Any

import polars as pl
import pytest

from analytics.analyses.snapshot import snapshot
from analytics.frames import AS_OF, PRODUCTS
from tests.analytics.test_contracts import AS_OF_DAY, book, found, monthly, only

OTHER_ACCOUNT = "DE02600501010002034304"


def together(*parts: pl.DataFrame) -> pl.DataFrame:
    """The parts as bookings of one account, with ids of their own."""
    numbered = [part.with_columns(id=pl.format("{} {}", pl.lit(number), "id")) for number, part in enumerate(parts)]
    return pl.concat(numbered).sort("booked_on", "id")


def periods(bookings: pl.DataFrame) -> list[tuple[str, int]]:
    """Period and number of payments of each contract."""
    return sorted(found(bookings).contracts.select("period", "regular_count").rows())


# Yearly


@pytest.mark.parametrize(
    ("columns", "is_contract"),
    [
        ({"category": "MOBILITY_SERVICES", "purpose": "Plus 4711"}, True),
        ({"category": "SERVICES_OTHER", "purpose": "Mitgliedsbeitrag", "channel": "TRANSFER"}, True),
        ({"category": "TAXES", "purpose": "KFZ-STEUER K AB 123"}, True),
        ({"category": "SHOPPING_OTHER", "purpose": "Einkauf", "channel": "TRANSFER"}, False),
        ({"category": "SHOPPING_OTHER", "purpose": "Einkauf", "channel": "CARD"}, False),
    ],
)
def test_two_equal_debits_or_fees_a_year_apart_are_a_contract(columns: dict[str, Any], is_contract: bool) -> None:
    assert bool(periods(book([date(2024, 9, 2), date(2025, 9, 2)], -5400, **columns))) is is_contract


def test_a_lease_of_a_garden_rises_every_year() -> None:
    days = [date(2024, 2, 28), date(2025, 2, 28), date(2026, 3, 2)]
    garden = {"category": "RECREATION_GARDEN", "channel": "TRANSFER"}
    assert only(book(days, [-21400, -22100, -22900], purpose="Pacht Garten 12", **garden))["period"] == "YEAR_ONE"
    assert periods(book(days, [-21400, -22100, -22900], purpose="Pflanzen", **garden)) == []


# Amounts


def test_a_price_may_double_and_fall_again() -> None:
    steps = book(monthly(28), [-4900] * 9 + [-2200] * 9 + [-6300] * 10, purpose="MREF+M4711 SVWZ+Ticket")
    steps = steps.with_columns(category=pl.lit("MOBILITY_PUBLICTRANSPORT"), effective_category=pl.lit("MOBILITY_PUBLICTRANSPORT"))
    assert periods(steps) == [("MONTH_ONE", 28)]


def test_meals_at_school_differ_and_come_every_month() -> None:
    cents = [-5000 - (place * 1370 % 2900) for place in range(24)]
    mandate = {"purpose": "MREF+M4711 SVWZ+Schulessen", "category": "FAMILY_OTHER"}
    assert periods(book(monthly(24), cents, **mandate)) == [("MONTH_ONE", 24)]
    assert periods(book(monthly(24), cents, category="FAMILY_OTHER", channel="CARD")) == []


def test_a_weekly_fee_is_a_contract_and_a_weekly_meeting_none() -> None:
    mondays = [day.date() for day in pl.datetime_range(date(2025, 6, 2), date(2026, 6, 29), "7d", eager=True)]
    assert periods(book(mondays, -690, category="RECREATION_SPORTS", channel="UNKNOWN"))[0][0] == "WEEK_ONE"
    assert periods(book(mondays, -690, category="RECREATION_ENTERTAINMENTFOOD", channel="UNKNOWN")) == []


# One payee


def test_a_new_price_is_found_beside_another_contract() -> None:
    power = book(monthly(15), [-4800] * 12 + [-5300] * 3, purpose="Abschlag")
    gas = book(monthly(15), -9900, purpose="Abschlag")
    assert periods(together(power, gas)) == [("MONTH_ONE", 15), ("MONTH_ONE", 15)]


def test_a_quarterly_loan_beside_a_monthly_one_is_a_contract_of_its_own() -> None:
    loan = {"category": "HOUSING_FINANCING"}
    months = book(monthly(24, 28), -89000, purpose="Darlehen 7639600302", **loan)
    quarters = book(monthly(24, 28)[2::3], -31250, purpose="Darlehen 2163466972", **loan)
    assert periods(together(months, quarters)) == [("MONTH_ONE", 24), ("QUARTER_ONE", 8)]


def test_a_subscription_is_found_beside_single_purchases() -> None:
    ride = {"category": "MOBILITY_PUBLICTRANSPORT", "partner": "DEUTSCHE_BAHN"}
    ticket = book(monthly(18, 1), -3800, purpose="Abo 995077", **ride)
    days = [day.replace(day=5 + place * 7 % 22) for place, day in enumerate(monthly(18))]
    trips = book(days, [-900 - place * 731 % 3100 for place in range(18)], channel="CARD", **ride)
    assert periods(together(ticket, trips)) == [("MONTH_ONE", 18)]


def test_vat_and_income_tax_are_told_apart_in_short_words() -> None:
    office = {"category": "TAXES", "partner": "FINANZAMT", "channel": "TRANSFER"}
    vat = book(monthly(24, 10), [-50000 - place * 1931 % 20000 for place in range(24)], purpose="31/287 UMS.ST 06.24", **office)
    income = book(monthly(24, 10)[2::3], -109_000, purpose="31/287 EINK.ST 3.VJ.24", **office)
    assert periods(together(vat, income)) == [("MONTH_ONE", 24), ("QUARTER_ONE", 8)]


def test_an_allowance_is_found_beside_other_gifts() -> None:
    parents = {"category": "OTHER_INCOME", "channel": "TRANSFER", "counterparty_name": "Eltern"}
    allowance = book(monthly(20), 12000, purpose="Taschengeld", **parents)
    days = [date(2025, month, 5 + month * 5 % 23) for month in range(1, 10)]
    gifts = book(days, [1500 + month * 873 % 4000 for month in range(9)], purpose="Danke", **parents)
    assert periods(together(allowance, gifts)) == [("MONTH_ONE", 20)]


def test_gifts_of_a_payee_are_no_refunds_of_a_contract() -> None:
    mother = {"counterparty_name": "Mutter"}
    board = book(monthly(20), -15000, category="HOUSING_OTHER", channel="STANDINGORDER", purpose="Kostgeld", **mother)
    gifts = book([date(2025, 5, 7), date(2025, 12, 24)], 5000, category="OTHER_INCOME", channel="TRANSFER", **mother)
    assert found(together(board, gifts)).bookings["amount_cents"].max() == -15000


def test_a_single_charge_of_the_bank_belongs_to_no_other_fee() -> None:
    bank = {"category": "BANKFINANCE_OTHER", "counterparty_key": "", "counterparty_name": None, "channel": "UNKNOWN"}
    fees = book(monthly(20, 28), -995, purpose="Entgelt Girokonto", **bank)
    charges = book([date(2025, 5, 7), date(2025, 8, 12)], -300, purpose="Entgelt Rücklastschrift", **bank)
    contracts = found(together(fees, charges))
    assert contracts.bookings["amount_cents"].unique().to_list() == [-995]


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("Kita Sonnenschein e.V.", 1, 1),
        ("Babysitter Ella Meyer", 1, 0),
        ("Babysitter Ella Meyer", 6, 1),
    ],
)
def test_one_invoice_of_a_babysitter_is_no_contract(name: str, count: int, expected: int) -> None:
    days = monthly(24)[-count:]
    care = {"category": "FAMILY_CHILDCARE", "channel": "TRANSFER", "counterparty_name": name}
    assert len(periods(book(days, -18_50, purpose="Rechnung 2069 Leistung 02/2026", **care))) == expected


# Two banks


def test_a_contract_goes_on_at_a_bank_that_writes_no_accounts() -> None:
    days = monthly(24)
    gym = {"category": "RECREATION_SPORTS", "counterparty_name": "Sportpark Nord GmbH"}
    old = book(days[:12], -2500, counterparty_iban=OTHER_ACCOUNT, counterparty_key=OTHER_ACCOUNT, **gym)
    new = book(days[12:], -2500, product="neu", counterparty_key="sportpark nord", **gym)
    products = pl.DataFrame(
        [("anna", name, "CHECKING", None, "Anna Muster", None) for name in ("giro", "neu")], PRODUCTS, orient="row"
    )
    as_of = pl.DataFrame({"user": ["anna"], "as_of": [AS_OF_DAY]}, schema=AS_OF)
    assert snapshot(together(old, new), products, as_of).contracts["regular_count"].to_list() == [24]


@pytest.mark.parametrize(("category", "is_contract"), [("SERVICES_ONLINE", True), ("SHOPPING_OTHER", False)])
def test_two_debits_of_a_service_on_one_mandate_a_year_apart_may_rise(category: str, *, is_contract: bool) -> None:
    debits = book(
        [date(2024, 10, 28), date(2025, 10, 27)], [-5988, -7200], category=category, purpose="MREF+MA758149 SVWZ+Kd 7581499 RG 1"
    )
    assert bool(periods(debits)) is is_contract


# One payee


def followed(first_purpose: str, second_purpose: str) -> pl.DataFrame:
    """Debits of one payee for 14 months, and for 13 more at another price."""
    days, columns = monthly(27), {"category": "MOBILITY_VEHICLEACQUISITION"}
    return together(
        book(days[:14], -31844, purpose=first_purpose, **columns), book(days[14:], -34190, purpose=second_purpose, **columns)
    )


def test_a_contract_with_another_number_follows_the_one_before() -> None:
    two = followed("Leasing 77 118 442 WOB-TB 471", "Leasing 77 204 118 WOB-TB 812")
    assert periods(two) == [("MONTH_ONE", 13), ("MONTH_ONE", 14)]
    assert {tuple(numbers) for numbers in found(two).contracts["contract_numbers"]} == {("77 118 442",), ("77 204 118",)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Leasing 77 118 442", "Leasing 77 118 442"),
        ("MREF+M1 SVWZ+Vertrag 4711001", "MREF+M1 SVWZ+Vertrag 4711002"),
        ("Leasing", "Leasing 77 118 442"),
    ],
)
def test_a_new_price_alone_or_another_number_on_one_mandate_is_the_same_contract(first: str, second: str) -> None:
    assert periods(followed(first, second)) == [("MONTH_ONE", 27)]


def test_a_home_keeps_its_contract_when_the_landlord_changes() -> None:
    days, rent = monthly(24), {"category": "HOUSING_RENT", "channel": "STANDINGORDER", "purpose": "Miete Lindenstr. 8"}
    old = book(days[:10], -65000, counterparty_name="Alter Eigentümer", counterparty_key="alt", **rent)
    new = book(days[10:], -65000, counterparty_name="Neue Verwaltung", counterparty_key="neu", **rent)
    assert periods(together(old, new)) == [("MONTH_ONE", 24)]
    dearer = new.with_columns(amount_cents=pl.lit(-70000, pl.Int64))
    assert periods(together(old, dearer)) == [("MONTH_ONE", 10), ("MONTH_ONE", 14)]


def test_rent_to_somebody_who_pays_maintenance_is_no_refund_of_it() -> None:
    days, partner = monthly(24), {"counterparty_name": "Jörg Opitz", "counterparty_key": "opitz"}
    rent = book(days[:12], -48000, category="HOUSING_RENT", channel="STANDINGORDER", purpose="Anteil Miete", **partner)
    support = book(days[10:], 62000, category="OTHER_INCOME", channel="STANDINGORDER", purpose="Unterhalt", **partner)
    assert periods(together(rent, support)) == [("MONTH_ONE", 12), ("MONTH_ONE", 14)]


# Two parts, invoices, gifts


def wages_in_parts(rest: int, advance: int, day: int = 26) -> pl.DataFrame:
    """A wage whose rest comes on the 15th, with an advance on a later day."""
    wage = {"category": "INCOME_SALARY", "channel": "SALARY", "purpose": "Lohn"}
    return together(book(monthly(14, 15), rest, **wage), book(monthly(13, day, (2026, 5)), advance, **wage))


@pytest.mark.parametrize("day", [25, 28])
def test_a_wage_in_two_parts_a_month_is_one_contract(day: int) -> None:
    contract = only(wages_in_parts(111_400, 80_000, day))
    assert (contract["period"], contract["regular_count"]) == ("MONTH_HALF", 27)
    assert contract["date_due"] == {25: date(2026, 6, 25), 28: date(2026, 6, 29)}[day]


def test_expenses_beside_a_monthly_wage_are_no_part_of_it() -> None:
    assert ("MONTH_HALF", 27) not in periods(wages_in_parts(250_000, 9_000))


def test_rides_of_any_price_are_invoiced_every_month() -> None:
    cents = [-1400 - (place * 1370 % 4400) for place in range(14)]
    rides = {"category": "MOBILITY_CARSHARE", "purpose": "Rechnung 4711"}
    assert periods(book(monthly(14), cents, **rides)) == [("MONTH_ONE", 14)]
    assert periods(book(monthly(14), cents, channel="CARD", **rides)) == []


def test_a_gift_that_comes_every_year_is_no_contract() -> None:
    birthdays = [date(2024, 5, 18), date(2025, 5, 18), date(2026, 5, 18)]
    assert periods(book(birthdays, 10_000, category="OTHER_INCOME", channel="TRANSFER", purpose="Zum Geburtstag")) == []


def test_two_books_are_no_subscription() -> None:
    days = [date(2026, 4, 28), date(2026, 5, 28)]
    shop = {"category": "RECREATION_PRINTED", "channel": "CARD", "purpose": ""}
    assert periods(book(days, [-1602, -1690], **shop)) == []


def test_rent_is_found_beside_the_canteen_of_the_same_group() -> None:
    meals = [day.date() for day in pl.datetime_range(date(2025, 1, 2), date(2026, 6, 29), "3d", eager=True)]
    canteen = {"category": "RECREATION_ENTERTAINMENTFOOD", "channel": "CARD", "purpose": ""}
    cents = [-300 - (place * 137 % 400) for place in range(len(meals))]
    home = book(monthly(18), -59_000, category="HOUSING_RENT", purpose="MREF+M1 SVWZ+Miete")
    assert periods(together(book(meals, cents, **canteen), home)) == [("MONTH_ONE", 18)]


def test_the_tax_of_another_car_is_another_contract() -> None:
    tax = {"category": "TAXES", "partner": "BUNDESKASSE"}
    old = book([date(2024, 9, 12)], -24_200, purpose="KFZST K DK118", **tax)
    new = book([date(2025, 4, 9), date(2026, 4, 9)], -17_400, purpose="KFZST K EK4471", **tax)
    assert ("YEAR_ONE", 2) in periods(together(old, new))


def test_a_pension_is_another_contract_than_the_wage_or_the_pension_before() -> None:
    wage = book(monthly(12, 28, (2025, 6)), 268_800, category="INCOME_SALARY", channel="SALARY", purpose="Lohn")
    company = book(monthly(12, 28), 38_800, category="INCOME_PENSION", channel="TRANSFER", purpose="Betriebsrente")
    widow = book(monthly(12, 28), 71_800, category="INCOME_PENSION", channel="SALARY", purpose="Gr. Witwenrente")
    own = book(monthly(12, 28, (2025, 6)), 120_400, category="INCOME_PENSION", channel="SALARY", purpose="Rente")
    assert periods(together(wage, company)) == [("MONTH_ONE", 12)] * 2
    assert periods(together(own, widow)) == [("MONTH_ONE", 12)] * 2


def test_fees_of_an_account_are_told_apart_from_its_interest() -> None:
    bank = {"category": "BANKFINANCE_OTHER", "channel": "FEE", "counterparty_key": "", "partner": "UNKNOWN"}
    fees = book(monthly(20, 28), [-490] * 14 + [-590] * 6, purpose="Kontoführungsentgelt", **bank)
    quarters = [day for day in monthly(20, 28) if day.month % 3 == 0]
    cents = [-760 - (place * 137 % 900) for place in range(len(quarters))]
    interest = book(quarters, cents, purpose="Zinsen für eingeräumte Kontoüberziehung", **bank)
    assert periods(together(fees, interest)) == [("MONTH_ONE", 20)]


def test_oil_is_ordered_when_the_tank_is_empty() -> None:
    days = [date(2023, 9, 20), date(2024, 9, 24), date(2025, 9, 16)]
    fuel = {"category": "BILLS_HEATING", "channel": "TRANSFER"}
    assert periods(book(days, [-190_240, -174_480, -181_200], purpose="Heizöl 2000 l RG 756163", **fuel)) == []


def test_a_wage_goes_on_when_its_day_moves_to_the_end_of_the_month() -> None:
    days = [*monthly(15, 15, (2025, 7)), *monthly(11, 28)]
    wage = {"category": "INCOME_SALARY", "channel": "SALARY", "purpose": "Gehalt"}
    contract = only(book(days, [430_000] * 15 + [460_000] * 11, **wage))
    assert (contract["period"], contract["regular_count"], contract["status"]) == ("MONTH_ONE", 26, "ACTIVE")
    assert contract["date_due"] == date(2026, 7, 28)
