"""The language of the templates: what each part of it writes, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from models.simulator.renderers.engine.layout_tables import house
from models.simulator.renderers.engine.templates import Book, TemplateBroken
from models.simulator.renderers.engine.vocabulary import FACTS, Fact, Word
from models.simulator.renderers.engine.wrap import SPACE, composed
from models.simulator.renderers.intermediaries import INTERMEDIARIES
from models.simulator.renderers.layouts import CODES, SAME_AS, Case

FACTS_OF_A_ROW = {Fact.DAY: 20566, Fact.BOOKED: 20567, Fact.VALUED: -1, Fact.MINUTE: 1221, Fact.AMOUNT: 123456, Fact.PLACE: 1}
WORDS_OF_A_ROW = {Word.PARTY: "Käse & Brot", Word.CITY: "Ulm", Word.EREF: "R-1", Word.TEXT: "eins zwei"}


def filled(template: str, facts: dict[Any, int] = FACTS_OF_A_ROW, words: dict[Any, str] = WORDS_OF_A_ROW) -> str:
    """The template after the first pass, control characters shown as tildes."""
    book = Book()
    bounds = np.array([book.bounds(template)], np.int64)
    steps, literals = book.arrays()
    row, memory = np.zeros((FACTS, 1), np.int64), bytearray(literals.tobytes())
    for fact, value in facts.items():
        row[fact] = value
    for word, text in words.items():
        row[Fact.BEGIN + word] = len(memory)
        memory += text.encode()
        row[Fact.END + word] = len(memory)
        row[Fact.KNOWN] |= 1 << word
    bytes_ = np.concatenate([np.array(memory, np.uint8), np.zeros(SPACE, np.uint8)])
    sinks, ends = composed(bytes_, bounds, steps, row, np.array([99], np.uint64))
    return "".join("~" if letter < " " else letter for letter in sinks[0, : ends[0, -1]].tobytes().decode())


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("", ""),
        ("Gläubiger", "Gläubiger"),
        ("{city}", "Ulm"),
        ("{city:2}!", "Ul!"),
        ("{party}", "~Käse & Brot~"),
        ("{party:.}", "~Käse.&.Brot~"),
        ("{party:.6}", "~Käse.&~"),
        ("{eref}", "~R-1~"),
        ("<{text}>", "~eins zwei~"),
        ("a\nb", "a~b"),
        ("[x {city}]", "x Ulm"),
        ("[x {street}]", ""),
        ("[x {street}|y]", "y"),
        ("[x {city}|y]z", "x Ulmz"),
        ("[{city}[ {street}]]", "Ulm"),
        ("[{city} [{street}|ohne] {store}|[{city}] nur]", "Ulm nur"),
        ("[immer]", "immer"),
        ("[{original} {currency}]", ""),
        ("{day:iso} {day:dmy} {day:dmy2} {day:dm} {day:dashes}", "2026-04-23 23.04.2026 23.04.26 23.04 23-04-2026"),
        ("{booked:iso} {valued:iso}", "2026-04-24 1969-12-31"),
        ("{time:hm} {time:hms} {time:dots}", "20:21 20:21:39 20.21"),
        ("{amount} {amount:.}", "1234,56 1234.56"),
        ("{original} {rate}", "0,00 0,0000"),
    ],
)
def test_a_template_writes(template: str, text: str) -> None:
    assert filled(template) == text


@pytest.mark.parametrize(("how", "pattern"), [("digits:23", 23), ("code:17", 17), ("card:4", 4)])
def test_chance_writes_so_many_characters(how: str, pattern: int) -> None:
    text = filled(f"{{{how}}}")
    assert len(text) == pattern
    assert text.isalnum()


def test_two_draws_in_a_template_differ_and_one_card_does_not() -> None:
    first, second, card, again = filled("{digits:9} {digits:9} {card:9} {card:9}").split()
    assert first != second
    assert card == again
    assert filled("{card:4}") == card[:4]


@pytest.mark.parametrize("days", [0, 59, 60, 789, 10957, 11016, 19782, 20513, 24166])
def test_dates_are_those_of_the_calendar(days: int) -> None:
    assert filled("{day:iso}", {Fact.DAY: days}) == str(np.datetime64(days, "D"))


@pytest.mark.parametrize("template", ["{unknown}", "{day}", "{day:us}", "{digits}", "[open", "closed]", "a|b", "{city:x}"])
def test_what_cannot_be_written_is_refused(template: str) -> None:
    with pytest.raises(TemplateBroken):
        Book().bounds(template)


def test_every_case_of_every_bank_finds_a_line() -> None:
    assert house().picks.shape == (14, len(Case), 60)
    assert {case for case in Case if case not in CODES} == {Case.PENDING}
    assert all(SAME_AS[case] != case for case in SAME_AS)


def test_lines_are_picked_by_weight() -> None:
    slots = house().picks[0, Case.DEBIT]
    assert sorted(np.unique(slots, return_counts=True)[1].tolist()) == [6, 6, 48]


def test_every_payment_service_names_the_shop_wherever_it_writes() -> None:
    for name, each in INTERMEDIARIES.items():
        assert all("{party}" in text for text in (*each.debits, *each.refunds)), name
        assert each.prefixes, name
