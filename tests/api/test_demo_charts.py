"""The demo's charts and numbers: they hold for any amounts, and what they make is sound XML without styles and scripts."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.demo_app import charts, formats
from api.demo_app.charts import ExpectedMonth, Month

SPACE = "\N{NO-BREAK SPACE}"
EURO = 100
AMOUNTS = st.integers(-(10**13), 10**13)


def months(*flows: tuple[int, int]) -> list[Month]:
    """Months from January 2026 on with income and expenses in euros."""
    return [
        Month(2026 + place // 12, place % 12 + 1, income * EURO, expenses * EURO)
        for place, (income, expenses) in enumerate(flows)
    ]


def elements(markup: str, kind: str) -> list[ET.Element]:
    """The elements of a chart that have a class."""
    return [item for item in ET.fromstring(markup).iter() if kind in item.get("class", "").split()]


def test_a_scale_has_round_marks_and_holds_zero_and_all_amounts() -> None:
    scale = charts.scale_of([271_234, 186_000], height=300)
    assert scale.marks == (0, 100_000, 200_000, 300_000)
    assert scale.y(scale.high) == charts.TOP
    assert scale.y(0) == 300 - charts.BOTTOM


@pytest.mark.parametrize("amounts", [[], [0, 0], [5], [-5], [-120_000, 40_000], [10**14, -(10**14)]])
def test_a_scale_is_never_flat(amounts: list[int]) -> None:
    scale = charts.scale_of(amounts, height=300)
    assert scale.low <= min([0, *amounts]) <= max([0, *amounts]) <= scale.high
    assert scale.low < scale.high
    assert 2 <= len(scale.marks) <= 8


def test_each_month_has_two_bars_from_zero() -> None:
    chart = charts.cashflow(months((3000, 1500), (0, 0)), "c")
    income, expenses = elements(chart, "bar-income"), elements(chart, "bar-expenses")
    assert (len(income), len(expenses)) == (2, 2)
    assert float(income[0].attrib["height"]) == pytest.approx(2 * float(expenses[0].attrib["height"]), abs=0.2)
    assert float(income[1].attrib["height"]) == 0
    assert len(elements(chart, "dot")) == 2


def test_negative_amounts_hang_below_zero() -> None:
    (bar, *_) = elements(charts.cashflow(months((-100, 50)), "c"), "bar-income")
    (zero,) = elements(charts.cashflow(months((-100, 50)), "c"), "axis")
    assert float(bar.attrib["y"]) == float(zero.attrib["y1"])
    assert float(bar.attrib["height"]) > 0


def test_what_is_expected_is_hatched_with_bounds_and_a_dashed_line() -> None:
    coming = Month(2026, 3, 50_000, 20_000, ExpectedMonth(300_000, 250_000, 350_000), ExpectedMonth(200_000, 150_000, 260_000))
    chart = charts.cashflow([*months((3000, 2000), (3000, 2100)), coming], "c")
    assert [len(elements(chart, kind)) for kind in ("hatched-income", "hatched-expenses", "bounds")] == [1, 1, 6]
    (dashed,) = elements(chart, "net-expected")
    assert len(dashed.attrib["points"].split()) == 2
    assert f"März 2026, erwartet: 3.000,00{SPACE}€ Einnahmen (von 2.500,00{SPACE}€ bis 3.500,00{SPACE}€)" in chart


def test_a_chart_says_what_it_shows() -> None:
    root = ET.fromstring(charts.cashflow(months((3000, 1500), (3000, 2500)), "verlauf"))
    named = {item.get("id"): item.text for item in root.iter() if item.get("id")}
    assert root.get("role") == "img"
    told = " ".join(str(named[name]) for name in root.attrib["aria-labelledby"].split())
    assert told == (
        "Einnahmen und Ausgaben nach Monaten Januar 2026 bis Februar 2026: "
        f"im Mittel 3.000,00{SPACE}€ Einnahmen und 2.000,00{SPACE}€ Ausgaben im Monat."
    )


@pytest.mark.parametrize("count", [0, 1, 14])
def test_any_number_of_months_is_drawn(count: int) -> None:
    chart = charts.cashflow(months(*[(1, 1)] * count), "c")
    assert len(elements(chart, "month")) == count
    assert bool(elements(chart, "net")) == (count > 1)


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS, st.none() | st.tuples(AMOUNTS, AMOUNTS, AMOUNTS)), max_size=14))
def test_charts_are_sound_for_all_amounts(flows: list[tuple[int, int, tuple[int, int, int] | None]]) -> None:
    drawn = [
        Month(2026, 1, income, expenses, coming and ExpectedMonth(*coming), coming and ExpectedMonth(*coming))
        for income, expenses, coming in flows
    ]
    chart = charts.cashflow(drawn, "c")
    for item in ET.fromstring(chart).iter("rect"):
        assert float(item.attrib["height"]) >= 0
        assert -0.1 <= float(item.attrib.get("y", 0)) <= 300
    assert "nan" not in chart
    assert "inf" not in chart
    assert " style=" not in chart
    assert "<script" not in chart


def test_texts_cannot_leave_their_place() -> None:
    chart = charts.cashflow(months((1, 1)), '"><script>alert(1)</script>')
    assert "<script" not in chart
    assert ET.fromstring(chart).tag == "svg"


def test_a_lying_bar_stays_in_its_place() -> None:
    for share, width in ((-1.0, "0.0%"), (0.5, "50.0%"), (7.0, "100.0%")):
        (bar,) = elements(charts.bar(share, "expenses"), "bar-expenses")
        assert bar.attrib["width"] == width


def test_stacked_parts_fill_the_bar_and_leave_out_what_is_not_there() -> None:
    root = ET.fromstring(charts.stacked([("spent", 50), ("fixed", 0), ("flex", -10), ("left", 150)]))
    assert [(part.attrib["class"], part.attrib["x"], part.attrib["width"]) for part in root] == [
        ("stack-spent", "0.00%", "25.00%"),
        ("stack-left", "25.00%", "75.00%"),
    ]
    assert list(ET.fromstring(charts.stacked([("spent", 0)]))) == []


@pytest.mark.parametrize("amounts", [[], [5], [7, 7, 7], [10, 20, 30], [0, 0], [10**15, 1]])
def test_a_small_line_stays_in_its_picture(amounts: list[int]) -> None:
    root = ET.fromstring(charts.sparkline(amounts))
    points = [tuple(map(float, point.split(","))) for line in root.iter("polyline") for point in line.attrib["points"].split()]
    assert len(points) == len(amounts)
    assert all(0 <= x <= 88 and 0 <= y <= 24 for x, y in points)


@pytest.mark.parametrize(
    ("amount_cents", "written"),
    [(123_456, "1.234,56 €"), (0, "0,00 €"), (-5, "\N{MINUS SIGN}0,05 €"), (100_000_000_000, "1.000.000.000,00 €")],
)
def test_money_is_written_in_german(amount_cents: int, written: str) -> None:
    assert formats.money(amount_cents) == written.replace(" ", SPACE)


@pytest.mark.parametrize(
    ("amount_cents", "written"),
    [(123_456, "1.235 €"), (-49, "0 €"), (150_000_000, "1,5 Mio. €"), (-200_000_000_000, "\N{MINUS SIGN}2 Mrd. €")],
)
def test_large_money_is_written_short(amount_cents: int, written: str) -> None:
    assert formats.whole_money(amount_cents) == written.replace(" ", SPACE)


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        *(("12,50", 12.5), ("12.50", 12.5), ("12", 12), ("1.234,56", 1234.56), ("1.234", 1234), (" 3 € ", 3)),
        *(("", None), ("zwölf", None), ("1e9", None), ("-5", None), ("1,234", None), ("12.5.6", None), ("nan", None)),
    ],
)
def test_typed_amounts_are_understood_or_refused(typed: str, amount: float | None) -> None:
    assert formats.amount(typed) == amount


def test_days_are_written_in_german() -> None:
    assert formats.day("2026-11-16 01:22:15") == "16.11.2026"
