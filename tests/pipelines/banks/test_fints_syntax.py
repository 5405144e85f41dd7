"""The syntax of FinTS messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.banks.fints.syntax import ENCODING, Segment, SyntaxFault, parse, segment, serialise

TEXTS = st.text(st.characters(codec=ENCODING, exclude_characters=[chr(code) for code in range(0x80, 0xC0)]), max_size=20)
"""Texts that cannot be taken for UTF-8."""
PARTS = st.one_of(TEXTS, st.binary(min_size=1, max_size=20))
ELEMENTS = st.lists(st.lists(PARTS, min_size=1, max_size=4).map(tuple), max_size=6).map(tuple)
SEGMENTS = st.builds(
    Segment,
    name=st.sampled_from(["HKSAL", "HIRMS", "HNVSD"]),
    version=st.integers(1, 9),
    elements=ELEMENTS,
    number=st.integers(1, 999),
    answers=st.none() | st.integers(1, 999),
)


def without_empty_ends(each: Segment) -> list[list[str | bytes]]:
    """The elements as they are written: without empty parts and elements at the end."""
    elements: list[list[str | bytes]] = []
    for element in each.elements:
        parts = list(element)
        while parts and not parts[-1]:
            parts.pop()
        elements.append(parts or [""])
    while elements and elements[-1] == [""]:
        elements.pop()
    return elements


@given(st.lists(SEGMENTS, max_size=4))
def test_what_is_written_is_read(segments: list[Segment]) -> None:
    read = parse(serialise(segments))
    assert [(each.name, each.version, each.number, each.answers) for each in read] == [
        (each.name, each.version, each.number, each.answers) for each in segments
    ]
    assert [without_empty_ends(each) for each in read] == [without_empty_ends(each) for each in segments]


@given(st.binary(max_size=60))
def test_any_bytes_are_segments_or_a_fault(content: bytes) -> None:
    try:
        assert all(isinstance(each, Segment) for each in parse(content))
    except SyntaxFault:
        return


@pytest.mark.parametrize(
    "content", [b"HKEND:1:1", b"HKEND:1'", b"HIKAZ:1:5+@9@abc'", b"HIKAZ:1:5+@2@abc'", b"HIKAZ:1:5+@x@'", b"?"]
)
def test_what_is_cut_or_wrong_is_a_fault(content: bytes) -> None:
    with pytest.raises(SyntaxFault):
        parse(content)


def test_binary_data_whose_umlauts_are_counted_twice_end_where_they_do() -> None:
    first, second = parse("HIKAZ:4:7:3+@9@grün'öd+xyz'HNHBS:5:1+1'".encode(ENCODING))
    assert (first.binary(1), first.text(2), second.name) == ("grün'öd".encode(ENCODING), "xyz", "HNHBS")


def test_binary_data_whose_umlauts_are_counted_once_but_written_as_two_bytes_end_where_they_do() -> None:
    first, second = parse("HIKAZ:4:7:3+@7@grün'öd+über'HNHBS:5:1+1'".encode())
    assert (first.binary(1), first.text(2), second.name) == ("grün'öd".encode(), "über", "HNHBS")


def test_parts_are_counted_from_one_and_missing_ones_are_empty() -> None:
    each = segment("HKSAL", 7, ("a", b"b"), "c")
    assert (each.text(1), each.text(1, 2), each.binary(2), each.text(9), each.text(1, 9)) == ("a", "b", b"c", "", "")
