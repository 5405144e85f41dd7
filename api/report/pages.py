"""The report as HTML: one file with everything in it, without scripts, so that it can be saved, sent and printed."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from api.report import charts, formats
from pipelines.results.month_report import MonthReport

HERE = Path(__file__).parent / "templates"
STYLE = (HERE / "report.css").read_text()
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"
}


def report_page(report: MonthReport) -> str:
    """The page of a report."""
    return (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            style=Markup(STYLE),  # noqa: S704 (our own file)
            categories=charts.categories_chart(report.categories, report.sums.expenses_cents),
            history=charts.history_chart(report.history),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"money": formats.money, "day": formats.day, "month": formats.month_name}
    return environment
