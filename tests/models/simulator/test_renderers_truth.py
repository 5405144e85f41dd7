"""The truth about the fields of a text: it stands there literally, and it is what the act said as far as it is visible."""

from dataclasses import replace
from functools import cache

import polars as pl
import pytest

from models.simulator.renderers.engine.noise import QUIET_RATES, USUAL_RATES, Rates
from models.simulator.renderers.formats import ALL_FORMATS
from models.simulator.renderers.render import render
from tests.models.simulator.sample_acts import acts, example, many

REFERENCES = {"true_eref": "end_to_end", "true_mref": "mandate", "true_cred": "creditor_id"}
WITH_ALL_REFERENCES = ("sparkasse_mt940", "vr", "hvb", "targobank", "deutsche_bank")
"""Formats in which every direct debit tells its references; others do so sometimes or never."""


at_all_rates = pytest.mark.parametrize(
    "rates", [QUIET_RATES, USUAL_RATES, replace(USUAL_RATES, wrapped=1.0), replace(USUAL_RATES, eaten=1.0, wrapped=0.0, cut=1.0)]
)


@cache
def rendered_acts(rates: Rates) -> pl.DataFrame:
    return render(many(20_000), 3, rates)


def squeezed(column: str) -> pl.Expr:
    return pl.col(column).str.replace_all(" ", "", literal=True)


@at_all_rates
def test_references_stand_in_the_purpose_but_for_blanks(rates: Rates) -> None:
    rendered = rendered_acts(rates)
    for truth in REFERENCES:
        some = rendered.filter(pl.col(truth).is_not_null())
        assert some.height > 300
        assert some.select(squeezed("purpose").str.contains(pl.col(truth), literal=True).all()).item(), truth
        assert not some[truth].str.contains(" ", literal=True).any()


@at_all_rates
def test_the_remittance_stands_in_the_purpose_to_the_letter(rates: Rates) -> None:
    rendered = rendered_acts(rates).filter(pl.col("true_remittance").is_not_null())
    assert rendered.height > 15_000
    assert rendered.select(pl.col("purpose").str.contains(pl.col("true_remittance"), literal=True).all()).item()


@at_all_rates
def test_the_merchant_stands_in_one_of_the_texts_but_for_blanks(rates: Rates) -> None:
    rendered = rendered_acts(rates).filter(pl.col("true_merchant").is_not_null())
    assert rendered.height > 15_000
    texts = pl.concat_str(
        squeezed("counterparty_name"), squeezed("ultimate_name"), squeezed("purpose"), separator="\n", ignore_nulls=True
    )
    assert rendered.select(texts.str.contains(squeezed("true_merchant"), literal=True).all()).item()


def test_unspoilt_truth_is_what_the_act_said() -> None:
    some = many(5_000)
    both = render(some, 3, QUIET_RATES).join(
        some.select("row", "end_to_end", "mandate", "creditor_id", "party", "via", "kind"), on="row"
    )
    own = both.filter(pl.col("via").is_null())
    for truth, column in REFERENCES.items():
        shown = own.filter(pl.col(truth).is_not_null())
        assert (shown[truth] == shown[column]).all()
    named = both.filter(pl.col("true_merchant").is_not_null())
    assert (
        named.select(pl.col("party").str.replace_all(" ", ".").str.starts_with(pl.col("true_merchant").str.replace_all(" ", ".")))
        .to_series()
        .all()
    )


@pytest.mark.parametrize("form", WITH_ALL_REFERENCES)
def test_a_direct_debit_tells_its_references(form: str) -> None:
    rendered = render(acts(*[example("direct debit", form)] * 50), 3, QUIET_RATES)
    assert rendered.select(*REFERENCES).unique().row(0) == ("R20260424-118", "M-2214-07", "DE51ZZZ00000012345")
    assert rendered["true_remittance"].unique().to_list() == ["Abschlag Strom 04/2026 Vertragskonto 4001234"]


@pytest.mark.parametrize("form", ["sparkasse_camt", "dkb_new", "n26", "card_statement", "paypal_wallet"])
def test_formats_with_columns_of_their_own_for_references_tell_none_in_the_text(form: str) -> None:
    rendered = render(acts(*[example("direct debit", form)] * 50), 3)
    assert rendered.select(*REFERENCES).null_count().row(0) == (50, 50, 50)


