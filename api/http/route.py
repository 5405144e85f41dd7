"""What every route does before its own code runs: checks for retired operations, Accept and token, and strict reading."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext
from email.message import Message as Header
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from api.http import strict_json
from api.http.asker import asker, set_asker
from api.http.authorization import needs_of
from api.http.errors import Problem, wrong
from api.http.mistakes import NOTHING, mistake
from api.http.negotiation import begin_choice
from api.schemas.languages import Text
from warehouse.settings import Settings

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
CHARSETS = ("utf-8", "utf8", "us-ascii")
LATIN_1 = "iso-8859-1"
MAX_FORM_FIELDS = 50
MAX_INLINE_BYTES = 64 * 1024  # parsing more would block the event loop
JSON_TEXTS: dict[str, Text] = {
    "not UTF-8": Text("kein gültiges JSON: nicht in UTF-8", "not valid JSON: not in UTF-8"),
    "duplicate key": Text("kein gültiges JSON: ein Schlüssel steht mehrfach", "not valid JSON: a key is repeated"),
    "not a number": Text(
        "kein gültiges JSON: NaN und Infinity sind keine Zahlen", "not valid JSON: NaN and Infinity are not numbers"
    ),
    "a number has too many digits": Text(
        "eine Zahl hat zu viele Ziffern oder einen zu großen Exponenten", "a number has too many digits or too large an exponent"
    ),
    "control character or lone surrogate": Text(
        "ein Text enthält Steuerzeichen oder ein halbes Surrogatpaar", "a string contains controls or half of a surrogate pair"
    ),
    "nested too deeply": Text("mehr als 32 Ebenen ineinander", "more than 32 levels of nesting"),
}
"""What is wrong with a body that is not strict JSON, by the reason of `NotStrictJson`."""
NOT_JSON = Text("kein gültiges JSON", "not valid JSON")
NOT_JSON_AT = Text("kein gültiges JSON ab Zeile {line}, Spalte {column}", "not valid JSON at line {line}, column {column}")
CONTROLS = Text("enthält Steuerzeichen", "contains control characters")
TOO_LARGE = Text("Höchstens {limit} Bytes sind möglich.", "At most {limit} bytes are possible.")
OFFERED = Text("angeboten wird {types}", "offered are {types}")
EXPECTED_TYPE = Text("erwartet wird {type} in UTF-8", "expected is {type} in UTF-8")
LARGE = "x-large-body"  # in the openapi_extra of a route: it accepts bodies up to the larger limit
UPLOAD = "x-upload"  # the same for files: up to the larger limit, beside what a form writes around them
FORM_BYTES = 64 * 1024
T = TypeVar("T")


class StrictRequest(Request):
    """A request whose body is limited in size and time, and parsed strictly."""

    async def body(self) -> bytes:
        """The whole body; 413 as soon as it exceeds the limit, 408 if it does not arrive in time."""
        if not hasattr(self, "_body"):
            settings: Settings = self.app.state.services.settings
            try:
                async with asyncio.timeout(settings.body_timeout_seconds):
                    self._body = await self._read(self._limit(settings))
            except TimeoutError as error:
                raise Problem(408, headers={"Connection": "close"}) from error
        return self._body

    def _limit(self, settings: Settings) -> int:
        extra = getattr(self.scope.get("route"), "openapi_extra", None) or {}
        if extra.get(UPLOAD):
            return settings.large_body_limit_bytes + FORM_BYTES
        return settings.large_body_limit_bytes if extra.get(LARGE) else settings.body_limit_bytes

    async def _read(self, limit: int) -> bytes:
        declared = self.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > limit:
            raise _too_large(limit)
        chunks, size = [], 0
        async for chunk in self.stream():
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            chunks.append(chunk)
        return b"".join(chunks)

    async def json(self) -> Any:
        """The body as strict JSON."""
        body = await self.body()
        try:
            if len(body) <= MAX_INLINE_BYTES:
                return strict_json.parse(body)
            async with nullcontext() if _takes_large(self) else self.app.state.services.large_bodies.hold(*asker()):
                return await run_in_threadpool(strict_json.parse, body)
        except strict_json.NotStrictJson as error:
            raise _not_json(error) from error

    async def fields(self) -> dict[str, str]:
        """The fields of a form body, each of which may occur only once. Java's usual HTTP client names ISO 8859-1 for forms."""
        charset = LATIN_1 if require_content_type(self.headers, FORM, (*CHARSETS, LATIN_1)) == LATIN_1 else "utf-8"
        try:
            pairs = parse_qsl(
                (await self.body()).decode(charset),
                keep_blank_values=True,
                encoding=charset,
                max_num_fields=MAX_FORM_FIELDS,
                errors="strict",
            )
        except ValueError as error:
            raise wrong("", Text("kein gültiges Formular", "not a valid form"), "form") from error
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise wrong("", Text("ein Feld steht mehrfach", "a field is repeated"), "form")
        if any(strict_json.CONTROL.search(text) for pair in pairs for text in pair):
            raise wrong("", CONTROLS, "form")
        return fields


