"""What a pass over rows reads, and what it lays over the categories that lines have got.

An overlay has only the rows that the pass decides. A row is named by its place among all rows, and by its id for whoever reads
the overlay.
"""

from dataclasses import dataclass, replace

import polars as pl

from analytics.bank_text.ibans import compared

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
OWN = ("row", "id", "user", "product", "booked_on", "amount_cents", "pending", "counterparty_iban", "counterparty_key")
"""What bookings of the same line may differ in."""


class Layer:
    """Columns that a row has from its line, until something else is laid over them."""

    def __init__(self, said: pl.DataFrame, line: pl.Series) -> None:
        self.columns = said.columns
        self._pieces, self._at, self._height = [said], line, said.height

    def lay(self, rows: pl.Series, said: pl.DataFrame) -> None:
        """Has some rows say something else from now on."""
        if rows.is_empty():
            return
        places = pl.int_range(self._height, self._height + said.height, dtype=pl.UInt32, eager=True)
        self._at = self._at.clone().scatter(rows, places)
        self._pieces.append(said.select(self.columns))
        self._height += said.height

    def of(self, places: pl.Series | None, names: list[str]) -> pl.DataFrame:
        """What the rows at some places say now, or all rows."""
        pieces = [piece[names] for piece in self._pieces]
        said = pl.concat(pieces, rechunk=True) if len(pieces) > 1 else pieces[0]
        return said[self._at if places is None else self._at[places]]


@dataclass(frozen=True)
class LayeredBookings:
    """Rows and their lines: what a line says is looked up only for the rows and columns that are asked for.

    Users, products and counterparties are compared only, so they are numbers here; a counterparty that has no name is missing.
    """

    rows: pl.DataFrame
    """Each with the place of its `line`."""
    lines: pl.DataFrame
    layers: tuple[Layer, ...] = ()

    def columns(self) -> set[str]:
        """All that can be asked for."""
        return {*self.rows.columns, *self.lines.columns, *(name for layer in self.layers for name in layer.columns)}

    def of(self, places: pl.Series | None, *columns: str) -> pl.DataFrame:
        """These columns of the rows at some places, or of all rows."""
        there = set(self.rows.columns)
        own = [name for name in columns if name in there]
        parts = [self.rows[own] if places is None else self.rows[own][places]] if own else []
        for layer in (*self.layers, Layer(self.lines, self.rows["line"])):
            said = [name for name in columns if name in layer.columns and name not in there]
            if said:
                parts.append(layer.of(places, said))
                there.update(said)
        return pl.concat(parts, how="horizontal")[list(columns)]

    def saying(self, **said: pl.Expr) -> "LayeredBookings":
        """The same with more said of each line."""
        return replace(self, lines=self.lines.with_columns(**said))

    def filled(self, **said: object) -> "LayeredBookings":
        """The same with these values of lines that do not have the columns, or nothing in them."""
        there = self.lines.columns
        return self.saying(
            **{name: pl.col(name).fill_null(value) if name in there else pl.lit(value) for name, value in said.items()}
        )

    def where(self, chosen: pl.Expr, **said: pl.Expr) -> pl.Series:
        """The places of the rows of which something holds, also of what is said of their lines."""
        rows = self.rows.hstack(self.lines.select(**said)[self.rows["line"]]) if said else self.rows
        return rows.select(pl.arg_where(chosen)).to_series()


Rows = pl.DataFrame | LayeredBookings


def numbered() -> pl.Expr:
    """Users and products as the numbers by which they are compared."""
    return pl.col("user", "product").hash()


def counterparty() -> pl.Expr:
    """The number of a counterparty."""
    return pl.when(pl.col("counterparty_key") != "").then(pl.col("counterparty_key").hash())


def of_user(number: pl.Expr) -> pl.Expr:
    """A number that is another one for every user."""
    return pl.col("user").hash() ^ number


def bookings(rows: Rows) -> LayeredBookings:
    """Rows as bookings, each with a line of its own."""
    if isinstance(rows, LayeredBookings):
        return rows
    own = rows.select(OWN).with_columns(
        numbered(),
        compared(rows["counterparty_iban"]),
        counterparty_key=counterparty(),
        line=pl.int_range(pl.len(), dtype=pl.UInt32),
    )
    return LayeredBookings(own, rows.drop(OWN))
