"""Of every tag at the finest level: what is fixed and flexible in the current and the next item of each kind.

Fixed is what regular payments of contracts brought so far and what active contracts will bring; the rest is flexible. Quarters
and years are sums of months.
"""

import numpy as np
import polars as pl

from analytics import trees
from analytics.analyses.cashflow.cycles import CYCLES
from analytics.analyses.cashflow.flexible import Flags, Floats, UsualSpending, usual
from analytics.analyses.cashflow.flows import CATEGORIES, KEYS, Flows, expense_tags, in_both_trees, savings
from analytics.analyses.cashflow.items import KINDS, MONTHS, month_number, number, week_number

STEPS = (0, 1)
"""The current item and the next one."""
RESIDUALS = {cycle: [f"{cycle}_{place}" for place in range(CYCLES)] for cycle in ("month", "week")}
SALARY = "INCOME_SALARY"
"""What stands out here beside contracts comes every year, as long as a contract brings salary."""
MOST_EXTRA = 2.5
"""Salaries; more at once is no bonus that comes every year, but a settlement."""


def future(due: pl.DataFrame, flows: Flows, cycles: pl.DataFrame) -> pl.DataFrame:
    """What active contracts will bring, once for their category and once for their partner."""
    day = pl.col("expected_on")
    timed = due.select(
        pl.col("user").cast(flows.users),
        pl.col("category").cast(flows.tags),
        pl.col("partner").fill_null(trees.UNKNOWN).cast(flows.tags),
        "cents",
        month=month_number(day),
        week=week_number(day),
        savings=savings(pl.col("category")),
    )
    return in_both_trees(timed.join(cycles, on="user", how="inner"), flows)


def valued(rows: pl.DataFrame, past: pl.DataFrame, future: pl.DataFrame) -> pl.DataFrame:
    """The rows with what is fixed and flexible in each item, and how far each cycle strayed from the others."""
    cents, regular = pl.col("cents"), pl.col("regular")
    inside = {kind: number(kind) - now(kind) for kind in KINDS}
    so_far = {f"fixed_{kind}": cents * (regular & (inside[kind] == 0)) for kind in KINDS}
    so_far |= {f"flex_{kind}": cents * (~regular & (inside[kind] == 0)) for kind in KINDS}
    to_come = {f"due_{kind}{step}": cents * (inside[kind] == step) for kind in KINDS for step in STEPS}
    current = past.filter((inside["Y"] == 0) | (inside["W"] == 0))
    whole = rows.hstack(_summed(current, rows.height, so_far)).hstack(_summed(future, rows.height, to_come))
    for cycle in RESIDUALS:
        found = _usual(whole, past, cycle)
        residuals = pl.DataFrame(found.residuals, schema=RESIDUALS[cycle]).with_columns(pl.all().round().cast(pl.Int64))
        whole = whole.hstack(residuals).with_columns(pl.Series(f"{cycle}_usual", found.cents).cast(pl.Int64))
        if cycle == "month":
            whole = whole.hstack(_extra(whole, found.yearly))
    return whole.with_columns(
        **{f"fixed_{kind}0": pl.col(f"fixed_{kind}") + pl.col(f"due_{kind}0") for kind in KINDS},
        **{f"fixed_{kind}1": pl.col(f"due_{kind}1") for kind in KINDS},
        **{f"flex_{kind}0": pl.col(f"flex_{kind}") + _rest(kind) for kind in KINDS},
        **{f"flex_{kind}1": pl.col(f"{cycle_of(kind)}_usual") * MONTHS.get(kind, 1) for kind in KINDS},
    ).select(
        *KEYS,
        *(f"fixed_{kind}{step}" for kind in KINDS for step in STEPS),
        *(pl.col(f"flex_{kind}{step}") + pl.col(f"extra_{kind}{step}") for kind in MONTHS for step in STEPS),
        *(f"flex_W{step}" for step in STEPS),
        *(f"extra_{kind}{step}" for kind in MONTHS for step in STEPS),
        *(column for columns in RESIDUALS.values() for column in columns),
    )


