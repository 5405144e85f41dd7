"""Looking for parts of texts at every second or third place finds what looking at every byte finds."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.native.prefilter import any_of

STEMS = ("rate", "teilzahlung", "rechnung", "spar plan")
PIECES = st.sampled_from(
    ["rate", "RATE", "Teilzahlung", "rechnun", "echnung", "spar plan", "spar-plan", "ä", "ß", "r", "at", " ", "x", "12", ""]
)


@given(st.lists(st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=12) | st.none(), max_size=20))
def test_it_finds_what_a_slow_look_finds(texts: list[str | None]) -> None:
    column = pl.Series("text", texts, pl.String)
    expected = [text is not None and any(stem in _plain(text) for stem in STEMS) for text in texts]
    assert any_of(column, STEMS).to_list() == expected


@pytest.mark.parametrize("text", ["Rate", "xRate", "xxRate", "xxxRate", "Ratex", "rAtE", "é Rate", "Ra te Rate"])
def test_wherever_a_part_stands(text: str) -> None:
    assert any_of(pl.Series("text", [text]), ("rate",)).to_list() == [True]


def _plain(text: str) -> str:
    """Small letters and digits; a blank for every other byte."""
    return "".join(chr(byte).lower() if chr(byte).isascii() and chr(byte).isalnum() else " " for byte in text.encode())
