"""Random numbers of the scripted personas: mixed from the integers that name a booking, the same in every version of Polars.

`models.simulator.base.chance` serves drawn households; its numbers are others.
"""

import polars as pl

_WORD = pl.UInt64
_FACTORS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7)


def mix(*parts: pl.Expr | int) -> pl.Expr:
    """The integers mixed to 64 bits: summed with odd factors, then stirred as splitmix64 does. Products wrap around."""
    words = [_word(part) * _word(factor) for part, factor in zip(parts, _FACTORS[: len(parts)], strict=True)]
    state = sum(words[1:], start=words[0])
    state = state.xor(state // (1 << 30)) * _word(0xBF58476D1CE4E5B9)
    state = state.xor(state // (1 << 27)) * _word(0x94D049BB133111EB)
    return state.xor(state // (1 << 31))


def ratio(*parts: pl.Expr | int) -> pl.Expr:
    """The integers mixed to a number from 0 to below 1."""
    return (mix(*parts) // (1 << 11)).cast(pl.Float64) / (1 << 53)


def _word(part: pl.Expr | int) -> pl.Expr:
    return pl.lit(part, dtype=_WORD) if isinstance(part, int) else part.cast(_WORD)
