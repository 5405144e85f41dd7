"""What every renderer promises: each act in its order, the same text in whatever company, and every column put to use."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from schwifty import BIC

from analytics.bank_text.channels import Channel
from analytics.frames import BOOKINGS
from models.simulator import renderers
from models.simulator.base.schemas import ACTS
from models.simulator.renderers.engine.noise import QUIET_RATES
from models.simulator.renderers.engine.writing import UnknownFormat
from models.simulator.renderers.formats import ALL_FORMATS, FORMATS, TEST_FORMATS, TRAINING_FORMATS
from models.simulator.renderers.render import OUTPUT, render
from tests.models.simulator import golden
from tests.models.simulator.sample_acts import EXAMPLES, acts, example, many

TRUTHS = [name for name in OUTPUT if name.startswith("true_")]


def test_every_format_writes_every_act_in_its_own_words() -> None:
    assert golden.written() == golden.FILE.read_text(), "if the change is wanted: python -m tests.models.simulator.golden"


def test_texts_are_the_columns_of_bookings_and_the_rest_is_truth() -> None:
    assert set(OUTPUT) - {"row", *TRUTHS} < set(BOOKINGS)


def test_rows_come_back_in_the_order_given() -> None:
    shuffled = many(500).sample(fraction=1, shuffle=True, seed=3)
    rendered = render(shuffled, 1)
    assert rendered.schema == OUTPUT
    assert rendered["row"].to_list() == shuffled["row"].to_list()


def test_the_same_seed_writes_the_same_and_another_does_not() -> None:
    some = many(500)
    assert_frame_equal(render(some, 1), render(some, 1))
    assert not render(some, 1).equals(render(some, 2))


def test_shuffling_the_acts_changes_no_text() -> None:
    some = many(3_000)
    shuffled = render(some.sample(fraction=1, shuffle=True, seed=9), 4)
    assert_frame_equal(shuffled.sort("row"), render(some, 4))


@pytest.mark.parametrize("size", [1, 7, 333])
@pytest.mark.thorough
def test_splitting_the_acts_changes_no_text(size: int) -> None:
    some = many(700)
    parts = pl.concat([render(part, 4) for part in some.iter_slices(size)])
    assert_frame_equal(parts, render(some, 4))


def test_more_rows_than_are_written_at_once_change_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    some = many(1_000)
    whole = render(some, 4)
    monkeypatch.setattr("models.simulator.renderers.render.MAX_ROWS", 64)
    assert_frame_equal(render(some, 4), whole)


def test_no_acts_give_no_rows() -> None:
    assert render(ACTS.to_frame(), 1).schema == OUTPUT


def test_a_format_without_a_renderer_is_named() -> None:
    with pytest.raises(UnknownFormat, match="bank_of_nowhere"):
        render(acts(example("card", "bank_of_nowhere")), 1)


@pytest.mark.parametrize("form", ALL_FORMATS)
@pytest.mark.parametrize("amount", [-1234, 0, 1234])
def test_every_kind_can_be_written_with_either_sign(form: str, amount: int) -> None:
    rows = [
        {"kind": kind, "format": form, "party": "Bäckerei Körner", "purpose": "Text", "amount_cents": amount} for kind in Channel
    ]
    rendered = render(acts(*rows), 1, QUIET_RATES)
    shown = rendered.select(pl.concat_str("counterparty_name", "ultimate_name", "purpose", ignore_nulls=True).str.len_chars() > 0)
    assert shown.to_series().all()


def test_no_text_has_control_characters_or_blanks_to_strip() -> None:
    rendered = render(many(5_000), 8).drop("row")
    for name in rendered.columns:
        column = rendered[name].drop_nulls()
        assert not column.str.contains(r"[\x00-\x1f\x7f]").any(), name
        assert (column == column.str.strip_chars()).all(), name
        assert (column.str.len_chars() > 0).all(), name


def test_every_column_is_used_by_some_format() -> None:
    rendered = render(many(5_000), 8)
    assert [name for name in rendered.columns if rendered[name].null_count() == rendered.height] == []


CHANGES: dict[str, tuple[str, Any]] = {
    "row": ("card", 77),
    "user": ("card", 9),
    "account": ("card", 3),
    "format": ("card", "ing"),
    "kind": ("card", "TRANSFER"),
    "booked_on": ("card", date(2026, 1, 2)),
    "value_on": ("interest", date(2026, 1, 2)),
    "amount_cents": ("card", 4590),
    "party": ("card", "Anders"),
    "party_iban": ("transfer", "DE89370400440532013000"),
    "party_bic": ("transfer", "COBADEFFXXX"),
    "creditor_id": ("direct debit", "DE98ZZZ09999999999"),
    "mandate": ("direct debit", "ANDERS"),
    "end_to_end": ("direct debit", "ANDERS"),
    "purpose_code": ("salary", "BONU"),
    "purpose": ("transfer", "Anders"),
    "city": ("card", "Ulm"),
    "street": ("card", "Anderer Weg 1"),
    "store": ("card", "9999"),
    "via": ("debit via PayPal", "KLARNA"),
    "ultimate": ("direct debit", "Anders"),
    "currency_original": ("card abroad", "CHF"),
    "amount_original_cents": ("card abroad", 12345),
    "booked_at_minute": ("card", 600),
    "pending": ("card", True),
}


@pytest.mark.parametrize("column", ACTS.names())
def test_every_column_of_the_acts_shows_somewhere(column: str) -> None:
    name, value = CHANGES[column]
    forms = [example(name, form) for form in ALL_FORMATS]
    changed = [{**row, column: value, "row": value if column == "row" else number} for number, row in enumerate(forms)]
    assert not render(acts(*forms), 1, QUIET_RATES).drop("row").equals(render(acts(*changed), 1, QUIET_RATES).drop("row"))


def test_a_line_that_stands_in_for_another_case_has_that_case_s_code() -> None:
    rendered = render(acts(example("vl", "ing"), example("pension", "ing"), example("credit", "ing")), 1, QUIET_RATES)
    assert rendered["gv_code"].to_list() == ["154", "153", "166"]


def test_a_pending_booking_has_neither_code_nor_account() -> None:
    rows = [{**example(name, form), "pending": True} for name in ("direct debit", "card") for form in ALL_FORMATS]
    rendered = render(acts(*rows), 1, QUIET_RATES)
    assert rendered.select("gv_code", "primanota", "counterparty_iban", "counterparty_bic").null_count().row(0) == (
        28,
        28,
        28,
        28,
    )


def test_a_card_keeps_its_number_and_its_date() -> None:
    rows = [{**example("card online", "deutsche_bank"), "user": user, "booked_on": date(2026, 1, 5)} for user in (1, 1, 1, 2)]
    numbers = render(acts(*rows), 1, QUIET_RATES)["purpose"].str.extract(r"Kartennr\. (\d+)").to_list()
    assert numbers[0] == numbers[1] == numbers[2] != numbers[3]


def test_a_purchase_is_not_later_than_its_booking() -> None:
    purposes = render(many(4_000, formats=("sparkasse_camt",)).filter(pl.col("kind") == "CARD"), 1, QUIET_RATES)["purpose"]
    days = purposes.str.extract(r"^(\d{4}-\d\d-\d\d)T").drop_nulls().str.to_date()
    assert days.max() == date(2026, 4, 24)
    assert days.min() == date(2026, 4, 20)


def test_weekend_transfers_are_instant() -> None:
    rows = [{**example("transfer", "hvb"), "booked_on": date(2026, 4, 25)}] * 20
    assert render(acts(*rows), 1)["booking_text"].unique().to_list() == ["SEPA-ECHTZEITUEBERWEISUNG"]


def test_an_unlisted_payment_service_still_hides_the_shop_in_the_purpose() -> None:
    rendered = render(acts({**example("debit via Klarna", "hvb"), "via": "NEUPAY"}), 1, QUIET_RATES)
    assert rendered["counterparty_name"].item() != "Möbel Köster"
    assert rendered["true_merchant"].item() == "Möbel Köster"


def test_a_payment_service_has_one_mandate_for_all_shops_of_an_account() -> None:
    rows = [
        {**example("debit via PayPal", "hvb"), "mandate": None, "party": shop, "user": user}
        for shop, user in (("A", 1), ("B", 1), ("B", 2))
    ]
    rendered = render(acts(*rows), 1, QUIET_RATES)
    assert rendered["true_cred"].unique().to_list() == ["LU96ZZZ0000000000000000058"]
    first, second, other = rendered["true_mref"]
    assert first == second != other


def test_four_formats_are_kept_for_the_test() -> None:
    assert TEST_FORMATS == ("vr", "commerzbank", "comdirect", "n26")
    assert set(TRAINING_FORMATS) | set(TEST_FORMATS) == set(ALL_FORMATS)
    assert len(ALL_FORMATS) == 14


def test_the_banks_of_a_format_exist() -> None:
    banks = [bank for each in FORMATS.values() for bank in each.banks]
    assert {bank.bank_code: bank.bic for bank in banks} == {
        bank.bank_code: str(BIC.from_bank_code("DE", bank.bank_code)) for bank in banks
    }


def test_the_renderers_know_no_parser() -> None:
    sources = Path(renderers.__file__).parent.rglob("*.py")
    imported = {name for path in sources for name in re.findall(r"^(?:from|import) (analytics[.\w]*)", path.read_text(), re.M)}
    assert imported == {"analytics.bank_text.channels", "analytics.frames", "analytics.products"}


def test_examples_differ_between_all_formats() -> None:
    rendered = render(acts(*(example("direct debit", form) for form in ALL_FORMATS)), 1, QUIET_RATES)
    texts = rendered.select(
        pl.concat_str("booking_text", "purpose", "counterparty_name", separator="|", ignore_nulls=True)
    ).to_series()
    assert texts.n_unique() == len(ALL_FORMATS)
    assert len(EXAMPLES) == len(np.unique(list(EXAMPLES)))
