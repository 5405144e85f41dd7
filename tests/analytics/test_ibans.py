"""IBANs are equal however they were written."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.bank_text.ibans import compared

PLAIN = "DE02120300000000202051"
IBANS = st.text("DEdexyXY0123456789 \t\n\u00a0", max_size=34)


@pytest.mark.parametrize(
    "written",
    [
        "DE02 1203 0000 0000 2020 51",
        "de02120300000000202051",
        " De02\t1203 0000\n0000 2020 51 ",
        "DE02\u00a01203\u00a00000000020 2051",
    ],
)
def test_blanks_and_small_letters_do_not_matter(written: str) -> None:
    assert compared(pl.Series([PLAIN, written])).to_list() == [PLAIN, PLAIN]


def test_where_there_is_none_it_is_empty() -> None:
    assert compared(pl.Series([None, "", "  ", PLAIN], dtype=pl.String)).to_list() == ["", "", "", PLAIN]
    assert compared(pl.Series([None, PLAIN])).to_list() == ["", PLAIN]
    assert compared(pl.Series([], dtype=pl.String)).to_list() == []


def test_the_name_of_the_column_stays() -> None:
    assert compared(pl.Series("iban", [PLAIN])).name == compared(pl.Series("iban", ["de02"])).name == "iban"


@given(st.lists(st.none() | IBANS))
def test_each_is_compared_as_if_it_were_alone(written: list[str | None]) -> None:
    found = compared(pl.Series(written, dtype=pl.String))
    assert found.to_list() == ["".join((iban or "").split()).upper() for iban in written]
    assert compared(found).equals(found)
