"""The suite of analyses over a small simulated world, and the figures that are made of it."""

from dataclasses import replace
from datetime import date
from functools import cache
from math import isfinite

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics.analyses.sales_triggers import sales_triggers
from analytics.analyses.suite import Frames
from analytics.tagging.tag import Tagger
from models import registry
from models.evaluation import analyses, analysis_reports, baselines
from models.evaluation.affordability import affordability_figures
from models.evaluation.analyses import AnalysedWorld, AnalysesEvaluation
from models.evaluation.best_possible import expected_next_month, payments_after_ends, with_beginnings
from models.evaluation.cashflow import cashflow_figures, forecasts
from models.evaluation.contracts import contract_figures, recognition_figures
from models.evaluation.credit_risk import credit_risk_figures
from models.evaluation.disposable_money import before_salaries, disposable_figures
from models.evaluation.gates import ANALYSES, BY_NAME, Gate, verdicts
from models.evaluation.life_events import event_figures
from models.evaluation.life_stages import stage_baselines, stage_figures
from models.evaluation.metrics import Figure
from models.evaluation.perfect_tags import true_events, true_snapshot, true_stages
from models.evaluation.sales_triggers import conformity_figures, trigger_figures
from models.evaluation.tagger import partner_of_brands
from models.simulator import Corpus
from models.simulator.base.splits import SPLITS
from models.simulator.truth.plain_users import true_lives
from models.simulator.truth.sales_triggers import EVENT_TRIGGERS, trigger_truth
from models.simulator.worlds import World
from tests.support.worlds import suite

FEW = 20
SMALL = World(users=12, seed=3, splits=SPLITS)


@cache
def tagger() -> Tagger:
    return Tagger(registry.shipped())


@cache
def analysed_world() -> AnalysedWorld:
    return analyses.analyse_world(tagger(), SMALL)


@cache
def evaluation() -> AnalysesEvaluation:
    return analyses.measure(analysed_world(), tagger(), times=FEW)


def world() -> tuple[Corpus, pl.DataFrame, Frames]:
    found = analysed_world()
    return found.corpus, found.tagged_bookings, found.frames


def test_every_gate_gets_a_figure_and_every_figure_has_a_gate() -> None:
    assert set(evaluation().figures) == {gate.name for gate in ANALYSES}
    assert not set(BY_NAME) & set(evaluation().figures), "no model is promoted by them"
    assert set(evaluation().baselines) <= set(evaluation().figures)


@pytest.mark.parametrize("name", [gate.name for gate in ANALYSES])
def test_a_figure_is_a_number_inside_its_interval(name: str) -> None:
    figure = evaluation().figures[name]
    assert all(isfinite(bound) for bound in figure.bounds)
    assert figure.low <= figure.value <= figure.high
    assert figure.rows > 0


def test_what_simple_means_reach_is_said_beside_the_figures() -> None:
    report = analyses.report(evaluation(), "some model", SMALL)
    rows = {row["name"]: row for row in report["gates"]}
    assert rows["contract_f1"]["value"] > rows["contract_f1"]["baseline"]["value"] > 0.5
    assert rows["next_date_exact"]["baseline"]["says"] == "last + period"
    assert rows["event_f1"]["baseline"] is None
    shown = analysis_reports.rows(report["gates"])
    assert [row["figure"] for row in shown] == [gate.metric for gate in ANALYSES]
    assert all(row[""] in ("moonshot", "reached", "missed") for row in shown)


def test_a_gate_can_want_a_figure_to_be_near_a_number() -> None:
    gate = Gate("held", "Intervals", "coverage", 0.05, 0.02, nominal=0.85)
    found = [verdicts({"held": Figure(value, value, value, 1)}, (gate,))[0] for value in (0.79, 0.8, 0.9, 0.91, float("nan"))]
    assert [row["passed"] for row in found] == [False, True, True, False, False]
    assert found[0]["wanted"] == "0.85 ± 0.05"
    assert [analysis_reports.error_share(row, row["value"]) for row in found[1:3]] == pytest.approx([1, 1])


