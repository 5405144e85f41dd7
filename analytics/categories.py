"""The category of a line by rule and by word.

`structural` has the rules of high precision, which outrank the partner and the model: how a booking came about, what the state,
an employer or a landlord writes, which product a bill is for. `lexicon` has weaker evidence, above all the trade words in the
names of small merchants; it counts where the partner is not known. What needs a user's other bookings (own transfers, refunds,
wages) is not here.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.channels import Channel
from analytics.judging import because, first, judge
from analytics.rulebook import WHERE, Rulebook, compile_rules, lists, read

BY_HAND = (Channel.TRANSFER, Channel.STANDINGORDER)
"""Here people write the purpose themselves: a trade word in it names what they talk about, not who was paid."""
BETWEEN_PEOPLE = ("BANKFINANCE_TRANSFER", "OTHER_INCOME")
MOST_NAMES = 3
NAME_FIELDS = len(WHERE["name"])
IN_PURPOSE = 0.9
IN_PURPOSE_BY_HAND = 0.75
CLOSE = 0.08
"""So near behind the best word is a word for another category a reason to doubt."""
DOUBT = 0.85


def structural(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines with `rule_category`, `rule_confidence`, `rule_reason` and `rule_id`, null where no rule holds."""
    judged = judge(lines, rules())
    best = first(judged.hits, pl.col("priority"), -pl.col("confidence"), -pl.col("letters"))
    found = best.select(
        "line", rule_category="item", rule_confidence="confidence", rule_reason=because(best, judged.text), rule_id="id"
    )
    return _joined(lines, found)


def lexicon(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines with `lexicon_category`, `lexicon_confidence` and `lexicon_reason`, null where no word is known, and
    `expense_category`: what the words say if the sign is left aside, which is the category of a refund.
    """
    judged = judge(lines, lexicon_book())
    hits = _without_surnames(judged.hits, lines)
    signs = trees.categories_frame().select(item="system_name", sign="sign")
    hits = hits.join(signs, on="item", how="left", maintain_order="left")
    positive = lines["positive"].gather(hits["line"])
    fits = hits.select((pl.col("sign") == "±") | ((pl.col("sign") == "+") == pl.lit(positive))).to_series()
    best = _weighed(hits.filter(fits))
    found = best.select(
        "line", lexicon_category="item", lexicon_confidence="confidence", lexicon_reason=because(best, judged.text)
    )
    expenses = _weighed(hits.filter(pl.col("sign") == "-")).select("line", expense_category="item")
    return _joined(_joined(lines, found), expenses)


@cache
def rules() -> Rulebook:
    """The structural rules, compiled."""
    return compile_rules(read("rules"), lists())


@cache
def lexicon_book() -> Rulebook:
    """The lexicon as rules: each list of words once for names and once for purposes."""
    return compile_rules(spread(read("lexicon")), lists())


def spread(table: pl.DataFrame) -> pl.DataFrame:
    """The rules that the lexicon stands for. A word of a name counts less in a purpose, and least in one that people write."""
    income = pl.col("item").is_in(trees.categories_frame().filter(pl.col("sign") == "+")["system_name"].implode())
    rows = table.with_columns(weight=pl.col("weight").cast(pl.Float64), income=income)
    others = [channel for channel in Channel if channel not in BY_HAND]
    parts = [
        _part(rows.filter(pl.col("where") != "purpose"), "name", 1.0, list(Channel)),
        _part(rows.filter((pl.col("where") == "purpose") | pl.col("income")), "purpose", 1.0, list(Channel)),
        _part(rows.filter(pl.col("where") != "purpose", ~pl.col("income")), "purpose", IN_PURPOSE, others),
        _part(rows.filter(pl.col("where") == "any", ~pl.col("income")), "purpose", IN_PURPOSE_BY_HAND, list(BY_HAND)),
    ]
    return pl.concat(parts)


def _part(rows: pl.DataFrame, column: str, factor: float, allowed: list[Channel]) -> pl.DataFrame:
    given = pl.when(pl.col("channels") == "").then(pl.lit("|".join(Channel))).otherwise("channels").str.split("|")
    channels = given.list.set_intersection(pl.lit(list(map(str, allowed)))).list.sort()
    part = rows.with_columns(channels=channels).filter(pl.col("channels").list.len() > 0)
    return part.select(
        "item",
        "none",
        pl.col("channels").list.join("|"),
        id=pl.lit(""),
        priority=pl.lit("0"),
        reason=pl.lit(""),
        confidence=(pl.col("weight") * factor).round(3).cast(pl.String),
        name=pl.col("words") if column == "name" else pl.lit(""),
        purpose=pl.col("words") if column == "purpose" else pl.lit(""),
    )


def _without_surnames(hits: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """The hits without trades that are somebody's surname: who gets a transfer as `hans metzger` need not be a butcher."""
    tokens = pl.col("name").str.split(" ")
    named = tokens.list.len().is_between(2, MOST_NAMES) & tokens.list.first().is_in(lists()["firstnames"])
    people = lines.select(named & pl.col("channel").is_in(list(map(str, BY_HAND)))).to_series().gather(hits["line"])
    in_name = pl.col("field").is_between(0, NAME_FIELDS - 1)
    return hits.filter(~(in_name & pl.lit(people)) | pl.col("item").is_in(BETWEEN_PEOPLE))


def _weighed(hits: pl.DataFrame) -> pl.DataFrame:
    """The heaviest word of each line; with a heavy word for something else its confidence is less."""
    best = first(hits, -pl.col("confidence"), -pl.col("letters"))
    rivals = hits.join(best.select("line", best="item", most="confidence"), on="line")
    doubted = rivals.filter(pl.col("item") != pl.col("best"), pl.col("confidence") >= pl.col("most") - CLOSE)["line"].unique()
    factor = pl.when(pl.col("line").is_in(doubted.implode())).then(DOUBT).otherwise(1.0)
    return best.with_columns(confidence=pl.col("confidence") * factor)


def _joined(lines: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    return lines.with_row_index("line").join(found, on="line", how="left", maintain_order="left").drop("line")
