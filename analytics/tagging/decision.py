"""Who has the last word on a line: insurance, rule, partner, then the likelier of word and model, and how sure that is.

The confidence of a rule or partner is its measured precision (`knowledge/measured/measured.csv`, from `kontor knowledge
measure`); what has not been measured is as sure as its author thought. A rule or partner that was measured and says something
else than a model that is surer of this line gives way to it; where both say the same, the tag is as sure as the surer of them.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.frames import beside, looked_up
from analytics.knowledge.files import MEASURED

UNRELATED = "UNRELATED_OTHER"
LEAST = 0.1
"""A category less likely than this is no answer. Above it the model is right more often than the fallback, on people of the
training splits as well as by what it says of itself."""
TRUSTED = 0.5
"""A rule or partner that was wrong more often than right does not decide: words and model do."""
SURE = 0.98
"""Who is right so often decides without being asked whether the model knows better."""
REFUND = "TRANSFER_REFUND"
NOTHING = pl.lit("nichts erkannt, nur das Vorzeichen ist bekannt")
Tag = dict[str, str | pl.Expr]


def assessed(read: pl.DataFrame, precisions: pl.DataFrame) -> pl.DataFrame:
    """The lines with how sure their insurance type, rule and partner are. Precisions are as `measured` has them."""
    return _sure(_known(read), precisions, ("insurance", "rule", "partner"))


def settled(lines: pl.DataFrame) -> pl.Series:
    """Which of the assessed lines neither words nor model need to be asked about: somebody is sure enough to decide.

    What is a refund asks the words nevertheless: they tell for what.
    """
    by_rule = (pl.col("rule_sure") >= SURE) & (pl.col("rule_category") != REFUND)
    by_partner = pl.col("rule_category").is_null() & _known_partner() & (pl.col("partner_sure") >= SURE)
    return lines.select(((pl.col("insurance") != UNRELATED) | by_rule | by_partner).fill_null(value=False)).to_series()


def categorised(read: pl.DataFrame, precisions: pl.DataFrame) -> pl.DataFrame:
    """The assessed lines with their category: the first answer that there is."""
    decider = pl.format("word:{}:{}", "lexicon_category", pl.col("lexicon_confidence").round(1))
    known = _sure(read.with_columns(lexicon_decider=decider), precisions, ("lexicon",)).with_row_index("line")
    answers = _answers()
    first = pl.coalesce(
        [pl.when(holds & _column(tag["category"]).is_not_null()).then(place) for place, (holds, tag) in enumerate(answers)]
    )
    places = known.select(first.alias("answer")).to_series()
    told = [_told(known, (places == place).arg_true(), tag) for place, (_, tag) in enumerate(answers)]
    return beside(known, pl.concat(told)).drop("line")


def _told(known: pl.DataFrame, lines: pl.Series, tag: Tag) -> pl.DataFrame:
    """What one way of judging says of the lines on which it has the last word."""
    asked = {name for value in tag.values() for name in _column(value).meta.root_names()}
    return known[["line", *asked]][lines].select("line", **tag)


@cache
def measured() -> pl.DataFrame:
    """How often each rule, word and partner was right when it decided: `decider`, `precision`."""
    return pl.read_csv(MEASURED, schema={"decider": pl.String, "precision": pl.Float64, "rows": pl.Int64}).drop("rows")


def _known(read: pl.DataFrame) -> pl.DataFrame:
    """The lines with the category of their insurance type, the sign of their partner's category, and who may decide."""
    divisions = trees.insurance_types_frame().select(insurance="system_name", subcategory="subcategory")
    signs = trees.categories_frame().select(partner_category="system_name", partner_sign="sign")
    return looked_up(looked_up(read, divisions, "insurance"), signs, "partner_category").with_columns(
        insurance_decider=pl.concat_str(pl.lit("insurance:"), "insurance"),
        rule_decider=pl.concat_str(pl.lit("rule:"), "rule_id"),
        partner_decider=pl.concat_str(pl.lit("partner:"), "partner"),
    )


