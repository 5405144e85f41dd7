"""How good the whole tagger is: every gate gets its figure, and every figure is what the bookings say."""

from dataclasses import replace
from math import isfinite
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics import knowledge, knowledge_checks
from analytics.tagging.tag import Tagger
from models import registry
from models.evaluation import rule_precision, tagger
from models.evaluation.gates import BY_NAME, GATES, UNGATED, verdicts
from models.evaluation.labelled import LabelledEvaluation
from models.evaluation.tables import LABELLED_BOOKINGS
from models.evaluation.tagger import TaggedWorld
from models.simulator.base.lists import merchants, parties
from models.simulator.worlds import World, simulate_parts

SMALL = World(users=6, seed=11, splits=("train", "calibration", "test"))
LEARNABLE = World(users=6, seed=12)


@pytest.fixture(scope="module")
def brain() -> Tagger:
    return Tagger(registry.shipped())


@pytest.fixture(scope="module")
def examined(brain: Tagger) -> LabelledEvaluation:
    return tagger.evaluate(brain, SMALL, times=100)


@pytest.fixture(scope="module")
def precisions(brain: Tagger) -> pl.DataFrame:
    return rule_precision.measure(brain, LEARNABLE)


def test_every_gate_gets_a_figure_and_every_other_figure_is_listed(examined: LabelledEvaluation) -> None:
    assert set(examined.figures) == {*BY_NAME, *(name for name, _, _ in UNGATED)}
    assert [verdict["name"] for verdict in verdicts(examined.figures)] == [gate.name for gate in GATES]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_figure_is_a_share_inside_its_interval(examined: LabelledEvaluation, name: str) -> None:
    figure = examined.figures[name]
    assert all(isfinite(bound) for bound in figure.bounds)
    assert figure.low <= figure.value <= figure.high
    assert figure.low >= (-1 if name == "category_format_loss" else 0)
    assert figure.high <= 1
    assert figure.rows > 0


def test_every_booking_of_the_world_is_judged_with_its_own_truth(examined: LabelledEvaluation) -> None:
    (world,) = simulate_parts(SMALL)
    assert examined.bookings.schema == LABELLED_BOOKINGS
    assert examined.bookings["truth"].equals(world.truth["category"].alias("truth"))
    assert examined.bookings["amount_cents"].equals(world.transactions["amount_cents"])


def test_figures_of_the_category_are_those_of_the_judged_bookings(examined: LabelledEvaluation) -> None:
    right = pl.col("truth") == pl.col("prediction")
    euros = pl.col("amount_cents").abs()
    shares = examined.bookings.select(
        category_seen_accuracy=right.filter(pl.col("merchant_seen"), pl.col("format_seen")).mean(),
        category_unseen_accuracy=right.filter(~pl.col("merchant_seen")).mean(),
        category_test_merchant_accuracy=right.filter("merchant_of_test").mean(),
        category_test_brand_accuracy=right.filter("merchant_of_test", "branded").mean(),
        category_value_share=euros.filter(right).sum() / euros.sum(),
    )
    for name, share in shares.row(0, named=True).items():
        assert examined.figures[name].value == pytest.approx(share)


def test_the_tagger_is_far_better_than_the_most_frequent_category(examined: LabelledEvaluation) -> None:
    assert examined.baselines["majority"].high < examined.figures["category_unseen_accuracy"].low


def test_merchants_of_the_test_are_neither_in_training_nor_in_calibration(examined: LabelledEvaluation) -> None:
    (world,) = simulate_parts(SMALL)
    of_test = world.truth["merchant_split"] == "test"
    assert examined.bookings["merchant_of_test"].to_list() == of_test.to_list()
    figures = examined.figures
    assert figures["category_test_merchant_accuracy"].rows == of_test.sum() < figures["category_unseen_accuracy"].rows


def test_beside_every_figure_stands_what_is_reached_without_the_model(brain: Tagger, examined: LabelledEvaluation) -> None:
    assert set(examined.without_model) == set(examined.figures)
    assert examined.without_model["category_unseen_accuracy"].value < examined.figures["category_unseen_accuracy"].value
    assert examined.without_model["sepa_fields"] == examined.figures["sepa_fields"], "no model reads the fields"
    tags = tagger.reality_tags(tagger.without_model(brain))
    assert "MODEL" not in tags["source"].to_list()


