"""Which requests are refused before anybody looks at who sends them. Pure."""

from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from api.dagster_proxy.sites import Sites

GRAPHQL = "/graphql"
READING_METHODS = frozenset({"GET", "HEAD"})
METHODS = frozenset({*READING_METHODS, "POST"})
OWN_SITE = frozenset({"same-origin", "none"})
"""`Sec-Fetch-Site` of our own pages, and of addresses that the user typed or opened from a program."""


@dataclass(frozen=True)
class Refusal:
    """The status and text of a refused request."""

    status: int
    text: str
    headers: dict[str, str] = field(default_factory=dict)


LOGGED_OUT = Refusal(401, "Log in, or send the token of programs.", {"WWW-Authenticate": "Bearer"})
NO_ORIGIN = Refusal(403, "A change must come from a page of this origin, or from a program with its token.")
SILENT = Refusal(502, "Dagster does not answer. See the log of dagster-webserver.")


def own_origin(connection: HTTPConnection, sites: Sites) -> str | None:
    """The origin of our own pages under the name that the request was sent to, or none if it is not served."""
    hosts = connection.headers.getlist("host")
    return sites.origin(hosts[0]) if len(hosts) == 1 else None


def refusal(connection: HTTPConnection, sites: Sites) -> Refusal | None:
    """Why a request is refused whoever sends it, if it is."""
    origin = own_origin(connection, sites)
    if origin is None:
        return Refusal(421, "This name is not served here. KONTOR_DAGSTER_ORIGINS lists the addresses of the Dagster UI.")
    if any(sender != origin for sender in connection.headers.getlist("origin")):
        return Refusal(403, "This request comes from a page of another origin.")
    if _is_embedded(connection):
        return Refusal(403, "This request comes from a page of another site.")
    return None if connection.scope["type"] == "websocket" else _unfit_method(connection)


def is_graphql(connection: HTTPConnection) -> bool:
    """Whether a request is for the GraphQL interface."""
    return str(connection.scope["path"]).rstrip("/") == GRAPHQL


def has_origin(connection: HTTPConnection) -> bool:
    """Whether a browser says which page sent the request. Programs do not."""
    return "origin" in connection.headers


def _is_embedded(connection: HTTPConnection) -> bool:
    """Whether another site's page sent this for itself. A link that the user follows is not that."""
    headers = connection.headers
    if headers.get("sec-fetch-site", "none") in OWN_SITE:
        return False
    follows_link = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return not (follows_link and connection.scope.get("method") in READING_METHODS)


def _unfit_method(connection: HTTPConnection) -> Refusal | None:
    method = connection.scope["method"]
    if is_graphql(connection):
        if method != "POST":
            return Refusal(405, "GraphQL is called by POST.", {"Allow": "POST"})
        media_type = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            return Refusal(415, "GraphQL is called with a body of application/json.")
    elif method not in METHODS:
        return Refusal(405, "This method is not allowed.", {"Allow": ", ".join(sorted(METHODS))})
    return None