class KontorRoute(APIRoute):
    """A route of the interface."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        needs = needs_of(self.dependant)
        produces = getattr(self.response_class, "media_type", None) or JSON
        accepted_types = {produces, *getattr(self.response_class, "also_accepted", ())}
        takes_json = self.body_field is not None
        takes_thread = not asyncio.iscoroutinefunction(self.endpoint)

        async def check_and_handle(request: Request) -> Response:
            if self.unique_id in request.app.state.services.settings.retired_operations:
                raise Problem(410)
            choice = begin_choice(request.scope["headers"])
            if needs is not None:
                await needs.check(request)
                set_asker(request.state.caller.tenant_id, request.state.caller.user_id)
            require_accept(request.headers, *accepted_types)
            if request.scope["query_string"]:
                refuse_repeated(request.query_params.multi_items())
            if takes_json and request.headers.get("content-type") is not None:
                require_content_type(request.headers, JSON)
            async with large_body_slot(request):
                response = await run(StrictRequest(request.scope, request.receive))
            if request.method == "GET" and needs is not None:
                response = with_etag(request, response)
            if choice.is_used:
                response.headers["Content-Language"] = choice.language
                response.headers.add_vary_header("Accept-Language")
            return response

        async def run(request: StrictRequest) -> Response:
            """The response; a route that takes a thread waits for its turn, after its body has arrived."""
            if not takes_thread:
                return await handle(request)
            if takes_json:
                await request.body()
            async with request.app.state.services.threads.hold(*asker()):
                return await handle(request)

        return check_and_handle


@asynccontextmanager
async def large_body_slot(request: Request) -> AsyncIterator[None]:
    """Holds a slot from before a large body is read until its request is handled: what is parsed takes up to fifty times the
    memory of the text, and would otherwise wait in any number for what comes next.
    """
    async with request.app.state.services.large_bodies.hold(*asker()) if _takes_large(request) else nullcontext():
        yield


def _takes_large(request: Request) -> bool:
    """Whether a request may bring a large body, on a route that accepts such. These wait for no bank."""
    extra = getattr(request.scope.get("route"), "openapi_extra", None) or {}
    declared = request.headers.get("content-length", "0")
    is_short = "transfer-encoding" not in request.headers and declared.isdigit() and int(declared) <= MAX_INLINE_BYTES
    return bool(extra.get(LARGE)) and not is_short


def router(prefix: str, tag: str) -> APIRouter:
    """A router for one chapter of the interface. Operation ids are the names of the functions."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=KontorRoute, generate_unique_id_function=lambda route: route.name)


def validated(kind: TypeAdapter[T], content: Any) -> T:
    """The content of a body as its type; raises with the first problem if it does not fit.

    For large bodies, which a route takes as they are (`SkipValidation`): FastAPI would check them on the event loop.
    """
    try:
        return kind.validate_python(content)
    except ValidationError as error:
        raise RequestValidationError(
            [{**item, "loc": ("body", *item["loc"])} for item in error.errors(include_url=False)]
        ) from error


def with_etag(request: Request, response: Response) -> Response:
    """The response with an ETag of its content, or 304 for a caller that has this content."""
    body = getattr(response, "body", b"")
    if response.status_code != 200 or not body or "etag" in response.headers:
        return response
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if has_etag(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    response.headers["ETag"] = etag
    return response


def has_etag(request: Request, etag: str) -> bool:
    """Whether the caller already has the content of this ETag."""
    etags = [item.strip().removeprefix("W/") for item in request.headers.get("if-none-match", "").split(",")]
    return etag in etags or etags == ["*"]


def require_accept(headers: Headers, *media_types: str) -> None:
    """Raises if the caller accepts none of the media types of the route."""
    accept = headers.get("accept")
    groups = {media_type.split("/")[0] + "/*" for media_type in media_types}
    if accept is not None and not _accepts(accept, {*media_types, *groups, "*/*"}):
        raise Problem(406, mistakes=[mistake("Accept", OFFERED, "header", accept, types=", ".join(sorted(media_types)))])


def takes_gzip(request: Request) -> bool:
    """Whether the caller accepts gzip."""
    return _accepts(request.headers.get("accept-encoding", ""), {"gzip"})


def _accepts(header: str, names: set[str]) -> bool:
    """Whether a header lists one of the names with a quality above zero."""
    for item in header.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        if name in names and not any(parameter in ("q=0", "q=0.0", "q=0.00", "q=0.000") for parameter in parameters):
            return True
    return False


def require_content_type(headers: Headers, expected: str, charsets: tuple[str, ...] = CHARSETS) -> str:
    """The charset of a body. Raises for a body of another type or of another charset than these."""
    header = Header()
    header["content-type"] = headers.get("content-type", "")
    charset = header.get_content_charset("utf-8")
    media_type = headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != expected or charset not in charsets:
        sent_value = headers.get("content-type", NOTHING)
        raise Problem(415, mistakes=[mistake("Content-Type", EXPECTED_TYPE, "header", sent_value, type=expected)])
    return charset


def refuse_repeated(items: list[tuple[str, str]]) -> None:
    """Raises for a query with a repeated parameter, since no rule says which one counts, or with control characters."""
    if len({name for name, _ in items}) != len(items):
        raise wrong("", Text("ein Parameter steht mehrfach", "a parameter is repeated"), "query")
    if any(strict_json.CONTROL.search(text) for pair in items for text in pair):
        raise wrong("", CONTROLS, "query")


def _too_large(limit: int) -> Problem:
    """The error of a body that exceeds its limit."""
    text = Text(*(part.format(limit=limit) for part in TOO_LARGE))
    return Problem(413, text, headers={"Connection": "close"})


def _not_json(error: strict_json.NotStrictJson) -> Problem:
    """The error of a body that is not strict JSON: why, and where if that is known."""
    if error.line is not None:
        return wrong("", NOT_JSON_AT, line=error.line, column=error.column)
    return wrong("", JSON_TEXTS.get(error.reason, NOT_JSON))
