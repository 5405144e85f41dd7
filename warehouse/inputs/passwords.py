"""The rules for passwords that somebody has chosen: long enough, not one of those that are tried first, not the own name.

The list (`common_passwords.txt`) holds words, German ones too. What people add to them (digits, signs, capitals, 0 for o) is
taken off before the comparison, so that a few hundred words stand for many thousand passwords. Generated secrets need no check.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path

from warehouse.errors import PasswordCommon, PasswordHasName, PasswordTooShort

MIN_PASSWORD_CHARACTERS = 8
MIN_NAME_CHARACTERS = 3
MAX_ADDED_CHARACTERS = 6
"""Characters around a word or name that do not make a password of it."""
MIN_PARTS = 4
"""A password counts as its parts: a run along the keyboard or the alphabet, or of one character, is one part."""
MIN_RUN_CHARACTERS = 3
COMMON = Path(__file__).with_name("common_passwords.txt")
ROWS = (
    "01234567890",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertzuiopü",
    "qwertyuiop",
    "asdfghjklöä",
    "yxcvbnm",
    "zxcvbnm",
    '!"§$%&/()=',
    "!@#$%^&*()",
)
LOOKALIKES = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "@": "a", "$": "s", "!": "i", "€": "e"}
)
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def check(password: str, *names: str | None) -> None:
    """Raises the fact that makes a password unfit for the user with these names."""
    if len(password) < MIN_PASSWORD_CHARACTERS:
        raise PasswordTooShort(f"a password has at least {MIN_PASSWORD_CHARACTERS} characters")
    folded = _folded(password)
    if _parts(folded) < MIN_PARTS or _unit(folded) in _words() or _is_around(folded, _words()):
        raise PasswordCommon("this password is one of the first that are tried: choose several words, or let one be generated")
    if _is_around(folded, {form for name in names if name for form in _forms_of_name(name)}):
        raise PasswordHasName("a password is not the name of its user, with or without digits")


def _folded(text: str) -> str:
    """The text without capitals, Unicode forms and umlauts."""
    return unicodedata.normalize("NFKC", text).casefold().translate(UMLAUTS)


def _parts(folded: str) -> int:
    """The number of parts of a password, those that occur again counted once."""
    parts, start = set(), 0
    while start < len(folded):
        end = start + 1
        while end < len(folded) and _is_run(folded[start : end + 1]):
            end += 1
        end = end if end - start >= MIN_RUN_CHARACTERS else start + 1
        parts.add(folded[start:end])
        start = end
    return len(parts)


def _is_run(text: str) -> bool:
    return len(set(text)) == 1 or any(text in row or text in row[::-1] for row in ROWS)


def _unit(folded: str) -> str:
    """The shortest text of which the password is a repetition, which is mostly itself."""
    return folded[: (folded + folded).find(folded, 1)]


def _is_around(folded: str, words: frozenset[str] | set[str]) -> bool:
    """Whether a password is a word with a few other characters around it."""
    stripped = (re.sub(pattern, "", folded) for pattern in (r"[\W_]+$", r"[\W\d_]+$", r"^[\W\d_]+|[\W\d_]+$"))
    forms = {folded, *(form for form in stripped if len(folded) - len(form) <= MAX_ADDED_CHARACTERS)}
    return any(form in words or form.translate(LOOKALIKES) in words for form in forms)


def _forms_of_name(name: str) -> set[str]:
    """A name, its parts, and all of it without spaces and signs."""
    folded = _folded(name)
    parts = re.split(r"[\W_]+", folded)
    forms = {folded, "".join(parts), "".join(parts)[::-1], *parts}
    forms |= {re.sub(r"^[\W\d_]+|[\W\d_]+$", "", form) for form in forms}
    return {form for form in forms if len(form) >= MIN_NAME_CHARACTERS}


@cache
def _words() -> frozenset[str]:
    return frozenset(_folded(COMMON.read_text()).split())
