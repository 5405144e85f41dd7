"""JSON: strict when reading, exact when writing.

Reading rejects what parsers interpret differently (duplicate keys, NaN, lone surrogates), control characters, deep nesting, and
numbers that take long to compute with. Numbers with a decimal point become `Decimal`, so that no amount passes through a float.
Writing keeps the decimals of amounts, and renders timestamps in a time zone, without naming it.
"""

import json
import re
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

import orjson
from pydantic import BaseModel

MAX_DEPTH = 32
MAX_DIGITS = MAX_EXPONENT = 40
"""Of a number. `1E+3000000` has few characters, but as an integer it would have three million digits."""
# Escapes of control characters and surrogates; each field decides about tabs and line ends. An escaped backslash before them is
# not recognised: that would take twenty times as long, and a false alarm only leads to a closer look.
SUSPICIOUS = re.compile(r"\\(?:[bf]|u(?:00(?:0[0-8bcBCeEfF]|1[0-9a-fA-F]|7[fF])|[dD][89a-fA-F][0-9a-fA-F]{2}))")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class NotStrictJson(ValueError):
    """The text is not strict JSON; carries the place, where it is known."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


def parse(raw: bytes) -> Any:
    """The value of a JSON text; raises `NotStrictJson` for anything that is not plain, unambiguous JSON."""
    try:
        text = raw.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_unique, parse_int=integer, parse_float=decimal, parse_constant=_refuse)
    except NotStrictJson:
        raise
    except json.JSONDecodeError as error:
        raise NotStrictJson("not valid JSON", error.lineno, error.colno) from error
    except UnicodeDecodeError as error:
        raise NotStrictJson("not UTF-8") from error
    except RecursionError as error:
        raise NotStrictJson("nested too deeply") from error
    except (ValueError, ArithmeticError) as error:
        raise NotStrictJson("not valid JSON") from error
    if SUSPICIOUS.search(text) and _is_dirty(value):
        raise NotStrictJson("control character or lone surrogate")
    if _depth_exceeds(value, MAX_DEPTH):
        raise NotStrictJson("nested too deeply")
    return value


def integer(text: str) -> int:
    """The value of a whole number of JSON; raises `NotStrictJson` if it has too many digits."""
    if len(text) > MAX_DIGITS:
        raise NotStrictJson("a number has too many digits")
    return int(text)


def decimal(text: str) -> Decimal:
    """The exact value of a number of JSON; raises `NotStrictJson` if it has too many digits or too large an exponent."""
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > MAX_DIGITS or len(exponent) > MAX_DIGITS or abs(int(exponent or 0)) > MAX_EXPONENT:
        raise NotStrictJson("a number has too many digits")
    return Decimal(text)


def render(value: Any, zone: ZoneInfo) -> bytes:
    """The JSON text of wire models, or of lists and mappings of them. Fields without a value are left out."""

    def default(item: Any) -> Any:
        if isinstance(item, BaseModel):
            return item.model_dump(by_alias=True, exclude_none=True)
        if isinstance(item, Decimal):
            return orjson.Fragment(format(item, "f"))
        if isinstance(item, datetime):
            return item.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
        if isinstance(item, date):
            return item.isoformat()
        raise TypeError(type(item).__name__)

    return orjson.dumps(value, default=default, option=orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotStrictJson("duplicate key")
    return members


def _refuse(_constant: str) -> NoReturn:
    raise NotStrictJson("not a number")


def _is_dirty(value: Any) -> bool:
    """Whether a string holds a control character or half of a surrogate pair; only called if an escape makes it possible."""
    for text in _strings(value):
        if CONTROL.search(text):
            return True
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return True
    return False


def _strings(value: Any) -> Iterable[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending.extend(item.keys())
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        inside = (child for item in level for child in (item.values() if isinstance(item, dict) else item))
        level = [child for child in inside if isinstance(child, dict | list)]
    return bool(level)
