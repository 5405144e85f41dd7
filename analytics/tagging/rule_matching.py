"""Matching of lines with a rulebook in one pass: every rule that holds, and the words for which it holds.

Which of several rules decides is up to the step of tagging that uses them.
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
from analytics.tagging.quotation import written
from analytics.tagging.rulebook import CHANNELS, FIELDS, Conditions, Rulebook

PLACE_TEXTS = {
    "name": "im Namen",
    "ultimate": "im Namen",
    "merchant": "im Namen",
    "purpose": "im Verwendungszweck",
    "booking_text": "im Buchungstext",
}
RULES_PER_LINE = 4
"""Initial size of the array of hits, in rules per line; it grows if more rules hold."""
TAG_FIELDS = ("category", "insurance")
"""Tags of earlier steps, which rules read like texts."""


class LineFacts(NamedTuple):
    """The conditions of a line other than its texts."""

    positive: Ints
    amount_bin: Ints
    channel: Ints
    flags: NDArray[np.int64]


class LineWords(NamedTuple):
    """The words of lines, searched once in each distinct text."""

    texts: pl.Series
    matches: WordMatches
    text_of_line: Ints
    """The number of each line's text."""


class RuleMatches(NamedTuple):
    """Every rule that holds, and the words of the lines."""

    hits: pl.DataFrame
    """`line`, the columns of `Rulebook.rules`, and of the rule's first two words `start`, `end`, `field` and `letters`, -1 where
    there is none."""
    words: LineWords


def find_words(lines: pl.DataFrame, dictionary: Dictionary) -> LineWords:
    """The words of a dictionary in the lines."""
    texts, text_of_line = _distinct(lines.select(_text(lines.columns)).to_series())
    return LineWords(texts, word_scan.find(texts, dictionary), text_of_line)


def match_rules(lines: pl.DataFrame, rulebook: Rulebook, words: LineWords | None = None) -> RuleMatches:
    """All rules that hold for all lines. `words` saves the search if the dictionary of the rulebook has been searched before."""
    words = words or find_words(lines, rulebook.dictionary)
    matches, texts_of_line = _with_tags(lines, rulebook, words)
    facts = _facts(lines, rulebook.flags)
    hits = np.empty((RULES_PER_LINE * lines.height, 4), np.int32)
    count = _match(matches, texts_of_line, rulebook.conditions, facts, hits)
    if count > len(hits):
        hits = np.empty((count, 4), np.int32)
        _match(matches, texts_of_line, rulebook.conditions, facts, hits)
    hits = hits[:count]
    return RuleMatches(pl.concat([_hit_frame(hits, matches), rulebook.rules[hits[:, 1]]], how="horizontal"), words)


def rule_columns(rulebook: Rulebook) -> set[str]:
    """The columns of lines that the rules of a rulebook may read."""
    return {*FIELDS, "positive", "amount_bin", "channel", *(f"flag_{flag}" for flag in rulebook.flags)}


def first_hits(hits: pl.DataFrame, *order: pl.Expr) -> pl.DataFrame:
    """The first hit of each line in this order; equal hits stay in the order of the file."""
    return hits.sort("line", *order, "rule", maintain_order=True).unique("line", keep="first", maintain_order=True)


