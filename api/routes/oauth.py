"""OAuth2: tokens of clients and users, revocation, and the classic token of an API key."""

import base64
from dataclasses import replace
from typing import Any

from fastapi import Request
from starlette.responses import Response

from api.http import metrics
from api.http.asker import name_stranger, set_asker
from api.http.errors import Problem
from api.http.mistakes import CHOICE, Mistake, closest, missing
from api.http.responses import json_response
from api.http.route import FORM, StrictRequest, router
from api.openapi.models import REFERENCE
from api.schemas.oauth import GRANTS, RevokeForm, TokenBody, TokenForm
from api.services import AppServices, Services
from warehouse import logins
from warehouse.errors import LoginFailed, Throttled
from warehouse.logins import AuthenticatedClient
from warehouse.stores.tokens import IssuedToken

UNCACHED = {"Cache-Control": "no-store", "Pragma": "no-cache"}
routes = router("", "Tokens")


def _form(model: type[TokenForm] | type[RevokeForm]) -> dict[str, Any]:
    """The form's part of the OpenAPI document; `StrictRequest.fields` reads the body itself."""
    body = {"required": True, "content": {FORM: {"schema": {"$ref": REFERENCE + model.__name__}}}}
    return {"requestBody": body, "security": [{"basic": []}]}


@routes.post("/auth/oauth2/token", response_model=TokenBody, responses={401: {}, 429: {}}, openapi_extra=_form(TokenForm))
async def issue_token(request: Request, services: AppServices) -> Response:
    """Issues a token: of the client itself (`client_credentials`), or of a user through the client (`password`)."""
    username, secret = _basic(request)
    name_stranger(username)
    fields = await StrictRequest(request.scope, request.receive).fields()
    grant = _grant(fields)
    requested_scopes = set(fields["scope"].split()) if "scope" in fields else None
    client = (services.database, services.settings, username, secret)
    try:
        if grant == "client_credentials":
            login, token = await services.in_thread(logins.token_of_client, *client, requested_scopes)
            request.state.login = login
            set_asker(login.tenant.id, login.client.id)
        else:
            request.state.login = login = await services.in_thread(logins.identify, *client)
            set_asker(login.tenant.id, login.client.id)
            user = (fields["username"], fields["password"])
            token = await services.passwords.run(
                logins.token_of_user, services.database, services.settings, login, user, requested_scopes
            )
    except (LoginFailed, Throttled):
        metrics.LOGIN_FAILURES.labels(grant).inc()
        raise
    return _token(services, grant, login, token)


@routes.post("/auth/oauth2/revoke", response_class=Response, responses={401: {}, 429: {}}, openapi_extra=_form(RevokeForm))
async def revoke_token(request: Request, services: AppServices) -> Response:
    """Ends a token of the client. Always answers 200 to a client that has identified itself, whatever the token."""
    username, secret = _basic(request)
    name_stranger(username)
    token = (await StrictRequest(request.scope, request.receive).fields()).get("token", "")
    await services.in_thread(logins.revoke, services.database, services.settings, username, secret, token)
    return Response(headers=UNCACHED)


@routes.post(
    "/one/bc-token", response_model=TokenBody, responses={400: {}, 401: {}}, openapi_extra={"security": [{"apiKey": []}]}
)
def issue_classic_token(request: Request, services: AppServices) -> Response:
    """Issues a token of the user for whom an API key stands; it serves the provider and customer interfaces."""
    try:
        login, token = logins.token_of_key(services.database, services.settings, request.headers.get("x-api-key", ""))
    except LoginFailed:
        metrics.LOGIN_FAILURES.labels("api_key").inc()
        raise
    request.state.login = login
    return _token(services, "api_key", login, token)


def _basic(request: Request) -> tuple[str, str]:
    """Name and secret from the Basic header. A malformed header fails like a wrong secret."""
    scheme, _, encoded = request.headers.get("authorization", "").strip().partition(" ")
    try:
        username, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except ValueError as error:
        raise LoginFailed from error
    if scheme.lower() != "basic" or not colon or not username or not username.isprintable():
        raise LoginFailed
    return username, secret


def _grant(fields: dict[str, str]) -> str:
    """The grant type of a complete form; raises for an incomplete one."""
    grant = fields.get("grant_type")
    if not grant:
        (problem,) = missing("grant_type", place="form")
        suggestion = "grant_type" if closest("grant_type", fields) else None
        raise Problem(400, mistakes=[replace(problem, suggestion=suggestion)], oauth="invalid_request")
    if grant not in GRANTS:
        problem = Mistake("grant_type", CHOICE, "form", ("grant_type",), allowed={"values": GRANTS})
        raise Problem(400, mistakes=[problem], oauth="unsupported_grant_type")
    if grant == "password" and (absent := [name for name in ("username", "password") if not fields.get(name)]):
        raise Problem(400, mistakes=missing(*absent, place="form"), oauth="invalid_request")
    return grant


def _token(services: Services, grant: str, login: AuthenticatedClient, token: IssuedToken) -> Response:
    """The response that carries a token; caches may not store it."""
    metrics.TOKENS.labels(grant).inc()
    issued_at, expires_at = int(token.issued_at.timestamp()), int(token.expires_at.timestamp())
    body = TokenBody(
        scope=" ".join(token.scopes),
        tenant=login.tenant.name,
        tenant_id=login.tenant.id,
        client=login.client.name,
        user=token.user_id,
        additional_data={"username": token.username} if token.username else {},
        valid_to=token.expires_at,
        active=True,
        issued_at=issued_at,
        expires_at=expires_at,
        access_token=token.access_token,
        expires_in=expires_at - issued_at,
    )
    return json_response(services.zone, body, headers=UNCACHED)
