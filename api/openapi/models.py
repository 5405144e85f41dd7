"""The models of the OpenAPI document: what pydantic tells of our bodies, put so that a generated client has good names and types.

Nothing here changes what is on the wire. A field that names its shape (`api.schemas.base.shape`) refers to one model of that
name, wherever it stands; models are called as the interface calls them; what an answer leaves out is never null.
"""

from collections.abc import Iterator
from typing import Any

from api.schemas.base import SHAPE

REFERENCE = "#/components/schemas/"
NAMES = {
    "AccessBody": "BankAccess",
    "AccessReference": "BankAccessReference",
    "BalanceBody": "CurrencyBalance",
    "ClientBody": "TenantClient",
    "EnglishProductBody": "EnglishBankProduct",
    "Focus": "CashflowFocus",
    "Identifier": "TransactionIdentifier",
    "IssuesBody": "BankAccessIssues",
    "ItemInput": "TagTreeItemInput",
    "Level": "CashflowLevel",
    "MediumBody": "TanMedium",
    "MethodBody": "SecurityMethod",
    "OAuthProblem": "TokenProblem",
    "PositionBody": "SecuritiesPosition",
    "ProductBody": "BankProduct",
    "RuleBody": "CategoryRule",
    "NewRule": "NewCategoryRule",
    "State": "WebhookEventState",
    "Tag": "CashflowTag",
    "TransactionPut": "CategoryChoice",
    "TransferDetailsBody": "SentTransferDetails",
    "TreeInput": "TagTreeInput",
    "UserReferenceBody": "RoleUser",
    "View": "TagView",
    "WebhookSecretBody": "WebhookWithSecret",
}
"""What models are called outside, where it is not the name of the class without `Body`. No model is called as one of its own
fields, nor as something that generators make themselves: their code would take the one for the other.
"""
AS_SENT = frozenset({"TaggedRecord"})
"""Answers that repeat what was sent, and a null in it."""


def tidy(document: dict[str, Any]) -> None:
    """Puts the models of a document in order."""
    schemas: dict[str, Any] = document["components"]["schemas"]
    for node in list(_nodes(document)):
        _open(node)
    for node in list(_nodes(document)):
        _share(node, schemas)
    for name in schemas.keys() - _sent(document) - AS_SENT:
        _leave_out(schemas[name])
    for parameter in (found for operation in operations(document) for found in operation["parameters"]):
        _not_null(parameter["schema"])
        parameter["schema"] = {**parameter["schema"], "description": parameter["description"]}  # where generators look for it
    document["components"]["schemas"] = {called(name): schemas[name] for name in sorted(schemas, key=called)}
    for node in _nodes(document):
        if str(node.get("$ref", "")).startswith(REFERENCE):
            node["$ref"] = REFERENCE + called(node["$ref"].removeprefix(REFERENCE))
        _exemplify(node)


def called(name: str) -> str:
    """What a class of ours is called in the document."""
    return NAMES.get(name, name.removesuffix("Body"))


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    """All operations of a document."""
    return [operation for methods in document["paths"].values() for operation in methods.values()]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value, the outer ones first; not those in examples, which are values of callers."""
    if isinstance(value, dict):
        yield value
        for name, item in value.items():
            if name not in ("example", "examples"):
                yield from _nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _nodes(item)


def _open(node: dict[str, Any]) -> None:
    """Takes out titles, which only repeat names in another way, and says of keys that fit a pattern what all values are."""
    if isinstance(node.get("title"), str) and "version" not in node:
        del node["title"]
    if patterns := node.pop("patternProperties", None):
        ((pattern, node["additionalProperties"]),) = patterns.items()
        node["propertyNames"] = {"pattern": pattern}


def _share(node: dict[str, Any], schemas: dict[str, Any]) -> None:
    """A shape that has a name becomes a model, and its place a reference."""
    name = node.pop(SHAPE, None)
    if name is None:
        return
    about = {key: node.pop(key) for key in ("description", "examples", "default") if key in node}
    schemas[name] = dict(node)
    node.clear()
    node.update({"$ref": REFERENCE + name}, **about)


def _sent(document: dict[str, Any]) -> set[str]:
    """The models that a caller can send."""
    schemas, found = document["components"]["schemas"], set[str]()
    waiting = [operation["requestBody"] for operation in operations(document) if "requestBody" in operation]
    while waiting:
        named = {node["$ref"].removeprefix(REFERENCE) for node in _nodes(waiting.pop()) if "$ref" in node}
        waiting += [schemas[name] for name in named - found]
        found |= named
    return found


def _leave_out(schema: dict[str, Any]) -> None:
    """A field of an answer is there with a value, or not there."""
    for name, field in schema.get("properties", {}).items():
        if name not in schema.get("required", ()):
            _not_null(field)
            field.pop("default", None)


def _not_null(schema: dict[str, Any]) -> None:
    """The schema without null, where one other thing is left."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        del schema["anyOf"]
        schema.update({**choices[0], **schema})


def _exemplify(node: dict[str, Any]) -> None:
    """One example in the older place too, where generators look for it."""
    if isinstance(node.get("examples"), list) and node["examples"]:
        node["example"] = node["examples"][0]
