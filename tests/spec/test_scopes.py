"""Who may call what: generated from the OpenAPI document, so that a new endpoint is covered as soon as it exists."""

from typing import Any

import httpx
import pytest

from api.app import create_app
from api.http.authorization import needs_of
from api.http.route import KontorRoute
from tests.support.stack import Stack, TenantUnderTest
from warehouse import scopes
from warehouse.settings import Settings


def documented() -> list[tuple[str, str, list[str]]]:
    """Method, path and scopes of every operation that needs a token."""
    app = create_app(Settings(database_url="postgresql://nowhere/none"))
    routes = [route for route in app.routes if isinstance(route, KontorRoute)]
    found = [(route, needs_of(route.dependant)) for route in routes]
    return [(min(route.methods or ()), route.path, [needs.scope] if needs.scope else []) for route, needs in found if needs]


def call(http: httpx.Client, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
    nobody = "00000000-0000-0000-0000-000000000000"
    known = {"tenant": "r1", "client": "app", "role": "customer", "user": nobody, "provider": nobody}
    values = {**known, "access": "unknown", "product": "unknown", "tree": "1", "item": "10101"}
    values |= dict.fromkeys(("transaction", "rule", "consent", "payment", "transfer"), nobody)
    return http.request(method, path.format(**values), headers=headers)


@pytest.mark.parametrize(("method", "path", "needed"), documented())
def test_anonymous(http: httpx.Client, method: str, path: str, needed: list[str]) -> None:
    answer = call(http, method, path, {})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(("method", "path", "needed"), [item for item in documented() if item[2]])
def test_all_scopes_but_the_needed_one(http: httpx.Client, stack: Stack, method: str, path: str, needed: list[str]) -> None:
    tenant = stack.tenant()
    tenant.add_client("all", scopes.ALL)
    others = " ".join(scope for scope in scopes.ALL if scope not in needed)
    assert call(http, method, path, tenant.bearer("all", scope=others)).status_code == 403


@pytest.mark.parametrize(("method", "path", "needed"), documented())
def test_the_needed_scope_alone(http: httpx.Client, r1: TenantUnderTest, method: str, path: str, needed: list[str]) -> None:
    by_user = any(scope in scopes.CUSTOMER for scope in needed)
    token = r1.bearer("app", "anna", needed[0]) if by_user else r1.bearer("admin", scope=needed[0] if needed else None)
    assert call(http, method, path, token).status_code not in (401, 403)


def test_every_route_states_who_may_call_it() -> None:
    app = create_app(Settings(database_url="postgresql://nowhere/none"))
    for route in app.routes:
        if isinstance(route, KontorRoute):
            extra: dict[str, Any] = route.openapi_extra or {}
            assert needs_of(route.dependant) is not None or "security" in extra, route.path