def test_the_world_of_the_test_is_the_same_everywhere() -> None:
    from pipelines.assets.training_settings import AnalysesEvaluationConfig  # loads Dagster

    assert AnalysesEvaluationConfig().seed == analyses.TEST_SEED == analyses.TEST_WORLD.seed


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


def test_habits_and_periods_count() -> None:
    corpus, tagged, whole = world()
    spaced = recognition_figures(corpus, baselines.equally_spaced(tagged), FEW)
    assert spaced["contract_habits"].value > 1
    other = whole["contracts"].with_columns(
        period=pl.lit("MONTH_TWO"), date_next=pl.col("date_next").dt.offset_by("2d"), amount_next=pl.col("amount_next") * 2
    )
    wrong = contract_figures(corpus, other, whole["contract_bookings"], FEW)
    assert wrong["period_accuracy"].value < 0.5
    assert wrong["period_fallback_error"].value > 0.2
    assert wrong["next_date_exact"].value < 0.2
    assert wrong["next_amount_fixed"].value < 0.1 < wrong["next_amount_usage"].value
    ended = whole["contracts"].with_columns(status=pl.lit("INACTIVE"))
    assert contract_figures(corpus, ended, whole["contract_bookings"], FEW)["contract_status"].value < 0.5


def test_events_stages_and_forecasts_are_measured_against_the_truth() -> None:
    corpus, _, whole = world()
    lives = analysed_world().lives
    assert event_figures(corpus, whole["life_events"].clear(), lives, FEW)["event_f1"].value == 0
    late = event_figures(corpus, whole["life_events"].with_columns(pl.col("event_date").dt.offset_by("20d")), lives, FEW)
    assert late["event_days_off"].value == pytest.approx(20, abs=2)
    wrong = whole["life_stages"].with_columns(item=pl.lit("UNKNOWN"))
    assert all(figure.value == 0 for figure in stage_figures(corpus, wrong, lives, FEW).values())
    usual = stage_baselines(corpus, wrong, lives, FEW)
    assert all(0 < figure.value < 1 for figure in usual.values())
    doubled = whole["cashflow_predictions"].with_columns(pl.col("cents") * 2)
    assert cashflow_figures(corpus, doubled, FEW)["cashflow_expenses_error"].value > 0.5


def test_a_bound_that_nothing_exceeds_covers_too_much() -> None:
    corpus, _, whole = world()
    wide = whole["cashflow_predictions"].with_columns(lower=pl.lit(-(10**12)), upper=pl.lit(10**12))
    covered = cashflow_figures(corpus, wide, FEW)
    assert covered["cashflow_income_bounds"].value == 1
    assert not next(gate for gate in ANALYSES if gate.name == "cashflow_income_bounds").passes(1.0, 0.05)


def test_money_that_is_left_is_measured_ten_days_before_salaries() -> None:
    corpus, tagged, _ = world()
    said = before_salaries(corpus, tagged)
    assert said.filter(pl.col("days_until_salary") == 10).height > said.height / 2
    found = disposable_figures(corpus, said, FEW)
    off = disposable_figures(corpus, said.with_columns(pl.col("expected_left") + 1_000_000), FEW)
    assert found["disposable_identity"].value == 1
    assert off["disposable_identity"].value == 0
    assert off["disposable_error"].value > found["disposable_error"].value + 1


def test_a_forecast_is_compared_with_one_that_knows_contracts_and_habits() -> None:
    corpus, tagged, whole = world()
    months = forecasts(corpus, whole["cashflow_predictions"])
    perfect = whole["cashflow_predictions"].join(months.select("user", "next", tag="aggregate"), on=["user", "tag"], how="left")
    perfect = perfect.with_columns(cents=pl.coalesce("next", "cents")).drop("next")
    figures = cashflow_figures(corpus, whole["cashflow_predictions"], FEW)
    for name in ("cashflow_expenses_times_best", "cashflow_income_times_best"):
        assert 0.7 < figures[name].value < 1.8  # a small world: its best forecast may err by chance
        assert cashflow_figures(corpus, perfect, FEW)[name].value == 0
    disposable = before_salaries(corpus, tagged)
    off = disposable_figures(corpus, disposable.with_columns(pl.col("expected_left") + 1_000_000), FEW)
    assert 0.7 < disposable_figures(corpus, disposable, FEW)["disposable_times_best"].value < 1.8
    assert off["disposable_times_best"].value > 5


