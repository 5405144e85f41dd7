"""JSON as it comes in and goes out: strict when reading, exact when writing.

Reading refuses what two parsers could understand differently (duplicate keys, NaN, lone surrogates), what no honest text holds
(control characters) and what is too deep. Numbers with a point become `Decimal`, so that no amount passes through a float.
Writing gives amounts with their decimals as they are, and timestamps without zone in the zone of the settings.
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

DEPTH_LIMIT = 32
# Escapes of control characters and surrogates; tabs and line ends are for each field. Whether the backslash is escaped itself is
# not asked: that would take twenty times as long, and only leads to a closer look.
SUSPICIOUS = re.compile(r"\\(?:[bf]|u(?:00(?:0[0-8bcBCeEfF]|1[0-9a-fA-F]|7[fF])|[dD][89a-fA-F][0-9a-fA-F]{2}))")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class NotStrictJson(ValueError):
    """The text is not JSON as we read it."""


def parse(raw: bytes) -> Any:
    """The value of a JSON text; raises `NotStrictJson` for anything that is not plain, unambiguous JSON."""
    try:
        text = raw.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_unique, parse_float=Decimal, parse_constant=_refuse)
    except (ValueError, RecursionError, ArithmeticError) as error:
        raise NotStrictJson("not valid JSON") from error
    if SUSPICIOUS.search(text) and _is_dirty(value):
        raise NotStrictJson("control character or lone surrogate")
    if _depth_exceeds(value, DEPTH_LIMIT):
        raise NotStrictJson("nested too deeply")
    return value


def render(value: Any, zone: ZoneInfo) -> bytes:
    """The JSON text of wire models, or of lists and mappings of them. Fields that are not there are left out."""

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
    """Whether a string holds a control character or half of a surrogate pair. Only asked when an escape makes it possible."""
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
