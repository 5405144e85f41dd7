"""What the analyses of users rest on, seen as of a day."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.contracts import contracts
from analytics.analyses.duplicate_accounts import counted_once
from analytics.frames import AS_OF, CONTRACT_BOOKINGS, CONTRACTS, PRODUCTS, TAG_KINDS, TAG_PARTS, TAGGED, TRANSACTIONS, checked

EURO = "EUR"
NO_RUN = (1 << 32) - 1
SPAN = 1 << 17
"""More than there are days."""
UNREAD = ("value_on", "primanota", *(f"{kind}_{part}" for kind in TAG_KINDS for part in TAG_PARTS[1:]))
"""What is stored of a booking and read by no analysis: copying it took as long as some of them."""
BOOKED = pl.Schema({name: kind for name, kind in {**TRANSACTIONS, **TAGGED, "as_of": pl.Date()}.items() if name not in UNREAD})
CATEGORY = pl.Enum(trees.categories_frame()["system_name"])


@dataclass(frozen=True)
class Snapshot:
    """Bookings with their tags that count; products; and the contracts in the bookings."""

    bookings: pl.DataFrame
    products: pl.DataFrame
    as_of: pl.DataFrame
    contracts: pl.DataFrame
    payments: pl.DataFrame
    places: pl.Series
    """The place of each payment among the bookings."""

    @cached_property
    def users(self) -> pl.Enum:
        """The users in order."""
        return pl.Enum(self.as_of["user"].unique().sort())

    @cached_property
    def user(self) -> pl.Series:
        """The user of each booking as one of `users`."""
        return coded(self.bookings["user"], self.users)

    @cached_property
    def days(self) -> NDArray[np.int64]:
        """The day of every booking, by user: the place of the user among `users` × `SPAN` + the day, sorted."""
        day = self.bookings["booked_on"].to_physical().to_numpy()
        return np.sort(self.user.to_physical().to_numpy() * np.int64(SPAN) + day, kind="stable")  # they mostly are in order

    @cached_property
    def histories(self) -> pl.DataFrame:
        """Of each user with bookings, in order: `user`, `place` among `users`, `as_of`, `start`: the day of the first booking."""
        place = np.flatnonzero(np.bincount(self.days // SPAN, minlength=1))
        first = self.days[np.searchsorted(self.days, place * SPAN)] % SPAN
        begun = pl.DataFrame({"place": place.astype(np.int64), "start": pl.Series(first, dtype=pl.Int32).cast(pl.Date)})
        named = begun.with_columns(user=self.users.categories.gather(begun["place"]))
        return named.join(self.as_of, on="user", how="left", maintain_order="left").select("user", "place", "as_of", "start")

    @cached_property
    def category(self) -> pl.Series:
        """The effective category of each booking as one of `CATEGORY`."""
        return self.bookings["effective_category"].cast(CATEGORY, strict=False)

    def are_in(self, categories: Iterable[str]) -> pl.Series:
        """Whether each booking is in one of these effective categories."""
        wanted = CATEGORY.categories.is_in(list(categories))
        return wanted.gather(self.category.to_physical()).fill_null(value=False)


def coded(users: pl.Series, known: pl.Enum) -> pl.Series:
    """A column of users as numbers; null for others. Bookings of a user mostly follow each other: each run is looked up once."""
    run = users.rle_id()
    heads = users.filter(run != run.shift(1, fill_value=NO_RUN))
    return heads.cast(known, strict=False).gather(run)


def counted(bookings: pl.DataFrame, as_of: pl.DataFrame) -> pl.DataFrame:
    """The bookings that analyses look at, with `as_of`: booked until that day, in the currency of most of the user's bookings.

    Amounts of two currencies cannot be added. Of currencies with as many bookings the euro is taken, then the first by name.
    Wide rows are copied once, and not at all if all of them count.
    """
    dates = as_of["as_of"].gather(coded(bookings["user"], pl.Enum(as_of["user"])).to_physical())
    wanted = ((bookings["booked_on"] <= dates) & ~bookings["pending"]).fill_null(value=False)
    dated = bookings.hstack([dates])
    booked = dated if wanted.all() else dated.filter(wanted)
    if booked.is_empty() or booked["currency"].eq_missing(booked["currency"][:1]).all():
        return booked
    ranked = (
        booked.group_by("user", "currency")
        .len()
        .sort("user", -pl.col("len").cast(pl.Int64), pl.col("currency") != EURO, "currency")
    )
    main = ranked.unique("user", keep="first", maintain_order=True).select("user", "currency")
    return booked.join(main, on=["user", "currency"], how="semi", maintain_order="left")


def snapshot(tagged: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> Snapshot:
    """What can be seen in tagged bookings (the columns of `TRANSACTIONS` and `TAGGED`) on the as-of dates."""
    booked = counted_once(counted(tagged.drop(UNREAD, strict=False), as_of), products).select(BOOKED.names())
    found = contracts(booked)
    return Snapshot(
        checked(booked, BOOKED),
        checked(products, PRODUCTS),
        checked(as_of, AS_OF),
        checked(found.contracts, CONTRACTS),
        checked(found.bookings, CONTRACT_BOOKINGS),
        found.places,
    )
