"""Answers and links: bodies as exact JSON, and addresses that start with the setting `base_url`, never with the Host header."""

from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from api.http.strict_json import render
from api.schemas.base import Relation
from api.services import Services


def answer(held: Services, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response with a JSON body."""
    return Response(render(body, held.settings.zone), status, headers, media_type="application/json")


def created(location: str) -> Response:
    """The answer to a creation: no body, and the address of what was made."""
    return Response(status_code=201, headers={"Location": location})


def done() -> Response:
    """The answer to a change that has nothing to say."""
    return Response(status_code=200)


def freshness(revision: int, *, precomputed: bool) -> dict[str, str]:
    """The headers that say from which state of the user's data an answer was computed, and when: beforehand or now."""
    return {"X-Analysis-Revision": str(revision), "X-Analysis-Source": "precomputed" if precomputed else "live"}


def link(held: Services, *segments: str) -> str:
    """The absolute address of an object."""
    return "/".join([held.settings.base_url, *(quote(segment, safe="") for segment in segments)])


def self_relation(href: str) -> list[Relation]:
    """The relations of an object that has none but itself."""
    return [Relation(rel="self", href=href)]
