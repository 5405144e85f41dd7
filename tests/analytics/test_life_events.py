"""Life events in made-up lives: what is one, what only looks like one, and on which day."""

from datetime import date, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics import trees
from analytics.analyses.life_events import life_events
from analytics.frames import LIFE_EVENTS
from tests.analytics.lives import (
    TAGGED_BOOKINGS,
    TODAY,
    book,
    child_benefit,
    debit,
    event_days,
    everyday,
    months,
    rent,
    take_snapshot,
    wage,
)

OLD = wage(days=months("2024-01", "2025-05", 28), euros=2500.0, name="Alt GmbH")
NEW = wage(days=months("2025-07", "2026-06", 28), euros=2600.0, name="Neu AG")
HOME = rent(days=months("2024-01", "2026-06", 1), euros=-700.0, name="Wohnbau")


def test_nobody_without_bookings_has_events() -> None:
    assert life_events(take_snapshot()).is_empty()
    assert life_events(take_snapshot()).schema == LIFE_EVENTS


def test_a_life_in_which_nothing_changes_has_no_events() -> None:
    steady = wage(days=months("2024-01", "2026-06", 28), euros=2500.0, name="Alt GmbH")
    assert event_days(everyday(), steady, HOME) == {}


def test_every_event_is_an_item_of_the_tree_and_names_its_bookings() -> None:
    result = life_events(take_snapshot(everyday(), OLD, NEW, HOME))
    items = {item.system_name for item in trees.tree("LIFE_EVENTS").items}
    assert set(result["item"]) <= items
    assert result["bookings"].list.len().min() >= 1  # type: ignore[operator]
    assert result["confidence"].is_between(0.7, 1).all()
    assert result.filter(pl.col("item") == "EMPLOYMENT_CHANGE")["reason"].item() == (
        "Neuer Arbeitgeber: Gehalt von Alt GmbH endet, von Neu AG beginnt am 28.07.2025"
    )


# Employment


def test_a_new_employer_soon_after_the_old_one_is_a_change() -> None:
    assert event_days(everyday(), OLD, NEW) == {"EMPLOYMENT_CHANGE": date(2025, 7, 28)}


@pytest.mark.parametrize(("gap", "items"), [(75, {"EMPLOYMENT_CHANGE"}), (76, {"EMPLOYMENT_START", "EMPLOYMENT_END"})])
def test_a_change_takes_at_most_75_days(gap: int, items: set[str]) -> None:
    begin = date(2025, 3, 28) + timedelta(days=gap)
    old = wage(days=months("2024-01", "2025-03", 28), euros=2500.0, name="Alt GmbH")
    later = wage(days=[begin + timedelta(days=30 * at) for at in range(12)], euros=2500.0, name="Neu AG")
    assert set(event_days(everyday(), old, later)) == items


def test_wages_that_stop_are_an_end_one_period_after_the_last() -> None:
    assert event_days(everyday(), OLD) == {"EMPLOYMENT_END": date(2025, 6, 27)}


def test_wages_that_stopped_lately_may_still_come() -> None:
    assert event_days(everyday(last=date(2025, 6, 20)), OLD, as_of=date(2025, 6, 20)) == {}


def test_an_account_that_is_no_longer_used_ends_nothing() -> None:
    quiet = [everyday(last=date(2025, 6, 3)), OLD, HOME.filter(pl.col("booked_on") < date(2025, 6, 3))]
    assert event_days(*quiet) == {}


def test_an_access_not_refreshed_for_60_days_is_seen_as_of_its_last_day() -> None:
    stale = date(2025, 6, 3)
    assert event_days(everyday(last=stale), OLD, HOME.filter(pl.col("booked_on") <= stale), as_of=stale) == {}


def test_first_wages_after_a_year_without_are_the_first_job() -> None:
    assert event_days(everyday(), NEW) == {"EMPLOYMENT_FIRST": date(2025, 7, 28)}


def test_with_less_than_a_year_before_it_is_only_a_new_job() -> None:
    assert event_days(everyday(first=date(2024, 9, 1)), NEW) == {"EMPLOYMENT_START": date(2025, 7, 28)}


