"""Compiled functions."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.native.columns import WIDTH, text_at, texts
from analytics.native.compiling import compiled


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


@compiled
def _sizes(table: int, sizes: NDArray[np.int64]) -> None:
    for row in range(sizes.shape[0]):
        for column in range(2):
            begin, end = text_at(table + WIDTH * column, row)
            sizes[row, column] = end - begin


def test_every_column_of_texts_is_read_in_a_loop_whose_length_is_known() -> None:
    """The loop is unrolled, so that the number of the first column is the constant 0."""
    source = texts(pl.Series(["a text that is long", "b"]), pl.Series([None, "too"]))
    sizes = np.full((2, 2), -1)
    _sizes(source.address, sizes)
    assert sizes.tolist() == [[19, 0], [1, 3]]
