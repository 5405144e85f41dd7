"""The demo's tenant: its credentials, its visitors, and its requests to the public interface.

Nothing here knows more than a tenant does. The requests pass all layers of the service as any tenant's do, but for the
connection: the process that shows a page answers them itself, so that what they share is computed once, by it.
`views` turns the responses into values for the pages.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson
from starlette.types import ASGIApp

from api.schemas.languages import Language

NAME, PEOPLE_NAME = "demo-redirect", "demo"
"""The tenant whose visitors connect a bank through the form, and the regulated one whose visitors are people of the demo bank."""
CUSTOMER = "/customer/v2"
ACCESSES = f"{CUSTOMER}/bankzugaenge"
REPORT_HEADERS = ("Content-Type", "Content-Disposition", "Content-Security-Policy")
FILES_ACCESS, FILES_PROVIDER = "kontoauszug", "00000000-0000-0000-0000-000000000002"
"""The access of a visitor's own statement files, and its provider."""
DEMO_ACCESS, DEMO_PROVIDER = "demobank", "00000000-0000-0000-0000-000000000000"
BASE64 = "application/octet-stream+base64"
RENEWAL_SECONDS = 60
MAX_TOKENS = 1000
EXAMPLE_IP = "203.0.113.7"
"""An address for documentation (RFC 5737): a visitor on the same machine has no public one."""


