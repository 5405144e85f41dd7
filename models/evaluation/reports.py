"""The report on tags: JSON for programs, Markdown and charts for people.

Here is the layout. Figures come from `models.evaluation.tables`, verdicts from `models.evaluation.gates`.
"""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture

from models.categoriser.file import write_atomically
from models.evaluation.gates import ungated, verdicts
from models.evaluation.metrics import Figure
from models.evaluation.tables import by_class, cells, confusions, reliability

MAX_CONFUSIONS = 12
INK, SOFT = "#1f4e79", "#d0d7de"


def report(
    bookings: pl.DataFrame,
    figures: Mapping[str, Figure],
    about: Mapping[str, Any],
    baselines: Mapping[str, Figure] | None = None,
    without_model: Mapping[str, Figure] | None = None,
) -> dict[str, Any]:
    """Every figure, table and verdict of an evaluation as plain values; `bookings` is `LABELLED_BOOKINGS`."""
    rules_alone = {name: figure.value for name, figure in (without_model or {}).items()}
    return {
        "about": dict(about),
        "figures": {name: figure.as_dict() for name, figure in figures.items()},
        "gates": [{**row, "without_model": rules_alone.get(row["name"])} for row in verdicts(figures)],
        "ungated": [{**row, "without_model": rules_alone.get(row["name"])} for row in ungated(figures)],
        "baselines": {name: figure.as_dict() for name, figure in (baselines or {}).items()},
        "cells": cells(bookings, times=200).to_dicts(),
        "reliability": reliability(bookings).to_dicts(),
        "classes": by_class(bookings).to_dicts(),
        "confusions": confusions(bookings).to_dicts(),
    }


def write(report: Mapping[str, Any], folder: Path, name: str = "quality") -> list[Path]:
    """Writes `<name>.json`, `<name>.md` and the charts; returns their paths."""
    charts = {"reliability": _reliability, "confusions": _confusions, "cells": _cells}
    files = {
        f"{name}.json": json.dumps(report, ensure_ascii=False, indent=1).encode(),
        f"{name}.md": markdown(report, name).encode(),
    }
    files |= {f"{name}-{chart}.png": draw(report) for chart, draw in charts.items()}
    for path, content in files.items():
        write_atomically(folder / path, content)
    return [folder / path for path in files]


def markdown(report: Mapping[str, Any], name: str = "quality") -> str:
    """The report as a Markdown page."""
    gates = [
        {
            **_figure_columns(row),
            "gate": f"{'≥' if row['higher_is_better'] else '≤'} {row['gate']}",
            "moonshot": row["moonshot"],
            "": "moonshot" if row["moonshot_reached"] else "passed" if row["passed"] else "**missed**",
        }
        for row in report["gates"]
    ]
    baselines = [{"baseline": label, "accuracy": _interval(figure)} for label, figure in report["baselines"].items()]
    cell_rows = [
        {
            "merchant": _seen(row["merchant_seen"]),
            "format": _seen(row["format_seen"]),
            "bookings": row["rows"],
            **{key: f"{row[key]:.4f}" for key in ("accuracy", "macro_f1", "value_share", "calibration_error")},
        }
        for row in report["cells"]
    ]
    classes = [{**row, **{key: _share(row[key]) for key in ("precision", "recall", "f1")}} for row in report["classes"]]
    confused = [{**row, "share": _share(row["share"])} for row in report["confusions"]]
    about = [f"- {key}: {value}" for key, value in report["about"].items()]
    parts = [
        ("Gates", table(gates)),
        ("Figures without a gate", table([_figure_columns(row) for row in report["ungated"]])),
        ("Merchants and formats, seen and unseen", f"{table(cell_rows)}\n\n![Cells]({name}-cells.png)"),
        ("Baselines", table(baselines)),
        ("Confidence", f"![Reliability]({name}-reliability.png)"),
        ("Worst confusions", f"{table(confused)}\n\n![Confusions]({name}-confusions.png)"),
        ("Categories", table(classes)),
    ]
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in parts if text)
    return "\n".join(["# Quality", "", *about, "", "Intervals: 95 of 100 resamples of merchants or users.", "", body, ""])


