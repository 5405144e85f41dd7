"""Bank accounts that a user has connected more than once: their bookings are counted once.

It happens when people connect their bank again instead of renewing the access. Both products have the same bookings, but one may
reach back further and the other be fetched for longer, so that neither can be left out as a whole.
"""

import polars as pl

ACCOUNT_KIND = ["user", "category"]
BOOKING_IDENTITY = ["booked_on", "amount_cents", "currency", "turn"]
"""Bookings of one account that agree in these columns are the same; `turn` numbers equal bookings of one product."""
MIN_SHARED_BOOKINGS, MIN_SHARED_RATIO = 5, 0.9
"""Two cards are one if they share at least this many bookings, and this share of all bookings in the time that both cover."""


def merge_duplicates(bookings: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """The bookings without those that another product of the same account has already; each account keeps its first product."""
    has_iban = pl.col("iban").fill_null("") != ""
    repeated_ibans = products.filter(has_iban, pl.struct(*ACCOUNT_KIND, "iban").is_duplicated())
    nameless = products.filter(~has_iban).filter(pl.struct(*ACCOUNT_KIND, "owner_name").is_duplicated())
    if repeated_ibans.is_empty() and nameless.is_empty():
        return bookings
    accounts = [
        repeated_ibans.select("user", "product", account=pl.min("product").over(*ACCOUNT_KIND, "iban")),
        _cards_with_same_bookings(bookings, nameless),
    ]
    product_accounts = pl.concat(accounts).group_by("user", "product").agg(pl.min("account"))
    rows = _numbered_bookings(bookings, product_accounts)
    first_bookings = rows.unique(["user", "account", *BOOKING_IDENTITY], keep="first", maintain_order=True)
    account = pl.repeat(None, bookings.height, dtype=pl.String, eager=True).scatter(
        first_bookings["row"], first_bookings["account"]
    )
    is_single = pl.repeat(value=True, n=bookings.height, eager=True).scatter(rows["row"], False)
    return bookings.with_columns(product=pl.coalesce(account, "product")).filter(is_single | account.is_not_null())


def _cards_with_same_bookings(bookings: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """Products without an IBAN, such as cards, that have the same bookings as another one: `user`, `product` and `account`."""
    rows = _numbered_bookings(bookings, products.select(*ACCOUNT_KIND, "product"))
    spans = rows.group_by("user", "product").agg(first=pl.min("booked_on"), last=pl.max("booked_on"))
    shared_bookings = rows.join(rows, on=[*ACCOUNT_KIND, *BOOKING_IDENTITY], suffix="_again").filter(
        pl.col("product") < pl.col("product_again")
    )
    pairs = (
        shared_bookings.group_by("user", "product", "product_again").len("shared").filter(pl.col("shared") >= MIN_SHARED_BOOKINGS)
    )
    pairs = pairs.join(spans, on=["user", "product"]).join(
        spans, left_on=["user", "product_again"], right_on=["user", "product"], suffix="_again"
    )
    for product in ("product", "product_again"):
        product_bookings = pairs.join(rows, left_on=["user", product], right_on=["user", "product"], suffix="_of")
        bookings_in_both = product_bookings.filter(
            pl.col("booked_on") >= pl.max_horizontal("first", "first_again"),
            pl.col("booked_on") <= pl.min_horizontal("last", "last_again"),
        )
        product_counts = bookings_in_both.group_by("user", "product", "product_again").len(f"all_{product}")
        pairs = pairs.join(product_counts, on=["user", "product", "product_again"])
    larger_count = pl.max_horizontal("all_product", "all_product_again")
    same = pairs.filter(pl.col("shared") >= MIN_SHARED_RATIO * larger_count)
    later = same.group_by("user", product="product_again").agg(account=pl.min("product"))
    return pl.concat([later.select("user", product="account", account="account"), later])


def _numbered_bookings(bookings: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """The bookings of these products with their `row`, the columns of the product, and their `turn` among equal bookings, which
    are counted by their ids.
    """
    columns = ("user", "product", "id", *BOOKING_IDENTITY[:-1])
    product_bookings = bookings.select(columns).with_row_index("row").join(products, on=["user", "product"])
    ordered_bookings = product_bookings.sort("user", "product", "id")
    return ordered_bookings.with_columns(turn=pl.int_range(pl.len()).over("user", "product", *BOOKING_IDENTITY[:-1]))
