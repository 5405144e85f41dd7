"""Limits on time and on tenants, retired operations, production settings, exact amounts: the app with settings and routes of the
test's own.
"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from starlette.responses import Response

from api.app import create_app
from api.http import protocol, server
from api.http.authorization import TokenKind, needs
from api.http.responses import json_response
from api.http.route import LARGE, router
from api.schemas.base import Amount, Wire, amount, cents
from api.services import AppServices, Lane
from tests.support.stack import CUSTOMER, PASSWORD, Stack, TenantUnderTest, free_port, wait_until
from warehouse.errors import Invalid
from warehouse.runtime.fair_slots import FairSlots
from warehouse.settings import Settings
from warehouse.stores import transactions
from warehouse.stores.callers import Caller

probes = router("/probe", "Probe")
PUBLIC: dict[str, Any] = {"security": []}
LONG_BYTES = 12 * 2**20  # more than the buffers of both ends of a connection hold
FILE_FORM = b'--b\r\nContent-Disposition: form-data; name="datei"; filename="a"\r\n\r\nx\r\n--b--\r\n'
finished = threading.Event()
filled: list[FairSlots] = []
apps: list[FastAPI] = []
"""Those that were started here, the latest one last."""


class Money(Wire):
    betrag: Amount


@probes.post("/amount", openapi_extra=PUBLIC)
def echo_amount(money: Money, services: AppServices) -> Response:
    return json_response(services.zone, [Money(betrag=amount(cents(money.betrag)))])


@probes.post("/large", openapi_extra={**PUBLIC, LARGE: True})
def take_large(values: list[int], services: AppServices) -> Response:
    return json_response(services.zone, len(values))


@probes.get("/slow", openapi_extra=PUBLIC)
async def slow() -> Response:
    await asyncio.sleep(1.5)
    return Response("late")


@probes.get("/slow-thread", openapi_extra=PUBLIC)
def slow_thread() -> Response:
    time.sleep(1.5)
    finished.set()
    return Response("late")


@probes.get("/long")
async def long(caller: Annotated[Caller, needs(None, TokenKind.ANY)]) -> Response:
    return Response(b" " * LONG_BYTES)


@probes.get("/short", openapi_extra=PUBLIC)
async def short() -> Response:
    return Response(b" " * 200 * 1024)


@probes.post("/fill")
async def fill(caller: Annotated[Caller, needs(None, TokenKind.ANY)], services: AppServices) -> Response:
    """The caller's tenant takes all slots that it can get."""
    lanes = (services.passwords.slots, services.changes.slots)
    for slots in (services.list_connections, services.computations, services.threads, services.large_bodies, *lanes):
        while slots.take(caller.tenant_id, None):
            filled.append(slots)
    return Response()


@probes.post("/empty")
async def empty(caller: Annotated[Caller, needs(None, TokenKind.ANY)]) -> Response:
    """The caller's tenant gives those slots back."""
    while filled:
        filled.pop().give_back(caller.tenant_id, None)
    return Response()


@probes.get("/broken", openapi_extra=PUBLIC)
def broken() -> Response:
    raise RuntimeError("SELECT secret FROM /srv/kontor/canary")


@contextmanager
def serving(stack: Stack, **changes: Any) -> Iterator[httpx.Client]:
    """The app in this process, with settings of the test's own."""
    settings = Settings(home=stack.home, database_url=stack.where.service, port=free_port(), **changes)
    app: FastAPI = create_app(settings)
    app.router.routes.extend(probes.routes)
    apps.append(app)
    running = uvicorn.Server(uvicorn.Config(app, **server.options(settings)))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        wait_until(lambda: running.started, 20)
        with httpx.Client(base_url=f"http://127.0.0.1:{settings.port}", timeout=20) as http:
            yield http
    finally:
        running.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def quick(stack: Stack) -> Iterator[httpx.Client]:
    """The app with short limits."""
    patch = pytest.MonkeyPatch()
    patch.setenv("KONTOR_HEADER_TIMEOUT_SECONDS", "0.5")
    protocol.limits.cache_clear()
    with serving(stack, request_timeout_seconds=0.5, body_timeout_seconds=0.2) as http:
        yield http
    patch.undo()
    protocol.limits.cache_clear()


@pytest.mark.parametrize("path", ["/probe/slow", "/probe/slow-thread"])
def test_a_request_over_the_time_limit_answers_504_and_its_work_goes_on(quick: httpx.Client, path: str) -> None:
    finished.clear()
    late = quick.get(path)
    assert (late.status_code, late.json()["messages"][0]["code"]) == (504, "BA504")
    assert late.headers["X-Correlation-ID"]
    assert quick.get("/health").status_code == 200
    if path.endswith("thread"):
        assert finished.wait(5)