def test_a_history_of_90_days_has_no_events() -> None:
    begin = date(2026, 4, 1)
    new = [
        wage(days=months("2026-05", "2026-06", 28), euros=2500.0, name="Neu AG"),
        child_benefit(days=months("2026-05", "2026-06"), euros=259.0),
    ]
    flat = rent(days=months("2026-05", "2026-06", 1), euros=-700.0, name="Wohnbau")
    assert not [item for item in event_days(everyday(first=begin), *new, flat) if item.endswith("_FIRST")]


def test_a_side_job_is_no_event() -> None:
    side = wage(days=months("2025-03", "2025-11", 15), euros=450.0, name="Kiosk")
    steady = wage(days=months("2024-01", "2026-06", 28), euros=2500.0, name="Alt GmbH")
    assert event_days(everyday(), steady, side) == {}


def test_wages_from_two_companies_of_one_group_are_one_job() -> None:
    other = wage(days=months("2025-06", "2026-06", 28), euros=2500.0, name="Alt Holding SE")
    assert "EMPLOYMENT_CHANGE" not in event_days(everyday(), OLD, other)
    assert "EMPLOYMENT_START" not in event_days(everyday(), OLD, other)


def test_a_tax_refund_is_no_wage() -> None:
    refund = book("INCOME_OTHER", [date(2025, 9, 10)], 900.0, "Finanzamt", "Steuererstattung")
    steady = wage(days=months("2024-01", "2026-06", 28), euros=2500.0, name="Alt GmbH")
    assert event_days(everyday(), steady, refund) == {}


# Wages


def raise_events(before: float, after: float) -> dict[str, date]:
    days = months("2024-01", "2026-06", 28)
    return event_days(everyday(), wage(days=days, euros=[before] * 18 + [after] * 12, name="Alt GmbH"))


@pytest.mark.parametrize(
    ("before", "after", "item"),
    [
        (2000.0, 2060.0, "SALARY_INCREASE"),
        (2000.0, 2059.99, None),
        (1000.0, 1050.0, "SALARY_INCREASE"),
        (1000.0, 1049.99, None),
        (2000.0, 1940.0, "SALARY_DECREASE"),
        (2000.0, 1940.01, None),
    ],
)
def test_wages_change_by_at_least_three_percent_and_fifty_euros(before: float, after: float, item: str | None) -> None:
    assert raise_events(before, after) == ({item: date(2025, 7, 28)} if item else {})


def test_one_higher_wage_is_no_raise() -> None:
    days = months("2024-01", "2026-06", 28)
    payments = [2000.0] * 18 + [2300.0] + [2000.0] * 11
    assert event_days(everyday(), wage(days=days, euros=payments, name="Alt GmbH")) == {}


@pytest.mark.parametrize(("months_between", "raises"), [(5, [date(2025, 4, 28), date(2025, 9, 28)]), (1, [date(2025, 4, 28)])])
def test_raises_are_told_once_unless_two_months_lie_between(months_between: int, raises: list[date]) -> None:
    days = months("2024-01", "2026-06", 28)
    payments = [2000.0] * 15 + [2100.0] * months_between + [2250.0] * (15 - months_between)
    result = life_events(take_snapshot(everyday(), wage(days=days, euros=payments, name="Alt GmbH")))
    assert result.filter(pl.col("item") == "SALARY_INCREASE")["event_date"].to_list() == raises


# Other work


def test_unemployment_begins_and_ends_with_its_benefit() -> None:
    benefit = book(
        "INCOME_OTHER", months("2025-02", "2025-10", 28), 1200.0, "Agentur für Arbeit", "Arbeitslosengeld", channel="PUBLIC"
    )
    assert event_days(everyday(), benefit) == {"UNEMPLOYMENT_START": date(2025, 2, 28), "UNEMPLOYMENT_END": date(2025, 11, 27)}


def test_housing_benefit_is_no_unemployment() -> None:
    assert (
        event_days(everyday(), book("INCOME_OTHER", months("2025-02", "2026-06"), 300.0, "Stadt", "Wohngeld", channel="PUBLIC"))
        == {}
    )


def test_a_pension_after_the_last_wages_is_retirement() -> None:
    pension = book("INCOME_PENSION", months("2025-06", "2026-06", 28), 1500.0, "Rentenversicherung", "Rente")
    assert event_days(everyday(), OLD, pension) == {"RETIREMENT_START": date(2025, 6, 28), "EMPLOYMENT_END": date(2025, 6, 27)}


