"""One key for a counterparty that two banks of a user write differently: with its account, and by its name alone.

Whoever moves to another bank has the same employer, landlord and gym as before. Without this, every contract would end with the
old account and begin anew with the new one.
"""

import polars as pl

from analytics.products import ProductCategory

PARTY = ["user", "name"]


def with_common_keys(bookings: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """The bookings with the account of a counterparty as `counterparty_key` where a bank writes only its name, if another bank of
    the user writes one account with this name. Only banks that never write accounts are completed.
    """
    checking = products.filter(pl.col("category") == ProductCategory.CHECKING).select("user", "product")
    several = checking.unique().filter(pl.len().over("user") > 1)
    if several.is_empty():
        return bookings
    name = pl.col("counterparty_name").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    has_account = pl.col("counterparty_iban").fill_null("") != ""
    rows = (
        bookings.select("user", "product", "counterparty_name", "counterparty_iban", "counterparty_key")
        .with_row_index("row")
        .filter(bookings["user"].is_in(several["user"].unique().implode()))
        .join(several, on=["user", "product"], how="semi", maintain_order="left")
        .with_columns(name=name, has_account=has_account)
    )
    without_accounts = rows.filter(~pl.col("has_account").any().over("user", "product"), pl.col("name") != "")
    if without_accounts.is_empty():
        return bookings
    accounts = rows.filter("has_account", pl.col("counterparty_key") == pl.col("counterparty_iban")).group_by(PARTY)
    single_accounts = accounts.agg(count=pl.n_unique("counterparty_key"), account=pl.min("counterparty_key")).filter(
        pl.col("count") == 1
    )
    completed = without_accounts.join(single_accounts, on=PARTY).select("row", "account").sort("row")
    return bookings.with_columns(bookings["counterparty_key"].scatter(completed["row"], completed["account"]))
