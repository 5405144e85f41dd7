"""Hostile values for every field of every body, query and path of the OpenAPI document: numbers that explode, huge strings, and
Unicode that breaks parsers, comparisons and normal forms. Every one is answered in our shape, soon, and no process dies of it.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_from_bytes

import httpx

from tests.support.stack import Customer, Stack
from warehouse import scopes

HOLE = "@hostile@"
NOBODY = "00000000-0000-0000-0000-000000000000"
MAX_DEPTH = 7
MAX_SECONDS = 10.0
MAX_IN_ADDRESS = 8_000
RENEWED_AFTER_REQUESTS = 250
IP = {"Customer-IP-Address": "84.112.10.7"}
NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "-0", "-0.0", "0E0", "1E400", "-1E400", "1E-400", "1E+3000000", "0E+3000000", "1e308"),
    *("9" * 400, "9" * 30_000, "0." + "1" * 400, "0.1" + "0" * 5_000 + "1", "1." + "0" * 100_000, "9" * 900_000),
    *("9007199254740993", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "2147483648"),
    *("0.30000000000000004", "0.005", "1234567890.123456789", "00", "+1", ".5", "5.", "0x10", "1_000", "1e", "--1"),
)
TEXTS = (
    *("", " ", "\t", "a" * 5_000, "a" * 300_000, "-" * 5_000, "0" * 5_000, "null", "true", "%00", "%", "../../etc/passwd"),
    *(
        "' OR 1=1 --",
        '"; DROP TABLE users; --',
        "{{7*7}}",
        "${jndi:ldap://x}",
        "<script>alert(1)</script>",
        "a\r\nSet-Cookie: x=1",
    ),
    *("e" + "\u0301" * 5_000, "\u0301" * 100_000, "\u0315\u0300" * 20_000, "\u0345" * 1_000, "Z\u0351\u036b\u0343" * 500),
    *(
        "\u1100\u1161\u11a8" * 20_000,
        "\ufdfa" * 20_000,
        "\u1e9b\u0323" * 10_000,
        "\u0130" * 20_000,
        "\u00df" * 20_000,
        "\ufb03" * 5_000,
    ),
    *(
        "\u202eabc\u2066\u2067\u2069",
        "\u202e" * 2_000,
        "\u200b\u200d\ufeff",
        "\u2028\u2029",
        "\x00",
        "a\x00b",
        "\x1b[31m",
        "\x7f",
        "\x85",
    ),
    *(
        "\U0001f600" * 20_000,
        "\U0010ffff",
        "\uffff\ufffe",
        "\ufdd0",
        "\U000e0041" * 500,
        "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 500,
    ),
    *(
        "\ud800",
        "\udfff\ud800",
        "a\udc00" * 100,
        "\u0661\u0662\u0663",
        "\uff11\uff12",
        "\u2460",
        "\u00bd",
        "\u03c2\u03c3",
        "\u0131I",
    ),
    *(
        "9999-99-99",
        "2026-02-30",
        "0000-00-00",
        "-0001-01-01",
        "99999-01-01",
        "2026-11-17T25:61:61Z",
        "2026-11-17 00:00:00+99:99",
    ),
    *(
        "DE" + "9" * 5_000,
        "DE00" + "\u0661" * 18,
        "https://" + "a" * 5_000,
        "https://[::1",
        "https://user@:99999/",
        "//evil.example",
        "^(a+)+$",
    ),
)
BYTES = (
    b'"\xff\xfe"',
    b'"\xc0\x80"',
    b'"\xed\xa0\x80"',
    b'"\xf4\x90\x80\x80"',
    b'"\xe2\x82"',
    b'"\\ud800"',
    b'"\\u0000"',
    b'"\\ud83d\\ude00"',
)
OTHERS = (b"null", b"true", b"[]", b"{}", b"[" * 40 + b"]" * 40, b'{"a":' * 40 + b"1" + b"}" * 40, b'{"a":1,"a":2}', b"", b"[1,]")
IN_BODIES = (
    *(number.encode() for number in NUMBERS),
    *(json.dumps(text).encode() for text in TEXTS),
    *(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass") for text in TEXTS),
    *(json.dumps(number).encode() for number in NUMBERS),
    *BYTES,
    *OTHERS,
)
IN_ADDRESSES = tuple(
    quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")[:MAX_IN_ADDRESS] for text in (*TEXTS, *NUMBERS) if text
)


@dataclass(frozen=True)
class Place:
    """Where a value can stand in a request: an operation, and a part of it with a hole."""

    method: str
    path: str
    operation: dict[str, Any]
    kind: str
    """`body`, `form`, `raw`, `query` or `path`."""
    hole: str
    """A body with a hole, or the name of a parameter or form field."""


@dataclass
class Findings:
    """What was sent, and what must not be."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    slowest_seconds: float = 0.0
    slowest: str = ""


