"""The door to the Dagster UI, over HTTP in front of a small server that plays Dagster."""

import json
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from api.cli import app as command_line
from api.dagster_proxy import credentials, server, upstream
from api.dagster_proxy.app import create_app
from api.dagster_proxy.pages import local_path
from api.dagster_proxy.sessions import MAX_SESSIONS, Sessions
from api.dagster_proxy.sites import sites_of
from tests.support.door import MUTATION, PIECE, PIECES, POLICY, TLS_NAME, Door, running_door, serving
from tests.support.stack import free_port
from warehouse.errors import Invalid, PasswordCommon
from warehouse.settings import Settings

PROTOCOL: Any = ["graphql-ws"]


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with pytest.MonkeyPatch.context() as patch, running_door() as running:
        patch.setattr(upstream, "CHECK_SECONDS", 0.05)
        yield running


@pytest.fixture(autouse=True)
def later(door: Door) -> None:
    """Each test begins long after the one before."""
    door.moment += 10_000_000
    door.played.calls.clear()


@pytest.fixture
def stranger(door: Door) -> Iterator[httpx.Client]:
    with door.client() as client:
        yield client


@pytest.fixture
def operator(door: Door) -> Iterator[httpx.Client]:
    """A browser that is logged in, on a page of the UI."""
    with door.client() as client:
        assert door.log_in(client).status_code == 303
        client.headers["Origin"] = door.origin
        yield client


class TestWithoutLogin:
    def test_a_visitor_is_sent_to_the_login_and_dagster_is_not_asked(self, door: Door, stranger: httpx.Client) -> None:
        visit = stranger.get("/runs/1?tab=logs&a=%2Fb", headers={"Accept": "text/html"})
        assert (visit.status_code, visit.headers["Location"]) == (303, "/kontor/login?next=/runs/1%3Ftab%3Dlogs%26a%3D%252Fb")
        page = stranger.get(visit.headers["Location"])
        assert 'name="next" value="/runs/1?tab=logs&amp;a=%2Fb"' in page.text
        assert stranger.get("/_next/static/x.js").status_code == 401
        assert stranger.post("/graphql", json=MUTATION, headers={"Origin": door.origin}).status_code == 401
        assert stranger.get("/server_info").status_code == 401
        assert door.played.calls == []

    def test_the_page_needs_nothing_from_elsewhere(self, stranger: httpx.Client) -> None:
        page = stranger.get("/kontor/login")
        assert page.headers.get_list("Content-Security-Policy")[0].startswith("default-src 'none'; style-src 'self'")
        linked = re.findall(r'(?:href|src|action)="([^"]+)"', page.text)
        assert set(linked) == {"/kontor/form.css", "/kontor/favicon.svg", "/kontor/login"}
        assert [stranger.get(path).status_code for path in ("/kontor/form.css", "/kontor/favicon.svg")] == [200, 200]
        assert "<script" not in page.text

    def test_readiness_is_told_to_everybody(self, stranger: httpx.Client) -> None:
        assert stranger.get("/kontor/ready").text == "ready"

    def test_without_a_password_nobody_comes_in(self, door: Door, stranger: httpx.Client) -> None:
        (door.home / credentials.PASSWORD_FILE).unlink()
        try:
            assert "kontor dagster password" in stranger.get("/kontor/login").text
            assert door.log_in(stranger, "").status_code == 503
            assert not stranger.cookies
        finally:
            door.password = credentials.change_password(door.home)


