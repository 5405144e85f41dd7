"""Money that flowed: the bookings as cashflow reads them, and what of them is recent."""

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.cashflow.cycles import CYCLES
from analytics.analyses.cashflow.items import month_number, week_number
from analytics.analyses.snapshot import CATEGORY, Snapshot
from analytics.knowledge import partners

CATEGORIES, PARTNERS = "CATEGORIES", "BUSINESS_PARTNERS"
TAGS = {PARTNERS: "partner", CATEGORIES: "category"}
TREE = pl.Enum([PARTNERS, CATEGORIES])
KEYS = ("user", "tree", "tag", "savings")
"""The finest level: all else is a sum of it. `savings` marks what can be left out."""
INCOME, EXPENSES, NET = "INCOME", "EXPENSES", "NET"
SAVINGS = ("BANKFINANCE_INVESTMENT", "TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
"""With all of `SAVINGS_*`: what goes into savings and investments. Dividends stay income."""
NEITHER = ("BANKFINANCE_ATMDEPOSIT", "BANKFINANCE_CASHDEPOSIT", "BANKFINANCE_CREDITINCOME")
"""With all of `TRANSFER_*`: own or borrowed money is neither income nor expense."""
NEVER = 1 << 30
"""Later than any month."""
MOST_IN_COURSE = 50_000
"""Cents; what a booking counts at most in the course of a cycle, so that one purchase does not bend it."""


class Flows(NamedTuple):
    """The bookings with user and tags as numbers, which are places in the sorted names of users and tags."""

    rows: pl.DataFrame
    users: pl.Enum
    tags: pl.Enum


@cache
def category_groups() -> pl.DataFrame:
    """Of each category: its main category, the aggregate in which it counts (null for none), and whether it is savings."""
    name = pl.col("system_name")
    main = pl.coalesce(pl.col("parent").replace("", None), name)
    outside = (main == "TRANSFER") | name.is_in(NEITHER)
    income = (main == INCOME) | (name == "OTHER_INCOME")
    aggregate = pl.when(outside).then(None).when(income).then(pl.lit(INCOME)).otherwise(pl.lit(EXPENSES))
    items = trees.categories_frame().filter(pl.col("kind") == trees.ITEM)
    return items.select(tag=name, main=main, aggregate=aggregate, savings=(main == "SAVINGS") | name.is_in(SAVINGS))


@cache
def savings_tags() -> tuple[str, ...]:
    """The categories that are savings."""
    return tuple(category_groups().filter("savings")["tag"])


@cache
def expense_tags() -> tuple[str, ...]:
    """The categories that count as expenses."""
    return tuple(category_groups().filter(pl.col("aggregate") == EXPENSES)["tag"])


def savings(category: pl.Expr) -> pl.Expr:
    """Whether a category is left out where savings are."""
    return category.is_in(savings_tags())


def flows(seen: Snapshot) -> Flows:
    """What counts of each booking. Texts become numbers in the order of the texts, which group and sort much faster."""
    day, partner = pl.col("booked_on"), seen.bookings["partner"].fill_null(trees.UNKNOWN)
    tags = usual_tags()
    known = partner.cast(tags, strict=False)
    if known.null_count():
        tags = pl.Enum(sorted({*tags.categories, *partner.unique()}))
        known = partner.cast(tags)
    regular, step = _steps(seen)
    of_category = pl.DataFrame({"category": CATEGORY.categories.cast(tags), "savings": CATEGORY.categories.is_in(savings_tags())})
    category = seen.category.to_physical()
    rows = seen.bookings.select(
        seen.user,
        "booked_on",
        category=of_category["category"].gather(category),
        partner=known,
        regular=pl.Series(regular),
        step=pl.Series(step),
        month=month_number(day),
        week=week_number(day),
        cents="amount_cents",
        savings=of_category["savings"].gather(category),
    )
    return Flows(rows, seen.users, tags)


@cache
def usual_tags() -> pl.Enum:
    """The names of categories and of the partners that the catalogue knows."""
    return pl.Enum(sorted({*CATEGORY.categories, *category_names(), trees.UNKNOWN, *partners().frame["partner"]}))


def recent(flows: Flows, cycles: pl.DataFrame) -> pl.DataFrame:
    """What flowed since the first of the complete months that count, beside the cycles of its user."""
    last = np.full(len(flows.users.categories), NEVER, np.int32)
    last[cycles["user"].to_physical().to_numpy()] = cycles["month_last"].to_numpy()
    begun = last[flows.rows["user"].to_physical().to_numpy()] - CYCLES
    return flows.rows.filter(flows.rows["month"].to_numpy() > begun).join(cycles, on="user", how="inner")


def in_both_trees(rows: pl.DataFrame, flows: Flows) -> pl.DataFrame:
    """The rows once for their category and once for their partner, `key` telling one finest level from another."""
    user, saved = pl.col("user").to_physical().cast(pl.Int64), pl.col("savings").cast(pl.Int64)
    size = len(flows.tags.categories)
    plain = [name for name in rows.columns if name not in {"user", "booked_on", "category", "partner", "savings", "as_of"}]
    keys = [((user * 2 + tree) * size + pl.col(tag).to_physical()) * 2 + saved for tree, tag in enumerate(TAGS.values())]
    return pl.concat([rows.select(*plain, key=key) for key in keys])


def finest(keys: pl.Series, flows: Flows) -> pl.DataFrame:
    """What the keys stand for."""
    above, tags = keys // 2, flows.tags.categories
    return pl.DataFrame(
        {
            "key": keys,
            "user": flows.users.categories.gather(above // (2 * tags.len())).cast(flows.users),
            "tree": TREE.categories.gather(above // tags.len() % 2).cast(TREE),
            "tag": tags.gather(above % tags.len()).cast(flows.tags),
            "savings": keys % 2 == 1,
        }
    )


def _steps(seen: Snapshot) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """By booking: whether it is a regular payment of a contract, and by how much that differs from the one before it."""
    at = seen.places.filter(seen.payments["regular"]).to_numpy()
    contract, user = pl.col("contract"), pl.col("user")
    follows = (contract == contract.shift()) & (user == user.shift())
    cents = pl.col("amount_cents")
    steps = seen.payments.filter("regular").select(pl.when(follows).then(cents - cents.shift()).otherwise(0)).to_series()
    regular, step = np.zeros(seen.bookings.height, np.bool_), np.zeros(seen.bookings.height, np.int64)
    regular[at], step[at] = True, steps.to_numpy()
    return regular, step


@cache
def category_names() -> frozenset[str]:
    """All names that a row can have in the tree of categories: items, main categories, and sums."""
    return frozenset({*category_groups()["tag"], *category_groups()["main"], INCOME, EXPENSES, NET})


def spending(recent: pl.DataFrame) -> pl.DataFrame:
    """By user, of what was spent in complete cycles beside contracts: all of it (`…_whole`), and what was spent until that day of
    the cycle which the as-of date is (`…_part`).
    """
    spent = recent.filter(~pl.col("regular"), pl.col("cents") < 0, pl.col("category").is_in(expense_tags()))
    cents, day, as_of = pl.col("cents").clip(lower_bound=-MOST_IN_COURSE), pl.col("booked_on"), pl.col("as_of")
    reached = {"month": day.dt.day() <= as_of.dt.day(), "week": day.dt.weekday() <= as_of.dt.weekday()}
    parts: dict[str, pl.Expr] = {}
    for name, until in reached.items():
        known = pl.col(name).is_between(pl.col(f"{name}_last") - CYCLES + 1, pl.col(f"{name}_last"))
        parts[f"{name}_whole"], parts[f"{name}_part"] = cents * known, cents * (known & until)
    return spent.select("user", **parts).group_by("user").sum()
