"""The language of the templates: what each part of it writes, and what it refuses."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from models.simulator.renderers.engine.layout_tables import layout_tables
from models.simulator.renderers.engine.templates import REFERENCES, WORDS, TemplateBroken, expression
from models.simulator.renderers.intermediaries import INTERMEDIARIES
from models.simulator.renderers.layouts import CODES, SAME_AS, Case

ROW = {
    "party": "Käse & Brot",
    "city": "Ulm",
    "eref": "R-1",
    "text": "eins zwei",
    "day": date(2026, 4, 23),
    "booked": date(2026, 4, 24),
    "valued": date(1969, 12, 31),
    "minute": 1221,
    "amount": 123456,
    "original": 0,
    "rate": 0,
    "loss": 0,
}


def filled(template: str, **changes: object) -> str:
    """The template before the last pass, control characters shown as tildes."""
    unknown = dict.fromkeys((*WORDS, *REFERENCES))
    row = pl.DataFrame([{**unknown, **ROW, **changes}], schema_overrides=dict.fromkeys(unknown, pl.String))
    row = row.with_columns(pl.lit(99, pl.UInt64).alias("row_key"), pl.lit(99, pl.UInt64).alias("account_key"))
    return "".join("~" if letter < " " else letter for letter in row.select(expression(template)).item())


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
def test_random_fields_have_their_length(how: str, pattern: int) -> None:
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
    assert filled("{day:iso}", day=date(1970, 1, 1) + timedelta(days)) == str(np.datetime64(days, "D"))


@pytest.mark.parametrize("template", ["{unknown}", "{day}", "{day:us}", "{digits}", "[open", "closed]", "a|b", "{city:x}"])
def test_what_cannot_be_written_is_refused(template: str) -> None:
    with pytest.raises(TemplateBroken):
        expression(template)


def test_every_case_of_every_bank_finds_a_line() -> None:
    assert layout_tables().lines_by_slot.shape == (14, len(Case), 60)
    assert {case for case in Case if case not in CODES} == {Case.PENDING}
    assert all(SAME_AS[case] != case for case in SAME_AS)


def test_lines_are_picked_by_weight() -> None:
    slots = layout_tables().lines_by_slot[0, Case.DEBIT]
    assert sorted(np.unique(slots, return_counts=True)[1].tolist()) == [6, 6, 48]


def test_every_payment_service_names_the_shop_wherever_it_writes() -> None:
    for name, each in INTERMEDIARIES.items():
        assert all("{party}" in text for text in (*each.debits, *each.refunds)), name
        assert each.prefixes, name