@dataclass(frozen=True)
class DemoTenant:
    """What a tenant knows: the address of the service, and two clients with their secrets."""

    base_url: str
    name: str
    admin: tuple[str, str] = field(repr=False)
    app: tuple[str, str] = field(repr=False)

    def username_of(self, visitor: str) -> str:
        """The name of a visitor's user, derived from the random id in the cookie: neither tells the other."""
        return f"besuch-{self._derived('name', visitor)[:32]}"

    def password_of(self, visitor: str) -> str:
        """The password of a visitor's user, derived so that it need not be stored."""
        return self._derived("password", visitor)

    def _derived(self, purpose: str, visitor: str) -> str:
        return hmac.new(self.app[1].encode(), f"{purpose} {visitor}".encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Call:
    """A request that was sent; pages list them for developers."""

    method: str
    path: str
    status: int
    milliseconds: int
    started_at: float
    source: str | None = None
    """Whether an analysis was precomputed or computed for this request."""
    answer: str = field(default="", repr=False)
    sent: str = field(default="", repr=False)


class Refused(Exception):
    """The service refused a request."""

    def __init__(self, status: int, details: str = "") -> None:
        super().__init__(f"{status} {details}".strip())
        self.status = status
        self.details = details


class UserUnknown(Refused):
    """There is no user for this visitor, or not with this password: the demo was created again."""


def read(path: Path, base_url: str, name: str = NAME) -> DemoTenant | None:
    """The tenant of this name with the credentials of the demo's file; None if there is no demo."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    for entry in content.get("tenants", ()):
        if entry["name"] == name:
            admin, app = ((entry["clients"][key]["username"], entry["clients"][key]["secret"]) for key in ("admin", "app"))
            return DemoTenant(base_url, name, admin, app)
    return None


class Tokens:
    """A cache of valid tokens, so that not every page requests one."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], tuple[str, float]] = {}

    def get(self, key: tuple[str, str]) -> str | None:
        """The token for a secret and a name, if it stays valid for another minute."""
        token, until = self._tokens.get(key, ("", 0.0))
        return token if time.monotonic() < until else None

    def put(self, key: tuple[str, str], token: str, seconds: float) -> None:
        while len(self._tokens) >= MAX_TOKENS:
            self._tokens.pop(next(iter(self._tokens)))
        self._tokens[key] = (token, time.monotonic() + seconds - RENEWAL_SECONDS)

    def drop(self, key: tuple[str, str]) -> None:
        self._tokens.pop(key, None)


class OwnProcess(httpx.AsyncBaseTransport):
    """Lets an app of this process answer requests, each in a task with a context of its own, as the server does."""

    def __init__(self, app: ASGIApp) -> None:
        self._transport = httpx.ASGITransport(app)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response of the app, whole."""
        return await asyncio.create_task(self._transport.handle_async_request(request))


class DemoVisit:
    """The requests of the tenant for one visitor and one page, with a list of them."""

    def __init__(self, tenant: DemoTenant, app: ASGIApp, tokens: Tokens, visitor: str, language: Language) -> None:
        self.tenant = tenant
        self.visitor = visitor
        self.calls: list[Call] = []
        self._tokens = tokens
        self._http = httpx.AsyncClient(
            base_url=tenant.base_url,
            headers={"Accept-Language": language, "Accept-Encoding": "identity"},
            transport=OwnProcess(app),
            trust_env=False,
        )

    async def __aenter__(self) -> "DemoVisit":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def register(self) -> None:
        """Creates a user for the visitor, unless there is one."""
        body = {"username": self._username, "password": self.tenant.password_of(self.visitor)}
        token = await self._token(self.tenant.admin, {"grant_type": "client_credentials"})
        path = f"/auth/mgmt/v1/tenants/{self.tenant.name}/users"
        await self._send("POST", path, token, (201, 409), json=body)

    async def read(self, path: str, **query: str) -> Any:
        """The JSON at a path. Amounts have so few digits that their floats show them exactly (`formats.cents`)."""
        response = await self._request("GET", path, (200,), params=query)
        return orjson.loads(response.content)

    async def begin_connecting(self, back: str, ip: str | None) -> str:
        """The address of the form in which the visitor connects a bank; it leads back to `back`."""
        await self._request("DELETE", f"{CUSTOMER}/regprotect/sessions", (200,))
        response = await self._request("POST", ACCESSES, (451,), json={str(uuid.uuid4()): {}}, headers=_from(ip))
        return _with_callback(response, back)

    async def connect_person(self, login: str, pin: str, ip: str | None) -> None:
        """Connects a customer of the demo bank. The service encrypts the login, as for any tenant that does not do so itself."""
        credentials = {name: await self._encrypted(value) for name, value in (("userid", login), ("pin", pin))}
        body = {DEMO_ACCESS: {"providerId": DEMO_PROVIDER, "credentials": credentials}}
        await self._request("POST", ACCESSES, (201,), json=body, headers=_from(ip))

    async def choose_category(self, booking: str, category: str, *, change_existing: bool) -> None:
        """Makes a category the visitor's own choice for a booking, or for all bookings with the same counterparty."""
        body = {"tags": {"systemName": category, "tagTree": {"systemName": "CATEGORIES"}}}
        path = f"/ai/v1/transactions/{quote(booking, safe='')}"
        await self._request("PUT", path, (200,), json=body, params={"changeExisting": "true"} if change_existing else {})

    async def compare(self, assumptions: list[dict[str, Any]]) -> Any:
        """The analyses without and with these assumptions."""
        response = await self._request("POST", f"{CUSTOMER}/ai/what-if", (200,), json={"assumptions": assumptions})
        return orjson.loads(response.content)

    async def upload(self, form: bytes, content_type: str) -> dict[str, Any]:
        """What the visitor's statement files have brought, sent on as the browser sent them."""
        body = {FILES_ACCESS: {"providerId": FILES_PROVIDER}}
        await self._request("POST", ACCESSES, (201,), json=body)
        path, headers = f"{ACCESSES}/{FILES_ACCESS}/kontoauszuege", {"Content-Type": content_type}
        response = await self._request("POST", path, (200,), content=form, headers=headers)
        answer: dict[str, Any] = response.json()
        return answer

    async def report(self, query: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
        """The report of the last complete month, and the headers that say how to show it."""
        response = await self._request("GET", f"{CUSTOMER}/report", (200,), params=query)
        return response.content, {name: response.headers[name] for name in REPORT_HEADERS if name in response.headers}

    async def begin_transfer(self, access: str, product: str, details: Mapping[str, Any], back: str, ip: str | None) -> str:
        """The address of the form in which the visitor confirms a transfer."""
        path = f"{ACCESSES}/{quote(access, safe='')}/{quote(product, safe='')}/payment/single-transfer"
        body = {"instant": False, "transferDetails": dict(details)}
        response = await self._request("POST", path, (451,), json=body, headers=_from(ip))
        return _with_callback(response, back)

    async def disconnect(self, access: str) -> None:
        """Deletes an access and all that was fetched."""
        await self._request("DELETE", f"{ACCESSES}/{quote(access, safe='')}", (200, 404))

    async def _encrypted(self, value: str) -> str:
        content = base64.b64encode(value.encode())
        response = await self._request("PUT", "/encrypt", (200,), content=content, headers={"Content-Type": BASE64})
        return response.text

    @property
    def _username(self) -> str:
        return self.tenant.username_of(self.visitor)

    async def _request(self, method: str, path: str, expected: tuple[int, ...], **arguments: Any) -> httpx.Response:
        """The response to a request in the visitor's name; an expired token is replaced once."""
        form = {"grant_type": "password", "username": self._username, "password": self.tenant.password_of(self.visitor)}
        token = await self._token(self.tenant.app, form)
        response = await self._send(method, path, token, (*expected, 403), **arguments)
        if response.status_code == 403:
            self._tokens.drop((self.tenant.app[1], self._username))
            response = await self._send(method, path, await self._token(self.tenant.app, form), expected, **arguments)
        return response

    async def _token(self, client: tuple[str, str], form: dict[str, str]) -> str:
        key = (client[1], form.get("username", ""))
        token = self._tokens.get(key)
        if token is not None:
            return token
        response = await self._call("POST", "/auth/oauth2/token", data=form, auth=client)
        if response.status_code in (400, 401):
            raise UserUnknown(response.status_code)
        content = _require_status(response, (200,)).json()
        self._tokens.put(key, content["access_token"], float(content["expires_in"]))
        return str(content["access_token"])

    async def _send(self, method: str, path: str, token: str, expected: tuple[int, ...], **arguments: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}", **arguments.pop("headers", {})}
        return _require_status(await self._call(method, path, headers=headers, **arguments), expected)

    async def _call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        started_at = time.perf_counter()
        try:
            response = await self._http.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise Refused(0) from error
        milliseconds = round((time.perf_counter() - started_at) * 1000)
        full_path, source = response.request.url.raw_path.decode(), response.headers.get("X-Analysis-Source")
        is_json = full_path.startswith((CUSTOMER, "/ai/")) and response.headers.get("Content-Type", "").startswith(
            "application/json"
        )
        answer, request_body = (
            (response.text, json.dumps(arguments["json"]) if "json" in arguments else "") if is_json else ("", "")
        )
        self.calls.append(Call(method, full_path, response.status_code, milliseconds, started_at, source, answer, request_body))
        return response


def _from(ip: str | None) -> dict[str, str]:
    return {"Customer-IP-Address": ip or EXAMPLE_IP}


def _with_callback(response: httpx.Response, back: str) -> str:
    """The form's address with the callback address as a parameter."""
    return str(httpx.URL(response.headers["Location"]).copy_set_param("callbackUrl", back))


def _require_status(response: httpx.Response, expected: tuple[int, ...]) -> httpx.Response:
    if response.status_code in expected:
        return response
    try:
        messages = response.json()["messages"]
        details = " ".join(message.get("details") or message["message"] for message in messages)
    except (ValueError, KeyError, TypeError):
        details = ""
    raise Refused(response.status_code, details)
