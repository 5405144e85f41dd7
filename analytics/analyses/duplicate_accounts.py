"""Bank accounts that a user has connected more than once: each counts once in what is said about the user's money.

It happens when people connect their bank again instead of renewing the access. Both show the same bookings, but one may reach
back further and the other be fetched for longer, so that neither can be left out as a whole.
"""

import polars as pl

KIND = ["user", "category"]
BOOKING = ["booked_on", "amount_cents", "currency", "turn"]
"""Bookings of one account that differ in nothing of this are the same; `turn` tells those apart that one product shows twice."""
LEAST, ALIKE = 5, 0.9
"""So many bookings, and so many of all in the time that both tell of: two cards are one."""


def counted_once(bookings: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """The bookings without those that another product of the same account shows already, all of them under its first product."""
    named = pl.col("iban").fill_null("") != ""
    again = products.filter(named, pl.struct(*KIND, "iban").is_duplicated())
    nameless = products.filter(~named).filter(pl.struct(*KIND, "owner_name").is_duplicated())
    if again.is_empty() and nameless.is_empty():
        return bookings
    accounts = [again.select("user", "product", account=pl.min("product").over(*KIND, "iban")), _alike(bookings, nameless)]
    known = pl.concat(accounts).group_by("user", "product").agg(pl.min("account"))
    rows = _rows(bookings, known).sort("user", "product", "row")
    kept = rows.unique(["user", "account", *BOOKING], keep="first", maintain_order=True)
    account = pl.repeat(None, bookings.height, dtype=pl.String, eager=True).scatter(kept["row"], kept["account"])
    alone = pl.repeat(value=True, n=bookings.height, eager=True).scatter(rows["row"], False)
    return bookings.with_columns(product=pl.coalesce(account, "product")).filter(alone | account.is_not_null())


def _alike(bookings: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """Products without an IBAN, as cards, that show the same bookings as another one: `user`, `product` and its `account`."""
    rows = _rows(bookings, products.select(*KIND, "product"))
    spans = rows.group_by("user", "product").agg(first=pl.min("booked_on"), last=pl.max("booked_on"))
    both = rows.join(rows, on=[*KIND, *BOOKING], suffix="_again").filter(pl.col("product") < pl.col("product_again"))
    pairs = both.group_by("user", "product", "product_again").len("shared").filter(pl.col("shared") >= LEAST)
    pairs = pairs.join(spans, on=["user", "product"]).join(
        spans, left_on=["user", "product_again"], right_on=["user", "product"], suffix="_again"
    )
    for product in ("product", "product_again"):
        each = pairs.join(rows, left_on=["user", product], right_on=["user", "product"], suffix="_of")
        within = each.filter(
            pl.col("booked_on") >= pl.max_horizontal("first", "first_again"),
            pl.col("booked_on") <= pl.min_horizontal("last", "last_again"),
        )
        told = within.group_by("user", "product", "product_again").len(f"all_{product}")
        pairs = pairs.join(told, on=["user", "product", "product_again"])
    most = pl.max_horizontal("all_product", "all_product_again")
    same = pairs.filter(pl.col("shared") >= ALIKE * most)
    later = same.group_by("user", product="product_again").agg(account=pl.min("product"))
    return pl.concat([later.select("user", product="account", account="account"), later])


def _rows(bookings: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """The bookings of some products with their places, what is said of the product, and which of equal ones each is."""
    told = bookings.select("user", "product", *BOOKING[:-1]).with_row_index("row").join(chosen, on=["user", "product"])
    return told.sort("row").with_columns(turn=pl.int_range(pl.len()).over("user", "product", *BOOKING[:-1]))
