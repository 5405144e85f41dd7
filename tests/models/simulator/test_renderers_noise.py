"""How often texts are spoilt: each kind of noise alone against the unspoilt text, on twenty thousand rows."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from models.simulator.renderers.engine.noise import QUIET_RATES, USUAL_RATES
from models.simulator.renderers.formats import FORMATS, TRAINING_FORMATS
from models.simulator.renderers.layouts import Capitals
from models.simulator.renderers.render import render
from tests.models.simulator.sample_acts import acts, example, many

ROWS = 20_000
LONG = "Nebenkostenabrechnung" * 9
TEXTS = ["purpose", "counterparty_name", "ultimate_name"]


def spoilt(some: pl.DataFrame, **rates: Any) -> pl.Series:
    """Whether a text of the row differs from what it would be without this noise."""
    quiet, noisy = render(some, 6, QUIET_RATES), render(some, 6, replace(QUIET_RATES, **rates))
    return (
        pl.DataFrame([quiet[name].ne_missing(noisy[name]).alias(name) for name in TEXTS])
        .select(pl.any_horizontal(pl.all()))
        .to_series()
    )


def share(flags: pl.Series) -> float:
    return float(flags.cast(pl.Float64).mean() or 0)  # type: ignore[arg-type]


def test_a_quarter_loses_its_umlauts() -> None:
    some = many(ROWS, formats=("sparkasse_camt", "ing", "hvb")).filter(
        pl.col("kind").is_in(["TRANSFER", "STANDINGORDER", "DIRECTDEBIT"])
    )
    assert share(spoilt(some, umlauts_lost=USUAL_RATES.umlauts_lost)) == pytest.approx(0.25, abs=0.015)


def test_umlauts_are_written_out_or_lose_their_dots_or_become_question_marks() -> None:
    some = acts(*[{**example("transfer", "ing"), "party": "Öztürk Süßwaren", "purpose": "Überweisung Café"}] * 300)
    rendered = render(some, 6, replace(QUIET_RATES, umlauts_lost=1.0))
    assert set(rendered["counterparty_name"]) == {"Oeztuerk Suesswaren", "Ozturk Suswaren", "?zt?rk S??waren"}
    assert set(rendered["purpose"]) == {"Ueberweisung Cafe", "Uberweisung Cafe", "?berweisung Caf?"}


def test_capitals_come_with_umlauts_and_double_s() -> None:
    some = acts({**example("transfer", "hvb"), "party": "Öztürk Süßwaren é"})
    assert render(some, 6, replace(QUIET_RATES, capitals=1.0))["counterparty_name"].item() == "ÖZTÜRK SÜSSWAREN É"
    lost = render(
        acts(*[{**example("transfer", "hvb"), "party": "Öztürk Süß"}] * 99), 6, replace(QUIET_RATES, capitals=1, umlauts_lost=1)
    )
    assert set(lost["counterparty_name"]) == {"OEZTUERK SUESS", "OZTURK SUS", "?ZT?RK S??"}


@pytest.mark.parametrize("form", FORMATS)
def test_half_of_the_card_lines_are_in_capitals_where_the_bank_does_it(form: str) -> None:
    some = acts(*[example("card", form)] * 4_000)
    expected = 0.0 if FORMATS[form].layout.capitals is Capitals.NOWHERE else 0.5
    assert share(spoilt(some, capitals=USUAL_RATES.capitals)) == pytest.approx(expected, abs=0.04)


def test_fifteen_percent_of_long_texts_are_cut() -> None:
    some = acts(
        *[{**example("direct debit", form), "purpose": LONG} for form in ("sparkasse_mt940", "vr", "hvb", "targobank")] * 2_000
    )
    assert share(spoilt(some, cut=USUAL_RATES.cut)) == pytest.approx(0.15, abs=0.015)
    lengths = render(some, 6, replace(QUIET_RATES, cut=1.0))["true_remittance"].str.len_chars()
    assert {27, 54} <= set(lengths) <= {27, *range(50, 141)}


def test_three_percent_have_no_name() -> None:
    some = many(ROWS, formats=("sparkasse_camt", "ing", "targobank")).filter(
        pl.col("kind").is_in(["TRANSFER", "DIRECTDEBIT", "SALARY"])
    )
    assert share(render(some, 6)["counterparty_name"].is_null()) == pytest.approx(0.03, abs=0.008)


def test_forty_percent_have_no_code_over_all_formats() -> None:
    some = acts(*[example("direct debit", form) for form in FORMATS] * (ROWS // len(FORMATS)))
    assert share(render(some, 6)["gv_code"].is_null()) == pytest.approx(0.40, abs=0.015)


def test_a_tenth_of_typed_purposes_has_a_typing_error() -> None:
    typed = acts(*[{**example("transfer", "ing"), "purpose": "Danke für das schöne Geschenk"}] * 5_000)
    assert share(spoilt(typed, mistyped=USUAL_RATES.mistyped)) == pytest.approx(0.10, abs=0.015)
    by_machine = typed.with_columns(end_to_end=pl.lit("R1"))
    assert not spoilt(by_machine, mistyped=1.0).any()


def test_a_typing_error_swaps_drops_or_doubles_a_letter() -> None:
    some = acts(*[{**example("transfer", "ing"), "purpose": "Miete"}] * 300)
    found = set(render(some, 6, replace(QUIET_RATES, mistyped=1.0))["purpose"])
    assert found == {"Mitee", "Miee", "Miette", "Mieet", "Mite", "Mieete"}
    assert {len(text) for text in found} == {4, 5, 6}


def test_four_fifths_of_card_lines_tell_branch_or_city() -> None:
    forms = [form for form in FORMATS if form not in ("n26", "paypal_wallet")]
    some = acts(*[{**example("card", form), "party": "Laden"} for form in forms] * (ROWS // len(forms)))
    rendered = render(some, 6, replace(QUIET_RATES, placed=USUAL_RATES.placed))
    everything = pl.concat_str("counterparty_name", "ultimate_name", "purpose", separator=" ", ignore_nulls=True)
    told = rendered.filter(pl.col("gv_code").ne_missing("107")).select(everything.str.contains("4021|Köln")).to_series()
    assert share(told) == pytest.approx(0.80, abs=0.015)


@pytest.mark.parametrize(("form", "rate"), [("sparkasse_mt940", 0.3), ("vr", 0.3), ("hvb", 0.3), ("ing", 0.0), ("n26", 0.0)])
def test_three_tenths_of_mt940_purposes_come_in_broken_lines(form: str, rate: float) -> None:
    some = acts(*[example("direct debit", form)] * 4_000)
    assert share(spoilt(some, wrapped=USUAL_RATES.wrapped)) == pytest.approx(rate, abs=0.03)


def test_broken_lines_have_27_characters_and_put_in_or_eat_a_blank() -> None:
    some = acts({**example("salary", "sparkasse_mt940"), "end_to_end": None, "purpose": "Verdienstabrechnung für April"})
    assert render(some, 6, replace(QUIET_RATES, wrapped=1.0))["purpose"].item() == "PURP+SALA SVWZ+Verdienstabrechnung fü r April"
    assert render(some, 6, replace(QUIET_RATES, eaten=1.0))["purpose"].item() == "PURP+SALASVWZ+Verdienstabrechnung für April"
    longer = some.with_columns(purpose=pl.lit("Verdienstabrechnungen April"))
    assert render(longer, 6, replace(QUIET_RATES, wrapped=1.0))["purpose"].item() == "PURP+SALA SVWZ+Verdienstabrechnungen April"
    assert render(longer, 6, replace(QUIET_RATES, eaten=1.0))["purpose"].item() == "PURP+SALASVWZ+VerdienstabrechnungenApril"


def test_foreign_amounts_are_told_with_currency_and_rate() -> None:
    some = acts(*(example("card abroad", form) for form in TRAINING_FORMATS))
    purposes = render(some, 6, QUIET_RATES)["purpose"]
    assert purposes.str.contains(r"49[.,]99 USD").all()
    assert purposes.str.contains(r"1[.,]0891").all()
