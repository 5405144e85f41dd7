"""What the analyses of users rest on, seen as of a day."""

from dataclasses import dataclass

import polars as pl

from analytics.contracts import contracts
from analytics.frames import AS_OF, CONTRACT_BOOKINGS, CONTRACTS, PRODUCTS, TAGGED, TRANSACTIONS, checked

BOOKED = pl.Schema({**TRANSACTIONS, **TAGGED, "as_of": pl.Date()})


@dataclass(frozen=True)
class Seen:
    """Bookings with their tags until the as-of date of each user, what was booked only; products; and the contracts in them."""

    bookings: pl.DataFrame
    products: pl.DataFrame
    as_of: pl.DataFrame
    contracts: pl.DataFrame
    payments: pl.DataFrame


def seen(tagged: pl.DataFrame, products: pl.DataFrame, as_of: pl.DataFrame) -> Seen:
    """What can be seen in tagged bookings (the columns of `TRANSACTIONS` and `TAGGED`) on the as-of dates."""
    dated = tagged.join(as_of, on="user", how="inner", maintain_order="left")
    booked = dated.filter(pl.col("booked_on") <= pl.col("as_of"), ~pl.col("pending")).select(BOOKED.names())
    found = contracts(booked)
    return Seen(
        checked(booked, BOOKED),
        checked(products, PRODUCTS),
        checked(as_of, AS_OF),
        checked(found.contracts, CONTRACTS),
        checked(found.bookings, CONTRACT_BOOKINGS),
    )
