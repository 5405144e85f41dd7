"""The formats of login fields: what a value must look like before it is sent to a bank.

Two notations. A regular expression is anchored at both ends (`^…$`) and is passed on as it is. Token notation is a row of

    |   one alphanumeric character: a digit, or a Latin letter, also one with an accent or an umlaut
    #   one digit, 0 to 9
    -   one separator, which people type as hyphen, blank, slash or point

and each may be followed by a count: `N` for exactly N of it, `~N` for at most N, which includes none at all. An empty value fits
no format in either notation, since it is a field that was not filled in.

Formats are matched against what strangers type. So the engine is RE2, whose time grows with the text alone, and long values
are refused unread.
"""

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

from warehouse.errors import Invalid

VALUE_LENGTH = 512
FORMAT_LENGTH = 512
COUNT_LIMIT = 512
MAX_CACHED_FORMATS = 1024
TOKENS = {"|": "[0-9A-Za-zÀ-ÖØ-öø-ɏẞ]", "#": "[0-9]", "-": "[-/. ]"}
ROW = re2.compile(r"(?:[|#-](?:~?[1-9][0-9]{0,2})?)+")
TOKEN = re2.compile(r"([|#-])(~?)([0-9]*)")


def matches(notation: str, value: str) -> bool:
    """Whether a value fits a format as a whole. Raises `Invalid` for an invalid format."""
    expression = _compiled(notation)
    if not 0 < len(value) <= VALUE_LENGTH:
        return False
    try:
        return expression.fullmatch(value) is not None
    except UnicodeEncodeError:
        return False


def pattern(notation: str) -> str:
    """The regular expression of a format, anchored at both ends. Raises `Invalid` for an invalid format."""
    return str(_compiled(notation).pattern)


@lru_cache(MAX_CACHED_FORMATS)
def _compiled(notation: str) -> Any:
    if len(notation) > FORMAT_LENGTH:
        raise Invalid("format: too long")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(notation if _is_expression(notation) else _expression(notation), options)
    except re2.error as error:
        raise Invalid("format: not a regular expression, or one that is too large or looks around") from error


def _is_expression(notation: str) -> bool:
    return notation.startswith("^") and notation.endswith("$")


def _expression(notation: str) -> str:
    """The regular expression of a row of tokens."""
    if not ROW.fullmatch(notation):
        raise Invalid("format: neither tokens nor an anchored regular expression")
    tokens = TOKEN.findall(notation)
    if any(int(count or 1) > COUNT_LIMIT for _, _, count in tokens):
        raise Invalid(f"format: a count above {COUNT_LIMIT}")
    return "^" + "".join(TOKENS[token] + _repetition(at_most, count) for token, at_most, count in tokens) + "$"


def _repetition(at_most: str, count: str) -> str:
    if not count:
        return ""
    return f"{{0,{count}}}" if at_most else f"{{{count}}}"
