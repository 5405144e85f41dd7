"""Bank accesses: adding, reading, refreshing, deleting, and everything that a bank can do wrong."""

import re
import uuid
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from sqlalchemy import text

from pipelines.banks.demo import calls
from tests.support.stack import DEMO, Customer, Stack, TenantUnderTest, wait_until
from warehouse import scopes

IP = "84.112.10.7"


@pytest.fixture
def customer(r1: TenantUnderTest) -> Customer:
    """A fresh user of a regulated tenant."""
    return r1.customer()


@pytest.fixture(scope="module")
def connected(r1: TenantUnderTest) -> tuple[Customer, str]:
    """A user with the demo customer's access, complete."""
    found = r1.customer()
    return found, found.connected("demo1")


def relations(body: dict[str, Any]) -> dict[str, str]:
    return {relation["rel"]: relation["href"] for relation in body["relations"]}


def sessions(stack: Stack, userid: str) -> int:
    """How many sessions the demo bank has seen of one of its customers."""
    return sum(
        call["operation"] == "fetch" and call["event"] == "begin"
        for call in calls(stack.home / "demo-bank")
        if call["user_id"] == userid
    )


class TestReading:
    def test_anonymous(self, http: httpx.Client) -> None:
        for path in ("", "/bankzugaenge", "/bankzugaenge/x", "/bankzugaenge/x/issues"):
            assert http.get(f"/customer/v2{path}").status_code == 401

    def test_wrong_scope(self, r1: TenantUnderTest, http: httpx.Client) -> None:
        token = r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)
        assert http.get("/customer/v2", headers=token).status_code == 403
        assert http.get("/customer/v2", headers=r1.bearer("admin")).status_code == 403

    def test_a_new_customer_has_nothing(self, customer: Customer) -> None:
        body = customer.read()
        assert body["bankzugaenge"] == {}
        assert set(relations(body)) == {
            "self",
            "get_bankzugaenge",
            "add_bankzugaenge",
            "delete_bankzugaenge",
            "delete_regprotect_sessions",
        }
        assert customer.read("/") == body
        assert customer.read("/bankzugaenge") == {}

    def test_every_field_of_an_access(self, connected: tuple[Customer, str]) -> None:
        customer, key = connected
        body = customer.access(key)
        assert body["id"] == key
        assert body["providerId"] == DEMO
        assert body["status"] == "VOLLSTAENDIG"
        assert body["sync"] is True
        assert body["messages"] == []
        assert "timeout" not in body
        assert len(body["aktualisierungszeitpunkt"]) == 19
        assert "T" not in body["aktualisierungszeitpunkt"]
        assert {"kodierung", "name"} <= set(body["sicherheitsverfahren"][0])
        assert "1" in [method["kodierung"] for method in body["sicherheitsverfahren"]]
        assert body["aktivesSicherheitsverfahren"] in body["sicherheitsverfahren"]
        assert {medium["medienklasse"] for medium in body["tanMedien"]} <= {"LISTE", "GENERATOR", "MOBIL", "SECODER", "PUSHTAN"}
        assert {product["status"] for product in body["bankprodukte"]} == {"VOLLSTAENDIG"}
        assert set(relations(body)) == {"self", "delete_bankzugang", "get_issues"}

    def test_customer_list_and_access_tell_the_same(self, connected: tuple[Customer, str]) -> None:
        customer, key = connected
        assert customer.read()["bankzugaenge"] == customer.read("/bankzugaenge") == {key: customer.access(key)}

    def test_relations_lead_to_what_they_name(self, connected: tuple[Customer, str], stack: Stack) -> None:
        customer, key = connected
        found = customer.access(key)
        for body in (customer.read(), found, *found["bankprodukte"]):
            for rel, href in relations(body).items():
                assert href.startswith(stack.base_url)
                if rel.startswith(("self", "get_")):
                    assert customer.get(href).status_code == 200, rel

    def test_issues_are_empty_without_any(self, connected: tuple[Customer, str]) -> None:
        customer, key = connected
        body = customer.read(f"/bankzugaenge/{key}/issues")
        assert body["messages"] == []
        assert {"id", "providerId", "tanMedien", "sicherheitsverfahren", "aktualisierungszeitpunkt", "relations"} <= body.keys()
        assert "bankprodukte" not in body

    def test_an_unchanged_answer_is_not_sent_again(self, connected: tuple[Customer, str]) -> None:
        customer, key = connected
        etag = customer.get(f"/bankzugaenge/{key}").headers["ETag"]
        for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            again = customer.get(f"/bankzugaenge/{key}", headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
        assert customer.get(f"/bankzugaenge/{key}", headers={"If-None-Match": '"other"'}).status_code == 200

    def test_others_find_nothing(self, connected: tuple[Customer, str], customer: Customer, r2: TenantUnderTest) -> None:
        owner, key = connected
        product = owner.access(key)["bankprodukte"][0]["id"]
        unknown = customer.get("/bankzugaenge/unknown").json()
        for stranger in (customer, r2.customer()):
            for path in (f"/{key}", f"/{key}/issues", f"/{key}/{product}", f"/{key}/{product}/kontoumsaetze"):
                answer = stranger.get(f"/bankzugaenge{path}")
                assert (answer.status_code, answer.json()) == (404, unknown)
            assert stranger.call("DELETE", f"/bankzugaenge/{key}").status_code == 404
            assert stranger.read()["bankzugaenge"] == {}
        assert owner.access(key)["status"] == "VOLLSTAENDIG"


class TestAdding:
    def test_anonymous(self, http: httpx.Client) -> None:
        assert http.post("/customer/v2/bankzugaenge", json={}).status_code == 401

    def test_wrong_scope(self, r1: TenantUnderTest, http: httpx.Client) -> None:
        token = r1.bearer("app", "anna", scopes.CUSTOMER_READ)
        assert http.post("/customer/v2/bankzugaenge", json={}, headers=token).status_code == 403

    def test_header_data_are_there_at_once_and_bookings_soon(self, customer: Customer, stack: Stack) -> None:
        key, answer = customer.add("demo2", ip=IP)
        assert (answer.status_code, answer.content) == (201, b"")
        assert answer.headers["Location"] == f"{stack.base_url}/customer/v2/bankzugaenge/{key}"
        body = customer.read(answer.headers["Location"])
        assert body["status"] in ("KOPFDATEN", "VOLLSTAENDIG")
        assert body["bankprodukte"]
        customer.wait_complete(key, 20)

    def test_credentials_never_come_back(self, customer: Customer) -> None:
        entry = customer.entry("demo1")
        key = customer.connected("demo1")
        text = customer.get().text + customer.get(f"/bankzugaenge/{key}/issues").text
        assert "credentials" not in text
        assert "userid" not in text
        assert not any(value in text for value in entry["credentials"].values())

    def test_credentials_lie_sealed_and_bound_to_their_row(self, customer: Customer, stack: Stack) -> None:
        customer.connected("demo3")
        rows = stack.sql("SELECT subject, field, key_id, sealed FROM sealed_values WHERE user_id = :user", user=customer.user_id)
        assert {row.field for row in rows} == {"userid", "pin"}
        assert all(row.subject.startswith("access:") and row.key_id and b"demo" not in bytes(row.sealed) for row in rows)

    def test_encrypted_by_the_endpoint_or_with_the_certificate(self, customer: Customer, http: httpx.Client) -> None:
        import base64

        def encrypt(value: str) -> str:
            body = base64.b64encode(value.encode())
            headers = {**customer.bearer, "Content-Type": "application/octet-stream+base64"}
            return http.put("/encrypt", content=body, headers=headers).text

        body = {"k1": {"providerId": DEMO, "credentials": {"userid": encrypt("demo1"), "pin": encrypt("demo")}}}
        assert customer.call("POST", "/bankzugaenge", json=body).status_code == 201
        customer.wait_complete("k1")

    @pytest.mark.parametrize("key", ["a b", "ä", "x" * 65, "", "a/b", "a.b"])
    def test_an_id_outside_the_alphabet(self, customer: Customer, key: str) -> None:
        answer = customer.call("POST", "/bankzugaenge", json={key: customer.entry("demo1")})
        assert answer.status_code == 400
        assert customer.read("/bankzugaenge") == {}

    def test_the_id_must_not_be_the_users(self, customer: Customer) -> None:
        assert customer.add("demo1", key=str(customer.user_id))[1].status_code == 400

    @pytest.mark.parametrize(
        "change",
        [
            {"providerId": None},
            {"credentials": None},
            {"providerId": "nonsense"},
            {"providerId": str(uuid.uuid4())},
            {"credentials": {"userid": "bm90IGVuY3J5cHRlZA==", "pin": "bm90IGVuY3J5cHRlZA=="}},
            {"credentials": {"userid": "%%%", "pin": "%%%"}},
            {"credentials": []},
            {"sync": "yes"},
            {"sync": 1},
            {"selectedBankProducts": "all"},
        ],
    )
    def test_a_bad_entry_stores_nothing(self, customer: Customer, change: dict[str, Any]) -> None:
        entry = {name: value for name, value in {**customer.entry("demo1"), **change}.items() if value is not None}
        answer = customer.call("POST", "/bankzugaenge", json={"good": customer.entry("demo1"), "bad": entry})
        assert answer.status_code == 400, answer.text
        assert answer.json()["messages"][0]["code"] == "BA400"
        assert customer.read("/bankzugaenge") == {}

    @pytest.mark.parametrize("body", [{}, [], "x", {f"k{n}": {} for n in range(21)}])
    def test_no_entries_or_too_many(self, customer: Customer, body: Any) -> None:
        assert customer.call("POST", "/bankzugaenge", json=body).status_code == 400

    @pytest.mark.parametrize(
        "ip",
        ["10.0.0.1", "127.0.0.1", "nonsense", "fe80::1", "::ffff:192.168.1.1", "192.168.0.1, 8.8.8.8", "2a00:1450::1%<script>"],
    )
    def test_a_customers_address_must_be_public(self, customer: Customer, ip: str) -> None:
        assert customer.add("demo1", ip=ip)[1].status_code == 400
        assert customer.read("/bankzugaenge") == {}

    def test_a_value_outside_its_format(self, customer: Customer) -> None:
        _, answer = customer.add("not a user id!", "demo")
        assert answer.status_code == 400
        assert answer.json()["messages"][0]["details"] == "credentials.userid: entspricht nicht dem Format des Feldes"

    def test_several_at_once(self, customer: Customer, stack: Stack) -> None:
        body = {name: customer.entry(userid) for name, userid in {"one": "demo1", "two": "demo2"}.items()}
        answer = customer.call("POST", "/bankzugaenge", json=body)
        assert answer.status_code == 201
        assert answer.headers["Location"] == f"{stack.base_url}/customer/v2/bankzugaenge"
        assert set(customer.read(answer.headers["Location"])) == {"one", "two"}

    def test_missing_fields_are_listed_and_no_bank_is_called(self, customer: Customer, stack: Stack) -> None:
        entry = {"providerId": DEMO, "credentials": customer.tenant.encrypted(userid="test_incomplete")}
        before = sessions(stack, "test_incomplete")
        assert customer.call("POST", "/bankzugaenge", json={"k": entry}).status_code == 201
        message = customer.access("k")["messages"][0]
        assert (message["code"], message["level"], message["details"]) == ("BA1012", "ERROR", "pin")
        assert sessions(stack, "test_incomplete") == before

    def test_the_same_again_changes_nothing(self, customer: Customer, stack: Stack) -> None:
        key = customer.connected("test_empty")
        before = sessions(stack, "test_empty")
        assert customer.add("test_empty", key=key)[1].status_code == 201
        assert sessions(stack, "test_empty") == before

    def test_another_login_for_a_known_id_is_no_silent_overwrite(self, customer: Customer) -> None:
        key = customer.connected("demo4")
        before = customer.access(key)
        assert customer.add("demo5", key=key)[1].status_code == 409
        assert customer.access(key) == before
        assert customer.add("demo5", key=key, refresh=True)[1].status_code == 201
        customer.wait_idle(key)
        owners = {product["inhaber"] for product in customer.access(key)["bankprodukte"]}
        assert owners
        assert owners.isdisjoint(product["inhaber"] for product in before["bankprodukte"]), "nothing of the other person stays"
        assert customer.add("test_empty", key=key, refresh=True, ip=IP)[1].status_code == 201
        customer.wait_idle(key)
        assert customer.access(key)["bankprodukte"] == []

    def test_a_selection_does_not_outlive_its_login(self, customer: Customer) -> None:
        first = customer.connected("demo1")
        chosen = customer.access(first)["bankprodukte"][0]["id"]
        key = customer.connected("demo1", selectedBankProducts=[chosen])
        assert customer.add("demo8", key=key, refresh=True)[1].status_code == 201
        customer.wait_idle(key)
        assert len(customer.access(key)["bankprodukte"]) == 2

    def test_a_message_of_the_bank_opens_no_door_to_another_login(self, customer: Customer) -> None:
        key = customer.connected("test_consent_ends_a1")
        assert customer.codes(key) == ["BA2002"]
        assert customer.add("demo4", key=key)[1].status_code == 409

    def test_new_credentials_during_a_fetch_are_the_ones_that_count(self, customer: Customer, stack: Stack) -> None:
        key, answer = customer.add("test_slow_bookings_1.5")
        assert answer.status_code == 201
        assert customer.add("demo8", key=key, refresh=True)[1].status_code == 201
        customer.wait_complete(key)
        fetched = [product["id"] for product in customer.access(key)["bankprodukte"]]
        other = customer.connected("demo8")
        assert fetched == [product["id"] for product in customer.access(other)["bankprodukte"]]

    def test_twenty_at_once_make_one_access_and_one_fetch(self, customer: Customer, stack: Stack) -> None:
        from concurrent.futures import ThreadPoolExecutor

        entry, before = customer.entry("test_slow_1"), sessions(stack, "test_slow_1")
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: customer.call("POST", "/bankzugaenge", json={"k": entry}), range(20)))
        assert {answer.status_code for answer in answers} == {201}
        assert sessions(stack, "test_slow_1") == before + 1

    def test_only_selected_products(self, customer: Customer) -> None:
        key = customer.connected("demo1")
        chosen = customer.access(key)["bankprodukte"][0]["id"]
        other = customer.connected("demo1", selectedBankProducts=[chosen, "unknown"])
        assert [(item["code"], item["details"]) for item in customer.access(other)["messages"]] == [
            ("BA1060", "selectedBankProducts: unknown gibt es nicht")
        ]
        assert [product["id"] for product in customer.access(other)["bankprodukte"]] == [chosen]
        assert customer.refresh(key, selectedBankProducts=[chosen]).status_code == 201
        assert [product["id"] for product in customer.access(key)["bankprodukte"]] == [chosen]
        assert customer.refresh(key).status_code == 201
        assert [product["id"] for product in customer.access(key)["bankprodukte"]] == [chosen]
        assert customer.refresh(key, selectedBankProducts=[]).status_code == 400
        assert customer.refresh(key, selectedBankProducts=None).status_code == 201
        assert len(customer.access(key)["bankprodukte"]) == 4


