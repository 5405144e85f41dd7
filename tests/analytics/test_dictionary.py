"""Texts that repeat are found once each, however long they are and wherever they lie."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from analytics.native.dictionary import repeats

ALIKE = st.sampled_from(
    ["", "a", "twelve bytes", "thirteen byte", "thirteen bytf", "äöü" * 4, "the same begin, then 1", "the same begin, then 2"]
)
TEXTS = st.lists(ALIKE | st.text(st.characters(exclude_categories=["Cs"]), max_size=40))


@given(TEXTS, st.integers(0, 3))
def test_each_text_is_there_once_and_every_row_knows_its_own(texts: list[str], before: int) -> None:
    column = pl.Series("text", ["x"] * before + texts, pl.String)[before:]
    found = repeats(column, len(texts))
    assert found is not None
    assert found.distinct.to_list() == list(dict.fromkeys(texts))
    assert found.distinct[found.number].to_list() == texts


def test_equal_texts_in_several_places_are_one() -> None:
    column = pl.concat([pl.Series(["a text that stands elsewhere"] * 2) for _ in range(3)])
    found = repeats(column, 1)
    assert found is not None
    assert found.number.tolist() == [0] * 6


def test_too_many_are_not_numbered() -> None:
    column = pl.Series(["a", "b", "a", "c"])
    assert repeats(column, 2) is None
    assert repeats(column, 3) is not None
