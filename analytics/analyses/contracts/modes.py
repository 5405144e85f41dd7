"""The most frequent value in each group."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.contracts.rhythm import Integers
from analytics.native.compiling import compiled


def most_frequent(starts: Integers, texts: pl.Series) -> pl.Series:
    """The most frequent text of each group, of equally frequent ones the last. Groups lie one after the other."""
    mode_rows = np.zeros(starts.size - 1, np.int64)
    _most_frequent(starts, texts.hash().to_numpy().astype(np.uint64), mode_rows)
    return texts.gather(mode_rows)


@compiled
def _most_frequent(starts: Integers, hashes: NDArray[np.uint64], mode_rows: Integers) -> None:
    for group in range(starts.size - 1):
        most = 0
        for last in range(starts[group + 1] - 1, starts[group] - 1, -1):
            if last - starts[group] + 1 <= most:  # too few are left
                break
            count = 0
            for row in range(starts[group], starts[group + 1]):
                if hashes[row] == hashes[last]:
                    if row > last:  # counted already
                        count = 0
                        break
                    count += 1
            if count > most:
                most, mode_rows[group] = count, last
