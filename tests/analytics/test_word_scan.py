"""How words of the knowledge files are found in lines."""

import polars as pl
import pytest

from analytics.native.word_scan import dictionary, find, spellings


def found(word: str, *fields: str) -> list[str]:
    """The places in which the word was found, as text."""
    text = "".join(f"{field}\n" for field in fields)
    hits = find(pl.Series([text]), dictionary([word]))
    return [text[hits.starts[number] : hits.ends[number]] for number in range(hits.first[-1])]


@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        ("miete", "die miete mai", ["miete"]),
        ("miete", "mieter vermiete", []),
        ("miete*", "mieter vermiete", ["mieter"]),
        ("*miete", "mieter kaltmiete", ["kaltmiete"]),
        ("*miete*", "mieter kaltmiete", ["mieter", "kaltmiete"]),
        ("rv rente", "die rv rente mai", ["rv rente"]),
        ("kindesunterhalt", "kindesun terhalt mai", ["kindesun terhalt"]),
        ("kindesunterhalt", "kin desun terhalt mai", []),
        ("deutsche rentenversicherung", "deutscherentenversicherung bund", ["deutscherentenversicherung"]),
        ("burgers*", "hamburger sparkasse", []),
    ],
)
def test_a_word_is_found_within_its_borders(word: str, text: str, expected: list[str]) -> None:
    assert found(word, text) == expected


def test_a_word_does_not_reach_over_the_end_of_a_field() -> None:
    assert found("rv rente", "die rv", "rente mai") == []
    assert found("kindesunterhalt", "kindesun", "terhalt") == []


def test_many_words_in_one_line_all_find_room() -> None:
    assert len(found("a", " ".join("a" * 50))) == 50


def test_long_words_are_also_known_without_umlauts() -> None:
    assert spellings("baeckerei*") == ["baeckerei*", "backerei*", "bckerei*"]
    assert spellings("feuerwehr") == ["feuerwehr"]
    assert spellings("moebel") == ["moebel"]
