"""What is measured: the cases, as requests to a server of the house. A new case is one more value in `CASES`.

Here belongs what is asked and which status must come back. Here does not belong how it is asked (`load.py`) or of what house
(`house.py`).
"""

import base64
import enum
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

HOST = "127.0.0.1"
TOKENS = "/auth/oauth2/token"
TENANTS = "/auth/mgmt/v1/tenants"


class Server(enum.Enum):
    """Who answers a case."""

    BARE = "bare"
    API = "api"


@dataclass(frozen=True)
class Login:
    name: str
    secret: str


@dataclass(frozen=True)
class Seed:
    """What cases may use: a tenant with three users, its two clients, one of the users, and a token of the admin client."""

    tenant: str
    admin: Login
    app: Login
    user: Login
    token: str


@dataclass(frozen=True)
class Case:
    """A request that is sent again and again. It is prepared once, from what the house was seeded with."""

    name: str
    request: Callable[[Seed], bytes]
    server: Server = Server.API
    status: int = 200


def _get(path: str, token: str | None = None) -> bytes:
    """A GET request, with a bearer token where one is given."""
    return _request("GET", path, f"Bearer {token}" if token else None)


def _token(client: Login, **fields: str) -> bytes:
    """A request for a token by a client that identifies itself."""
    credentials = base64.b64encode(f"{client.name}:{client.secret}".encode()).decode()
    return _request("POST", TOKENS, f"Basic {credentials}", urlencode(fields))


def _request(method: str, path: str, authorization: str | None, form: str | None = None) -> bytes:
    """The bytes of a request on a connection that stays open."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}"]
    if authorization is not None:
        lines.append(f"Authorization: {authorization}")
    if form is not None:
        lines += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(form)}"]
    return "\r\n".join([*lines, "", form or ""]).encode()


# All ratios are to this one: what FastAPI and uvicorn alone cost, on the same core and in the same round.
BARE = Case("bare route", lambda _: _get("/"), Server.BARE)

CASES = (
    Case("health", lambda _: _get("/health")),
    Case("token, client credentials", lambda seed: _token(seed.admin, grant_type="client_credentials")),
    Case(
        "token, password",
        lambda seed: _token(seed.app, grant_type="password", username=seed.user.name, password=seed.user.secret),
    ),
    Case("read tenants", lambda seed: _get(TENANTS, seed.token)),
    Case("read users, 3 rows", lambda seed: _get(f"{TENANTS}/{seed.tenant}/users", seed.token)),
)
