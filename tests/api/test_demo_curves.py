"""The demo's curves and its timeline: they hold for any amounts and days, and end where the interface says."""

from datetime import date, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.demo_app import assumptions, bookings, curves, excerpts
from api.demo_app.cancelling import NOT_CANCELLABLE, cancelling
from api.demo_app.curves import CurvePoint, MoneyCurve, money_curve
from api.demo_app.people import PEOPLE

SALARY_DAY, TODAY, PAYDAY = date(2026, 10, 27), date(2026, 11, 18), date(2026, 11, 27)
CENTS = st.integers(-(10**9), 10**9)


def curve(*expected: tuple[date, int], left: int = 50_000) -> MoneyCurve:
    spent = [(date(2026, 11, 1), -82_000), (date(2026, 11, 1), -2_490), (TODAY, -1_000)]
    return money_curve(CurvePoint(SALARY_DAY, 254_380), TODAY, CurvePoint(PAYDAY, left), spent, expected)


def test_a_curve_has_every_day_from_the_salary_to_the_next() -> None:
    drawn = curve((date(2026, 11, 20), -1_500))
    assert [point.on for point in drawn.past] == [SALARY_DAY + timedelta(days=number) for number in range(23)]
    assert drawn.coming[0] == drawn.past[-1] == CurvePoint(TODAY, 254_380 - 82_000 - 2_490 - 1_000)
    assert drawn.coming[-1] == CurvePoint(PAYDAY, 50_000)


def test_what_has_no_day_of_its_own_is_spread_and_what_has_falls_on_it() -> None:
    plain, dated = curve(), curve((date(2026, 11, 20), -100_000))
    falls = [later.cents - earlier.cents for earlier, later in zip(dated.coming, dated.coming[1:-1], strict=False)]
    assert min(falls) == falls[1]
    assert falls[1] < falls[0] - 90_000
    assert len(plain.coming) == len(dated.coming)


def test_payments_after_payday_do_not_count() -> None:
    assert curve((PAYDAY, -99_999), (date(2027, 1, 1), -1)) == curve()


@given(st.lists(st.tuples(st.dates(SALARY_DAY, PAYDAY), CENTS), max_size=8), CENTS)
def test_curves_are_sound_for_all_amounts(flows: list[tuple[date, int]], left: int) -> None:
    drawn = money_curve(CurvePoint(SALARY_DAY, 1), TODAY, CurvePoint(PAYDAY, left), flows, flows)
    chart = curves.draw_money(drawn, "c")
    assert ET.fromstring(chart).get("role") == "img"
    assert not {"nan", "inf", " style="} & set(chart.split('"'))


@given(st.lists(st.dates(date(2020, 1, 1), TODAY), min_size=1, max_size=12))
def test_every_event_has_its_number_on_the_axis(days: list[date]) -> None:
    root = ET.fromstring(curves.draw_events(days, TODAY, "e", 330))
    numbers = sorted(int(str(item.text)) for item in root.iter("text") if item.get("class") == "event-number")
    assert numbers == list(range(1, len(days) + 1))
    assert all(0 <= float(item.attrib["cx"]) <= 330 for item in root.iter("circle"))


def test_a_summary_is_in_the_language_of_the_page() -> None:
    assert "are left on 18 Nov 2026" in curves.draw_money(curve(), "c", language="en")
    assert "Am 18.11.2026 sind" in curves.draw_money(curve(), "c")
    assert ">Payday 27 Nov<" in curves.draw_money(curve(), "c", language="en")
    assert ">Gehalt 27.11.<" in curves.draw_money(curve(), "c")


@pytest.mark.parametrize(
    ("name", "letters"), [("Netflix", "N"), ("REWE SAGT DANKE. 43112", "RS"), ("4711", "€"), ("", "€"), ("ärzte & co", "ÄC")]
)
def test_a_monogram_has_one_or_two_letters(name: str, letters: str) -> None:
    assert bookings.monogram(name) == letters


@pytest.mark.parametrize(
    ("purpose", "words"),
    [
        ("EREF+R4361MREF+M-74CRED+DE06ZZZ01SVWZ+Ihr Einkauf bei Spotify ABABWE+Spotify AB", "Ihr Einkauf bei Spotify AB"),
        ("Miete Oktober EREF: R17 MREF: M-1 CRED: DE06ZZZ01 IBAN: DE07 BIC: X", "Miete Oktober"),
        ("Abschlag12/2026Mandat:M-12Referenz:R9", "Abschlag12/2026"),
        ("VORGEMERKT DM FIL.1432", "DM FIL.1432"),
        ("Miete November", "Miete November"),
        ("SVWZ+", "SVWZ+"),
        ("", ""),
    ],
)
def test_a_purpose_is_what_a_person_wrote(purpose: str, words: str) -> None:
    assert bookings.plain_purpose(purpose) == words


def item(system_name: str, parent: str | None = None) -> dict[str, Any]:
    return {"systemName": system_name, "displayName": system_name.title(), **({"systemNameParent": parent} if parent else {})}


def test_income_and_expenses_have_categories_of_their_own() -> None:
    items = [item("LIVING"), item("LIVING_GROCERIES", "LIVING"), item("INCOME"), item("INCOME_SALARY", "INCOME"), item("TAXES")]
    assert [group.name for group in bookings.category_groups(items, -100)] == ["Living", "Taxes"]
    assert [group.name for group in bookings.category_groups(items, 100)] == ["Income", "Taxes"]


def test_what_is_said_about_cancelling_fits_the_contract() -> None:
    assert cancelling("BILLS_OTHER", "RUNDFUNKBEITRAG", "Rundfunk", -5_508) is NOT_CANCELLABLE
    assert "573c" in str(cancelling("HOUSING_RENT", "UNKNOWN", "Rheinwohnen", -82_000))
    assert cancelling("INCOME_SALARY", "UNKNOWN", "Nordlicht", 254_380) is None
    assert cancelling("OTHER_SPENDING", "UNKNOWN", "Karl", -100) is None


def test_excerpts_are_short_and_say_what_they_leave_out() -> None:
    text = excerpts.excerpt('{"relations": [1], "list": [1, 2, 3, 4], "text": "%s"}' % ("x" * 500))
    assert '"… 2"' in text
    assert "relations" not in text
    assert len(text) < 300
    assert excerpts.excerpt("no json") == ""


def test_assumptions_of_the_form_are_those_of_the_interface() -> None:
    typed = {"cancel": "u.1.b", "instalment": "250", "rent": "", "salary": "2.800,50", "child": "1"}
    assert assumptions.assumptions(typed) == [
        {"kind": "CANCEL_CONTRACT", "contractId": "u.1.b"},
        {"kind": "ADD_INSTALMENT", "amount": 250.0},
        {"kind": "CHANGE_SALARY", "amount": 2800.5},
        {"kind": "CHILD_BORN"},
    ]
    with pytest.raises(assumptions.NoAmount):
        assumptions.assumptions({"rent": "viel"})


def test_eight_people_have_different_lives() -> None:
    assert [person.login for person in PEOPLE] == [f"demo{number}" for number in range(1, 9)]
    assert len({person.line for person in PEOPLE}) == len({person.name for person in PEOPLE}) == 8
