"""The OpenAPI document: FastAPI's description of the routes, completed with the errors, headers and logins that all share.

`api/openapi/models.py` names and shapes its models.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from api.http.authorization import needs_of
from api.http.errors import OAUTH_NAMES, OAUTH_PREFIX, PAGES, TEXTS
from api.http.route import KontorRoute
from api.openapi import models
from api.schemas import messages
from api.schemas.base import Problems
from api.schemas.oauth import OAuthProblem, RevokeForm, TokenForm
from api.schemas.statement_files import StatementForm
from api.schemas.webhooks import NOTIFICATIONS
from warehouse.settings import Settings
from warehouse.webhook_types import TYPES, EventType

DESCRIPTION = """Accounts and bookings of German banks, and what they say.

Every answer carries `X-Correlation-ID`. Errors have one shape (`messages`). They name each wrong field with what was sent (never
a secret) and what is allowed, and the page of their code; their texts are German, or English with `Accept-Language: en`.
Paths answer with and without a slash at their end. Timestamps (`yyyy-mm-dd HH:MM:SS`) are wall time in Europe/Berlin.

Codes of messages, on objects and in errors:

| code | level | message |
|---|---|---|
"""
CODES = {code: ("ERROR", text) for code, text in TEXTS.values()} | {str(code): text for code, text in messages.TEXTS.items()}
TAGS = {
    "Tokens": "OAuth2: tokens of clients and of users, and their end.",
    "Customer": "A customer's accesses to banks, with products, bookings and positions.",
    "Consents": "A customer lets a bank give data, and confirms it step by step.",
    "Payments": "Transfers that are confirmed step by step, and the verification of payee before them.",
    "Older transfers": "Transfers that say everything in one request, and take a TAN after it.",
    "Analyses": "What all bookings of a customer say together.",
    "Analysis platform": "Categories and rules, products in English, and tags and analyses of bookings that are not stored.",
    "Providers": "Which banks there are, and what a login takes.",
    "Tag trees": "What tags can be.",
    "Encryption": "How credentials are encrypted on their way to us.",
    "Management": "A tenant's clients, roles and users.",
    "Webhooks": "Where a client is told, and of what.",
    "Notifications": "The calls that a webhook receives.",
    "Health": "For whoever watches the service.",
}
VERSION = "1"
COMMON_STATUSES = (406, 410, 500, 503, 504)
TOKEN_STATUSES = (401, 403)
BODY_STATUSES = (400, 408, 413, 415)
PARAMETER_STATUSES = (400, 404)
LOCATION_STATUSES = ("201", "451")
RETRY_STATUSES = (429, 503)
DESCRIPTIONS = {"200": "Done.", "201": "Made; `Location` says where it is."}
TEXT = {"type": "string"}
CORRELATION_HEADER = {
    "name": "X-Correlation-ID",
    "in": "header",
    "required": False,
    "description": "Names this request in answers and logs; one that is absent or malformed is replaced.",
    "schema": TEXT,
    "example": "order-4711",
}
LANGUAGE_HEADER = {
    "name": "Accept-Language",
    "in": "header",
    "required": False,
    "description": "Texts of errors, messages, tags and analyses are English for callers that prefer it to German.",
    "schema": TEXT,
    "example": "en",
}
ETAG_HEADER = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "`ETag` of an answer that the caller has: 304 if it still holds.",
    "schema": TEXT,
    "example": '"42"',
}
PATH_PARAMETERS = {
    "access": ("Id of the access, chosen by the caller", "0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10"),
    "client": ("Name of the client", "app"),
    "consent": ("Id of the consent", "6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10"),
    "item": ("`systemId` of the item", "10101"),
    "payment": ("Id of the payment", "6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10"),
    "product": ("Id of the product, unique within the access", "DE02120300000000202051"),
    "provider": ("Id of the provider", "00000000-0000-0000-0000-000000000000"),
    "role": ("Name of the role", "customer"),
    "rule": ("Id of the rule", "6a0b1f5e-3c0d-4b7e-9a52-0d7b0a3f9c11"),
    "tenant": ("Name of the tenant", "demo"),
    "transaction": ("Id of the booking", "3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"),
    "transfer": ("Id of the transfer", "6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10"),
    "tree": ("`systemId` of the tree", "1"),
    "user": ("`userReference` of the user", "5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"),
}
"""The description and an example of each path parameter."""


def build(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """The document of an app."""
    document = get_openapi(
        title="Kontor",
        version=VERSION,
        description=DESCRIPTION + _codes(),
        routes=app.routes,
        servers=[{"url": settings.base_url}],
    )
    document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    shared = document.setdefault("components", {})
    shared.setdefault("securitySchemes", {}).update(
        basic={"type": "http", "scheme": "basic", "description": "`<tenant>/<client>` and the client's secret"},
        apiKey={"type": "apiKey", "in": "header", "name": "X-API-KEY"},
    )
    schemas: list[type[BaseModel]] = [Problems, OAuthProblem, TokenForm, RevokeForm, StatementForm, *NOTIFICATIONS.values()]
    for schema in schemas:
        definition = schema.model_json_schema(ref_template=models.REFERENCE + "{model}")
        shared["schemas"].update(definition.pop("$defs", {}), **{schema.__name__: definition})
    for name in ("HTTPValidationError", "ValidationError"):
        shared["schemas"].pop(name, None)
    shared["responses"] = {
        f"{models.public_name(shape)}{status}": _error(status, shape, settings.base_url)
        for status in TEXTS
        for shape in (Problems.__name__, OAuthProblem.__name__)
    }
    for route in app.routes:
        if isinstance(route, KontorRoute) and route.include_in_schema:
            for method in route.methods or ():
                _complete(route, document["paths"][route.path][method.lower()])
    document["webhooks"] = {to_camel(name.lower()): {"post": _webhook(name)} for name in NOTIFICATIONS}
    models.tidy(document)
    return document


def _codes() -> str:
    return "\n".join(f"| {code} | {level} | {text} |" for code, (level, text) in CODES.items())


def _complete(route: KontorRoute, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    parameters = operation.setdefault("parameters", [])
    for parameter in (parameter for parameter in parameters if parameter["in"] == "path"):
        parameter["description"], parameter["example"] = PATH_PARAMETERS[parameter["name"]]
    statuses = {*COMMON_STATUSES, *(status for status in route.responses if status in TEXTS)}
    if needs_of(route.dependant) is not None:
        statuses.update(TOKEN_STATUSES)
    if "requestBody" in operation:
        statuses.update(BODY_STATUSES)
    if parameters:
        statuses.update(PARAMETER_STATUSES)
    parameters.extend(
        dict(header)
        for header in (ETAG_HEADER, CORRELATION_HEADER, LANGUAGE_HEADER)
        if header is not ETAG_HEADER or "304" in responses
    )
    shape = models.public_name(OAuthProblem.__name__ if route.path.startswith(OAUTH_PREFIX) else Problems.__name__)
    for status in sorted(statuses):
        if "content" not in responses.get(str(status), {}):
            responses[str(status)] = {"$ref": f"#/components/responses/{shape}{status}"}
    for status, response in responses.items():
        if "$ref" not in response:
            _describe(status, response, etag="304" in responses)


def _describe(status: str, response: dict[str, Any], *, etag: bool) -> None:
    """Completes a response that is no error with its description and headers."""
    if response["description"] == "Successful Response":
        response["description"] = DESCRIPTIONS[status]
    headers = response.setdefault("headers", {})
    headers["X-Correlation-ID"] = {"schema": TEXT}
    if status in LOCATION_STATUSES:
        headers["Location"] = {"schema": {"type": "string", "format": "uri"}}
    if etag:
        headers["ETag"] = {"schema": TEXT}


def _error(status: int, shape: str, base_url: str) -> dict[str, Any]:
    code, text = TEXTS[status]
    name = OAUTH_NAMES.get(status, "invalid_request")
    example = (
        {"messages": [{"level": "ERROR", "code": code, "message": text, "documentation": f"{base_url}{PAGES}/{code}"}]}
        if shape == Problems.__name__
        else {"error": name, "error_description": text, "error_uri": f"{base_url}{PAGES}/{name}"}
    )
    retry_header = (
        {"Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer"}}} if status in RETRY_STATUSES else {}
    )
    return {
        "description": text,
        "headers": {"X-Correlation-ID": {"schema": TEXT}, "Content-Language": {"schema": TEXT}, **retry_header},
        "content": {"application/json": {"schema": {"$ref": models.REFERENCE + shape}, "example": example}},
    }


def _webhook(event_type: EventType) -> dict[str, Any]:
    """The request that a webhook receiver gets for a type of events."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    headers = [{"name": name, "in": "header", "required": True, "schema": TEXT} for name in names]
    content = {"application/json": {"schema": {"$ref": models.REFERENCE + NOTIFICATIONS[event_type].__name__}}}
    return {
        "operationId": event_type.lower(),
        "tags": ["Notifications"],  # generators write one file for each: two of one name would overwrite each other
        "summary": event_type.replace("_", " ").capitalize(),
        "description": f"{TYPES[event_type].description} Sent to the addresses of clients that receive `{event_type}`, signed as "
        "Standard Webhooks: verify it before you believe it.",
        "parameters": headers,
        "requestBody": {"required": True, "content": content},
        "responses": {"200": {"description": "Taken. Any other status than 2xx: we try again; 410: we send no more."}},
    }
