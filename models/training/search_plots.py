"""The course of a search and its learning curve, drawn as PNG."""

import io

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK, PALE = "#1f4e79", "#8fb4d9"


def course(trials: pl.DataFrame, scoring: str) -> bytes:
    """The score of every trial over the lines it was given, round by round; the best of the last round is dark."""
    picture = Figure(figsize=(6.5, 4), layout="constrained")
    axes = picture.subplots()
    last = trials.filter(pl.col("round") == pl.col("round").max())
    best = last.sort("score", descending=True)["trial"].first()
    for (number,), trial in trials.sort("round").group_by("trial", maintain_order=True):
        colour, width, order = (INK, 2.0, 3) if number == best else (PALE, 1.0, 2)
        axes.plot(trial["lines"], trial["score"], marker="o", color=colour, linewidth=width, zorder=order)
    axes.set(xscale="log", xlabel="lines", ylabel=f"{scoring}, unseen merchants")
    return _png(picture)


def curve(points: pl.DataFrame, scoring: str) -> bytes:
    """The scores on seen and unseen merchants over the number of lines learned from."""
    picture = Figure(figsize=(6.5, 4), layout="constrained")
    axes = picture.subplots()
    for name, colour in (("seen", PALE), ("unseen", INK)):
        axes.plot(points["lines"], points[name], marker="o", color=colour, label=f"{name} merchants")
    axes.set(xlabel="lines learned from", ylabel=scoring)
    axes.legend(frameon=False)
    return _png(picture)


def _png(picture: Figure) -> bytes:
    """The picture without the date and version that would make equal ones differ."""
    buffer = io.BytesIO()
    FigureCanvasAgg(picture)
    picture.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
