"""Measures against numbers worked out by hand and against scikit-learn."""

from math import isnan

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_recall_fscore_support

from models.evaluation import tables
from models.evaluation.metrics import (
    accuracy,
    average_precision,
    calibration_error,
    coverage,
    figure,
    macro_f1,
    median,
    value_share,
)
from models.evaluation.tables import LABELLED_BOOKINGS


def labelled_bookings(text: str) -> pl.DataFrame:
    """Bookings drawn as a table: truth, prediction, confidence, euros, user, merchant, merchant seen, format seen."""
    rows = [row.split() for row in text.strip().splitlines()]
    return pl.DataFrame(
        [
            {
                "truth": row[0],
                "prediction": row[1],
                "confidence": float(row[2]),
                "amount_cents": round(float(row[3]) * 100),
                "user": row[4],
                "merchant": row[5],
                "merchant_seen": row[6] == "seen",
                "format_seen": row[7] == "seen",
                "merchant_of_test": row[6] != "seen",
                "branded": row[5] in ("rewe", "aral"),
            }
            for row in rows
        ],
        schema=LABELLED_BOOKINGS,
    )


TABLE = labelled_bookings("""
    FOOD  FOOD  0.95  -10.00  anna  rewe   seen    seen
    FOOD  FOOD  0.90  -20.00  anna  rewe   seen    seen
    FOOD  FUEL  0.60  -70.00  bert  aral   seen    unseen
    FUEL  FUEL  0.80  -50.00  bert  aral   seen    unseen
    FUEL  FUEL  0.70  -40.00  carl  hinz   unseen  seen
    RENT  FOOD  0.30  -10.00  carl  kunz   unseen  seen
""")


@pytest.fixture(scope="module")
def many() -> pl.DataFrame:
    """A few thousand bookings whose truth is said with the confidence that is given."""
    chance = np.random.default_rng(5)
    size, names = 4000, np.array(["A", "B", "C", "D", "E"])
    truth, confidence = chance.choice(names, size, p=[0.4, 0.3, 0.2, 0.08, 0.02]), chance.uniform(0.2, 1.0, size)
    said = np.where(chance.random(size) < confidence, truth, chance.choice(names, size))
    users = chance.integers(0, 60, size).astype(str)
    return pl.DataFrame(
        {
            "truth": truth,
            "prediction": said,
            "confidence": confidence,
            "amount_cents": chance.integers(-9000, -100, size),
            "user": users,
            "merchant": users,
            "merchant_seen": chance.random(size) < 0.5,
            "format_seen": chance.random(size) < 0.5,
            "merchant_of_test": np.zeros(size, bool),
            "branded": np.zeros(size, bool),
        },
        schema=LABELLED_BOOKINGS,
    )


def test_accuracy_is_the_share_of_right_bookings() -> None:
    assert figure(TABLE, accuracy).value == pytest.approx(4 / 6)


def test_value_share_weighs_bookings_with_their_money() -> None:
    assert figure(TABLE, value_share).value == pytest.approx(120 / 200)


def test_macro_f1_by_hand() -> None:
    # FOOD: 2 right of 3 true and 3 said; FUEL: 2 right of 2 true and 3 said; RENT: never said.
    assert figure(TABLE, macro_f1()).value == pytest.approx((4 / 6 + 4 / 5 + 0) / 3)


def test_macro_f1_is_that_of_scikit_learn(many: pl.DataFrame) -> None:
    expected = f1_score(many["truth"].to_numpy(), many["prediction"].to_numpy(), average="macro")
    assert figure(many, macro_f1()).value == pytest.approx(expected)


def test_classes_are_those_of_scikit_learn(many: pl.DataFrame) -> None:
    table = tables.by_class(many).sort("name")
    expected = precision_recall_fscore_support(many["truth"].to_numpy(), many["prediction"].to_numpy())
    for column, values in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        assert table[column].to_list() == pytest.approx(values.tolist())


def test_a_median_lies_in_the_middle() -> None:
    off = pl.DataFrame({"user": ["a", "a", "b", "c"], "off": [0, 2, 5, 40]})
    assert figure(off, median(pl.col("off"), 45)).value == 3.5
    assert figure(off.head(3), median(pl.col("off"), 45)).value == 2
    assert isnan(figure(off.clear(), median(pl.col("off"), 45)).value)


