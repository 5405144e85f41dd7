"""Join keys: ids are only unique together with their user, and numbers are joined faster than texts."""

from functools import cache

import polars as pl


@cache
def user_key(name: str) -> pl.Expr:
    """A number for the id in this column together with the user in `user`; null where the id is null."""
    return pl.when(pl.col(name).is_not_null()).then(pl.col(name).hash(1) ^ pl.col("user").hash(2))
