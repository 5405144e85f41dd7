"""What is asked: the cases, as requests to a server of the house. A new case is one more value in `CASES`.

Here belongs what is asked and which status must come back. Here does not belong how it is asked (`load.py`), of what house
(`house.py`), or what takes seconds and is measured in rows (`lists.py`, `work.py`).
"""

import base64
import enum
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

HOST = "127.0.0.1"
TOKENS = "/auth/oauth2/token"
TENANTS = "/auth/mgmt/v1/tenants"
ACCESSES = "/customer/v2/bankzugaenge"
PROVIDERS = "/providers/v2"
AI = "/customer/v2/ai"


class Server(enum.Enum):
    """Who answers a case."""

    BARE = "bare"
    API = "api"
    CHECKED = "checked"
    ALONE = "alone"


@dataclass(frozen=True)
class Login:
    name: str
    secret: str


@dataclass(frozen=True)
class Seed:
    """What cases may use: a tenant with its users, its clients and a token of one, and a customer whose accesses were fetched."""

    tenant: str
    admin: Login
    app: Login
    user: Login
    token: str
    """Of the admin client."""
    customer: str
    """A token of the user."""
    access: str
    """The user's access with the products of demo1."""
    bookings: str
    """The bookings of its checking account, about 1,500."""
    long_list: str
    """The bookings of an account with 50,000."""
    etag: str
    """The state that all the user's data are in."""
    analysed: str
    """A token of another user, whose analyses lie ready."""
    form: str
    """The cookie of a browser that is at the first page of the redirect form."""


@dataclass(frozen=True)
class Case:
    """A request that is sent again and again. It is prepared once, from what the house was seeded with."""

    name: str
    request: Callable[[Seed], bytes]
    server: Server = Server.API
    status: int = 200


def get(path: str, token: str | None = None, **more: str) -> bytes:
    """A GET request, with a bearer token where one is given, and further headers."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return _request("GET", path, headers | {name.replace("_", "-"): value for name, value in more.items()})


def _token(client: Login, **fields: str) -> bytes:
    """A request for a token by a client that identifies itself."""
    credentials = base64.b64encode(f"{client.name}:{client.secret}".encode()).decode()
    form = urlencode(fields)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(form))}
    return _request("POST", TOKENS, {"Authorization": f"Basic {credentials}"} | headers, form)


def _request(method: str, path: str, headers: dict[str, str], body: str = "") -> bytes:
    """The bytes of a request. Its connection stays open unless a header says otherwise."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", body]).encode()


# All ratios are to this one: what FastAPI and uvicorn alone cost, on the same core and in the same round.
BARE = Case("bare route", lambda _: get("/"), Server.BARE)
HEALTH = Case("health", lambda _: get("/health"))
CHECKED = Case("a bare route of our app, token checked", lambda seed: get("/bench/hello", seed.analysed), Server.CHECKED)
ALONE = Case("contracts, no other routes in the app", lambda seed: get(f"{AI}/contracts", seed.analysed), Server.ALONE)
CONTRACTS = Case("contracts that lie ready", lambda seed: get(f"{AI}/contracts", seed.analysed))
READY = (
    CONTRACTS,
    Case("disposable money that lies ready", lambda seed: get(f"{AI}/disposable-money", seed.analysed)),
    Case("life stages that lie ready", lambda seed: get(f"{AI}/life/stages", seed.analysed)),
    Case("affordability that lies ready", lambda seed: get(f"{AI}/affordability", seed.analysed)),
    Case("cashflow that lies ready", lambda seed: get(f"{AI}/cashflow", seed.analysed)),
    Case("cashflow that lies ready, with gzip", lambda seed: get(f"{AI}/cashflow", seed.analysed, Accept_Encoding="gzip")),
    Case("contracts, read from PostgreSQL each time", lambda seed: get(f"{AI}/contracts", seed.analysed), Server.CHECKED),
    ALONE,
    Case("the first page of the redirect form", lambda seed: get("/customer/v2/webform/form", Cookie=seed.form)),
)
"""Analyses and a page, which are compared with `CHECKED`."""

CASES = (
    HEALTH,
    Case("token, client credentials", lambda seed: _token(seed.admin, grant_type="client_credentials")),
    Case(
        "token, password",
        lambda seed: _token(seed.app, grant_type="password", username=seed.user.name, password=seed.user.secret),
    ),
    Case("read tenants", lambda seed: get(TENANTS, seed.token)),
    Case("read users, 3 rows", lambda seed: get(f"{TENANTS}/{seed.tenant}/users", seed.token)),
    Case("read an access with 4 products", lambda seed: get(seed.access, seed.customer)),
    Case("read 100 bookings", lambda seed: get(f"{seed.bookings}?limit=100", seed.customer)),
    Case("read all bookings, about 1,500", lambda seed: get(seed.bookings, seed.customer)),
    Case("read all bookings, unchanged", lambda seed: get(seed.bookings, seed.customer, If_None_Match=seed.etag), status=304),
    Case("read providers, all German banks", lambda seed: get(PROVIDERS, seed.customer)),
    CHECKED,
    *READY,
)
