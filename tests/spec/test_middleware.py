"""The HTTP surface that all endpoints share."""

import base64
import hashlib
import json
import re
import socket
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from tests.support.stack import PASSWORD, Stack, TenantUnderTest, wait_until
from warehouse.settings import Settings

TENANTS = "/auth/mgmt/v1/tenants"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def admin(r1: TenantUnderTest) -> dict[str, str]:
    return r1.bearer("admin")


def post_user(http: httpx.Client, tenant: TenantUnderTest, token: dict[str, str], content: Any, **headers: str) -> httpx.Response:
    return http.post(tenant.path("users"), content=content, headers={"Content-Type": "application/json", **token, **headers})


def user_json(**extra: Any) -> bytes:
    return json.dumps({"username": f"s-{uuid.uuid4().hex}", "password": PASSWORD, **extra}).encode()


def is_common_error(answer: httpx.Response, status: int) -> bool:
    messages = answer.json()["messages"]
    assert answer.status_code == status
    assert [message["level"] for message in messages] == ["ERROR"]
    assert messages[0]["message"]
    assert answer.headers["X-Correlation-ID"]
    return True


# --- correlation id ---


@pytest.mark.parametrize("length", [1, 95, 128])
def test_x_correlation_id_is_echoed_for_every_printable_value_up_to_128_characters(http: httpx.Client, length: int) -> None:
    printable = "".join(chr(code) for code in range(0x21, 0x7F))
    for first in printable if length == 1 else "!~":
        given = (first + printable + " " + printable)[: length - 1] + first
        assert http.get("/health", headers={"X-Correlation-ID": given}).headers["X-Correlation-ID"] == given


@pytest.mark.parametrize("given", ["order-4711", "A.b_c-9", "x" * 128, "with blank", "a/b", '{"trace": "4711"}', "a=b; c, d"])
def test_a_correlation_id_is_echoed(http: httpx.Client, given: str) -> None:
    for name in ("X-Correlation-ID", "x-correlation-id"):
        assert http.get("/health", headers={name: given}).headers["X-Correlation-ID"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "ümlaut".encode(), "a\tb", b"a\x7fb"])
def test_an_invalid_correlation_id_is_replaced(http: httpx.Client, given: Any) -> None:
    answer = http.get("/health", headers={"X-Correlation-ID": given})
    assert UUID.fullmatch(answer.headers["X-Correlation-ID"])


def test_every_answer_has_a_correlation_id_of_its_own(http: httpx.Client) -> None:
    ids = {http.get(path).headers["X-Correlation-ID"] for path in ("/health", "/health", TENANTS, "/nowhere")}
    assert len(ids) == 4
    assert all(UUID.fullmatch(value) for value in ids)


# --- errors ---


