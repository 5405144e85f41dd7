"""The category of a line from all answers: insurance type, rule, partner, then the likelier of lexicon and model.

The confidence of a rule or partner is its measured precision (`knowledge/measured/measured.csv`, from `kontor knowledge
measure`); without a measurement it is what the author of the rule assumed. A measured rule or partner gives way to a model of
higher confidence that answers differently; where both give the same answer, the tag has the higher confidence of the two.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.frames import add_columns_by_key, add_columns_by_row
from analytics.knowledge.files import MEASURED
from analytics.tagging.insurance import UNRELATED
from analytics.tagging.quotation import quoted_words

MIN_CONFIDENCE = 0.25
"""A category of lexicon or model that is less likely than this is a guess: the answer is the remainder of its main category, or
of all spending. On lines of the blind rounds the model was right in 2 of 14 such cases, on simulated people in one of four."""
MIN_GUESS_CONFIDENCE = 0.1
"""A category less likely than this is not even a guess."""
MIN_DECIDING_PRECISION = 0.5
"""A rule or partner that was wrong more often than right does not decide: lexicon and model do."""
SETTLING_PRECISION = 0.98
"""A rule or partner of this precision decides without comparison with the model."""
MIN_FALLBACK_CONFIDENCE = 0.1
SOURCE_FACTORS = {"RULE": 0.985, "PARTNER": 0.985, "MODEL": 0.98}
"""Factors of the final confidence. Precision is measured on simulated people; on lines that others wrote (the first scores of the
blind rounds) rules and partners are right 2 to 3 percent less often, the model 10 percent. The factors lie between the two."""
REFUND, TRANSFER, OTHER_SPENDING = "TRANSFER_REFUND", "BANKFINANCE_TRANSFER", "OTHER_SPENDING"
FALLBACK_REASON = pl.lit("nichts erkannt, nur das Vorzeichen ist bekannt")
Tag = dict[str, str | pl.Expr]


@cache
def measured_precisions() -> pl.DataFrame:
    """The share of correct decisions of each rule, word and partner: `decider`, `precision`."""
    return pl.read_csv(MEASURED, schema={"decider": pl.String, "precision": pl.Float64, "rows": pl.Int64}).drop("rows")


def add_precisions(lines: pl.DataFrame, precisions: pl.DataFrame) -> pl.DataFrame:
    """The lines with the decider, precision and certainty of their insurance type, rule and partner."""
    return _with_certainty(_with_deciders(lines), precisions, ("insurance", "rule", "partner"))


def is_settled(lines: pl.DataFrame) -> pl.Series:
    """Whether each line needs neither lexicon nor model, because an answer is certain enough to decide.

    Refunds are never settled: the words of the lexicon say what was refunded.
    """
    by_rule = (pl.col("rule_certainty") >= SETTLING_PRECISION) & (pl.col("rule_category") != REFUND)
    certain_partner = _partner_fits_sign() & (pl.col("partner_certainty") >= SETTLING_PRECISION)
    by_partner = pl.col("rule_category").is_null() & certain_partner
    return lines.select(((pl.col("insurance") != UNRELATED) | by_rule | by_partner).fill_null(value=False)).to_series()


def decide_category(lines: pl.DataFrame, precisions: pl.DataFrame) -> pl.DataFrame:
    """The lines with their category, by the first answer that holds, and the `decider` that gave it."""
    decider = pl.format("word:{}:{}", "lexicon_category", pl.col("lexicon_confidence").round(1))
    no_premium = ~pl.col("model_category").str.starts_with("INSURANCE_")  # it would contradict the insurance type
    own_answers = lines.with_columns(
        *(pl.when(no_premium).then(name).alias(name) for name in ("model_category", "model_confidence")), lexicon_decider=decider
    )
    assessed_lines = _with_certainty(own_answers, precisions, ("lexicon",)).with_columns(quoted_words(own_answers))
    numbered_lines = assessed_lines.with_row_index("line")
    answers = _answers()
    first = pl.coalesce(
        [pl.when(holds & _column(tag["category"]).is_not_null()).then(number) for number, (holds, tag) in enumerate(answers)]
    )
    deciding = numbered_lines.select(first.alias("answer")).to_series()
    tags = [_tags(numbered_lines, (deciding == number).arg_true(), tag) for number, (_, tag) in enumerate(answers)]
    factor = pl.col("category_source").replace_strict(SOURCE_FACTORS, default=1.0)
    calibrated_tags = pl.concat(tags).with_columns(pl.col("category_confidence") * factor)
    return add_columns_by_row(numbered_lines, calibrated_tags).drop("line")


def _tags(lines: pl.DataFrame, rows: pl.Series, tag: Tag) -> pl.DataFrame:
    """The tags of the rows that one answer decides. Only the columns that the answer reads are gathered."""
    columns = {name for value in tag.values() for name in _column(value).meta.root_names()}
    return lines[["line", *columns]][rows].select("line", **tag)


def _with_deciders(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines with the category of their insurance type, the sign of their partner's category, and their deciders."""
    divisions = trees.insurance_types_frame().select(insurance="system_name", subcategory="subcategory")
    signs = trees.categories_frame().select(partner_category="system_name", partner_sign="sign")
    return add_columns_by_key(add_columns_by_key(lines, divisions, "insurance"), signs, "partner_category").with_columns(
        insurance_decider=pl.concat_str(pl.lit("insurance:"), "insurance"),
        rule_decider=pl.concat_str(pl.lit("rule:"), "rule_id"),
        partner_decider=pl.concat_str(pl.lit("partner:"), "partner"),
    )


