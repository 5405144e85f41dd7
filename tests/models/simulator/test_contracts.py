"""The truth about contracts agrees with their bookings."""

import polars as pl
import pytest

from models.simulator import Corpus

HABITS = ("LIVING_GROCERIES", "MOBILITY_FUEL", "RECREATION_ENTERTAINMENTFOOD", "SHOPPING_BEAUTY")


def regular(corpus: Corpus) -> pl.DataFrame:
    rows = corpus.truth.with_columns(corpus.transactions["amount_cents"], corpus.transactions["booked_on"])
    return rows.filter(pl.col("contract_id").is_not_null())


def test_sums_and_counts_are_those_of_the_bookings(corpus: Corpus) -> None:
    seen = regular(corpus).filter(~pl.col("future"))
    sums = seen.group_by("contract_id").agg(
        total=pl.col("amount_cents").sum(),
        regular=pl.col("amount_cents").filter(pl.col("regular")).sum(),
        count=pl.col("regular").sum(),
        first=pl.col("booked_on").filter(pl.col("regular")).min(),
        latest=pl.col("booked_on").filter(pl.col("regular")).max(),
    )
    joined = corpus.contracts.join(sums, on="contract_id")
    assert joined.height == corpus.contracts.height
    assert joined.filter(pl.col("amount_total_cents") != pl.col("total")).height == 0
    assert joined.filter(pl.col("amount_total_regular_cents") != pl.col("regular")).height == 0
    assert joined.filter(pl.col("regular_count") != pl.col("count")).height == 0
    assert joined.filter((pl.col("date_first") != pl.col("first")) | (pl.col("date_latest") != pl.col("latest"))).height == 0


def test_the_next_booking_comes_on_its_day_with_its_amount(corpus: Corpus) -> None:
    future = regular(corpus).filter(pl.col("future"), pl.col("regular")).sort("booked_on")
    first = future.group_by("contract_id", maintain_order=True).agg(pl.col("booked_on").first(), pl.col("amount_cents").first())
    joined = corpus.contracts.join(first, on="contract_id")
    same = (pl.col("date_next") == pl.col("booked_on")) & (pl.col("amount_next_cents") == pl.col("amount_cents"))
    assert joined.height > 3_000
    assert joined.select(same.mean()).item() > 0.995


def test_contracts_without_a_next_booking_have_ended(corpus: Corpus) -> None:
    over = corpus.contracts.filter(pl.col("status") == "INACTIVE")
    assert over.height > 100
    assert over["date_next"].null_count() == over.height
    assert over["date_end"].null_count() == 0
    assert (over["date_end"] <= corpus.as_of).all()


def test_every_contract_belongs_to_one_user_and_one_template(corpus: Corpus) -> None:
    owners = regular(corpus).group_by("contract_id").agg(pl.col("user").n_unique())
    assert owners["user"].max() == 1
    assert corpus.contracts["contract_id"].n_unique() == corpus.contracts.height


def test_habits_are_not_contracts(corpus: Corpus) -> None:
    habits = corpus.truth.filter(pl.col("category").is_in(HABITS), pl.col("contract_id").is_null())
    assert habits.height > 50_000
    assert regular(corpus)["regular"].null_count() == 0
    assert corpus.truth.filter(pl.col("contract_id").is_null(), pl.col("regular").is_not_null()).height == 0


def test_all_common_periods_occur(corpus: Corpus) -> None:
    assert {"MONTH_ONE", "QUARTER_ONE", "HALFYEAR_ONE", "YEAR_ONE", "WEEK_ONE", "WEEK_FOUR"} <= set(corpus.contracts["period"])


def test_instalments_end_when_all_are_paid(corpus: Corpus) -> None:
    loans = corpus.contracts.filter(pl.col("instalments") > 0, pl.col("period") == "MONTH_ONE")
    assert loans.filter(pl.col("regular_count") > pl.col("instalments")).height == 0


def test_premiums_show_what_the_policy_is_unless_the_purpose_is_silent(corpus: Corpus) -> None:
    policies = corpus.contracts.filter(pl.col("product_held") != "UNRELATED_OTHER")
    shown = policies.select((pl.col("insurance") == pl.col("product_held")).mean()).item()
    assert shown == pytest.approx(0.9, abs=0.05)
