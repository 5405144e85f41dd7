"""The demo's charts as SVG. Colours come from the stylesheet; the charts contain neither styles nor scripts."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET  # builds charts, reads nothing

from markupsafe import Markup

from api.demo_app.formats import money, month, whole_money
from api.schemas.languages import Language

TOP, BOTTOM, LEFT, RIGHT = 14, 30, 58, 8
BAR_SHARE = 0.36  # of a month's width, which has two bars and a gap
MAX_TICKS = 5
ROUND_STEPS = (1, 2, 2.5, 5, 10)
TITLES: dict[Language, str] = {"de": "Einnahmen und Ausgaben nach Monaten", "en": "Income and expenses by month"}
WORDS: dict[Language, tuple[str, str, str]] = {"de": ("Einnahmen", "Ausgaben", "übrig"), "en": ("income", "expenses", "left")}
EXPECTED_WORDS: dict[Language, tuple[str, str, str]] = {"de": ("erwartet", "von", "bis"), "en": ("expected", "from", "to")}
MIN_RANGE_SHARE = 0.2  # of the highest amount, so that small changes do not look large


@dataclass(frozen=True)
class ExpectedMonth:
    """The prediction of a whole month in cents, with bounds that hold in most cases."""

    amount: int
    lower: int
    upper: int


@dataclass(frozen=True)
class Month:
    """Income and expenses of a month in cents, both usually positive; with predictions if the month is not over."""

    year: int
    number: int
    income: int
    expenses: int
    expected_income: ExpectedMonth | None = None
    expected_expenses: ExpectedMonth | None = None

    @property
    def net(self) -> int:
        return self.income - self.expenses

    @property
    def expected_net(self) -> int:
        income, expenses = self.expected_income, self.expected_expenses
        return (income.amount if income else self.income) - (expenses.amount if expenses else self.expenses)

    @property
    def is_open(self) -> bool:
        """Whether the month is not over."""
        return self.expected_income is not None or self.expected_expenses is not None

    @property
    def name(self) -> str:
        return month(self.year, self.number)

    def named(self, language: Language) -> str:
        """The name of the month in a language."""
        return month(self.year, self.number, language=language)


@dataclass(frozen=True)
class Scale:
    """The vertical scale of a chart, with its marks."""

    low: float
    high: float
    marks: tuple[int, ...]
    height: int

    def y(self, amount: float) -> float:
        """The distance of an amount from the top of the chart."""
        return round(TOP + (self.high - amount) / (self.high - self.low) * (self.height - TOP - BOTTOM), 1)


def scale_of(amounts: Iterable[int], height: int) -> Scale:
    """A scale with round marks that covers zero and all amounts."""
    values = [0, *amounts]
    low, high = min(values), max(values)
    if low == high:
        high = low + 10_000
    step = _round_step((high - low) / MAX_TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return Scale(first * step, last * step, tuple(round(number * step) for number in range(first, last + 1)), height)


def cashflow(months: Sequence[Month], name: str, width: int = 760, height: int = 300, *, language: Language = "de") -> Markup:
    """Bars of income and expenses for each month, and a line of the difference. Predictions are hatched, with their bounds."""
    scale = scale_of(_amounts(months), height)
    chart = new_chart(name, width, height, TITLES[language], _summary(months, language))
    _hatches(chart, name)
    for mark in scale.marks:
        line = "axis" if mark == 0 else "grid"
        ET.SubElement(chart, "line", {"class": line, **points(LEFT, scale.y(mark), width - RIGHT, scale.y(mark))})
        text(chart, "tick", LEFT - 8, scale.y(mark) + 4, whole_money(mark, language=language), anchor="end")
    span = (width - LEFT - RIGHT) / max(1, len(months))
    for place, item in enumerate(months):
        _draw_month(chart, item, name, scale, (LEFT + place * span, span), language)
    centres = [LEFT + (place + 0.5) * span for place in range(len(months))]
    _draw_net(chart, months, centres, scale)
    return markup(chart)


def bar(share: float, kind: str) -> Markup:
    """A horizontal bar of a share of its width. Hidden from screen readers, since the text beside it says the same."""
    chart = ET.Element("svg", {"class": "bar", "aria-hidden": "true", "focusable": "false"})
    ET.SubElement(chart, "rect", {"class": "bar-track", "width": "100%", "height": "100%", "rx": "4"})
    ET.SubElement(chart, "rect", {"class": f"bar-{kind}", "width": f"{_share(share):.1f}%", "height": "100%", "rx": "4"})
    return markup(chart)


def stacked(parts: Sequence[tuple[str, int]]) -> Markup:
    """A horizontal bar of parts, each with its kind and size; empty parts are left out."""
    chart = ET.Element("svg", {"class": "stack", "aria-hidden": "true", "focusable": "false"})
    total = sum(max(0, size) for _, size in parts)
    begin = 0.0
    for kind, size in parts:
        if size > 0:
            share = size / total * 100
            ET.SubElement(
                chart, "rect", {"class": f"stack-{kind}", "x": f"{begin:.2f}%", "width": f"{share:.2f}%", "height": "100%"}
            )
            begin += share
    return markup(chart)


def sparkline(amounts: Sequence[int], width: int = 88, height: int = 24) -> Markup:
    """A small line of an amount over time; flat if it never changed."""
    chart = ET.Element("svg", {"class": "spark", "viewBox": f"0 0 {width} {height}", "aria-hidden": "true", "focusable": "false"})
    if amounts:
        low, high = min(amounts), max(amounts)
        span = max(high - low, round(high * MIN_RANGE_SHARE), 1)
        step = (width - 8) / max(1, len(amounts) - 1)
        points = [
            (
                round(4 + place * step, 1),
                round(height / 2 if low == high else height - 4 - (amount - low) / span * (height - 8), 1),
            )
            for place, amount in enumerate(amounts)
        ]
        ET.SubElement(chart, "polyline", {"points": " ".join(f"{x},{y}" for x, y in points)})
        ET.SubElement(chart, "circle", {"cx": str(points[-1][0]), "cy": str(points[-1][1]), "r": "2.5"})
    return markup(chart)


def _round_step(minimum: float) -> float:
    """The smallest round number that is at least as large, and at least one cent."""
    power = 10.0 ** math.floor(math.log10(max(1, minimum)))
    return next(step * power for step in ROUND_STEPS if step * power >= minimum or step == ROUND_STEPS[-1])


def _amounts(months: Sequence[Month]) -> list[int]:
    expected = [part for item in months for part in (item.expected_income, item.expected_expenses) if part is not None]
    return [
        *(amount for item in months for amount in (item.income, item.expenses, item.expected_net)),
        *(item.net for item in months if not item.is_open),
        *(amount for part in expected for amount in (part.amount, part.lower, part.upper)),
    ]


def _summary(months: Sequence[Month], language: Language) -> str:
    closed = [item for item in months if not item.is_open]
    english = language == "en"
    if not closed:
        return "No complete month yet." if english else "Noch kein abgeschlossener Monat."
    income, expenses = (
        money(round(sum(values) / len(closed)), language=language)
        for values in zip(*((m.income, m.expenses) for m in closed), strict=True)
    )
    first, last = closed[0].named(language), closed[-1].named(language)
    if english:
        sums = f"{first} to {last}: {income} income and {expenses} expenses in a mean month."
    else:
        sums = f"{first} bis {last}: im Mittel {income} Einnahmen und {expenses} Ausgaben im Monat."
    probably = "probably" if english else "voraussichtlich"
    coming = [
        f"{item.named(language)}: {probably} {money(item.expected_net, signed=True, language=language)}."
        for item in months
        if item.is_open
    ]
    return " ".join([sums, *coming])


def _draw_month(chart: ET.Element, item: Month, name: str, scale: Scale, place: tuple[float, float], language: Language) -> None:
    left, span = place
    group = ET.SubElement(chart, "g", {"class": "month"})
    ET.SubElement(group, "title").text = _tooltip(item, language)
    width = span * BAR_SHARE
    for kind, amount, expected, x in (
        ("income", item.income, item.expected_income, left + span / 2 - width - 1),
        ("expenses", item.expenses, item.expected_expenses, left + span / 2 + 1),
    ):
        if expected is not None:
            hatch = {"class": f"hatched-{kind}", "fill": f"url(#{name}-{kind})"}
            ET.SubElement(group, "rect", {**hatch, **_bar(x, width, expected.amount, scale)})
        ET.SubElement(group, "rect", {"class": f"bar-{kind}", **_bar(x, width, amount, scale)})
        if expected is not None:
            _draw_bounds(group, x + width / 2, scale.y(expected.upper), scale.y(expected.lower))
    text(group, "tick", left + span / 2, scale.height - 12, item.named(language)[:3])
    if item.number == 1:
        text(group, "tick year", left + span / 2, scale.height - 1, str(item.year))


def _draw_bounds(group: ET.Element, x: float, upper: float, lower: float) -> None:
    for line in ((x, upper, x, lower), (x - 3, upper, x + 3, upper), (x - 3, lower, x + 3, lower)):
        ET.SubElement(group, "line", {"class": "bounds", **points(*line)})


def _draw_net(chart: ET.Element, months: Sequence[Month], centres: Sequence[float], scale: Scale) -> None:
    """Draws the line of the difference, solid for complete months and dashed for predicted ones."""
    points = [(round(x, 1), scale.y(item.expected_net)) for x, item in zip(centres, months, strict=True)]
    closed = sum(not item.is_open for item in months)
    for kind, part in (("net", points[:closed]), ("net net-expected", points[max(0, closed - 1) :])):
        if len(part) > 1:
            ET.SubElement(chart, "polyline", {"class": kind, "points": " ".join(f"{x},{y}" for x, y in part)})
    for (x, y), item in zip(points, months, strict=True):
        kind = "dot dot-expected" if item.is_open else "dot"
        ET.SubElement(chart, "circle", {"class": kind, "cx": str(x), "cy": str(y), "r": "3.5"})


def _tooltip(item: Month, language: Language) -> str:
    def written(cents: int, *, signed: bool = False) -> str:
        return money(cents, signed=signed, language=language)

    income_word, expenses_word, left = WORDS[language]
    if not item.is_open:
        flows = f"{written(item.income)} {income_word}, {written(item.expenses)} {expenses_word}"
        return f"{item.named(language)}: {flows}, {written(item.net, signed=True)} {left}"
    expected, since, until = EXPECTED_WORDS[language]
    parts = [
        f"{written(part.amount)} {word} ({since} {written(part.lower)} {until} {written(part.upper)})"
        for word, part in ((income_word, item.expected_income), (expenses_word, item.expected_expenses))
        if part is not None
    ]
    return f"{item.named(language)}, {expected}: {', '.join(parts)}"


def new_chart(name: str, width: int, height: int, title: str, summary: str) -> ET.Element:
    chart = ET.Element(
        "svg",
        {"class": "chart", "viewBox": f"0 0 {width} {height}", "role": "img", "aria-labelledby": f"{name}-title {name}-summary"},
    )
    ET.SubElement(chart, "title", {"id": f"{name}-title"}).text = title
    ET.SubElement(chart, "desc", {"id": f"{name}-summary"}).text = summary
    return chart


def _hatches(chart: ET.Element, name: str) -> None:
    places = ET.SubElement(chart, "defs")
    tile = {"width": "6", "height": "6", "patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    for kind in ("income", "expenses"):
        pattern = ET.SubElement(places, "pattern", {"id": f"{name}-{kind}", **tile})
        ET.SubElement(pattern, "rect", {"class": f"hatch-ground-{kind}", "width": "6", "height": "6"})
        ET.SubElement(pattern, "line", {"class": f"hatch-{kind}", **points(0, 0, 0, 6)})


def _bar(x: float, width: float, amount: int, scale: Scale) -> dict[str, str]:
    top, bottom = sorted((scale.y(amount), scale.y(0)))
    return {"x": f"{x:.1f}", "y": f"{top}", "width": f"{width:.1f}", "height": f"{bottom - top:.1f}", "rx": "2"}


def points(x1: float, y1: float, x2: float, y2: float) -> dict[str, str]:
    return {name: f"{value:.1f}" for name, value in zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)}


def text(parent: ET.Element, kind: str, x: float, y: float, text: str, anchor: str = "middle") -> None:
    place = {"class": kind, "x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    ET.SubElement(parent, "text", place).text = text


def _share(share: float) -> float:
    return min(100.0, max(0.0, share * 100))


def markup(chart: ET.Element) -> Markup:
    """The chart as markup for a page; the builder has escaped all values."""
    return Markup(ET.tostring(chart, encoding="unicode"))  # noqa: S704  # escaped by the builder
