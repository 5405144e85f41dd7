"""Webhooks: who may set them, which addresses they may have, and how events are read again."""

import uuid

import httpx
import pytest

from tests.support.stack import Stack, TenantUnderTest
from warehouse import scopes
from warehouse.postgres.tables import Access
from warehouse.stores import webhooks
from warehouse.stores.webhooks import NewEvent
from warehouse.webhook_types import EventType

URL = "https://receiver.example/kontor"  # a name that leads nowhere: the worker of the service may try it
FOUR = [
    ("PUT", "webhook", scopes.ROLES_ASSIGN),
    ("GET", "webhook", scopes.CLIENTS_READ),
    ("GET", "webhook/events", scopes.CLIENTS_READ),
    ("DELETE", "webhook", scopes.ROLES_ASSIGN),
]


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture(scope="module")
def admin(tenant: TenantUnderTest) -> dict[str, str]:
    return tenant.bearer("admin")


@pytest.fixture
def path(stack: Stack, http: httpx.Client, tenant: TenantUnderTest, admin: dict[str, str]) -> str:
    """The address of the webhook of a client, which has just been set."""
    found = tenant.path("clients", "app", "webhook")
    stack.private.add(http.put(found, json={"url": URL}, headers=admin).json()["secret"])
    return found


@pytest.mark.parametrize(("method", "end", "scope"), FOUR)
def test_anonymous(http: httpx.Client, tenant: TenantUnderTest, method: str, end: str, scope: str) -> None:
    assert http.request(method, tenant.path("clients", "app", end)).status_code == 401


@pytest.mark.parametrize(("method", "end", "scope"), FOUR)
def test_wrong_scope_changes_nothing(
    stack: Stack, http: httpx.Client, tenant: TenantUnderTest, path: str, method: str, end: str, scope: str
) -> None:
    others = " ".join(other for other in scopes.MANAGEMENT if other != scope)
    before = stack.sql("SELECT client_id, url FROM webhooks ORDER BY client_id")
    body = {"url": "https://other.example/"} if method == "PUT" else None
    address = tenant.path("clients", "app", end)
    assert http.request(method, address, json=body, headers=tenant.bearer("admin", scope=others)).status_code == 403
    assert stack.sql("SELECT client_id, url FROM webhooks ORDER BY client_id") == before


@pytest.mark.parametrize(("method", "end", "scope"), FOUR)
def test_right_scope_is_enough(http: httpx.Client, tenant: TenantUnderTest, path: str, method: str, end: str, scope: str) -> None:
    body = {"url": URL} if method == "PUT" else None
    address = tenant.path("clients", "app", end)
    assert http.request(method, address, json=body, headers=tenant.bearer("admin", scope=scope)).status_code == 200


@pytest.mark.parametrize(("method", "end", "scope"), FOUR)
def test_other_tenants_and_unknown_clients_have_none(
    http: httpx.Client, tenant: TenantUnderTest, r2: TenantUnderTest, admin: dict[str, str], method: str, end: str, scope: str
) -> None:
    body = {"url": URL} if method == "PUT" else None
    for address in (r2.path("clients", "app", end), tenant.path("clients", "none", end)):
        answer = http.request(method, address, json=body, headers=admin)
        assert (answer.status_code, answer.json()["messages"][0]["code"]) == (404, "BA404")


def test_the_secret_is_shown_once(stack: Stack, http: httpx.Client, path: str, admin: dict[str, str]) -> None:
    made = http.put(path, json={"url": URL}, headers=admin).json()
    stack.private.add(made["secret"])
    assert made.keys() == {"url", "types", "serial", "enabled", "secret", "relations"}
    assert made["secret"].startswith("whsec_")
    shown = http.get(path, headers=admin).json()
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    assert shown["relations"] == [
        {"rel": "self", "href": f"{stack.base_url}{path}"},
        {"rel": "events", "href": f"{stack.base_url}{path}/events"},
    ]
    for relation in shown["relations"]:
        assert http.get(relation["href"], headers=admin).status_code == 200


def test_setting_it_again_gives_another_secret_and_counts_on(
    stack: Stack, http: httpx.Client, tenant: TenantUnderTest, path: str, admin: dict[str, str]
) -> None:
    first = http.put(path, json={"url": URL}, headers=admin).json()
    change = "UPDATE webhooks SET serial = 41, enabled = false WHERE tenant_id = :tenant"
    stack.sql(change, tenant=tenant.tenant_id)
    assert http.get(path, headers=admin).json()["enabled"] is False
    second = http.put(path, json={"url": "https://receiver.example/neu"}, headers=admin).json()
    assert (second["url"], second["serial"], second["enabled"]) == ("https://receiver.example/neu", 41, True)
    assert first["secret"] != second["secret"]
    stack.private |= {first["secret"], second["secret"]}


