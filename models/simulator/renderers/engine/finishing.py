"""The last pass over a text: breaks lines, cuts, drops the marks and takes what they enclose as truth.

So a truth is always what stands in the text, never what should stand there.
"""

from enum import IntEnum
from functools import partial

import polars as pl

from models.simulator.renderers.engine.marks import MARKS, NO_MARKS, Mark
from models.simulator.renderers.engine.spoiling import change_rows


class Join(IntEnum):
    """How the lines of a field come together again: as they were, with a blank between, without the blanks at their ends."""

    SEAMLESS = 0
    BLANK = 1
    EATEN = 2


_GAP = r"[ \x0b]"
_BLANKS = " " + Mark.BREAK


def _replace(text: pl.Series, pattern: str, value: str) -> pl.Series:
    return change_rows(text, text.str.contains(pattern), lambda some: some.str.replace_all(pattern, value))


def wrap(text: pl.Series, join: pl.Series, width: pl.Series) -> pl.Series:
    """The texts with their lines broken after `width` characters, unless they come together seamlessly."""
    for number in sorted(set(width.filter(join != Join.SEAMLESS))):
        line = rf"((?:{MARKS}*[^\x01-\x07\n]){{{number}}})"
        broken = (join != Join.SEAMLESS) & (width == number)
        text = change_rows(text, broken, partial(_break_lines, line=line))
    text = _marks_before_gaps(text.str.replace_all(Mark.LINE, "", literal=True))
    return change_rows(text, join == Join.EATEN, lambda some: some.str.replace_all(rf"{_GAP}*\x0b", ""))


def _break_lines(text: pl.Series, line: str) -> pl.Series:
    return text.str.replace_all(line, "${1}" + Mark.BREAK).str.replace_all(Mark.LINE, Mark.BREAK, literal=True)


def _marks_before_gaps(text: pl.Series) -> pl.Series:
    """A blank is written when something follows it, so that marks come before it."""
    for _ in range(3):
        text = _replace(text, rf"({_GAP}+)({MARKS}+)", "${2}${1}")
    return text


def settle(text: pl.Series) -> pl.Series:
    """The texts with single blanks, none at their ends, and marks before blanks."""
    text = _replace(_marks_before_gaps(text), rf" {_GAP}+|\x0b+ {_GAP}*", " ")
    return _replace(_replace(text, r"\x0b\x0b+", Mark.BREAK), rf"^({MARKS}*){_GAP}+", "${1}").str.strip_chars_end(_BLANKS)


def cut(text: pl.Series, lengths: pl.Series) -> pl.Series:
    """The texts cut to their greatest lengths in characters; marks do not count."""
    is_long = text.str.len_chars() > lengths
    for length in sorted(set(lengths.filter(is_long))):
        beginning = rf"^((?:{MARKS}*{NO_MARKS}){{0,{length}}})"
        text = change_rows(text, is_long & (lengths == length), partial(_cut, beginning=beginning))
    return text


def _cut(text: pl.Series, beginning: str) -> pl.Series:
    return text.str.extract(beginning, 1).str.strip_chars_end(_BLANKS)


def finish(text: pl.Expr) -> pl.Expr:
    """The text as the bank shows it; null if it is empty."""
    return _unless_empty(text.str.replace_all(MARKS, "").str.replace_all(Mark.BREAK, " ", literal=True))


def reference(text: pl.Expr, mark: Mark) -> pl.Expr:
    """What stands behind the mark of a reference, without blanks."""
    return _unless_empty(text.str.extract(rf"{mark}([^\x07]+)", 1).str.replace_all(_GAP, ""))


def remittance(text: pl.Expr) -> pl.Expr:
    """What stands between the marks of the remittance."""
    return _unless_empty(finish(text.str.extract(r"\x05([^\x06]+)", 1)).str.strip_chars_start(" "))


def merchant(texts: pl.DataFrame) -> pl.Series:
    """The longest of the places in which the party is visible, without the blanks of broken lines."""
    longest = pl.repeat("", texts.height, dtype=pl.String, eager=True)
    for text in texts:
        places = text.str.extract_all(rf"{Mark.MERCHANT}[^\x07]*")
        for number in range(int(places.list.len().fill_null(0).to_numpy().max(initial=0))):
            place = places.list.get(number, null_on_oob=True).str.slice(1)
            party = place.str.strip_chars_start(_BLANKS).str.replace_all(Mark.BREAK, "", literal=True)
            is_longer = (place.str.len_bytes() > longest.str.len_bytes()).fill_null(False)
            longest = party.zip_with(is_longer, longest)
    return pl.select(_unless_empty(pl.lit(longest))).to_series()


def _unless_empty(text: pl.Expr) -> pl.Expr:
    return pl.when(text != "").then(text)
