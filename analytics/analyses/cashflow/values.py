"""The fixed and flexible cents of every tag at the finest level, in the current and the next item of each kind.

Fixed are the regular payments of contracts so far and the expected ones of active contracts; the rest is flexible. Quarters and
years are sums of months.
"""

from functools import cache

import numpy as np
import polars as pl

from analytics import trees
from analytics.analyses.cashflow.cycles import MAX_CYCLES
from analytics.analyses.cashflow.flexible import Flags, Floats, UsualSpending, usual_spending
from analytics.analyses.cashflow.flows import CATEGORIES_CODE, TAG_KEYS, Flows, Tags, in_both_trees
from analytics.analyses.cashflow.items import ITEM_MONTHS, KINDS, item_number, month_number, week_number
from analytics.frames import collected

STEPS = (0, 1)
"""The current item and the next one."""
RESIDUAL_COLUMNS = {cycle: [f"{cycle}_{number}" for number in range(MAX_CYCLES)] for cycle in ("month", "week")}
SALARY_CATEGORY = "INCOME_SALARY"
"""In this category an excess beside contracts comes every year, as long as a contract brings salary."""
MAX_EXTRA_SALARIES = 2.5
"""An excess of more salaries than this is not a yearly bonus but a settlement."""


def future_flows(payments: pl.DataFrame, flows: Flows, cycles: pl.DataFrame) -> pl.DataFrame:
    """The expected payments of contracts as flows, once for their category and once for their partner."""
    day, tags = pl.col("expected_on"), flows.tags
    category, partner = tags.codes(payments["category"]), tags.codes(payments["partner"].fill_null(trees.UNKNOWN))
    payment_rows = payments.select(
        pl.col("user").cast(flows.users),
        "cents",
        category=pl.Series(category.astype(np.uint32)),
        partner=pl.Series(partner.astype(np.uint32)),
        month=month_number(day),
        week=week_number(day),
        savings=pl.Series(tags.are_savings[category]),
    )
    return in_both_trees(payment_rows.join(cycles, on="user", how="inner"), flows)


def add_values(rows: pl.DataFrame, past: pl.DataFrame, future: pl.DataFrame, tags: Tags, yearly_cents: Floats) -> pl.DataFrame:
    """The rows with the fixed and flexible cents of each item, and the residual of each cycle; `yearly_cents` come every year."""
    is_current, so_far, to_come = _current_columns()
    current = past.filter(is_current)
    values = rows.hstack(_sum_rows(current, rows.height, so_far)).hstack(_sum_rows(future, rows.height, to_come))
    for cycle in RESIDUAL_COLUMNS:
        spending = _usual_per_cycle(values, past, cycle, tags, yearly_cents if cycle == "month" else np.zeros_like(yearly_cents))
        residuals = pl.DataFrame(spending.residuals, schema=RESIDUAL_COLUMNS[cycle]).with_columns(pl.all().round().cast(pl.Int64))
        values = values.hstack(residuals).with_columns(pl.Series(f"{cycle}_usual", spending.cents).cast(pl.Int64))
        if cycle == "month":
            values = values.hstack(_yearly_extra(values, spending.yearly))
    item_columns, selected = _item_columns()
    return collected(values.lazy().with_columns(**item_columns).select(selected))


@cache
def _current_columns() -> tuple[pl.Expr, dict[str, pl.Expr], dict[str, pl.Expr]]:
    """Whether a booking is in a current item, its cents in each of these, and the cents of a payment in each item to come."""
    cents, regular = pl.col("cents"), pl.col("regular")
    inside = {kind: item_number(kind) - current_number(kind) for kind in KINDS}
    so_far = {f"fixed_{kind}": cents * (regular & (inside[kind] == 0)) for kind in KINDS}
    so_far |= {f"flex_{kind}": cents * (~regular & (inside[kind] == 0)) for kind in KINDS}
    to_come = {f"due_{kind}{step}": cents * (inside[kind] == step) for kind in KINDS for step in STEPS}
    return (inside["Y"] == 0) | (inside["W"] == 0), so_far, to_come


@cache
def _item_columns() -> tuple[dict[str, pl.Expr], list[pl.Expr]]:
    """The fixed and flexible cents of each item from its parts, and the columns of the result of `add_values`."""
    item_columns = {
        **{f"fixed_{kind}0": pl.col(f"fixed_{kind}") + pl.col(f"due_{kind}0") for kind in KINDS},
        **{f"fixed_{kind}1": pl.col(f"due_{kind}1") for kind in KINDS},
        **{f"flex_{kind}0": pl.col(f"flex_{kind}") + _rest_of_item(kind) for kind in KINDS},
        **{f"flex_{kind}1": pl.col(f"{cycle_of(kind)}_usual") * ITEM_MONTHS.get(kind, 1) for kind in KINDS},
    }
    selected = [
        pl.col(*TAG_KEYS),
        *(pl.col(f"fixed_{kind}{step}") for kind in KINDS for step in STEPS),
        *(pl.col(f"flex_{kind}{step}") + pl.col(f"extra_{kind}{step}") for kind in ITEM_MONTHS for step in STEPS),
        *(pl.col(f"flex_W{step}") for step in STEPS),
        *(pl.col(f"extra_{kind}{step}") for kind in ITEM_MONTHS for step in STEPS),
        *(pl.col(column) for columns in RESIDUAL_COLUMNS.values() for column in columns),
    ]
    return item_columns, selected