def test_an_unexpected_failure_answers_500_without_its_text(quick: httpx.Client) -> None:
    failed = quick.get("/probe/broken", headers={"X-Correlation-ID": "find-me"})
    assert (failed.status_code, failed.json()["messages"][0]["code"]) == (500, "BA999")
    assert failed.headers["X-Correlation-ID"] == "find-me"
    assert "canary" not in failed.text
    assert failed.headers["X-Content-Type-Options"] == "nosniff"


def test_a_slow_header_is_cut_off(quick: httpx.Client) -> None:
    with socket.create_connection((quick.base_url.host, quick.base_url.port or 0), timeout=10) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n")
        assert connection.recv(100) == b""


def test_a_connection_that_sends_nothing_is_cut_off(quick: httpx.Client) -> None:
    with socket.create_connection((quick.base_url.host, quick.base_url.port or 0), timeout=10) as connection:
        assert connection.recv(100) == b""


def test_proxies_let_go_of_an_idle_connection_before_we_do(quick: httpx.Client) -> None:
    """Else a proxy sends a request into a connection that is being closed. Most of them keep one for 60 seconds."""
    assert server.options(Settings(_env_file=None))["timeout_keep_alive"] > 60
    with socket.create_connection((quick.base_url.host, quick.base_url.port or 0), timeout=10) as connection:
        for _ in range(2):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
            time.sleep(0.7)  # longer than the time for a header, which an idle connection does not wait for


def test_a_slow_body_is_cut_off(quick: httpx.Client) -> None:
    with socket.create_connection((quick.base_url.host, quick.base_url.port or 0), timeout=10) as connection:
        connection.sendall(
            b"POST /probe/amount HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("sent", "back"),
    [
        ("10", "10.00"),
        ("10.0", "10.00"),
        ("12.5", "12.50"),
        ("-0.01", "-0.01"),
        ("0", "0.00"),
        ("1e2", "100.00"),
        ("999999999.99", "999999999.99"),
        ("90071992547409.93", None),
    ],
)
def test_amounts_are_exact_and_have_two_decimals(quick: httpx.Client, sent: str, back: str | None) -> None:
    echoed = quick.post("/probe/amount", content=f'{{"betrag": {sent}}}', headers={"Content-Type": "application/json"})
    if back is None:
        assert echoed.status_code == 400
    else:
        assert echoed.text == f'[{{"betrag":{back}}}]'


@pytest.mark.parametrize(
    "sent", ['"10.00"', "1e400", "NaN", "8.999999999999999999", "0.001", "true", "null", "[1]", "1e-3", "-1e400"]
)
def test_amounts_that_are_none_are_refused(quick: httpx.Client, sent: str) -> None:
    answer = quick.post("/probe/amount", content=f'{{"betrag": {sent}}}', headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["messages"][0]["code"] == "BA400"


def test_an_operation_that_takes_many_at_once_has_a_larger_limit(stack: Stack) -> None:
    json_type = {"Content-Type": "application/json"}
    with serving(stack) as http:
        for size, status in ((2 * 2**20, 200), (10 * 2**20, 200), (10 * 2**20 + 1, 413)):
            content = b"[1]" + b" " * (size - 3)
            assert http.post("/probe/large", content=content, headers=json_type).status_code == status
        assert http.post("/probe/amount", content=b" " * (2**20 + 1), headers=json_type).status_code == 413


def test_an_operation_that_a_setting_retires_answers_410(stack: Stack, r1: TenantUnderTest) -> None:
    with serving(stack, retired_operations=frozenset({"list_tenants"})) as http:
        gone = http.get("/auth/mgmt/v1/tenants", headers=r1.bearer("admin"))
        assert (gone.status_code, gone.json()["messages"][0]["code"]) == (410, "BA410")
        assert http.get(r1.path(), headers=r1.bearer("admin")).status_code == 200


def test_retiring_an_unknown_operation_is_a_mistake_that_stops_the_start(stack: Stack) -> None:
    with pytest.raises(Invalid, match="no_such"):
        create_app(Settings(home=stack.home, database_url=stack.where.service, retired_operations=frozenset({"no_such"})))


def test_documentation_can_be_switched_off(stack: Stack) -> None:
    with serving(stack, docs=False) as http:
        assert {http.get(path).status_code for path in ("/docs", "/openapi.json", "/redoc", "/docs/assets/swagger-ui.css")} == {
            404
        }


def test_links_start_with_the_base_url_of_the_settings(stack: Stack, r1: TenantUnderTest) -> None:
    with serving(stack, base_url="https://api.example.de/bank/") as http:
        tenant = http.get(r1.path(), headers=r1.bearer("admin")).json()
        assert tenant["relations"][0]["href"] == "https://api.example.de/bank/auth/mgmt/v1/tenants/r1"


def test_too_many_logins_at_once_are_told_to_come_back(stack: Stack, r1: TenantUnderTest) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with serving(stack, password_checks_at_once=1, password_checks_waiting=1) as http:

        def login(number: int) -> httpx.Response:
            form = {"grant_type": "password", "username": f"niemand-{number}", "password": "x" * 900}
            return httpx.post(f"{http.base_url}/auth/oauth2/token", data=form, auth=r1.basic("app"), timeout=30)

        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(login, range(12)))
    assert {answer.status_code for answer in answers} == {401, 429}
    assert all("Retry-After" in answer.headers for answer in answers if answer.status_code == 429)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Connections whose callers may stop reading for so long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KONTOR_READER_TIMEOUT_SECONDS", str(seconds))
        protocol.limits.cache_clear()
        yield
    protocol.limits.cache_clear()