def _summed(rows: pl.DataFrame, count: int, values: dict[str, pl.Expr]) -> pl.DataFrame:
    """The sums of these values by `row`, of which there are so many."""
    given = rows.select("row", **values)
    return pl.DataFrame({name: _added(given["row"], given[name], count).astype(np.int64) for name in values})


def _added(places: pl.Series, values: pl.Series, count: int) -> Floats:
    """The sum of the values at each of so many places; sums of cents are exact."""
    return np.bincount(places.to_numpy(), weights=values.to_numpy().astype(np.float64), minlength=count).astype(np.float64)


def _usual(rows: pl.DataFrame, past: pl.DataFrame, cycle: str) -> UsualSpending:
    """What is usual in a month or week. What contracts strayed from the payment before counts among the residuals."""
    place = pl.col(cycle) - pl.col(f"{cycle}_last") + CYCLES - 1
    seen = place.is_between(CYCLES - pl.col(f"{cycle}_seen"), CYCLES - 1)
    flexible = pl.col("cents") * ~pl.col("regular")
    cells = past.filter(seen).select(flexible, "step", at=pl.col("row") * CYCLES + place)
    history, steps = (_added(cells["at"], cells[name], rows.height * CYCLES).reshape(-1, CYCLES) for name in ("cents", "step"))
    count, user = (
        rows.select(each).to_series().cast(pl.Int64).to_numpy() for each in (f"{cycle}_seen", pl.col("user").to_physical())
    )
    spending, yearly = (_chosen(rows, tags) for tags in (expense_tags(), (SALARY,)))
    salary = rows["due_Y1"].to_numpy() / 12
    most = np.where(yearly & (cycle == "month"), MOST_EXTRA * np.maximum(salary, 0.0), 0.0)
    found = usual(history, count, user, spending, most)
    return found._replace(residuals=found.residuals + steps)


def _chosen(rows: pl.DataFrame, tags: tuple[str, ...]) -> Flags:
    return rows.select((pl.col("tree") == CATEGORIES) & pl.col("tag").is_in(tags)).to_series().to_numpy()


def _extra(rows: pl.DataFrame, yearly: Floats) -> pl.DataFrame:
    """What comes every year, in the items of the months in which it is due next. In the current month it is awaited the less the
    later it is, and not at all if it has come.
    """
    at = np.flatnonzero(yearly.any(1))
    few, again = rows[at], yearly[at]
    last, current, so_far = (few[name].cast(pl.Int64).to_numpy() for name in ("month_last", "month_now", "flex_M"))
    due = last[:, None] + 1 + np.arange(CYCLES)
    awaited = few["month_left"].to_numpy() * (so_far < again[:, 0] / 2)
    first = np.where(due == current[:, None], np.round(again * awaited[:, None]), again)
    out = {f"extra_{kind}{step}": np.zeros(rows.height, np.int64) for kind in MONTHS for step in STEPS}
    for kind, months in MONTHS.items():
        for step in STEPS:
            item = (current // months + step)[:, None]
            found = first * (due // months == item) + again * ((due + CYCLES) // months == item)
            out[f"extra_{kind}{step}"][at] = found.sum(1)
    return pl.DataFrame(out)


def cycle_of(kind: str) -> str:
    return "week" if kind == "W" else "month"


def now(kind: str) -> pl.Expr:
    return number(kind, "month_now", "week_now")


def _rest(kind: str) -> pl.Expr:
    """What is usual in the rest of the current item: quarters and years have whole months after the current one."""
    usual_cents, left = pl.col(f"{cycle_of(kind)}_usual"), pl.col(f"{cycle_of(kind)}_left")
    current = (usual_cents * left).round().cast(pl.Int64)
    return current + usual_cents * months_after(kind)


def months_after(kind: str) -> pl.Expr:
    """The months of the current quarter or year that come after the current one."""
    months = MONTHS.get(kind, 1)
    return months - 1 - pl.col("month_now") % months