@pytest.mark.parametrize("purpose", ["Witwenrente", "Rente"])
def test_a_pension_beside_wages_is_no_retirement(purpose: str) -> None:
    pension = book("INCOME_PENSION", months("2025-06", "2026-06", 27), 600.0, "Rentenversicherung", purpose)
    steady = wage(days=months("2024-01", "2026-06", 28), euros=2500.0, name="Alt GmbH")
    assert event_days(everyday(), steady, pension) == {}


def test_invoices_of_several_customers_with_business_costs_are_self_employment() -> None:
    def invoice(day: date, customer: str) -> pl.DataFrame:
        return book("INCOME_OTHER", [day], 1800.0, customer, "Rechnung", freelancer="REVENUE")

    payments = [invoice(date(2025, 5, 5), "Kunde A"), invoice(date(2025, 6, 5), "Kunde B"), invoice(date(2025, 7, 5), "Kunde C")]
    vat = book("TAXES", [date(2025, 7, 10)], -300.0, "Finanzamt", "Umsatzsteuer", freelancer="VAT_PAID")
    assert event_days(everyday(), *payments, vat).get("SELFEMPLOYMENT_START") == date(2025, 5, 5)
    assert "SELFEMPLOYMENT_START" not in event_days(everyday(), *payments)


def test_studies_begin_with_the_first_fee_and_end_half_a_year_after_the_last() -> None:
    fees = book("EDUCATION_ACADEMIC", [date(2024, 10, 1), date(2025, 3, 1)], -300.0, "Uni", "Semesterbeitrag")
    late = book("EDUCATION_ACADEMIC", [date(2025, 8, 15), date(2026, 2, 15)], -300.0, "Uni", "Semesterbeitrag")
    assert event_days(everyday(), fees) == {"STUDIES_START": date(2024, 10, 1), "STUDIES_END": date(2025, 8, 31)}
    assert event_days(everyday(), late) == {"STUDIES_START": date(2025, 8, 15)}


# Housing


def test_a_double_rent_on_moving_is_one_move() -> None:
    old = rent(days=months("2024-01", "2025-06", 1), euros=-600.0, name="Alter Vermieter")
    new = rent(days=months("2025-06", "2026-06", 1), euros=-800.0, name="Neuer Vermieter")
    assert event_days(everyday(), old, new) == {"TENANCY_CHANGE": date(2025, 6, 1)}


def test_a_new_rent_beside_one_that_may_be_ending_waits() -> None:
    old = rent(days=months("2024-01", "2026-06", 1), euros=-600.0, name="Alter Vermieter")
    new = rent(days=months("2026-05", "2026-06", 28), euros=-800.0, name="Neuer Vermieter")
    assert event_days(everyday(), old, new) == {}


def test_the_first_rent_after_a_year_without_is_the_first_home() -> None:
    assert event_days(everyday(), rent(days=months("2025-06", "2026-06", 1), euros=-600.0, name="Wohnbau")) == {
        "TENANCY_FIRST": date(2025, 6, 1)
    }


def test_rent_that_stops_ends_the_tenancy_on_the_last_day_paid_for() -> None:
    left = rent(days=months("2024-01", "2025-06", 1), euros=-600.0, name="Wohnbau")
    assert event_days(everyday(), left) == {"TENANCY_END": date(2025, 6, 30)}


def test_a_garage_given_up_beside_the_rent_ends_no_tenancy() -> None:
    home = rent(days=months("2024-01", "2026-06", 1), euros=-600.0, name="Wohnbau")
    share = rent(days=months("2024-01", "2025-06", 3), euros=-90.0, name="Genossenschaft Luna eG")
    assert event_days(everyday(), home, share) == {}


def test_a_garage_is_no_home() -> None:
    garage = rent(days=months("2025-06", "2026-06", 1), euros=-60.0, name="Huber", purpose="Miete Garage 4")
    assert event_days(everyday(), HOME, garage) == {}


def test_board_money_for_the_parents_is_no_rent() -> None:
    home = rent(days=months("2025-06", "2026-06", 1), euros=-150.0, name="Eva und Max Muster", purpose="Beitrag Wohnen")
    assert event_days(everyday(), home) == {}