def test_error_bodies_have_one_shape(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    assert is_common_error(http.get("/nowhere"), 404)
    assert is_common_error(http.get(TENANTS), 401)
    assert is_common_error(http.get(TENANTS, headers={"Authorization": "Bearer x"}), 403)
    assert is_common_error(http.delete(TENANTS, headers=admin), 405)
    assert is_common_error(http.get(TENANTS, headers={**admin, "Accept": "text/html"}), 406)
    assert is_common_error(post_user(http, r1, admin, b"{"), 400)
    assert is_common_error(post_user(http, r1, admin, user_json(), **{"Content-Type": "text/plain"}), 415)
    assert is_common_error(post_user(http, r1, admin, b'"' + b"x" * 2**20 + b'"'), 413)


def test_what_is_secret_or_made_up_is_never_echoed(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    canary = "canary-4711"
    answers = [
        post_user(http, r1, admin, json.dumps({"username": {"x": canary}, "password": [canary], canary: 1})),
        post_user(http, r1, admin, json.dumps({canary: canary})),
        post_user(http, r1, admin, canary),
        http.get(f"{TENANTS}/{canary}", headers=admin),
        http.get(f"/{canary}"),
        http.post("/auth/oauth2/token", data={"grant_type": canary}, auth=r1.basic("admin")),
        http.post("/auth/oauth2/token", data={"grant_type": "client_credentials", "scope": canary}, auth=r1.basic("admin")),
    ]
    assert {answer.status_code for answer in answers} <= {400, 404}
    assert not any(canary in answer.text for answer in answers)


def test_an_error_says_which_field_is_wrong(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    details = post_user(http, r1, admin, b'{"username": 5}').json()["messages"][0]["details"]
    assert details == "username: muss ein Text sein; password: fehlt"


# --- strict JSON ---


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"{'username': 'a'}",
        b'{"username": "a", "password": "b", "username": "c"}',
        b'{"username": "a", "password": "b", "x": {"k": 1, "k": 2}}',
        b'{"username": "a", "password": "b", "x": NaN}',
        b'{"username": "a", "password": "b", "x": Infinity}',
        b'{"username": "a", "password": "b", "x": -Infinity}',
        b'{"username": "a", "password": "b", "x": 1' + b"0" * 5000 + b"}",
        b'{"username": "a\\u0000", "password": "b"}',
        b'{"username": "a", "password": "b\\u0007"}',
        b'{"username": "a", "password": "b\\b"}',
        b'{"username": "a", "password": "b\x07"}',
        b'{"username": "a", "password": "b", "\\u0000": 1}',
        b'{"username": "a", "password": "b\\ud800"}',
        b'{"username": "a", "password": "b\\udc00\\ud800"}',
        b'{"username": "a", "password": "b\xff"}',
        b'\xef\xbb\xbf{"username": "a", "password": "b"}',
        b'{"username": "a", "password": "b"} {}',
        b'{"username": "a", "password": "b", "x": ' + b"[" * 32 + b"]" * 32 + b"}",
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_json_that_is_not_plain_is_refused(
    http: httpx.Client, stack: Stack, r1: TenantUnderTest, admin: dict[str, str], content: bytes
) -> None:
    before = stack.sql("SELECT count(*) FROM users")
    assert is_common_error(post_user(http, r1, admin, content), 400)
    assert stack.sql("SELECT count(*) FROM users") == before


@pytest.mark.parametrize(
    "extra",
    [
        {"unknown": 1},
        {"backslash": "a\\u0000b"},
        {"emoji": "\U0001f600"},
        {"newline": "a\nb\tc"},
        {"deep": json.loads("[" * 31 + "]" * 31)},
        {"number": 1e30},
    ],
)
def test_json_that_is_plain_is_taken_and_unknown_fields_are_ignored(
    http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str], extra: dict[str, Any]
) -> None:
    assert post_user(http, r1, admin, user_json(**extra)).status_code == 201


# --- formats ---


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("*/*", 200),
        ("application/*", 200),
        ("text/html, application/json;q=0.5", 200),
        ("APPLICATION/JSON", 200),
        ("text/html", 406),
        ("application/xml", 406),
        ("application/json;q=0", 406),
        ("garbage", 406),
    ],
)
def test_accept(http: httpx.Client, admin: dict[str, str], accept: str, status: int) -> None:
    assert http.get(TENANTS, headers={**admin, "Accept": accept}).status_code == status


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("Application/JSON;charset=UTF-8", 201),
        ("application/json; charset=latin-1", 415),
        ("application/vnd.api+json", 415),
        ("text/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ],
)
def test_content_type(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str], content_type: str, status: int) -> None:
    assert post_user(http, r1, admin, user_json(), **{"Content-Type": content_type}).status_code == status


def test_a_body_without_content_type_is_refused(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    assert http.post(r1.path("users"), content=user_json(), headers=admin).status_code in (400, 415)


def test_compressed_requests_are_refused(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    import gzip

    answer = post_user(http, r1, admin, gzip.compress(user_json()), **{"Content-Encoding": "gzip"})
    assert is_common_error(answer, 415)


def test_bodies_above_one_mebibyte_are_refused_before_they_are_read(
    http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]
) -> None:
    read = 0

    def endless() -> Any:
        nonlocal read
        for _ in range(640):
            read += 1
            yield b" " * 2**16

    try:
        status = http.post(r1.path("users"), content=endless(), headers={**admin, "Content-Type": "application/json"}).status_code
        assert status == 413
    except httpx.WriteError:
        pass  # the connection was closed on us while we were still sending
    assert read < 640
    padded = user_json() + b" " * (2**20 - 200)
    assert post_user(http, r1, admin, padded[: 2**20]).status_code == 201


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 1000000000\r\n", b"Transfer-Encoding: chunked\r\n"], ids=["declared", "chunked"]
)
@pytest.mark.parametrize(("path", "status"), [("/customer/v2/bankzugaenge", b"401"), ("/no/such/path", b"404")])
def test_a_body_that_nobody_reads_is_not_drained_beyond_a_mebibyte(
    stack: Stack, framing: bytes, path: str, status: bytes
) -> None:
    """The answer comes while the caller is sending; whoever sends on is cut off."""
    piece = b"10000\r\n" + b"x" * 2**16 + b"\r\n" if b"chunked" in framing else b"x" * 2**16
    with socket.create_connection(("127.0.0.1", int(stack.told["KONTOR_PORT"])), timeout=20) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**16)
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode() + framing + b"\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 " + status)
        sent = 0
        with suppress(ConnectionResetError, BrokenPipeError):
            while sent < 64 * 2**20:
                connection.sendall(piece)
                sent += len(piece)
    assert sent < 16 * 2**20, "only what lies in the buffers of the machine comes after a mebibyte"


