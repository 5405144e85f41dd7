"""How good the analyses of users are, to read: the table of figures, a page, and pictures.

Here belongs the look. Figures come from `models.evaluation.analyses`, verdicts from `models.evaluation.gates`.
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

MISSED = "#b42318"
FARTHEST = 3.0
"""What is further beyond a gate is drawn here."""
MOST_DAYS = 10


def rows(gates: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The table to print: a row for each figure, with its interval, gate, baseline and verdict."""
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


def write(told: Mapping[str, Any], found: AnalysesEvaluation, folder: Path, name: str = "analyses") -> list[Path]:
    """Writes `<name>.json`, `<name>.md` and the pictures; returns what was written."""
    files = {f"{name}.json": json.dumps(told, ensure_ascii=False, indent=1).encode(), f"{name}.md": markdown(told, name).encode()}
    files |= {f"{name}-{which}.png": drawn for which, drawn in pictures(told, found).items()}
    for path, content in files.items():
        write_atomically(folder / path, content)
    return [folder / path for path in files]


def markdown(told: Mapping[str, Any], name: str = "analyses") -> str:
    """The report as a page."""
    about = [f"- {key}: {value}" for key, value in told["about"].items()]
    shown = [f"![{which}]({name}-{which}.png)" for which in ("gates", "dates", "cashflow")]
    head = ["# Quality of the analyses", "", *about, "", "Intervals: 95 of 100 resamples of users.", ""]
    return "\n".join([*head, table(list(rows(told["gates"]))), "", *shown, ""])


def pictures(told: Mapping[str, Any], found: AnalysesEvaluation) -> dict[str, bytes]:
    """Every figure beside its gate, how far dates are off, and forecasts against what came."""
    return {"gates": _gates(told["gates"]), "dates": _dates(found.days_off), "cashflow": _cashflow(found.forecasts)}


def used(row: Mapping[str, Any], value: float) -> float:
    """Which share of the error that a gate allows a value has; above 1 the gate is missed."""
    wanted: float = row["gate"]
    nominal: float | None = row["nominal"]
    if nominal is not None:
        error, allowed = abs(value - nominal), wanted
    else:
        error, allowed = (1 - value, 1 - wanted) if row["higher_is_better"] else (value, wanted)
    if allowed == 0:
        return 0.0 if error == 0 else FARTHEST
    return min(max(error / allowed, 0.0), FARTHEST)


def _gates(gates: list[dict[str, Any]]) -> bytes:
    """Every figure with its interval, in shares of the error that its gate allows."""
    picture = Picture(figsize=(8, 0.26 * len(gates) + 1), layout="constrained")
    axes = picture.subplots()
    axes.axvline(1, color=SOFT, linewidth=2)
    for place, row in enumerate(reversed(gates)):
        at = used(row, row["value"])
        ends = sorted([used(row, row["low"]), used(row, row["high"])])
        if row["nominal"] is not None and row["low"] <= row["nominal"] <= row["high"]:
            ends = [0.0, ends[1]]
        colour = INK if row["passed"] else MISSED
        axes.plot([min(ends[0], at), max(ends[1], at)], [place, place], color=colour, linewidth=1)
        axes.plot([at], [place], "o", color=colour, markersize=4)
    names = [f"{row['analysis']}: {row['metric']}" for row in reversed(gates)]
    axes.set_yticks(range(len(gates)), names, fontsize=7)
    axes.set(xlabel="share of the error that the gate allows", xlim=(-0.05, FARTHEST + 0.05))
    axes.margins(y=0.01)
    return png(picture)


def _dates(off: pl.Series) -> bytes:
    """How many next dates are how many days off."""
    days = range(-MOST_DAYS, MOST_DAYS + 1)
    counts = dict(off.drop_nulls().clip(-MOST_DAYS, MOST_DAYS).value_counts().iter_rows())
    picture = Picture(figsize=(6.5, 3.5), layout="constrained")
    axes = picture.subplots()
    axes.bar(list(days), [counts.get(day, 0) / max(off.len(), 1) for day in days], color=INK)
    axes.set(xlabel=f"days after the true date; at the ends, {MOST_DAYS} and more", ylabel="share of contracts")
    return png(picture)


def _cashflow(forecasts: pl.DataFrame) -> bytes:
    """The next month as it was forecast, against what it was."""
    picture = Picture(figsize=(8, 4), layout="constrained")
    for axes, name in zip(picture.subplots(1, 2), ("EXPENSES", "INCOME"), strict=True):
        of = forecasts.filter(pl.col("aggregate") == name).select(pl.col("cents", "next").abs() / 100)
        most = max(of["next"].quantile(0.98) or 1.0, 1.0) * 1.1
        axes.plot([0, most], [0, most], color=SOFT)
        axes.plot(of["next"].clip(0, most), of["cents"].clip(0, most), ".", color=INK, alpha=0.5)
        axes.set(title=name.lower(), xlabel="euros in the next month", ylabel="euros as forecast")
    return png(picture)


def _number(value: float) -> str:
    return f"{value:.3f}"
