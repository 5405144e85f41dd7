"""What noise does to the words of a row: umlauts lost, capitals, cuts and typing errors.

Letters that become two (`ä` as `ae`) are one private character until `expand`, so that a text can be cut by its own length.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import cache, partial
from string import ascii_lowercase

import polars as pl

from models.simulator.renderers.engine.marks import Mark


class Loss(IntEnum):
    """Ways to lose an umlaut: written out, without its dots, as a question mark."""

    NONE = 0
    WRITTEN_OUT = 1
    BASE_LETTER = 2
    QUESTION_MARK = 3


_ACCENTED = [chr(code) for code in range(0xC0, 0x100)]
_BASES = "AAAAAAACEEEEIIIIDNOOOOO*OUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty"
"""The letter below the accent, for each of `_ACCENTED`."""
_NOT_RAISED = "÷ÿ"
_PAIRS = ("ae", "oe", "ue", "Ae", "Oe", "Ue", "AE", "OE", "UE", "ss", "SS")
_PRIVATE = {pair: chr(0xE000 + number) for number, pair in enumerate(_PAIRS)}


def change_rows(text: pl.Series, rows: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """The texts, changed in some rows only: to find them is much cheaper than to replace everywhere."""
    return _change_places(text, rows.arg_true(), change)


def _change_places(text: pl.Series, places: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    return text.clone().scatter(places, change(text[places])) if places.len() else text


def expand(text: pl.Series) -> pl.Series:
    """The texts with the letters that became two."""
    return change_rows(
        text,
        text.str.contains(r"[\u{e000}-\u{e0ff}]"),
        lambda some: some.str.replace_many(list(_PRIVATE.values()), list(_PRIVATE)),
    )


def clean(text: pl.Expr) -> pl.Expr:
    """The text without control characters but for the marks of the merchant; null if nothing is left."""
    cleaned = text.str.replace_all(r"[\x00-\x03\x05\x06\x08-\x1f]", "")
    return pl.when(cleaned != "").then(cleaned)


def spoil(rows: pl.DataFrame, words: Iterable[str]) -> pl.DataFrame:
    """The rows with the umlauts of words lost (column `loss`) and their letters in capitals (column `upper`)."""
    for loss in Loss:
        for upper in (False, True):
            if loss == Loss.NONE and not upper:
                continue
            places = ((rows["loss"] == loss) & (rows["upper"] == upper)).arg_true()
            if places.len():
                way = partial(_spoil, loss=loss, upper=upper)
                rows = rows.with_columns(_change_places(rows[word], places, way) for word in words)
    return rows


def _spoil(text: pl.Series, loss: Loss, *, upper: bool) -> pl.Series:
    if loss == Loss.QUESTION_MARK:
        text = text.str.replace_all(r"[^\x00-\x7f]", "?")
    elif loss == Loss.WRITTEN_OUT and not upper:
        for umlaut, pair in (("Ä", "AE"), ("Ö", "OE"), ("Ü", "UE")):
            text = text.str.replace_all(f"{umlaut}([A-Z])", _PRIVATE[pair] + "${1}")
    letters = _letters(loss, upper=upper)
    return text.str.replace_many(list(letters), list(letters.values()))


@cache
def _letters(loss: Loss, *, upper: bool) -> dict[str, str]:
    """What becomes of each letter that changes."""
    letters = {letter: _letter(letter, base, loss, upper=upper) for letter, base in zip(_ACCENTED, _BASES, strict=True)}
    if upper:
        letters |= {letter: letter.upper() for letter in ascii_lowercase}
    return {letter: _PRIVATE.get(change, change) for letter, change in letters.items()}


def spoil_text(text: str, loss: Loss) -> str:
    """One text with its umlauts lost."""
    return str(expand(_spoil(pl.Series([text]), loss, upper=False)).item()) if loss else text


def _letter(letter: str, base: str, loss: Loss, *, upper: bool) -> str:
    """What becomes of an accented letter."""
    if letter == "ß" and (loss == Loss.WRITTEN_OUT or (loss == Loss.NONE and upper)):
        return "SS" if upper else "ss"
    if loss in (Loss.NONE, Loss.QUESTION_MARK):
        return letter.upper() if upper and letter not in _NOT_RAISED and letter != "ß" else letter
    base = base.upper() if upper else base
    if loss == Loss.WRITTEN_OUT and letter in "ÄÖÜäöü":
        return base + ("E" if upper else "e")
    return base


def shorten(text: pl.Expr, length: int) -> pl.Expr:
    """The first characters of a text; marks of the merchant do not count, and are closed at the cut."""
    long = pl.when(text.str.len_chars() > length).then(text)
    is_marked = long.str.contains(Mark.MERCHANT, literal=True)
    marked = pl.when(is_marked).then(long).str.extract(rf"^((?:[\x04\x07]*[^\x04\x07]){{0,{length}}})", 1)
    is_open = marked.str.count_matches(Mark.MERCHANT, literal=True) > marked.str.count_matches(Mark.END, literal=True)
    closed = pl.when(is_open).then(marked + Mark.END.value).otherwise(marked)
    return pl.coalesce(closed, pl.when(~is_marked).then(long).str.head(length), text)


def mistype(text: str, key: int) -> str:
    """The text with one small letter within a word swapped, dropped or doubled. Places are counted in bytes."""
    letters = text.encode()
    first = 1 + ((key & 0xFFFF) * max(len(letters) - 2, 0) >> 16)
    places = (*range(first, len(letters) - 1), *range(1, len(letters) - 1))
    at = next((place for place in places if _is_in_word(letters, place)), None)
    if at is None:
        return text
    before, letter, after = letters[:at], letters[at : at + 1], letters[at + 1 :]
    ways = (after[:1] + letter + after[1:], after, letter + letter + after)
    return (before + ways[(key >> 40) % 3]).decode()


def _is_in_word(letters: bytes, at: int) -> bool:
    """Whether a small letter has small letters on both sides, and another one behind it."""
    around = letters[at - 1 : at + 2]
    return all(97 <= letter <= 122 for letter in around) and around[1] != around[2]