def _with_certainty(lines: pl.DataFrame, precisions: pl.DataFrame, kinds: tuple[str, ...]) -> pl.DataFrame:
    """The lines with the certainty of each kind of decider: its measured precision, else its assumed confidence."""
    for kind in kinds:
        kind_precisions = precisions.select(
            pl.col("decider").alias(f"{kind}_decider"), pl.col("precision").alias(f"{kind}_precision")
        )
        lines = add_columns_by_key(lines, kind_precisions, f"{kind}_decider").with_columns(
            pl.coalesce(f"{kind}_precision", f"{kind}_confidence").alias(f"{kind}_certainty")
        )
    return lines


def _answers() -> list[tuple[pl.Expr, Tag]]:
    """The answers in the order in which they decide, each with the condition under which it holds."""
    word, model = pl.col("lexicon_certainty").fill_null(0.0), pl.col("model_confidence").fill_null(0.0)
    words = pl.col("model_quotation")
    reason = pl.when(words != "").then(words).otherwise(pl.lit("Art und Höhe der Buchung"))
    income = pl.when("is_person").then(pl.lit("OTHER_INCOME")).otherwise(pl.lit("INCOME_OTHER"))
    expense = pl.when("is_person").then(pl.lit(TRANSFER)).otherwise(pl.lit(OTHER_SPENDING))
    by_sign = pl.when("positive").then(income).otherwise(expense)
    rule, partner = pl.lit("RULE"), pl.lit("PARTNER")
    fallback = _tag(
        by_sign, pl.max_horizontal(model, MIN_FALLBACK_CONFIDENCE), pl.lit("FALLBACK"), FALLBACK_REASON, pl.lit("sign")
    )
    has_remainder = ~pl.col("positive") & ~pl.col("is_person")
    remainder = (
        pl.when(has_remainder).then(pl.col("model_category").replace_strict(_remainders(), default=None)).otherwise(by_sign)
    )
    guess_reason = pl.format("unsicher, am ehesten {}: {}", pl.col("model_category").replace_strict(_display_names()), reason)
    guess = _tag(
        remainder, pl.lit(MIN_FALLBACK_CONFIDENCE), pl.lit("FALLBACK"), guess_reason, pl.lit("guess"), pl.col("model_category")
    )
    partner_decides = _partner_fits_sign() & _may_decide("partner")
    return [
        _answer("insurance", pl.col("insurance") != UNRELATED, "subcategory", pl.col("insurance_source")),
        _answer("rule", _may_decide("rule"), "rule_category", rule, _shared_confidence("rule")),
        _answer("partner", partner_decides, "partner_category", partner, _shared_confidence("partner")),
        _answer("lexicon", (word >= MIN_CONFIDENCE) & (word >= model), "lexicon_category", rule),
        (model >= MIN_CONFIDENCE, _tag("model_category", "model_confidence", pl.lit("MODEL"), reason, pl.lit("model"))),
        (model >= MIN_GUESS_CONFIDENCE, guess),
        (pl.lit(value=True), fallback),
    ]


