"""What others do, in an environment of their own that knows nothing of the house: pandas, and the detector of `fin-infra`.

A line on standard input names a task; its answer is a line of JSON. Reading and preparing is done before and is not timed. Both
sides get the same: for the simple rule texts and numbers as they are read, for the sums users and categories as categories.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

LEAST, SPREAD = 3, 0.3
"""So many payments, whose amounts and distances stray no more than this from their means, are regular."""
PERIODS = ("total", "year", "quarter", "month", "week")


def main(folder: Path) -> None:
    """Makes ready, says so, and answers tasks until there are no more."""
    pandas = import_module("pandas")
    rows = pandas.read_parquet(folder / "rows.parquet")
    kinds = rows.astype({"user": "category", "category": "category"})
    import_module("fin_infra.recurring")
    given = _given(pandas.read_parquet(folder / "few.parquet"))
    tasks: dict[str, Callable[[], Any]] = {
        "regular": lambda: _regular(pandas, rows),
        "sums": lambda: _sums(pandas, kinds),
        "recurring": lambda: _recurring(given),
    }
    print(json.dumps({"ready": len(rows)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(_timed(line.strip(), tasks[line.strip()], folder)), flush=True)


def _timed(name: str, task: Callable[[], Any], folder: Path) -> dict[str, float]:
    wall, processor = time.perf_counter(), time.process_time()
    found = task()
    spent = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    if isinstance(found, int):
        return spent | {"found": found}
    found.to_parquet(folder / f"{name}.parquet")
    return spent | {"found": len(found)}


def _regular(pandas: Any, rows: Any) -> Any:
    """Users and parties with regular payments: how many, their mean, and the mean of the days between them."""
    keys = ["user", "party"]
    ordered = rows[[*keys, "day", "cents"]].sort_values([*keys, "day"])
    groups = ordered.groupby(keys, observed=True, sort=False)
    ordered["gap"] = groups["day"].diff()
    found = ordered.groupby(keys, observed=True, sort=False).agg(
        n=("cents", "size"), mean=("cents", "mean"), deviation=("cents", "std"), gap=("gap", "mean"), stray=("gap", "std")
    )
    even = found["deviation"] < SPREAD * found["mean"].abs()
    steady = found["stray"] < SPREAD * found["gap"]
    kept = found[(found["n"] >= LEAST) & even & steady]
    return kept[["n", "mean", "gap"]].reset_index().astype({"user": str, "party": str})


def _sums(pandas: Any, rows: Any) -> Any:
    """What each user booked in each category in all periods of each kind."""
    parts = []
    for kind in PERIODS:
        keys = ["user", "category", kind] if kind != "total" else ["user", "category"]
        summed = rows.groupby(keys, observed=True, sort=False)["cents"].sum().reset_index()
        summed["item"] = summed[kind] if kind != "total" else 0
        parts.append(summed[["user", "category", "item", "cents"]].assign(kind=kind))
    return pandas.concat(parts, ignore_index=True)


def _given(few: Any) -> list[list[dict[str, Any]]]:
    """The bookings of each user, as the detector wants them."""
    return [of.drop(columns="user").to_dict("records") for _, of in few.groupby("user")]


def _recurring(given: list[list[dict[str, Any]]]) -> int:
    detection = import_module("fin_infra.recurring").easy_recurring_detection
    return sum(len(detection().detect_patterns(of_user)) for of_user in given)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
