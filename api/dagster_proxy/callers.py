"""Who sends a request: a browser that is logged in, or a program with the token. And what the routes need to find that out."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from starlette.requests import HTTPConnection

from api.dagster_proxy import credentials, rules
from api.dagster_proxy.sessions import Attempts, Sessions
from api.dagster_proxy.sites import Sites
from warehouse.errors import NotFound
from warehouse.secrets import hashing
from warehouse.settings import Settings


@dataclass
class ProxyServices:
    """What the routes share."""

    settings: Settings
    socket: Path
    clock: Callable[[], float]
    sites: Sites
    sessions: Sessions
    attempts: Attempts
    client: httpx.AsyncClient
    password_check: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting_logins: int = 0
    subscriptions: int = 0

    @property
    def home(self) -> Path:
        return self.settings.home

    def is_https(self, connection: HTTPConnection) -> bool:
        """Whether the browser reaches the UI through a TLS proxy."""
        return (rules.own_origin(connection, self.sites) or "").startswith("https:")

    def cookie_name(self, connection: HTTPConnection) -> str:
        """Browsers send a cookie to all ports of a name: two installations on one machine need two. Over TLS, the prefix makes
        browsers refuse one that another name has set.
        """
        return f"{'__Host-' if self.is_https(connection) else ''}kontor-dagster-{self.settings.dagster_port}"


def services_of(connection: HTTPConnection) -> ProxyServices:
    """What the application of a request shares."""
    services: ProxyServices = connection.app.state.services
    return services


def session_cookie(services: ProxyServices, connection: HTTPConnection) -> str:
    """The cookie of the login, empty if there is none."""
    return connection.cookies.get(services.cookie_name(connection), "")


def is_logged_in(services: ProxyServices, connection: HTTPConnection) -> bool:
    """Whether the browser has logged in, and neither its time nor the password has ended that."""
    cookie = session_cookie(services, connection)
    return services.sessions.is_open(cookie, credentials.password_hash(services.home), services.clock())


def has_token(services: ProxyServices, connection: HTTPConnection) -> bool:
    """Whether a program sends its token. The file is read each time, so that a new token holds at once."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return False
    try:
        return hashing.matches(token.strip(), hashing.digest(credentials.token(services.home)))
    except NotFound:
        return False
