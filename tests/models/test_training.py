"""Training: which lines it may see, and that the same settings give the same model."""

from dataclasses import dataclass
from datetime import date

import numpy as np
import polars as pl
import pytest

from analytics.frames import TRANSACTIONS
from models.categoriser.features import hinted
from models.errors import NothingToLearn
from models.training.settings import TrainingSettings
from models.training.train import EXAMPLES, importance, merged, thinned, train, training_set
from tests.models.toys import labelled

SMALL = TrainingSettings(bits=13, looks=3)


@dataclass
class World:
    transactions: pl.DataFrame
    truth: pl.DataFrame


def world(text: str) -> World:
    """Bookings drawn as a table: name, purpose, euros, category, split of merchant, split of wording, format."""
    rows = [[cell.strip() for cell in row.split("|")] for row in text.strip().splitlines()]
    day = date(2026, 1, 5)
    transactions = pl.DataFrame(
        [
            {
                "id": str(number),
                "booked_on": day,
                "value_on": day,
                "amount_cents": round(float(row[2]) * 100),
                "currency": "EUR",
                "counterparty_name": row[0],
                "purpose": row[1],
                "pending": False,
            }
            for number, row in enumerate(rows)
        ],
        schema=TRANSACTIONS,
    )
    names = ("category", "merchant_split", "wording_split", "format")
    return World(transactions, pl.DataFrame([dict(zip(names, row[3:], strict=True)) for row in rows]))


WORLD = world("""
    Rewe     | Einkauf 4711 | -12.00 | LIVING_GROCERIES  | train       | train       | ing
    Rewe     | Einkauf 9922 | -13.00 | LIVING_GROCERIES  | train       | train       | ing
    Hofmarkt | Einkauf      | -12.00 | LIVING_GROCERIES  | calibration | train       | ing
    Edeka    | Einkauf      | -12.00 | LIVING_GROCERIES  | test        | train       | ing
    Meier    | geheim       | -12.00 | OTHER_SUPPORT     | train       | test        | ing
    Aldi     | Einkauf      | -12.00 | LIVING_GROCERIES  | train       | train       | n26
    Anna     | Umbuchung    | -12.00 | TRANSFER_INTERNAL | train       | train       | ing
    Zalando  | Erstattung   |  12.00 | TRANSFER_REFUND   | train       | train       | ing
    Lotto    | Los          | -12.00 | RECREATION_OTHER  | train       | train       | ing
    Lotto    | Los          | -12.00 | SHOPPING_OTHER    | train       | calibration | ing
""")


def test_the_training_set_holds_nothing_of_the_test() -> None:
    found = training_set(WORLD)
    assert found.schema == EXAMPLES
    assert found.select("name", "category", "count", "part").rows() == [
        ("rewe", "LIVING_GROCERIES", 2, "train"),
        ("hofmarkt", "LIVING_GROCERIES", 1, "strange"),
        ("zalando", "TRANSFER_REFUND", 1, "train"),
        ("lotto", "RECREATION_OTHER", 1, "train"),
        ("lotto", "SHOPPING_OTHER", 1, "known"),
    ]


def test_the_same_settings_give_the_same_model() -> None:
    frame, labels = labelled(copies=4)
    ones = pl.repeat(1, frame.height, eager=True)
    first = train(frame, labels, ones, SMALL)
    assert train(frame, labels, ones, SMALL).version == first.version
    assert train(frame, labels, ones, SMALL.model_copy(update={"seed": 12})).version != first.version


def test_progress_is_told_from_beginning_to_end() -> None:
    frame, labels = labelled(copies=4)
    told: list[tuple[str, float]] = []
    train(
        frame, labels, pl.repeat(1, frame.height, eager=True), SMALL, on_progress=lambda step, share: told.append((step, share))
    )
    assert told == [("fit", 0.0), ("fit", 1.0), ("export", 0.0), ("export", 1.0)]


def test_calibration_lowers_the_confidence_that_was_too_high() -> None:
    frame, labels = labelled(copies=10)
    ones = pl.repeat(1, frame.height, eager=True)
    chance = np.random.default_rng(1)
    doubted = pl.Series(chance.random(frame.height) < 0.5) & ~frame["positive"]
    other = pl.select(pl.when(doubted).then(pl.lit("HOUSING_RENT")).otherwise(labels)).to_series()
    kept = hinted(frame).with_columns(category=other, count=pl.lit(1.0), part=pl.lit("strange")).select(EXAMPLES.names())
    sure, honest = train(frame, labels, ones, SMALL), train(frame, labels, ones, SMALL, kept)
    assert honest.temperature > sure.temperature == 1
    assert (honest.score(frame)["category"] == sure.score(frame)["category"]).all()
    right = (honest.score(frame)["category"] == other).sum() / frame.height
    assert float(np.mean(honest.score(frame)["confidence"].to_numpy())) == pytest.approx(right, abs=0.12)


def test_few_lines_of_a_merchant_stand_for_all_of_them() -> None:
    frame, labels = labelled(copies=30)
    examples = hinted(frame).with_columns(category=labels, count=pl.lit(2.0), part=pl.lit("train")).select(EXAMPLES.names())
    found = thinned(examples, 3)
    sizes = found.group_by("merchant", "category").agg(pl.len(), pl.col("count").sum())
    assert sizes["len"].to_numpy().max() == 3
    assert found["count"].sum() == pytest.approx(examples["count"].sum())
    before = examples.group_by("merchant", "category").agg(whole=pl.col("count").sum())
    joined = sizes.join(before, on=["merchant", "category"])
    assert np.allclose(joined["count"].to_numpy(), joined["whole"].to_numpy())


def test_examples_of_several_worlds_become_one() -> None:
    found = merged([training_set(WORLD), training_set(WORLD)])
    assert found.select("name", "category", "count", "part").rows()[:2] == [
        ("rewe", "LIVING_GROCERIES", 4, "train"),
        ("zalando", "TRANSFER_REFUND", 2, "train"),
    ]
    assert found.height == 5


def test_rare_lines_and_classes_count_more_than_their_share() -> None:
    numbers, counts = np.array([0, 0, 0, 1], np.int32), np.array([100, 100, 100, 1])
    found = importance(numbers, counts, SMALL)
    assert found.mean() == pytest.approx(1)
    assert found[0] / found[3] < 100
    alike = importance(numbers, counts, SMALL.model_copy(update={"count_power": 0, "class_power": 0}))
    assert alike.tolist() == [1, 1, 1, 1]


def test_one_category_alone_teaches_nothing() -> None:
    frame, _ = labelled(copies=1)
    with pytest.raises(NothingToLearn):
        train(frame, pl.repeat("LIVING_GROCERIES", frame.height, eager=True), pl.repeat(1, frame.height, eager=True), SMALL)


def test_labels_that_the_sign_forbids_are_refused() -> None:
    frame, labels = labelled(copies=1)
    with pytest.raises(NothingToLearn):
        train(frame.with_columns(positive=~pl.col("positive")), labels, pl.repeat(1, frame.height, eager=True), SMALL)
