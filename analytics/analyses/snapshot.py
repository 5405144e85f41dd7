"""The snapshot of users that all analyses read: their bookings, products and contracts as of a day."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.contracts import Contracts, contracts
from analytics.analyses.counterparties import with_common_keys
from analytics.analyses.duplicate_accounts import merge_duplicates
from analytics.analyses.keys import user_key
from analytics.analyses.own_contracts import NO_OWN_CONTRACTS, OwnContracts, own_contracts, with_contract_payments
from analytics.frames import (
    AS_OF,
    CONTRACT_BOOKINGS,
    CONTRACTS,
    PRODUCTS,
    SNAPSHOT_BOOKINGS,
    UNREAD_COLUMNS,
    checked,
)
from analytics.products import SAVING_PRODUCTS

EURO = "EUR"
NO_RUN = (1 << 32) - 1
USER_STRIDE_DAYS = 1 << 17
"""Larger than any day number, so that user index × stride + day sorts by user and day."""
CATEGORY_CODES = pl.Enum(trees.categories_frame()["system_name"])


@dataclass(frozen=True)
class Snapshot:
    """The tagged bookings that count, the products, and the contracts recognised in the bookings with their payments."""

    bookings: pl.DataFrame
    products: pl.DataFrame
    as_of: pl.DataFrame
    contracts: pl.DataFrame
    payments: pl.DataFrame
    payment_rows: pl.Series
    """The row of each payment among the bookings."""
    savings_plans: pl.DataFrame = field(default_factory=CONTRACTS.to_frame)
    """Regular transfers to the user's own savings and depots, described as contracts are."""
    savings_plan_payments: pl.DataFrame = field(default_factory=CONTRACT_BOOKINGS.to_frame)
    own_contracts: OwnContracts = NO_OWN_CONTRACTS
    """The payments to connected loans and home savings, which the bookings show as payments of contracts."""

    @cached_property
    def users(self) -> pl.Enum:
        """The users, sorted."""
        return pl.Enum(self.as_of["user"].unique().sort())

    @cached_property
    def user(self) -> pl.Series:
        """The user of each booking, coded as in `users`."""
        return encode_users(self.bookings["user"], self.users)

    @cached_property
    def days(self) -> NDArray[np.int64]:
        """The day of every booking as index of its user among `users` × `USER_STRIDE_DAYS` + day, sorted."""
        day = self.bookings["booked_on"].to_physical().to_numpy()
        keys = self.user.to_physical().to_numpy() * np.int64(USER_STRIDE_DAYS) + day
        return np.sort(keys, kind="stable")  # fast, since the bookings mostly are in order

    @cached_property
    def histories(self) -> pl.DataFrame:
        """One row per user with bookings, sorted: `user`, `user_index` among `users`, `as_of`, and `start`, the day of the first
        booking.
        """
        user_index = np.flatnonzero(np.bincount(self.days // USER_STRIDE_DAYS, minlength=1))
        first = self.days[np.searchsorted(self.days, user_index * USER_STRIDE_DAYS)] % USER_STRIDE_DAYS
        first_days = pl.DataFrame(
            {"user_index": user_index.astype(np.int64), "start": pl.Series(first, dtype=pl.Int32).cast(pl.Date)}
        )
        user_days = first_days.with_columns(user=self.users.categories.gather(first_days["user_index"]))
        return user_days.join(self.as_of, on="user", how="left", maintain_order="left").select(
            "user", "user_index", "as_of", "start"
        )

    @cached_property
    def category(self) -> pl.Series:
        """The effective category of each booking, coded as in `CATEGORY_CODES`."""
        return self.bookings["effective_category"].cast(CATEGORY_CODES, strict=False)

    def are_in(self, categories: Iterable[str]) -> pl.Series:
        """Whether each booking is in one of these effective categories."""
        return pl.Series(_selection(tuple(categories))[self.category_numbers])

    @cached_property
    def category_numbers(self) -> NDArray[np.int64]:
        """The code of each booking's effective category, and for a booking without one the number after the last code."""
        return self.category.to_physical().cast(pl.Int64).fill_null(len(CATEGORY_CODES.categories)).to_numpy()


@cache
def _selection(categories: tuple[str, ...]) -> NDArray[np.bool_]:
    """By code whether a category is one of these; the last place is that of bookings without a category."""
    codes = CATEGORY_CODES.categories
    return np.append(codes.is_in(list(categories)).to_numpy(), False)


def encode_users(users: pl.Series, codes: pl.Enum) -> pl.Series:
    """A column of users in these codes, null for users without one. Bookings of a user mostly follow each other, so each run is
    looked up once.
    """
    run = users.rle_id()
    heads = users.filter(run != run.shift(1, fill_value=NO_RUN))
    return heads.cast(codes, strict=False).gather(run)


def visible_bookings(bookings: pl.DataFrame, as_of: pl.DataFrame) -> pl.DataFrame:
    """The bookings that analyses read, with `as_of`: booked until that day, in the currency of most of the user's bookings.

    Amounts of two currencies cannot be added. Of currencies with equally many bookings the euro is taken, then the first by name.
    The wide rows are copied once, and not at all if all of them are visible.
    """
    dates = as_of["as_of"].gather(encode_users(bookings["user"], pl.Enum(as_of["user"])).to_physical())
    is_visible = ((bookings["booked_on"] <= dates) & ~bookings["pending"]).fill_null(value=False)
    dated_bookings = bookings.hstack([dates])
    visible = dated_bookings if is_visible.all() else dated_bookings.filter(is_visible)
    if visible.is_empty() or visible["currency"].eq_missing(visible["currency"][:1]).all():
        return visible
    currencies = (
        visible.group_by("user", "currency")
        .len()
        .sort("user", -pl.col("len").cast(pl.Int64), pl.col("currency") != EURO, "currency")
    )
    main_currency = currencies.unique("user", keep="first", maintain_order=True).select("user", "currency")
    return visible.join(main_currency, on=["user", "currency"], how="semi", maintain_order="left")


def snapshot(tagged_bookings: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> Snapshot:
    """The snapshot of tagged bookings (the columns of `TRANSACTIONS` and `TAGGED`) on the as-of dates (frame `AS_OF`)."""
    single_bookings = merge_duplicates(
        visible_bookings(tagged_bookings.drop(UNREAD_COLUMNS, strict=False), as_of), products
    ).select(SNAPSHOT_BOOKINGS.names())
    account_contracts = own_contracts(single_bookings, products)
    bookings = with_common_keys(with_contract_payments(single_bookings, account_contracts), products)
    user_contracts = contracts(bookings)
    savings_plans, savings_plan_payments = _savings_plans(user_contracts, bookings, products)
    return Snapshot(
        checked(bookings, SNAPSHOT_BOOKINGS),
        checked(products, PRODUCTS),
        checked(as_of, AS_OF),
        checked(user_contracts.contracts, CONTRACTS),
        checked(user_contracts.bookings, CONTRACT_BOOKINGS),
        user_contracts.payment_rows,
        checked(savings_plans, CONTRACTS),
        checked(savings_plan_payments, CONTRACT_BOOKINGS),
        account_contracts,
    )


def _savings_plans(
    user_contracts: Contracts, bookings: pl.DataFrame, products: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The regular transfers to own savings and their bookings, without those from one store of savings to another."""
    plans, payments = user_contracts.savings_plans, user_contracts.savings_plan_bookings
    if plans.is_empty():
        return plans, payments
    store_keys = products.filter(pl.col("category").is_in(SAVING_PRODUCTS)).select(user_key("product")).to_series()
    product_keys = bookings.select("user", "product")[user_contracts.savings_plan_rows].select(user_key("product")).to_series()
    from_stores = payments.filter(product_keys.is_in(store_keys.implode()))
    other_plans = plans.join(
        from_stores, left_on=["user", "id"], right_on=["user", "contract"], how="anti", maintain_order="left"
    )
    return other_plans, payments.join(from_stores, on=["user", "contract"], how="anti", maintain_order="left")
