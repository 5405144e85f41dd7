"""What balances show: the days on which a current account was below zero, and what could be spent at once.

A balance is known for the as-of date only. The days before follow from it by taking back the bookings after them.
"""

import polars as pl

from analytics.analyses.snapshot import EURO, Snapshot
from analytics.frames import collected
from analytics.products import ProductCategory

LIQUID_PRODUCTS = (
    ProductCategory.CHECKING,
    ProductCategory.SAVINGS,
    ProductCategory.CALL_MONEY,
    ProductCategory.FIXED_DEPOSIT,
)
"""Money that is there when it is needed. Securities are not, since nobody knows what they will bring."""


def liquid_cents(accounts: pl.DataFrame) -> pl.LazyFrame:
    """By user with a known balance of a liquid product: `liquid_cents`, the sum of these balances."""
    liquid = accounts.lazy().filter(pl.col("category").is_in(LIQUID_PRODUCTS))
    return liquid.group_by("user").agg(liquid_cents=pl.sum("balance_cents"))


def balanced_accounts(snapshot: Snapshot) -> pl.DataFrame:
    """The products of users with bookings in euros whose balance is known; an account that is connected twice is there once."""
    currencies = snapshot.bookings.lazy().group_by("user").agg(pl.first("currency"))
    in_euros = currencies.filter(pl.col("currency") == EURO)
    with_balance = snapshot.products.lazy().filter(pl.col("balance_cents").is_not_null()).join(in_euros, on="user", how="semi")
    account = pl.when(pl.col("iban").fill_null("") != "").then("iban").otherwise("product")
    keyed_products = with_balance.with_columns(account=account).sort("user", "product")
    return collected(keyed_products.unique(["user", "category", "account"], keep="first", maintain_order=True))


def days_below_zero(snapshot: Snapshot, accounts: pl.DataFrame, windows: pl.DataFrame) -> pl.LazyFrame:
    """By user with the balance of a current account: `days_below_zero`, the share of days since `window_first` that ended below
    zero, of the account with the most such days.
    """
    checking = (
        accounts.lazy()
        .filter(pl.col("category") == ProductCategory.CHECKING)
        .join(windows.lazy().select("user", "window_first", "as_of"), on="user", how="inner")
    )
    account_columns = ["user", "product", "balance_cents", "window_first", "as_of"]
    bookings = (
        snapshot.bookings[["user", "product", "booked_on", "amount_cents"]]
        .lazy()
        .join(checking.select(account_columns), on=["user", "product"], how="inner")
    )
    recent = bookings.filter(pl.col("booked_on") >= pl.col("window_first"))
    day_sums = recent.group_by(*account_columns, day="booked_on").agg(pl.sum("amount_cents"))
    columns = [*account_columns, "day", "amount_cents"]
    openings = checking.select(*account_columns, day=pl.col("window_first").dt.offset_by("-1d"), amount_cents=pl.lit(0, pl.Int64))
    days = pl.concat([openings, day_sums.select(columns)]).sort("user", "product", "day")
    keys = ["user", "product"]
    booked_later = pl.sum("amount_cents").over(keys) - pl.col("amount_cents").cum_sum().over(keys)
    begin = pl.max_horizontal("day", "window_first")
    end = pl.col("day").shift(-1).over(keys).fill_null(pl.col("as_of").dt.offset_by("1d"))
    lengths = days.with_columns(balance=pl.col("balance_cents") - booked_later, length=(end - begin).dt.total_days().clip(0))
    below = pl.col("length").filter(pl.col("balance") < 0).sum()
    shares = lengths.group_by("user", "product").agg(share=below / pl.col("length").sum())
    return shares.group_by("user").agg(days_below_zero=pl.max("share"))
