"""Charts of counts, as PNG. Charts of an evaluation are drawn by `models.evaluation.reports`."""

import io
from collections.abc import Iterable

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

MAX_BARS = 25
LEFT_MARGIN_SHARE = 0.36
"""The left margin for the names. A fixed value, because computing it would draw everything twice."""


def bars(parts: Iterable[pl.Series], unit: str) -> bytes:
    """A bar chart of the most frequent values of all parts, the most frequent one on top. One part after the other is counted."""
    part_counts = [values.fill_null("none").alias("value").value_counts(name="count") for values in parts]
    counts = pl.concat(part_counts).group_by("value").agg(pl.sum("count")).sort("count", "value").tail(MAX_BARS)
    picture = Figure(figsize=(7, 1 + 0.15 * counts.height))
    axes = picture.subplots(gridspec_kw={"left": LEFT_MARGIN_SHARE, "right": 0.98, "top": 0.98, "bottom": 0.13})
    axes.barh(counts["value"].to_list(), counts["count"].to_list(), color="#1f4e79")
    axes.set(xlabel=unit)
    axes.tick_params(axis="y", labelsize=6)
    axes.margins(y=0.01)
    FigureCanvasAgg(picture)
    out = io.BytesIO()
    picture.savefig(out, format="png", dpi=64, metadata={"Software": None})
    return out.getvalue()