def test_a_rent_paid_on_the_30th_and_then_on_the_1st_is_one_tenancy() -> None:
    days = months("2024-01", "2025-01", 30)[:1] + months("2024-03", "2025-03", 1) + months("2025-04", "2026-05", 30)
    assert event_days(everyday(), rent(days=days, euros=-700.0, name="Wohnbau")) == {}


def test_buying_a_home_shows_in_notary_tax_and_loan() -> None:
    notary = book("HOUSING_OTHER", [date(2025, 5, 6)], -2100.0, "Notariat", "Kostenrechnung Notar Kaufvertrag")
    tax = book("TAXES", [date(2025, 6, 10)], -15000.0, "Finanzamt", "Grunderwerbsteuer")
    loan = debit("HOUSING_FINANCING", months("2025-06", "2026-06", 28), -1400.0, "Bank", "Zins und Tilgung")
    result = event_days(everyday(), notary, tax, loan)
    assert result == {"HOMEOWNERSHIP_START": date(2025, 5, 6), "HOMEFINANCING_START": date(2025, 6, 28)}


def test_a_notary_alone_buys_no_home() -> None:
    assert event_days(everyday(), book("HOUSING_OTHER", [date(2025, 5, 6)], -400.0, "Notariat", "Notarkosten")) == {}


# Family


def test_back_pay_of_child_benefit_is_one_child() -> None:
    payments = child_benefit(days=months("2025-04", "2026-06", 8), euros=[765.0] + [255.0] * 8 + [259.0] * 6)
    assert event_days(everyday(), payments) == {"CHILD_FIRST": date(2025, 4, 8)}


def test_more_benefit_for_good_is_one_more_child_and_less_is_one_fewer() -> None:
    days = months("2024-01", "2026-06", 8)
    more = [250.0] * 12 + [255.0] * 2 + [765.0] + [510.0] * 9 + [518.0] * 6
    fewer = [500.0] * 12 + [255.0] * 12 + [259.0] * 6
    assert event_days(everyday(), child_benefit(days=days, euros=more)) == {"CHILD_NEXT": date(2025, 3, 8)}
    assert event_days(everyday(), child_benefit(days=days, euros=fewer)) == {"CHILDBENEFIT_END": date(2024, 12, 8)}


def test_the_yearly_rise_of_the_rate_is_no_child() -> None:
    payments = child_benefit(days=months("2024-01", "2026-06", 8), euros=[500.0] * 12 + [510.0] * 12 + [518.0] * 6)
    assert event_days(everyday(), payments) == {}


def test_child_benefit_that_stops_is_an_end() -> None:
    assert event_days(everyday(), child_benefit(days=months("2024-01", "2025-06", 8), euros=250.0)) == {
        "CHILDBENEFIT_END": date(2025, 6, 8)
    }


def test_parental_benefit_is_leave_and_no_child_benefit() -> None:
    leave = book("INCOME_STATE_FAMILY", months("2024-06", "2025-05", 10), 1200.0, "Elterngeldstelle", "Elterngeld")
    assert event_days(everyday(), leave) == {"PARENTALLEAVE_START": date(2024, 6, 10), "PARENTALLEAVE_END": date(2025, 6, 9)}


def test_care_and_maintenance_begin_and_end_with_their_contracts() -> None:
    care = debit("FAMILY_CHILDCARE", months("2024-09", "2025-08", 5), -180.0, "Kita Sonne", "Elternbeitrag")
    support = book(
        "FAMILY_SUPPORT", months("2025-03", "2026-06", 1), -400.0, "Lea Beispiel", "Unterhalt", channel="STANDINGORDER"
    )
    result = event_days(everyday(), care, support)
    assert result == {
        "CHILDCARE_START": date(2024, 9, 5),
        "CHILDCARE_END": date(2025, 8, 5),
        "MAINTENANCE_START": date(2025, 3, 1),
    }


def test_marriage_is_told_only_if_asked_for() -> None:
    rings = book("SHOPPING_CLOTHINGACCESSORIES", [date(2025, 5, 6)], -1900.0, "Trauring Atelier")
    office = book("SERVICES_OFFLINE", [date(2025, 6, 20)], -120.0, "Standesamt")
    assert event_days(everyday(), rings, office) == {}
    assert event_days(everyday(), rings, office, marriage=True) == {"MARRIAGE": date(2025, 6, 20)}
    assert event_days(everyday(), rings, marriage=True) == {}