def _sure(known: pl.DataFrame, precisions: pl.DataFrame, ways: tuple[str, ...]) -> pl.DataFrame:
    """The lines with the measured precision of everybody who may decide, where there is one, in the place of the assumed."""
    for way in ways:
        found = precisions.select(pl.col("decider").alias(f"{way}_decider"), pl.col("precision").alias(f"{way}_precision"))
        known = looked_up(known, found, f"{way}_decider").with_columns(
            pl.coalesce(f"{way}_precision", f"{way}_confidence").alias(f"{way}_sure")
        )
    return known


def _answers() -> list[tuple[pl.Expr, Tag]]:
    """What each way of judging says and where it holds, who has the last word first."""
    word, model = pl.col("lexicon_sure").fill_null(0.0), pl.col("model_confidence").fill_null(0.0)
    words = pl.col("model_words").str.replace_all("|", "«, »", literal=True)
    told = pl.when(words != "").then(pl.format("Wörter »{}«", words)).otherwise(pl.lit("Art und Höhe der Buchung"))
    private = pl.when("is_person").then(pl.lit("OTHER_INCOME")).otherwise(pl.lit("INCOME_OTHER"))
    nothing = pl.when("positive").then(private).otherwise(pl.lit("OTHER_SPENDING"))
    rule, known = pl.lit("RULE"), _known_partner()
    return [
        _answer("insurance", pl.col("insurance") != UNRELATED, "subcategory", pl.col("insurance_source")),
        _answer("rule", _stands("rule"), "rule_category", rule, _surer("rule")),
        _answer("partner", known & _stands("partner"), "partner_category", pl.lit("PARTNER"), _surer("partner")),
        _answer("lexicon", (word >= LEAST) & (word >= model), "lexicon_category", rule),
        (model >= LEAST, _tag("model_category", "model_confidence", pl.lit("MODEL"), told, pl.lit("model"))),
        (pl.lit(value=True), _tag(nothing, pl.max_horizontal(model, 0.1), pl.lit("FALLBACK"), NOTHING, pl.lit("sign"))),
    ]


def _known_partner() -> pl.Expr:
    fits = (pl.col("partner_sign") == "±") | ((pl.col("partner_sign") == "+") == pl.col("positive"))
    return (pl.col("partner_category") != "") & fits


def _stands(way: str) -> pl.Expr:
    """Whether a rule or partner may decide: it is right often enough, and the model does not know better.

    Only what was measured gives way. What nobody could measure is likely as strange to the model, which then is sure for nothing.
    """
    sure, agrees = pl.col(f"{way}_sure"), _agrees(way)
    unbeaten = pl.col(f"{way}_precision").is_null() | (sure >= pl.col("model_confidence").fill_null(0.0))
    return (sure >= TRUSTED) & (agrees | unbeaten)


def _surer(way: str) -> pl.Expr:
    """How sure an answer is that the model may share."""
    return pl.when(_agrees(way)).then(pl.max_horizontal(f"{way}_sure", "model_confidence")).otherwise(f"{way}_sure")


def _agrees(way: str) -> pl.Expr:
    return (pl.col("model_category") == pl.col(f"{way}_category")).fill_null(value=False)


def _answer(way: str, holds: pl.Expr, category: str, source: pl.Expr, sure: pl.Expr | None = None) -> tuple[pl.Expr, Tag]:
    """The answer of a way that has its own columns."""
    confidence = f"{way}_sure" if sure is None else sure
    return holds, _tag(category, confidence, source, f"{way}_reason", pl.col(f"{way}_decider"))


def _tag(category: str | pl.Expr, confidence: str | pl.Expr, source: pl.Expr, reason: str | pl.Expr, decider: pl.Expr) -> Tag:
    return {
        "category": category,
        "category_confidence": confidence,
        "category_source": source,
        "category_reason": reason,
        "decider": decider,
    }


def _column(value: str | pl.Expr) -> pl.Expr:
    return pl.col(value) if isinstance(value, str) else value
