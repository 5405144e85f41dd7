"""The demo's curves as SVG: what is left until payday, and life events on the axis of time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from xml.etree import ElementTree as ET  # builds charts, reads nothing

from markupsafe import Markup

from api.demo_app.charts import BOTTOM, LEFT, RIGHT, TOP, markup, new_chart, points, scale_of, text
from api.demo_app.formats import day, money, short_day, whole_money
from api.schemas.languages import Language, Text

AXIS_MONTHS = 24
AXIS_HEIGHT = 92
AXIS_Y = 52
DOT_RADIUS = 13
MIN_DOT_DISTANCE = 2 * DOT_RADIUS + 2
MIN_TICK_DISTANCE = 42
"""The width of a year, so that no year covers the next one or today."""
CURVE_TITLE = Text("Was bis zum Gehalt bleibt", "What is left until payday")
AXIS_TITLE = Text("Ereignisse im Leben", "Life events")
PAYDAY, TODAY = Text("Gehalt", "Payday"), Text("heute", "today")


@dataclass(frozen=True)
class CurvePoint:
    """What is left at the end of a day, in cents."""

    on: date
    cents: int


@dataclass(frozen=True)
class MoneyCurve:
    """What was left since the salary, and what is expected to be left until the next one; the last past day is today."""

    past: tuple[CurvePoint, ...]
    coming: tuple[CurvePoint, ...]


def money_curve(
    salary: CurvePoint,
    today: date,
    payday: CurvePoint,
    bookings: Iterable[tuple[date, int]],
    expected: Iterable[tuple[date, int]],
) -> MoneyCurve:
    """The curve from a salary over the bookings since, and over expected payments to what is left on the next payday.

    What is expected but has no day of its own, such as usual purchases, is spread over the days that are left.
    """
    sums = _by_day(bookings)
    past, left = [salary], salary.cents
    for on in _days(salary.on + timedelta(days=1), today):
        left += sums.get(on, 0)
        past.append(CurvePoint(on, left))
    left = past[-1].cents
    days = list(_days(today + timedelta(days=1), payday.on - timedelta(days=1)))
    dated = {on: cents for on, cents in _by_day(expected).items() if today < on < payday.on}
    rest = payday.cents - left - sum(dated.values())
    coming = [past[-1]]
    for number, on in enumerate(days, 1):
        left += dated.get(on, 0)
        coming.append(CurvePoint(on, left + round(rest * number / len(days))))
    return MoneyCurve(tuple(past), (*coming, payday) if days else (past[-1], payday))


def draw_money(curve: MoneyCurve, name: str, width: int = 560, height: int = 210, *, language: Language = "de") -> Markup:
    """The curve: a line for the past, a dashed one for what is expected, with the area below."""
    every = [*curve.past, *curve.coming]
    scale = scale_of([point.cents for point in every], height)
    first, last = curve.past[0].on, curve.coming[-1].on
    span = max(1, (last - first).days)

    def place(point: CurvePoint) -> tuple[float, float]:
        return round(LEFT + (point.on - first).days / span * (width - LEFT - RIGHT - 6), 1), scale.y(point.cents)

    chart = new_chart(name, width, height, _said(CURVE_TITLE, language), _summary(curve, language))
    for mark in scale.marks:
        kind = "axis" if mark == 0 else "grid"
        ET.SubElement(chart, "line", {"class": kind, **points(LEFT, scale.y(mark), width - RIGHT, scale.y(mark))})
        text(chart, "tick", LEFT - 8, scale.y(mark) + 4, whole_money(mark, language=language), anchor="end")
    for kind, part in (("past", curve.past), ("coming", curve.coming)):
        line = [place(point) for point in part]
        base = scale.y(0)
        area = [(line[0][0], base), *line, (line[-1][0], base)]
        ET.SubElement(chart, "polygon", {"class": f"curve-area curve-area-{kind}", "points": _path(area)})
        ET.SubElement(chart, "polyline", {"class": f"curve curve-{kind}", "points": _path(line)})
    today_x, today_y = place(curve.past[-1])
    end_x, end_y = place(curve.coming[-1])
    ET.SubElement(chart, "line", {"class": "today", **points(today_x, TOP, today_x, height - BOTTOM)})
    ET.SubElement(chart, "circle", {"class": "dot", "cx": f"{today_x}", "cy": f"{today_y}", "r": "4.5"})
    ET.SubElement(chart, "circle", {"class": "dot dot-expected", "cx": f"{end_x}", "cy": f"{end_y}", "r": "4.5"})
    text(chart, "tick", LEFT, height - 10, short_day(first, language=language), anchor="start")
    text(chart, "tick tick-strong", today_x, TOP - 6, _said(TODAY, language))
    text(
        chart, "tick", width - RIGHT, height - 10, f"{_said(PAYDAY, language)} {short_day(last, language=language)}", anchor="end"
    )
    return markup(chart)


def draw_events(days: Sequence[date], until: date, name: str, width: int = 760, *, language: Language = "de") -> Markup:
    """Numbered dots at the days of events, on an axis of the last two years or as far back as the events go."""
    first = min([*days, _months_before(until, AXIS_MONTHS)])
    span = max(1, (until - first).days)
    inner = width - 2 * DOT_RADIUS - 4

    def place(on: date) -> float:
        return DOT_RADIUS + 2 + (on - first).days / span * inner

    chart = new_chart(name, width, AXIS_HEIGHT, _said(AXIS_TITLE, language), _event_summary(days, language))
    ET.SubElement(chart, "line", {"class": "axis", **points(0, AXIS_Y, width, AXIS_Y)})
    for year in range(first.year, until.year + 1):
        start = max(first, date(year, 1, 1))
        x = place(start)
        ET.SubElement(chart, "line", {"class": "axis", **points(x, AXIS_Y, x, AXIS_Y + 6)})
        next_x = place(min(until, date(year + 1, 1, 1)))
        if next_x - x > MIN_TICK_DISTANCE:
            text(chart, "tick", x, AXIS_Y + 24, str(year), anchor="start" if x < 20 else "middle")
    text(chart, "tick", width, AXIS_Y + 24, _said(TODAY, language), anchor="end")
    for number, x, height in _placed([place(on) for on in days]):
        ET.SubElement(chart, "line", {"class": "stalk", **points(x, AXIS_Y, x, height)})
        ET.SubElement(chart, "circle", {"class": "event-dot", "cx": f"{x:.1f}", "cy": f"{height:.1f}", "r": f"{DOT_RADIUS - 2}"})
        text(chart, "event-number", x, height + 4, str(number))
    return markup(chart)


def _placed(centres: Sequence[float]) -> list[tuple[int, float, float]]:
    """The number, place and height of each dot; one that would cover another goes higher or aside."""
    dots: list[tuple[int, float, float]] = []
    for number, x in sorted(enumerate(centres, 1), key=lambda item: item[1]):
        heights = (AXIS_Y - 14, AXIS_Y - 39)
        free = [
            height
            for height in heights
            if all(abs(x - other_x) >= MIN_DOT_DISTANCE or other_height != height for _, other_x, other_height in dots)
        ]
        dots.append((number, x, free[0] if free else heights[1]))
    return dots


def _by_day(flows: Iterable[tuple[date, int]]) -> dict[date, int]:
    sums: dict[date, int] = {}
    for on, cents in flows:
        sums[on] = sums.get(on, 0) + cents
    return sums


def _days(first: date, last: date) -> Iterable[date]:
    return (first + timedelta(days=number) for number in range((last - first).days + 1))


def _months_before(day: date, months: int) -> date:
    year, number = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, number + 1, 1)


def _path(line: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in line)


def _said(words: Text, language: Language) -> str:
    return words.en if language == "en" else words.de


def _summary(curve: MoneyCurve, language: Language) -> str:
    now, end = curve.past[-1], curve.coming[-1]
    left, expected = money(now.cents, language=language), money(end.cents, language=language)
    if language == "en":
        return f"{left} are left on {day(now.on, language=language)}, probably {expected} on {day(end.on, language=language)}."
    return f"Am {day(now.on)} sind {left} übrig, am {day(end.on)} voraussichtlich {expected}."


def _event_summary(days: Sequence[date], language: Language) -> str:
    listed = ", ".join(f"{number}: {day(on, language=language)}" for number, on in enumerate(days, 1))
    return f"{len(days)} {'events' if language == 'en' else 'Ereignisse'}. {listed}"
