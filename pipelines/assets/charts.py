"""Pictures of counts, as PNG. Those of an examination are drawn by `models.evaluation.reports`."""

import io

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

MOST = 25
LEFT = 0.36
"""Where the bars begin: the names stand before them. Said here, since having it computed draws everything twice."""


def bars(values: pl.Series, unit: str) -> bytes:
    """How often the most frequent values occur: a bar for each, the most frequent one on top."""
    counts = values.fill_null("none").alias("value").value_counts(name="count").sort("count", "value").tail(MOST)
    picture = Figure(figsize=(7, 1 + 0.15 * counts.height))
    axes = picture.subplots(gridspec_kw={"left": LEFT, "right": 0.98, "top": 0.98, "bottom": 0.13})
    axes.barh(counts["value"].to_list(), counts["count"].to_list(), color="#1f4e79")
    axes.set(xlabel=unit)
    axes.tick_params(axis="y", labelsize=6)
    axes.margins(y=0.01)
    FigureCanvasAgg(picture)
    out = io.BytesIO()
    picture.savefig(out, format="png", dpi=64, metadata={"Software": None})
    return out.getvalue()