def table(rows: list[dict[str, Any]]) -> str:
    """A Markdown table."""
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figure_columns(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "analysis": row["analysis"],
        "metric": row["metric"],
        "value": _interval(row),
        "without model": "" if row["without_model"] is None else f"{row['without_model']:.4f}",
    }


def _interval(row: Mapping[str, Any]) -> str:
    return f"{row['value']:.4f} ({row['low']:.4f}–{row['high']:.4f})"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _seen(value: bool) -> str:
    return "seen" if value else "unseen"


def _reliability(report: Mapping[str, Any]) -> bytes:
    """A chart of accuracy over confidence; bars show the share of bookings."""
    rows, chart = report["reliability"], Picture(figsize=(5, 4.2), layout="constrained")
    axes = chart.subplots()
    whole = max(sum(row["rows"] for row in rows), 1)
    axes.bar([row["confidence"] for row in rows], [row["rows"] / whole for row in rows], width=0.05, color=SOFT, label="share")
    axes.plot([0, 1], [0, 1], color="#888", linewidth=1, linestyle="--")
    axes.plot([row["confidence"] for row in rows], [row["accuracy"] for row in rows], marker="o", color=INK, label="accuracy")
    axes.set(xlabel="confidence", ylabel="accuracy", xlim=(0, 1.02), ylim=(0, 1.02))
    axes.legend(loc="upper left", frameon=False)
    return png(chart)


def _confusions(report: Mapping[str, Any]) -> bytes:
    """A confusion matrix of the most frequent mistakes."""
    rows = report["confusions"][:MAX_CONFUSIONS]
    truths, predictions = (
        list(dict.fromkeys(row["truth"] for row in rows)),
        list(dict.fromkeys(row["prediction"] for row in rows)),
    )
    shares = [
        [next((row["share"] for row in rows if (row["truth"], row["prediction"]) == (truth, name)), 0.0) for name in predictions]
        for truth in truths
    ]
    chart = Picture(figsize=(8, 6), layout="constrained")
    axes = chart.subplots()
    if rows:
        image = axes.imshow(shares, cmap="Blues", vmin=0, aspect="auto")
        chart.colorbar(image, label="share of the true category")
        axes.set_xticks(range(len(predictions)), predictions, rotation=60, ha="right", fontsize=7)
        axes.set_yticks(range(len(truths)), truths, fontsize=7)
    axes.set(xlabel="said", ylabel="true")
    return png(chart)


def _cells(report: Mapping[str, Any]) -> bytes:
    """A chart of accuracy and macro-F1 of the four cells, with intervals."""
    rows, chart = report["cells"], Picture(figsize=(6.5, 3.8), layout="constrained")
    axes = chart.subplots()
    for shift, (key, colour) in enumerate({"accuracy": INK, "macro_f1": "#8fb4d9"}.items()):
        places = [place + 0.38 * shift for place in range(len(rows))]
        reach = [[max(row[key] - row[f"{key}_low"], 0) for row in rows], [max(row[f"{key}_high"] - row[key], 0) for row in rows]]
        axes.bar(places, [row[key] for row in rows], width=0.36, color=colour, yerr=reach, capsize=3, label=key.replace("_", " "))
    labels = [f"merchant {_seen(row['merchant_seen'])}\nformat {_seen(row['format_seen'])}" for row in rows]
    axes.set_xticks([place + 0.19 for place in range(len(rows))], labels, fontsize=8)
    axes.set(ylim=(0, 1.05))
    axes.legend(frameon=False, ncols=2, loc="lower left")
    return png(chart)


def png(chart: Picture) -> bytes:
    """The chart as PNG, without the date and version that would make equal charts differ."""
    buffer = io.BytesIO()
    FigureCanvasAgg(chart)
    chart.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