class TestRedirectTenant:
    @pytest.fixture(scope="class")
    def redirected(self, stack: Stack) -> Customer:
        return stack.tenant(regulated=False).customer()

    def test_is_sent_to_the_form(self, redirected: Customer, stack: Stack) -> None:
        answer = redirected.call("POST", "/bankzugaenge", json={"k": {}})
        assert (answer.status_code, answer.content) == (451, b"")
        url = httpx.URL(answer.headers["Location"])
        assert str(url).startswith(f"{stack.base_url}/customer/v2/webform?")
        assert url.params["useCase"] == "CREATE_ACCOUNT"
        assert len(url.params["session"]) >= 43
        assert redirected.read("/bankzugaenge") == {}

    @pytest.mark.parametrize("body", [{"credentials": {}}, {"credentials": None, "providerId": None}, {"providerId": ""}])
    def test_empty_and_null_fields_count_as_absent(self, redirected: Customer, body: dict[str, Any]) -> None:
        assert redirected.call("POST", "/bankzugaenge", json={"k": body}).status_code == 451

    @pytest.mark.parametrize("body", [{"providerId": DEMO}, {"credentials": {"pin": "x"}}, {"sync": False}])
    def test_may_send_no_credentials(self, redirected: Customer, body: dict[str, Any]) -> None:
        assert redirected.call("POST", "/bankzugaenge", json={"k": body}).status_code == 400
        assert redirected.call("POST", "/bankzugaenge", json={"k": redirected.entry("demo1")}).status_code == 400
        assert redirected.read("/bankzugaenge") == {}

    def test_sessions_can_be_ended(self, redirected: Customer, stack: Stack) -> None:
        redirected.call("POST", "/bankzugaenge", json={"k": {}})
        find = "SELECT count(*) FROM redirect_sessions WHERE user_id = :user"
        assert stack.sql(find, user=redirected.user_id)[0][0] > 0
        assert redirected.call("DELETE", "/regprotect/sessions").status_code == 200
        assert stack.sql(find, user=redirected.user_id)[0][0] == 0

    def test_a_regulated_tenant_is_not(self, customer: Customer) -> None:
        assert customer.call("POST", "/bankzugaenge", json={"k": {}}).status_code == 400


