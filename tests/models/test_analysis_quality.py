"""The suite of analyses over a small simulated world, and the figures that are made of it."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from models.contract_quality import contract_figures
from models.life_quality import event_figures, stage_figures
from models.money_quality import affordability_figures, cashflow_figures
from tests.worlds import suite, world

FEW = 20


def test_a_user_alone_gets_what_the_user_gets_among_others() -> None:
    corpus, tagged, whole = world()
    user = tagged["user"][0]
    alone = suite(corpus, tagged.filter(pl.col("user") == user))
    for name, frame in whole.items():
        assert_frame_equal(alone[name], frame.filter(pl.col("user") == user))


def test_contracts_that_are_not_found_are_missed() -> None:
    corpus, _, whole = world()
    found = contract_figures(corpus, whole["contracts"], whole["contract_bookings"], FEW)
    half = whole["contracts"].gather_every(2)
    kept = whole["contract_bookings"].join(half, left_on="contract", right_on="id", how="semi")
    fewer = contract_figures(corpus, half, kept, FEW)
    assert found["contract_f1"].value > 0.85
    assert fewer["contract_f1"].value < 0.8


def test_events_stages_and_forecasts_are_measured_against_the_truth() -> None:
    corpus, _, whole = world()
    assert event_figures(corpus, whole["life_events"].clear(), FEW)["event_f1"].value == 0
    wrong = whole["life_stages"].with_columns(item=pl.lit("UNKNOWN"))
    assert all(figure.value == 0 for figure in stage_figures(corpus, wrong, FEW).values())
    doubled = whole["cashflow_predictions"].with_columns(pl.col("cents") * 2)
    assert cashflow_figures(corpus, doubled, FEW)["cashflow_expenses_error"].value > 0.5


def test_flags_that_are_never_raised_are_not_recalled() -> None:
    corpus, _, whole = world()
    said = whole["affordability"]
    assert affordability_figures(corpus, said, FEW)["affordability_ratios"].value == pytest.approx(0, abs=0.1)
    silent = said.with_columns(pl.col(pl.Boolean) & False)
    assert affordability_figures(corpus, silent, FEW)["affordability_recall"].value == 0