def test_partners_of_unseen_brands_are_missing_while_they_are_examined(brain: Tagger) -> None:
    both = pl.concat([merchants().select("brand", "split"), parties().select("brand", "split")]).filter(pl.col("brand") != "")
    whole = tagger.partner_of_brands(brain.catalogue)
    seen = {whole[brand] for brand in both.filter(pl.col("split") == 0)["brand"]} - {knowledge.UNKNOWN}
    unseen = {whole[brand] for brand in both.filter(pl.col("split") != 0)["brand"]} - seen - {knowledge.UNKNOWN}
    left = set(tagger.without_unseen_partners(brain).catalogue.frame["partner"])
    assert len(unseen) > 100
    assert left & unseen == set()
    assert left | unseen == set(brain.catalogue.frame["partner"])


@pytest.mark.parametrize(("partner", "precision", "recall"), [("REWE", 1, 0.5), ("PENNY", 1, 0.5), ("LIDL", 0, 0)])
def test_another_brand_of_the_group_is_right_and_a_stranger_is_not(
    brain: Tagger, partner: str, precision: float, recall: float
) -> None:
    brands = ["REWE", "REWE", "", "No such brand"]
    truth = pl.DataFrame({"user": ["a", "b", "c", "d"], "brand": brands, "merchant_split": ["train"] * 4})
    tags = pl.DataFrame({"partner": [partner, knowledge.UNKNOWN, partner, partner]})
    found = tagger.partner_figures(TaggedWorld(pl.DataFrame(), truth, pl.DataFrame(), tags), brain.catalogue, times=10)
    assert (found["partner_precision"].value, found["partner_recall"].value) == (precision, recall)
    assert found["partner_recall"].rows == 2


def test_a_field_that_is_not_read_as_it_was_written_counts_against_us() -> None:
    (world,) = simulate_parts(replace(SMALL, users=1))
    whole = TaggedWorld(world.transactions, world.truth, world.texts, pl.DataFrame())
    lost = replace(whole, transactions=world.transactions.with_columns(purpose=pl.lit("nothing", pl.String)))
    assert tagger.sepa_figures(whole, times=10)["sepa_fields"].value > 0.99
    assert tagger.sepa_figures(lost, times=10)["sepa_fields"].value == 0


def test_real_lines_are_tagged_as_they_stand(brain: Tagger, examined: LabelledEvaluation) -> None:
    tagged = tagger.reality_tags(brain)
    assert tagged.select(tagger.reality_lines().columns).equals(tagger.reality_lines())
    right = (tagged["truth"] == tagged["prediction"]).mean()
    assert examined.figures["reality_accuracy"].value == pytest.approx(right)
    assert examined.figures["reality_main_accuracy"].value >= right  # type: ignore[operator]


def test_everything_that_decided_often_enough_has_a_precision(precisions: pl.DataFrame) -> None:
    assert precisions.columns == ["decider", "precision", "rows"]
    assert precisions["precision"].is_between(rule_precision.MIN_PRECISION, rule_precision.MAX_PRECISION).all()
    assert precisions["rows"].min() >= rule_precision.MIN_BOOKINGS  # type: ignore[operator]
    assert precisions["decider"].to_list() == sorted(set(precisions["decider"]))
    kinds = precisions["decider"].str.split(":").list.first()
    assert set(kinds) == {"insurance", "partner", "rule", "word"}


def test_partners_are_measured_surer_than_words(precisions: pl.DataFrame) -> None:
    kinds = precisions.group_by(kind=pl.col("decider").str.split(":").list.first()).agg(
        (pl.col("precision") * pl.col("rows")).sum() / pl.col("rows").sum()
    )
    sure = dict(kinds.rows())
    assert sure["partner"] > sure["word"]


def test_measuring_again_gives_the_same_whatever_was_measured_before(brain: Tagger, precisions: pl.DataFrame) -> None:
    doubtful = Tagger(brain.scorer, brain.catalogue, brain.precisions.with_columns(precision=pl.lit(0.1)))
    assert_frame_equal(rule_precision.measure(doubtful, LEARNABLE), precisions)


def test_other_people_give_other_precisions(brain: Tagger, precisions: pl.DataFrame) -> None:
    other = rule_precision.measure(brain, replace(LEARNABLE, users=2, seed=13))
    assert not other.equals(precisions)
    assert other["rows"].sum() < precisions["rows"].sum()


def test_what_was_measured_is_a_table_of_knowledge(precisions: pl.DataFrame, tmp_path: Path) -> None:
    precisions.write_csv(tmp_path / "measured.csv")
    assert knowledge_checks.problems(tmp_path) == []
