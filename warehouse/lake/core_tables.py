"""The tables of the lake that fetching and erasing use. They stand apart from the results of analyses, which load numba: a job
worker starts a third faster without it.
"""

import polars as pl

from analytics import frames
from warehouse.lake.parquet import LakeTable

LANDING = LakeTable(
    "landing",
    pl.Schema(
        [
            *((name, pl.String) for name in ("tenant", "user", "access", "fetch", "product")),
            ("fetched_at", pl.Datetime("us", "UTC")),
            ("complete_from", pl.Date),
            *frames.BOOKINGS.items(),
        ]
    ),
    landing=True,
)
"""The answers of banks."""
TOMBSTONES = LakeTable("tombstones", pl.Schema({"id": pl.String, "kind": pl.String, "user": pl.String, "tenant": pl.String}))
"""Ids of what was erased, so that no restored database brings it back."""
