"""Blind rounds are scored once, and their first score stays."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from analytics.tagging.tag import Tagger
from analytics.trees import tree
from models import registry
from models.evaluation import blind_rounds
from models.evaluation.metrics import Figure

HEAD = "format,booking_text,gv_code,name,ultimate,purpose,amount,category,partner,insurance,hard"
LINES = """
sparkasse_camt,KARTENZAHLUNG,106,REWE Markt GmbH//Koeln/DE,,2026-04-23T20:21 Debitk.10,-34.17,LIVING_GROCERIES,REWE,,
ing,Lastschrift,,HUK-COBURG Versicherung,,Kfz-Versicherung Beitrag 05/26,-81.20,INSURANCE_VEHICLE,HUK-COBURG,VEHICLE_CAR,yes
dkb,Überweisung,,Sven Schutz,,Beitrag Geburtstagsgeschenk,-20.00,BANKFINANCE_TRANSFER,,,yes
"""
DAY = date(2026, 11, 17)
HALF = {"accuracy": Figure(0.5, 0.4, 0.6, 10)}


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(registry.shipped())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "round-7.csv"
    path.write_text(HEAD + LINES)
    return path


def test_categories_partners_and_what_only_sounds_like_insurance_are_scored(file: Path, tagger: Tagger) -> None:
    lines = blind_rounds.read_round(file)
    figures = blind_rounds.score(lines, tagger, times=10)
    tagged = blind_rounds.tagged_lines(lines, tagger)
    assert figures["accuracy"].value == pytest.approx((tagged["truth"] == tagged["prediction"]).mean())
    assert figures["partner_accuracy"].bounds[0] == 1
    rows = {name: value.rows for name, value in figures.items()}
    assert (rows["hard_accuracy"], rows["partner_accuracy"], rows["false_insurance"], rows["division_macro_f1"]) == (2, 2, 1, 1)


def test_another_partner_is_wrong(file: Path, tagger: Tagger) -> None:
    lines = blind_rounds.read_round(file).with_columns(partner=pl.lit("Penny"))
    assert blind_rounds.score(lines, tagger, times=10)["partner_accuracy"].value == 0


def test_only_the_first_score_is_recorded(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    blind_rounds.record(file, HALF, DAY, kept)
    with pytest.raises(ValueError, match="only the first score counts"):
        blind_rounds.record(file, {"accuracy": Figure(0.9, 0.8, 1.0, 10)}, DAY, kept)
    assert blind_rounds.rounds(kept)["round-7"].height == 3
    assert blind_rounds.first_scores(kept).rows() == [("round-7", DAY, "accuracy", 0.5, 0.4, 0.6, 10)]
    today = {"round-7": {"accuracy": Figure(0.9, 0.8, 1.0, 10)}}
    (row,) = blind_rounds.comparison(today, kept)
    assert (row["first score"], row["of"], row["today"]) == ("0.5000", "2026-11-17", "0.9000")


def test_a_round_without_a_record_shows_its_score_alone(tmp_path: Path) -> None:
    (row,) = blind_rounds.comparison({"round-8": HALF}, tmp_path)
    assert (row["first score"], row["today"]) == ("", "0.5000")


def test_every_kept_round_is_labelled_with_items_of_the_trees() -> None:
    categories, insurances = ({item.system_name for item in tree(name).items} for name in ("CATEGORIES", "INSURANCE_TYPES"))
    for name, lines in blind_rounds.rounds().items():
        assert set(lines["category"]) <= categories, name
        assert set(lines["insurance"]) - {""} <= insurances, name
        assert lines["amount"].cast(pl.Float64).is_not_null().all(), name
        assert name in blind_rounds.first_scores()["round"], name