def test_the_best_forecast_knows_no_contract_that_begins_later() -> None:
    as_of = date(2026, 6, 30)
    months = [date(2026, month, 1) for month in range(1, 9)]
    rent = {"contract_id": 1, "regular": True, "amount_cents": -80_000}
    lease = {"contract_id": 2, "regular": True, "amount_cents": -30_000}
    bonus = {"contract_id": 1, "regular": False, "amount_cents": 9_000}
    shopping = {"contract_id": None, "regular": False, "amount_cents": -10_000}
    rows = [{**kind, "booked_on": day} for day in months for kind in (rent, shopping)]
    rows += [{**kind, "booked_on": date(2026, 7, 15)} for kind in (lease, bonus)]
    flows = pl.DataFrame(rows).with_columns(user=pl.lit("a"), aggregate=pl.lit("EXPENSES"))
    assert expected_next_month(flows, no_contracts_end(flows), as_of)["best"].to_list() == [-90_000]
    assert with_beginnings(flows).filter(contract_id=2)["begun_on"].to_list() == [date(2026, 7, 15)]


@pytest.mark.parametrize("aggregate", ["INCOME", "EXPENSES"])
def test_the_best_forecast_does_not_know_what_comes_by_chance_later(aggregate: str) -> None:
    as_of = date(2026, 6, 30)
    days = [date(2025 + number // 12, number % 12 + 1, 10) for number in range(22)]
    cents = [10_000 if day <= as_of else 50_000 for day in days]
    shape = {"user": "a", "aggregate": aggregate, "contract_id": None, "regular": None}
    rows = [{**shape, "booked_on": day, "amount_cents": amount} for day, amount in zip(days, cents, strict=True)]
    flows = pl.DataFrame(rows, schema_overrides={"contract_id": pl.UInt32, "regular": pl.Boolean})
    assert expected_next_month(flows, no_contracts_end(flows), as_of)["best"].to_list() == [10_000]


def test_the_best_forecast_of_income_says_the_middle_of_the_last_year() -> None:
    days = [date(2023 + number // 12, number % 12 + 1, 10) for number in range(42)]
    shape = {"user": "a", "aggregate": "INCOME", "contract_id": None, "regular": None}
    latest = [0, 0, 90_000, 30_000, 20_000, 30_000, 20_000, 30_000, 20_000, 90_000, 90_000, 0]
    amounts = [500_000] * 30 + latest
    rows = [{**shape, "booked_on": day, "amount_cents": amount} for day, amount in zip(days, amounts, strict=True)]
    flows = pl.DataFrame(rows, schema_overrides={"contract_id": pl.UInt32, "regular": pl.Boolean})
    assert expected_next_month(flows, no_contracts_end(flows), date(2026, 6, 30))["best"].to_list() == [25_000]


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ([300_000, 310_000, 290_000, 305_000, 295_000, 301_000], 300_500),
        ([300_000, 310_000, 290_000, 305_000, 301_000, 301_000], 330_000),
        ([290_000, 295_000, 300_000, 301_000, 305_000, 310_000], 330_000),
        ([310_000, 290_000, 305_000, 295_000, 301_000], 330_000),
    ],
    ids=["each differs", "two are equal", "it only rises", "too few"],
)
def test_the_best_forecast_knows_only_the_level_of_a_wage_that_always_differs(amounts: list[int], expected: int) -> None:
    wage = {"user": "a", "aggregate": "INCOME", "contract_id": 1, "regular": True}
    paid = [*amounts, 330_000]
    days = [date(2026, 8 - len(paid) + number, 28) for number in range(len(paid))]
    rows = [{**wage, "booked_on": day, "amount_cents": amount} for day, amount in zip(days, paid, strict=True)]
    flows = pl.DataFrame(rows, schema_overrides={"contract_id": pl.UInt32})
    assert expected_next_month(flows, no_contracts_end(flows), date(2026, 6, 30))["best"].to_list() == [expected]


def no_contracts_end(flows: pl.DataFrame) -> pl.DataFrame:
    days = {"ended_on": pl.Date, "seen_on": pl.Date}
    return flows.clear().with_columns(pl.lit(None, kind).alias(name) for name, kind in days.items())


ENDS = {
    "an end that no booking shows yet": ("INACTIVE", 0, "salary", date(2026, 6, 15), None, 100_000),
    "a payment that did not come": ("INACTIVE", 0, "salary", date(2026, 5, 15), None, 0),
    "another contract that has begun": ("INACTIVE", 0, "salary", date(2026, 6, 15), date(2026, 6, 28), 0),
    "another contract that begins later": ("INACTIVE", 0, "salary", date(2026, 6, 15), date(2026, 7, 1), 100_000),
    "the last of so many instalments": ("INACTIVE", 24, "consumer_loan", date(2026, 6, 15), None, 0),
    "a benefit that the law limits": ("INACTIVE", 0, "elterngeld", date(2026, 6, 15), None, 0),
    "a contract that goes on": ("ACTIVE", 0, "salary", date(2026, 6, 15), None, 0),
}


@pytest.mark.parametrize("case", ENDS)
def test_the_best_forecast_knows_only_ends_that_show(case: str) -> None:
    status, instalments, template, latest, successor_began, expected = ENDS[case]
    flow = {"user": "a", "aggregate": "INCOME", "contract_id": 1, "regular": True, "amount_cents": 90_000}
    flows = pl.DataFrame([{**flow, "booked_on": latest}], schema_overrides={"contract_id": pl.UInt32})
    contract = {
        "contract_id": 1,
        "user": 7,
        "category": "INCOME_SALARY",
        "template": template,
        "period": "MONTH_ONE",
        "status": status,
        "instalments": instalments,
        "date_first": date(2024, 1, 15),
        "date_latest": latest,
        "amount_latest_cents": 100_000,
    }
    successor = {**contract, "contract_id": 2, "status": "ACTIVE", "date_first": successor_began, "date_latest": successor_began}
    rows = [contract, successor] if successor_began else [contract]
    unseen = payments_after_ends(flows, pl.DataFrame(rows, schema_overrides={"contract_id": pl.UInt32}))
    best = expected_next_month(flows, unseen, date(2026, 6, 30))["best"].sum()
    assert best == expected
    assert expected_next_month(flows, unseen.clear(), date(2026, 6, 30))["best"].sum() == 0


def test_a_contract_paid_every_week_is_expected_in_every_week_of_the_month() -> None:
    flow = {"user": "a", "aggregate": "EXPENSES", "contract_id": 1, "regular": True, "amount_cents": -500}
    flows = pl.DataFrame([{**flow, "booked_on": date(2026, 6, 29)}])
    contract = {"contract_id": 1, "user": 7, "category": "LIVING_OTHER", "template": "course", "period": "WEEK_ONE"}
    contract |= {"status": "INACTIVE", "instalments": 0, "date_first": date(2026, 1, 5), "date_latest": date(2026, 6, 29)}
    unseen = payments_after_ends(flows, pl.DataFrame([{**contract, "amount_latest_cents": -500}]))
    assert unseen["booked_on"].sort().to_list() == [date(2026, 7, day) for day in (6, 13, 20, 27)] + [date(2026, 8, 3)]
    assert expected_next_month(flows, unseen, date(2026, 6, 30))["best"].to_list() == [-2_000]


def test_the_best_forecast_knows_the_season_of_spending() -> None:
    months = [date(year, month, 1) for year in (2025, 2026) for month in range(1, 13)]
    spent = {day: -15_000 if day.month == 7 else -10_000 for day in months}
    rows = [
        {
            "user": user,
            "aggregate": kind,
            "booked_on": day,
            "amount_cents": sign * spent[day],
            "contract_id": None,
            "regular": False,
        }
        for user in "abc"
        for kind, sign in (("EXPENSES", 1), ("INCOME", -1))
        for day in months
    ]
    flows = pl.DataFrame(rows, schema_overrides={"contract_id": pl.UInt32})
    best = expected_next_month(flows, no_contracts_end(flows), date(2026, 6, 30))
    assert best.filter(aggregate="EXPENSES")["best"].to_list() == [-15_000] * 3
    assert best.filter(aggregate="INCOME")["best"].to_list() == [10_000] * 3


def test_triggers_follow_their_rules_where_all_tags_are_true() -> None:
    corpus, tagged, _ = world()
    true = trigger_truth(analysed_world().lives)
    snapshot = true_snapshot(corpus, tagged, partner_of_brands(tagger().catalogue))
    said = sales_triggers(snapshot, true_events(corpus), true_stages(corpus))
    columns = ["user", "item", "trigger_date"]
    assert_frame_equal(said.select(columns), true.select(columns), check_row_order=False)
    assert conformity_figures(said, true, FEW)["trigger_conformity"].value == 1
    dearer = said.with_columns(pl.col("amount") + 2)
    assert conformity_figures(dearer, true, FEW)["trigger_conformity"].value < 1
    assert conformity_figures(said.head(1), true, FEW)["trigger_conformity"].value < 0.5


def test_triggers_follow_their_rules_on_every_day_after_an_event() -> None:
    corpus, tagged, _ = world()
    items = pl.Series([item for items, _ in EVENT_TRIGGERS.values() for item in items])
    ages = pl.DataFrame({"age": [-1, 0, 1, 89, 90, 91, 179, 180, 181]})
    cases = items.alias("item").to_frame().join(ages, how="cross").with_row_index("user", offset=0)
    users = corpus.users["user"].sort()
    events = cases.select(
        user=users.gather(pl.Series(cases["user"] % users.len())),
        item="item",
        date=pl.lit(corpus.as_of) - pl.duration(days=pl.col("age")),
    )
    other = replace(corpus, events=events)
    snapshot = true_snapshot(other, tagged, {})
    said, true = sales_triggers(snapshot, true_events(other), true_stages(other)), trigger_truth(true_lives(other))
    columns = ["user", "item", "trigger_date"]
    assert_frame_equal(said.select(columns), true.select(columns), check_row_order=False)
    assert set(EVENT_TRIGGERS) <= set(true["item"])


def test_triggers_that_are_not_said_are_missed() -> None:
    corpus, _, whole = world()
    true = trigger_truth(analysed_world().lives)
    assert trigger_figures(corpus, whole["sales_triggers"], true, FEW)["trigger_f1"].value > 0.8
    assert trigger_figures(corpus, whole["sales_triggers"].clear(), true, FEW)["trigger_f1"].value == 0


def test_flags_that_are_never_raised_are_not_recalled() -> None:
    corpus, _, whole = world()
    said = whole["affordability"]
    assert affordability_figures(corpus, said, FEW)["affordability_ratios"].value == pytest.approx(0, abs=0.1)
    silent = said.with_columns(pl.col(pl.Boolean) & False)
    assert affordability_figures(corpus, silent, FEW)["affordability_recall"].value == 0
    wrong = said.with_columns(pl.col("discretionary") + 1)
    assert affordability_figures(corpus, wrong, FEW)["affordability_identities"].value == 0


def test_a_credit_risk_that_misreads_trouble_or_does_not_add_up_is_seen() -> None:
    corpus, tagged_bookings, whole = world()
    snapshot = true_snapshot(corpus, tagged_bookings, partner_of_brands(tagger().catalogue))
    users, signals = whole["credit_risk"], whole["credit_risk_signals"]
    assert credit_risk_figures(corpus, users, signals, snapshot, FEW)["credit_risk_sums"].value == 1
    more = users.with_columns(score=pl.col("score") - 10)
    wrong = credit_risk_figures(corpus, more, signals, snapshot, FEW)
    assert wrong["credit_risk_sums"].value == 0
    assert wrong["credit_risk_score_error"].value > 5
    blind = signals.with_columns(value=pl.lit(0.0))
    assert credit_risk_figures(corpus, users, blind, snapshot, FEW)["credit_risk_counts"].value == 0