@pytest.mark.parametrize(
    "url",
    [
        "http://app.example.de/kontor",
        "https://app.example.de:8443/kontor",
        "https://user:secret@app.example.de/kontor",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://[::1]/",
        "https://10.0.0.1/",
        "https://192.168.0.1/",
        "https://169.254.169.254/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://[::ffff:10.0.0.1]/",
        "https://intranet/",
        "app.example.de",
        "",
    ],
)
def test_an_address_that_is_not_public_is_refused_and_nothing_is_stored(
    http: httpx.Client, path: str, admin: dict[str, str], url: str
) -> None:
    answer = http.put(path, json={"url": url}, headers=admin)
    assert answer.status_code == 400
    assert answer.json()["messages"][0]["details"] == "url: keine öffentliche https-Adresse"
    assert http.get(path, headers=admin).json()["url"] == URL


@pytest.mark.parametrize("body", [{}, {"url": None}, {"url": 5}, {"url": ["https://app.example.de/"]}, [], "text", None])
def test_a_wrong_body_is_refused(http: httpx.Client, path: str, admin: dict[str, str], body: object) -> None:
    assert http.put(path, json=body, headers=admin).status_code == 400


def test_a_webhook_receives_the_types_that_it_is_set_for(
    stack: Stack, http: httpx.Client, path: str, admin: dict[str, str]
) -> None:
    assert http.get(path, headers=admin).json()["types"] == ["NEW_TRANSACTIONS"]
    chosen_types = ["PAYMENT_FINAL", "LOGIN_BROKEN", "PAYMENT_FINAL"]
    made = http.put(path, json={"url": URL, "types": chosen_types}, headers=admin).json()
    stack.private.add(made["secret"])
    assert made["types"] == http.get(path, headers=admin).json()["types"] == ["LOGIN_BROKEN", "PAYMENT_FINAL"]
    kept = http.put(path, json={"url": URL}, headers=admin).json()
    stack.private.add(kept["secret"])
    assert kept["types"] == made["types"], "without types they stay"
    assert http.delete(path, headers=admin).status_code == 200
    stack.private.add(http.put(path, json={"url": URL}, headers=admin).json()["secret"])
    assert http.get(path, headers=admin).json()["types"] == ["NEW_TRANSACTIONS"]


@pytest.mark.parametrize("types", [[], ["NEWS"], "NEW_TRANSACTIONS", {"NEW_TRANSACTIONS": True}, [None], ["LOGIN_BROKEN"] * 9])
def test_types_that_there_are_not_are_refused_and_nothing_changes(
    http: httpx.Client, path: str, admin: dict[str, str], types: object
) -> None:
    before = http.get(path, headers=admin).json()
    answer = http.put(path, json={"url": "https://other.example/", "types": types}, headers=admin)
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")
    assert "types" in answer.json()["messages"][0]["details"]
    assert http.get(path, headers=admin).json() == before


def test_a_webhook_that_was_ended_is_missing(http: httpx.Client, path: str, admin: dict[str, str]) -> None:
    answer = http.delete(path, headers=admin)
    assert (answer.status_code, answer.content) == (200, b"")
    for method, end in (("GET", ""), ("GET", "/events"), ("DELETE", "")):
        assert http.request(method, path + end, headers=admin).status_code == 404


def test_events_are_read_again_in_their_order(
    stack: Stack, http: httpx.Client, tenant: TenantUnderTest, path: str, admin: dict[str, str]
) -> None:
    http.delete(path, headers=admin)
    http.put(path, json={"url": URL}, headers=admin)
    name = tenant.add_user()
    with stack.database.acting_for(tenant.tenant_id) as owner:
        accesses = [
            Access(
                tenant_id=tenant.tenant_id,
                user_id=tenant.users[name],
                key=key,
                provider_id=uuid.UUID(int=0),
                login_hash=b"",
                sync=True,
                status="COMPLETE",
            )
            for key in ("bleibt", "geht/weg")
        ]
        for access in accesses:
            owner.add(access, "access")
            webhooks.announce(owner, NewEvent(EventType.NEW_TRANSACTIONS, access.user_id, access.id))
    events = http.get(f"{path}/events", headers=admin).json()
    assert [event["serial"] for event in events] == [1, 2]
    assert events[0].keys() == {"serial", "type", "event", "tenant", "user", "bankzugang", "timestamp", "state"}
    assert (events[0]["event"], events[0]["tenant"]) == ("NEW_TRANSACTIONS", tenant.name)
    assert events[0]["user"] == str(tenant.users[name])
    assert events[1]["bankzugang"] == {
        "id": "geht/weg",
        "href": f"{stack.base_url}/customer/v2/bankzugaenge/geht%2Fweg",
    }
    stack.sql("DELETE FROM accesses WHERE id = :id", id=accesses[1].id)
    (second,) = http.get(f"{path}/events", params={"from": "2"}, headers=admin).json()
    assert second.keys() == {"serial", "type", "event", "tenant", "timestamp", "state"}
    assert second["timestamp"] == events[1]["timestamp"]
    assert [event["serial"] for event in http.get(f"{path}/events?limit=1", headers=admin).json()] == [1]
    assert http.get(f"{path}/events?from=3", headers=admin).json() == []


@pytest.mark.parametrize(
    "query", ["from=0", "from=-1", "from=1.0", "from=1_0", "from=", "from=x", "limit=0", "limit=1001", "limit=all"]
)
def test_a_wrong_question_is_refused(http: httpx.Client, path: str, admin: dict[str, str], query: str) -> None:
    assert http.get(f"{path}/events?{query}", headers=admin).status_code == 400
