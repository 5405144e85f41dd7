"""The priors of partners, as a model needs them: logarithms by partner and class."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

PRIORS = pl.Schema({"partner": pl.String, "category": pl.String, "prior": pl.Float64})
"""The share of a partner's bookings that are of a category."""
PRIOR_FLOOR = 0.002
"""The prior of categories that `PRIORS` does not name."""


class PriorTable(NamedTuple):
    """Priors as a table: the frame they come from, the row of each partner, and the logarithms by row and class."""

    source: pl.DataFrame
    rows: pl.DataFrame
    logarithms: NDArray[np.float32]


class PartnerPriors:
    """Priors for the classes of a model, with the table of the last call: nearly always the same, and a tenth of a small call."""

    def __init__(self, classes: tuple[str, ...]) -> None:
        self.classes = classes
        self._latest: PriorTable | None = None

    def of_lines(
        self, lines: pl.DataFrame, priors: pl.DataFrame | None, power: float
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """The logarithms of the priors by partner and class, and each line's row in them, or -1."""
        if priors is None:
            return np.empty((0, len(self.classes)), np.float32), np.full(lines.height, -1, np.int32)
        latest = self._latest
        if latest is None or latest.source is not priors:
            latest = self._latest = self._table(priors)
        numbers = lines.select("partner").join(latest.rows, on="partner", how="left", maintain_order="left")["number"]
        return np.asarray(power * latest.logarithms, np.float32), numbers.fill_null(-1).to_numpy()

    def _table(self, priors: pl.DataFrame) -> PriorTable:
        """A class that stands in several columns has its prior in each of them."""
        columns = pl.DataFrame({"category": self.classes, "column": np.arange(len(self.classes), dtype=np.int32)})
        usable = priors.join(columns, on="category", maintain_order="left")
        partners = usable["partner"].unique(maintain_order=True)
        numbers = pl.DataFrame({"partner": partners, "number": np.arange(len(partners), dtype=np.int32)})
        table = np.full((len(partners), len(self.classes)), PRIOR_FLOOR, np.float32)
        rows = usable.join(numbers, on="partner", how="left", maintain_order="left")["number"].to_numpy()
        table[rows, usable["column"].to_numpy()] = np.maximum(usable["prior"].to_numpy(), PRIOR_FLOOR)
        return PriorTable(priors, numbers, np.log(table))
