"""Documents in English: the same JSON, in which the names of tags, the reasons and the notices are English.

What is stored and written in advance is German. A document is translated when English is asked for, so that German is neither
slower nor larger.
"""

from typing import Any

import orjson

from analytics.english.items import item_names, tree
from analytics.english.sentences import english

SENTENCES = frozenset({"reason", "classReason", "financialLiteracyReason", "notice"})
LISTS_OF_SENTENCES = frozenset({"missing"})
NAME, DESCRIPTION = "displayName", "description"
DEFAULT_ENTITY_NAMES = frozenset({"Kunde", "Buchung"})
"""What entities without a name of their own are called; other names of entities are those of counterparties."""


def english_document(body: bytes) -> bytes:
    """The document in English."""
    document = orjson.loads(body)
    _translate(document)
    return orjson.dumps(document)


def _translate(node: Any) -> None:
    if isinstance(node, list):
        for element in node:
            _translate(element)
    elif isinstance(node, dict):
        _translate_object(node)


def _translate_object(node: dict[str, Any]) -> None:
    if "tagTree" in node:
        _translate_item(node)
        return
    if NAME in node:
        node[NAME] = _name(node)
    for key, value in node.items():
        if key in SENTENCES and isinstance(value, str):
            node[key] = english(value)
        elif key in LISTS_OF_SENTENCES and isinstance(value, list):
            node[key] = [english(sentence) for sentence in value]
        elif isinstance(value, (dict, list)):
            _translate(value)


def _translate_item(item: dict[str, Any]) -> None:
    """An item of a tag tree, with its tree."""
    tag_tree = item["tagTree"]
    names = tree(tag_tree["systemName"])
    tag_tree[NAME], tag_tree[DESCRIPTION] = names.display_name, names.description
    item[NAME], item[DESCRIPTION] = item_names(tag_tree["systemName"], item["systemName"])


def _name(node: dict[str, Any]) -> str:
    """The name of an object: that of a signal is known; that of an entity stays unless it is a default."""
    name = str(node[NAME])
    return english(name) if "signal" in node or name in DEFAULT_ENTITY_NAMES else name
