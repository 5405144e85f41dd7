"""What a pass over rows reads, and what it lays over the categories that lines have got.

An overlay has only the rows that the pass decides. A row is named by its place among all rows, and by its id for whoever reads
the overlay.
"""

from dataclasses import dataclass

import polars as pl

OVERLAY = pl.Schema(
    {
        "row": pl.UInt32,
        "id": pl.String,
        "category": pl.String,
        "confidence": pl.Float64,
        "reason": pl.String,
        "effective_category": pl.String,
        "refund_of": pl.String,
        "pair_of": pl.String,
    }
)


@dataclass(frozen=True)
class Bookings:
    """Rows and their lines: what a line says is looked up only for the rows and columns that are asked for."""

    rows: pl.DataFrame
    """Each with the place of its `line`."""
    lines: pl.DataFrame

    def columns(self) -> set[str]:
        """All that can be asked for."""
        return {*self.rows.columns, *self.lines.columns}

    def of(self, places: pl.Series | None, *columns: str) -> pl.DataFrame:
        """These columns of the rows at some places, or of all rows."""
        own = [name for name in columns if name in self.rows.columns]
        said = [name for name in columns if name not in own]
        rows = self.rows.select(own) if places is None else self.rows.select(pl.col(own).gather(places))
        if not said:
            return rows
        line = self.rows["line"] if places is None else self.rows["line"].gather(places)
        return rows.hstack(self.lines.select(pl.col(said).gather(line))).select(columns)


Rows = pl.DataFrame | Bookings


def picked(rows: Rows, chosen: pl.Expr, *columns: str, **said: object) -> pl.DataFrame:
    """Of the chosen rows these columns, and those that may be missing or empty, filled with the given value."""
    known = rows if isinstance(rows, Bookings) else Bookings(rows, pl.DataFrame())
    asked = known.of(None, *dict.fromkeys(chosen.meta.root_names()))
    places = asked.select(pl.arg_where(chosen)).to_series()
    there = [name for name in said if name in known.columns()]
    filled = [pl.col(name).fill_null(said[name]) if name in there else pl.lit(said[name]).alias(name) for name in said]
    return known.of(places, *columns, *there).with_columns(filled)