class TestFaults:
    """What a bank can do wrong, and what a customer is told."""

    def test_wrong_pin_three_times_locks_without_a_second_call(self, customer: Customer, stack: Stack) -> None:
        before = sessions(stack, "test_wrong_pin")
        key, answer = customer.add("test_wrong_pin", ip=IP)
        assert answer.status_code == 201
        seen = [customer.codes(key)]
        for _ in range(3):
            assert customer.refresh(key).status_code == 201
            seen.append(customer.codes(key))
        assert seen == [["BA1011"], ["BA1011"], ["BA1010"], ["BA1010"]]
        assert sessions(stack, "test_wrong_pin") == before + 1, "a PIN that the bank has refused is not sent again"

    def test_new_credentials_open_a_locked_access(self, customer: Customer) -> None:
        key, _ = customer.add("demo1", "wrong", ip=IP)
        for _ in range(2):
            customer.refresh(key)
        assert customer.codes(key) == ["BA1010"]
        assert customer.add("demo1", key=key, ip=IP)[1].status_code == 201
        customer.wait_complete(key)
        assert customer.codes(key) == []

    @pytest.mark.parametrize(
        ("userid", "messages", "issues"),
        [
            ("test_locked", ["BA1010"], ["BA1010"]),
            ("test_incomplete", ["BA1012"], ["BA1012"]),
            ("test_unreachable", ["BA1051"], ["BA1051"]),
            ("test_sca_method_media", ["BA3010"], ["BA3010"]),
            ("test_garbage_twice", ["BA1052"], ["BA1052"]),
            ("test_garbage_year", [], ["BA1052", "BA1062"]),
            ("test_garbage_html", ["BA1052"], ["BA1052"]),
            ("test_garbage_currency", ["BA1052"], ["BA1052"]),
            ("test_garbage_huge", ["BA1052"], ["BA1052"]),
            ("test_garbage_schema", [], ["BA1052", "BA1062"]),
            ("test_garbage_rows", [], ["BA1052", "BA1062"]),
        ],
    )
    def test_where_it_is_told(self, customer: Customer, userid: str, messages: list[str], issues: list[str]) -> None:
        key, answer = customer.add(userid)
        assert answer.status_code == 201
        customer.wait_idle(key, 60)
        assert (customer.codes(key), customer.issues(key)) == (messages, issues)

    def test_a_bank_that_is_away_is_not_pestered(self, customer: Customer, stack: Stack) -> None:
        before = sessions(stack, "test_unreachable")
        key, answer = customer.add("test_unreachable")
        assert answer.status_code == 201
        customer.wait_idle(key)
        assert (customer.issues(key), sessions(stack, "test_unreachable")) == (["BA1051"], before + 1)
        jobs = "SELECT 1 FROM procrastinate_jobs WHERE args ->> 'user' = :user AND status IN ('todo', 'doing')"
        wait_until(lambda: stack.sql(jobs, user=str(customer.user_id)) == [], 10)

    def test_a_partial_answer_is_told_next_to_its_object(self, customer: Customer) -> None:
        key = customer.connected("test_partial")
        products = {product["id"]: product for product in customer.access(key)["bankprodukte"]}
        told = {code for product in products.values() for code in [message["code"] for message in product.get("messages", [])]}
        assert told == {"BA1060", "BA1062", "BA1063"}
        complete = [product for product in products.values() if product["status"] == "VOLLSTAENDIG"]
        assert len(complete) == 1
        assert customer.bookings(key, complete[0]["id"])
        issues = customer.read(f"/bankzugaenge/{key}/issues")["messages"]
        assert issues[0]["code"] == "BA1052"
        assert {message["details"] for message in issues[1:]} <= products.keys()

    def test_an_empty_bank_is_no_fault(self, customer: Customer) -> None:
        key = customer.connected("test_empty")
        assert customer.access(key)["bankprodukte"] == []
        assert customer.issues(key) == []

    def test_an_empty_answer_deletes_no_history(self, customer: Customer) -> None:
        key = customer.connected("test_empty_later")
        product = customer.access(key)["bankprodukte"][0]["id"]
        before = customer.bookings(key, product)
        assert before
        stable = customer.access(key)
        assert customer.refresh(key).status_code == 201
        assert customer.bookings(key, product) == before
        assert customer.access(key) == stable
        assert customer.issues(key) == ["BA1052"]

    def test_a_consent_that_ends_soon_is_told(self, customer: Customer) -> None:
        key = customer.connected("test_consent_ends")
        assert customer.codes(key) == ["BA2002"]


