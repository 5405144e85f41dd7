"""Drafts of bookings: the columns that every source fills, with their defaults."""

import polars as pl

DRAFT: dict[str, tuple[pl.DataType, object]] = {
    "who": (pl.Int32(), None),
    "account": (pl.UInt8(), 0),
    "kind": (pl.String(), "TRANSFER"),
    "day": (pl.Int32(), None),
    "value": (pl.Int32(), None),
    "cents": (pl.Int64(), None),
    "party": (pl.String(), ""),
    "iban": (pl.String(), None),
    "bic": (pl.String(), None),
    "creditor": (pl.String(), None),
    "mandate": (pl.String(), None),
    "end_to_end": (pl.String(), None),
    "code": (pl.String(), None),
    "wording": (pl.UInt16(), 0),
    "number": (pl.UInt64(), 0),
    "key": (pl.UInt64(), None),
    "from_day": (pl.Int32(), 0),
    "to_day": (pl.Int32(), 0),
    "n": (pl.Int32(), 0),
    "of": (pl.Int32(), 0),
    "word": (pl.String(), ""),
    "city": (pl.String(), None),
    "street": (pl.String(), None),
    "store": (pl.String(), None),
    "via": (pl.String(), None),
    "ultimate": (pl.String(), None),
    "currency": (pl.String(), None),
    "original": (pl.Int64(), None),
    "minute": (pl.Int32(), 0),
    "pending": (pl.Boolean(), False),
    "category": (pl.String(), None),
    "effective": (pl.String(), None),
    "brand": (pl.String(), ""),
    "insurance": (pl.String(), "UNRELATED_OTHER"),
    "freelancer": (pl.String(), ""),
    "contract": (pl.UInt32(), None),
    "regular": (pl.Boolean(), None),
    "pair": (pl.UInt64(), None),
    "refund": (pl.UInt64(), None),
    "merchant_split": (pl.UInt8(), 0),
    "wording_split": (pl.UInt8(), 0),
    "copy": (pl.Boolean(), False),
}
"""Type and default of every column. `key` is a row's own number, `number` that of its contract; `pair` is shared by two legs,
`refund` is the purchase's `key`; `freelancer` is empty where the category decides; `copy` marks the second of two equal
bookings."""


def draft(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with all columns of a draft."""
    sources = {name: name for name in frame.columns}
    if "value" not in sources or frame["value"].null_count() == frame.height:
        sources["value"] = "day"
    return frame.select(
        (pl.col(sources[name]).cast(dtype) if name in sources else pl.lit(default, dtype)).alias(name)
        for name, (dtype, default) in DRAFT.items()
    )
