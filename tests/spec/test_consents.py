"""Consents over HTTP: asked, chosen, confirmed, refused, run out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.spec.dialogues import BACK, IP, codes, href, moved, rels, up_to_tan
from tests.support.stack import Customer, Stack, TenantUnderTest, wait_until


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


def ask(customer: Customer, access: str, body: Any = None, **query: str) -> httpx.Response:
    """The answer to the POST of a consent."""
    given = {"json": body} if body is not None else {}
    query = {"callbackUrl": BACK, **query}
    return customer.call("POST", f"/bankzugaenge/{access}/consent", params=query, headers=IP, **given)


def begun(customer: Customer, access: str, body: Any = None, **query: str) -> str:
    """The address of a new consent."""
    answer = ask(customer, access, body, **query)
    assert answer.status_code == 201, answer.text
    assert answer.content == b""
    return answer.headers["Location"]


PATHS = [
    ("POST", "/bankzugaenge/a/consent", {}),
    ("GET", "/consent/00000000-0000-0000-0000-000000000001", None),
    ("POST", "/consent/00000000-0000-0000-0000-000000000001/method", {"chosenScaMethodId": 942}),
    ("POST", "/consent/00000000-0000-0000-0000-000000000001/medium", {"chosenScaMedia": "iPhone"}),
    ("PUT", "/consent/00000000-0000-0000-0000-000000000001/tan", {"tan": "42"}),
]


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_a_token_is_needed(stack: Stack, method: str, path: str, body: Any) -> None:
    assert stack.http.request(method, f"/customer/v2{path}", json=body, headers=IP).status_code == 401


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_the_scope_is_needed(tenant: TenantUnderTest, customer: Customer, method: str, path: str, body: Any) -> None:
    wrong = "http://service/provider/read" if method == "GET" else "http://service/customer/read"
    customer.bearer = tenant.bearer("app", customer.username, wrong)
    assert customer.call(method, path, json=body, headers=IP).status_code == 403


def test_method_medium_and_tan_lead_to_data(customer: Customer) -> None:
    user = f"test_sca_method_media_{customer.username}"
    access, answer = customer.add(user)
    assert answer.status_code == 201
    assert customer.codes(access) == ["BA3010"]
    body = customer.access(access)
    assert href(body, "start_sca").endswith(f"/bankzugaenge/{access}/consent")
    status = customer.read(begun(customer, access))
    assert (codes(status), rels(status)) == (["BA3010"], ["self", "set_method"])
    assert {"code": 942, "name": "pushTAN", "hint": "Sie erhalten die TAN auf Ihr Mobilgerät."} in status["scaMethods"]
    assert "scaMediums" not in status
    status = moved(customer, status, "set_method", chosenScaMethodId=942)
    assert (codes(status), rels(status)) == (["BA3020"], ["self", "set_medium"])
    assert all(set(medium) == {"name", "mediaClass"} for medium in status["scaMediums"])
    status = moved(customer, status, "set_medium", chosenScaMedia=status["scaMediums"][0]["name"])
    assert (codes(status), rels(status)) == (["BA1110"], ["self", "submit_text_tan"])
    assert status["challenge"]["content"]["instructions"]
    assert status == customer.read(href(status, "self"))
    status = moved(customer, status, "submit_text_tan", tan="42")
    assert (codes(status), rels(status)) == (["BA3090"], ["self"])
    assert "timeout" not in status
    customer.wait_complete(access)
    body = customer.access(access)
    assert body["bankprodukte"]
    assert body["messages"] == []
    assert "start_sca" not in rels(body)


def test_a_consent_can_bring_a_new_access(customer: Customer) -> None:
    user = f"test_sca_method_media_n{customer.username}"
    status = customer.read(begun(customer, "new", {"new": customer.entry(user)}))
    assert codes(status) == ["BA3010"]
    assert customer.access("new")["bankprodukte"] == []


class TestRefusals:
    @pytest.fixture
    def access(self, customer: Customer) -> str:
        return customer.add(f"test_sca_method_media_{customer.username}")[0]

    @pytest.mark.parametrize(
        ("query", "headers"),
        [
            ({"callbackUrl": BACK}, {}),
            ({"callbackUrl": BACK}, {"Customer-IP-Address": "192.168.1.1"}),
            ({"callbackUrl": BACK}, {"Customer-IP-Address": "nowhere"}),
            (
                {"callbackUrl": BACK},
                {"X-Forwarded-For": "84.112.10.7", "Forwarded": "for=84.112.10.7", "X-Real-IP": "84.112.10.7"},
            ),
            ({}, IP),
            ({"callbackUrl": "http://tenant.example/back"}, IP),
            ({"callbackUrl": "javascript:alert(1)"}, IP),
            ({"callbackUrl": "https://user:pass@tenant.example/"}, IP),
            ({"callbackUrl": BACK, "maxTransactions": "some"}, IP),
            ({"callbackUrl": BACK, "queryTanSettings": "1"}, IP),
        ],
    )
    def test_what_is_missing_or_wrong_is_400(
        self, customer: Customer, access: str, query: dict[str, str], headers: dict[str, str]
    ) -> None:
        assert customer.call("POST", f"/bankzugaenge/{access}/consent", params=query, headers=headers).status_code == 400

    def test_an_unknown_access_is_404(self, customer: Customer) -> None:
        assert ask(customer, "nobody").status_code == 404

    def test_another_access_in_the_body_is_400(self, customer: Customer, access: str) -> None:
        assert ask(customer, access, {"other": customer.entry("demo1")}).status_code == 400

    def test_what_is_not_offered_changes_nothing(self, customer: Customer, access: str) -> None:
        status = customer.read(begun(customer, access))
        for body in ({"chosenScaMethodId": 4711}, {"chosenScaMethodId": "942"}, {"chosenScaMethodId": None}, {}, [942]):
            assert customer.call("POST", href(status, "set_method"), json=body).status_code == 400
        assert customer.read(href(status, "self")) == status
        chosen = moved(customer, status, "set_method", chosenScaMethodId=942)
        for body in ({"chosenScaMedia": "nobody's"}, {"chosenScaMedia": 7}, {"chosenScaMedia": None}, {}):
            assert customer.call("POST", href(chosen, "set_medium"), json=body).status_code == 400
        assert customer.call("POST", href(status, "set_method"), json={"chosenScaMethodId": 1}).status_code == 409
        assert customer.read(href(status, "self")) == chosen

    def test_who_may_only_read_is_offered_no_move(self, customer: Customer, tenant: TenantUnderTest, access: str) -> None:
        place = begun(customer, access)
        reads = tenant.bearer("app", customer.username, "http://service/customer/read")
        assert rels(customer.read(place)) == ["self", "set_method"]
        assert rels(customer.read(place, headers=reads)) == ["self"]

    def test_moves_out_of_turn_are_409_and_change_nothing(self, customer: Customer, access: str) -> None:
        status = customer.read(begun(customer, access))
        itself = href(status, "self")
        assert customer.call("POST", f"{itself}/medium", json={"chosenScaMedia": "iPhone"}).status_code == 409
        assert customer.call("PUT", f"{itself}/tan", json={"tan": "42"}).status_code == 409
        assert customer.read(itself) == status

    def test_three_wrong_tans_end_it(self, customer: Customer, access: str) -> None:
        status = customer.read(begun(customer, access))
        status = up_to_tan(customer, status, 942)
        assert "hinweis" not in status
        for attempts in ("2 Versuche", "1 Versuch"):
            status = moved(customer, status, "submit_text_tan", tan="41")
            assert codes(status) == ["BA1110"]
            assert status["hinweis"] == f"Die TAN war falsch. Noch {attempts}."
        tan = href(status, "submit_text_tan")
        status = moved(customer, status, "submit_text_tan", tan="41")
        assert (codes(status), rels(status)) == (["BA1103"], ["self"])
        assert customer.call("PUT", tan, json={"tan": "42"}).status_code == 409

    def test_after_three_wrong_tans_the_access_says_so_and_offers_start_sca_again(self, customer: Customer, access: str) -> None:
        status = up_to_tan(customer, customer.read(begun(customer, access)), 942)
        for _ in range(3):
            status = moved(customer, status, "submit_text_tan", tan="41")
        assert customer.codes(access) == ["BA1103", "BA3010"]
        assert "start_sca" in rels(customer.access(access))
        status = up_to_tan(customer, customer.read(begun(customer, access)), 942)
        assert codes(moved(customer, status, "submit_text_tan", tan="42")) == ["BA3090"]
        customer.wait_idle(access)
        assert customer.codes(access) == []

    def test_another_customer_does_not_see_it(self, customer: Customer, tenant: TenantUnderTest, access: str) -> None:
        place = begun(customer, access)
        assert tenant.customer().get(place).status_code == 404


def test_a_method_that_was_chosen_before_is_not_asked_for_again(customer: Customer) -> None:
    access, _ = customer.add(f"test_sca_method_media_{customer.username}")
    status = customer.read(begun(customer, access))
    status = up_to_tan(customer, status, 942)
    moved(customer, status, "submit_text_tan", tan="42")
    customer.wait_idle(access)
    assert codes(customer.read(begun(customer, access))) == ["BA1110"]
    assert codes(customer.read(begun(customer, access, queryTanSettings="true"))) == ["BA3010"]


def test_the_app_confirms_without_a_tan(customer: Customer) -> None:
    access = customer.connected("demo3")
    status = customer.read(begun(customer, access))
    status = up_to_tan(customer, status, 944)
    assert (codes(status), rels(status)) == (["BA2002"], ["self"])
    wait_until(lambda: codes(customer.read(href(status, "self"))) == ["BA3090"], 20)


def test_the_banks_own_page_confirms(customer: Customer) -> None:
    user = f"test_consent_redirect_{customer.username}"
    status = customer.read(begun(customer, "page", {"page": customer.entry(user)}))
    assert (codes(status), rels(status)) == (["BA2002"], ["self", "redirect"])
    assert href(status, "redirect").startswith(BACK)
    wait_until(lambda: codes(customer.read(href(status, "self"))) == ["BA3090"], 20)
    customer.wait_complete("page")
    assert customer.access("page")["bankprodukte"]


def test_nothing_secret_is_left(customer: Customer, stack: Stack) -> None:
    access = customer.connected("demo1")
    status = customer.read(begun(customer, access))
    status = moved(customer, status, "set_method", chosenScaMethodId=1)
    status = moved(customer, status, "submit_text_tan", tan="42")
    assert codes(status) == ["BA3090"]
    consent = href(status, "self").rsplit("/", 1)[1]
    assert not stack.sql("SELECT field FROM sealed_values WHERE subject = :subject", subject=f"dialogue:{consent}")


def test_a_redirect_tenant_is_sent_to_the_form(stack: Stack) -> None:
    customer = stack.tenant(regulated=False).customer()
    assert ask(customer, "none").status_code == 404
    assert ask(customer, "none", {"none": {"providerId": "00000000-0000-0000-0000-000000000000"}}).status_code == 400


class TestTheEndOfAConsent:
    def test_it_can_be_renewed_from_fourteen_days_before_on(self, customer: Customer, stack: Stack) -> None:
        access = customer.connected("demo1")
        change = "UPDATE accesses SET consent_ends_at = now() + make_interval(days => :days) WHERE user_id = :user"
        for days, wanted in ((15, False), (13, True), (-1, True)):
            stack.sql(change, days=days, user=customer.user_id)
            assert ("start_sca" in rels(customer.access(access))) == wanted
        status = up_to_tan(customer, customer.read(begun(customer, access)), 1)
        assert codes(moved(customer, status, "submit_text_tan", tan="42")) == ["BA3090"]
        assert "start_sca" not in rels(customer.access(access))
        ends = stack.sql("SELECT consent_ends_at - now() FROM accesses WHERE user_id = :user", user=customer.user_id)[0][0]
        assert ends.days in (179, 180)

    @pytest.mark.parametrize(
        ("wanted", "long"), [("none", set()), ("paymentAccounts", {"GIROKONTO", "KREDITKARTE"}), ("all", None)]
    )
    def test_how_far_back_bookings_go(self, customer: Customer, wanted: str, long: set[str] | None) -> None:
        location = begun(customer, "fresh", {"fresh": customer.entry("demo1")}, maxTransactions=wanted)
        status = up_to_tan(customer, customer.read(location), 1)
        moved(customer, status, "submit_text_tan", tan="42")
        customer.wait_complete("fresh")
        edge = (datetime.now(UTC) - timedelta(days=91)).strftime("%Y-%m-%d")
        for product in customer.access("fresh")["bankprodukte"]:
            if product["kategorie"] != "DEPOT":
                days = [booking["buchungsdatum"][:10] for booking in customer.bookings("fresh", product["id"])]
                assert days
                assert (min(days) < edge) == (long is None or product["kategorie"] in long), product["kategorie"]