# Money


def test_a_loan_begins_with_its_pay_out_which_is_no_large_income() -> None:
    steady = wage(days=months("2024-01", "2026-06", 28), euros=2000.0, name="Alt GmbH")
    out = book("BANKFINANCE_CREDITINCOME", [date(2025, 3, 20)], 9000.0, "Bank", "Kreditauszahlung")
    rates = debit("BANKFINANCE_CREDITPAYMENT", months("2025-04", "2026-06", 15), -200.0, "Kreditbank", "Kreditrate")
    assert event_days(everyday(), steady, out, rates) == {"LOAN_START": date(2025, 3, 20)}


@pytest.mark.parametrize(("last", "items"), [("2025-09", {"LOAN_START", "LOAN_END"}), ("2025-05", set())])
def test_a_purchase_in_instalments_is_a_loan_from_three_on(last: str, items: set[str]) -> None:
    shop = debit("BANKFINANCE_CREDITPAYMENT", months("2025-04", last, 15), -40.0, "Klarna", "Ratenkauf Rate")
    assert set(event_days(everyday(), shop)) == items


def test_a_loan_that_is_paid_off_ends() -> None:
    rates = debit("BANKFINANCE_CREDITPAYMENT", months("2024-01", "2025-06", 15), -200.0, "Kreditbank", "Kreditrate")
    assert event_days(everyday(), rates) == {"LOAN_END": date(2025, 6, 15)}


def test_a_savings_plan_that_rests_and_goes_on_has_neither_ended_nor_begun() -> None:
    rested = debit(
        "SAVINGS_SECURITIES", [*months("2024-01", "2024-10", 15), *months("2025-05", "2026-06", 15)], -100.0, "Broker", "Sparplan"
    )
    assert event_days(everyday(), rested) == {}


def test_savings_and_investments_begin_and_end() -> None:
    plan = debit("SAVINGS_SECURITIES", months("2025-03", "2026-06", 15), -100.0, "Broker", "Sparplan")
    home = debit("SAVINGS_LIFEBUILDING", months("2024-01", "2025-03", 1), -50.0, "Bausparkasse", "Bausparrate")
    assert event_days(everyday(), plan, home) == {"INVESTMENT_START": date(2025, 3, 15), "SAVINGS_END": date(2025, 3, 1)}


def test_another_insurer_is_no_other_car() -> None:
    old = debit("INSURANCE_VEHICLE", months("2024-01", "2024-12", 2), -50.0, "HUK", "Kfz", insurance="VEHICLE_CAR")
    new = debit("INSURANCE_VEHICLE", months("2025-01", "2026-06", 2), -45.0, "Verti", "Kfz", insurance="VEHICLE_CAR")
    tax = book("TAXES", [date(2025, 9, 1)], -180.0, "Bundeskasse", "Kfz-Steuer DU-XY 123", channel="DIRECTDEBIT")
    assert event_days(everyday(), old, new) == {}
    assert event_days(everyday(), old, new, tax) == {"VEHICLE_START": date(2025, 9, 1)}


def test_a_first_policy_is_a_car_and_a_last_one_its_end() -> None:
    only = debit("INSURANCE_VEHICLE", months("2024-06", "2025-06", 2), -50.0, "HUK", "Kfz", insurance="VEHICLE_CAR")
    assert event_days(everyday(), only) == {"VEHICLE_START": date(2024, 6, 2), "VEHICLE_END": date(2025, 7, 2)}


@pytest.mark.parametrize(("days", "tells"), [(180, True), (179, False)])
def test_difficulties_begin_after_half_a_year_without(days: int, tells: bool) -> None:
    first = date(2024, 1, 1) + timedelta(days=days)
    bad = book("TRANSFER_REVERSAL", [first, first + timedelta(days=30)], 50.0, "Shop", "Rücklastschrift", channel="DD_RETURN")
    assert event_days(everyday(), bad) == ({"PAYMENTDIFFICULTY_START": first} if tells else {})