def _sum_rows(rows: pl.DataFrame, count: int, values: dict[str, pl.Expr]) -> pl.DataFrame:
    """The sums of these values by `row`, for `count` rows."""
    row_values = rows.select("row", **values)
    return pl.DataFrame({name: _sum_at(row_values["row"], row_values[name], count).astype(np.int64) for name in values})


def _sum_at(rows: pl.Series, values: pl.Series, count: int) -> Floats:
    """The sum of the values of each of `count` rows; sums of cents are exact."""
    return np.bincount(rows.to_numpy(), weights=values.to_numpy().astype(np.float64), minlength=count).astype(np.float64)


def _usual_per_cycle(rows: pl.DataFrame, past: pl.DataFrame, cycle: str, tags: Tags, yearly_cents: Floats) -> UsualSpending:
    """The usual spending of a month or week. The steps of contract payments are added to the residuals."""
    position = pl.col(cycle) - pl.col(f"{cycle}_last") + MAX_CYCLES - 1
    is_complete = position.is_between(MAX_CYCLES - pl.col(f"{cycle}_count"), MAX_CYCLES - 1)
    flexible = pl.col("cents") * ~pl.col("regular")
    cells = past.filter(is_complete).select(flexible, "step", at=pl.col("row") * MAX_CYCLES + position)
    history, steps = (
        _sum_at(cells["at"], cells[name], rows.height * MAX_CYCLES).reshape(-1, MAX_CYCLES) for name in ("cents", "step")
    )
    count, user = (
        rows.select(each).to_series().cast(pl.Int64).to_numpy() for each in (f"{cycle}_count", pl.col("user").to_physical())
    )
    spending, yearly = (_has_tag(rows, flags) for flags in (tags.are_expenses, tags.has(SALARY_CATEGORY)))
    salary = rows["due_Y1"].to_numpy() / 12
    max_yearly = np.where(yearly & (cycle == "month"), MAX_EXTRA_SALARIES * np.maximum(salary, 0.0), 0.0)
    earning = _has_tag(rows, tags.are_income) & (cycle == "month")
    spending_per_cycle = usual_spending(history, count, user, spending, earning, max_yearly, yearly_cents)
    return spending_per_cycle._replace(residuals=spending_per_cycle.residuals + steps)


def _has_tag(rows: pl.DataFrame, flags: Flags) -> Flags:
    """By row whether its tag is a category that has this flag."""
    has_flag: Flags = flags[rows["tag"].to_numpy()] & (rows["tree"].to_physical().to_numpy() == CATEGORIES_CODE)
    return has_flag


def _yearly_extra(rows: pl.DataFrame, yearly: Floats) -> pl.DataFrame:
    """Cents that come every year, in the items in which they are due next. In the current month they are expected the less the
    later it is, and not at all if they have come.
    """
    rows_with_extra = np.flatnonzero(yearly.any(1))
    extra_rows, yearly_cents = rows[rows_with_extra], yearly[rows_with_extra]
    last, current, so_far = (extra_rows[name].cast(pl.Int64).to_numpy() for name in ("month_last", "month_now", "flex_M"))
    due = last[:, None] + 1 + np.arange(MAX_CYCLES)
    is_open = so_far * np.sign(yearly_cents[:, 0]) < np.abs(yearly_cents[:, 0]) / 2
    still_expected = extra_rows["month_left"].to_numpy() * is_open
    first = np.where(due == current[:, None], np.round(yearly_cents * still_expected[:, None]), yearly_cents)
    extras = {f"extra_{kind}{step}": np.zeros(rows.height, np.int64) for kind in ITEM_MONTHS for step in STEPS}
    for kind, months in ITEM_MONTHS.items():
        for step in STEPS:
            item = (current // months + step)[:, None]
            extra_cents = first * (due // months == item) + yearly_cents * ((due + MAX_CYCLES) // months == item)
            extras[f"extra_{kind}{step}"][rows_with_extra] = extra_cents.sum(1)
    return pl.DataFrame(extras)


def cycle_of(kind: str) -> str:
    return "week" if kind == "W" else "month"


def current_number(kind: str) -> pl.Expr:
    return item_number(kind, "month_now", "week_now")


def _rest_of_item(kind: str) -> pl.Expr:
    """Cents usual in the rest of the current item: quarters and years have whole months after the current one."""
    usual_cents, left = pl.col(f"{cycle_of(kind)}_usual"), pl.col(f"{cycle_of(kind)}_left")
    current = (usual_cents * left).round().cast(pl.Int64)
    return current + usual_cents * months_after(kind)


def months_after(kind: str) -> pl.Expr:
    """The number of months of the current quarter or year after the current month."""
    months = ITEM_MONTHS.get(kind, 1)
    return months - 1 - pl.col("month_now") % months
