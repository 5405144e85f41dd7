"""The months that affordability looks at, and the bookings since they began.

A month is full if it ends on the as-of date or before. Sums rest on full months only; what warns of payment difficulties is
looked for until the as-of date.
"""

from typing import NamedTuple

import polars as pl

from analytics.analyses.keys import user_key
from analytics.analyses.snapshot import Snapshot
from analytics.products import ProductCategory

MOST_MONTHS, FEWEST_MONTHS = 12, 3
FIRST_DAYS = 4
"""A history that begins on one of the first days of a month has this month in full: weekends and holidays have no bookings."""
SELECTED = (
    "user", "id", "product", "booked_on", "amount_cents", "gv_code", "channel", "insurance", "partner",
    "effective_category", "refund_of", "pair_of",
)  # fmt: skip


class AffordabilityWindow(NamedTuple):
    """Users with enough months (`user`, `who`, `as_of`, `first`, `end`, `months`), the months being those from `first` to before
    `end`; and their bookings since then: `SELECTED` with their `row`, `who`, whether their amounts are `counted`, the `contract`
    that they belong to, and whether they are `regular` payments of it.
    """

    users: pl.DataFrame
    rows: pl.DataFrame


def view(seen: Snapshot) -> AffordabilityWindow:
    """What is to be looked at. Which rows these are is found by user and day alone, so that wide rows are copied once."""
    users = windows(seen)
    named = pl.DataFrame({"user": seen.users.categories}).join(users, on="user", how="left", maintain_order="left")
    user, day = seen.user.to_physical(), seen.bookings["booked_on"]
    row = (day >= named["first"].gather(user)).arg_true().alias("row")
    of = named[["who", "end"]][user.gather(row)]
    rows = seen.bookings[list(SELECTED)][row].hstack([row, of["who"], (day.gather(row) < of["end"]).alias("counted")])
    return AffordabilityWindow(users, _with_contracts(rows, seen))


def windows(seen: Snapshot) -> pl.DataFrame:
    """For each user with at least three full months the first day of the window and the day after it, and how many months it has.

    A history begins with the first booking of a current account: an old savings account tells nothing of income.
    """
    begun = seen.bookings.group_by("user", "product").agg(first=pl.min("booked_on"))
    current = seen.products.filter(pl.col("category") == ProductCategory.CHECKING).select("user", "product", current=True)
    first = pl.col("first")
    history = (
        begun.join(current, on=["user", "product"], how="left")
        .group_by("user")
        .agg(first=pl.coalesce(first.filter("current").min(), first.min()))
        .join(seen.as_of, on="user", how="inner")
    )
    whole = (
        pl.when(first.dt.day() <= FIRST_DAYS).then(first.dt.month_start()).otherwise(first.dt.month_start().dt.offset_by("1mo"))
    )
    end = pl.col("as_of").dt.offset_by("1d").dt.month_start()
    limited = history.with_columns(first=pl.max_horizontal(whole, end.dt.offset_by(f"-{MOST_MONTHS}mo")), end=end)
    months = (pl.col("end").dt.year() - first.dt.year()) * 12 + pl.col("end").dt.month().cast(pl.Int32) - first.dt.month()
    enough = limited.with_columns(months=months.cast(pl.Int64)).filter(pl.col("months") >= FEWEST_MONTHS)
    return enough.sort("user").with_row_index("who")


def _with_contracts(rows: pl.DataFrame, seen: Snapshot) -> pl.DataFrame:
    """The contract of each booking; a refund belongs to the contract of what it refunds."""
    payments, numbers = seen.payments, pl.int_range(seen.payments.height, dtype=pl.UInt32, eager=True)
    paid = pl.repeat(None, seen.bookings.height, dtype=pl.UInt32, eager=True).scatter(seen.payment_rows, numbers)[rows["row"]]
    contract, regular = payments["contract"].gather(paid), payments["regular"].gather(paid).fill_null(value=False)
    back = rows["refund_of"].is_not_null().arg_true()
    if not back.is_empty():
        refunds = rows[back].select(key=user_key("refund_of"))
        refunded = payments.select("contract", key=user_key("id")).filter(pl.col("key").is_in(refunds["key"].implode()))
        refunds = refunds.join(refunded.unique("key", keep="first"), on="key", how="left", maintain_order="left")
        contract = contract.scatter(back, pl.select(pl.coalesce(contract[back], refunds["contract"])).to_series())
    return rows.hstack([contract, regular])
