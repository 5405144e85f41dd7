"""The category of a line by rule and by word.

`structural` has the rules of high precision, which outrank the partner and the model: how a booking came about, what the state,
an employer or a landlord writes, which product a bill is for. `lexicon` has weaker evidence, above all the trade words in the
names of small merchants; it counts where the partner is not known. What needs a user's other bookings (own transfers, refunds,
wages) is not here.
"""

import polars as pl

from analytics import trees
from analytics.frames import beside
from analytics.tagging.rule_matching import Words, because, first, judge
from analytics.tagging.rulebook import WHERE, lists
from analytics.tagging.rulebooks import BY_HAND, books

BETWEEN_PEOPLE = ("BANKFINANCE_TRANSFER", "OTHER_INCOME")
MOST_NAMES = 3
NAME_FIELDS = len(WHERE["name"])
CLOSE = 0.08
"""So near behind the best word is a word for another category a reason to doubt."""
DOUBT = 0.85


def structural(lines: pl.DataFrame, words: Words | None = None) -> pl.DataFrame:
    """The lines with `rule_category`, `rule_confidence`, `rule_reason` and `rule_id`, null where no rule holds."""
    judged = judge(lines, books()["rules"], words)
    best = first(judged.hits, pl.col("priority"), -pl.col("confidence"), -pl.col("letters"))
    found = best.select(
        "line", rule_category="item", rule_confidence="confidence", rule_reason=because(best, judged.words), rule_id="id"
    )
    return beside(lines, found)


def lexicon(lines: pl.DataFrame, words: Words | None = None) -> pl.DataFrame:
    """The lines with `lexicon_category`, `lexicon_confidence` and `lexicon_reason`, null where no word is known, and
    `expense_category`: what the words say if the sign is left aside, which is the category of a refund.
    """
    judged = judge(lines, books()["lexicon"], words)
    hits = _without_surnames(judged.hits, lines)
    signs = trees.categories_frame().select(item="system_name", sign="sign")
    hits = hits.join(signs, on="item", how="left", maintain_order="left")
    positive = lines["positive"][hits["line"]]
    fits = hits.select((pl.col("sign") == "±") | ((pl.col("sign") == "+") == pl.lit(positive))).to_series()
    best = _weighed(hits.filter(fits))
    found = best.select(
        "line", lexicon_category="item", lexicon_confidence="confidence", lexicon_reason=because(best, judged.words)
    )
    expenses = _weighed(hits.filter(pl.col("sign") == "-")).select("line", expense_category="item")
    return beside(beside(lines, found), expenses)


def _without_surnames(hits: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """The hits without trades that are somebody's surname: who gets a transfer as `hans metzger` need not be a butcher."""
    tokens = pl.col("name").str.split(" ")
    named = tokens.list.len().is_between(2, MOST_NAMES) & tokens.list.first().is_in(lists()["firstnames"])
    people = lines.select(named & pl.col("channel").is_in(list(map(str, BY_HAND)))).to_series()[hits["line"]]
    in_name = pl.col("field").is_between(0, NAME_FIELDS - 1)
    return hits.filter(~(in_name & pl.lit(people)) | pl.col("item").is_in(BETWEEN_PEOPLE))


def _weighed(hits: pl.DataFrame) -> pl.DataFrame:
    """The heaviest word of each line; with a heavy word for something else its confidence is less."""
    best = first(hits, -pl.col("confidence"), -pl.col("letters"))
    rivals = hits.join(best.select("line", best="item", most="confidence"), on="line")
    doubted = rivals.filter(pl.col("item") != pl.col("best"), pl.col("confidence") >= pl.col("most") - CLOSE)["line"].unique()
    factor = pl.when(pl.col("line").is_in(doubted.implode())).then(DOUBT).otherwise(1.0)
    return best.with_columns(confidence=pl.col("confidence") * factor)
