"""The console over HTTP: who gets in, who sees what, what is refused, and that all that is done stands in the audit log."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from api.app import create_app
from api.console.roles import SCOPES
from api.console.visits import PAGE_SCOPES, set_secret
from api.http.route import KontorRoute
from tests.cli.test_payments import unknown
from tests.spec.dialogues import codes
from tests.support.stack import PASSWORD, Stack, TenantUnderTest, wait_until
from warehouse.postgres import console_accounts
from warehouse.postgres.console_accounts import ConsoleRole
from warehouse.postgres.tables import Tenant
from warehouse.secrets import hashing, one_time_codes, sealed_values
from warehouse.settings import Settings
from warehouse.stores import clients, users, webhooks
from warehouse.stores.webhooks import NewEvent
from warehouse.webhook_types import EventType

HASH = hashing.hash_password(PASSWORD)
COOKIE = "kontor-console"
SECRET = re.compile(r'<p class="secret"><code>([^<]+)</code>')
TOKEN = re.compile(r'name="token" value="([0-9a-f]+)"')


@dataclass
class Reader:
    """A browser without a window, and what it does on the console."""

    stack: Stack
    name: str
    http: httpx.Client
    code: str = ""
    pages: list[str] = field(default_factory=list)

    def log_in(self, password: str = PASSWORD, **fields: str) -> httpx.Response:
        token = TOKEN.search(self.http.get("/console/login").text)
        assert token
        form = {"token": token[1], "name": self.name, "password": password, "code": self.code, **fields}
        answer = self.http.post("/console/login", data=form)
        if COOKIE in answer.cookies:
            self.stack.private.add(answer.cookies[COOKIE])
        return answer

    def get(self, path: str = "") -> httpx.Response:
        return self.http.get(f"/console{path}")

    def read(self, path: str = "") -> str:
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.headers.get("location"))
        return answer.text

    def token(self) -> str:
        match = TOKEN.search(self.read("/account"))
        assert match
        return match[1]

    def post(self, path: str, **fields: str) -> httpx.Response:
        return self.http.post(f"/console{path}", data={"token": self.token(), **fields})

    def act(self, path: str, **fields: str) -> str:
        """What the page says behind an action that must succeed."""
        answer = self.post(path, **fields)
        assert answer.status_code == 303, (path, answer.status_code)
        return self.http.get(answer.headers["location"]).text


@pytest.fixture
def readers(stack: Stack) -> Iterator[Any]:
    """Makes accounts, and browsers that are logged in with them."""
    browsers: list[httpx.Client] = []

    def make(tenant: TenantUnderTest | None = None, *, logs_in: bool = True) -> Reader:
        name = f"c-{uuid.uuid4().hex[:10]}"
        with stack.database.operating() as operator:
            row = operator.session.get_one(Tenant, tenant.tenant_id) if tenant else None
            console_accounts.add(operator, name, ConsoleRole.TENANT if tenant else ConsoleRole.OPERATOR, HASH, row)
        browsers.append(httpx.Client(base_url=stack.base_url, timeout=60))
        reader = Reader(stack, name, browsers[-1])
        if logs_in:
            answer = reader.log_in()
            assert (answer.status_code, answer.headers["location"]) == (303, "/console")
        return reader

    yield make
    for browser in browsers:
        browser.close()


def entries(stack: Stack, reader: Reader) -> list[Any]:
    """What the audit log has of an account, oldest first."""
    statement = "SELECT action, object_id, user_id, tenant_id, details, correlation_id FROM audit_entries WHERE actor = :name"
    return stack.sql(f"{statement} ORDER BY id", name=reader.name)


def actions(stack: Stack, reader: Reader) -> list[str]:
    return [row.action for row in entries(stack, reader)]


def with_webhook(tenant: TenantUnderTest, username: str, *, events: int = 1) -> None:
    """Gives the client `app` a webhook at an address that nobody answers, with events that were dropped."""
    stack = tenant.stack
    settings = Settings(home=stack.home, webhook_private_addresses=True)
    with stack.database.acting_for(tenant.tenant_id) as owner:
        webhooks.register(owner, stack.vault, clients.find(owner, "app"), "http://127.0.0.1:9/hook", settings, tuple(EventType))
    with stack.database.acting_for(tenant.tenant_id) as owner:
        webhooks.announce(owner, *(NewEvent(EventType.ANALYSES_CHANGED, tenant.users[username]) for _ in range(events)))
    stack.sql("UPDATE webhook_events SET state = 'DROPPED', attempts = 5 WHERE tenant_id = :id", id=tenant.tenant_id)


class TestWithoutLogin:
    @pytest.mark.parametrize(("method", "path"), sorted(PAGE_SCOPES))
    def test_every_page_leads_to_the_login(self, http: httpx.Client, method: str, path: str) -> None:
        values = {"tenant": "r1", "client": "app", "key": uuid.uuid4(), "user": uuid.uuid4(), "serial": 1, "name": "x"}
        answer = http.request(
            method, path.format(**values, payment=uuid.uuid4()), data={"token": "x"} if method == "POST" else None
        )
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/console/login")

    def test_every_page_states_its_scope(self) -> None:
        app = create_app(Settings(database_url="postgresql://nowhere/none"))
        own = {"/console/login", "/console/static/{name}"}
        routes = [route for route in app.routes if isinstance(route, KontorRoute) and route.path.startswith("/console")]
        stated = {(min(route.methods or ()), route.path) for route in routes if route.path not in own}
        assert stated == set(PAGE_SCOPES)
        assert set(PAGE_SCOPES.values()) <= SCOPES[ConsoleRole.OPERATOR] | SCOPES[ConsoleRole.TENANT]

    def test_the_console_can_be_switched_off(self) -> None:
        app = create_app(Settings(database_url="postgresql://nowhere/none", console=False))
        assert not [route for route in app.routes if getattr(route, "path", "").startswith("/console")]

    def test_the_login_page_gives_nothing_away(self, http: httpx.Client) -> None:
        answer = http.get("/console/login")
        assert answer.status_code == 200
        assert "script" not in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"


class TestLogin:
    def test_somebody_logs_in_and_out(self, stack: Stack, readers: Any) -> None:
        reader = readers()
        assert reader.name in reader.read()
        answer = reader.post("/logout")
        assert answer.headers["location"] == "/console/login?left=1"
        assert reader.get().status_code == 303
        assert actions(stack, reader) == ["login", "logout"]

    def test_the_cookie_is_hidden_and_strict(self, stack: Stack, readers: Any) -> None:
        reader = readers(logs_in=False)
        header = reader.log_in().headers["set-cookie"]
        assert "HttpOnly" in header
        assert "SameSite=strict" in header
        stored = stack.sql("SELECT session_hash FROM console_sessions")
        assert reader.http.cookies[COOKIE].encode() not in [bytes(row.session_hash) for row in stored]

    def test_over_https_the_cookie_is_for_tls_alone(self) -> None:
        settings = Settings(base_url="https://api.example.de")
        header = set_secret(Response(), settings, "secret").headers["set-cookie"]
        assert header.startswith("__Host-kontor-console=")
        assert "Secure" in header
        assert "Domain" not in header

    def test_a_logged_out_cookie_is_worth_nothing(self, stack: Stack, readers: Any) -> None:
        reader = readers()
        cookie = reader.http.cookies[COOKIE]
        reader.post("/logout")
        assert httpx.get(f"{stack.base_url}/console", cookies={COOKIE: cookie}).status_code == 303

    def test_every_login_has_a_secret_of_its_own(self, readers: Any) -> None:
        """A secret that somebody has planted before the login is not taken."""
        reader = readers(logs_in=False)
        reader.http.cookies.set(COOKIE, "planted")
        assert reader.log_in().cookies[COOKIE] != "planted"

    def test_wrong_name_and_wrong_password_look_the_same(self, stack: Stack, readers: Any) -> None:
        known, unknown = readers(logs_in=False), readers(logs_in=False)
        unknown.name = "nobody-of-this-name"
        answers = [known.log_in("falsches Passwort"), unknown.log_in("falsches Passwort")]
        assert [answer.status_code for answer in answers] == [401, 401]
        texts = [
            TOKEN.sub("", answer.text).replace(reader.name, "") for answer, reader in zip(answers, (known, unknown), strict=True)
        ]
        assert texts[0] == texts[1]
        assert actions(stack, known) == ["login_refused"]
        assert actions(stack, unknown) == []

    def test_too_many_wrong_passwords_have_to_wait(self, readers: Any) -> None:
        reader, other = readers(logs_in=False), readers(logs_in=False)
        allowed = Settings().login_failures_allowed
        assert [reader.log_in("falsches Passwort").status_code for _ in range(allowed)] == [401] * allowed
        answer = reader.log_in()
        assert answer.status_code == 429, "even with the right password"
        assert int(answer.headers["retry-after"]) > 0
        assert other.log_in().status_code == 303

    def test_a_disabled_account_is_out_at_once(self, stack: Stack, readers: Any) -> None:
        reader = readers()
        stack.sql("UPDATE console_accounts SET active = false WHERE name = :name", name=reader.name)
        assert reader.get().headers["location"].startswith("/console/login")
        assert reader.log_in().status_code == 401

    def test_an_administrator_of_a_disabled_tenant_is_out_at_once(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        reader = readers(tenant)
        stack.sql("UPDATE tenants SET active = false WHERE id = :id", id=tenant.tenant_id)
        assert reader.get().status_code == 303
        assert reader.log_in().status_code == 401

    @pytest.mark.parametrize("change", ["ends_at = now()", "used_at = now() - interval '1 day'"])
    def test_a_session_ends(self, stack: Stack, readers: Any, change: str) -> None:
        reader = readers()
        account = "(SELECT id FROM console_accounts WHERE name = :name)"
        stack.sql(f"UPDATE console_sessions SET {change} WHERE account_id = {account}", name=reader.name)
        answer = reader.get("/audit")
        assert answer.headers["location"] == "/console/login?next=%2Fconsole%2Faudit&ended=1"
        assert "beendet" in reader.http.get(answer.headers["location"]).text

    def test_the_way_back_stays_in_the_console(self, readers: Any) -> None:
        for target in ("https://evil.example/", "//evil.example", "/console/../demo\\", "/console/login"):
            assert readers(logs_in=False).log_in(next=target).headers["location"] == "/console"
        assert readers(logs_in=False).log_in(next="/console/audit?page=2").headers["location"] == "/console/audit?page=2"

    def test_a_second_factor_is_needed_and_each_code_counts_once(self, stack: Stack, readers: Any) -> None:
        reader, secret = readers(logs_in=False), one_time_codes.new_secret()
        with stack.database.operating() as operator:
            sealed_values.put_code_secret(operator, stack.vault, console_accounts.find(operator, reader.name), secret)
        assert reader.log_in().status_code == 401
        now = stack.sql("SELECT extract(epoch FROM now()) AS seconds")[0].seconds
        reader.code = one_time_codes.code_at(secret, int(now) // 30)
        assert reader.log_in().status_code == 303
        reader.http.cookies.clear()
        assert reader.log_in().status_code == 401, "the code was used"
        assert secret not in bytes(stack.sql("SELECT code_sealed FROM console_accounts WHERE name = :n", n=reader.name)[0][0])

    def test_a_new_password_ends_other_logins(self, stack: Stack, readers: Any) -> None:
        reader = readers()
        other = Reader(stack, reader.name, httpx.Client(base_url=stack.base_url, timeout=60))
        other.log_in()
        new = {"new_password": "noch ein langer Satz", "repeated_password": "noch ein langer Satz"}
        assert reader.post("/account/password", password="falsch", **new).status_code == 400
        assert reader.post("/account/password", password=PASSWORD, new_password="a", repeated_password="b").status_code == 400
        assert (
            reader.post("/account/password", password=PASSWORD, new_password="kurz", repeated_password="kurz").status_code == 400
        )
        assert "geändert" in reader.act("/account/password", password=PASSWORD, **new)
        assert other.get().status_code == 303
        assert other.log_in().status_code == 401
        assert other.log_in("noch ein langer Satz").status_code == 303
        other.http.close()
        assert "password_changed" in actions(stack, reader)


class TestForms:
    @pytest.mark.parametrize("token", ["", "0" * 64])
    def test_a_form_without_its_token_changes_nothing(self, stack: Stack, readers: Any, token: str) -> None:
        tenant = stack.tenant()
        reader = readers(tenant)
        address = f"/console/tenants/{tenant.name}/clients/app/disable"
        answer = reader.http.post(address, data={"token": token} if token else {"overlap": "0"})
        assert answer.status_code == 403
        assert stack.sql("SELECT bool_and(active) FROM clients WHERE tenant_id = :id", id=tenant.tenant_id)[0][0]

    def test_a_token_of_another_login_does_not_count(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        reader, other = readers(tenant), readers(tenant)
        address = f"/console/tenants/{tenant.name}/clients/app/disable"
        assert reader.http.post(address, data={"token": other.token()}).status_code == 403

    @pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
    def test_a_form_of_another_page_changes_nothing(self, stack: Stack, readers: Any, headers: dict[str, str]) -> None:
        reader = readers()
        assert reader.http.post("/console/logout", data={"token": reader.token()}, headers=headers).status_code == 403
        assert reader.get().status_code == 200

    def test_a_login_needs_a_token_too(self, stack: Stack, readers: Any) -> None:
        reader = readers(logs_in=False)
        answer = reader.http.post("/console/login", data={"name": reader.name, "password": PASSWORD})
        assert answer.status_code == 403
        assert COOKIE not in answer.cookies

    def test_an_action_is_no_link(self, stack: Stack, readers: Any) -> None:
        assert readers().get("/logout").status_code == 405


class TestRoles:
    @pytest.mark.parametrize("path", ["/banks", "/jobs", "/freshness", "/payments", "/accounts"])
    def test_a_tenant_does_not_see_the_installation(self, stack: Stack, readers: Any, path: str) -> None:
        reader = readers(stack.tenant())
        assert reader.get(path).status_code == 403
        assert f'href="/console{path}"' not in reader.read()

    @pytest.mark.parametrize(
        "path", ["/tenants/{t}/disable", "/accounts/x/disable", "/payments/{u}/settle", "/payments/{u}/look"]
    )
    def test_a_tenant_cannot_do_what_operators_do(self, stack: Stack, readers: Any, path: str) -> None:
        tenant = stack.tenant()
        reader = readers(tenant)
        assert reader.post(path.format(t=tenant.name, u=uuid.uuid4()), outcome="executed").status_code == 403
        assert actions(stack, reader) == ["login"]

    def test_an_operator_does_not_see_customers(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        user = tenant.add_user()
        tenant.add_api_key(user)
        with_webhook(tenant, user)
        reader = readers()
        for tab in ("users", "accesses"):
            assert reader.get(f"/tenants/{tenant.name}/{tab}").status_code == 403
        assert reader.post(f"/tenants/{tenant.name}/users/{tenant.users[user]}/deactivate").status_code == 403
        for path in ("", "/keys", "/webhooks", "/webhooks/app"):
            text = reader.read(f"/tenants/{tenant.name}{path}")
            assert user not in text
            assert str(tenant.users[user]) not in text

    def test_a_tenant_sees_users_by_their_ids_alone(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        user = tenant.add_user()
        reader = readers(tenant)
        text = reader.read(f"/tenants/{tenant.name}/users")
        assert str(tenant.users[user]) in text
        assert user not in text

    @pytest.mark.parametrize("path", ["", "/clients", "/keys", "/users", "/accesses", "/webhooks", "/webhooks/app"])
    def test_another_tenant_is_not_found(self, stack: Stack, readers: Any, path: str) -> None:
        reader, other = readers(stack.tenant()), stack.tenant()
        foreign = reader.get(f"/tenants/{other.name}{path}")
        unknown = reader.get(f"/tenants/nobody{path}")
        assert (foreign.status_code, unknown.status_code) == (404, 404)
        assert TOKEN.sub("", foreign.text) == TOKEN.sub("", unknown.text)

    def test_ids_of_another_tenant_are_not_found(self, stack: Stack, readers: Any) -> None:
        own, other = stack.tenant(), stack.tenant()
        user = other.add_user()
        key_id, _ = other.add_api_key(user)
        reader = readers(own)
        for path in (f"keys/{key_id}/disable", f"keys/{key_id}/rotate", f"users/{other.users[user]}/deactivate", "keys/x/enable"):
            assert reader.post(f"/tenants/{own.name}/{path}").status_code == 404, path
            assert reader.post(f"/tenants/{other.name}/{path}").status_code == 404, path
        assert stack.sql("SELECT active FROM api_keys WHERE id = :id", id=key_id)[0][0]
        assert actions(stack, reader) == ["login"]

    def test_a_tenant_sees_only_what_was_done_in_it(self, stack: Stack, readers: Any) -> None:
        own, other = stack.tenant(), stack.tenant()
        operator, reader, stranger = readers(), readers(own), readers(other)
        operator.act(f"/tenants/{own.name}/clients/app/disable")
        text = reader.read("/audit")
        assert "Client gesperrt" in text
        assert "Betreiber" in text
        assert operator.name not in text, "a tenant is not told which operator it was"
        assert stranger.name not in text
        assert "Client gesperrt" not in stranger.read("/audit")

    def test_one_with_a_tenant_is_led_there(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        assert readers(tenant).get("/tenants").headers["location"] == f"/console/tenants/{tenant.name}"


class TestTenants:
    def test_a_tenant_is_disabled_and_enabled(self, stack: Stack, readers: Any) -> None:
        tenant, reader = stack.tenant(), readers()
        assert "gesperrt" in reader.act(f"/tenants/{tenant.name}/disable")
        assert tenant.token_answer().status_code == 401
        reader.act(f"/tenants/{tenant.name}/enable")
        assert tenant.token_answer().status_code == 200
        assert [(row.action, row.object_id, row.tenant_id) for row in entries(stack, reader)][1:] == [
            ("tenant_disabled", tenant.name, tenant.tenant_id),
            ("tenant_enabled", tenant.name, tenant.tenant_id),
        ]

    def test_a_client_is_disabled_and_enabled(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        reader, bearer = readers(tenant), tenant.bearer("admin")
        reader.act(f"/tenants/{tenant.name}/clients/admin/disable")
        assert tenant.token_answer().status_code == 401
        assert stack.http.get(tenant.path(), headers=bearer).status_code == 403
        assert "Freigeben" in reader.read(f"/tenants/{tenant.name}/clients")
        reader.act(f"/tenants/{tenant.name}/clients/admin/enable")
        assert tenant.token_answer().status_code == 200

    @pytest.mark.parametrize(("hours", "status"), [("0", 401), ("24", 200)])
    def test_a_secret_of_a_client_is_renewed_and_shown_once(self, stack: Stack, readers: Any, hours: str, status: int) -> None:
        tenant = stack.tenant()
        reader = readers(tenant)
        answer = reader.post(f"/tenants/{tenant.name}/clients/admin/rotate", overlap=hours)
        secret = SECRET.search(answer.text)
        assert secret
        stack.private.add(secret[1])
        assert tenant.token_answer().status_code == status
        tenant.secrets["admin"] = secret[1]
        assert tenant.token_answer().status_code == 200
        (row,) = [row for row in entries(stack, reader) if row.action == "client_secret_rotated"]
        assert secret[1] not in str(row)
        assert row.details == {"overlap_hours": int(hours)}
        assert reader.post(f"/tenants/{tenant.name}/clients/admin/rotate", overlap="9").status_code == 400

    def test_a_key_is_disabled_enabled_and_renewed(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        user = tenant.add_user()
        key_id, plain = tenant.add_api_key(user)
        reader = readers(tenant)

        address = f"/tenants/{tenant.name}/keys/{key_id}"
        before = stack.sql("SELECT active FROM api_keys WHERE id = :id", id=key_id)[0][0]
        reader.act(f"{address}/disable")
        disabled = stack.sql("SELECT active FROM api_keys WHERE id = :id", id=key_id)[0][0]
        reader.act(f"{address}/enable")
        assert (before, disabled) == (True, False)
        answer = reader.post(f"{address}/rotate")
        secret = SECRET.search(answer.text)
        assert secret
        stack.private.add(secret[1])
        rows = stack.sql("SELECT key_hash, active FROM api_keys WHERE tenant_id = :id ORDER BY created_at", id=tenant.tenant_id)
        assert [(bytes(row.key_hash), row.active) for row in rows] == [
            (hashing.digest(plain), False),
            (hashing.digest(secret[1]), True),
        ]
        assert [(row.action, row.user_id) for row in entries(stack, reader)][1:] == [
            (action, tenant.users[user]) for action in ("key_disabled", "key_enabled", "key_rotated")
        ]

    def test_a_user_is_deactivated(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        customer = tenant.customer()
        reader = readers(tenant)
        assert "deaktiviert" in reader.act(f"/tenants/{tenant.name}/users/{customer.user_id}/deactivate")
        assert customer.get().status_code == 403
        (row,) = [row for row in entries(stack, reader) if row.action == "user_deactivated"]
        assert row.user_id == customer.user_id
        assert row.correlation_id
        assert str(customer.user_id) in reader.read("/audit")
        assert str(customer.user_id) not in readers().read("/audit"), "an operator does not see whom it was done to"

    def test_accesses_are_shown_with_their_faults(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        good, bad = tenant.customer(), tenant.customer()
        well = good.connected()
        failing, _ = bad.add("test_pin", "falsch")
        bad.wait_idle(failing)
        reader, address = readers(tenant), f"/tenants/{tenant.name}/accesses"
        text = reader.read(address)
        assert well in text
        assert failing in text
        assert "Demo" in text
        assert (
            well in reader.read(f"{address}?user={bad.user_id}"),
            failing in reader.read(f"{address}?user={bad.user_id}"),
        ) == (False, True)
        assert well not in reader.read(f"{address}?failing=1")
        assert well not in reader.read(f"{address}?user=nobody")
        assert "letzten Abruf: 1" in reader.read()

    def test_lists_have_pages(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        for _ in range(51):
            tenant.add_user()
        reader, address = readers(tenant), f"/tenants/{tenant.name}/users"
        first, second = reader.read(address), reader.read(f"{address}?page=2")
        on_first = {user for user, id_ in tenant.users.items() if str(id_) in first}
        on_second = {user for user, id_ in tenant.users.items() if str(id_) in second}
        assert (len(on_first), len(on_second)) == (50, 1)
        assert on_first | on_second == set(tenant.users)
        assert f'href="/console{address}?page=2"' in first
        for number in ("0", "x", "999999999999", "-1"):
            assert reader.get(f"{address}?page={number}").status_code == 200


class TestWebhooks:
    def test_events_are_sent_again(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        user = tenant.add_user()
        with_webhook(tenant, user, events=2)
        stack.sql("UPDATE webhook_events SET created_at = now() - interval '1 hour' WHERE tenant_id = :id", id=tenant.tenant_id)
        reader = readers(tenant)
        assert "verworfen" in reader.read(f"/tenants/{tenant.name}/webhooks/app")
        assert "erneut gesendet" in reader.act(f"/tenants/{tenant.name}/webhooks/app/events/2/replay")
        find = "SELECT serial FROM webhook_events WHERE tenant_id = :id AND replayed_at IS NOT NULL AND attempts > 0"
        wait_until(lambda: stack.sql(find, id=tenant.tenant_id), 60)
        states = stack.sql("SELECT serial, state FROM webhook_events WHERE tenant_id = :id ORDER BY serial", id=tenant.tenant_id)
        assert [tuple(row) for row in states] == [(1, "DROPPED"), (2, "PENDING")], "it is not dropped for its age"
        reader.act(f"/tenants/{tenant.name}/webhooks/app/replay")
        assert [row.details for row in entries(stack, reader) if row.action == "events_replayed"] == [{"count": 1}]

    def test_what_cannot_be_sent_again(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        user = tenant.add_user()
        with_webhook(tenant, user)
        reader, address = readers(tenant), f"/tenants/{tenant.name}/webhooks/app"
        for serial in ("2", "x", "9" * 30):
            assert reader.post(f"{address}/events/{serial}/replay").status_code == 404
        stack.sql("UPDATE webhooks SET enabled = false WHERE tenant_id = :id", id=tenant.tenant_id)
        assert reader.post(f"{address}/events/1/replay").status_code == 400
        assert reader.post(f"{address}/replay").status_code == 400
        assert reader.get(f"/tenants/{tenant.name}/webhooks/admin").status_code == 404
        assert actions(stack, reader) == ["login"]

    def test_its_secret_is_renewed(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        with_webhook(tenant, tenant.add_user())
        reader = readers(tenant)
        secret = SECRET.search(reader.post(f"/tenants/{tenant.name}/webhooks/app/rotate").text)
        assert secret
        assert secret[1].startswith("whsec_")
        stack.private.add(secret[1])


class TestInstallation:
    @pytest.mark.parametrize(
        ("path", "heading"),
        [
            ("", "Was jetzt nicht stimmt"),
            ("/tenants", "Alle Mandanten"),
            ("/banks", "Banken mit Abrufen"),
            ("/jobs", "Warteschlangen"),
            ("/freshness", "Buckets"),
            ("/payments", "Ergebnis unbekannt"),
            ("/accounts", "Konten der Konsole"),
            ("/audit", "Die neuesten zuerst"),
            ("/account", "Passwort ändern"),
        ],
    )
    def test_an_operator_reads(self, readers: Any, path: str, heading: str) -> None:
        reader = readers()
        assert heading in reader.read(path)
        english = reader.http.get(f"/console{path}", headers={"Accept-Language": "en"})
        assert '<html lang="en">' in english.text
        assert heading not in english.text or heading == "Buckets"

    def test_the_language_can_be_chosen(self, readers: Any) -> None:
        reader = readers()
        assert '<html lang="en">' in reader.read("/audit?lang=en")
        assert '<html lang="en">' in reader.read("/audit")

    def test_another_account_is_disabled_but_not_the_own(self, stack: Stack, readers: Any) -> None:
        reader, other = readers(), readers()
        reader.act(f"/accounts/{other.name}/disable")
        assert other.get().status_code == 303
        reader.act(f"/accounts/{other.name}/enable")
        assert other.get().status_code == 303, "its logins have ended"
        assert other.log_in().status_code == 303
        assert reader.post(f"/accounts/{reader.name}/disable").status_code == 400
        assert reader.post("/accounts/nobody/disable").status_code == 404

    def test_an_unknown_payment_is_settled(self, stack: Stack, readers: Any) -> None:
        customer, payment = stack.tenant().customer(), str(uuid.uuid4())
        place = unknown(customer, payment)
        reader = readers()
        text = reader.read("/payments")
        assert payment in text
        assert not [word for word in ("Stadtwerke", "12,5", "DE02", str(customer.user_id)) if word in text]
        assert "unbekanntem Ergebnis" in reader.read()
        reader.act(f"/payments/{payment}/settle", outcome="executed")
        assert codes(customer.read(place)) == ["BA1111"]
        assert payment not in reader.read("/payments")
        (row,) = [row for row in entries(stack, reader) if row.action == "payment_settled"]
        assert (row.object_id, row.user_id, row.details) == (payment, customer.user_id, {"outcome": "executed"})
        assert reader.post(f"/payments/{payment}/settle", outcome="executed").status_code == 400

    def test_the_log_forgets_who_was_erased(self, stack: Stack, readers: Any) -> None:
        tenant = stack.tenant()
        customer = tenant.customer()
        reader = readers(tenant)
        reader.act(f"/tenants/{tenant.name}/users/{customer.user_id}/deactivate")
        with stack.database.acting_for(tenant.tenant_id) as owner:
            users.remove(owner, customer.user_id)
        (row,) = [row for row in entries(stack, reader) if row.action == "user_deactivated"]
        assert (row.user_id, row.object_id) == (None, None)
        assert str(customer.user_id) not in reader.read("/audit")

    @pytest.mark.parametrize(("outcome", "status"), [("executed", 404), ("maybe", 400)])
    def test_only_unknown_payments_are_settled(self, readers: Any, outcome: str, status: int) -> None:
        assert readers().post(f"/payments/{uuid.uuid4()}/settle", outcome=outcome).status_code == status
