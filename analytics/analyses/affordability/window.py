"""The window of affordability: its full months, and the bookings since it began.

A month is full if it ends on or before the as-of date. Sums are taken over full months only; signs of payment difficulties count
until the as-of date.
"""

from typing import NamedTuple

import polars as pl

from analytics.analyses.keys import user_key
from analytics.analyses.snapshot import Snapshot
from analytics.frames import collected
from analytics.products import ProductCategory

MAX_MONTHS, MIN_MONTHS = 12, 3
MAX_FIRST_DAY = 4
"""A history that begins by this day of a month covers the month in full: weekends and holidays have no bookings."""
BOOKING_COLUMNS = (
    "user", "id", "product", "booked_on", "amount_cents", "gv_code", "channel", "insurance", "partner",
    "effective_category", "refund_of", "pair_of",
)  # fmt: skip


class AffordabilityWindow(NamedTuple):
    """`users` with enough months: `user`, `user_index`, `as_of`, and the `months` from `first` to before `end`. `rows` are their
    bookings since `first`: `BOOKING_COLUMNS`, `row` among all bookings, `user_index`, whether their amounts are `counted`, their
    `contract`, and whether they are `regular` payments of it.
    """

    users: pl.DataFrame
    rows: pl.DataFrame


def affordability_window(snapshot: Snapshot) -> AffordabilityWindow:
    """The window of each user and its bookings. Rows are selected by user and day first, so that wide rows are copied once."""
    users = windows(snapshot)
    all_users = pl.DataFrame({"user": snapshot.users.categories}).join(users, on="user", how="left", maintain_order="left")
    user, day = snapshot.user.to_physical(), snapshot.bookings["booked_on"]
    row = (day >= all_users["first"].gather(user)).arg_true().alias("row")
    row_users = all_users[["user_index", "end"]][user.gather(row)]
    rows = snapshot.bookings[list(BOOKING_COLUMNS)][row].hstack(
        [row, row_users["user_index"], (day.gather(row) < row_users["end"]).alias("counted")]
    )
    return AffordabilityWindow(users, _with_contracts(rows, snapshot))


def windows(snapshot: Snapshot) -> pl.DataFrame:
    """By user with at least three full months: the first day of the window, the day after it, and its number of months.

    A history begins with the first booking of a current account: an old savings account shows no income.
    """
    first_bookings = snapshot.bookings.lazy().group_by("user", "product").agg(first=pl.min("booked_on"))
    current = (
        snapshot.products.lazy().filter(pl.col("category") == ProductCategory.CHECKING).select("user", "product", current=True)
    )
    first = pl.col("first")
    history = (
        first_bookings.join(current, on=["user", "product"], how="left")
        .group_by("user")
        .agg(first=pl.coalesce(first.filter("current").min(), first.min()))
        .join(snapshot.as_of.lazy(), on="user", how="inner")
    )
    first_full_month = (
        pl.when(first.dt.day() <= MAX_FIRST_DAY)
        .then(first.dt.month_start())
        .otherwise(first.dt.month_start().dt.offset_by("1mo"))
    )
    end = pl.col("as_of").dt.offset_by("1d").dt.month_start()
    limited_windows = history.with_columns(
        first=pl.max_horizontal(first_full_month, end.dt.offset_by(f"-{MAX_MONTHS}mo")), end=end
    )
    months = (pl.col("end").dt.year() - first.dt.year()) * 12 + pl.col("end").dt.month().cast(pl.Int32) - first.dt.month()
    long_windows = limited_windows.with_columns(months=months.cast(pl.Int64)).filter(pl.col("months") >= MIN_MONTHS)
    return collected(long_windows.sort("user").with_row_index("user_index"))


def _with_contracts(rows: pl.DataFrame, snapshot: Snapshot) -> pl.DataFrame:
    """With the contract of each booking; a refund belongs to the contract of the booking it refunds."""
    payments, numbers = snapshot.payments, pl.int_range(snapshot.payments.height, dtype=pl.UInt32, eager=True)
    payment_numbers = pl.repeat(None, snapshot.bookings.height, dtype=pl.UInt32, eager=True).scatter(
        snapshot.payment_rows, numbers
    )[rows["row"]]
    contract, regular = (
        payments["contract"].gather(payment_numbers),
        payments["regular"].gather(payment_numbers).fill_null(value=False),
    )
    refund_rows = rows["refund_of"].is_not_null().arg_true()
    if not refund_rows.is_empty():
        refunds = rows[refund_rows].select(key=user_key("refund_of"))
        refunded_payments = payments.select("contract", key=user_key("id")).filter(pl.col("key").is_in(refunds["key"].implode()))
        refunds = refunds.join(refunded_payments.unique("key", keep="first"), on="key", how="left", maintain_order="left")
        contract = contract.scatter(refund_rows, pl.select(pl.coalesce(contract[refund_rows], refunds["contract"])).to_series())
    return rows.hstack([contract, regular])
