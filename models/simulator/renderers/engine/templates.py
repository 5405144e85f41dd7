"""The small language in which a bank's way of writing stands, and its translation into an expression over the rows.

Literal text stands as it is; `{name}` and `{name:how}` put in what happened:
  party, city, street, store, ultimate, text, legal, prefix   words, which noise may spoil; `{party:22}` cuts, `{party:.}` writes
                                                              dots for blanks. `text` is the purpose, `legal` the intermediary
                                                              that stands in the place of the party, `prefix` its mark at the till
  eref, mref, cred, purp, iban, bic, currency                 references, never spoilt
  day, booked, valued      a date: the purchase, the booking, the value date; how = iso, dmy, dmy2, dm, dashes
  time                     of the purchase; how = hm, hms, dots
  amount, original, rate   of the booking, in the foreign currency, and the rate between them; `{amount:.}` with a decimal point
  digits, code             that number of random digits or letters; `{card:4}` digits that stay the same for an account
  expiry                   of the account's card; how = iso, ym, my
`[…]` is written only if everything named in it is known, `[…|…]` has a second text for when it is not. `<…>` encloses the
remittance, that is the purpose without the bank's own markup. A line break starts a new line of the MT940 field.

The rows have a column for each word and reference (null where unknown) and `day`, `booked`, `valued` (dates), `minute`, `amount`,
`original` (cents), `rate` (ten thousandths), `row_key`, `account_key` and `loss`.
"""

import re
from collections.abc import Callable
from functools import cache

import polars as pl

from models.simulator.renderers.engine.marks import Mark
from models.simulator.renderers.engine.spoiling import Loss, shorten, spoil_text

_PARTS = re.compile(r"\{(\w+)(?::([^}]+))?\}|([\[\]|<>\n])|([^\[\]|<>{}\n]+)")
_SIGNS = {"<": Mark.REMITTANCE, ">": Mark.REMITTANCE_END, "\n": Mark.LINE}
WORDS = ("party", "city", "street", "store", "ultimate", "text", "legal", "prefix")
REFERENCES = {"eref": Mark.EREF, "mref": Mark.MREF, "cred": Mark.CRED, "purp": "", "iban": "", "bic": "", "currency": ""}
_DATES = {"iso": "%Y-%m-%d", "dmy": "%d.%m.%Y", "dmy2": "%d.%m.%y", "dm": "%d.%m", "dashes": "%d-%m-%Y"}
_DECIMAL_PLACES = {"amount": 2, "original": 2, "rate": 4}
_NEEDS = {name: name for name in (*WORDS, *REFERENCES)} | {"original": "currency", "rate": "currency"}
"""The column that must be known for a field."""
_CODE_LETTERS = pl.Series(list("0123456789ABCDEFGHJKLMNPRSTUVWXY"))
_CHARACTERS_PER_DRAW = 12
_FIRST_EXPIRY_YEAR = 2027
REMITTANCE_LENGTH = 140
"""Characters that SEPA allows for a purpose; no reference is longer."""

_Parts = list[tuple[str, ...]]


class TemplateBroken(ValueError):
    """A template names something that does not exist or leaves a bracket open."""


@cache
def expression(template: str) -> pl.Expr:
    """The text of each row after this template, with marks and unexpanded letters in it."""
    parts = [match.groups("") for match in _PARTS.finditer(template)]
    text, _, end = _sequence(parts, 0, template)
    if end != len(parts):
        raise TemplateBroken(template)
    return text


def _sequence(parts: _Parts, at: int, template: str) -> tuple[pl.Expr, set[str], int]:
    """The text from a part up to the end of its bracket, the columns that it needs, and where the bracket ends."""
    texts, needed = [pl.lit("")], set()
    while at < len(parts):
        name, how, sign, literal = parts[at]
        if sign in ("]", "|"):
            break
        if sign == "[":
            text, at = _optional(parts, at + 1, template)
        elif sign:
            text = pl.lit(str(_SIGNS[sign]))
        elif literal:
            text = _literal(literal)
        else:
            needed |= {_NEEDS[name]} if name in _NEEDS else set()
            text = _field(name, how, _number_of(parts, at), template)
        texts.append(text)
        at += 1
    return pl.concat_str(texts), needed, at


def _optional(parts: _Parts, at: int, template: str) -> tuple[pl.Expr, int]:
    text, needed, at = _sequence(parts, at, template)
    otherwise = pl.lit("")
    if at < len(parts) and parts[at][2] == "|":
        otherwise, _, at = _sequence(parts, at + 1, template)
    if at >= len(parts) or parts[at][2] != "]":
        raise TemplateBroken(template)
    return pl.when(*(pl.col(name).is_not_null() for name in sorted(needed)), True).then(text).otherwise(otherwise), at


