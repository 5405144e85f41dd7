"""Lines against a rulebook in one pass: every rule that holds, and the words that made it hold.

Which of several rules decides is not settled here.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.bank_text.channels import Channel
from analytics.native import word_scan
from analytics.native.compiling import compiled
from analytics.native.dense_ids import Numbering
from analytics.native.word_scan import Dictionary, Ints, WordMatches
from analytics.tagging.rulebook import CHANNELS, FIELDS, Conditions, Rulebook

PLACES = {
    "name": "im Namen",
    "ultimate": "im Namen",
    "merchant": "im Namen",
    "purpose": "im Verwendungszweck",
    "booking_text": "im Buchungstext",
}
USUAL_RULES = 4
"""For so many rules a line there is room at first."""
TAGS = ("category", "insurance")
"""What earlier steps have said of a line is looked through as its texts are."""


class LineFacts(NamedTuple):
    """What a line is beside its texts."""

    positive: Ints
    amount_bin: Ints
    channel: Ints
    flags: NDArray[np.int64]


class Words(NamedTuple):
    """The words of lines, looked for once in each distinct text."""

    texts: pl.Series
    found: WordMatches
    of: Ints
    """The text of each line."""


class Judged(NamedTuple):
    """Every rule that holds, with the places of the words it rests on, and the texts that these places point into."""

    hits: pl.DataFrame
    """`line`, the rule's facts, and of its first two words `start`, `end`, `field` and the number of `letters`, -1 where there
    is none."""
    words: Words


def words_of(lines: pl.DataFrame, known: Dictionary) -> Words:
    """Where the lines have words of a dictionary."""
    text = lines.select(_text(lines.columns))
    distinct, of = _distinct(text.to_series())
    return Words(distinct, word_scan.find(distinct, known), of)


def judge(lines: pl.DataFrame, book: Rulebook, words: Words | None = None) -> Judged:
    """All rules that hold for all lines; the words may have been found before, for a book of the same dictionary."""
    words = words or words_of(lines, book.dictionary)
    found, of = _with_tags(lines, book, words)
    facts = _facts(lines, book.flags)
    hits = np.empty((USUAL_RULES * lines.height, 4), np.int32)
    count = _judge(found, of, book.conditions, facts, hits)
    if count > len(hits):
        hits = np.empty((count, 4), np.int32)
        _judge(found, of, book.conditions, facts, hits)
    hits = hits[:count]
    return Judged(pl.concat([_places(hits, found), book.rules[hits[:, 1]]], how="horizontal"), words)


def looked_at(book: Rulebook) -> set[str]:
    """The columns of lines that a book asks about, where lines have them."""
    return {*FIELDS, "positive", "amount_bin", "channel", *(f"flag_{flag}" for flag in book.flags)}


def first(hits: pl.DataFrame, *order: pl.Expr) -> pl.DataFrame:
    """The first hit of each line in this order; what is equal stays in the order of the file."""
    return hits.sort("line", *order, "rule", maintain_order=True).unique("line", keep="first", maintain_order=True)


def because(hits: pl.DataFrame, words: Words) -> pl.Series:
    """The reason of each hit in German: what the rule says, and the words quoted as they stand in the line."""
    other = (pl.col("start_too") >= 0) & ((pl.col("start_too") >= pl.col("end")) | (pl.col("end_too") <= pl.col("start")))
    text = words.texts[words.of[hits["line"]]]
    quoted = hits.select(
        "reason",
        place=pl.col("field").replace_strict(dict(enumerate(PLACES.values())), default="", return_dtype=pl.String),
        one=pl.when(pl.col("start") >= 0).then(_slice(text, "")),
        two=pl.when(other).then(_slice(text, "_too")),
    )
    quotation = (
        pl.when(pl.col("one").is_null())
        .then(pl.lit(""))
        .when(pl.col("two").is_null())
        .then(pl.format("Wort »{}« {}", "one", "place"))
        .otherwise(pl.format("Wörter »{}«, »{}«", "one", "two"))
    )
    colon = pl.when((pl.col("reason") == "") | (quotation == "")).then(pl.lit("")).otherwise(pl.lit(": "))
    return quoted.select(because=pl.concat_str([pl.col("reason"), colon, quotation])).to_series()


def _slice(text: pl.Series, name: str) -> pl.Expr:
    start = pl.col(f"start{name}").clip(0)
    return pl.lit(text).str.slice(start, pl.col(f"end{name}").clip(0) - start)


def _text(columns: list[str]) -> pl.Expr:
    """The texts of a line in one string. A payment service's own name says nothing once the merchant behind it is known."""
    fields = {field: pl.col(field).fill_null("") if field in columns else pl.lit("") for field in FIELDS if field not in TAGS}
    unwrapped = (fields["via"] != "") & (fields["merchant"] != "")
    fields["name"] = pl.when(unwrapped).then(pl.lit("")).otherwise(fields["name"])
    return pl.concat_str([part for field in fields.values() for part in (field, pl.lit(word_scan.FIELD_END))]).alias("text")


def _distinct(text: pl.Series) -> tuple[pl.Series, Ints]:
    """The texts, each once, and the number of each one's text."""
    number, first = Numbering().of(text.hash().to_numpy())
    return text[first], number


