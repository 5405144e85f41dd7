"""What a tenant gets, as excerpts for people: long lists and texts of a response are cut, and what is left is laid out."""

import json
from typing import Any
from urllib.parse import urlsplit

from api.demo_app.tenant import Call

MAX_ITEMS = 2
MAX_DEPTH = 5
MAX_CHARACTERS = 2200
MAX_TEXT = 90
LEFT_OUT_FIELDS = {"relations", "tagTree"}
"""Fields that say the same everywhere."""
MORE = "…"


def excerpt(text: str) -> str:
    """The JSON of a response, laid out and cut; empty if it is none."""
    try:
        content = json.loads(text)
    except ValueError:
        return ""
    layout = json.dumps(_cut(content, 0), indent=2, ensure_ascii=False)
    return layout if len(layout) <= MAX_CHARACTERS else f"{layout[:MAX_CHARACTERS].rpartition(chr(10))[0]}\n{MORE}"


def call_of(calls: list[Call], path: str) -> Call | None:
    """The last call of a path, whatever its query."""
    return next((call for call in reversed(calls) if urlsplit(call.path).path.rstrip("/") == path), None)


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        fields = {name: part for name, part in value.items() if name not in LEFT_OUT_FIELDS}
        return {name: _cut(part, depth + 1) for name, part in fields.items()} if depth < MAX_DEPTH else MORE
    if isinstance(value, list):
        items = [_cut(item, depth + 1) for item in value[:MAX_ITEMS]]
        return [*items, f"{MORE} {len(value) - MAX_ITEMS}"] if len(value) > MAX_ITEMS else items
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return value[:MAX_TEXT] + MORE
    return value