def places(document: dict[str, Any]) -> Iterator[Place]:
    """Every place of every operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] in ("query", "path") and not _deletes_by_query(method, parameter):
                    yield Place(method.upper(), path, operation, parameter["in"], parameter["name"])
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                yield from _in_content(document, method.upper(), path, operation, media_type, content["schema"])


def _deletes_by_query(method: str, parameter: dict[str, Any]) -> bool:
    """Whether a value would be ignored and the rest would delete what later requests need."""
    return method == "delete" and parameter["in"] == "query"


def _in_content(
    document: dict[str, Any], method: str, path: str, operation: dict[str, Any], media_type: str, schema: dict[str, Any]
) -> Iterator[Place]:
    if media_type == "application/json":
        for body in {json.dumps(body): None for body in with_hole(document, schema)}:
            yield Place(method, path, operation, "body", body)
    elif "form" in media_type:
        for name in _resolved(document, schema).get("properties", {}):
            yield Place(method, path, operation, "form", name)
    else:
        yield Place(method, path, operation, "raw", media_type)


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema


def with_hole(document: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Iterator[Any]:
    """Bodies of a schema that are complete but for one field each, in whose place is a hole; the whole body is one of them."""
    schema = _resolved(document, schema)
    yield HOLE
    if depth > MAX_DEPTH:
        return
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from with_hole(document, part, depth + 1)
    properties = schema.get("properties", {})
    rest = {name: sample(document, inside) for name, inside in properties.items()}
    for name, inside in properties.items():
        yield from ({**rest, name: value} for value in with_hole(document, inside, depth + 1))
    if isinstance(schema.get("additionalProperties"), dict):
        yield {HOLE: sample(document, schema["additionalProperties"])}
        yield from ({"known": value} for value in with_hole(document, schema["additionalProperties"], depth + 1))
    if "items" in schema:
        yield from ([value] for value in with_hole(document, schema["items"], depth + 1))


def sample(document: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Any:
    """A plausible value of a schema: its example where it has one."""
    schema = _resolved(document, schema)
    for given in ([schema["default"]] if "default" in schema else [], schema.get("examples", []), schema.get("enum", [])):
        if given:
            return given[0]
    parts = [part for name in ("anyOf", "oneOf", "allOf") for part in schema.get(name, ())]
    if parts and depth <= MAX_DEPTH:
        return sample(document, parts[0], depth + 1)
    if schema.get("type") == "object" and depth <= MAX_DEPTH:
        return {name: sample(document, inside, depth + 1) for name, inside in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        return [sample(document, schema["items"], depth + 1)] if depth <= MAX_DEPTH else []
    return {"number": 1.5, "integer": 1, "boolean": True, "null": None}.get(str(schema.get("type")), "text")


class Attacker:
    """Sends hostile values as a client, or as one of its customers, whatever an operation wants."""

    def __init__(self, stack: Stack, customer: Customer, access: str, seed: int) -> None:
        self.stack, self.customer, self.chance = stack, customer, random.Random(seed)
        self.document: dict[str, Any] = stack.http.get("/openapi.json").json()
        self.places = list(places(self.document))
        product = customer.access(access)["bankprodukte"][0]["id"]
        names = {"tenant": customer.tenant.name, "client": "app", "role": "customer", "access": access, "product": product}
        self.names = {**names, "tree": "1", "provider": NOBODY}
        self.findings = Findings()
        self._log_in()

    def _log_in(self) -> None:
        tenant = self.customer.tenant
        self.tokens = {True: tenant.bearer("app", self.customer.username), False: tenant.bearer("admin")}

    def attack(self, seconds: float) -> Findings:
        """Visits all places in turn, each time with another value, until the time is over."""
        deadline, turn = time.monotonic() + seconds, 0
        while time.monotonic() < deadline:
            if turn % len(self.places) == 0:
                self.chance.shuffle(self.places)
            if turn % RENEWED_AFTER_REQUESTS == RENEWED_AFTER_REQUESTS - 1:
                self._log_in()
            self._send(self.places[turn % len(self.places)])
            turn += 1
        return self.findings

    def _send(self, place: Place) -> None:
        request, value = self._request(place)
        began_at = time.monotonic()
        try:
            answer = self.stack.http.send(request)
        except httpx.TransportError as error:
            self._find(place, value, f"no answer: {type(error).__name__}")
            return
        lasted = time.monotonic() - began_at
        findings = self.findings
        findings.requests += 1
        findings.statuses[answer.status_code] += 1
        if lasted > findings.slowest_seconds:
            findings.slowest_seconds, findings.slowest = lasted, f"{place.method} {place.path} {place.kind}: {value[:20]!a}"
        if lasted > MAX_SECONDS:
            self._find(place, value, f"{lasted:.0f} s")
        if problem := problem_of(answer):
            self._find(place, value, problem)

    def _find(self, place: Place, value: str, problem: str) -> None:
        self.findings.problems[
            f"{place.method} {place.path} {place.kind} {place.hole[:120]}: {problem}; value {value[:60]!a}"
        ] += 1

    def _request(self, place: Place) -> tuple[httpx.Request, str]:
        """The request, and the value in it."""
        inside: Any = self.chance.choice(IN_ADDRESSES if place.kind in ("query", "path", "form") else IN_BODIES)
        names = {parameter["name"]: NOBODY for parameter in place.operation.get("parameters", ()) if parameter["in"] == "path"}
        names |= {name: value for name, value in self.names.items() if name in names}
        address, headers = self.stack.base_url, dict(IP)
        if place.kind == "path":
            names[place.hole] = inside
        address += place.path.format(**names)
        if place.kind == "query":
            address += f"?{place.hole}={inside}"
        content: bytes | None = None
        if place.kind == "body":
            headers["Content-Type"] = "application/json"
            is_name = f'"{HOLE}":' in place.hole
            filling = inside if not is_name or inside.startswith(b'"') else json.dumps(inside.decode("utf-8", "replace")).encode()
            content = place.hole.encode().replace(f'"{HOLE}"'.encode(), filling)
        elif place.kind == "form":
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            content = f"grant_type=password&username=a&password=b&token=c&{place.hole}={inside}".encode()
        elif place.kind == "raw":
            headers["Content-Type"], content = place.hole, inside
        elif place.method in ("POST", "PUT", "PATCH") and "requestBody" in place.operation:
            headers["Content-Type"], content = "application/json", b"{}"
        required = [scope for entry in place.operation.get("security", ()) for needed in entry.values() for scope in needed]
        headers |= self._login(place, required)
        request = self.stack.http.build_request(place.method, address, headers=headers, content=content)
        return request, inside if isinstance(inside, str) else inside[:80].decode("utf-8", "replace")

    def _login(self, place: Place, required: list[str]) -> dict[str, str]:
        if any("basic" in entry for entry in place.operation.get("security", ())):
            request = httpx.Request("GET", "http://x", headers={})
            flow = httpx.BasicAuth(*self.customer.tenant.basic("app")).auth_flow(request)
            return {"Authorization": next(flow).headers["Authorization"]}
        return self.tokens[any(scope in scopes.CUSTOMER for scope in required)]


def problem_of(answer: httpx.Response) -> str | None:
    """What is wrong with an answer: a failure of the server, or a refusal that has another shape than all refusals."""
    if answer.status_code >= 500:
        return f"{answer.status_code} {answer.headers.get('x-correlation-id')}"
    if "x-correlation-id" not in answer.headers:
        return f"{answer.status_code} without a correlation id"
    if answer.status_code < 400 or answer.headers.get("content-type", "").startswith("text/html"):
        return None
    try:
        body = answer.json()
    except ValueError:
        return f"{answer.status_code} without JSON"
    is_ours = isinstance(body, dict) and ("messages" in body or "error" in body)
    return None if is_ours else f"{answer.status_code} in another shape"