class TestLogin:
    def test_the_right_password_opens_the_page_that_was_asked_for(self, door: Door, stranger: httpx.Client) -> None:
        answer = door.log_in(stranger)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/runs?x=1")
        cookie = answer.headers["Set-Cookie"].lower()
        assert {"httponly", "samesite=strict", "path=/", "max-age=43200"} <= set(cookie.split("; "))
        assert "secure" not in cookie
        assert stranger.get("/runs?x=1").json() == {"data": "done", "query": "x=1"}

    def test_behind_tls_the_cookie_is_for_tls_alone(self, door: Door, stranger: httpx.Client) -> None:
        answer = door.log_in(stranger, Host=TLS_NAME, Origin=f"https://{TLS_NAME}")
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith("__Host-kontor-dagster-")
        assert {"Secure", "Path=/", "HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
        assert "Domain" not in cookie
        pair = {"Cookie": cookie.partition(";")[0]}
        assert stranger.get("/runs", headers={"Host": TLS_NAME, **pair}).status_code == 200
        assert stranger.get("/runs", headers=pair).status_code == 401, "by plain HTTP it is no login"
        assert door.log_in(stranger, Host=TLS_NAME, Origin=f"http://{TLS_NAME}").status_code == 403

    def test_wrong_passwords_are_refused_and_slowed_down(self, door: Door, stranger: httpx.Client) -> None:
        for wrong in ("", "falsch", door.password.upper()):
            answer = door.log_in(stranger, wrong)
            assert (answer.status_code, "This password is wrong" in answer.text) == (401, True)
        waiting = door.log_in(stranger)
        assert (waiting.status_code, waiting.headers["Retry-After"]) == (429, "60")
        assert not stranger.cookies
        door.moment += 61
        assert door.log_in(stranger).status_code == 303

    def test_it_ends_with_its_time(self, door: Door, operator: httpx.Client) -> None:
        door.moment += 43_199
        assert operator.get("/runs").status_code == 200
        door.moment += 2
        assert operator.get("/runs").status_code == 401

    def test_it_ends_with_logout(self, door: Door, operator: httpx.Client) -> None:
        assert "Log out" in operator.get("/kontor/logout").text
        cookie = dict(operator.cookies)
        ended = operator.post("/kontor/logout")
        assert (ended.headers["Location"], ended.headers["Clear-Site-Data"]) == ("/kontor/login", '"cache", "storage"')
        assert operator.get("/runs", cookies=cookie).status_code == 401

    def test_it_ends_with_a_new_password(
        self, door: Door, operator: httpx.Client, stranger: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KONTOR_HOME", str(door.home))
        before = door.password
        result = CliRunner().invoke(command_line, ["dagster", "password", "--json"], catch_exceptions=False)
        door.password = json.loads(result.output)["password"]
        assert operator.get("/runs").status_code == 401
        assert [door.log_in(stranger, password).status_code for password in (before, door.password)] == [401, 303]

    def test_another_sites_form_logs_nobody_in(self, door: Door, stranger: httpx.Client) -> None:
        assert door.log_in(stranger, Origin="https://evil.example").status_code == 403
        assert door.log_in(stranger, Origin="null").status_code == 403
        no_origin = stranger.post("/kontor/login", data={"password": door.password})
        assert (no_origin.status_code, dict(stranger.cookies)) == (403, {})

    def test_a_body_that_is_no_form_is_a_wrong_password(self, door: Door, stranger: httpx.Client) -> None:
        for body, status in ((b"\xff=%ff&password", 401), (b"a" * 9000, 413)):
            assert stranger.post("/kontor/login", content=body, headers={"Origin": door.origin}).status_code == status

    @pytest.mark.parametrize("value", ["//evil.example", "https://evil.example", "/\\evil.example", "/\nx", "", "/kontor/logout"])
    def test_it_leads_to_no_other_place(self, value: str) -> None:
        assert local_path(value) == "/"

    def test_of_too_many_logins_the_oldest_ends(self) -> None:
        sessions = Sessions(60)
        cookies = [sessions.open("hash", 0) for _ in range(MAX_SESSIONS + 1)]
        assert [sessions.is_open(cookie, "hash", 1) for cookie in (cookies[0], cookies[1], cookies[-1])] == [False, True, True]


class TestGraphql:
    def test_the_ui_may_change_things(self, door: Door, operator: httpx.Client) -> None:
        answer = operator.post("/graphql?op=Launch", json=MUTATION)
        assert answer.json() == {"data": "done", "query": "op=Launch"}
        method, path, headers, body = door.played.calls[-1]
        assert (method, path, json.loads(body)) == ("POST", "/graphql", MUTATION)
        assert not {"cookie", "authorization", "origin"} & set(headers)

    @pytest.mark.parametrize("path", ["/graphql", "/graphql/", "/%67raphql"])
    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS"])
    def test_nothing_is_changed_by_other_methods(self, door: Door, operator: httpx.Client, method: str, path: str) -> None:
        answer = operator.request(method, path, params=MUTATION, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
        assert door.played.calls == []

    @pytest.mark.parametrize(
        "content_type",
        ["text/plain", "text/plain; application/json", "application/x-www-form-urlencoded", "application/graphql", ""],
    )
    def test_nothing_is_changed_by_what_a_form_can_send(self, door: Door, operator: httpx.Client, content_type: str) -> None:
        body = json.dumps(MUTATION).encode()
        answer = operator.post("/graphql", content=body, params=MUTATION, headers={"Content-Type": content_type})
        assert answer.status_code == 415
        assert door.played.calls == []

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:1"},
            {"Origin": "http://localhost"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        ],
        ids=str,
    )
    def test_pages_of_others_change_nothing(self, door: Door, operator: httpx.Client, headers: dict[str, str]) -> None:
        for caller in ({}, door.token):
            for path in ("/graphql", "/report_asset_materialization/landing"):
                assert operator.post(path, json=MUTATION, headers={**headers, **caller}).status_code == 403
        assert door.played.calls == []

    def test_a_login_without_an_origin_changes_nothing(self, door: Door, operator: httpx.Client) -> None:
        del operator.headers["Origin"]
        for path in ("/graphql", "/report_asset_materialization/landing"):
            assert operator.post(path, json=MUTATION).status_code == 403
        assert operator.post("/kontor/logout").status_code == 403
        assert door.played.calls == []

    def test_a_program_has_the_token_of_a_private_file(self, door: Door, stranger: httpx.Client) -> None:
        assert stranger.post("/graphql", json=MUTATION, headers=door.token).status_code == 200
        for wrong in ("Bearer", "Bearer x", "Basic x", f"Basic {credentials.token(door.home)}"):
            assert stranger.post("/graphql", json=MUTATION, headers={"Authorization": wrong}).status_code == 401
        assert len(door.played.calls) == 1
        for name in (credentials.TOKEN_FILE, credentials.PASSWORD_FILE):
            assert stat.S_IMODE((door.home / name).stat().st_mode) == 0o600
        assert (door.home / credentials.PASSWORD_FILE).read_text().startswith("$argon2id$")


class TestNames:
    @pytest.mark.parametrize(
        "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:3000", "", "127.0.0.2", "a b"]
    )
    def test_other_names_are_not_served(self, door: Door, operator: httpx.Client, host: str) -> None:
        for path in ("/", "/kontor/login", "/kontor/ready"):
            answer = operator.get(path, headers={"Host": host, **door.token})
            assert answer.status_code == 421
        assert operator.post("/graphql", json=MUTATION, headers={"Host": host, "Origin": f"http://{host}"}).status_code == 421
        assert door.played.calls == []

    @pytest.mark.parametrize(
        ("host", "origin"),
        [
            ("localhost:3000", "http://localhost:3000"),
            ("LOCALHOST", "http://localhost"),
            ("[::1]:3000", "http://[::1]:3000"),
            (TLS_NAME, f"https://{TLS_NAME}"),
            ("other.example.de:8080", "http://other.example.de:8080"),
        ],
    )
    def test_own_names_are_served(self, door: Door, stranger: httpx.Client, host: str, origin: str) -> None:
        assert door.log_in(stranger, Host=host, Origin=origin).status_code == 303

    def test_two_names_are_none(self, door: Door) -> None:
        with socket.create_connection(("127.0.0.1", door.port)) as raw:
            raw.sendall(b"GET /kontor/ready HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 421 ")

    @pytest.mark.parametrize(
        "value", ["https://a.example/path", "https://a.example?x", "ftp://a.example", "a.example", "https://u@a.example"]
    )
    def test_a_setting_that_is_no_origin_is_refused(self, value: str) -> None:
        with pytest.raises(ValueError, match="dagster_origins"):
            Settings(_env_file=None, dagster_origins=value)

    def test_the_address_to_listen_on_is_a_name_of_its_own(self) -> None:
        hosts = {"0.0.0.0": None, "10.0.0.5": "http://10.0.0.5:3000", "::": None}
        for host, origin in hosts.items():
            sites = sites_of(Settings(_env_file=None, dagster_host=host))
            assert sites.origin("10.0.0.5:3000") == origin
            assert sites.origin("127.0.0.1:3000") == "http://127.0.0.1:3000"


class TestResponses:
    def test_no_page_may_frame_or_reinterpret_them(self, operator: httpx.Client) -> None:
        for path in ("/runs", "/kontor/login", "/graphql"):
            headers = operator.get(path).headers
            assert "frame-ancestors 'none'" in headers.get_list("Content-Security-Policy")
            assert headers["X-Frame-Options"] == "DENY"
            assert headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "same-origin"
            assert "Server" not in headers

    def test_dagsters_own_policy_stays(self, operator: httpx.Client) -> None:
        headers = operator.get("/runs").headers
        assert headers.get_list("Content-Security-Policy") == [POLICY, "frame-ancestors 'none'"]
        assert "Set-Cookie" not in headers

    def test_others_cannot_load_parts_of_it(self, operator: httpx.Client) -> None:
        del operator.headers["Origin"]
        embedded = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
        followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        framed = {**followed, "Sec-Fetch-Dest": "iframe"}
        assert [operator.get("/runs", headers=headers).status_code for headers in (embedded, framed, followed)] == [403, 403, 200]

    def test_large_ones_are_passed_on_piece_by_piece(self, door: Door, operator: httpx.Client) -> None:
        with operator.stream("GET", "/large") as answer:
            pieces = answer.iter_raw()
            first = next(pieces)
            door.played.goes_on.set()
            assert len(first) + sum(map(len, pieces)) == PIECES * len(PIECE)

    def test_large_requests_are_refused(self, door: Door, operator: httpx.Client) -> None:
        headers = {"Content-Type": "application/json"}
        pieces = (b" " * 10_000 for _ in range(20))
        assert operator.post("/graphql", content=b" " * 100_001, headers=headers).status_code == 413
        assert operator.post("/graphql", content=pieces, headers=headers).status_code == 413
        assert door.played.calls == []

    def test_other_methods_do_not_pass(self, operator: httpx.Client) -> None:
        assert [operator.request(method, "/runs").status_code for method in ("PUT", "DELETE", "OPTIONS")] == [405] * 3


class TestSubscriptions:
    @contextmanager
    def subscription(self, door: Door, **headers: str) -> Iterator[ClientConnection]:
        address, protocols = f"ws://127.0.0.1:{door.port}/graphql", PROTOCOL
        with connect(address, subprotocols=protocols, additional_headers=headers, proxy=None) as connection:
            yield connection

    def cookie(self, operator: httpx.Client) -> str:
        return "; ".join(f"{name}={value}" for name, value in operator.cookies.items())

    def test_the_ui_hears_of_events(self, door: Door, operator: httpx.Client) -> None:
        with self.subscription(door, Cookie=self.cookie(operator), Origin=door.origin) as connection:
            assert connection.subprotocol == "graphql-ws"
            for word in ("one", "two" * 100_000):
                connection.send(word)
                assert connection.recv(10) == f"heard {word}"

    def test_a_program_hears_of_events(self, door: Door) -> None:
        with self.subscription(door, **door.token) as connection:
            connection.send("one")
            assert connection.recv(10) == "heard one"

    def test_others_hear_nothing(self, door: Door, operator: httpx.Client) -> None:
        cookie = self.cookie(operator)
        refused = (
            {"Origin": door.origin},
            {"Cookie": cookie},
            {"Cookie": cookie, "Origin": "https://evil.example"},
            {"Cookie": cookie, "Origin": door.origin, "Sec-Fetch-Site": "cross-site"},
            {"Authorization": "Bearer x"},
            {**door.token, "Origin": "https://evil.example"},
        )
        for headers in refused:
            with pytest.raises(InvalidStatus, match="403"), self.subscription(door, **headers):
                pass

    def test_it_ends_with_the_login(self, door: Door, operator: httpx.Client) -> None:
        with self.subscription(door, Cookie=self.cookie(operator), Origin=door.origin) as connection:
            assert operator.post("/kontor/logout").status_code == 303
            with pytest.raises(ConnectionClosed) as ended:
                connection.recv(10)
            assert ended.value.rcvd is not None
            assert ended.value.rcvd.code == upstream.POLICY_VIOLATION


class TestWebserver:
    def test_without_it_the_door_says_so(self, door: Door, tmp_path: Path) -> None:
        settings = Settings(_env_file=None, home=door.home, dagster_port=free_port())
        with (
            serving(create_app(settings, tmp_path / "nobody"), **server.options(settings)),
            httpx.Client(base_url=f"http://127.0.0.1:{settings.dagster_port}", headers=door.token, trust_env=False) as client,
        ):
            assert client.get("/kontor/ready").status_code == 503
            assert client.post("/graphql", json=MUTATION).json()["errors"][0]["message"].startswith("Dagster does not answer")
            assert client.get("/runs").status_code == 502


class TestCredentials:
    def test_a_password_is_made_once(self, tmp_path: Path) -> None:
        password = credentials.create_password(tmp_path)
        assert password is not None
        assert len(set(password.replace("-", ""))) > 5
        assert len(password.replace("-", "")) == 30
        assert credentials.create_password(tmp_path) is None

    def test_one_of_your_own_must_be_long_and_uncommon(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KONTOR_HOME", str(tmp_path))
        arguments = ["dagster", "password", "--password-stdin"]
        with pytest.raises(Invalid):
            CliRunner().invoke(command_line, arguments, input="zu kurz\n", catch_exceptions=False)
        with pytest.raises(PasswordCommon):
            CliRunner().invoke(command_line, arguments, input="passwort123456\n", catch_exceptions=False)
        assert credentials.password_hash(tmp_path) is None
        assert CliRunner().invoke(command_line, arguments, input="lang genug für dies\n", catch_exceptions=False).exit_code == 0
        assert credentials.password_hash(tmp_path) is not None

    def test_a_token_that_others_could_read_is_replaced(self, tmp_path: Path) -> None:
        credentials.create_token(tmp_path)
        token = credentials.token(tmp_path)
        credentials.create_token(tmp_path)
        assert credentials.token(tmp_path) == token
        (tmp_path / credentials.TOKEN_FILE).chmod(0o640)
        credentials.create_token(tmp_path)
        assert credentials.token(tmp_path) != token
