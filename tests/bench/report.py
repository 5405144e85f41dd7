"""What comes out: the summary of each case, as a table to read and as a file to compare.

Only ratios within one run are claims: machines differ, and the same machine differs from minute to minute. Even ratios are
none while other programs want the same cores: a case with more processes, as those with a database, then gets a larger share.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles

from rich.table import Table


@dataclass(frozen=True)
class Result:
    """A case over all rounds: medians, and the quartiles between which half of the ratios lie."""

    name: str
    requests_per_second: float
    ratio: float
    ratio_low: float
    ratio_high: float


def summarise(name: str, rates: Sequence[float], bare: Sequence[float]) -> Result:
    """The result of a case from its rate in each round and the bare route's rate in the same round."""
    ratios = [rate / measure for rate, measure in zip(rates, bare, strict=True)]
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return Result(name, round(median(rates), 1), *(round(value, 4) for value in (median(ratios), low, high)))


def spread(rates: Sequence[float]) -> float:
    """How far the quartiles of these rates lie apart, as a share of their median."""
    low, middle, high = quantiles(rates, n=4, method="inclusive")
    return round((high - low) / middle, 4)


def table(results: Sequence[Result]) -> Table:
    """The results to read."""
    shown = Table(title="Requests per second, and their ratio to the bare route", title_justify="left")
    shown.add_column("case")
    for name in ("requests/s", "ratio", "IQR of the ratio"):
        shown.add_column(name, justify="right")
    for result in results:
        spread = f"{result.ratio_low:.4f} to {result.ratio_high:.4f}"
        shown.add_row(result.name, f"{result.requests_per_second:,.1f}", f"{result.ratio:.4f}", spread)
    return shown


def write(path: Path, results: Sequence[Result], facts: Mapping[str, object]) -> None:
    """Writes the results to a file, with the facts under which they were measured."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**facts, "cases": [asdict(result) for result in results]}, indent=2) + "\n")
