"""The charts of the report as SVG. Colours come from the style sheet; sizes are in a fixed frame that scales with the page."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from api.report.formats import MONTHS, money, month_name, percent
from pipelines.results.month_report import CategorySum, MonthSums

WIDTH, ROW, BAR, LABEL, AMOUNT = 640, 30, 14, 215, 150
COLUMN_HEIGHT, COLUMN_TOP, COLUMN_BOTTOM = 200, 20, 24
COLUMN_SHARE = 0.34


def categories_chart(categories: Sequence[CategorySum], total_cents: int) -> Markup:
    """A bar for each category, with the bar of the month before as a mark."""
    largest = max((max(item.cents, item.before_cents) for item in categories), default=1) or 1
    room, height = WIDTH - LABEL - AMOUNT, ROW * len(categories) + 4
    rows = []
    for place, item in enumerate(categories):
        y = place * ROW + 8
        width, mark = (max(round(cents / largest * room, 1), 0) for cents in (item.cents, item.before_cents))
        share = percent(item.cents / total_cents) if total_cents > 0 else ""
        rows.append(
            Markup(
                '<text class="label" x="0" y="{middle}">{name}</text>'
                '<rect class="track" x="{left}" y="{y}" width="{room}" height="{bar}" rx="3"/>'
                '<rect class="spent" x="{left}" y="{y}" width="{width}" height="{bar}" rx="3"/>'
                '<line class="before" x1="{mark}" x2="{mark}" y1="{above}" y2="{below}"/>'
                '<text class="figure" x="{right}" y="{middle}">{amount} · {share}</text>'
            ).format(
                name=item.name,
                amount=money(item.cents),
                share=share,
                y=y,
                middle=y + BAR - 3,
                left=LABEL,
                room=room,
                bar=BAR,
                width=width,
                mark=LABEL + mark,
                above=y - 3,
                below=y + BAR + 3,
                right=WIDTH,
            )
        )
    return _svg(height, "Ausgaben nach Kategorien", rows)


def history_chart(history: Sequence[MonthSums]) -> Markup:
    """Two columns for each month: income and expenses."""
    largest = max((max(sums.income_cents, sums.expenses_cents) for sums in history), default=0) or 1
    room = COLUMN_HEIGHT - COLUMN_TOP - COLUMN_BOTTOM
    step = WIDTH / max(len(history), 1)
    columns = []
    for place, sums in enumerate(history):
        for kind, cents, shift in (("income", sums.income_cents, 0.14), ("spent", sums.expenses_cents, 0.52)):
            height = round(max(cents, 0) / largest * room, 1)
            columns.append(
                Markup(
                    '<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="2"><title>{title}</title></rect>'
                ).format(
                    kind=kind,
                    x=round((place + shift) * step, 1),
                    y=round(COLUMN_TOP + room - height, 1),
                    width=round(step * COLUMN_SHARE, 1),
                    height=height,
                    title=f"{month_name(sums.month)}: {money(cents)}",
                )
            )
        columns.append(
            Markup('<text class="tick" x="{x}" y="{y}">{name}</text>').format(
                x=round((place + 0.5) * step, 1), y=COLUMN_HEIGHT - 6, name=MONTHS[sums.month.number - 1][:3]
            )
        )
    top = Markup(
        '<line class="grid" x1="0" x2="{w}" y1="{y}" y2="{y}"/><text class="scale" x="0" y="{text}">{amount}</text>'
    ).format(w=WIDTH, y=COLUMN_TOP, text=COLUMN_TOP - 4, amount=money(largest))
    axis = Markup('<line class="axis" x1="0" x2="{w}" y1="{y}" y2="{y}"/>').format(w=WIDTH, y=COLUMN_TOP + room)
    return _svg(COLUMN_HEIGHT, "Einnahmen und Ausgaben der letzten zwölf Monate", [top, *columns, axis])


def _svg(height: int, title: str, parts: Sequence[Markup]) -> Markup:
    head = Markup('<svg viewBox="0 0 {w} {h}" role="img" aria-label="{title}">').format(w=WIDTH, h=height, title=escape(title))
    return head + Markup("").join(parts) + Markup("</svg>")
