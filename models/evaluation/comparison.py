"""A candidate compared with the model in use: figure by figure, and the changes of categories. Counts, never texts.

Both were evaluated in the same world. The report on a single model is in `models.evaluation.reports`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from models.categoriser.file import write_atomically
from models.evaluation.gates import BY_NAME
from models.evaluation.reports import png, table
from models.evaluation.tables import changes

BETTER, WORSE = "#2e7d4f", "#b3392f"
MAX_CHANGES = 20
NAME = "comparison"


def compare(
    candidate: Mapping[str, Any], incumbent: Mapping[str, Any], bookings: pl.DataFrame, incumbent_bookings: pl.DataFrame
) -> dict[str, Any]:
    """Both reports side by side as plain values; the frames are the evaluated bookings of both (`LABELLED_BOOKINGS`)."""
    changed = changes(incumbent_bookings, bookings)
    return {
        "candidate": candidate["about"]["model"],
        "incumbent": incumbent["about"]["model"],
        "figures": _figures(candidate["gates"], incumbent["gates"]),
        "bookings": bookings.height,
        "changed": int(changed["rows"].sum()),
        "righted": int(changed["righted"].sum()),
        "wronged": int(changed["wronged"].sum()),
        "changes": changed.head(MAX_CHANGES).to_dicts(),
    }


def rows(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures as a narrow table to read."""
    return [
        {
            "figure": row["figure"],
            "candidate": row["candidate"],
            "in use": row["incumbent"],
            "better by": row["better_by"],
            "gate": f"{row['wanted']}{' (hard)' if row['hard'] else ''}",
            "verdict": "passed" if row["passed"] else "missed",
        }
        for row in comparison["figures"]
    ]


def moves(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The changes of categories as a table to read."""
    return [
        {
            "before → now": f"{row['before']} → {row['now']}",
            "bookings": row["rows"],
            "mended": row["righted"],
            "spoilt": row["wronged"],
        }
        for row in comparison["changes"]
    ]


def summary(comparison: Mapping[str, Any]) -> str:
    """The number of bookings whose category changed, as a sentence."""
    share = comparison["changed"] / max(comparison["bookings"], 1)
    return (
        f"{comparison['changed']} of {comparison['bookings']} bookings ({share:.1%}) get another category: "
        f"{comparison['righted']} are right now, {comparison['wronged']} were right before."
    )


def write(comparison: Mapping[str, Any], reasons: list[str], folder: Path) -> None:
    """Writes `comparison.json`, `comparison.md` and `comparison.png`."""
    files = {"json": json.dumps(comparison, ensure_ascii=False, indent=1).encode(), "md": markdown(comparison, reasons).encode()}
    for kind, content in {**files, "png": picture(comparison)}.items():
        write_atomically(folder / f"{NAME}.{kind}", content)


def markdown(comparison: Mapping[str, Any], reasons: list[str]) -> str:
    """The comparison as a page."""
    against = "\n".join(f"- {reason}" for reason in reasons) or "None: it may replace the model in use."
    figures = [{name: _text(name, value) for name, value in row.items()} for row in rows(comparison)]
    parts = [
        f"# {comparison['candidate']} beside {comparison['incumbent']}, which is in use",
        f"## Objections\n\n{against}",
        f"## Figures\n\n{table(figures)}",
        f"## Changed categories\n\n{summary(comparison)}\n\n{table(moves(comparison))}",
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def picture(comparison: Mapping[str, Any]) -> bytes:
    """A chart of how much each figure is better or worse than that of the model in use, in percentage points."""
    chart = Picture(figsize=(8, 6.4), layout="constrained")
    axes = chart.subplots()
    measured = [row for row in comparison["figures"] if row["better_by"] == row["better_by"]][::-1]
    points = [round(100 * row["better_by"], 2) + 0.0 for row in measured]
    axes.barh(range(len(measured)), points, color=[BETTER if point >= 0 else WORSE for point in points])
    axes.set_yticks(range(len(measured)), [f"{row['figure']}{'' if row['passed'] else '  ✗'}" for row in measured], fontsize=7)
    for place, point in enumerate(points):
        axes.annotate(f"{point:+.2f}", (max(point, 0), place), (3, 0), textcoords="offset points", va="center", fontsize=7)
    axes.axvline(0, color="#888", linewidth=1)
    axes.margins(x=0.12, y=0.01)
    chart.suptitle(f"{comparison['candidate']} beside {comparison['incumbent']}", fontsize=9)
    axes.set(xlabel="better by … points of 100; ✗ misses its gate")
    return png(chart)


def _figures(candidate: list[dict[str, Any]], incumbent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    before = {row["name"]: row["value"] for row in incumbent}
    return [
        {
            "name": row["name"],
            "figure": f"{row['analysis']}: {row['metric']}",
            "candidate": row["value"],
            "incumbent": before.get(row["name"], float("nan")),
            "better_by": (row["value"] - before.get(row["name"], float("nan"))) * (1 if row["higher_is_better"] else -1),
            "low": row["low"],
            "high": row["high"],
            "wanted": BY_NAME[row["name"]].describe(row["gate"]),
            "hard": row["hard"],
            "passed": row["passed"],
        }
        for row in candidate
    ]


def _text(name: str, value: Any) -> str:
    if isinstance(value, float):
        rounded = round(value, 4) + 0.0  # no minus before nothing
        return f"{rounded:+.4f}" if name == "better by" else f"{rounded:.4f}"
    return f"**{value}**" if value == "missed" else str(value)
