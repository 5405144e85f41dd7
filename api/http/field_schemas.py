"""What the models say about a single field of a route, as JSON Schema, so that errors can say what is allowed.

The schemas of a route are made when its first error occurs, and kept. They are those of its OpenAPI document, of requests alone:
making the document itself takes a hundred times as long.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cachetools import LRUCache, cached
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from api.http.mistakes import MAX_VALUES, WORD

MAX_DESCRIBED_ROUTES = 500  # more than there are
REFERENCE = "#/$defs/"
KEYWORDS = ("type", "format", "pattern", "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems")
PARAMETERS = {"query": "query_params", "path": "path_params", "header": "header_params"}
"""Where FastAPI keeps the parameters of each place."""
BOUNDS = (("ge", "minimum"), ("le", "maximum"))
"""Bounds that the schema of an optional parameter leaves out."""
Schema = dict[str, Any]


def allowed_value(route: object, place: str, path: Sequence[str | int]) -> dict[str, Any]:
    """What a field allows, in the words of JSON Schema (`AllowedValue`); empty for a field that the route does not have."""
    if not isinstance(route, APIRoute):
        return {}
    schemas = _schemas(route)
    if place == "body":
        schema = _part(schemas["body"], path)
    else:
        schema = _part(schemas.get(place, {}).get(path[0] if path else "", {}), path[1:])
    allowed = {keyword: schema[keyword] for keyword in KEYWORDS if keyword in schema}
    if isinstance(allowed.get("type"), list):
        allowed["type"] = next((kind for kind in allowed["type"] if kind != "null"), "null")
    if "enum" in schema:
        allowed["values"] = [str(value) for value in schema["enum"][:MAX_VALUES]]
    if "const" in schema:
        allowed["values"] = [str(schema["const"])]
    example = next(iter(schema.get("examples", ())), schema.get("example"))
    if isinstance(example, str | int | float) and not isinstance(example, bool):
        allowed["sample"] = str(example)
    return allowed


def parameter_names(route: object, place: str = "query") -> list[str]:
    """The names of the parameters that a route takes in the query, in the path or as headers."""
    if not isinstance(route, APIRoute):
        return []
    return [name for name in _schemas(route)[place] if WORD.fullmatch(name)]


@cached(LRUCache(MAX_DESCRIBED_ROUTES), key=id)
def _schemas(route: APIRoute) -> Schema:
    """The schemas of a route's parameters by place and name, and of its body. The route is kept with them, so that no other one
    gets its id.
    """
    body = {} if route.body_field is None else route.body_field._type_adapter.json_schema()
    return {"route": route, "body": body, **{place: dict(_parameters(route.dependant, place)) for place in PARAMETERS}}


def _parameters(dependant: Dependant, place: str) -> Iterator[tuple[str, Schema]]:
    """The parameters in one place, also those of dependencies."""
    for parameter in getattr(dependant, PARAMETERS[place]):
        bounds = {keyword: getattr(limit, name, None) for limit in parameter.field_info.metadata for name, keyword in BOUNDS}
        stated_bounds = {keyword: bound for keyword, bound in bounds.items() if bound is not None}
        yield parameter.alias, {**parameter._type_adapter.json_schema(), **stated_bounds}
    for dependency in dependant.dependencies:
        yield from _parameters(dependency, place)


def _part(root: Schema, path: Sequence[str | int]) -> Schema:
    """The schema at the end of a path."""
    schema = _plain(root, root)
    for segment in path:
        if isinstance(segment, int):
            inner = schema.get("items")
        else:
            inner = schema.get("properties", {}).get(segment) or schema.get("additionalProperties")
            inner = inner or next(iter(schema.get("patternProperties", {}).values()), None)
        if not isinstance(inner, dict):
            return {}
        schema = _plain(root, inner)
    return schema


def _plain(root: Schema, schema: Schema) -> Schema:
    """The schema with its reference followed, and without the choice of null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1:
        schema = {**choices[0], **schema}
    if "$ref" in schema:
        schema = {**root["$defs"][schema["$ref"].removeprefix(REFERENCE)], **schema}
    return schema