def test_calibration_error_by_hand() -> None:
    # Bins of a fifteenth: {.95, .9 → .9333} differ: .95 alone, .9 alone, .6 alone, .8 alone, .7 alone, .3 alone.
    gaps = [0.05, 0.10, 0.60, 0.20, 0.30, 0.30]
    assert figure(TABLE, calibration_error()).value == pytest.approx(sum(gaps) / 6)


def test_confidence_that_is_honest_has_no_calibration_error(many: pl.DataFrame) -> None:
    honest = many.with_columns(prediction=pl.when(many["confidence"] > 0).then("truth"), confidence=pl.lit(1.0))
    assert figure(honest, calibration_error()).value == 0
    assert figure(many, calibration_error()).value < 0.2


def test_coverage_is_the_share_that_can_be_trusted(many: pl.DataFrame) -> None:
    rows = 1000
    confidence = np.linspace(0, 1, rows)
    frame = many.head(rows).with_columns(confidence=pl.Series(confidence), truth=pl.lit("A"), prediction=pl.lit("A"))
    frame = frame.with_columns(prediction=pl.when(pl.col("confidence") < 0.3).then(pl.lit("B")).otherwise("prediction"))
    assert figure(frame, coverage(0.99)).value == pytest.approx(0.7 / 0.99, abs=0.01)
    assert figure(frame.with_columns(prediction=pl.lit("B")), coverage(0.99)).value == 0


def test_average_precision_is_that_of_scikit_learn(many: pl.DataFrame) -> None:
    there = pl.col("truth") == "A"
    score = pl.when(pl.col("prediction") == "A").then("confidence").otherwise(0.0)
    columns = many.select(there=there, score=score)
    expected = average_precision_score(columns["there"].to_numpy(), columns["score"].to_numpy())
    assert figure(many, average_precision(there, score)).value == pytest.approx(expected, abs=1e-3)


def test_intervals_come_from_resampling_whole_users(many: pl.DataFrame) -> None:
    found = figure(many, accuracy, by="user")
    assert found.low < found.value < found.high
    assert found == figure(many, accuracy, by="user")
    users = many.group_by("user").agg(right=(pl.col("truth") == pl.col("prediction")).mean())["right"].to_numpy()
    assert found.high - found.low == pytest.approx(2 * 1.96 * users.std() / np.sqrt(len(users)), rel=0.3)
    copies = pl.concat([many] * 5)
    assert figure(copies, accuracy, by="user").high - found.high == pytest.approx(0, abs=1e-9)


def test_one_group_has_no_interval() -> None:
    found = figure(TABLE.filter(pl.col("user") == "anna"), accuracy)
    assert (found.low, found.value, found.high) == (1, 1, 1)


def test_the_four_cells_are_told_apart() -> None:
    table = tables.cells(TABLE, times=50)
    assert table.select("merchant_seen", "format_seen", "rows", "accuracy").rows() == [
        (True, True, 2, 1.0),
        (True, False, 2, 0.5),
        (False, True, 2, 0.5),
    ]


def test_figures_of_categories_look_at_their_own_cells() -> None:
    found = tables.category_figures(TABLE, times=50)
    assert found["category_seen_accuracy"].value == 1
    assert found["category_unseen_accuracy"].value == 0.5
    assert found["category_format_loss"].value == pytest.approx(0.5)
    assert found["category_calibration_error"].value == pytest.approx(0.4)


def test_the_worst_confusions_come_first(many: pl.DataFrame) -> None:
    table = tables.confusions(TABLE)
    assert table.rows() == [("FOOD", "FUEL", 1, pytest.approx(1 / 3)), ("RENT", "FOOD", 1, 1.0)]
    assert tables.confusions(many, max_rows=3)["rows"].is_sorted(descending=True)


def test_what_another_model_changes_is_counted_with_what_it_mends_and_spoils() -> None:
    other = TABLE.with_columns(prediction=pl.Series(["FOOD", "FUEL", "FOOD", "FUEL", "FUEL", "CASH"]))
    assert tables.changes(TABLE, other).rows() == [
        ("FOOD", "CASH", 1, 0, 0),
        ("FOOD", "FUEL", 1, 0, 1),
        ("FUEL", "FOOD", 1, 1, 0),
    ]
    assert tables.changes(TABLE, TABLE).is_empty()


