"""Numbers that take few bytes and long to compute with: refused for every field of every operation, and nobody waits for it."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.stack import Stack, TenantUnderTest
from warehouse import scopes

NOBODY = "00000000-0000-0000-0000-000000000000"
DIGITS = "9" * 900_000
EXPLOSIVE = ("1E+3000000", "-1e3000000", "1E-3000000", "0E+3000000", f"{DIGITS}.0", f"0.{DIGITS}", DIGITS)
IN_ADDRESS = ("1E+3000000", "9" * 30_000, "-1", "1.0", "٣", "0x10")
MAX_SECONDS = 10
"""A busy machine is no failure; without the rule, it would be minutes."""
NUMBER = "NUMBER"


@pytest.fixture(scope="module")
def document(http: httpx.Client) -> dict[str, Any]:
    document: dict[str, Any] = http.get("/openapi.json").json()
    return document


def numeric_bodies(document: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """Bodies of a schema, each with one of its numeric fields, as JSON with `NUMBER` in its place."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    if schema.get("type") in ("number", "integer"):
        yield NUMBER
    if depth > 6:
        return
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from numeric_bodies(document, part, depth + 1)
    for name, field in schema.get("properties", {}).items():
        yield from (f'{{"{name}": {inside}}}' for inside in numeric_bodies(document, field, depth + 1))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from (f'{{"key": {inside}}}' for inside in numeric_bodies(document, schema["additionalProperties"], depth + 1))
    if "items" in schema:
        yield from (f"[{inside}]" for inside in numeric_bodies(document, schema["items"], depth + 1))


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


class Caller:
    """Calls operations with a token that they accept."""

    def __init__(self, tenant: TenantUnderTest) -> None:
        self.tenant, self.tokens = tenant, {True: tenant.bearer("app", "anna"), False: tenant.bearer("admin")}

    def call(self, method: str, path: str, operation: dict[str, Any], **request: Any) -> httpx.Response:
        required = [scope for entry in operation["security"] for needed in entry.values() for scope in needed]
        values = {"tenant": self.tenant.name, "client": "app", "role": "customer", "access": "unknown", "product": "unknown"}
        names = [parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"]
        address = path.format(**{name: values.get(name, NOBODY) for name in names})
        headers = {**self.tokens[any(scope in scopes.CUSTOMER for scope in required)], "Customer-IP-Address": "84.112.10.7"}
        headers |= request.pop("headers", {})
        began_at = time.monotonic()
        answer = self.tenant.stack.http.request(method, address, headers=headers, **request)
        assert time.monotonic() - began_at < MAX_SECONDS, (method, path)
        return answer


def test_every_numeric_field_of_every_body(document: dict[str, Any], r1: TenantUnderTest) -> None:
    caller, count = Caller(r1), 0
    for method, path, operation in operations(document):
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        bodies = sorted(set(numeric_bodies(document, schema))) if schema else []
        for number, body in enumerate(bodies):
            count += 1
            for text in EXPLOSIVE if number == 0 else EXPLOSIVE[:2]:
                content = body.replace(NUMBER, text).encode()
                answer = caller.call(method, path, operation, content=content, headers={"Content-Type": "application/json"})
                assert answer.status_code in (400, 401, 403, 404, 413), (method, path, text[:20], answer.text)
                assert answer.headers["X-Correlation-Id"]
    assert count >= 5


def test_every_numeric_parameter(document: dict[str, Any], r1: TenantUnderTest) -> None:
    caller, count = Caller(r1), 0
    for method, path, operation in operations(document):
        for parameter in operation["parameters"]:
            if parameter["in"] != "query" or "integer" not in str(parameter["schema"]):
                continue
            count += 1
            for text in IN_ADDRESS:
                answer = caller.call(method, path, operation, params={parameter["name"]: text})
                assert answer.status_code in (400, 404), (method, path, parameter["name"], text[:20], answer.text)
    assert count >= 2


@pytest.mark.parametrize("text", ["1E+3000000", "9" * 30_000, "٣"])
def test_numbers_in_paths(http: httpx.Client, r1: TenantUnderTest, text: str) -> None:
    bearer = r1.bearer("app", "anna")
    for path in (f"/customer/v2/ai/tagtrees/{text}", f"/customer/v2/ai/tagtrees/1/{text}"):
        assert http.get(path, headers=bearer).status_code in (400, 404)


def test_a_number_of_the_usual_size_is_read(stack: Stack, r1: TenantUnderTest) -> None:
    """The limit is far from what anybody means."""
    answer = stack.http.post(
        r1.path("users"),
        content=b'{"username": 1E+3, "password": 12.50}',
        headers={**r1.bearer(), "Content-Type": "application/json"},
    )
    assert answer.status_code == 400
    assert "username" in answer.text
