"""How good tags are, to read: a report as JSON for programs, as Markdown and pictures for people.

Here belongs the look of a report. Its figures come from `models.evaluation`, its verdicts from `models.evaluation.gates`.
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
from models.evaluation.gates import verdicts
from models.evaluation.metrics import Figure
from models.evaluation.tables import by_class, cells, confusions, reliability

WORST = 12
INK, SOFT = "#1f4e79", "#d0d7de"


def report(
    judged: pl.DataFrame, figures: Mapping[str, Figure], about: Mapping[str, Any], baselines: Mapping[str, Figure] | None = None
) -> dict[str, Any]:
    """Everything that is known about the quality of a model, as plain values; `judged` is `evaluation.JUDGED`."""
    return {
        "about": dict(about),
        "figures": {name: found.as_dict() for name, found in figures.items()},
        "gates": verdicts(figures),
        "baselines": {name: found.as_dict() for name, found in (baselines or {}).items()},
        "cells": cells(judged, times=200).to_dicts(),
        "reliability": reliability(judged).to_dicts(),
        "classes": by_class(judged).to_dicts(),
        "confusions": confusions(judged).to_dicts(),
    }


def write(told: Mapping[str, Any], folder: Path, name: str = "quality") -> list[Path]:
    """Writes `<name>.json`, `<name>.md` and the pictures; returns what was written."""
    pictures = {"reliability": _reliability, "confusions": _confusions, "cells": _cells}
    files = {f"{name}.json": json.dumps(told, ensure_ascii=False, indent=1).encode(), f"{name}.md": markdown(told, name).encode()}
    files |= {f"{name}-{which}.png": draw(told) for which, draw in pictures.items()}
    for path, content in files.items():
        write_atomically(folder / path, content)
    return [folder / path for path in files]


def markdown(told: Mapping[str, Any], name: str = "quality") -> str:
    """The report as a page."""
    gates = [
        {
            "analysis": row["analysis"],
            "metric": row["metric"],
            "value": _interval(row),
            "gate": f"{'≥' if row['higher_is_better'] else '≤'} {row['gate']}",
            "moonshot": row["moonshot"],
            "": "moonshot" if row["moonshot_reached"] else "passed" if row["passed"] else "**missed**",
        }
        for row in told["gates"]
    ]
    baselines = [{"baseline": label, "accuracy": _interval(found)} for label, found in told["baselines"].items()]
    table_of_cells = [
        {
            "merchant": _seen(row["merchant_seen"]),
            "format": _seen(row["format_seen"]),
            "bookings": row["rows"],
            **{key: f"{row[key]:.4f}" for key in ("accuracy", "macro_f1", "value_share", "calibration_error")},
        }
        for row in told["cells"]
    ]
    classes = [{**row, **{key: _share(row[key]) for key in ("precision", "recall", "f1")}} for row in told["classes"]]
    wrong = [{**row, "share": _share(row["share"])} for row in told["confusions"]]
    about = [f"- {key}: {value}" for key, value in told["about"].items()]
    parts = [
        ("Gates", table(gates)),
        ("Merchants and formats, seen and unseen", f"{table(table_of_cells)}\n\n![Cells]({name}-cells.png)"),
        ("Baselines", table(baselines)),
        ("Confidence", f"![Reliability]({name}-reliability.png)"),
        ("Worst confusions", f"{table(wrong)}\n\n![Confusions]({name}-confusions.png)"),
        ("Categories", table(classes)),
    ]
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in parts if text)
    return "\n".join(["# Quality", "", *about, "", "Intervals: 95 of 100 resamples of merchants or users.", "", body, ""])


def table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _interval(row: Mapping[str, Any]) -> str:
    return f"{row['value']:.4f} ({row['low']:.4f}–{row['high']:.4f})"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _seen(value: bool) -> str:
    return "seen" if value else "unseen"


def _reliability(told: Mapping[str, Any]) -> bytes:
    """Accuracy over confidence; bars show how many bookings there are."""
    rows, picture = told["reliability"], Picture(figsize=(5, 4.2), layout="constrained")
    axes = picture.subplots()
    whole = max(sum(row["rows"] for row in rows), 1)
    axes.bar([row["confidence"] for row in rows], [row["rows"] / whole for row in rows], width=0.05, color=SOFT, label="share")
    axes.plot([0, 1], [0, 1], color="#888", linewidth=1, linestyle="--")
    axes.plot([row["confidence"] for row in rows], [row["accuracy"] for row in rows], marker="o", color=INK, label="accuracy")
    axes.set(xlabel="confidence", ylabel="accuracy", xlim=(0, 1.02), ylim=(0, 1.02))
    axes.legend(loc="upper left", frameon=False)
    return png(picture)


def _confusions(told: Mapping[str, Any]) -> bytes:
    """What is taken for what, among the classes of the most frequent mistakes."""
    rows = told["confusions"][:WORST]
    truths, said = list(dict.fromkeys(row["truth"] for row in rows)), list(dict.fromkeys(row["prediction"] for row in rows))
    shares = [
        [next((row["share"] for row in rows if (row["truth"], row["prediction"]) == (truth, name)), 0.0) for name in said]
        for truth in truths
    ]
    picture = Picture(figsize=(8, 6), layout="constrained")
    axes = picture.subplots()
    if rows:
        drawn = axes.imshow(shares, cmap="Blues", vmin=0, aspect="auto")
        picture.colorbar(drawn, label="share of the true category")
        axes.set_xticks(range(len(said)), said, rotation=60, ha="right", fontsize=7)
        axes.set_yticks(range(len(truths)), truths, fontsize=7)
    axes.set(xlabel="said", ylabel="true")
    return png(picture)


def _cells(told: Mapping[str, Any]) -> bytes:
    """Accuracy and macro-F1 of the four cells, with intervals."""
    rows, picture = told["cells"], Picture(figsize=(6.5, 3.8), layout="constrained")
    axes = picture.subplots()
    for shift, (key, colour) in enumerate({"accuracy": INK, "macro_f1": "#8fb4d9"}.items()):
        places = [place + 0.38 * shift for place in range(len(rows))]
        reach = [[max(row[key] - row[f"{key}_low"], 0) for row in rows], [max(row[f"{key}_high"] - row[key], 0) for row in rows]]
        axes.bar(places, [row[key] for row in rows], width=0.36, color=colour, yerr=reach, capsize=3, label=key.replace("_", " "))
    labels = [f"merchant {_seen(row['merchant_seen'])}\nformat {_seen(row['format_seen'])}" for row in rows]
    axes.set_xticks([place + 0.19 for place in range(len(rows))], labels, fontsize=8)
    axes.set(ylim=(0, 1.05))
    axes.legend(frameon=False, ncols=2, loc="lower left")
    return png(picture)


def png(picture: Picture) -> bytes:
    """The picture without the date and version that would make equal pictures differ."""
    buffer = io.BytesIO()
    FigureCanvasAgg(picture)
    picture.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