def test_a_reference_that_the_bank_made_up_is_no_truth() -> None:
    rendered = render(acts(*(example("transfer", form) for form in ALL_FORMATS)), 3, QUIET_RATES)
    assert rendered["purpose"].str.contains("NOTPROVIDED").any()
    assert rendered["true_eref"].null_count() == len(ALL_FORMATS)


def test_a_repeated_tag_block_is_no_remittance() -> None:
    rendered = render(acts(example("direct debit", "vr")), 3, QUIET_RATES)
    assert rendered["purpose"].str.count_matches("R20260424-118").item() == 2
    assert rendered["true_remittance"].item() == "Abschlag Strom 04/2026 Vertragskonto 4001234"


def test_between_its_tags_the_remittance_is_all_that_stands_there() -> None:
    rendered = render(many(20_000, formats=("sparkasse_mt940",)), 3, replace(USUAL_RATES, cut=0.0))
    tagged = rendered.filter(pl.col("purpose").str.contains("SVWZ+", literal=True))
    between = pl.col("purpose").str.extract(r"SVWZ\+(.*?)(?:ABWA\+.*|ABWE\+.*)?$").str.strip_chars()
    assert tagged.height > 10_000
    assert tagged.filter(between.ne_missing(pl.col("true_remittance").fill_null(""))).height == 0


def test_a_cut_purpose_leaves_what_is_visible() -> None:
    some = acts(*[{**example("direct debit", "hvb"), "purpose": "x" * 120}] * 60)
    rendered = render(some, 3, replace(QUIET_RATES, cut=1.0)).filter(pl.col("purpose").str.len_chars() == 140)
    assert rendered.height > 5
    assert rendered["true_remittance"].unique().to_list() == ["x" * 120]
    assert rendered["true_eref"].unique().to_list() == ["R20260424"]
    assert rendered["true_mref"].null_count() == rendered.height


def test_a_merchant_without_a_name_is_known_only_if_another_text_shows_it() -> None:
    nameless = replace(QUIET_RATES, nameless=1.0)
    assert render(acts(example("transfer", "ing")), 3, nameless)["true_merchant"].item() is None
    assert render(acts(example("debit via PayPal", "ing")), 3, nameless)["true_merchant"].item() == "Fahrradladen Süd"


@pytest.mark.parametrize(
    ("form", "merchant"),
    [
        ("sparkasse_camt", "Bäckerei Körner"),
        ("dkb_new", "Bäckerei.Körner"),
        ("n26", "Bäckerei Körner"),
        ("ing", "Bäckerei Körner"),
    ],
)
def test_the_merchant_of_a_card_line_is_without_branch_and_city(form: str, merchant: str) -> None:
    assert set(render(acts(*[example("card", form)] * 40), 3, QUIET_RATES)["true_merchant"]) == {merchant}


@pytest.mark.parametrize("form", ALL_FORMATS)
def test_behind_a_payment_service_the_shop_is_the_merchant(form: str) -> None:
    names = ("debit via PayPal", "debit via Klarna", "card via SumUp")
    rendered = render(acts(*(example(name, form) for name in names)), 3, QUIET_RATES)
    assert rendered["true_merchant"].str.replace_all(".", " ", literal=True).to_list() == [
        "Fahrradladen Süd",
        "Möbel Köster",
        "Café Schön",
    ]


def test_a_broken_line_counts_in_the_remittance_and_not_in_the_merchant() -> None:
    some = acts(*[{**example("debit via PayPal", "sparkasse_mt940"), "party": "Papierwarenladen"}] * 30)
    rendered = render(some, 3, replace(QUIET_RATES, wrapped=1.0))
    assert rendered["true_merchant"].unique().to_list() == ["Papierwarenladen"]
    assert not rendered["purpose"].str.contains("bei Papierwarenladen").all()
    assert rendered["true_remittance"].str.contains(r"P ?a ?p ?i ?e ?r ?w ?a ?r ?e ?n ?l ?a ?d ?e ?n").all()