def test_a_short_body_that_nobody_read_leaves_the_connection_open(stack: Stack) -> None:
    with httpx.Client(base_url=stack.base_url) as own:
        for _ in range(3):
            assert own.post("/customer/v2/bankzugaenge", content=b"x" * 2**19).status_code == 401
        assert own.get("/health").status_code == 200


def test_weaknesses_can_be_reported_to_somebody(http: httpx.Client, stack: Stack) -> None:
    answer = http.get("/.well-known/security.txt")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    fields = dict(line.split(": ", 1) for line in answer.text.splitlines())
    assert fields["Contact"] == "mailto:security@127.0.0.1"
    assert fields["Canonical"] == f"{stack.base_url}/.well-known/security.txt"
    left = datetime.fromisoformat(fields["Expires"]) - datetime.now(UTC)
    assert timedelta(days=90) < left < timedelta(days=365)


@pytest.mark.parametrize(
    "contact", ["security@example.de", "http://example.de/", "mailto:", "javascript:alert(1)", "https://a\nX: y"]
)
def test_a_contact_that_nobody_can_use_is_refused(contact: str) -> None:
    with pytest.raises(ValidationError):
        Settings(security_contact=contact)
    assert Settings(base_url="https://api.example.de:8443/x").security_contact == "mailto:security@api.example.de"
    assert Settings(security_contact="https://example.de/report").security_contact == "https://example.de/report"


# --- paths and queries ---