def test_a_change_of_account_takes_wages_and_five_contracts_along() -> None:
    def moved(count: int) -> list[pl.DataFrame]:
        debits = [debit("BILLS_MOBILE", months("2024-01", "2026-06", 5 + at), -20.0 - at, f"{at}-Netz") for at in range(count)]
        parts = [wage(days=months("2024-01", "2026-06", 1), euros=2000.0, name="Alt GmbH"), *debits]
        place = pl.when(pl.col("booked_on") >= date(2025, 3, 1)).then(pl.lit("neu")).otherwise(pl.lit("giro"))
        return [part.with_columns(product=place) for part in parts]

    assert event_days(everyday(), *moved(5)) == {"ACCOUNT_SWITCH": date(2025, 3, 1)}
    assert event_days(everyday(), *moved(4)) == {}


# For all


def test_what_is_sensitive_is_never_evidence() -> None:
    union = debit("SERVICES_OTHER", months("2025-03", "2026-06", 5), -20.0, "Gewerkschaft", "Mitgliedsbeitrag")
    church = debit("OTHER_DONATION", months("2025-03", "2026-06", 6), -30.0, "Kirchengemeinde", "Spende")
    doctor = debit("HEALTH_SERVICES", months("2025-03", "2025-09", 7), -80.0, "Praxis", "Rate Behandlung Geburt")
    assert event_days(everyday(), union, church, doctor, marriage=True) == {}


def test_neither_the_order_of_bookings_nor_other_users_change_anything() -> None:
    anna = [everyday(), OLD, NEW, HOME, child_benefit(days=months("2025-04", "2026-06", 8), euros=259.0)]
    other = [part.with_columns(user=pl.lit("bert"), id="bert " + pl.col("id")) for part in (everyday(), OLD)]
    alone = life_events(take_snapshot(*anna))
    assert not alone.is_empty()
    shuffled = pl.concat([*anna, *other]).sample(fraction=1, shuffle=True, seed=7)
    assert_frame_equal(life_events(take_snapshot(shuffled)).filter(pl.col("user") == "anna"), alone)


def test_bookings_after_the_as_of_date_are_not_seen() -> None:
    day = date(2025, 6, 30)
    before = [part.filter(pl.col("booked_on") <= day) for part in (everyday(), OLD, NEW, HOME)]
    assert_frame_equal(
        life_events(take_snapshot(everyday(), OLD, NEW, HOME, as_of=day)), life_events(take_snapshot(*before, as_of=day))
    )


def test_single_bookings_and_short_histories_have_no_events() -> None:
    assert event_days(book("INCOME_SALARY", [TODAY], 2000.0, "Alt GmbH")) == {}
    assert life_events(take_snapshot(TAGGED_BOOKINGS.to_frame())).is_empty()


# Levels, moves and first jobs


def test_wages_by_the_hour_rise_with_their_level_and_not_with_a_month() -> None:
    hours = [2000.0, 2310.0, 1880.0, 2240.0, 1950.0, 2330.0, 1900.0, 2280.0, 1870.0, 2260.0, 2320.0, 1910.0]
    days = months("2024-01", "2025-12", 28)
    steady = wage(days=days, euros=hours * 2, name="Baustelle GmbH")
    assert not {"SALARY_INCREASE", "SALARY_DECREASE"} & set(event_days(everyday(), steady))
    risen = wage(days=days, euros=hours + [amount + 1000.0 for amount in hours], name="Baustelle GmbH")
    assert event_days(everyday(), risen)["SALARY_INCREASE"] == date(2025, 1, 28)


@pytest.mark.parametrize(("landlord", "gap"), [("Hausverwaltung Nord", 0), ("Hausverwaltung Alt", 0), ("Privat", 1)])
def test_a_move_is_a_rent_that_ends_and_one_that_begins_whatever_the_names(landlord: str, gap: int) -> None:
    accounts = {"counterparty_iban": "DE1", "counterparty_key": "DE1"}, {"counterparty_iban": "DE2", "counterparty_key": "DE2"}
    old = rent(days=months("2024-01", "2025-05", 1), euros=-650.0, name="Hausverwaltung Alt", **accounts[0])
    new = rent(days=months(f"2025-{6 + gap:02}", "2026-06", 1), euros=-700.0, name=landlord, **accounts[1])
    assert event_days(everyday(), old, new.with_columns(id=pl.format("new {}", "id"))) == {
        "TENANCY_CHANGE": date(2025, 6 + gap, 1)
    }