@contextmanager
def asking(http: httpx.Client, path: str, bearer: dict[str, str]) -> Iterator[socket.socket]:
    """A connection that has begun to get its answer, and takes no more than its buffer holds unless the test reads."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        connection.settimeout(30)
        connection.connect((http.base_url.host, http.base_url.port or 0))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {bearer['Authorization']}\r\n\r\n".encode())
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        yield connection


def read_on(connection: socket.socket, size: int) -> int:
    """How many bytes come, up to a size, before the connection ends."""
    total = 0
    try:
        while total < size and (piece := connection.recv(min(size - total, 2**16))):
            total += len(piece)
    except ConnectionResetError:
        pass
    return total


def test_a_reader_that_stops_is_cut_off_and_frees_its_place(stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    mine, others = r1.bearer(), r2.bearer()
    with patience(2), serving(stack, unread_answers_per_tenant=1) as http, asking(http, "/probe/long", mine) as stalled:
        refused = http.get("/probe/long", headers=mine)
        assert (refused.status_code, refused.json()["messages"][0]["code"]) == (429, "BA429")
        assert refused.headers["Retry-After"]
        assert refused.headers["X-Correlation-ID"]
        assert http.get(r1.path(), headers=mine).status_code == 200, "short answers are not refused"
        assert len(http.get("/probe/long", headers=others).content) == LONG_BYTES
        wait_until(lambda: http.get("/probe/long", headers=mine).status_code == 200, 30)
        assert read_on(stalled, LONG_BYTES) < LONG_BYTES


def test_a_reader_that_is_slow_and_steady_gets_everything(stack: Stack, r1: TenantUnderTest) -> None:
    with patience(1), serving(stack) as http, asking(http, "/probe/long", r1.bearer()) as steady:
        for _ in range(12):
            time.sleep(0.15)
            assert read_on(steady, 2**20) == 2**20


def test_a_caller_without_a_token_that_does_not_read_is_cut_off_too(stack: Stack) -> None:
    """Its answers are short; they fill the buffers together."""
    pipelined = b"GET /probe/short HTTP/1.1\r\nHost: x\r\n\r\n" * 60
    with patience(0.5), serving(stack) as http, asking(http, "/probe/short", {"Authorization": ""}) as stalled:
        stalled.sendall(pipelined)
        wait_until(lambda: is_reset(stalled), 30)
        assert read_on(stalled, LONG_BYTES) < LONG_BYTES


def is_reset(connection: socket.socket) -> bool:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def test_a_list_that_nobody_reads_holds_no_connection(stack: Stack, r1: TenantUnderTest) -> None:
    customer = r1.customer()
    access = customer.connected("test_many_20000")
    product = customer.access(access)["bankprodukte"][0]["id"]
    path = f"{CUSTOMER}/bankzugaenge/{access}/{product}/kontoumsaetze"
    with serving(stack, database_pool=2) as http, asking(http, path, customer.bearer):  # a single connection reads lists
        answers = [http.get(path, headers=customer.bearer, params={"limit": 2}) for _ in range(3)]
        assert [len(answer.json()) for answer in answers] == [2, 2, 2]


def test_a_list_is_closed_before_its_connection_serves_others(
    stack: Stack, r1: TenantUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cursor, closed later, would end the transaction of somebody else."""
    customer = r1.customer()
    access = customer.connected("demo1")
    product = customer.access(access)["bankprodukte"][0]["id"]
    statuses = []

    async def batches(connection: AsyncConnection[Any], *_: object) -> AsyncIterator[list[Any]]:
        try:
            yield []
        finally:
            statuses.append(connection.info.transaction_status)

    monkeypatch.setattr(transactions, "row_batches", batches)
    with serving(stack) as http:
        path = f"{CUSTOMER}/bankzugaenge/{access}/{product}/kontoumsaetze"
        assert http.get(path, headers=customer.bearer).json() == []
    assert statuses == [TransactionStatus.INTRANS]


