"""Windows of the cashflow: what they show is what the whole shows, and adds up on every level."""

from datetime import date, timedelta
from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analytics.analyses.cashflow import Window, cashflow, roll_up, select_view, window_rows, window_sums
from analytics.analyses.cashflow.items import item_days
from analytics.analyses.cashflow.window import TOTAL_KIND
from analytics.trees.cashflow import TOTAL, time_item
from tests.analytics.households import AS_OF_DAY, households, take_snapshot
from tests.support.examples import examples

KEYS = ["user", "level", "tag"]
FIRST = AS_OF_DAY - timedelta(days=900)
DAYS = st.dates(FIRST, AS_OF_DAY + timedelta(days=400))
LIMITS = st.one_of(st.none(), DAYS)
VIEWS = st.sampled_from([("CATEGORIES", "sub"), ("CATEGORIES", "main"), ("BUSINESS_PARTNERS", "sub")])


@cache
def world() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The statistics, the predictions and the days of ten households."""
    snapshot = take_snapshot(households())
    result = cashflow(snapshot)
    return result.statistics, result.predictions, snapshot.as_of


def rows_of(window: Window, tree: str = "CATEGORIES", level: str = "sub") -> pl.DataFrame:
    statistics, _, as_of = world()
    return window_rows(roll_up(window_sums(statistics, window), as_of, tree, level), window)


def sums_by_kind(rows: pl.DataFrame) -> pl.DataFrame:
    """By tag the sums of the items of each kind."""
    kind = pl.when(pl.col("item") == TOTAL).then(pl.lit(TOTAL_KIND)).otherwise(pl.col("item").str.slice(5, 1))
    return rows.group_by(*KEYS, kind.alias("kind")).agg(pl.sum("cents")).pivot("kind", index=KEYS, values="cents")


@settings(max_examples=examples(25), deadline=None)
@given(LIMITS, LIMITS, VIEWS)
def test_months_quarters_and_years_of_a_window_add_up_to_its_total(
    one: date | None, other: date | None, view: tuple[str, str]
) -> None:
    window = Window(min(one, other), max(one, other)) if one and other else Window(one, other)
    rows = rows_of(window, *view)
    sums = sums_by_kind(rows)
    for kind in ("Y", "Q", "M"):
        if sums.height:
            assert sums.filter(pl.col(kind).fill_null(0) != pl.col(TOTAL_KIND)).is_empty()
    whole = rows_of(Window(), *view).filter(pl.col("item").str.slice(5, 1).is_in(["M", "W"]))
    finest = rows.filter(pl.col("item").str.slice(5, 1).is_in(["M", "W"]))
    assert_frame_equal(finest.join(whole, on=[*KEYS, "item", "cents"], how="semi", maintain_order="left"), finest)
    nonzero = whole.filter(pl.col("item").map_elements(window.has_days_of, pl.Boolean), pl.col("cents") != 0)
    assert nonzero.join(finest, on=[*KEYS, "item", "cents"], how="anti").is_empty(), "no week or month of the window is missing"


@settings(max_examples=examples(15), deadline=None)
@given(DAYS, DAYS, st.integers(1, 24))
def test_windows_that_follow_each_other_add_up_to_the_window_of_both(one: date, other: date, months: int) -> None:
    first, last = sorted((one, other))
    middle = (first.replace(day=1) + timedelta(days=31 * months)).replace(day=1)
    if not first < middle <= last:
        return
    parts = [rows_of(Window(first, middle - timedelta(days=1), TOTAL_KIND)), rows_of(Window(middle, last, TOTAL_KIND))]
    sums = pl.concat(parts).group_by(KEYS).agg(pl.sum("cents")).sort(KEYS)
    both = rows_of(Window(first, last, TOTAL_KIND)).select(*KEYS, "cents").sort(KEYS)
    assert_frame_equal(sums, both)


@pytest.mark.parametrize("kind", ["W", "M", "Q", "Y", TOTAL_KIND])
def test_a_granularity_shows_the_items_of_its_kind_and_no_other(kind: str) -> None:
    window = Window(AS_OF_DAY - timedelta(days=200), AS_OF_DAY)
    rows = rows_of(window)
    of_kind = rows.filter(pl.col("item") == TOTAL if kind == TOTAL_KIND else pl.col("item").str.slice(5, 1) == kind)
    assert of_kind.height
    assert_frame_equal(rows_of(window._replace(kind=kind)), of_kind)


def test_tags_limit_what_is_shown_and_change_no_sum() -> None:
    tags = ("HOUSING_RENT", "NET")
    rows = rows_of(Window(tags=tags))
    assert set(rows["tag"].unique()) == set(tags)
    assert_frame_equal(rows, rows_of(Window()).filter(pl.col("tag").is_in(tags)))


def test_predictions_are_those_of_whole_items_in_the_window() -> None:
    predictions = select_view(world()[1])
    window = Window(AS_OF_DAY, AS_OF_DAY, "M")
    month = f"{AS_OF_DAY.year}_M{AS_OF_DAY.month:02d}"
    assert_frame_equal(window_rows(predictions, window), predictions.filter(item=month))
    assert window_rows(predictions, Window(last=FIRST)).is_empty()


@pytest.mark.parametrize("name", ["2024_W01", "2020_W53", "2024_M02", "2025_M12", "2026_Q1", "2026_Q4", "2026_Y"])
def test_the_days_of_an_item_are_those_that_its_tree_describes(name: str) -> None:
    first, last = item_days(name)
    item = time_item(name)
    assert item is not None
    assert item.description == f"Zahlungen vom {first:%d.%m.%Y} bis zum {last:%d.%m.%Y}."
