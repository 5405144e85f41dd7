"""Examining tags against the truth."""

from dataclasses import dataclass
from datetime import date

import polars as pl
import pytest

from analytics.frames import LINES, TAGGED, TRANSACTIONS
from models.evaluation.labelled import evaluate_tags
from models.training.lexicon_examples import lexicon, lexicon_lines
from models.training.settings import TrainingSettings
from models.training.train import train

DAY = date(2026, 1, 5)


@dataclass(frozen=True)
class World:
    transactions: pl.DataFrame
    truth: pl.DataFrame


def world() -> World:
    """Four bookings of two users: three of merchants that training had, one of a bank that it had not."""
    rows = [
        ("REWE", "Einkauf", -1200, "LIVING_GROCERIES", "REWE", "train", "ing", "UNRELATED_OTHER", "PRIVATE"),
        ("Huber GmbH", "Gehalt Mai", 250000, "INCOME_SALARY", "", "train", "ing", "UNRELATED_OTHER", "PRIVATE"),
        ("Allianz", "Hausrat", -9000, "INSURANCE_HOME", "Allianz", "train", "n26", "HOME_CONTENTS", "PRIVATE"),
        ("Hofladen Ott", "Danke", -3000, "LIVING_GROCERIES", "", "test", "ing", "UNRELATED_OTHER", "GOODS_MATERIALS"),
        ("Anna Ott", "Umbuchung", -5000, "TRANSFER_INTERNAL", "", "train", "ing", "UNRELATED_OTHER", "PRIVATE"),
    ]
    transactions = pl.DataFrame(
        [
            {
                "id": str(number),
                "booked_on": DAY,
                "value_on": DAY,
                "amount_cents": row[2],
                "currency": "EUR",
                "counterparty_name": row[0],
                "purpose": row[1],
            }
            for number, row in enumerate(rows)
        ],
        schema=TRANSACTIONS,
    )
    truth = pl.DataFrame(
        {
            "user": pl.Series([0, 0, 1, 1, 1], dtype=pl.UInt32),
            "category": [row[3] for row in rows],
            "brand": [row[4] for row in rows],
            "merchant_split": [row[5] for row in rows],
            "wording_split": ["train"] * len(rows),
            "format": [row[6] for row in rows],
            "insurance": [row[7] for row in rows],
            "freelancer": [row[8] for row in rows],
        }
    )
    return World(transactions, truth)


def test_all_tags_are_evaluated() -> None:
    here = world()
    tagged = pl.DataFrame(
        {
            "id": here.transactions["id"],
            "counterparty_key": ["rewe", "huber", "allianz", "ott", "ott"],
            "category": ["LIVING_GROCERIES", "INCOME_SALARY", "INSURANCE_HOME", "OTHER_SPENDING", "TRANSFER_INTERNAL"],
            "category_confidence": [0.9] * 5,
            "insurance": ["UNRELATED_OTHER", "UNRELATED_OTHER", "HOME_GLASS", "UNRELATED_OTHER", "UNRELATED_OTHER"],
            "freelancer": ["PRIVATE", "PRIVATE", "PRIVATE", "GOODS_MATERIALS", "REVENUE"],
            "partner": ["REWE", "UNKNOWN", "UNKNOWN", "UNKNOWN", "UNKNOWN"],
        },
        schema_overrides=dict(TAGGED),
    )
    found = evaluate_tags(tagged, here, times=20).figures
    assert found["category_unseen_accuracy"].value == 0
    assert found["category_seen_accuracy"].value == 1
    assert found["transfer_recall"].value == found["transfer_precision"].value == 1
    assert found["salary_f1"].value == 1
    assert (found["insurance_division"].value, found["insurance_product"].value) == (1, 0)
    assert found["freelancer_accuracy"].value == pytest.approx(2 / 3)


def test_the_lexicon_teaches_words_in_names_and_purposes() -> None:
    lines, categories = lexicon_lines()
    assert lines.schema == LINES
    assert lines.height == len(categories) > 1000
    assert ((lines["merchant"] != "") ^ (lines["purpose"] != "")).all()
    assert not lexicon()["word"].str.contains(r"[*@|]").any()
    model = train(
        lines, categories, pl.repeat(1, lines.height, eager=True), TrainingSettings(bits=15, looks=2, hidden_merchants=0.0)
    )
    said = model.score(lines)["category"]
    assert (said == categories).sum() > 0.8 * lines.height
