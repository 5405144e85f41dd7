"""Bookings as the passes over a user's bookings read them, and the layers of tags that passes overlay.

An overlay (`OVERLAY`) has only the rows that a pass decides. `row` is the row's place among all rows, `id` is for its readers.
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
BOOKING_COLUMNS = (
    "row",
    "id",
    "user",
    "product",
    "booked_on",
    "amount_cents",
    "pending",
    "counterparty_iban",
    "counterparty_key",
)
"""The columns in which bookings of the same line may differ."""


class Layer:
    """Columns that each row has from its line, until a pass overlays other values."""

    def __init__(self, values: pl.DataFrame, line: pl.Series) -> None:
        self.columns = values.columns
        self._pieces, self._value_rows, self._height = [values], line, values.height

    def overlay(self, rows: pl.Series, values: pl.DataFrame) -> None:
        """Gives these rows new values."""
        if rows.is_empty():
            return
        value_rows = pl.int_range(self._height, self._height + values.height, dtype=pl.UInt32, eager=True)
        self._value_rows = self._value_rows.clone().scatter(rows, value_rows)
        self._pieces.append(values.select(self.columns))
        self._height += values.height

    def select(self, rows: pl.Series | None, columns: list[str]) -> pl.DataFrame:
        """The current values of these rows, or of all."""
        pieces = [piece[columns] for piece in self._pieces]
        values = pl.concat(pieces, rechunk=True) if len(pieces) > 1 else pieces[0]
        return values[self._value_rows if rows is None else self._value_rows[rows]]


@dataclass(frozen=True)
class LayeredBookings:
    """Rows and their lines: columns of lines are gathered only for the rows and columns that a pass selects.

    Users, products and counterparties are hashes here, since they are only compared; an unnamed counterparty is null.
    """

    rows: pl.DataFrame
    """Each row with the row number of its `line`."""
    lines: pl.DataFrame
    layers: tuple[Layer, ...] = ()

    def columns(self) -> set[str]:
        """All columns that can be selected."""
        return {*self.rows.columns, *self.lines.columns, *(name for layer in self.layers for name in layer.columns)}

    def select(self, rows: pl.Series | None, *columns: str) -> pl.DataFrame:
        """These columns of these rows, or of all rows: from the rows themselves, else from a layer, else from the lines."""
        gathered = set(self.rows.columns)
        own_columns = [name for name in columns if name in gathered]
        parts = [self.rows[own_columns] if rows is None else self.rows[own_columns][rows]] if own_columns else []
        for layer in (*self.layers, Layer(self.lines, self.rows["line"])):
            layer_columns = [name for name in columns if name in layer.columns and name not in gathered]
            if layer_columns:
                parts.append(layer.select(rows, layer_columns))
                gathered.update(layer_columns)
        return pl.concat(parts, how="horizontal")[list(columns)]

    def with_line_columns(self, **columns: pl.Expr) -> "LayeredBookings":
        """The same with more columns of lines."""
        return replace(self, lines=self.lines.with_columns(**columns))

    def with_line_defaults(self, **defaults: object) -> "LayeredBookings":
        """The same with these values where lines lack the column or have null in it."""
        present = self.lines.columns
        return self.with_line_columns(
            **{name: pl.col(name).fill_null(value) if name in present else pl.lit(value) for name, value in defaults.items()}
        )

    def rows_where(self, condition: pl.Expr, **line_columns: pl.Expr) -> pl.Series:
        """The numbers of the rows that meet a condition on their own columns and on these columns of their lines."""
        rows = self.rows.hstack(self.lines.select(**line_columns)[self.rows["line"]]) if line_columns else self.rows
        return rows.select(pl.arg_where(condition)).to_series()


BookingRows = pl.DataFrame | LayeredBookings


def user_and_product_numbers() -> pl.Expr:
    """Users and products as the hashes by which they are compared."""
    return pl.col("user", "product").hash()


def counterparty_number() -> pl.Expr:
    """The hash of a counterparty, null without a name."""
    return pl.when(pl.col("counterparty_key") != "").then(pl.col("counterparty_key").hash())


def per_user(number: pl.Expr) -> pl.Expr:
    """The number combined with the user, so that equal numbers of two users differ."""
    return pl.col("user").hash() ^ number


def layered_bookings(rows: BookingRows) -> LayeredBookings:
    """A frame of rows as bookings, each with a line of its own."""
    if isinstance(rows, LayeredBookings):
        return rows
    own_columns = rows.select(BOOKING_COLUMNS).with_columns(
        user_and_product_numbers(),
        compared(rows["counterparty_iban"]),
        counterparty_key=counterparty_number(),
        line=pl.int_range(pl.len(), dtype=pl.UInt32),
    )
    return LayeredBookings(own_columns, rows.drop(BOOKING_COLUMNS))
