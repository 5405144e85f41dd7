"""Classes of cases in which events were missed or told wrongly, each with small examples of its own."""

from datetime import date

import polars as pl
import pytest

from analytics.analyses.life_events import life_events
from analytics.frames import PRODUCTS
from tests.analytics.lives import book, child_benefit, debit, event_days, everyday, months, rent, take_snapshot, wage

WHOLE = months("2024-01", "2026-06", 28)
TWO_ACCOUNTS = pl.DataFrame(
    [("anna", "giro", "CHECKING", None, "Anna Muster", None), ("anna", "tagesgeld", "CALL_MONEY", None, "Anna Muster", None)],
    PRODUCTS,
    orient="row",
)


def days_of(item: str, *parts: pl.DataFrame, products: pl.DataFrame | None = None) -> list[date]:
    """All days of one event."""
    events = life_events(take_snapshot(everyday(), *parts, products=products))
    return events.filter(pl.col("item") == item)["event_date"].sort().to_list()


# Birth


def test_maternity_benefit_is_no_child_benefit() -> None:
    maternity = book("INCOME_STATE_FAMILY", [date(2025, 6, 12), date(2025, 7, 24)], 600.0, "Kasse", "Mutterschaftsgeld")
    benefit = child_benefit(days=months("2025-10", "2026-06", 10), euros=255.0)
    assert event_days(everyday(), maternity, benefit) == {"CHILD_FIRST": date(2025, 10, 10)}


def test_wages_in_maternity_protection_neither_fall_nor_end() -> None:
    before, rest = [2600.0] * 18, [2100.0] * 2
    pay = wage(days=months("2024-01", "2025-08", 28), euros=before + rest, name="Amt")
    maternity = book("INCOME_STATE_FAMILY", [date(2025, 7, 15)], 600.0, "Kasse", "Mutterschaftsgeld")
    leave = book("INCOME_STATE_FAMILY", months("2025-11", "2026-06", 14), 1500.0, "Landeskasse", "Elterngeld", channel="PUBLIC")
    assert event_days(everyday(), pay) == {"SALARY_DECREASE": date(2025, 7, 28), "EMPLOYMENT_END": date(2025, 9, 27)}
    assert event_days(everyday(), pay, maternity, leave) == {"PARENTALLEAVE_START": date(2025, 11, 14)}


def test_a_return_from_leave_to_fewer_hours_is_a_lower_wage() -> None:
    first, second = months("2024-01", "2024-12", 28), months("2025-11", "2026-06", 28)
    pay = wage(days=first + second, euros=[2600.0] * 12 + [1700.0] * 8, name="Amt")
    assert days_of("SALARY_DECREASE", pay) == [date(2025, 11, 28)]


# Wages


@pytest.mark.parametrize(
    ("wages", "item"),
    [
        ([2110.0, 2240.0, 2235.0, 2180.0, 2185.0, 2175.0, 2075.0, 2074.0, 2079.0, 2150.0, 2160.0, 2140.0], None),
        ([2265.0, 2230.0, 2270.0, 2255.0, 2190.0, 2135.0, 2290.0, 2190.0, 2170.0, 2240.0, 2250.0, 2230.0], None),
        ([2500.0, 2530.0, 2490.0, 2510.0, 2525.0, 2520.0, 2680.0, 2695.0, 2640.0, 2660.0, 2650.0, 2670.0], "SALARY_INCREASE"),
        ([2000.0, 2000.0, 2000.0, 3100.0, 2000.0, 2000.0, 2080.0, 2080.0, 2080.0, 2080.0, 2080.0, 2080.0], "SALARY_INCREASE"),
    ],
)
def test_wages_change_with_their_level(wages: list[float], item: str | None) -> None:
    pay = wage(days=months("2025-07", "2026-06", 28), euros=wages, name="Werk GmbH")
    items = set(event_days(everyday(), pay)) & {"SALARY_INCREASE", "SALARY_DECREASE"}
    assert items == ({item} if item else set())