class TestRefreshing:
    def test_an_unknown_access(self, customer: Customer) -> None:
        assert customer.refresh("unknown").status_code == 404

    def test_new_bookings_come_and_old_ones_keep_their_ids(self, customer: Customer) -> None:
        key = customer.connected(f"test_new_transactions_{uuid.uuid4().hex[:8]}")
        product = customer.access(key)["bankprodukte"][0]["id"]
        before = customer.bookings(key, product)
        assert customer.refresh(key).status_code == 201
        after = customer.bookings(key, product)
        assert len(after) == len(before) + 1
        assert [booking for booking in after if booking in before] == before

    def test_rewritten_texts_keep_their_ids(self, customer: Customer) -> None:
        key = customer.connected("test_changing_texts")
        product = customer.access(key)["bankprodukte"][0]["id"]
        before = customer.bookings(key, product)
        customer.refresh(key)
        after = customer.bookings(key, product)
        assert sorted(booking["id"] for booking in after) == sorted(booking["id"] for booking in before)
        assert {booking["verwendungszweck"] for booking in after} != {booking["verwendungszweck"] for booking in before}

    def test_pending_bookings_are_replaced_by_booked_ones(self, customer: Customer, stack: Stack) -> None:
        key = customer.connected("test_pending")
        product = customer.access(key)["bankprodukte"][0]["id"]
        before = customer.bookings(key, product)
        for _ in range(2):  # others may have fetched this customer before: its state changes with every fetch
            customer.refresh(key)
        after = customer.bookings(key, product)
        assert len(after) == len(before)
        assert sum(booking.get("vorgemerkt", False) for booking in after) <= sum(
            booking.get("vorgemerkt", False) for booking in before
        )

    def test_a_refresh_without_news_changes_only_times(self, customer: Customer, stack: Stack) -> None:
        key = customer.connected("demo6")
        find = "SELECT revision FROM users WHERE id = :user"
        before, revision = customer.access(key), stack.sql(find, user=customer.user_id)
        assert customer.refresh(key).status_code == 201
        after = customer.access(key)
        assert [product["id"] for product in after["bankprodukte"]] == [product["id"] for product in before["bankprodukte"]]
        assert stack.sql(find, user=customer.user_id) == revision

    def test_a_failed_refresh_leaves_everything_as_it_was(self, customer: Customer, stack: Stack) -> None:
        key = customer.connected("demo1")
        before, product = customer.access(key), customer.access(key)["bankprodukte"][0]["id"]
        bookings = customer.bookings(key, product)
        stack.sql("UPDATE providers SET enabled = false WHERE id = :id", id=DEMO)
        try:
            customer.refresh(key)
        finally:
            stack.sql("UPDATE providers SET enabled = true WHERE id = :id", id=DEMO)
        assert customer.access(key) == before
        assert customer.bookings(key, product) == bookings
        assert customer.issues(key) == ["BA1051"]
        customer.refresh(key)
        assert customer.issues(key) == []

    def test_reads_during_a_refresh_are_of_one_moment(self, customer: Customer) -> None:
        from concurrent.futures import ThreadPoolExecutor

        key = customer.connected(f"test_new_transactions_{uuid.uuid4().hex[:8]}")
        with ThreadPoolExecutor(1) as pool:
            refreshing = pool.submit(lambda: [customer.refresh(key).status_code for _ in range(8)])
            while not refreshing.done():
                body = customer.access(key)
                times = {body["aktualisierungszeitpunkt"], *(item["aktualisierungszeitpunkt"] for item in body["bankprodukte"])}
                assert len(times) == 1
        assert set(refreshing.result()) == {201}

    def test_the_status_never_goes_back_within_a_fetch(self, customer: Customer) -> None:
        key, answer = customer.add("test_slow_bookings_1")
        assert answer.status_code == 201
        seen: list[str] = []

        def complete() -> bool:
            seen.append(customer.access(key)["status"])
            return seen[-1] == "VOLLSTAENDIG"

        wait_until(complete, 20)
        order = ["GESTARTET", "KOPFDATEN", "VOLLSTAENDIG"]
        assert [order.index(status) for status in seen] == sorted(order.index(status) for status in seen)
        assert "KOPFDATEN" in seen

    @pytest.mark.parametrize(
        ("userid", "codes"),
        [
            ("test_wrong_pin", ["BA1011"]),
            ("test_locked", ["BA1010"]),
            ("test_incomplete", ["BA1012"]),
            ("test_unreachable", ["BA1051"]),
            ("test_unusable", ["BA1052"]),
            ("test_garbage_html", ["BA1052"]),
            ("test_garbage_twice", ["BA1052"]),
            ("test_sca_method_media", ["BA3010"]),
            ("nobody", ["BA1011"]),
        ],
    )
    def test_a_first_fetch_that_failed_is_told_in_the_access(self, customer: Customer, userid: str, codes: list[str]) -> None:
        key, answer = customer.add(f"{userid}_{uuid.uuid4().hex[:8]}" if userid == "test_sca_method_media" else userid)
        assert answer.status_code == 201
        wait_until(lambda: customer.access(key)["status"] == "VOLLSTAENDIG", 20, lambda: str(customer.access(key)))
        assert customer.codes(key) == codes

    def test_429_of_unattended_calls_names_the_header_that_is_missing_and_when_a_call_is_possible_again(
        self, customer: Customer
    ) -> None:
        key = customer.connected(f"test_new_transactions_{uuid.uuid4().hex[:8]}")
        while (answer := customer.refresh(key, ip=None)).status_code == 201:
            pass
        (message,) = answer.json()["messages"]
        assert (answer.status_code, message["code"]) == (429, "BA429")
        assert message["details"].startswith("Customer-IP-Address: fehlt.")
        told = re.search(r"der nächste ab dem (\d\d\.\d\d\.\d{4}, \d\d:\d\d) Uhr\.$", message["details"])
        assert told is not None
        again = datetime.strptime(told[1], "%d.%m.%Y, %H:%M").replace(tzinfo=ZoneInfo("Europe/Berlin"))
        assert abs((again - datetime.now(UTC)).total_seconds() - int(answer.headers["Retry-After"])) < 120

    def test_ba3010_says_what_the_customer_must_do(self, customer: Customer) -> None:
        key, _ = customer.add(f"test_sca_method_media_{uuid.uuid4().hex[:8]}")
        customer.wait_idle(key)
        access = customer.access(key)
        (message,) = access["messages"]
        assert (message["code"], message["level"]) == ("BA3010", "INFO")
        assert "Bitte bestätigen Sie" in message["message"]
        assert "Wählen Sie" in message["message"]
        assert "start_sca" in {relation["rel"] for relation in access["relations"]}

    def test_an_unknown_id_in_selected_bank_products_is_told(self, customer: Customer) -> None:
        key = customer.connected("demo8", selectedBankProducts=["gibt-es-nicht"])
        (message,) = customer.access(key)["messages"]
        assert message["details"] == "selectedBankProducts: gibt-es-nicht gibt es nicht"

    def test_messages_is_always_a_list(self, customer: Customer) -> None:
        key = customer.connected("demo8")
        access = customer.access(key)
        bodies = [customer.read(), access, customer.read(f"/bankzugaenge/{key}/issues"), *access["bankprodukte"]]
        english = customer.tenant.stack.http.get("/ai/v1/products", headers=customer.bearer).json()
        assert [body["messages"] for body in bodies + english] == [[]] * (len(bodies) + len(english))

    def test_at_most_four_sessions_a_day_without_the_customer(self, customer: Customer, stack: Stack) -> None:
        userid = f"test_new_transactions_{uuid.uuid4().hex[:8]}"
        key = customer.connected(userid)
        answers = [customer.refresh(key, ip=None) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [201, 201, 201, 429, 429]
        assert 86_000 < int(answers[-1].headers["Retry-After"]) <= 86_400
        details = answers[-1].json()["messages"][0]["details"]
        assert details.startswith("Customer-IP-Address: fehlt.")
        assert re.search(r"höchstens 4 Abrufe am Tag möglich, der nächste ab dem \d\d\.\d\d\.\d{4}, \d\d:\d\d Uhr\.$", details)
        assert sessions(stack, userid) == 4
        assert customer.refresh(key).status_code == 201, "with the customer waiting, it may be more"

    def test_one_operation_per_login_over_two_accesses(self, customer: Customer, r2: TenantUnderTest, stack: Stack) -> None:
        from concurrent.futures import ThreadPoolExecutor

        other = r2.customer()
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda who: who.add("test_slow_0.5", ip=IP)[1], [customer, customer, other, other]))
        assert {answer.status_code for answer in answers} == {201}
        running, most = 0, 0
        for call in calls(stack.home / "demo-bank"):
            if call["user_id"] == "test_slow_0.5":
                running += 1 if call["event"] == "begin" else -1
                most = max(most, running)
        assert most == 1


