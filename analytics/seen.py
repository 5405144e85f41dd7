"""What the analyses of users rest on, seen as of a day."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from analytics.contracts import contracts
from analytics.frames import AS_OF, CONTRACT_BOOKINGS, CONTRACTS, PRODUCTS, TAGGED, TRANSACTIONS, checked
from analytics.keys import user_key

EURO = "EUR"
BOOKED = pl.Schema({**TRANSACTIONS, **TAGGED, "as_of": pl.Date()})


@dataclass(frozen=True)
class Seen:
    """Bookings with their tags that count; products; and the contracts in the bookings."""

    bookings: pl.DataFrame
    products: pl.DataFrame
    as_of: pl.DataFrame
    contracts: pl.DataFrame
    payments: pl.DataFrame

    @cached_property
    def places(self) -> pl.Series:
        """The place of each payment among the bookings."""
        key = user_key("id").alias("key")
        booked = self.bookings.select(key, row=pl.int_range(pl.len(), dtype=pl.UInt32))
        paid = self.payments.select(key, payment=pl.int_range(pl.len(), dtype=pl.UInt32))
        return paid.join(booked, on="key", how="inner").sort("payment")["row"]


def counted(bookings: pl.DataFrame, as_of: pl.DataFrame) -> pl.DataFrame:
    """The bookings that analyses look at, with `as_of`: booked until that day, in the currency of most of the user's bookings.

    Amounts of two currencies cannot be added. Of currencies with as many bookings the euro is taken, then the first by name.
    Wide rows are copied once, and not at all if all of them count.
    """
    dates = bookings.select("user").join(as_of, on="user", how="left", maintain_order="left")["as_of"]
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


def seen(tagged: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> Seen:
    """What can be seen in tagged bookings (the columns of `TRANSACTIONS` and `TAGGED`) on the as-of dates."""
    booked = counted(tagged, as_of).select(BOOKED.names())
    found = contracts(booked)
    return Seen(
        checked(booked, BOOKED),
        checked(products, PRODUCTS),
        checked(as_of, AS_OF),
        checked(found.contracts, CONTRACTS),
        checked(found.bookings, CONTRACT_BOOKINGS),
    )
