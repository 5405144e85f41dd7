"""Which accounts are business accounts, and what follows for meals: only there a restaurant without a word about it is
entertainment of business partners. Elsewhere people eat as private persons, also those who have a business.

An account is one if its holder is a company, or if revenues or value-added tax go through it while its holder's daily shopping
does not, or mostly goes through another account.
"""

import polars as pl

from analytics.bank_text import canonical
from analytics.tagging.account_holder import COMPANY_WORDS
from analytics.tagging.layers import LayeredBookings, user_and_product_numbers

MEALS, DAILY_SHOPPING = "RECREATION_ENTERTAINMENTFOOD", "LIVING_GROCERIES"
ENTERTAINMENT, CONFIDENCE, REASON = "ENTERTAINMENT", 0.8, "Bewirtung, vom Geschäftskonto bezahlt"
VALUE_ADDED_TAX = ("VAT_PAID", "VAT_REFUND")
REVENUE, MIN_REVENUES = "REVENUE", 3


def business_meals(bookings: LayeredBookings, products: pl.DataFrame) -> pl.DataFrame:
    """The meals paid from business accounts: `row` with their freelancer category."""
    accounts = _business_accounts(bookings, products)
    rows = bookings.rows_where(pl.col("product").is_in(accounts.implode()) & (pl.col("amount_cents") < 0))
    meals = bookings.select(rows, "row", "category", "freelancer").filter(
        pl.col("category") == MEALS, pl.col("freelancer") != ENTERTAINMENT
    )
    return meals.select(
        "row",
        freelancer=pl.lit(ENTERTAINMENT),
        freelancer_confidence=pl.lit(CONFIDENCE),
        freelancer_source=pl.lit("RULE"),
        freelancer_reason=pl.lit(REASON),
    )


def _business_accounts(bookings: LayeredBookings, products: pl.DataFrame) -> pl.Series:
    """The numbers of products that are business accounts."""
    owner = canonical.plain(products["owner_name"])
    of_companies = products.select(user_and_product_numbers()).filter(owner.str.contains(COMPANY_WORDS))
    business = _rows_with_line(bookings, "freelancer", (REVENUE, *VALUE_ADDED_TAX))
    shopping = _rows_with_line(bookings, "category", (DAILY_SHOPPING,)).join(business, on="user", how="semi")
    by_use = (
        business.group_by("user", "product")
        .agg(
            is_used=(pl.col("freelancer").is_in(VALUE_ADDED_TAX)).any()
            | ((pl.col("freelancer") == REVENUE).sum() >= MIN_REVENUES)
        )
        .join(shopping.group_by("user", "product").agg(here=pl.len()), on=["user", "product"], how="left")
        .join(shopping.group_by("user").agg(everywhere=pl.len()), on="user", how="left")
        .filter("is_used", pl.col("here").is_null() | (2 * pl.col("here") < pl.col("everywhere")))
    )
    return pl.concat([of_companies["product"], by_use["product"]]).unique().sort()


def _rows_with_line(bookings: LayeredBookings, column: str, items: tuple[str, ...]) -> pl.DataFrame:
    """`user`, `product` and the column of the rows with one of these items, which their lines must have had already."""
    rows = bookings.rows_where(pl.col("is_one"), is_one=pl.col(column).is_in(items))
    return bookings.select(rows, "user", "product", column).filter(pl.col(column).is_in(items))