def test_the_same_rent_to_another_landlord_is_no_move() -> None:
    old = rent(days=months("2024-01", "2025-05", 1), euros=-650.0, name="Alter Eigentümer")
    new = rent(days=months("2025-06", "2026-06", 1), euros=-650.0, name="Neue Verwaltung")
    assert event_days(everyday(), old, new) == {}


@pytest.mark.parametrize("employer", ["Werk GmbH", "Andere AG"])
def test_the_first_job_after_an_apprenticeship_is_a_first_employment(employer: str) -> None:
    learned = wage(days=months("2024-01", "2025-07", 28), euros=1050.0, name="Werk GmbH", purpose="Ausbildungsvergütung")
    job = wage(days=months("2025-08", "2026-06", 28), euros=2400.0, name=employer)
    assert event_days(everyday(), learned, job.with_columns(id=pl.format("job {}", "id"))) == {
        "EMPLOYMENT_FIRST": date(2025, 8, 28)
    }


def test_a_young_person_who_gets_the_own_child_benefit_has_no_child() -> None:
    benefit = child_benefit(days=months("2025-06", "2026-06", 10), euros=255.0)
    learner = wage(days=months("2024-01", "2026-06", 28), euros=1050.0, name="Werk GmbH", purpose="Ausbildungsvergütung")
    assert "CHILD_FIRST" in event_days(everyday(), benefit)
    assert event_days(everyday(), benefit, learner) == {}


def test_care_is_seen_in_what_a_town_collects() -> None:
    care = debit("TAXES", months("2025-02", "2026-06", 5), -240.0, "Stadt Musterhausen", "Kitabeitrag Februar")
    assert event_days(everyday(), care) == {"CHILDCARE_START": date(2025, 2, 5)}


def test_an_event_tells_since_when_it_is_known() -> None:
    old = rent(days=months("2024-01", "2025-05", 1), euros=-600.0, name="Alter Vermieter")
    new = rent(days=months("2025-06", "2026-06", 1), euros=-800.0, name="Neuer Vermieter")
    event = life_events(take_snapshot(everyday(), old, new)).filter(item="TENANCY_CHANGE").row(0, named=True)
    known = event["known_since"]
    assert event["event_date"] < known < date(2025, 8, 15)
    for day, is_known in ((known, True), (known - timedelta(days=1), False)):
        assert ("TENANCY_CHANGE" in event_days(everyday(), old, new, as_of=day)) == is_known


# Young people, small jobs and what goes on under another name


STUDENT_AID = book(
    "INCOME_STATE_EDUCATION",
    months("2025-10", "2026-06", 30),
    712.0,
    "Landeskasse",
    "BAfoeG Foerderungsnummer 4711",
    channel="PUBLIC",
)
FIRST_FEE = book("EDUCATION_ACADEMIC", [date(2025, 9, 10), date(2026, 3, 1)], -300.0, "Uni", "Semesterbeitrag")
HALL = rent(days=months("2025-10", "2026-06", 4), euros=-312.0, name="Studierendenwerk", purpose="Miete Wohnheim")
YOUNG = everyday(first=date(2025, 6, 1))


def test_studies_that_begin_soon_after_the_account_are_recognised_by_aid_and_rent() -> None:
    assert event_days(YOUNG, FIRST_FEE) == {}
    for confirmation in (STUDENT_AID, HALL):
        assert event_days(YOUNG, FIRST_FEE, confirmation)["STUDIES_START"] == date(2025, 9, 10)


def test_the_first_rent_and_job_of_a_new_student_are_the_first_ever() -> None:
    job = wage(days=months("2026-01", "2026-06", 9), euros=420.0, name="Café", purpose="Lohn Aushilfe")
    assert event_days(YOUNG, FIRST_FEE, STUDENT_AID, HALL, job) == {
        "STUDIES_START": date(2025, 9, 10),
        "TENANCY_FIRST": date(2025, 10, 4),
        "EMPLOYMENT_FIRST": date(2026, 1, 9),
    }
    assert event_days(YOUNG, HALL) == {"TENANCY_START": date(2025, 10, 4)}


@pytest.mark.parametrize(("last", "is_job"), [("2025-06", True), ("2025-04", False)])
def test_a_small_job_of_somebody_without_another_is_a_job_from_three_wages_on(last: str, *, is_job: bool) -> None:
    earlier = wage(days=months("2024-01", "2024-08", 28), euros=1600.0, name="Alt GmbH")
    job = wage(days=months("2025-03", last, 10), euros=510.0, name="Café", purpose="Lohn Aushilfe")
    assert ("EMPLOYMENT_START" in event_days(everyday(), earlier, job)) == is_job


