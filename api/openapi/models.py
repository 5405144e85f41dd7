"""The models of the OpenAPI document: pydantic's schemas, adjusted so that generated clients have good names and types.

Nothing here changes the wire. A field with a named shape (`api.schemas.base.shape`) becomes a reference to one model of that
name; models carry the names of the interface; fields that a response may leave out are never null.
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
    "EventType": "WebhookEventType",
    "State": "WebhookEventState",
    "Tag": "CashflowTag",
    "TransactionPut": "CategoryChoice",
    "TransferDetailsBody": "SentTransferDetails",
    "TreeInput": "TagTreeInput",
    "UserReferenceBody": "RoleUser",
    "View": "TagView",
    "WebhookSecretBody": "WebhookWithSecret",
}
"""The public names of models, where they are not the name of the class without `Body`. No model has the name of one of its own
fields, nor one that generators use themselves: their code would confuse the two.
"""
ECHOED_MODELS = frozenset({"TaggedRecord"})
"""Responses that repeat the request, including its nulls."""


def tidy(document: dict[str, Any]) -> None:
    """Adjusts the models of a document in place."""
    schemas: dict[str, Any] = document["components"]["schemas"]
    for node in list(_nodes(document)):
        _simplify(node)
    for node in list(_nodes(document)):
        _share(node, schemas)
    for name in schemas.keys() - _request_models(document) - ECHOED_MODELS:
        _forbid_null(schemas[name])
    for parameter in (parameter for operation in operations(document) for parameter in operation["parameters"]):
        _not_null(parameter["schema"])
        parameter["schema"] = {**parameter["schema"], "description": parameter["description"]}  # where generators look for it
    for node in list(_nodes(document)):
        _merge_null(node)
        _name_union(node, schemas)
    for name in list(schemas):
        _name_values(name, schemas)
    document["components"]["schemas"] = {public_name(name): schemas[name] for name in sorted(schemas, key=public_name)}
    for node in _nodes(document):
        if str(node.get("$ref", "")).startswith(REFERENCE):
            node["$ref"] = REFERENCE + public_name(node["$ref"].removeprefix(REFERENCE))
        _copy_example(node)


def public_name(name: str) -> str:
    """The name of a class in the document."""
    return NAMES.get(name, name.removesuffix("Body"))


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    """All operations of a document."""
    return [operation for methods in document["paths"].values() for operation in methods.values()]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value, outer ones first, except those in examples."""
    if isinstance(value, dict):
        yield value
        for name, item in value.items():
            if name not in ("example", "examples"):
                yield from _nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _nodes(item)


def _simplify(node: dict[str, Any]) -> None:
    """Removes titles, which only repeat names, and replaces `patternProperties`, which generators do not know."""
    if isinstance(node.get("title"), str) and "version" not in node:
        del node["title"]
    if patterns := node.pop("patternProperties", None):
        ((pattern, node["additionalProperties"]),) = patterns.items()
        node["propertyNames"] = {"pattern": pattern}


def _share(node: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Turns a named shape into a model, and its place into a reference."""
    name = node.pop(SHAPE, None)
    if name is None:
        return
    annotations = {key: node.pop(key) for key in ("description", "examples", "default") if key in node}
    schemas[name] = dict(node)
    node.clear()
    node.update({"$ref": REFERENCE + name}, **annotations)


def _request_models(document: dict[str, Any]) -> set[str]:
    """The names of the models that requests contain."""
    schemas, names = document["components"]["schemas"], set[str]()
    pending = [operation["requestBody"] for operation in operations(document) if "requestBody" in operation]
    while pending:
        references = {node["$ref"].removeprefix(REFERENCE) for node in _nodes(pending.pop()) if "$ref" in node}
        pending += [schemas[name] for name in references - names]
        names |= references
    return names


def _forbid_null(schema: dict[str, Any]) -> None:
    """Fields of a response have a value or are left out."""
    for name, field in schema.get("properties", {}).items():
        if name not in schema.get("required", ()):
            _not_null(field)
            field.pop("default", None)


def _not_null(schema: dict[str, Any]) -> None:
    """Removes null from a schema with one other choice."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        del schema["anyOf"]
        schema.update({**choices[0], **schema})


def _merge_null(schema: dict[str, Any]) -> None:
    """Writes a choice between null and a plain type as one schema with two types: generators read the choice as a union."""
    match schema.get("anyOf"):
        case [{"type": str(kind)} as choice, {"type": "null"}]:
            del schema["anyOf"]
            schema.update({**choice, **schema, "type": [kind, "null"]})


def _name_union(schema: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Turns a choice between models into a model of its own (`AffordabilityOrNothing`), so that generators make up no name."""
    match schema.get("anyOf"):
        case [{"$ref": str()}, {"$ref": str()}, *_] as choices:
            name = "Or".join(public_name(choice["$ref"].removeprefix(REFERENCE)) for choice in choices)
            schemas[name] = {"anyOf": schema.pop("anyOf")}
            schema["$ref"] = REFERENCE + name


def _name_values(name: str, schemas: dict[str, Any]) -> None:
    """Turns the values of a map into a model (`CredentialsValue`): the generator for Java looks for the name of all values."""
    values = schemas[name].get("additionalProperties", True)
    if isinstance(values, dict) and "$ref" not in values:
        schemas[f"{name}Value"] = values
        schemas[name]["additionalProperties"] = {"$ref": f"{REFERENCE}{name}Value"}


def _copy_example(node: dict[str, Any]) -> None:
    """Copies the first example to the older keyword, where generators look for it."""
    if isinstance(node.get("examples"), list) and node["examples"]:
        node["example"] = node["examples"][0]
