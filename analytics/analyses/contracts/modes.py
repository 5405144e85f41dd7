"""What most of the bookings of a contract have in common."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.contracts.rhythm import Integers
from analytics.native.compiling import compiled


def most_frequent(starts: Integers, texts: pl.Series) -> pl.Series:
    """The most frequent text of each group; of equal ones that which comes last. Groups lie one behind the other."""
    places = np.zeros(starts.size - 1, np.int64)
    _most_frequent(starts, texts.hash().to_numpy().astype(np.uint64), places)
    return texts.gather(places)


@compiled
def _most_frequent(starts: Integers, hashes: NDArray[np.uint64], places: Integers) -> None:
    for group in range(starts.size - 1):
        most = 0
        for last in range(starts[group + 1] - 1, starts[group] - 1, -1):
            if last - starts[group] + 1 <= most:  # too few are left
                break
            count = 0
            for place in range(starts[group], starts[group + 1]):
                if hashes[place] == hashes[last]:
                    if place > last:  # counted already
                        count = 0
                        break
                    count += 1
            if count > most:
                most, places[group] = count, last