def test_a_tenant_at_full_load_leaves_room_for_another(stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    crowded, quiet = r1.customer(), r2.customer()
    paths = {customer.username: f"{CUSTOMER}/bankzugaenge/none/none/kontoumsaetze" for customer in (crowded, quiet)}
    record = [{"id": "1", "amount": -10, "tenant": "t", "user": "u"}]
    with serving(stack) as http:
        assert http.post("/probe/fill", headers=crowded.bearer).status_code == 200
        for customer, is_full in ((crowded, True), (quiet, False)):
            calls: list[tuple[str, str, bytes | None]] = [
                ("GET", paths[customer.username], None),
                ("POST", "/ai/v1/transactions/tags", json.dumps(record).encode()),
                ("POST", "/ai/v1/transactions/tags", b"[" + b" " * 70_000),  # large, and refused where it is parsed
                ("GET", f"{CUSTOMER}/bankzugaenge", None),
                ("DELETE", f"{CUSTOMER}/bankzugaenge/none", None),
                ("POST", f"{CUSTOMER}/bankzugaenge/none/kontoauszuege", FILE_FORM),
                ("GET", f"{CUSTOMER}/export", None),
            ]
            for method, path, content in calls:
                try:
                    kind = "multipart/form-data; boundary=b" if content is FILE_FORM else "application/json"
                    headers = {**customer.bearer, "Content-Type": kind}
                    answer = http.request(method, path, headers=headers, content=content, timeout=1 if is_full else 20)
                except httpx.ReadTimeout:
                    assert is_full
                else:
                    assert not is_full, answer.text
        assert http.post("/probe/empty", headers=crowded.bearer).status_code == 200
        assert http.get(paths[crowded.username], headers=crowded.bearer).status_code == 404


def full(tenant: TenantUnderTest, name: str) -> Any:
    """A resource of which the tenant has everything and for which it may not wait: who needs it is told to come back."""
    lane = Lane(name, 1, 0)
    assert lane.slots.take(tenant.tenant_id, None)
    return lane if name in ("changes", "passwords") else lane.slots


def test_every_route_takes_its_turn(stack: Stack, r1: TenantUnderTest) -> None:
    """Without turns, the first tenant that comes has everything that others wait for."""
    customer = r1.customer()
    access = customer.connected("test_many_20")
    product = customer.access(access)["bankprodukte"][0]["id"]
    bookings = f"{CUSTOMER}/bankzugaenge/{access}/{product}/kontoumsaetze"
    names = ("contracts", "cashflow", "disposable-money", "life-events", "life/stages", "sales-triggers", "affordability")
    analyses: list[tuple[str, str, Any]] = [("GET", f"{CUSTOMER}/ai/{name}", None) for name in names]
    tags, platform = "/ai/v1/transactions/tags", "/ai/v1/analyses"
    calls: dict[str, list[tuple[str, str, Any]]] = {
        "list_turns": [("GET", bookings, None), *analyses],
        "list_connections": [("GET", bookings, None)],
        "computations": [*analyses, ("GET", f"{bookings}?tag=categories", None), ("POST", tags, []), ("POST", platform, {})],
        "changes": [("POST", bookings, []), ("DELETE", f"{CUSTOMER}/bankzugaenge", None)],
        "threads": [("GET", path, None) for path in ("/providers/v2", f"{CUSTOMER}/bankzugaenge", "/openapi.json")],
    }
    form = {"grant_type": "password", "username": customer.username, "password": PASSWORD}
    with serving(stack) as http:
        app, services = apps[-1], apps[-1].state.services
        for name, requests in calls.items():
            app.state.services = replace(services, **{name: full(r1, name)})
            for method, path, content in requests:
                answer = http.request(method, path, headers=customer.bearer, json=content)
                assert (answer.status_code, answer.headers.get("Retry-After")) == (429, "1"), (name, path, answer.text)
        app.state.services = replace(services, passwords=full(r1, "passwords"))
        assert http.post("/auth/oauth2/token", data=form, auth=r1.basic("app")).status_code == 429
        app.state.services = services
