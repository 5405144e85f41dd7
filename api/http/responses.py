"""Responses and links: bodies as exact JSON, and addresses that start with the setting `base_url`, never with the Host header."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from starlette.responses import Response

from api.http.strict_json import render
from api.schemas.base import Relation
from api.schemas.languages import Language

SVG = "image/svg+xml; charset=utf-8"


@dataclass(frozen=True)
class Links:
    """Builds the absolute addresses of the interface's objects."""

    base_url: str

    def to(self, *segments: str) -> str:
        """The address of the object at this path."""
        return "/".join([self.base_url, *(quote(segment, safe="") for segment in segments)])


def json_response(zone: ZoneInfo, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response with a JSON body; its timestamps are in this time zone."""
    return Response(render(body, zone), status, headers, media_type="application/json")


def created_response(location: str) -> Response:
    """The response to a creation: no body, and the address of the new object."""
    return Response(status_code=201, headers={"Location": location})


def empty_response() -> Response:
    """The response to a change that returns nothing."""
    return Response(status_code=200)


def freshness(revision: int, version: str, *, precomputed: bool) -> dict[str, str]:
    """The headers that name the revision of the user's data behind a response, the version of model, knowledge and code, and
    whether it was computed in advance.
    """
    source = "precomputed" if precomputed else "live"
    return {"X-Analysis-Revision": str(revision), "X-Analysis-Version": version, "X-Analysis-Source": source}


def language_etag(state: str, language: Language) -> str:
    """The ETag of a state in a language; German, which is the usual one, adds nothing."""
    return f'"{state}"' if language == "de" else f'"{state}-{language}"'


def self_relation(href: str) -> list[Relation]:
    """The relations of an object that only links to itself."""
    return [Relation(rel="self", href=href)]
