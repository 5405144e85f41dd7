"""Who decides when rule, partner, words and model do not say the same."""

import polars as pl

from analytics.tagging.decision import MIN_CONFIDENCE, MIN_GUESS_CONFIDENCE, SOURCE_FACTORS, add_precisions, decide_category

MEASURED = pl.DataFrame({"decider": ["rule:loan-words", "partner:IKEA"], "precision": [0.56, 0.75]})
NOTHING = {
    "name": "",
    "positive": False,
    "is_person": False,
    "insurance": "UNRELATED_OTHER",
    "insurance_confidence": 0.9,
    "insurance_source": "RULE",
    "insurance_reason": "",
    "rule_id": None,
    "rule_category": None,
    "rule_confidence": None,
    "rule_reason": None,
    "partner": "UNKNOWN",
    "partner_category": None,
    "partner_confidence": None,
    "partner_reason": None,
    "lexicon_category": None,
    "lexicon_confidence": None,
    "lexicon_reason": None,
    "model_category": None,
    "model_confidence": None,
    "model_words": "",
}
TEXTS = [name for name, value in NOTHING.items() if value is None and not name.endswith("_confidence")]
SHARES = [name for name in NOTHING if name.endswith("_confidence")]
LOAN = {
    "rule_id": "loan-words",
    "rule_category": "BANKFINANCE_CREDITPAYMENT",
    "rule_confidence": 0.93,
    "rule_reason": "Kreditrate",
}
IKEA = {"partner": "IKEA", "partner_category": "HOUSING_FURNISHING", "partner_confidence": 0.95, "partner_reason": "Name"}


def decided(*facts: dict[str, object], precisions: pl.DataFrame = MEASURED) -> list[tuple[object, ...]]:
    """Category, confidence before the factor of its source, source and reason of lines of which only this is known."""
    factor = pl.col("category_source").replace_strict(SOURCE_FACTORS, default=1.0)
    rows = pl.DataFrame(decided_rows(*facts, precisions=precisions)).with_columns(
        (pl.col("category_confidence") / factor).round(6)
    )
    return rows.select("category", "category_confidence", "category_source", "category_reason").rows()


def decided_rows(*facts: dict[str, object], precisions: pl.DataFrame = MEASURED) -> list[dict[str, object]]:
    rows = pl.DataFrame([NOTHING | given for given in facts], infer_schema_length=None)
    typed = rows.with_columns(pl.col(TEXTS).cast(pl.String), pl.col(SHARES).cast(pl.Float64))
    return decide_category(add_precisions(typed, precisions), precisions).to_dicts()


def model(category: str, confidence: float, words: str = "zins") -> dict[str, object]:
    return {"model_category": category, "model_confidence": confidence, "model_words": words}


def test_a_measured_rule_gives_way_to_a_surer_model_and_the_reason_is_the_models() -> None:
    assert decided(LOAN | model("HOUSING_FINANCING", 0.97)) == [("HOUSING_FINANCING", 0.97, "MODEL", "Wort »Zins«")]


def test_a_measured_rule_stands_against_a_less_sure_model() -> None:
    assert decided(LOAN | model("HOUSING_FINANCING", 0.5)) == [("BANKFINANCE_CREDITPAYMENT", 0.56, "RULE", "Kreditrate")]


def test_what_was_never_measured_stands_against_any_model() -> None:
    found = decided(LOAN | model("HOUSING_FINANCING", 0.999), precisions=MEASURED.clear())
    assert found == [("BANKFINANCE_CREDITPAYMENT", 0.93, "RULE", "Kreditrate")]


def test_a_partner_that_sells_several_things_gives_way_too() -> None:
    found = decided(IKEA | model("RECREATION_ENTERTAINMENTFOOD", 0.99, "restaurant"), IKEA | model("LIVING_OTHER", 0.6))
    assert [row[0] for row in found] == ["RECREATION_ENTERTAINMENTFOOD", "HOUSING_FURNISHING"]


def test_who_agrees_with_the_model_decides_and_is_as_sure_as_the_surer() -> None:
    found = decided(LOAN | model("BANKFINANCE_CREDITPAYMENT", 0.98), LOAN | model("BANKFINANCE_CREDITPAYMENT", 0.2))
    assert found == [
        ("BANKFINANCE_CREDITPAYMENT", 0.98, "RULE", "Kreditrate"),
        ("BANKFINANCE_CREDITPAYMENT", 0.56, "RULE", "Kreditrate"),
    ]


def test_a_surer_partner_decides_where_a_rule_has_given_way() -> None:
    found = decided(LOAN | IKEA | model("HOUSING_FINANCING", 0.6))
    assert found == [("HOUSING_FURNISHING", 0.75, "PARTNER", "Name")]


def test_without_a_model_rules_decide() -> None:
    assert [row[0] for row in decided(LOAN, IKEA, {})] == ["BANKFINANCE_CREDITPAYMENT", "HOUSING_FURNISHING", "OTHER_SPENDING"]


def test_a_guess_is_offered_but_does_not_decide() -> None:
    """Below the confidence that decides, the answer is the remainder of the main category, and the guess stands beside it."""
    rows = decided_rows(model("LIVING_GROCERIES", MIN_CONFIDENCE), model("LIVING_GROCERIES", MIN_CONFIDENCE - 0.01))
    assert [(row["category"], row["category_source"], row["category_guess"]) for row in rows] == [
        ("LIVING_GROCERIES", "MODEL", None),
        ("LIVING_OTHER", "FALLBACK", "LIVING_GROCERIES"),
    ]


def test_what_is_hardly_likely_is_not_even_a_guess() -> None:
    (row,) = decided_rows(model("LIVING_GROCERIES", MIN_GUESS_CONFIDENCE - 0.01))
    assert (row["category"], row["category_guess"]) == ("OTHER_SPENDING", None)


def test_the_model_does_not_find_an_insurance_that_no_rule_found() -> None:
    """Category and insurance type would contradict each other."""
    (row,) = decided_rows(model("INSURANCE_HEALTH", 0.99))
    assert (row["category"], row["category_guess"]) == ("OTHER_SPENDING", None)


def test_a_guess_about_a_person_is_a_transfer() -> None:
    (row,) = decided_rows(model("LIVING_GROCERIES", 0.15) | {"is_person": True})
    assert (row["category"], row["category_guess"]) == ("BANKFINANCE_TRANSFER", "LIVING_GROCERIES")


def test_a_rule_does_not_give_way_to_an_insurance_that_no_rule_found() -> None:
    (row,) = decided_rows(LOAN | model("INSURANCE_HEALTH", 0.99))
    assert row["category"] == "BANKFINANCE_CREDITPAYMENT"
