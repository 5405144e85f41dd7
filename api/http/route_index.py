"""Finds the route of a request in a time that does not grow with the number of routes."""

from collections.abc import Iterable
from typing import Any

from starlette.datastructures import URLPath
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from api.http.route import KontorRoute


class RouteIndex(BaseRoute):
    """Finds a route by method, first segment and number of segments instead of trying one after the other.

    With dozens of routes, trying each costs more than the response. Requests without a match go on to the routes behind the
    index, which respond with 404 and 405.
    """

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._candidates: dict[tuple[str, str, int], list[KontorRoute]] = {}
        for route in routes:
            if isinstance(route, KontorRoute):
                for method in route.methods or ():
                    self._candidates.setdefault(self._key(method, route.path), []).append(route)

    @staticmethod
    def _key(method: str, path: str) -> tuple[str, str, int]:
        segments = path.split("/", 2)
        return method, segments[1] if len(segments) > 1 else "", path.count("/")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http":
            for route in self._candidates.get(self._key(scope["method"], scope["path"]), ()):
                match, child_scope = route.matches(scope)
                if match is Match.FULL:
                    return match, child_scope
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["route"].handle(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: Any) -> URLPath:
        raise NoMatchFound(name, path_params)
