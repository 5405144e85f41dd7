"""The small language in which a bank's way of writing stands, and its translation into steps for the kernel.

Literal text stands as it is; `{name}` and `{name:how}` put in what happened:
  party, city, street, store, ultimate, text, legal, prefix   words, which noise may spoil; `{party:22}` cuts, `{party:.}` writes
                                                              dots for blanks. `text` is the purpose, `legal` the intermediary
                                                              that stands in the place of the party, `prefix` its mark at the till
  eref, mref, cred, purp, iban, bic, currency                 references, never spoilt
  day, booked, valued      a date: the purchase, the booking, the value date; how = iso, dmy, dmy2, dm, dashes
  time                     of the purchase; how = hm, hms, dots
  amount, original, rate   of the booking, in the foreign currency, and the rate between them; `{amount:.}` with a decimal point
  digits, code             so many digits or letters by chance; `{card:4}` digits that stay the same for an account
  expiry                   of the account's card; how = iso, ym, my
`[…]` is written only if everything named in it is known, `[…|…]` has a second text for when it is not. `<…>` encloses the
remittance, that is the purpose without the bank's own markup. A line break starts a new line of the MT940 field.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.simulator.renderers.engine.vocabulary import Mark, Step, Word

_PARTS = re.compile(r"\{(\w+)(?::([^}]+))?\}|([\[\]|<>\n])|([^\[\]|<>{}\n]+)")
_REFERENCES = {Word.EREF: Mark.EREF, Word.MREF: Mark.MREF, Word.CRED: Mark.CRED}
_WORDS = {word.name.lower(): word for word in Word}
_FROM_TEXT = {Word.PARTY, Word.CITY, Word.STREET, Word.STORE, Word.ULTIMATE, Word.TEXT, Word.LEGAL, Word.PREFIX}
_DATES = ("day", "booked", "valued")
_AMOUNTS = ("amount", "original", "rate")
_DATE_STYLES = ("iso", "dmy", "dmy2", "dm", "dashes")
_TIME_STYLES = ("hm", "hms", "dots")
_EXPIRY_STYLES = ("iso", "ym", "my")
_SIGNS = {"<": Mark.REMITTANCE, ">": Mark.REMITTANCE_END, "\n": Mark.LINE}


_Parts = list[tuple[str, ...]]


class TemplateBroken(ValueError):
    """A template names something that does not exist or leaves a bracket open."""


@dataclass
class Book:
    """All templates, as arrays: their steps one behind the other, where those of a template begin, and the literal bytes."""

    steps: list[tuple[int, int, int, int]] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    literals: bytearray = field(default_factory=bytearray)
    _known: dict[str, int] = field(default_factory=dict)

    def add(self, template: str) -> int:
        """The number of a template, translated on first sight."""
        if template not in self._known:
            self._known[template] = len(self.starts) - 1
            parts = [match.groups("") for match in _PARTS.finditer(template)]
            rest = self._sequence(parts, 0, template)
            if rest != len(parts):
                raise TemplateBroken(template)
            self.starts.append(len(self.steps))
        return self._known[template]

    def bounds(self, template: str) -> tuple[int, int]:
        """The first step of a template and the one behind its last."""
        number = self.add(template)
        return self.starts[number], self.starts[number + 1]

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Steps and literals, writable like all arrays of the kernels."""
        return np.array(self.steps, np.int64).reshape(-1, 4), np.array(bytearray(self.literals), np.uint8)

    def _sequence(self, parts: _Parts, at: int, template: str) -> int:
        while at < len(parts):
            name, how, sign, literal = parts[at]
            if sign in ("]", "|"):
                return at
            if sign == "[":
                at = self._optional(parts, at + 1, template)
            elif sign:
                self._step(Step.MARK, _SIGNS[sign])
            elif literal:
                self._step(Step.LITERAL, len(self.literals), len(literal.encode()), literal.isascii())
                self.literals += literal.encode()
            else:
                self._field(name, how, template)
            at += 1
        return at

    def _optional(self, parts: _Parts, at: int, template: str) -> int:
        condition = len(self.steps)
        self._step(Step.UNLESS)
        at = self._sequence(parts, at, template)
        needed = _needed(parts, at)
        leave = len(self.steps)
        if at < len(parts) and parts[at][2] == "|":
            self._step(Step.JUMP)
            self.steps[condition] = (Step.UNLESS, needed, len(self.steps) - self.starts[-1], 0)
            at = self._sequence(parts, at + 1, template)
            self.steps[leave] = (Step.JUMP, 0, len(self.steps) - self.starts[-1], 0)
        else:
            self.steps[condition] = (Step.UNLESS, needed, leave - self.starts[-1], 0)
        if at >= len(parts) or parts[at][2] != "]":
            raise TemplateBroken(template)
        return at

    def _field(self, name: str, how: str, template: str) -> None:
        try:
            self._step(*_translated(name, how))
        except (KeyError, ValueError) as error:
            raise TemplateBroken(f"{{{name}:{how}}} in {template}") from error

    def _step(self, kind: int, first: int = 0, second: int = 0, third: int = 0) -> None:
        self.steps.append((int(kind), int(first), int(second), int(third)))


def _translated(name: str, how: str) -> tuple[int, ...]:
    word = _WORDS.get(name)
    if word in _FROM_TEXT:
        return Step.TEXT, word, int(how.strip(".") or 0), how.startswith(".")
    if word is not None:
        return Step.REFERENCE, word, _REFERENCES.get(word, Mark.NONE)
    if name in _DATES:
        return Step.DATE, _DATES.index(name), _DATE_STYLES.index(how)
    if name in _AMOUNTS:
        return Step.MONEY, _AMOUNTS.index(name), how == "."
    return _OTHERS[name](how)


_OTHERS: dict[str, Callable[[str], tuple[int, ...]]] = {
    "time": lambda how: (Step.TIME, 0, _TIME_STYLES.index(how)),
    "expiry": lambda how: (Step.EXPIRY, 0, _EXPIRY_STYLES.index(how)),
    "digits": lambda how: (Step.DIGITS, int(how)),
    "card": lambda how: (Step.CARD, int(how)),
    "code": lambda how: (Step.CODE, int(how)),
}


def _needed(parts: _Parts, end: int) -> int:
    """The words that stand directly in the bracket that ends here, as bits."""
    depth, mask = 0, 0
    for name, _, sign, _ in reversed(parts[:end]):
        depth += (sign == "]") - (sign == "[")
        if depth < 0:
            break
        if depth == 0 and name:
            mask |= 1 << _WORDS.get(name, Word.CURRENCY) if name in _WORDS or name in ("original", "rate") else 0
    return mask
