"""The whole tagger: what must hold whatever the bookings are, and whoever else is tagged at the same time."""

import re
from functools import cache

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics import trees
from analytics.bank_text import lines
from analytics.frames import CHOICES, RULES, TAG_KINDS, TAGGED
from analytics.tagging import tag as tagging
from analytics.tagging.tag import Tagger
from models import registry
from models.simulator import Corpus, simulate
from tests.analytics.drawing import quoted_words

TREES = {
    "category": "CATEGORIES",
    "insurance": "INSURANCE_TYPES",
    "partner": "BUSINESS_PARTNERS",
    "freelancer": "FREELANCER_CATEGORIES",
}
TEXTS = ("booking_text", "name", "ultimate", "purpose", "merchant")


@cache
def corpus() -> Corpus:
    return simulate(24, 77)


@cache
def tagged() -> pl.DataFrame:
    return tag(corpus().transactions)


def tagger() -> Tagger:
    return Tagger(registry.shipped())


def tag(transactions: pl.DataFrame, choices: pl.DataFrame | None = None, rules: pl.DataFrame | None = None) -> pl.DataFrame:
    corrections = (CHOICES.to_frame() if choices is None else choices, RULES.to_frame() if rules is None else rules)
    return tagging.tag_bookings(transactions, corpus().products, *corrections, tagger())


def test_every_booking_has_four_tags_of_its_trees_in_the_order_given() -> None:
    assert tagged()["id"].equals(corpus().transactions["id"])
    assert tagged().schema == TAGGED
    for kind in TAG_KINDS:
        assignable = {item.system_name for item in trees.tree(TREES[kind]).items if item.assignable}
        assert set(tagged()[kind]) <= assignable
        assert tagged()[f"{kind}_confidence"].is_between(0, 1).all()
        assert tagged()[f"{kind}_reason"].str.len_chars().min() > 0  # type: ignore[operator]
        assert set(tagged()[f"{kind}_source"]) <= {"USER", "RULE", "PARTNER", "MODEL", "FALLBACK"}


def test_no_category_has_the_wrong_sign() -> None:
    signs = trees.categories_frame().select(category="system_name", sign="sign")
    signed = tagged().with_columns(corpus().transactions["amount_cents"]).join(signs, on="category")
    assert signed.filter(pl.col("sign") == "+")["amount_cents"].min() >= 0  # type: ignore[operator]
    assert signed.filter(pl.col("sign") == "-")["amount_cents"].max() < 0  # type: ignore[operator]


def test_an_insurance_type_goes_with_the_category_of_its_division() -> None:
    types = trees.insurance_types_frame().select(insurance="system_name", subcategory="subcategory")
    typed = tagged().filter(pl.col("insurance") != "UNRELATED_OTHER").join(types, on="insurance")
    assert typed.height > 0
    assert typed.filter(pl.col("category") != pl.col("subcategory")).is_empty()
    assert tagged().filter(pl.col("category").str.starts_with("INSURANCE_"), pl.col("insurance") == "UNRELATED_OTHER").is_empty()


def test_the_order_of_bookings_changes_nothing() -> None:
    shuffled = corpus().transactions.sample(fraction=1, shuffle=True, seed=5)
    assert_frame_equal(tag(shuffled).sort("id"), tagged().sort("id"))


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.thorough)])
def test_users_can_be_tagged_apart_and_others_change_nothing(step: int) -> None:
    for user in corpus().transactions["user"].unique().sort()[::step]:
        assert_frame_equal(tag(corpus().transactions.filter(pl.col("user") == user)), tagged().filter(pl.col("user") == user))


def test_a_cached_line_has_the_same_tags_again() -> None:
    caching_tagger = tagger()
    half = corpus().transactions.gather_every(2)
    corrections = (CHOICES.to_frame(), RULES.to_frame())
    tagging.tag_bookings(half, corpus().products, *corrections, caching_tagger)
    again = tagging.tag_bookings(corpus().transactions, corpus().products, *corrections, caching_tagger)
    assert_frame_equal(again, tagged())


def test_tagging_every_row_gives_what_tagging_distinct_lines_gives() -> None:
    rows = corpus().transactions.head(2000)
    slow = tagging.tag_lines(lines.read(rows), tagger())
    keyed = rows.select(lines.keys(rows))
    first = rows.with_columns(keyed["key"]).unique("key", keep="first", maintain_order=True).drop("key")
    quick = keyed.join(tagging.tag_lines(lines.read(first), tagger()), on="key", how="left", maintain_order="left")
    assert_frame_equal(quick.select(slow.columns), slow)


@pytest.mark.parametrize("kind", ["category", "insurance", "partner"])
def test_words_that_a_reason_names_stand_in_the_line(kind: str) -> None:
    read_lines = lines.read(corpus().transactions)
    text = read_lines.select(pl.concat_str(*TEXTS, "via", separator=" ")).to_series()
    for reason, words in zip(tagged()[f"{kind}_reason"], text, strict=True):
        squeezed = words.replace(" ", "")
        for word in quoted_words(reason):
            assert word in squeezed


@pytest.mark.parametrize("source", ["RULE", "MODEL"])
def test_without_the_words_that_decided_the_answer_or_its_reason_is_another(source: str) -> None:
    read_lines = lines.read(corpus().transactions).unique("key", keep="first", maintain_order=True)
    before = tagging.tag_each_line(read_lines, tagger())
    named = (before["category_source"] == source) & before["category_reason"].str.contains("»")
    some = before.filter(named).with_row_index("row").unique("category_reason", keep="first", maintain_order=True).head(200)
    assert some.height >= 50
    quoted_lines = read_lines.filter(named)[some["row"]]
    after = tagging.tag_each_line(_without_words(quoted_lines, some["category_reason"]), tagger())
    moved = (some["category"] != after["category"]) | (some["category_confidence"] != after["category_confidence"])
    if source == "RULE":  # a second word of the same list may hold the rule up: then the reason is that word
        moved |= some["category_reason"] != after["category_reason"]
    assert moved.all(), some.filter(~moved).select("category_reason", "category").head(5)


def _without_words(read_lines: pl.DataFrame, reasons: pl.Series) -> pl.DataFrame:
    """The lines without the words that their reasons quote."""
    rows = []
    for row, reason in zip(read_lines.iter_rows(named=True), reasons, strict=True):
        for word in quoted_words(reason):
            row |= {name: _cut(str(row[name]), word) for name in TEXTS}
        rows.append(row)
    return pl.DataFrame(rows, schema=read_lines.schema)


def _cut(text: str, word: str) -> str:
    return " ".join(re.sub(rf"(?<![a-z0-9&]){re.escape(word)}(?![a-z0-9&])", " ", text).split())


def test_a_choice_touches_its_booking_only() -> None:
    chosen = corpus().transactions.filter(pl.col("amount_cents") < 0)["id"][7]
    choices = pl.DataFrame({"id": [chosen], "item": ["RECREATION_HOBBY"]}, schema=CHOICES)
    after = tag(corpus().transactions, choices)
    assert after.filter(pl.col("id") == chosen).select("category", "category_source").row(0) == ("RECREATION_HOBBY", "USER")
    others = pl.col("id") != chosen, pl.col("refund_of").ne_missing(chosen)
    assert_frame_equal(after.filter(*others), tagged().filter(*others))


def test_nothing_to_tag_is_tagged_at_once() -> None:
    assert tag(corpus().transactions.clear()).height == 0
