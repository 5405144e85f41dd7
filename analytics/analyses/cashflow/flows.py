"""The bookings as cashflow reads them: with tags as numbers, months and weeks, and regular payments of contracts marked."""

from collections.abc import Iterable
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.cashflow.cycles import MAX_CYCLES
from analytics.analyses.cashflow.items import month_number, week_number
from analytics.analyses.snapshot import CATEGORY_CODES, Snapshot
from analytics.frames import collected
from analytics.knowledge import partners
from analytics.native.dense_ids import Numbering

CATEGORIES, PARTNERS = "CATEGORIES", "BUSINESS_PARTNERS"
TAG_COLUMNS = {PARTNERS: "partner", CATEGORIES: "category"}
TREE, TAG_CODE = pl.Enum([PARTNERS, CATEGORIES]), pl.UInt32
CATEGORIES_CODE, TREE_VALUES = 1, pl.Series([PARTNERS, CATEGORIES], dtype=TREE)
Flags = NDArray[np.bool_]
TAG_KEYS = ("user", "tree", "tag", "savings")
"""The finest level: everything else is a sum of it. `savings` marks what a view can leave out."""
INCOME, EXPENSES, NET = "INCOME", "EXPENSES", "NET"
OTHER_SAVINGS = ("BANKFINANCE_INVESTMENT", "TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
"""Together with `SAVINGS_*`: money put into savings and investments. Dividends stay income."""
NO_INCOME_NOR_EXPENSE = ("BANKFINANCE_ATMDEPOSIT", "BANKFINANCE_CASHDEPOSIT", "BANKFINANCE_CREDITINCOME")
"""Together with `TRANSFER_*`: own or borrowed money is neither income nor expense."""
NO_MONTH = 1 << 30
"""A number later than any month."""
MAX_COURSE_CENTS = 50_000
"""A booking counts at most this much in the course of a cycle, so that one purchase does not bend it."""


class Tags:
    """Names of tags, sorted, of which each has its place as code: Polars reads all values of an enum whenever it meets one."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = pl.Series(sorted(names), dtype=pl.String)
        self._numbering = Numbering()
        self._numbering.of(self.names.hash().to_numpy())

    def codes(self, names: pl.Series) -> NDArray[np.int64]:
        """The code of each name, -1 for those that are no tags."""
        return self._numbering.known(names.hash().to_numpy()).astype(np.int64)

    def has(self, *tags: str) -> Flags:
        """By code whether it is that of one of these tags."""
        flags = np.zeros(self.names.len(), np.bool_)
        flags[self.codes(pl.Series(tags, dtype=pl.String))] = True
        return flags

    @cached_property
    def are_expenses(self) -> Flags:
        """By code whether it is that of a category that counts as an expense."""
        return self.has(*expense_tags())

    @cached_property
    def are_income(self) -> Flags:
        """By code whether it is that of a category that counts as income."""
        return self.has(*income_tags())

    @cached_property
    def are_savings(self) -> Flags:
        """By code whether it is that of a category of savings."""
        return self.has(*savings_tags())

    @cached_property
    def of_categories(self) -> NDArray[np.int64]:
        """The tag of each category by its code, the last one for bookings without a category."""
        return self.codes(pl.Series([*CATEGORY_CODES.categories, trees.UNKNOWN]))

    @cached_property
    def groups(self) -> pl.DataFrame:
        """`category_groups` with codes, and the code of `net`."""
        groups = category_groups().select("tag", "main", "aggregate", net=pl.lit(NET))
        codes = groups.select(pl.Series(name, self.codes(groups[name])) for name in groups.columns)
        return codes.select(pl.when(pl.all() >= 0).then(pl.all())).cast(TAG_CODE)


class Flows(NamedTuple):
    """The bookings with user and tags as numbers, in the sorted names of users and tags."""

    rows: pl.DataFrame
    users: pl.Enum
    tags: Tags


@cache
def category_groups() -> pl.DataFrame:
    """By category (`tag`): its main category, the aggregate in which it counts (null for none), and whether it is savings."""
    name = pl.col("system_name")
    main = pl.coalesce(pl.col("parent").replace("", None), name)
    outside = (main == "TRANSFER") | name.is_in(NO_INCOME_NOR_EXPENSE)
    income = (main == INCOME) | (name == "OTHER_INCOME")
    aggregate = pl.when(outside).then(None).when(income).then(pl.lit(INCOME)).otherwise(pl.lit(EXPENSES))
    items = trees.categories_frame().filter(pl.col("kind") == trees.ITEM)
    return items.select(tag=name, main=main, aggregate=aggregate, savings=(main == "SAVINGS") | name.is_in(OTHER_SAVINGS))


@cache
def savings_tags() -> tuple[str, ...]:
    """The categories that are savings."""
    return tuple(category_groups().filter("savings")["tag"])


@cache
def expense_tags() -> tuple[str, ...]:
    """The categories that count as expenses."""
    return tuple(category_groups().filter(pl.col("aggregate") == EXPENSES)["tag"])


@cache
def income_tags() -> tuple[str, ...]:
    """The categories that count as income."""
    return tuple(category_groups().filter(pl.col("aggregate") == INCOME)["tag"])


def flows(snapshot: Snapshot) -> Flows:
    """The flows of all bookings. Texts become numbers in the order of the texts, which group and sort much faster."""
    day, partner = pl.col("booked_on"), snapshot.bookings["partner"].fill_null(trees.UNKNOWN)
    tags = catalogue_tags()
    partner_tags = tags.codes(partner)
    if partner_tags.min(initial=0) < 0:
        tags = Tags({*tags.names, *partner.unique()})
        partner_tags = tags.codes(partner)
    regular, step = _regular_steps(snapshot)
    category = tags.of_categories[snapshot.category_numbers]
    rows = snapshot.bookings.select(
        snapshot.user,
        "booked_on",
        category=pl.Series(category.astype(np.uint32)),
        partner=pl.Series(partner_tags.astype(np.uint32)),
        regular=pl.Series(regular),
        step=pl.Series(step),
        month=month_number(day),
        week=week_number(day),
        cents="amount_cents",
        savings=pl.Series(tags.are_savings[category]),
    )
    return Flows(rows, snapshot.users, tags)


@cache
def catalogue_tags() -> Tags:
    """The names of all categories and of all partners of the catalogue."""
    return Tags({*CATEGORY_CODES.categories, *category_names(), trees.UNKNOWN, *partners().frame["partner"]})


def recent_flows(flows: Flows, cycles: pl.DataFrame) -> pl.DataFrame:
    """The flows since the first of the complete months that count, beside the cycles of their user."""
    last = np.full(len(flows.users.categories), NO_MONTH, np.int32)
    last[cycles["user"].to_physical().to_numpy()] = cycles["month_last"].to_numpy()
    before_first = last[flows.rows["user"].to_physical().to_numpy()] - MAX_CYCLES
    return flows.rows.filter(flows.rows["month"].to_numpy() > before_first).join(cycles, on="user", how="inner")


def in_both_trees(rows: pl.DataFrame, flows: Flows) -> pl.DataFrame:
    """The rows once for their category and once for their partner; `key` is a number for user, tree, tag and savings."""
    user, savings_flag = pl.col("user").to_physical().cast(pl.Int64), pl.col("savings").cast(pl.Int64)
    size = flows.tags.names.len()
    kept_columns = [name for name in rows.columns if name not in {"user", "booked_on", "category", "partner", "savings", "as_of"}]
    keys = [((user * 2 + tree) * size + pl.col(tag)) * 2 + savings_flag for tree, tag in enumerate(TAG_COLUMNS.values())]
    return pl.concat([rows.select(*kept_columns, key=key) for key in keys])


def decode_keys(keys: pl.Series, flows: Flows) -> pl.DataFrame:
    """`TAG_KEYS` of the keys of `in_both_trees`."""
    numbers, size = keys.to_numpy(), flows.tags.names.len()
    above = numbers // 2
    return pl.DataFrame(
        {
            "key": keys,
            "user": flows.users.categories[above // (2 * size)].cast(flows.users),
            "tree": TREE_VALUES[above // size % 2],
            "tag": (above % size).astype(np.uint32),
            "savings": numbers % 2 == 1,
        }
    )


def _regular_steps(snapshot: Snapshot) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """By booking: whether it is a regular payment of a contract, and its difference in cents from the payment before."""
    regular_rows = snapshot.payment_rows.filter(snapshot.payments["regular"]).to_numpy()
    contract, user = pl.col("contract"), pl.col("user")
    follows = (contract == contract.shift()) & (user == user.shift())
    cents = pl.col("amount_cents")
    steps = snapshot.payments.filter("regular").select(pl.when(follows).then(cents - cents.shift()).otherwise(0)).to_series()
    regular, step = np.zeros(snapshot.bookings.height, np.bool_), np.zeros(snapshot.bookings.height, np.int64)
    regular[regular_rows], step[regular_rows] = True, steps.to_numpy()
    return regular, step


@cache
def category_names() -> frozenset[str]:
    """All names that a row can have in the tree of categories: items, main categories, and sums."""
    return frozenset({*category_groups()["tag"], *category_groups()["main"], INCOME, EXPENSES, NET})


def spending_course(recent_rows: pl.DataFrame, tags: Tags) -> pl.DataFrame:
    """By user the cents spent beside contracts in complete months and weeks: all of them (`…_whole`), and those spent up to the
    day of the cycle on which the as-of date falls (`…_part`).
    """
    is_expense = pl.Series(tags.are_expenses[recent_rows["category"].to_numpy()])
    expenses = recent_rows.lazy().filter(~pl.col("regular"), pl.col("cents") < 0, is_expense)
    cents, day, as_of = pl.col("cents").clip(lower_bound=-MAX_COURSE_CENTS), pl.col("booked_on"), pl.col("as_of")
    day_is_reached = {"month": day.dt.day() <= as_of.dt.day(), "week": day.dt.weekday() <= as_of.dt.weekday()}
    parts: dict[str, pl.Expr] = {}
    for name, until in day_is_reached.items():
        is_complete = pl.col(name).is_between(pl.col(f"{name}_last") - MAX_CYCLES + 1, pl.col(f"{name}_last"))
        parts[f"{name}_whole"], parts[f"{name}_part"] = cents * is_complete, cents * (is_complete & until)
    return collected(expenses.select("user", **parts).group_by("user").sum())
