"""Compiled functions."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.kernels import compiled


@compiled
def _total(numbers: NDArray[np.int64]) -> int:
    total = 0
    for number in numbers:
        total += number
    return total


def test_what_may_be_written_and_what_may_not_have_one_machine_code() -> None:
    """Polars gives both for the same column: a part of it as it lies, and what it had to put together as a copy."""
    given = pl.Series([1, 2, 3]).to_numpy(), np.array([1, 2, 3])
    assert [numbers.flags.writeable for numbers in given] == [False, True]
    assert [_total(numbers) for numbers in given] == [6, 6]
    assert len(_total.signatures) == 1  # type: ignore[attr-defined]