def quoted_reasons(hits: pl.DataFrame, words: LineWords) -> pl.Series:
    """The German reason of each hit: the text of the rule and its words, quoted as people write them."""
    apart = (pl.col("start_too") >= 0) & ((pl.col("start_too") >= pl.col("end")) | (pl.col("end_too") <= pl.col("start")))
    text = words.texts[words.text_of_line[hits["line"]]]
    parts = hits.select(
        "reason",
        place=pl.col("field").replace_strict(dict(enumerate(PLACE_TEXTS.values())), default="", return_dtype=pl.String),
        one=pl.when(pl.col("start") >= 0).then(_slice(text, "")),
        two=pl.when(apart).then(_slice(text, "_too")),
    )
    parts = parts.with_columns(written(parts["one"]), written(parts["two"]))
    one, two = pl.coalesce("one", "two"), pl.when(pl.col("one").is_not_null()).then("two")
    place = pl.when(pl.col("one").is_not_null()).then("place").otherwise(pl.lit(""))
    quotation = (
        pl.when(one.is_null())
        .then(pl.lit(""))
        .when(two.is_null())
        .then(pl.format("Wort »{}« {}", one, place).str.strip_chars_end())
        .otherwise(pl.format("Wörter »{}«, »{}«", one, two))
    )
    colon = pl.when((pl.col("reason") == "") | (quotation == "")).then(pl.lit("")).otherwise(pl.lit(": "))
    return parts.select(pl.concat_str([pl.col("reason"), colon, quotation]).alias("reason")).to_series()


def _slice(text: pl.Series, suffix: str) -> pl.Expr:
    start = pl.col(f"start{suffix}").clip(0)
    return pl.lit(text).str.slice(start, pl.col(f"end{suffix}").clip(0) - start)


def _text(columns: list[str]) -> pl.Expr:
    """The texts of a line in one string, without the name of a payment service if the merchant behind it is known."""
    fields = {
        field: pl.col(field).fill_null("") if field in columns else pl.lit("") for field in FIELDS if field not in TAG_FIELDS
    }
    unwrapped = (fields["via"] != "") & (fields["merchant"] != "")
    fields["name"] = pl.when(unwrapped).then(pl.lit("")).otherwise(fields["name"])
    return pl.concat_str([part for field in fields.values() for part in (field, pl.lit(word_scan.FIELD_END))]).alias("text")


def _distinct(text: pl.Series) -> tuple[pl.Series, Ints]:
    """The distinct texts, and for each row the number of its text."""
    number, first = Numbering().of(text.hash().to_numpy())
    return text[first], number


def _with_tags(lines: pl.DataFrame, rulebook: Rulebook, words: LineWords) -> tuple[WordMatches, NDArray[np.int32]]:
    """The words of the lines and of their tags so far, and for each line the numbers of its texts and tags among the matches."""
    count, matches, texts_of_line = len(words.texts), [words.matches], [words.text_of_line]
    for tag in TAG_FIELDS:
        if tag in lines.columns and rulebook.asks(tag):
            items, item_of_line = _distinct(lines[tag].fill_null(""))
            before = word_scan.FIELD_END * FIELDS.index(tag)
            matches.append(word_scan.find((before + items + word_scan.FIELD_END).alias(tag), rulebook.dictionary))
            texts_of_line.append(item_of_line + np.int32(count))
            count += len(items)
    return word_scan.together(matches), np.stack(texts_of_line, axis=1)


def _facts(lines: pl.DataFrame, flags: tuple[str, ...]) -> LineFacts:
    channels = {str(channel): number for number, channel in enumerate(CHANNELS)}
    columns = set(lines.columns)
    flag_bits = [
        pl.col(f"flag_{flag}").fill_null(value=False).cast(pl.Int64) * (1 << bit)
        for bit, flag in enumerate(flags)
        if f"flag_{flag}" in columns
    ]
    facts = lines.select(
        positive=pl.col("positive").fill_null(value=False).cast(pl.Int32),
        amount_bin=(pl.col("amount_bin") if "amount_bin" in columns else pl.lit(0)).fill_null(0).cast(pl.Int32),
        channel=(pl.col("channel") if "channel" in columns else pl.lit("")).replace_strict(
            channels, default=channels[Channel.UNKNOWN], return_dtype=pl.Int32
        ),
        flags=pl.sum_horizontal(pl.lit(0, pl.Int64), *flag_bits),
    )
    return LineFacts(*(facts[name].to_numpy() for name in LineFacts._fields))