def test_studies_end_with_the_last_student_aid_if_that_is_later() -> None:
    fees = book("EDUCATION_ACADEMIC", [date(2024, 1, 25), date(2024, 7, 25), date(2025, 1, 25)], -300.0, "Uni", "Semesterbeitrag")
    aid = STUDENT_AID.with_columns(pl.col("booked_on").dt.offset_by("-10mo"))  # until August 2025
    assert event_days(everyday(), fees)["STUDIES_END"] == date(2025, 7, 27)
    assert event_days(everyday(), fees, aid)["STUDIES_END"] == date(2025, 9, 29)


def test_whoever_returns_from_leave_to_fewer_hours_earns_less() -> None:
    def benefit(first: str, last: str, purpose: str) -> pl.DataFrame:
        return book("INCOME_STATE_FAMILY", months(first, last, 12), 1200.0, "Kasse", purpose, channel="PUBLIC")

    full = wage(days=months("2024-01", "2025-02", 28), euros=2788.0, name="Klinikum")
    rest = wage(days=months("2025-03", "2025-05", 28), euros=1904.0, name="Klinikum", purpose="Zuschuss Mutterschaftsgeld")
    less = wage(days=months("2026-03", "2026-06", 28), euros=1822.0, name="Klinikum")
    parts = [part.with_columns(id=pl.format(f"{at} {{}}", "id")) for at, part in enumerate((full, rest, less))]
    leave = [benefit("2025-03", "2025-04", "Mutterschaftsgeld"), benefit("2025-06", "2026-02", "Elterngeld")]
    assert event_days(everyday(), *parts, *leave)["SALARY_DECREASE"] == date(2026, 3, 28)


def test_the_same_rent_to_another_landlord_is_no_move_even_if_it_rises_later() -> None:
    old = rent(days=months("2024-01", "2025-05", 1), euros=-650.0, name="Alter Eigentümer", purpose="Miete Lindenstr. 8")
    new = rent(
        days=months("2025-06", "2026-06", 1),
        euros=[-650.0] * 6 + [-680.0] * 7,
        name="Neue Verwaltung",
        purpose="Miete Lindenstr. 9",
    )
    assert event_days(everyday(), old, new.with_columns(id=pl.format("new {}", "id"))) == {}


def test_fees_for_a_second_child_begin_when_those_for_the_first_have_ended() -> None:
    first = debit(
        "FAMILY_CHILDCARE", months("2024-03", "2025-07", 15), -182.0, "Stadtkasse", "KZ 5.1188.974746 Elternbeitrag Kita"
    )
    second = debit(
        "FAMILY_CHILDCARE", months("2025-12", "2026-06", 15), -214.0, "Stadtkasse", "KZ 5.1203.881094 Elternbeitrag Kita"
    )
    children = [first, second.with_columns(id=pl.format("second {}", "id"))]
    result = life_events(take_snapshot(everyday(), *children)).sort("event_date").select("item", "event_date").rows()
    assert result == [
        ("CHILDCARE_START", date(2024, 3, 15)),
        ("CHILDCARE_END", date(2025, 7, 15)),
        ("CHILDCARE_START", date(2025, 12, 15)),
    ]


def test_a_pension_moves_to_another_account_like_wages() -> None:
    debits = [debit("BILLS_MOBILE", months("2024-01", "2026-06", 5 + at), -20.0 - at, f"{at}-Netz") for at in range(5)]
    pension = book("INCOME_PENSION", months("2024-01", "2026-06", 1), 1216.0, "Rentenversicherung", "Rente", channel="SALARY")
    place = pl.when(pl.col("booked_on") >= date(2025, 3, 1)).then(pl.lit("neu")).otherwise(pl.lit("giro"))
    parts = [part.with_columns(product=place) for part in (pension, *debits)]
    result = life_events(take_snapshot(everyday(), *parts)).filter(item="ACCOUNT_SWITCH")
    assert result["event_date"].to_list() == [date(2025, 3, 1)]
    assert result["reason"].item().startswith("Rente und Verträge ziehen um")
