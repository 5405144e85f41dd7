"""The category of a line by structural rule and by lexicon.

Structural rules have a high precision and outrank partner and model: how a booking came about, what the state, an employer or a
landlord writes, which product a bill is for. The lexicon is weaker evidence, above all the trade words in the names of small
merchants; it counts where the partner is unknown. Categories that need a user's other bookings (own transfers, refunds, wages)
are not decided here.
"""

import polars as pl

from analytics import trees
from analytics.frames import add_columns_by_row
from analytics.tagging.rule_matching import LineWords, first_hits, match_rules, quoted_reasons
from analytics.tagging.rulebook import WORD_COLUMNS, word_lists
from analytics.tagging.rulebooks import HANDWRITTEN_CHANNELS, rulebooks

BETWEEN_PEOPLE = ("BANKFINANCE_TRANSFER", "OTHER_INCOME")
MAX_PERSON_TOKENS = 3
NAME_FIELD_COUNT = len(WORD_COLUMNS["name"])
RIVAL_CONFIDENCE_GAP = 0.08
"""A word for another category whose confidence is at most this much below that of the best word makes the answer doubtful."""
RIVAL_CONFIDENCE_FACTOR = 0.85


def add_rule_category(lines: pl.DataFrame, words: LineWords | None = None) -> pl.DataFrame:
    """The lines with `rule_category`, `rule_confidence`, `rule_reason` and `rule_id`, null where no rule holds."""
    matches = match_rules(lines, rulebooks()["rules"], words)
    best = first_hits(matches.hits, pl.col("priority"), -pl.col("confidence"), -pl.col("letters"))
    reason = quoted_reasons(best, matches.words)
    answers = best.select("line", rule_category="item", rule_confidence="confidence", rule_reason=reason, rule_id="id")
    return add_columns_by_row(lines, answers)


def add_lexicon_category(lines: pl.DataFrame, words: LineWords | None = None) -> pl.DataFrame:
    """The lines with `lexicon_category`, `lexicon_confidence` and `lexicon_reason`, null where the lexicon has no word, and
    `expense_category`: what the words say regardless of the sign, which is the category of a refund.
    """
    matches = match_rules(lines, rulebooks()["lexicon"], words)
    hits = _without_surnames(matches.hits, lines)
    signs = trees.categories_frame().select(item="system_name", sign="sign")
    hits = hits.join(signs, on="item", how="left", maintain_order="left")
    positive = lines["positive"][hits["line"]]
    fits = hits.select((pl.col("sign") == "±") | ((pl.col("sign") == "+") == pl.lit(positive))).to_series()
    best = _heaviest_words(hits.filter(fits))
    reason = quoted_reasons(best, matches.words)
    answers = best.select("line", lexicon_category="item", lexicon_confidence="confidence", lexicon_reason=reason)
    expenses = _heaviest_words(hits.filter(pl.col("sign") == "-")).select("line", expense_category="item")
    return add_columns_by_row(add_columns_by_row(lines, answers), expenses)


def _without_surnames(hits: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """The hits without trades that are surnames: `hans metzger`, who gets a transfer, need not be a butcher."""
    tokens = pl.col("name").str.split(" ")
    like_person = tokens.list.len().is_between(2, MAX_PERSON_TOKENS) & tokens.list.first().is_in(word_lists()["firstnames"])
    by_hand = pl.col("channel").is_in(list(map(str, HANDWRITTEN_CHANNELS)))
    people = lines.select(like_person & by_hand).to_series()[hits["line"]]
    in_name = pl.col("field").is_between(0, NAME_FIELD_COUNT - 1)
    return hits.filter(~(in_name & pl.lit(people)) | pl.col("item").is_in(BETWEEN_PEOPLE))


def _heaviest_words(hits: pl.DataFrame) -> pl.DataFrame:
    """The hit of highest confidence of each line; a close rival for another category lowers its confidence."""
    best = first_hits(hits, -pl.col("confidence"), -pl.col("letters"))
    rivals = hits.join(best.select("line", best="item", highest="confidence"), on="line")
    close = pl.col("confidence") >= pl.col("highest") - RIVAL_CONFIDENCE_GAP
    doubtful_lines = rivals.filter(pl.col("item") != pl.col("best"), close)["line"].unique()
    factor = pl.when(pl.col("line").is_in(doubtful_lines.implode())).then(RIVAL_CONFIDENCE_FACTOR).otherwise(1.0)
    return best.with_columns(confidence=pl.col("confidence") * factor)