def test_both_slash_spellings_answer_without_a_redirect(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    for path in (TENANTS, r1.path(), r1.path("users"), "/health", "/ready"):
        plain, slashed = (http.get(spelling, headers=admin, follow_redirects=False) for spelling in (path, f"{path}/"))
        assert (plain.status_code, slashed.status_code) == (200, 200)
        assert plain.content == slashed.content
    assert http.post("/auth/oauth2/token/", data={"grant_type": "client_credentials"}, auth=r1.basic("admin")).status_code == 200


def test_links_come_from_the_setting_and_never_from_the_host_header(
    http: httpx.Client, stack: Stack, r1: TenantUnderTest, admin: dict[str, str]
) -> None:
    evil = {**admin, "Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
    answers = [
        http.get(r1.path("clients"), headers=evil),
        post_user(http, r1, evil, user_json()),
        http.get(f"{r1.path()}/", headers=evil),
    ]
    for answer in answers:
        assert "evil" not in answer.text + str(answer.headers)
    assert answers[1].headers["Location"].startswith(stack.base_url)


def test_a_parameter_that_stands_twice_is_refused(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    query = "includeInactive=true&includeInactive=false"
    assert is_common_error(http.get(f"{r1.path('users')}?{query}", headers=admin), 400)
    assert is_common_error(http.get(f"{r1.path('users')}?x=%00", headers=admin), 400)


# --- headers ---


def test_security_headers_are_on_every_answer(http: httpx.Client, admin: dict[str, str]) -> None:
    for answer in (
        http.get(TENANTS, headers=admin),
        http.get(TENANTS),
        http.get("/nowhere"),
        http.get("/health"),
        http.get("/docs"),
    ):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "max-age=" in answer.headers["Strict-Transport-Security"]
        assert answer.headers["Cache-Control"] == "no-store"
        assert {"base-uri 'none'", "frame-ancestors 'none'"} <= set(answer.headers["Content-Security-Policy"].split("; "))
        assert "server" not in answer.headers
        assert "x-powered-by" not in answer.headers


def test_the_documentation_runs_no_script_but_its_own(http: httpx.Client) -> None:
    page = http.get("/docs")
    policy = dict(part.partition(" ")[::2] for part in page.headers["Content-Security-Policy"].split("; "))
    (script,) = re.findall("<script>(.*?)</script>", page.text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy["script-src"] == f"'self' 'sha256-{digest}'"
    assert policy["object-src"] == "'none'"


def test_no_other_origin_is_let_in(http: httpx.Client, admin: dict[str, str]) -> None:
    evil = {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}
    for answer in (http.get(TENANTS, headers={**admin, **evil}), http.options(TENANTS, headers=evil)):
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PATCH", "DELETE", "PUT", "PROPFIND"])
def test_methods_that_are_not_offered_answer_405_and_show_nothing(http: httpx.Client, admin: dict[str, str], method: str) -> None:
    answer = http.request(method, TENANTS, headers=admin)
    assert answer.status_code in (400, 405)
    assert "r1" not in answer.text


def test_what_is_not_http_is_refused_in_the_common_shape(stack: Stack) -> None:
    host, port = stack.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"this is not HTTP\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    names = {line.partition(b": ")[0] for line in head.split(b"\r\n")}
    assert {b"x-correlation-id", b"strict-transport-security", b"content-security-policy", b"cache-control"} <= names
    assert b"frame-ancestors 'none'" in head
    assert json.loads(body)["messages"][0]["code"] == "BA400"


def test_a_header_without_end_is_refused(http: httpx.Client) -> None:
    assert http.get("/health", headers={"X-Long": "x" * 60_000}).status_code == 200
    assert http.get("/health", headers={"X-Long": "x" * 70_000}).status_code == 400


# --- health ---


def test_health_ready_and_metrics_need_no_token(http: httpx.Client) -> None:
    assert http.get("/health").json() == {"status": "ok"}
    checks = dict.fromkeys(("database", "keys", "work", "lake", "model", "disk"), "ok")
    wait_until(lambda: http.get("/ready").json() == {"status": "ok", "checks": checks}, 60, lambda: http.get("/ready").text)
    metrics = http.get("/metrics")
    assert metrics.headers["Content-Type"].startswith("text/plain")
    assert 'kontor_requests_total{method="GET",route="/ready",status="200"}' in metrics.text
    assert 'kontor_check_severity{check="work"} 0.0' in metrics.text
    assert 'kontor_queue_age_seconds{queue="awaited"}' in metrics.text


def test_metrics_tell_how_fresh_data_are_and_how_near_the_database_is_to_its_limits(http: httpx.Client) -> None:
    samples: dict[tuple[str, str], float] = {}

    def has_survey() -> bool:
        families = text_string_to_metric_families(http.get("/metrics").text)
        samples.update(
            {(sample.name, sample.labels.get("state", "")): sample.value for family in families for sample in family.samples}
        )
        return ("kontor_database_bytes", "") in samples

    wait_until(has_survey, 60, lambda: http.get("/metrics").text)
    assert samples["kontor_database_bytes", ""] > 1_000_000
    assert 1 <= samples["kontor_database_connections", "open"] <= samples["kontor_database_connections", "allowed"]
    assert samples["kontor_slot_accesses", "tried"] >= samples["kontor_slot_accesses", "fetched"] >= 0
    assert samples["kontor_data_accesses", "all"] >= samples["kontor_data_accesses", "outdated"] >= 0


def test_metrics_carry_no_ids(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    http.get(r1.path("users", str(r1.users["anna"])), headers=admin)
    http.request("BREW", "/nowhere/nobody-4711")
    metrics = http.get("/metrics").text
    assert 'route="/auth/mgmt/v1/tenants/{tenant}/users/{user}"' in metrics
    assert str(r1.users["anna"]) not in metrics
    assert "nobody-4711" not in metrics
    assert "BREW" not in metrics


# --- documentation ---


def test_the_docs_page_needs_nothing_from_elsewhere(http: httpx.Client) -> None:
    page = http.get("/docs").text
    sources = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert sources
    for source in sources:
        assert source.startswith("/docs/assets/")
        assert http.get(source).status_code == 200


def test_head_works_wherever_get_does(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    """At every path of the interface, with what there is for a new customer, a client and nobody."""
    user, document = r1.customer().bearer, http.get("/openapi.json").json()
    reads = [path for path, methods in document["paths"].items() if "get" in methods and path != "/metrics"]
    paths = [re.sub(r"\{(\w+)\}", lambda name: r1.name if name[1] == "tenant" else "1", path) for path in reads]
    assert len(paths) > 30
    known = [("/health", {}), (TENANTS, admin), (TENANTS, {}), ("/nowhere", {}), ("/providers/v2", {})]
    for path, headers in [*known, *((path, admin if path.startswith("/auth") else user) for path in paths)]:
        whole, head = http.get(path, headers=headers), http.head(path, headers=headers)
        assert (head.status_code, head.content) == (whole.status_code, b"")
        assert head.headers.get("Content-Length") == whole.headers.get("Content-Length")
        assert head.headers.get("ETag") == whole.headers.get("ETag")


def test_get_on_the_start_sca_href_is_405_with_allow(http: httpx.Client, r1: TenantUnderTest) -> None:
    answer = r1.customer().get("/bankzugaenge/hausbank/consent")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "HEAD" in http.delete("/health").headers["Allow"]
