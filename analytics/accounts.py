"""Bank accounts that a user has connected more than once: each counts once in what is said about the user's money.

It happens when people connect their bank again instead of renewing the access. Both show the same bookings, but one may reach
back further and the other be fetched for longer, so that neither can be left out as a whole.
"""

import polars as pl

ACCOUNT = ["user", "iban", "category"]
SAME = ["user", "account", "booked_on", "amount_cents", "currency"]
"""Bookings of one account that differ in nothing of this are the same, except for those that one product itself shows twice."""


def counted_once(bookings: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """The bookings without those that another product of the same account shows already, all of them under its first product.

    An account is known by its IBAN; what has none, as many cards, cannot be told from another one.
    """
    again = products.filter(pl.col("iban") != "", pl.struct(ACCOUNT).is_duplicated())
    if again.is_empty():
        return bookings
    accounts = again.select("user", "product", account=pl.min("product").over(ACCOUNT)).unique()
    found = bookings.with_row_index("row").join(accounts, on=["user", "product"]).sort("user", "product", "row")
    numbered = found.with_columns(turn=pl.int_range(pl.len()).over(*SAME, "product"))
    kept = numbered.unique([*SAME, "turn"], keep="first", maintain_order=True)
    account = pl.repeat(None, bookings.height, dtype=pl.String, eager=True).scatter(kept["row"], kept["account"])
    other = pl.repeat(value=True, n=bookings.height, eager=True).scatter(found["row"], False)
    return bookings.with_columns(product=pl.coalesce(account, "product")).filter(other | account.is_not_null())
