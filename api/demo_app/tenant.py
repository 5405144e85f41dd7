"""The demo's tenant: its credentials, its visitors, and what it asks of the public interface, over HTTP as any tenant would.

Nothing here knows more than a tenant knows. What is shown of the answers is made in `views`.
"""

import hashlib
import hmac
import json
import ssl
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

NAME = "demo-redirect"
CUSTOMER = "/customer/v2"
ACCESSES = f"{CUSTOMER}/bankzugaenge"
TIMEOUT_SECONDS = 60
EARLY_SECONDS = 60
TOKENS_LIMIT = 1000
SOMEWHERE = "203.0.113.7"
"""An address for examples (RFC 5737): who tries the demo on the own machine has no public one."""


@dataclass(frozen=True)
class DemoTenant:
    """What a tenant was given: where the service is, and two clients with their secrets."""

    base_url: str
    name: str
    admin: tuple[str, str] = field(repr=False)
    app: tuple[str, str] = field(repr=False)

    def password_of(self, visitor: str) -> str:
        """The password of a visitor's user, derived so that nobody has to keep it."""
        return hmac.new(self.app[1].encode(), visitor.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Call:
    """A request that was made, to be shown to those who want to build the same."""

    method: str
    path: str
    status: int
    milliseconds: int
    begun: float
    source: str | None = None
    """Whether an analysis lay ready or was made for this request."""


class Refused(Exception):
    """The service did not do what the tenant asked for."""

    def __init__(self, status: int, details: str = "") -> None:
        super().__init__(f"{status} {details}".strip())
        self.status = status
        self.details = details


class UserUnknown(Refused):
    """There is no user for this visitor, or not with this password: the demo was made anew."""


def read(path: Path, base_url: str) -> DemoTenant | None:
    """The tenant whose credentials lie in the demo's file; none if there is no demo."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    for entry in content.get("tenants", ()):
        if entry["name"] == NAME:
            admin, app = ((entry["clients"][name]["username"], entry["clients"][name]["secret"]) for name in ("admin", "app"))
            return DemoTenant(base_url, NAME, admin, app)
    return None


class Tokens:
    """Tokens that are still good, so that not every page asks for one."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[str, float]] = {}

    def get(self, key: tuple[str, str]) -> str | None:
        """The token for a secret and a name, if it will hold a while longer."""
        token, until = self._kept.get(key, ("", 0.0))
        return token if time.monotonic() < until else None

    def put(self, key: tuple[str, str], token: str, seconds: float) -> None:
        while len(self._kept) >= TOKENS_LIMIT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = (token, time.monotonic() + seconds - EARLY_SECONDS)

    def drop(self, key: tuple[str, str]) -> None:
        self._kept.pop(key, None)


class DemoVisit:
    """What the tenant does for one visitor while one page is made, and which calls that took."""

    def __init__(self, tenant: DemoTenant, tokens: Tokens, visitor: str) -> None:
        self.tenant = tenant
        self.visitor = visitor
        self.calls: list[Call] = []
        self._tokens = tokens
        self._http = httpx.AsyncClient(base_url=tenant.base_url, timeout=TIMEOUT_SECONDS, verify=_trust(), trust_env=False)

    async def __aenter__(self) -> "DemoVisit":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def register(self) -> None:
        """Makes a user for the visitor, unless there is one."""
        body = {"username": self._username, "password": self.tenant.password_of(self.visitor)}
        token = await self._token(self.tenant.admin, {"grant_type": "client_credentials"})
        path = f"/auth/mgmt/v1/tenants/{self.tenant.name}/users"
        await self._send("POST", path, token, (201, 409), json=body)

    async def read(self, path: str, **query: str) -> Any:
        """What lies at an address, with exact numbers."""
        answer = await self._ask("GET", path, (200,), params=query)
        return json.loads(answer.text, parse_float=Decimal)

    async def begin_connecting(self, back: str, ip: str | None) -> str:
        """The address of the form in which the visitor connects a bank, and from which it leads back."""
        await self._ask("DELETE", f"{CUSTOMER}/regprotect/sessions", (200,))
        answer = await self._ask("POST", ACCESSES, (451,), json={str(uuid.uuid4()): {}}, headers=_from(ip))
        return _leading_back(answer, back)

    async def begin_transfer(self, access: str, product: str, details: Mapping[str, Any], back: str, ip: str | None) -> str:
        """The address of the form in which the visitor confirms a transfer."""
        path = f"{ACCESSES}/{quote(access, safe='')}/{quote(product, safe='')}/payment/single-transfer"
        body = {"instant": False, "transferDetails": dict(details)}
        answer = await self._ask("POST", path, (451,), json=body, headers=_from(ip))
        return _leading_back(answer, back)

    async def disconnect(self, access: str) -> None:
        """Deletes an access and all that was fetched."""
        await self._ask("DELETE", f"{ACCESSES}/{quote(access, safe='')}", (200, 404))

    @property
    def _username(self) -> str:
        return f"besuch-{self.visitor}"

    async def _ask(self, method: str, path: str, expected: tuple[int, ...], **given: Any) -> httpx.Response:
        """The answer to a request in the visitor's name; a token that has ended meanwhile is replaced once."""
        form = {"grant_type": "password", "username": self._username, "password": self.tenant.password_of(self.visitor)}
        token = await self._token(self.tenant.app, form)
        answer = await self._send(method, path, token, (*expected, 403), **given)
        if answer.status_code == 403:
            self._tokens.drop((self.tenant.app[1], self._username))
            answer = await self._send(method, path, await self._token(self.tenant.app, form), expected, **given)
        return answer

    async def _token(self, client: tuple[str, str], form: dict[str, str]) -> str:
        key = (client[1], form.get("username", ""))
        known = self._tokens.get(key)
        if known is not None:
            return known
        answer = await self._call("POST", "/auth/oauth2/token", data=form, auth=client)
        if answer.status_code in (400, 401):
            raise UserUnknown(answer.status_code)
        content = _checked(answer, (200,)).json()
        self._tokens.put(key, content["access_token"], float(content["expires_in"]))
        return str(content["access_token"])

    async def _send(self, method: str, path: str, token: str, expected: tuple[int, ...], **given: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}", **given.pop("headers", {})}
        return _checked(await self._call(method, path, headers=headers, **given), expected)

    async def _call(self, method: str, path: str, **given: Any) -> httpx.Response:
        begun = time.perf_counter()
        try:
            answer = await self._http.request(method, path, **given)
        except httpx.HTTPError as error:
            raise Refused(0) from error
        milliseconds = round((time.perf_counter() - begun) * 1000)
        shown = answer.request.url.raw_path.decode()
        self.calls.append(Call(method, shown, answer.status_code, milliseconds, begun, answer.headers.get("X-Analysis-Source")))
        return answer


@cache
def _trust() -> ssl.SSLContext:
    """The authorities that are trusted, read once: it takes longer than a call."""
    return httpx.create_ssl_context()


def _from(ip: str | None) -> dict[str, str]:
    return {"Customer-IP-Address": ip or SOMEWHERE}


def _leading_back(answer: httpx.Response, back: str) -> str:
    """The form's address with the one to come back to, encoded as a part of it."""
    return str(httpx.URL(answer.headers["Location"]).copy_set_param("callbackUrl", back))


def _checked(answer: httpx.Response, expected: tuple[int, ...]) -> httpx.Response:
    if answer.status_code in expected:
        return answer
    try:
        messages = answer.json()["messages"]
        details = " ".join(message.get("details") or message["message"] for message in messages)
    except (ValueError, KeyError, TypeError):
        details = ""
    raise Refused(answer.status_code, details)
