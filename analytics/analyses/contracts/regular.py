"""The regular payments of a contract: one per slot, of about the usual amount, and no settlement or bonus."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.contracts.rhythm import Flags, Integers
from analytics.native.compiling import compiled, inner

SPECIAL_WORDS = (
    r"nachzahlung|nachforderung|nachberechnung|jahres(?:verbrauchs)?(?:ab)?rechnung|turnusabrechnung|schlussrechnung"
    r"|schlussabrechnung|(?:bk|nk|betriebskosten|nebenkosten|heizkosten)[ -]?abrechnung|guthaben|erstattung|mahngeb|mahnkosten"
    r"|bonus|sonderzahlung|weihnachtsgeld|urlaubsgeld|tantieme|pr(?:ä|ae)mie 20|einmalzahlung|inflationsausgleich|13\. ?gehalt"
)
"""Words in payments that come beside the regular ones."""
SPECIAL_STEMS = (
    "nachzahlung", "nachforderung", "nachberechnung", "rechnung", "guthaben", "erstattung", "mahngeb", "mahnkosten", "bonus",
    "sonderzahlung", "weihnachtsgeld", "urlaubsgeld", "tantieme", "mie 20", "einmalzahlung", "inflationsausgleich", "gehalt",
)  # fmt: skip
"""Each of these words contains one of these stems: they are searched faster, and only few texts have any."""
MAX_SPECIAL_SHARE = 0.5
"""If a larger share of payments has special words, the words are ignored."""
MAX_PAYMENTS_BEFORE = 5
"""The earlier payments that decide which of two in a slot is the regular one, at most this many."""
MAX_SIZE_FACTOR = 3.0
MAX_LEVEL_DIFFERENCE = 0.25
"""A payment that differs from its neighbours by a larger factor is not regular, unless one beside it has about the same size."""


def find_regular(rows: pl.DataFrame, starts: Integers, purposes: pl.Series) -> Flags:
    """By row whether it is a regular payment. Rows have `cents`, `slot` and `inlier`, by stream and day."""
    special = _has_special_words(purposes)
    is_regular = np.zeros(rows.height, np.bool_)
    sizes = rows["cents"].abs().cast(pl.Float64).to_numpy()
    _mark(starts, sizes, rows["slot"].to_numpy(), rows["inlier"].to_numpy(), special, is_regular)
    return is_regular


def _has_special_words(purposes: pl.Series) -> Flags:
    likely = purposes.str.contains_any(list(SPECIAL_STEMS), ascii_case_insensitive=True).arg_true()
    special = np.zeros(purposes.len(), np.bool_)
    special[likely.to_numpy()] = purposes[likely].str.to_lowercase().str.contains(SPECIAL_WORDS).to_numpy()
    return special


@compiled
def _mark(starts: Integers, sizes: NDArray[np.float64], slot: Integers, inlier: Flags, special: Flags, is_regular: Flags) -> None:
    buffer = np.empty(MAX_PAYMENTS_BEFORE)
    for stream in range(starts.size - 1):
        low, high = starts[stream], starts[stream + 1]
        if high - low == 1:
            is_regular[low] = True
            continue
        if special[low:high].sum() > MAX_SPECIAL_SHARE * (high - low):
            special[low:high] = False
        candidates = _one_in_each_slot(low, high, sizes, slot, inlier, special, buffer)
        for index in range(candidates.size):
            is_regular[candidates[index]] = _is_usual(candidates, index, sizes, buffer)


@inner
def _one_in_each_slot(
    low: int, high: int, sizes: NDArray[np.float64], slot: Integers, inlier: Flags, special: Flags, buffer: NDArray[np.float64]
) -> Integers:
    """The rows of one payment per slot: the one nearest to the median of those before."""
    fitting = inlier[low:high] & ~special[low:high]
    candidates = np.empty(high - low, np.int64)
    count = 0
    usual_size = np.median(sizes[low:high][fitting]) if fitting.any() else 0.0
    for row in range(low, high):
        if not fitting[row - low]:
            continue
        if count > 0 and slot[candidates[count - 1]] == slot[row]:
            before = count - 1
            expected_size = (
                _median(candidates, max(0, before - MAX_PAYMENTS_BEFORE), before, sizes, buffer) if before > 0 else usual_size
            )
            if abs(sizes[row] - expected_size) < abs(sizes[candidates[before]] - expected_size):
                candidates[before] = row
        else:
            candidates[count] = row
            count += 1
    return candidates[:count]


@inner
def _is_usual(candidates: Integers, index: int, sizes: NDArray[np.float64], buffer: NDArray[np.float64]) -> bool:
    """Whether a payment has about the amount of its neighbours, or begins or ends a new level."""
    low, high = max(0, index - 2), min(candidates.size, index + 3)
    if high - low < 3:
        return True
    size = sizes[candidates[index]]
    median = _median(candidates, low, high, sizes, buffer)
    if median / MAX_SIZE_FACTOR <= size <= median * MAX_SIZE_FACTOR:
        return True
    for neighbour in (index - 1, index + 1):
        if 0 <= neighbour < candidates.size and abs(sizes[candidates[neighbour]] - size) <= MAX_LEVEL_DIFFERENCE * size:
            return True
    return False


@inner
def _median(candidates: Integers, low: int, high: int, sizes: NDArray[np.float64], buffer: NDArray[np.float64]) -> float:
    """The median of a few sizes, sorted in `buffer`: allocating memory each time would take longer."""
    for index in range(low, high):
        size, insert_at = sizes[candidates[index]], index - low
        while insert_at > 0 and buffer[insert_at - 1] > size:
            buffer[insert_at] = buffer[insert_at - 1]
            insert_at -= 1
        buffer[insert_at] = size
    count = high - low
    return float((buffer[(count - 1) // 2] + buffer[count // 2]) / 2)
