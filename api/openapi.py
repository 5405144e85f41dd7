"""The OpenAPI document: what FastAPI knows of the routes, completed with the errors, headers and logins that all share."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.access import needs_of
from api.errors import OAUTH_PREFIX, TEXTS
from api.route import KontorRoute
from api.schemas.base import Problems
from api.schemas.oauth import OAuthProblem
from warehouse.settings import Settings

DESCRIPTION = """Accounts and bookings of German banks, and what they say.

Every answer carries `X-Correlation-ID`. Errors have one shape (`messages`), German texts, and never repeat what was sent.
Paths answer with and without a slash at their end. Timestamps are wall time in Europe/Berlin."""
ALWAYS = (406, 410, 500, 503, 504)
WITH_TOKEN = (401, 403)
WITH_BODY = (400, 408, 413, 415)
WITH_PARAMETERS = (400, 404)
WITH_LOCATION = ("201", "451")
CORRELATION = {
    "name": "X-Correlation-ID",
    "in": "header",
    "required": False,
    "description": "Names this request in answers and logs; one that is absent or malformed is replaced.",
    "schema": {"type": "string"},
    "example": "order-4711",
}


def build(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """The document of an app."""
    document = get_openapi(
        title="Kontor", version="1", description=DESCRIPTION, routes=app.routes, servers=[{"url": settings.base_url}]
    )
    components = document.setdefault("components", {})
    components.setdefault("securitySchemes", {}).update(
        basic={"type": "http", "scheme": "basic", "description": "`<tenant>/<client>` and the client's secret"},
        apiKey={"type": "apiKey", "in": "header", "name": "X-API-KEY"},
    )
    for schema in (Problems, OAuthProblem):
        described = schema.model_json_schema(ref_template="#/components/schemas/{model}")
        components["schemas"].update(described.pop("$defs", {}), **{schema.__name__: described})
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["responses"] = {
        f"{shape}{status}": _error(status, shape) for status in TEXTS for shape in (Problems.__name__, OAuthProblem.__name__)
    }
    for route in app.routes:
        if isinstance(route, KontorRoute) and route.include_in_schema:
            for method in route.methods or ():
                _complete(route, document["paths"][route.path][method.lower()])
    return document


def _complete(route: KontorRoute, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    operation.setdefault("parameters", []).append(CORRELATION)
    statuses = {*ALWAYS, *(status for status in route.responses if status in TEXTS)}
    if needs_of(route.dependant) is not None:
        statuses.update(WITH_TOKEN)
    if "requestBody" in operation:
        statuses.update(WITH_BODY)
    if len(operation["parameters"]) > 1:
        statuses.update(WITH_PARAMETERS)
    shape = OAuthProblem if route.path.startswith(OAUTH_PREFIX) else Problems
    for status in sorted(statuses):
        if "content" not in responses.get(str(status), {}):
            responses[str(status)] = {"$ref": f"#/components/responses/{shape.__name__}{status}"}
    for status, response in responses.items():
        if "$ref" not in response:
            response.setdefault("headers", {})["X-Correlation-ID"] = {"schema": {"type": "string"}}
        if status in WITH_LOCATION:
            response["headers"]["Location"] = {"schema": {"type": "string", "format": "uri"}}


def _error(status: int, shape: str) -> dict[str, Any]:
    code, text = TEXTS[status]
    example = (
        {"messages": [{"level": "ERROR", "code": code, "message": text}]}
        if shape == Problems.__name__
        else {"error": "invalid_request", "error_description": text}
    )
    return {
        "description": text,
        "headers": {"X-Correlation-ID": {"schema": {"type": "string"}}},
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{shape}"}, "example": example}},
    }
