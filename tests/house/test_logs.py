"""What a request says of itself in its address stays out of the log: addresses of the redirect form carry secrets."""

import socket
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.stack import PASSWORD, Stack, TenantUnderTest, wait_until

FORM = "/customer/v2/webform"


def answered(http: httpx.Client, method: str, path: str, query: dict[str, str]) -> str:
    """The correlation id of a request that was answered."""
    return http.request(method, path, params=query).headers["x-correlation-id"]


def raw(http: httpx.Client, head: str) -> str:
    """The answer to bytes that no HTTP library would send."""
    with socket.create_connection((http.base_url.host, http.base_url.port or 80), timeout=20) as line:
        line.sendall(head.encode())
        return line.recv(65536).decode()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", FORM),
        ("GET", f"{FORM}/"),
        ("HEAD", FORM),
        ("POST", FORM),
        ("PUT", FORM),
        ("GET", f"{FORM}/nowhere"),
        ("GET", "/customer/v2/nowhere"),
        ("GET", "/customer/v2"),
        ("POST", "/customer/v2/payment/single-transfer"),
    ],
)
def test_values_of_a_query_are_not_in_the_log(stack: Stack, http: httpx.Client, method: str, path: str) -> None:
    secret, host = f"secret-{uuid.uuid4().hex}", f"{uuid.uuid4().hex}.example"
    stack.private |= {secret, host}
    correlation_id = answered(http, method, path, {"session": secret, "callbackUrl": f"https://{host}/back?state={secret}"})
    _require_silence(stack, secret, host, logged=lambda: correlation_id in stack.log.read_text())


@pytest.mark.parametrize(
    "head",
    [
        "GET {path} HTTP/9.9\r\n\r\n",
        "GET {path}\r\n\r\n",
        "NONSENSE {path} HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET {path} HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n",
        "GET {path}&long={long} HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        "GET {path} HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\n\r\n",
        "GET https://x.example{path} HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
def test_neither_are_those_of_requests_that_are_refused_unread(stack: Stack, http: httpx.Client, head: str) -> None:
    secret, host = f"secret-{uuid.uuid4().hex}", f"{uuid.uuid4().hex}.example"
    stack.private |= {secret, host}
    answer = raw(http, head.format(path=f"{FORM}?session={secret}&callbackUrl=https://{host}/back", long="x" * 70_000))
    assert answer.startswith(("HTTP/1.1 4", "HTTP/1.1 303"))  # refused, or led to the page for those who may not come in
    assert secret not in answer
    after = answered(http, "GET", "/health", {})
    _require_silence(stack, secret, host, logged=lambda: after in stack.log.read_text())


def test_what_is_sent_cannot_write_lines_of_its_own(stack: Stack, http: httpx.Client) -> None:
    name, forged = uuid.uuid4().hex, '{"event":"forged"}'
    for sent in (f"%0d%0a{forged}", f"%1b[2J{forged}", f"%e2%80%a8{forged}"):
        http.get(f"/{name}{sent}", headers={"User-Agent": "x\ty", "X-Correlation-ID": f"{name}\x1b[2J"})
        http.post(
            "/auth/oauth2/token", data={"grant_type": f"\r\n{forged}", "username": f"\x1b{name}"}, auth=(f"\n{forged}", "x")
        )
    after = answered(http, "GET", "/health", {})
    wait_until(lambda: after in stack.log.read_text(), 20)
    assert all(isinstance(line, dict) and line["event"] != "forged" for line in stack.log_lines())
    _require_silence(stack, name, "\x1b", "forged", logged=lambda: True)


def line_of(stack: Stack, correlation_id: str) -> dict[str, Any]:
    """The line of a request, once it is written."""
    lines: list[dict[str, Any]] = []

    def is_written() -> bool:
        lines[:] = [line for line in stack.log_lines() if line.get("correlation_id") == correlation_id]
        return bool(lines)

    wait_until(is_written, 20)
    return lines[0]


def test_a_token_that_lacks_the_scope_is_named_with_its_client(stack: Stack, http: httpx.Client, r1: TenantUnderTest) -> None:
    correlation_id = uuid.uuid4().hex
    refused = http.get("/customer/v2/bankzugaenge", headers={**r1.bearer("admin"), "X-Correlation-ID": correlation_id})
    line = line_of(stack, correlation_id)
    assert (refused.status_code, line["status"], line["tenant"], line["client"]) == (403, 403, r1.name, "admin")


@pytest.mark.parametrize("password", [PASSWORD, "falsch"])
def test_a_login_is_named_with_its_client(stack: Stack, http: httpx.Client, r1: TenantUnderTest, password: str) -> None:
    name, correlation_id = r1.add_user(), uuid.uuid4().hex
    form = {"grant_type": "password", "username": name, "password": password}
    answer = http.post("/auth/oauth2/token", data=form, auth=r1.basic("app"), headers={"X-Correlation-ID": correlation_id})
    line = line_of(stack, correlation_id)
    assert (line["status"], line["tenant"], line["client"]) == (answer.status_code, r1.name, "app")
    assert answer.status_code == (200 if password == PASSWORD else 401)


def _require_silence(stack: Stack, *private: str, logged: Callable[[], bool]) -> None:
    """The request is in the log, and these texts are not."""
    wait_until(logged, 20)
    log = stack.log.read_text() + stack.worker_log.read_text()
    assert [text for text in private if text in log] == []