def _with_tags(lines: pl.DataFrame, book: Rulebook, words: Words) -> tuple[WordMatches, NDArray[np.int32]]:
    """The words of the lines and of the tags that lines have so far, and for each line where they stand among the found."""
    texts, found, of = len(words.texts), [words.found], [words.of]
    for tag in TAGS:
        if tag in lines.columns and book.asks(tag):
            distinct, number = _distinct(lines[tag].fill_null(""))
            before = word_scan.FIELD_END * FIELDS.index(tag)
            found.append(word_scan.find((before + distinct + word_scan.FIELD_END).alias(tag), book.dictionary))
            of.append(number + np.int32(texts))
            texts += len(distinct)
    return word_scan.together(found), np.stack(of, axis=1)


def _facts(lines: pl.DataFrame, flags: tuple[str, ...]) -> LineFacts:
    channels = {str(channel): number for number, channel in enumerate(CHANNELS)}
    columns = set(lines.columns)
    known = [
        pl.col(f"flag_{flag}").fill_null(value=False).cast(pl.Int64) * (1 << place)
        for place, flag in enumerate(flags)
        if f"flag_{flag}" in columns
    ]
    facts = lines.select(
        positive=pl.col("positive").fill_null(value=False).cast(pl.Int32),
        amount_bin=(pl.col("amount_bin") if "amount_bin" in columns else pl.lit(0)).fill_null(0).cast(pl.Int32),
        channel=(pl.col("channel") if "channel" in columns else pl.lit("")).replace_strict(
            channels, default=channels[Channel.UNKNOWN], return_dtype=pl.Int32
        ),
        flags=pl.sum_horizontal(pl.lit(0, pl.Int64), *known),
    )
    return LineFacts(*(facts[name].to_numpy() for name in LineFacts._fields))


def _places(hits: NDArray[np.int32], found: WordMatches) -> pl.DataFrame:
    frame = {"line": hits[:, 0].astype(np.uint32), "rule": hits[:, 1]}
    parts = {"start": found.starts, "end": found.ends, "field": found.fields, "letters": found.letters}
    for column, suffix in ((2, ""), (3, "_too")):
        match = hits[:, column]
        for part, values in parts.items():
            frame[part + suffix] = np.where(match >= 0, values[match] if values.size else -1, -1).astype(np.int32)
    return pl.DataFrame(frame)


@compiled
def _judge(found: WordMatches, of: NDArray[np.int32], c: Conditions, facts: LineFacts, hits: NDArray[np.int32]) -> int:
    """Writes down the rules that hold, as line, rule, and two matches or -1, and counts on where there is no more room.

    The arrays are named one by one and the conditions stand in the loop, since handing tuples of arrays to a function costs
    more than it does.
    """
    to = 0
    words, fields, letters, starts = found.words, found.fields, found.letters, found.first
    word_first, word_groups, group_fields, group_rule, needed = (
        c.word_first,
        c.word_groups,
        c.group_fields,
        c.group_rule,
        c.needed,
    )
    sign, channels, flags, without, least, most = c.sign, c.channels, c.flags, c.without_flags, c.least, c.most
    forbidding, quotes, bare = c.forbidding, c.quotes, c.bare
    seen, longest = np.full(group_rule.size, -1, np.int32), np.zeros(group_rule.size, np.int32)
    met, met_at = np.zeros(needed.size, np.int32), np.full(needed.size, -1, np.int32)
    candidates = np.zeros(needed.size, np.int32)
    for line in range(of.shape[0]):
        many = 0
        for text in of[line]:
            for match in range(starts[text], starts[text + 1]):
                for entry in range(word_first[words[match]], word_first[words[match] + 1]):
                    group = word_groups[entry]
                    if (group_fields[group] >> fields[match]) & 1 == 0:
                        continue
                    if seen[group] == line:
                        if letters[match] > letters[longest[group]]:
                            longest[group] = match
                        continue
                    seen[group], longest[group] = line, match
                    rule = group_rule[group]
                    if rule < 0:
                        continue
                    if met_at[rule] != line:
                        met_at[rule], met[rule] = line, 0
                    met[rule] += 1
                    if met[rule] == needed[rule]:
                        candidates[many] = rule
                        many += 1
        positive, amount_bin, channel, flagged = (
            facts.positive[line],
            facts.amount_bin[line],
            facts.channel[line],
            facts.flags[line],
        )
        for index in range(many + bare.size):
            rule = candidates[index] if index < many else bare[index - many]
            if channels[rule] != 0 and (channels[rule] >> channel) & 1 == 0:
                continue
            if sign[rule] != 0 and (sign[rule] == 1) != (positive == 1):
                continue
            if (flags[rule] != 0 and flags[rule] & flagged == 0) or without[rule] & flagged != 0:
                continue
            if amount_bin < least[rule] or amount_bin > most[rule]:
                continue
            if forbidding[rule, 0] >= 0 and seen[forbidding[rule, 0]] == line:
                continue
            if forbidding[rule, 1] >= 0 and seen[forbidding[rule, 1]] == line:
                continue
            if to < len(hits):
                hits[to, 0], hits[to, 1] = line, rule
                hits[to, 2] = longest[quotes[rule, 0]] if quotes[rule, 0] >= 0 else -1
                hits[to, 3] = longest[quotes[rule, 1]] if quotes[rule, 1] >= 0 else -1
            to += 1
    return to