def test_weekly_wages_are_a_main_job() -> None:
    fridays = [day.date() for day in pl.datetime_range(date(2024, 1, 5), date(2025, 6, 6), "7d", eager=True)]
    pay = wage(days=fridays, euros=430.0, name="Hafen", purpose="Wochenlohn")
    assert "EMPLOYMENT_END" in event_days(everyday(), pay)


def test_a_pension_that_replaces_a_wage_is_retirement_though_the_partner_has_one() -> None:
    partner = book("INCOME_PENSION", WHOLE, 1100.0, "Rentenkasse", "Rente 1", channel="PUBLIC")
    pay = wage(days=months("2024-01", "2025-07", 27), euros=2600.0, name="Werft")
    own = book("INCOME_PENSION", months("2025-08", "2026-06", 28), 1500.0, "Versorgungsamt", "Rente 2", channel="PUBLIC")
    assert days_of("RETIREMENT_START", partner, own) == []
    assert days_of("RETIREMENT_START", partner, pay, own) == [date(2025, 8, 28)]


def test_large_incomes_a_month_apart_are_two() -> None:
    pocket_money = book("OTHER_INCOME", months("2024-01", "2026-06", 2), 600.0, "Eltern", "Zuschuss")
    gifts = book("OTHER_INCOME", [date(2026, 3, 10), date(2026, 4, 10)], 3000.0, "Oma", "Geschenk")
    assert days_of("LARGEINCOME", pocket_money, gifts) == [date(2026, 3, 10), date(2026, 4, 10)]


# Studies and care


def test_a_sports_card_of_a_university_is_no_semester_fee() -> None:
    card = book("EDUCATION_ACADEMIC", [date(2025, 11, 10)], -84.0, "Universität", "Semesterkarte Hochschulsport")
    fees = book("EDUCATION_ACADEMIC", [date(2025, 8, 6), date(2026, 2, 5)], -380.0, "Universität", "Sem.-Beitrag WiSe")
    assert event_days(everyday(), card) == {}
    assert event_days(everyday(), card, fees) == {"STUDIES_START": date(2025, 8, 6)}


def test_care_for_the_old_is_no_childcare() -> None:
    flat = debit("FAMILY_CHILDCARE", months("2025-06", "2026-06", 5), -80.0, "Sozialdienste", "Betreuungspauschale")
    kita = debit("FAMILY_CHILDCARE", months("2025-06", "2026-06", 5), -80.0, "Sozialdienste", "Elternbeitrag")
    assert event_days(everyday(), flat) == {}
    assert event_days(everyday(), kita) == {"CHILDCARE_START": date(2025, 6, 5)}


# Money


@pytest.mark.parametrize(
    ("purpose", "told"),
    [
        ("Rückgabe mangels Deckung 20.05.2025", True),
        ("RUECKLASTSCHRIFT MANGE LS DECKUNG KD 4711", True),
        ("Rückgabe Lastschrift: Deckung nicht ausreichend", True),
        ("Rückgabe wegen Widerspruch", False),
        ("Storno Retoure 4711", False),
    ],
)
def test_a_returned_debit_is_the_beginning_of_difficulties(purpose: str, told: bool) -> None:
    returned = book("TRANSFER_REVERSAL", [date(2025, 5, 22)], 40.0, "Stadtwerke", purpose)
    collected = book("OTHER_SPENDING", [date(2025, 9, 5)], -90.0, "Inkasso GmbH", "Inkasso Az 4711")
    expected = date(2025, 5, 22) if told else date(2025, 9, 5)
    assert event_days(everyday(), returned, collected) == {"PAYMENTDIFFICULTY_START": expected}


def test_a_student_loan_that_is_paid_out_month_by_month_begins_once() -> None:
    out = book("BANKFINANCE_CREDITINCOME", months("2025-03", "2026-06", 1), 400.0, "Förderbank", "Studienkredit Auszahlung")
    assert days_of("LOAN_START", out) == [date(2025, 3, 1)]


