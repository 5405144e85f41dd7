"""How words of the knowledge files are found in lines."""

import random

import polars as pl
import pytest

from analytics.native.word_scan import ALPHABET, Automaton, dictionary, find, spellings


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


def slowly_ending(automaton: Automaton, patterns: list[str], text: str) -> list[int]:
    """The words that end at the end of a text, the longest first: compared letter by letter."""
    longest_first = sorted(range(len(patterns)), key=lambda word: -automaton.lengths[word])
    return [word for word in longest_first if patterns[word] and text.endswith(patterns[word])]


def test_the_automaton_knows_the_words_that_end_in_every_place() -> None:
    chance = random.Random(4)
    words = [
        " ".join("".join(chance.choices("ab", k=chance.randint(1, 4))) for _ in range(chance.randint(1, 2))) for _ in range(60)
    ]
    words = [f"*{word}*" for word in dict.fromkeys(words)] + ["*ab*", "*langeswort*"]
    plain, cut = dictionary(words)
    for automaton, patterns in (
        (plain, [word.strip("*") for word in words]),
        (cut, [word if len(word := written.strip("*").replace(" ", "")) >= 7 else "" for written in words]),
    ):
        state, text = 0, ""
        for letter in chance.choices("ab x", weights=[4, 4, 1, 1], k=2000):
            state, text = int(automaton.step[state, ALPHABET.index(letter)]), text + letter
            ending = automaton.words[automaton.first[state] : automaton.first[state + 1]].tolist()
            assert ending == slowly_ending(automaton, patterns, text[-20:])


def test_without_words_nothing_is_found() -> None:
    assert find(pl.Series(["die miete"]), dictionary([])).first[-1] == 0
