"""Which payments of a contract are its regular ones: one for each slot, of about the usual amount, and no settlement or bonus."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.contracts.rhythm import Flags, Integers
from analytics.native.compiling import compiled, inner

SPECIAL = (
    r"(?i)nachzahlung|nachforderung|nachberechnung|jahres(?:verbrauchs)?(?:ab)?rechnung|turnusabrechnung|schlussrechnung"
    r"|schlussabrechnung|(?:bk|nk|betriebskosten|nebenkosten|heizkosten)[ -]?abrechnung|guthaben|erstattung|mahngeb|mahnkosten"
    r"|bonus|sonderzahlung|weihnachtsgeld|urlaubsgeld|tantieme|pr(?:ä|ae)mie 20|einmalzahlung|inflationsausgleich|13\. ?gehalt"
)
"""Words of payments that come beside the regular ones."""
STEMS = (
    "nachzahlung", "nachforderung", "nachberechnung", "rechnung", "guthaben", "erstattung", "mahngeb", "mahnkosten", "bonus",
    "sonderzahlung", "weihnachtsgeld", "urlaubsgeld", "tantieme", "mie 20", "einmalzahlung", "inflationsausgleich", "gehalt",
)  # fmt: skip
"""Parts of which every one of these words has one: they are found faster, and only few texts have any."""
MOSTLY = 0.5
"""If more payments than this share have such words, the words say nothing."""
MEMORY = 5
"""So many payments before decide which of two in a slot is the regular one."""
MOST_TIMES = 3.0
SAME_LEVEL = 0.25
"""A payment that is so many times as high or low as its neighbours is none of them, unless the next one is about as high."""


def regular(rows: pl.DataFrame, starts: Integers, purposes: pl.Series) -> Flags:
    """Whether each row is a regular payment. Rows have `cents`, `slot` and `inlier`, by stream and day."""
    special = _special(purposes)
    out = np.zeros(rows.height, np.bool_)
    sizes = rows["cents"].abs().cast(pl.Float64).to_numpy()
    _mark(starts, sizes, rows["slot"].to_numpy(), rows["inlier"].to_numpy(), special, out)
    return out


def _special(purposes: pl.Series) -> Flags:
    likely = purposes.str.contains_any(list(STEMS), ascii_case_insensitive=True).arg_true()
    special = np.zeros(purposes.len(), np.bool_)
    special[likely.to_numpy()] = purposes[likely].str.contains(SPECIAL).to_numpy()
    return special


@compiled
def _mark(starts: Integers, sizes: NDArray[np.float64], slot: Integers, inlier: Flags, special: Flags, out: Flags) -> None:
    few = np.empty(MEMORY)
    for stream in range(starts.size - 1):
        low, high = starts[stream], starts[stream + 1]
        if high - low == 1:
            out[low] = True
            continue
        if special[low:high].sum() > MOSTLY * (high - low):
            special[low:high] = False
        chosen = _one_in_each_slot(low, high, sizes, slot, inlier, special, few)
        for place in range(chosen.size):
            out[chosen[place]] = _usual(chosen, place, sizes, few)


@inner
def _one_in_each_slot(
    low: int, high: int, sizes: NDArray[np.float64], slot: Integers, inlier: Flags, special: Flags, few: NDArray[np.float64]
) -> Integers:
    """In each slot the payment nearest to the median of those before."""
    fitting = inlier[low:high] & ~special[low:high]
    chosen = np.empty(high - low, np.int64)
    count = 0
    usual = np.median(sizes[low:high][fitting]) if fitting.any() else 0.0
    for row in range(low, high):
        if not fitting[row - low]:
            continue
        if count > 0 and slot[chosen[count - 1]] == slot[row]:
            before = count - 1
            known = _middle(chosen, max(0, before - MEMORY), before, sizes, few) if before > 0 else usual
            if abs(sizes[row] - known) < abs(sizes[chosen[before]] - known):
                chosen[before] = row
        else:
            chosen[count] = row
            count += 1
    return chosen[:count]


@inner
def _usual(chosen: Integers, place: int, sizes: NDArray[np.float64], few: NDArray[np.float64]) -> bool:
    """Whether a payment has about the amount of its neighbours, or begins or ends a new level."""
    low, high = max(0, place - 2), min(chosen.size, place + 3)
    if high - low < 3:
        return True
    size = sizes[chosen[place]]
    around = _middle(chosen, low, high, sizes, few)
    if around / MOST_TIMES <= size <= around * MOST_TIMES:
        return True
    for beside in (place - 1, place + 1):
        if 0 <= beside < chosen.size and abs(sizes[chosen[beside]] - size) <= SAME_LEVEL * size:
            return True
    return False


@inner
def _middle(chosen: Integers, low: int, high: int, sizes: NDArray[np.float64], few: NDArray[np.float64]) -> float:
    """The median of a few sizes, put in order in `few`: asking for memory each time would take longer than that."""
    for place in range(low, high):
        size, at = sizes[chosen[place]], place - low
        while at > 0 and few[at - 1] > size:
            few[at] = few[at - 1]
            at -= 1
        few[at] = size
    count = high - low
    return float((few[(count - 1) // 2] + few[count // 2]) / 2)