def _partner_fits_sign() -> pl.Expr:
    fits = (pl.col("partner_sign") == "±") | ((pl.col("partner_sign") == "+") == pl.col("positive"))
    premium = pl.col("partner_category").str.starts_with("INSURANCE_")  # what is no premium, although an insurer is named
    return (pl.col("partner_category") != "") & fits & ~premium


def _may_decide(kind: str) -> pl.Expr:
    """Whether a rule or partner may decide: it is right often enough, and the model is not both different and more confident.

    Only measured deciders give way. What could not be measured is probably unknown to the model as well, whose confidence then
    means little.
    """
    certainty = pl.col(f"{kind}_certainty")
    unbeaten = pl.col(f"{kind}_precision").is_null() | (certainty >= pl.col("model_confidence").fill_null(0.0))
    return (certainty >= MIN_DECIDING_PRECISION) & (_agrees(kind) | unbeaten)


def _shared_confidence(kind: str) -> pl.Expr:
    """The certainty of an answer, or the model's confidence if that is higher and the model agrees."""
    highest = pl.max_horizontal(f"{kind}_certainty", "model_confidence")
    return pl.when(_agrees(kind)).then(highest).otherwise(f"{kind}_certainty")


def _agrees(kind: str) -> pl.Expr:
    return (pl.col("model_category") == pl.col(f"{kind}_category")).fill_null(value=False)


def _answer(kind: str, holds: pl.Expr, category: str, source: pl.Expr, confidence: pl.Expr | None = None) -> tuple[pl.Expr, Tag]:
    """The answer of a kind of decider that has its own columns."""
    certainty = f"{kind}_certainty" if confidence is None else confidence
    return holds, _tag(category, certainty, source, f"{kind}_reason", pl.col(f"{kind}_decider"))


@cache
def _remainders() -> dict[str, str]:
    """The remainder of the main category of each expense: where something of it belongs that has no better place.

    Premiums have none, since no insurance was found, and the remainder of banking is fees: their guesses are other spending.
    """
    items = [item for item in trees.tree("CATEGORIES").items if item.parent]
    remainders = {item.parent: item.system_name for item in items if item.system_name.endswith(("_OTHER", "_OTHERS"))}
    unspecific = {"INSURANCE", "BANKFINANCE", "SAVINGS"}
    return {
        item.system_name: OTHER_SPENDING if item.parent in unspecific else remainders.get(item.parent, OTHER_SPENDING)
        for item in items
    }


@cache
def _display_names() -> dict[str, str]:
    return {item.system_name: item.display_name for item in trees.tree("CATEGORIES").items}


def _tag(
    category: str | pl.Expr,
    confidence: str | pl.Expr,
    source: pl.Expr,
    reason: str | pl.Expr,
    decider: pl.Expr,
    guess: pl.Expr | None = None,
) -> Tag:
    return {
        "category_guess": pl.lit(None, pl.String) if guess is None else guess,
        "category": category,
        "category_confidence": confidence,
        "category_source": source,
        "category_reason": reason,
        "decider": decider,
    }


def _column(value: str | pl.Expr) -> pl.Expr:
    return pl.col(value) if isinstance(value, str) else value