def test_standing_orders_to_own_savings_begin_and_end() -> None:
    days = months("2024-08", "2025-09", 4)
    out = book("TRANSFER_SAVINGS", days, -200.0, "Anna Muster", "Rücklage", channel="STANDINGORDER")
    into = book("TRANSFER_SAVINGS", days, 200.0, "Anna Muster", "Eingang", product="tagesgeld")
    parts = (out, into.with_columns(id=pl.format("in {}", "id")))
    assert days_of("SAVINGS_START", *parts, products=TWO_ACCOUNTS) == [date(2024, 8, 4)]
    assert days_of("SAVINGS_END", *parts, products=TWO_ACCOUNTS) == [date(2025, 9, 4)]


# Vehicles


def test_a_new_plate_after_a_move_is_no_new_car() -> None:
    premiums = debit("INSURANCE_VEHICLE", WHOLE, -60.0, "Versicherer", "Kfz", insurance="VEHICLE_CAR")
    old = debit("TAXES", [date(2024, 2, 7), date(2025, 2, 7)], -186.0, "Bundeskasse", "KFZ-STEUER K AB 123")
    new = debit("TAXES", [date(2026, 2, 9)], -186.0, "Bundeskasse", "KFZ-STEUER BN AB 123")
    other = new.with_columns(amount_cents=pl.lit(-25_000, pl.Int64))
    assert days_of("VEHICLE_START", premiums, old, new.with_columns(id=pl.lit("new"))) == []
    assert days_of("VEHICLE_START", premiums, old, other.with_columns(id=pl.lit("new"))) == [date(2026, 2, 9)]


def test_a_car_is_given_up_when_the_time_paid_for_is_over() -> None:
    quarters = [date(2024, 1, 2), date(2024, 4, 2), date(2024, 7, 2), date(2024, 10, 2), date(2025, 1, 2), date(2025, 4, 2)]
    premiums = debit("INSURANCE_VEHICLE", quarters, -140.0, "Versicherer", "Kfz", insurance="VEHICLE_CAR")
    (given_up,) = days_of("VEHICLE_END", premiums)
    assert date(2025, 6, 28) <= given_up <= date(2025, 7, 5)


def test_a_refund_of_vehicle_tax_shows_that_the_car_is_gone() -> None:
    premiums = debit("INSURANCE_VEHICLE", months("2024-01", "2026-01", 2), -60.0, "Versicherer", "Kfz", insurance="VEHICLE_CAR")
    tax = debit("TAXES", [date(2024, 11, 9), date(2025, 11, 10)], -96.0, "Bundeskasse", "KFZ-STEUER K AB 123")
    refund = book("INCOME_OTHER", [date(2026, 2, 20)], 70.0, "Bundeskasse", "KFZ-STEUER ERSTATTUNG K AB 123")
    assert days_of("VEHICLE_END", premiums, tax) == []
    assert len(days_of("VEHICLE_END", premiums, tax, refund)) == 1


def test_a_car_that_replaces_another_begins_and_the_other_ends() -> None:
    old, new = months("2024-01", "2025-03", 1), months("2025-04", "2026-06", 1)
    insured = {"insurance": "VEHICLE_CAR", "purpose": "KFZ K-DK 118"}
    first = debit("INSURANCE_VEHICLE", old, -58.0, "Versicherung AG", **insured)
    second = debit("INSURANCE_VEHICLE", new, -76.0, "Versicherung AG", **{**insured, "purpose": "KFZ K-EK 4471"})
    days = event_days(everyday(), first, second.with_columns(id=pl.format("new {}", "id")))
    assert (days["VEHICLE_START"], days["VEHICLE_END"]) == (date(2025, 4, 1), date(2025, 3, 31))
    moved = debit("INSURANCE_VEHICLE", new, -58.0, "Versicherung AG", **{**insured, "purpose": "KFZ K-EK 4471"})
    assert event_days(everyday(), first, moved.with_columns(id=pl.format("new {}", "id"))) == {}