def test_reliability_holds_every_booking(many: pl.DataFrame) -> None:
    table = tables.reliability(many)
    assert table["rows"].sum() == many.height
    assert table["confidence"].is_sorted()


def test_own_transfers_and_salary() -> None:
    table = labelled_bookings("""
        TRANSFER_INTERNAL  TRANSFER_SAVINGS   0.9  -10  anna  x  seen  seen
        TRANSFER_INTERNAL  OTHER_SPENDING     0.9  -10  anna  x  seen  seen
        OTHER_SPENDING     TRANSFER_OTHER     0.9  -10  anna  x  seen  seen
        INCOME_SALARY      INCOME_SALARY      0.9   10  anna  x  seen  seen
        INCOME_OTHER       INCOME_SALARY      0.5   10  anna  x  seen  seen
        TRANSFER_REFUND    TRANSFER_REFUND    0.9   10  anna  x  seen  seen
    """)
    found = tables.income_figures(table)
    assert found["transfer_precision"].value == 0.5
    assert found["transfer_recall"].value == 0.5
    assert found["salary_f1"].value == pytest.approx(2 / 3)
    assert found["salary_average_precision"].value == 1


def test_partners() -> None:
    table = pl.DataFrame(
        {
            "true_partner": ["REWE", "REWE", "UNKNOWN", "ARAL"],
            "partner": ["REWE", "UNKNOWN", "REWE", "ARAL"],
            "user": ["a", "a", "b", "b"],
        }
    )
    found = tables.partner_figures(table)
    assert found["partner_precision"].value == pytest.approx(2 / 3)
    assert found["partner_recall"].value == pytest.approx(2 / 3)


def test_merchants_behind_intermediaries() -> None:
    table = pl.DataFrame({"true_merchant": ["spotify", "ebay"], "merchant": ["spotify ab", "paypal"], "user": ["a", "b"]})
    assert tables.unwrapping_figures(table)["intermediary_unwrapped"].value == 0.5


def test_a_merchant_is_found_whatever_its_digits_and_under_the_one_name_of_its_brand() -> None:
    pairs = {"design3000": "design0", "amazonmarketplace": "amazon", "itsreisen": "amazon", "kinovechta": "kino", "77": "0"}
    for (truth, told), right in zip(pairs.items(), (1, 1, 0, 0, 0), strict=True):
        table = pl.DataFrame({"true_merchant": [truth], "merchant": [told], "user": ["a"]})
        assert tables.unwrapping_figures(table)["intermediary_unwrapped"].value == right, truth


def test_insurances() -> None:
    table = pl.DataFrame(
        {
            "true_insurance": ["VEHICLE_CAR", "HOME_GLASS", "LIABILITY_DOG", "UNRELATED_OTHER"],
            "insurance": ["VEHICLE_CAR", "HOME_FIRE", "UNRELATED_OTHER", "VEHICLE_CAR"],
            "user": ["a", "a", "b", "b"],
        }
    )
    found = tables.insurance_figures(table)
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        {"insurance_division": 2 / 3, "insurance_product": 1 / 3, "insurance_missed": 1 / 3}
    )


def test_freelancers() -> None:
    table = pl.DataFrame(
        {
            "true_freelancer": ["REVENUE", "PRIVATE"],
            "freelancer": ["REVENUE", "REVENUE"],
            "amount_cents": [90000, -10000],
            "user": ["a", "a"],
        }
    )
    found = tables.freelancer_figures(table)
    assert found["freelancer_accuracy"].value == 0.5
    assert found["freelancer_value_share"].value == pytest.approx(0.9)


def test_real_lines_count_by_main_category_too() -> None:
    table = pl.DataFrame({"truth": ["LIVING_GROCERIES", "TAXES"], "prediction": ["LIVING_DRUGSTORE", "TAXES"]})
    found = tables.reality_figures(table)
    assert (found["reality_main_accuracy"].value, found["reality_accuracy"].value) == (1.0, 0.5)


def test_the_majority_is_that_of_the_sign() -> None:
    train, positive = pl.Series(["A", "A", "B", "C"]), pl.Series([False, False, False, True])
    assert tables.majority(train, pl.Series([True, False]), positive).to_list() == ["C", "A"]
