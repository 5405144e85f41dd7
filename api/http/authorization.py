"""Who may call a route: every route states it in its signature with `Needs`, or is public.

A test fails for a route that states neither. The check runs before the body is read, so that a request without a token costs
little and reveals nothing.
"""

import enum
from typing import Any

from fastapi import Request, Security
from fastapi.openapi.models import OAuth2, OAuthFlowClientCredentials, OAuthFlowPassword, OAuthFlows
from fastapi.security.base import SecurityBase

from api.http.errors import Problem
from api.schemas.languages import Text
from warehouse import scopes
from warehouse.stores.callers import Caller


class TokenKind(enum.Enum):
    """Whose tokens a route accepts."""

    CLIENT = "client"
    USER = "user"
    ANY = "any"


OTHER_KIND = {
    TokenKind.CLIENT: Text("Nötig ist das Token eines Clients, nicht eines Benutzers.", "A token of a client is required."),
    TokenKind.USER: Text("Nötig ist das Token eines Benutzers, nicht eines Clients.", "A token of a user is required."),
}
NO_SCOPE = Text("Dem Token fehlt der Scope {scope}.", "The token lacks the scope {scope}.")


class Needs(SecurityBase):
    """What a route requires of the token: a scope (None for any valid token) and its kind."""

    scheme_name = "oauth2"
    model = OAuth2(
        flows=OAuthFlows(
            clientCredentials=OAuthFlowClientCredentials(tokenUrl="/auth/oauth2/token", scopes=dict.fromkeys(scopes.ALL, "")),
            password=OAuthFlowPassword(tokenUrl="/auth/oauth2/token", scopes=dict.fromkeys(scopes.ALL, "")),
        )
    )

    def __init__(self, scope: str | None, kind: TokenKind) -> None:
        self.scope = scope
        self.kind = kind

    async def __call__(self, request: Request) -> Caller:
        """The caller, which `check` has found before."""
        caller: Caller = request.state.caller
        return caller

    async def check(self, request: Request) -> None:
        """Finds the caller behind the token; raises if it may not call this route."""
        header = request.headers.get("authorization", "").strip()
        if not header:
            raise Problem(401)
        scheme, _, token = header.partition(" ")
        caller = await request.app.state.services.callers.find(token.strip()) if scheme.lower() == "bearer" else None
        if caller is None:
            raise Problem(403)
        request.state.caller = caller  # also of a refused request, so that its log line names the caller
        if not self._admits(caller):
            raise Problem(403, self._refusal(caller))

    def _refusal(self, caller: Caller) -> Text:
        """What the token of a caller lacks: it is of the other kind, or has not the scope."""
        kind = TokenKind.CLIENT if caller.user_id is None else TokenKind.USER
        if self.kind not in (TokenKind.ANY, kind):
            return OTHER_KIND[self.kind]
        return Text(*(text.format(scope=self.scope) for text in NO_SCOPE))

    def _admits(self, caller: Caller) -> bool:
        kind = TokenKind.CLIENT if caller.user_id is None else TokenKind.USER
        return self.kind in (TokenKind.ANY, kind) and (self.scope is None or self.scope in caller.scopes)


def needs(scope: str | None, kind: TokenKind) -> Any:
    """The requirement in a route's signature: an annotation of its parameter of type `Caller`."""
    return Security(Needs(scope, kind), scopes=[scope] if scope else [])


def needs_of(dependant: Any) -> Needs | None:
    """The requirement that a route's signature states, if any."""
    return next((item.call for item in dependant.dependencies if isinstance(item.call, Needs)), None)