def test_a_wage_in_two_parts_rises_once() -> None:
    first = wage(days=months("2024-01", "2026-06", 15), euros=[900.0] * 15 + [1100.0] * 15, name="Bau GmbH")
    second = wage(days=months("2024-01", "2026-05", 27), euros=800.0, name="Bau GmbH").with_columns(id=pl.format("part {}", "id"))
    assert event_days(everyday(), first, second) == {"SALARY_INCREASE": date(2025, 4, 15)}


def test_a_car_is_given_up_long_before_the_next_one_comes() -> None:
    insured = {"insurance": "VEHICLE_CAR", "purpose": "KFZ R-FH 118"}
    first = debit("INSURANCE_VEHICLE", months("2024-01", "2025-09", 1), -48.0, "Kammer", **insured)
    second = debit("INSURANCE_VEHICLE", months("2026-03", "2026-06", 1), -72.0, "HUK", **{**insured, "purpose": "KFZ R-FH 26"})
    days = event_days(everyday(), first, second.with_columns(id=pl.format("new {}", "id")))
    assert abs((days["VEHICLE_END"] - date(2025, 10, 1)).days) <= 2


def test_holiday_pay_does_not_hide_that_the_wage_has_fallen() -> None:
    euros = [3700.0] * 16 + [3400.0, 5200.0] + [3400.0] * 12
    assert event_days(everyday(), wage(days=WHOLE, euros=euros, name="Werk GmbH")) == {"SALARY_DECREASE": date(2025, 5, 28)}


def test_a_leased_bicycle_is_no_vehicle() -> None:
    lease = debit("MOBILITY_VEHICLEACQUISITION", months("2025-04", "2026-06", 15), -80.0, "Leasing GmbH", "{} Rate")
    bike, car = (lease.with_columns(purpose=pl.lit(word)) for word in ("Fahrrad Leasingrate", "Leasingrate Golf"))
    assert event_days(everyday(), bike) == {}
    assert event_days(everyday(), car) == {"VEHICLE_START": date(2025, 4, 15)}


def test_a_change_to_a_bank_that_writes_no_accounts_is_a_change_of_account() -> None:
    payees = [f"Verein Nummer {letter}" for letter in "ABCDEF"]
    old_days, new_days = months("2024-01", "2025-05", 5), months("2025-06", "2026-06", 5)
    parts = [everyday()]
    for product, days, has_account in (("giro", old_days, True), ("neu", new_days, False)):
        for payee in payees:
            payments = debit("RECREATION_SPORTS", days, -20.0, payee, "Beitrag", product=product)
            parts.append(with_key(payments, payee, product, has_account=has_account))
        pay = wage(days=[day.replace(day=28) for day in days], euros=2500.0, name="Werk GmbH", product=product)
        parts.append(with_key(pay, "Werk GmbH", product, has_account=has_account))
        home = rent(days=days, euros=-600.0, name="Bau AG", product=product)
        parts.append(with_key(home, "Bau AG", product, has_account=has_account))
    rows = [("anna", name, "CHECKING", None, "Anna Muster", None) for name in ("giro", "neu")]
    events = life_events(take_snapshot(*parts, products=pl.DataFrame(rows, PRODUCTS, orient="row")))
    assert events.select("item", "event_date").rows() == [("ACCOUNT_SWITCH", date(2025, 6, 28))]


def with_key(payments: pl.DataFrame, name: str, product: str, *, has_account: bool) -> pl.DataFrame:
    """The payments as one bank writes them: with the account of the counterparty, or without."""
    account = payments["counterparty_iban"][0]
    keyed = payments.with_columns(
        id=pl.format("{} {}", pl.lit(product), "id"), counterparty_key=pl.lit(account if has_account else name.lower())
    )
    return keyed if has_account else keyed.with_columns(counterparty_iban=pl.lit(None, pl.String))