def _number_of(parts: _Parts, at: int) -> int:
    """The number of a part in its template, which gives every random field digits of its own."""
    return sum(sign != "]" for _, _, sign, _ in parts[: at + 1])


def _literal(text: str) -> pl.Expr:
    if text.isascii():
        return pl.lit(text)
    return pl.col("loss").replace_strict({loss: spoil_text(text, loss) for loss in Loss}, return_dtype=pl.String)


def _field(name: str, how: str, number: int, template: str) -> pl.Expr:
    try:
        if name in WORDS:
            return _word(name, int(how.strip(".") or 0), dots=how.startswith("."))
        if name in REFERENCES:
            return _enclosed(REFERENCES[name], pl.col(name).str.head(REMITTANCE_LENGTH))
        if name in ("day", "booked", "valued"):
            return pl.col(name).dt.strftime(_DATES[how])
        if name in _DECIMAL_PLACES:
            return _decimal(pl.col(name), _DECIMAL_PLACES[name], "." if how == "." else ",")
        if name in ("digits", "code"):
            return _drawn(pl.col("row_key"), 100 + 16 * number, int(how), letters=name == "code")
        return _OTHERS[name](how)
    except (KeyError, ValueError) as error:
        raise TemplateBroken(f"{{{name}:{how}}} in {template}") from error


def _word(name: str, limit: int, *, dots: bool) -> pl.Expr:
    word = pl.col(name)
    if limit:
        word = shorten(word, limit) if name == "text" else word.str.head(limit)
    if dots:
        word = word.str.replace_all(" ", ".", literal=True)
    return _enclosed(Mark.MERCHANT, word) if name == "party" else word.fill_null("")


def _enclosed(mark: str, text: pl.Expr) -> pl.Expr:
    return (pl.lit(str(mark)) + text + (Mark.END.value if mark else "")).fill_null("")


def _digits(number: pl.Expr, length: int) -> pl.Expr:
    return number.cast(pl.String).str.zfill(length)


def _decimal(value: pl.Expr, places: int, point: str) -> pl.Expr:
    return pl.format("{}" + point + "{}", value // 10**places, _digits(value % 10**places, places))


def _time(how: str) -> pl.Expr:
    hour, minute = _digits(pl.col("minute") // 60, 2), _digits(pl.col("minute") % 60, 2)
    if how == "hms":
        return pl.format("{}:{}:{}", hour, minute, _digits(pl.col("row_key") % 60, 2))
    return pl.format({"hm": "{}:{}", "dots": "{}.{}"}[how], hour, minute)


def _expiry(how: str) -> pl.Expr:
    """Cards end with a year."""
    year = _FIRST_EXPIRY_YEAR + pl.col("account_key") % 4
    return pl.format({"iso": "{}-12", "ym": "{}12", "my": "12{}"}[how], year if how == "iso" else year % 100)


def _drawn(key: pl.Expr, salt: int, count: int, *, letters: bool = False) -> pl.Expr:
    """Random digits, or letters and digits."""
    draws = [mixed(key, salt + number) for number in range(-(-count // _CHARACTERS_PER_DRAW))]
    if letters:
        codes = [draw // 32**place % 32 for draw in draws for place in range(_CHARACTERS_PER_DRAW)]
        return pl.concat_str([pl.lit(_CODE_LETTERS).gather(code) for code in codes[:count]])
    blocks = [_digits(draw % 10**_CHARACTERS_PER_DRAW, _CHARACTERS_PER_DRAW).str.reverse() for draw in draws]
    return pl.concat_str(blocks).str.head(count)


def mixed(key: pl.Expr, salt: int) -> pl.Expr:
    """64 fresh bits for a key: splitmix64, whose products wrap around."""
    state = key + _word_of((salt + 1) * 0x9E3779B97F4A7C15)
    state = state.xor(state // (1 << 30)) * _word_of(0xBF58476D1CE4E5B9)
    state = state.xor(state // (1 << 27)) * _word_of(0x94D049BB133111EB)
    return state.xor(state // (1 << 31))


def _word_of(number: int) -> pl.Expr:
    return pl.lit(number % (1 << 64), dtype=pl.UInt64)


_OTHERS: dict[str, Callable[[str], pl.Expr]] = {
    "time": _time,
    "expiry": _expiry,
    "card": lambda how: _drawn(pl.col("account_key"), 0, int(how)),
}