def _hit_frame(hits: NDArray[np.int32], matches: WordMatches) -> pl.DataFrame:
    frame = {"line": hits[:, 0].astype(np.uint32), "rule": hits[:, 1]}
    parts = {"start": matches.starts, "end": matches.ends, "field": matches.fields, "letters": matches.letters}
    for column, suffix in ((2, ""), (3, "_too")):
        match = hits[:, column]
        for part, values in parts.items():
            frame[part + suffix] = np.where(match >= 0, values[match] if values.size else -1, -1).astype(np.int32)
    return pl.DataFrame(frame)


@compiled
def _match(
    matches: WordMatches, texts_of_line: NDArray[np.int32], c: Conditions, facts: LineFacts, hits: NDArray[np.int32]
) -> int:
    """Writes the rules that hold as line, rule, and two quoted matches or -1, and returns their number, also beyond the room.

    The arrays are named one by one and the conditions stand in the loop, since passing tuples of arrays to a function costs more
    than the function itself.
    """
    words, fields, letters, starts = matches.words, matches.fields, matches.letters, matches.first
    word_first, word_groups, group_fields, group_rule, needed = (
        c.word_first,
        c.word_groups,
        c.group_fields,
        c.group_rule,
        c.needed,
    )
    sign, channels, flags, without, min_bin, max_bin = c.sign, c.channels, c.flags, c.without_flags, c.min_bin, c.max_bin
    forbidding, quotes, bare = c.forbidding, c.quotes, c.bare
    group_line, longest = np.full(group_rule.size, -1, np.int32), np.zeros(group_rule.size, np.int32)
    rule_groups, rule_line = np.zeros(needed.size, np.int32), np.full(needed.size, -1, np.int32)
    candidates = np.zeros(needed.size, np.int32)
    hit_count = 0
    for line in range(texts_of_line.shape[0]):
        candidate_count = 0
        for text in texts_of_line[line]:
            for match in range(starts[text], starts[text + 1]):
                for entry in range(word_first[words[match]], word_first[words[match] + 1]):
                    group = word_groups[entry]
                    if (group_fields[group] >> fields[match]) & 1 == 0:
                        continue
                    if group_line[group] == line:
                        if letters[match] > letters[longest[group]]:
                            longest[group] = match
                        continue
                    group_line[group], longest[group] = line, match
                    rule = group_rule[group]
                    if rule < 0:
                        continue
                    if rule_line[rule] != line:
                        rule_line[rule], rule_groups[rule] = line, 0
                    rule_groups[rule] += 1
                    if rule_groups[rule] == needed[rule]:
                        candidates[candidate_count] = rule
                        candidate_count += 1
        positive, amount_bin, channel, line_flags = (
            facts.positive[line],
            facts.amount_bin[line],
            facts.channel[line],
            facts.flags[line],
        )
        for index in range(candidate_count + bare.size):
            rule = candidates[index] if index < candidate_count else bare[index - candidate_count]
            if channels[rule] != 0 and (channels[rule] >> channel) & 1 == 0:
                continue
            if sign[rule] != 0 and (sign[rule] == 1) != (positive == 1):
                continue
            if (flags[rule] != 0 and flags[rule] & line_flags == 0) or without[rule] & line_flags != 0:
                continue
            if amount_bin < min_bin[rule] or amount_bin > max_bin[rule]:
                continue
            if forbidding[rule, 0] >= 0 and group_line[forbidding[rule, 0]] == line:
                continue
            if forbidding[rule, 1] >= 0 and group_line[forbidding[rule, 1]] == line:
                continue
            if hit_count < len(hits):
                hits[hit_count, 0], hits[hit_count, 1] = line, rule
                hits[hit_count, 2] = longest[quotes[rule, 0]] if quotes[rule, 0] >= 0 else -1
                hits[hit_count, 3] = longest[quotes[rule, 1]] if quotes[rule, 1] >= 0 else -1
            hit_count += 1
    return hit_count