class TestDeleting:
    def test_anonymous(self, http: httpx.Client) -> None:
        assert http.delete("/customer/v2/bankzugaenge").status_code == 401
        assert http.delete("/customer/v2/bankzugaenge/x").status_code == 401

    def test_wrong_scope(self, connected: tuple[Customer, str], http: httpx.Client, r1: TenantUnderTest) -> None:
        customer, key = connected
        token = r1.bearer("app", customer.username, scopes.CUSTOMER_READ)
        for path in ("bankzugaenge", f"bankzugaenge/{key}", "regprotect/sessions"):
            assert http.delete(f"/customer/v2/{path}", headers=token).status_code == 403
        assert customer.access(key)

    def test_no_trace_is_left(self, customer: Customer, stack: Stack) -> None:
        key = customer.connected("demo7")
        assert customer.call("DELETE", f"/bankzugaenge/{key}").status_code == 200
        assert customer.get(f"/bankzugaenge/{key}").status_code == 404
        assert customer.call("DELETE", f"/bankzugaenge/{key}").status_code == 404
        assert traces(stack, customer) == []

    def test_all_of_them_twice(self, customer: Customer, stack: Stack) -> None:
        customer.connected("demo1")
        customer.add("test_wrong_pin")
        for _ in range(2):
            assert customer.call("DELETE", "/bankzugaenge").status_code == 200
            assert customer.read("/bankzugaenge") == {}
        assert traces(stack, customer) == []

    def test_deletion_wins_over_a_running_fetch(self, customer: Customer, stack: Stack) -> None:
        key, answer = customer.add("test_slow_bookings_1")
        assert answer.status_code == 201
        assert customer.call("DELETE", f"/bankzugaenge/{key}").status_code == 200
        jobs = "SELECT count(*) FROM procrastinate_jobs WHERE args ->> 'user' = :user"
        wait_until(lambda: stack.sql(jobs, user=str(customer.user_id))[0][0] == 0, 20)
        assert customer.get(f"/bankzugaenge/{key}").status_code == 404
        assert traces(stack, customer) == []

    @pytest.mark.parametrize("count", [12, pytest.param(40, marks=pytest.mark.thorough)])
    def test_deleting_and_adding_at_once_breaks_nothing(self, customer: Customer, stack: Stack, count: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        body = {key: customer.entry("test_empty") for key in ("b", "a", "c")}

        def storm(n: int) -> int:
            if n % 2:
                return customer.call("DELETE", "/bankzugaenge").status_code
            query, ip = {"refresh": "true"}, {"Customer-IP-Address": IP}
            return customer.call("POST", "/bankzugaenge", json=body, params=query, headers=ip).status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(storm, range(count))) <= {200, 201}
        assert customer.call("DELETE", "/bankzugaenge").status_code == 200
        wait_until(lambda: traces(stack, customer) == [], 20)

    def test_who_waits_for_one_access_keeps_nobody_from_others(
        self, customer: Customer, r2: TenantUnderTest, stack: Stack
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        key, other = customer.connected("test_empty"), r2.customer()
        with ThreadPoolExecutor(30) as pool:
            with stack.database.operating() as owner:  # as a long publication does
                owner.session.execute(text("SELECT 1 FROM accesses WHERE user_id = :user FOR UPDATE"), {"user": customer.user_id})
                waiting = [pool.submit(customer.call, "DELETE", f"/bankzugaenge/{key}") for _ in range(24)]
                assert other.connected("demo8")
                assert other.call("DELETE", "/bankzugaenge").status_code == 200
                assert not any(job.done() for job in waiting)
            assert sorted(job.result().status_code for job in waiting) == [200] + [404] * 23

    def test_a_waiting_request_ends_when_its_access_is_deleted(self, customer: Customer) -> None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            adding = pool.submit(customer.add, "test_slow_4", key="k")
            wait_until(lambda: "k" in customer.read("/bankzugaenge"), 10)
            assert customer.call("DELETE", "/bankzugaenge/k").status_code == 200
            assert adding.result()[1].status_code == 201
        assert customer.get("/bankzugaenge/k").status_code == 404


class TestWithoutSync:
    def test_data_have_an_end(self, customer: Customer, stack: Stack) -> None:
        key = customer.connected("demo1", sync=False)
        body = customer.access(key)
        assert body["sync"] is False
        assert body["timeout"] > body["aktualisierungszeitpunkt"]
        stack.sql("UPDATE accesses SET expires_at = now() WHERE user_id = :user", user=customer.user_id)
        assert customer.get(f"/bankzugaenge/{key}").status_code == 404
        assert customer.read("/bankzugaenge") == {}
        wait_until(lambda: traces(stack, customer) == [], 20)

    def test_it_ends_also_when_the_bank_never_answered(self, customer: Customer) -> None:
        for userid in ("test_unreachable", "test_wrong_pin"):
            key, _ = customer.add(userid, sync=False)
            customer.wait_idle(key)
            assert "timeout" in customer.access(key)

    def test_sync_can_be_switched(self, customer: Customer) -> None:
        key = customer.connected("test_empty")
        assert customer.refresh(key, sync=False).status_code == 201
        assert "timeout" in customer.access(key)
        assert customer.refresh(key).status_code == 201
        assert customer.access(key)["sync"] is False, "what is not said stays"
        assert customer.refresh(key, sync=True).status_code == 201
        assert "timeout" not in customer.access(key)

    def test_the_same_id_can_be_used_again(self, customer: Customer, stack: Stack) -> None:
        key = customer.connected("demo1", sync=False)
        stack.sql("UPDATE accesses SET expires_at = now() WHERE user_id = :user", user=customer.user_id)
        assert customer.add("demo1", key=key)[1].status_code == 201


def traces(stack: Stack, customer: Customer) -> list[str]:
    """The tables that still hold something of a user's accesses."""
    tables = ("accesses", "products", "transactions", "positions", "bank_sessions", "sealed_values", "webhook_events")
    found = [name for name in tables if stack.sql(f"SELECT 1 FROM {name} WHERE user_id = :user", user=customer.user_id)]
    jobs = stack.sql("SELECT 1 FROM procrastinate_jobs WHERE args ->> 'user' = :user", user=str(customer.user_id))
    return [*found, *(["jobs"] if jobs else [])]
