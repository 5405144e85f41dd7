"""Banks, account numbers and creditor ids with the right check digits."""

from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base.chance import Ints, Keys, hashed, uniform, weighted
from models.simulator.base.lists import WeightedList, table

FORMAT_SHARES = {
    "sparkasse_camt": 0.24,
    "sparkasse_mt940": 0.13,
    "vr": 0.17,
    "ing": 0.10,
    "dkb_new": 0.06,
    "dkb_old": 0.03,
    "commerzbank": 0.08,
    "deutsche_bank": 0.09,
    "comdirect": 0.04,
    "n26": 0.04,
    "hvb": 0.04,
    "targobank": 0.03,
}
"""Formats of current accounts with their share of customers."""
ONLY_CARDS_AND_WALLETS = ("card_statement", "paypal_wallet")
FORMATS = (*FORMAT_SHARES, *ONLY_CARDS_AND_WALLETS)


def formats(allowed: tuple[str, ...]) -> WeightedList:
    """The allowed formats of current accounts."""
    names = [name for name in FORMAT_SHARES if name in allowed]
    if not names:
        raise ValueError("at least one format of a current account is needed")
    return WeightedList(
        pl.DataFrame({"format": names, "weight": [FORMAT_SHARES[name] for name in names], "split": [0] * len(names)})
    )


@cache
def all_banks() -> pl.DataFrame:
    """All banks, with code and BIC."""
    return table("banks").with_columns(
        pl.col("code").cast(pl.Int64), pl.col("weight").cast(pl.Float64), direct=pl.col("direct") == "1"
    )


def of_format(names: NDArray[np.str_], keys: Keys) -> Ints:
    """A bank of each format, as position in `all_banks`."""
    frame = all_banks()
    out = np.zeros(keys.size, np.int64)
    chances = uniform(keys, "bank of format")
    for name in np.unique(names):
        rows_of_format = np.flatnonzero((frame["format"] == name).to_numpy())
        if rows_of_format.size:
            of_name = names == name
            out[of_name] = rows_of_format[weighted(chances[of_name], frame["weight"].to_numpy()[rows_of_format])]
    return out


def anywhere(keys: Keys) -> Ints:
    """A bank for each counterparty, as position in `all_banks`."""
    return weighted(uniform(keys, "bank anywhere"), all_banks()["weight"].to_numpy())


def accounts(bank: Ints, keys: Keys) -> tuple[pl.Series, pl.Series]:
    """IBAN and BIC of an account at each bank."""
    code = all_banks()["code"].to_numpy()[bank]
    number = (hashed(keys, "account number") % np.uint64(9_999_999_937)).astype(np.int64)
    check = 98 - ((code % 97) * (10**16 % 97) + (number % 97) * (10**6 % 97) + 131400) % 97
    frame = pl.DataFrame({"check": check, "code": code, "number": number}).select(
        iban=pl.concat_str(pl.lit("DE"), _digits("check", 2), pl.col("code").cast(pl.String), _digits("number", 10))
    )
    return frame["iban"], all_banks()["bic"][pl.Series(bank, dtype=pl.UInt32)]


def creditor_ids(keys: Keys) -> pl.Series:
    """German creditor ids; the business code in the middle is not part of the check."""
    number = (hashed(keys, "creditor") % np.uint64(3_000_000)).astype(np.int64) + 10_000
    check = 98 - ((number % 97) * (10**6 % 97) + 131400) % 97
    frame = pl.DataFrame({"check": check, "number": number})
    return frame.select(pl.concat_str(pl.lit("DE"), _digits("check", 2), pl.lit("ZZZ"), _digits("number", 11))).to_series()


def _digits(name: str, width: int) -> pl.Expr:
    return pl.col(name).cast(pl.String).str.zfill(width)


def names_of(formats: NDArray[np.str_]) -> pl.Series:
    """The name of a bank of each format."""
    first = all_banks().group_by("format", maintain_order=True).agg(pl.col("bank").first())
    return pl.Series(formats).replace_strict(first["format"], first["bank"], default="Bank", return_dtype=pl.String)
