"""A candidate beside the model in use: figure by figure, and which category became which one. Counts, never texts.

Both were examined on the same world. What each of them reaches by itself is told by `models.evaluation.reports`.
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
MOST = 20
NAME = "comparison"


def compared(
    candidate: Mapping[str, Any], incumbent: Mapping[str, Any], judged: pl.DataFrame, judged_before: pl.DataFrame
) -> dict[str, Any]:
    """Both reports side by side as plain values; the frames are the judged bookings of both (`evaluation.JUDGED`)."""
    changed = changes(judged_before, judged)
    return {
        "candidate": candidate["about"]["model"],
        "incumbent": incumbent["about"]["model"],
        "figures": _figures(candidate["gates"], incumbent["gates"]),
        "bookings": judged.height,
        "changed": int(changed["rows"].sum()),
        "righted": int(changed["righted"].sum()),
        "wronged": int(changed["wronged"].sum()),
        "changes": changed.head(MOST).to_dicts(),
    }


def rows(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures to read, narrow enough for a table beside other things."""
    return [
        {
            "figure": row["figure"],
            "candidate": row["candidate"],
            "in use": row["incumbent"],
            "better by": row["better_by"],
            "gate": f"{row['wanted']}{' (hard)' if row['hard'] else ''}",
            "verdict": "passed" if row["passed"] else "missed",
        }
        for row in told["figures"]
    ]


def moves(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Which category became which one, to read."""
    return [
        {
            "before → now": f"{row['before']} → {row['now']}",
            "bookings": row["rows"],
            "mended": row["righted"],
            "spoilt": row["wronged"],
        }
        for row in told["changes"]
    ]


def summary(told: Mapping[str, Any]) -> str:
    """How many bookings got another category, as a sentence."""
    share = told["changed"] / max(told["bookings"], 1)
    return (
        f"{told['changed']} of {told['bookings']} bookings ({share:.1%}) get another category: "
        f"{told['righted']} are right now, {told['wronged']} were right before."
    )


def write(told: Mapping[str, Any], reasons: list[str], folder: Path) -> None:
    """Writes `comparison.json`, `comparison.md` and `comparison.png`."""
    files = {"json": json.dumps(told, ensure_ascii=False, indent=1).encode(), "md": markdown(told, reasons).encode()}
    for kind, content in {**files, "png": picture(told)}.items():
        write_atomically(folder / f"{NAME}.{kind}", content)


def markdown(told: Mapping[str, Any], reasons: list[str]) -> str:
    """The comparison as a page."""
    against = "\n".join(f"- {reason}" for reason in reasons) or "None: it may replace the model in use."
    figures = [{name: _text(name, value) for name, value in row.items()} for row in rows(told)]
    parts = [
        f"# {told['candidate']} beside {told['incumbent']}, which is in use",
        f"## Objections\n\n{against}",
        f"## Figures\n\n{table(figures)}",
        f"## Changed categories\n\n{summary(told)}\n\n{table(moves(told))}",
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def picture(told: Mapping[str, Any]) -> bytes:
    """By how much each figure is better or worse than that of the model in use, in points of a hundred."""
    drawn = Picture(figsize=(8, 6.4), layout="constrained")
    axes = drawn.subplots()
    found = [row for row in told["figures"] if row["better_by"] == row["better_by"]][::-1]
    points = [round(100 * row["better_by"], 2) + 0.0 for row in found]
    axes.barh(range(len(found)), points, color=[BETTER if point >= 0 else WORSE for point in points])
    axes.set_yticks(range(len(found)), [f"{row['figure']}{'' if row['passed'] else '  ✗'}" for row in found], fontsize=7)
    for place, point in enumerate(points):
        axes.annotate(f"{point:+.2f}", (max(point, 0), place), (3, 0), textcoords="offset points", va="center", fontsize=7)
    axes.axvline(0, color="#888", linewidth=1)
    axes.margins(x=0.12, y=0.01)
    drawn.suptitle(f"{told['candidate']} beside {told['incumbent']}", fontsize=9)
    axes.set(xlabel="better by … points of 100; ✗ misses its gate")
    return png(drawn)


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
            "wanted": BY_NAME[row["name"]].wanted(row["gate"]),
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
