"""The report on the analyses of users: a table of figures, a Markdown page, and charts.

Here is the layout. Figures come from `models.evaluation.analyses`, verdicts from `models.evaluation.gates`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from models.categoriser.file import write_atomically
from models.evaluation.analyses import AnalysesEvaluation
from models.evaluation.reports import INK, SOFT, png, table

MISSED_COLOUR = "#b42318"
MAX_ERROR_SHARE = 3.0
"""Larger shares of the allowed error are drawn here."""
MAX_DAYS_OFF = 10
"""Dates that are further off are drawn here."""


def rows(gates: list[dict[str, Any]]) -> list[dict[str, str]]:
    """A row to print for each figure, with its interval, gate, baseline and verdict."""
    return [
        {
            "analysis": row["analysis"],
            "figure": row["metric"],
            "value": _number(row["value"]),
            "95 %": f"{_number(row['low'])} to {_number(row['high'])}",
            "gate": row["wanted"],
            "baseline": f"{_number(row['baseline']['value'])} ({row['baseline']['says']})" if row["baseline"] else "",
            "": "moonshot" if row["moonshot_reached"] else "reached" if row["passed"] else "missed",
        }
        for row in gates
    ]


def write(report: Mapping[str, Any], evaluation: AnalysesEvaluation, folder: Path, name: str = "analyses") -> list[Path]:
    """Writes `<name>.json`, `<name>.md` and the charts; returns their paths."""
    files = {
        f"{name}.json": json.dumps(report, ensure_ascii=False, indent=1).encode(),
        f"{name}.md": markdown(report, name).encode(),
    }
    files |= {f"{name}-{chart}.png": content for chart, content in charts(report, evaluation).items()}
    for path, content in files.items():
        write_atomically(folder / path, content)
    return [folder / path for path in files]


def markdown(report: Mapping[str, Any], name: str = "analyses") -> str:
    """The report as a Markdown page."""
    about = [f"- {key}: {value}" for key, value in report["about"].items()]
    images = [f"![{chart}]({name}-{chart}.png)" for chart in ("gates", "dates", "cashflow")]
    head = ["# Quality of the analyses", "", *about, "", "Intervals: 95 of 100 resamples of users.", ""]
    return "\n".join([*head, table(list(rows(report["gates"]))), "", *images, ""])


def charts(report: Mapping[str, Any], evaluation: AnalysesEvaluation) -> dict[str, bytes]:
    """PNG charts by name: every figure beside its gate, the errors of dates, and forecasts beside the true months."""
    return {"gates": _gates(report["gates"]), "dates": _dates(evaluation.days_off), "cashflow": _cashflow(evaluation.forecasts)}


def error_share(row: Mapping[str, Any], value: float) -> float:
    """The error of a value as a share of the error that the gate allows; above 1 the gate is missed."""
    threshold: float = row["gate"]
    nominal: float | None = row["nominal"]
    if nominal is not None:
        error, allowed = abs(value - nominal), threshold
    else:
        error, allowed = (1 - value, 1 - threshold) if row["higher_is_better"] else (value, threshold)
    if allowed == 0:
        return 0.0 if error == 0 else MAX_ERROR_SHARE
    return min(max(error / allowed, 0.0), MAX_ERROR_SHARE)


def _gates(gates: list[dict[str, Any]]) -> bytes:
    """Every figure with its interval, in shares of the error that its gate allows."""
    chart = Picture(figsize=(8, 0.26 * len(gates) + 1), layout="constrained")
    axes = chart.subplots()
    axes.axvline(1, color=SOFT, linewidth=2)
    for place, row in enumerate(reversed(gates)):
        at = error_share(row, row["value"])
        ends = sorted([error_share(row, row["low"]), error_share(row, row["high"])])
        if row["nominal"] is not None and row["low"] <= row["nominal"] <= row["high"]:
            ends = [0.0, ends[1]]
        colour = INK if row["passed"] else MISSED_COLOUR
        axes.plot([min(ends[0], at), max(ends[1], at)], [place, place], color=colour, linewidth=1)
        axes.plot([at], [place], "o", color=colour, markersize=4)
    names = [f"{row['analysis']}: {row['metric']}" for row in reversed(gates)]
    axes.set_yticks(range(len(gates)), names, fontsize=7)
    axes.set(xlabel="share of the error that the gate allows", xlim=(-0.05, MAX_ERROR_SHARE + 0.05))
    axes.margins(y=0.01)
    return png(chart)


def _dates(off: pl.Series) -> bytes:
    """The share of contracts by the error of their next date, in days."""
    days = range(-MAX_DAYS_OFF, MAX_DAYS_OFF + 1)
    counts = dict(off.drop_nulls().clip(-MAX_DAYS_OFF, MAX_DAYS_OFF).value_counts().iter_rows())
    chart = Picture(figsize=(6.5, 3.5), layout="constrained")
    axes = chart.subplots()
    axes.bar(list(days), [counts.get(day, 0) / max(off.len(), 1) for day in days], color=INK)
    axes.set(xlabel=f"days after the true date; at the ends, {MAX_DAYS_OFF} and more", ylabel="share of contracts")
    return png(chart)


def _cashflow(forecasts: pl.DataFrame) -> bytes:
    """The forecast of the next month against the true one."""
    chart = Picture(figsize=(8, 4), layout="constrained")
    for axes, name in zip(chart.subplots(1, 2), ("EXPENSES", "INCOME"), strict=True):
        euros = forecasts.filter(pl.col("aggregate") == name).select(pl.col("cents", "next").abs() / 100)
        axis_end = max(euros["next"].quantile(0.98) or 1.0, 1.0) * 1.1
        axes.plot([0, axis_end], [0, axis_end], color=SOFT)
        axes.plot(euros["next"].clip(0, axis_end), euros["cents"].clip(0, axis_end), ".", color=INK, alpha=0.5)
        axes.set(title=name.lower(), xlabel="euros in the next month", ylabel="euros as forecast")
    return png(chart)


def _number(value: float) -> str:
    return f"{value:.3f}"
