"""The formats of login fields, as a table of examples; `docs/tenants.md` shows the same ones."""

import re
from pathlib import Path

import pytest
import re2  # type: ignore[import-untyped]

from pipelines.banks import formats
from pipelines.banks.formats import matches, pattern
from warehouse.errors import Invalid

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    # format, values that fit, values that do not
    ("#", ["0", "9"], ["", "a", "12", "٣", "-"]),
    ("|", ["a", "Z", "7", "ä", "ß", "ẞ", "É"], ["", "ab", "-", "_", " ", "€", "×", "λ"]),
    ("-", ["-", " ", "/", "."], ["", "_", "a", "--", "\t"]),
    ("#5", ["12345", "00000"], ["1234", "123456", "1234a", " 12345", "12345 ", "12345\n"]),
    ("#~5", ["1", "12345"], ["", "123456", "1a"]),
    ("|~6", ["a", "Müller", "geheim"], ["", "geheim1", "ge heim"]),
    ("##", ["12"], ["1", "123"]),
    ("#3-#3-#2", ["100-100-10", "100 100 10", "100/100.10"], ["10010010", "100--100-10", "100_100_10"]),
    ("#8-~1#~2", ["12345678", "12345678-01", "1234567801", "12345678 "], ["1234567", "12345678--1", "12345678-123"]),
    ("|2#10", ["DE1234567890", "ÄÖ1234567890", "121234567890"], ["D1234567890", "DE123456789", "DE-1234567890"]),
    ("|~10-~2#~4", ["a", "-", "1234", "anna-1", "anna--1234"], ["", "anna---1", "anna-12345"]),
    ("#512", ["1" * 512], ["1" * 511, "1" * 513]),
    ("^[0-9]{5,10}$", ["12345", "1234567890"], ["", "1234", "12345678901", "12345\n"]),
    ("^[A-Za-z0-9_.@-]{1,64}$", ["anna@example.de"], ["", "a b", "ä"]),
    ("^a|b$", ["a", "b"], ["ab", "ax", "xb"]),
    ("^.*$", ["x", "ä" * 512], ["", "x" * 513]),
]
NO_FORMATS = [
    "",
    "x",
    "5",
    "~5",
    "#~",
    "#0",
    "#05",
    "#513",
    "#1000",
    "# 5",
    "#5 ",
    "# #",
    "[0-9]{5}",
    "^[0-9]{5}",
    "[0-9]{5}$",
    "^($",
    "^a(?=b)$",
    "^(a)\\1$",
    "^(a{500}){500}$",
    "^((a{30}){30}){30}$",
    "#" * 513,
]
NASTY = [
    "^(a+)+$",
    "^(a|a)*b$",
    "^(a|aa)+$",
    "^([a-z]+)*[0-9]$",
    "^(.*a){20}$",
    "^(a?){200}a{200}$",
    "|~512-~512|~512",
    "#~512#~512#~512",
]


@pytest.mark.parametrize(("notation", "fitting", "failing"), EXAMPLES)
def test_a_value_fits_as_a_whole_or_not(notation: str, fitting: list[str], failing: list[str]) -> None:
    assert [value for value in fitting if not matches(notation, value)] == []
    assert [value for value in failing if matches(notation, value)] == []


@pytest.mark.parametrize("notation", NO_FORMATS)
def test_what_is_no_format_is_said_to_be_none(notation: str) -> None:
    with pytest.raises(Invalid):
        pattern(notation)
    with pytest.raises(Invalid):
        matches(notation, "x")


@pytest.mark.parametrize(
    ("notation", "expression"),
    [
        ("#5", "^[0-9]{5}$"),
        ("|~8-#", "^[0-9A-Za-zÀ-ÖØ-öø-ɏẞ]{0,8}[-/. ][0-9]$"),
        ("^[0-9]{5,10}$", "^[0-9]{5,10}$"),
    ],
)
def test_every_format_is_a_regular_expression_too(notation: str, expression: str) -> None:
    assert pattern(notation) == expression


@pytest.mark.parametrize("notation", [*NASTY, *(notation for notation, _, _ in EXAMPLES)])
@pytest.mark.parametrize("unit", ["a", "1", "a1-", "ä", "a" * 63 + "!"])
def test_the_worst_texts_end_soon(notation: str, unit: str) -> None:
    text = unit * (20_000 // len(unit)) + "!"
    assert matches(notation, text) is False
    matches(notation, text[: formats.VALUE_LENGTH])
    re2.compile(pattern(notation)).fullmatch(text)


def test_a_text_that_cannot_be_written_down_fits_nothing() -> None:
    assert matches("^.*$", "\ud800") is False


def test_the_table_for_tenants_is_true() -> None:
    page = (ROOT / "docs" / "tenants.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| .* \| ((?:`[^`]+`(?:, )?)+) \| ((?:`[^`]+`(?:, )?)+) \|$", page, re.M)
    assert len(rows) >= 8
    for cell, fitting, failing in rows:
        notation = cell.replace("\\|", "|")
        assert [value for value in re.findall("`([^`]+)`", fitting) if not matches(notation, value)] == [], notation
        assert [value for value in re.findall("`([^`]+)`", failing) if matches(notation, value)] == [], notation
