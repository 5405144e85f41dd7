"""Rules for counterparties: those of users, and those of tenants for all their users."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.accounts import RULES, Account, add_rule, category, rule
from tests.support.stack import Stack, TenantUnderTest
from warehouse import scopes

IBAN, OTHER_IBAN = "DE02120300000000202051", "DE02500105170137075030"


@pytest.fixture
def book(r1: TenantUnderTest) -> Account:
    return Account(r1.customer())


@pytest.fixture
def tenant(stack: Stack) -> TenantUnderTest:
    """A tenant of its own, since its rules hold for all its users."""
    return stack.tenant()


@pytest.fixture
def someone(r1: TenantUnderTest) -> dict[str, str]:
    """The token of a user without bookings."""
    return r1.customer().bearer


def test_anonymous(http: httpx.Client) -> None:
    for method, path in (("GET", RULES), ("POST", RULES), ("GET", f"{RULES}/x"), ("DELETE", f"{RULES}/x")):
        assert http.request(method, path).status_code == 401


def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest) -> None:
    reads, writes = (r1.bearer("app", "anna", scope) for scope in (scopes.CUSTOMER_READ, scopes.CUSTOMER_MODIFY))
    assert http.post(RULES, json=rule(), headers=reads).status_code == 403
    assert http.delete(f"{RULES}/{uuid.uuid4()}", headers=reads).status_code == 403
    assert http.get(RULES, headers=writes).status_code == 403
    assert http.get(RULES, headers=reads).json() == []


def test_a_rule_is_made_and_read(http: httpx.Client, stack: Stack, someone: dict[str, str]) -> None:
    answer = http.post(
        f"{RULES}/",
        json=rule(counterpartyName=" Vermieter Schulz ", counterpartyIban="de02 1203 0000 0000 2020 51"),
        headers=someone,
    )
    made = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"{stack.base_url}{RULES}/{made['id']}"
    assert (made["counterpartyName"], made["counterpartyIban"]) == ("Vermieter Schulz", IBAN)
    assert made["tagTreeItem"]["systemName"] == "HOUSING_RENT"
    assert made["tagTreeItem"]["tagTree"]["systemName"] == "CATEGORIES"
    assert made["relations"] == [{"rel": "self", "href": answer.headers["Location"]}]
    assert http.get(answer.headers["Location"], headers=someone).json() == made
    assert http.get(f"{RULES}/", headers=someone).json() == [made]


def test_what_is_not_compared_is_empty(http: httpx.Client, someone: dict[str, str]) -> None:
    assert add_rule(http, someone, counterpartyIban=IBAN)["counterpartyName"] == ""
    assert add_rule(http, someone, counterpartyName="Schulz", counterpartyIban=None)["counterpartyIban"] == ""


def test_the_newest_come_first(http: httpx.Client, someone: dict[str, str]) -> None:
    made = [add_rule(http, someone, counterpartyName=name)["id"] for name in ("Anton", "Berta", "Caesar")]
    assert [item["id"] for item in http.get(RULES, headers=someone).json()] == made[::-1]


@pytest.mark.parametrize(
    "body",
    [
        rule("UNKNOWN_THING"),
        rule("LIVING"),
        rule("NET"),
        rule("EXPENSES"),
        rule("INCOME"),
        {**rule(), "tagTreeItem": category("VEHICLE_CAR", "INSURANCE_TYPES")},
        {**rule(), "tagTreeItem": {"systemName": "HOUSING_RENT"}},
        {**rule(), "tagTreeItem": None},
        {"counterpartyName": "Vermieter Schulz"},
        rule(counterpartyName=""),
        rule(counterpartyName="  ", counterpartyIban=None),
        rule(counterpartyName=None),
        rule(counterpartyName="***"),
        rule(counterpartyName="***", counterpartyIban=IBAN),
        rule(counterpartyName="x" * 257),
        rule(counterpartyName="two\nlines"),
        rule(counterpartyName=7),
        rule(counterpartyIban="DE02120300000000202052"),
        rule(counterpartyIban="DE0212030000000020205"),
        rule(counterpartyIban="XX02120300000000202051"),
        rule(counterpartyIban="nonsense"),
        rule(counterpartyIban=["DE02120300000000202051"]),
        {},
        [],
        None,
    ],
)
def test_wrong_bodies(http: httpx.Client, someone: dict[str, str], body: Any) -> None:
    answer = http.post(RULES, json=body, headers=someone)
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")
    assert answer.json()["messages"][0]["fields"]
    assert http.get(RULES, headers=someone).json() == []


def test_unknown_rules(http: httpx.Client, someone: dict[str, str]) -> None:
    for name in (str(uuid.uuid4()), "nonsense"):
        assert http.get(f"{RULES}/{name}", headers=someone).status_code == 404
        assert http.delete(f"{RULES}/{name}", headers=someone).status_code == 404


def test_one_rule_for_a_counterparty(http: httpx.Client, someone: dict[str, str]) -> None:
    first = add_rule(http, someone, counterpartyName="Vermieter Schulz", counterpartyIban=IBAN)
    assert add_rule(http, someone, counterpartyName="VERMIETER SCHULZ", counterpartyIban=IBAN)["id"] == first["id"]
    second = add_rule(http, someone, "TAXES", counterpartyName="Vermieter Schulz", counterpartyIban=IBAN)
    assert (second["id"], second["tagTreeItem"]["systemName"]) == (first["id"], "TAXES")
    add_rule(http, someone, counterpartyName="Vermieter Schulz")
    add_rule(http, someone, counterpartyIban=IBAN)
    assert len(http.get(RULES, headers=someone).json()) == 3


def test_the_same_rule_at_the_same_time(http: httpx.Client, r1: TenantUnderTest, tenant: TenantUnderTest) -> None:
    for bearer in (r1.customer().bearer, tenant.bearer("app")):
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _, bearer=bearer: add_rule(http, bearer), range(8)))
        assert len({item["id"] for item in made}) == 1
        assert len(http.get(RULES, headers=bearer).json()) == 1


class TestWhatTheyDo:
    def test_bookings_of_the_counterparty(self, book: Account) -> None:
        schulz, other, named_in_text = book.push(
            {"gegenkontoInhaber": "VERMIETER SCHULZ", "gegenkontoIban": IBAN},
            {"gegenkontoInhaber": "Vermieter Schultz"},
            {"verwendungszweck": "Vermieter Schulz"},
        )
        book.add_rule(counterpartyName="Vermieter Schulz")
        assert book.wished(schulz, other, named_in_text) == ["HOUSING_RENT", "", ""]
        details = book.tags()[schulz]["details"]
        assert (details["source"], details["reason"]) == ("USER", "eigene Regel für diesen Zahlungspartner")
        assert book.wished(*book.push({"gegenkontoInhaber": "Vermieter Schulz"})) == ["HOUSING_RENT"]

    def test_both_if_both_are_given(self, book: Account) -> None:
        bookings = book.push(
            {"gegenkontoInhaber": "Schulz", "gegenkontoIban": IBAN},
            {"gegenkontoInhaber": "Schulz", "gegenkontoIban": OTHER_IBAN},
            {"gegenkontoInhaber": "Meier", "gegenkontoIban": IBAN},
            {"gegenkontoIban": IBAN},
        )
        book.add_rule(counterpartyName="Schulz", counterpartyIban=IBAN)
        assert book.wished(*bookings) == ["HOUSING_RENT", "", "", ""]

    def test_an_iban_alone(self, book: Account) -> None:
        bookings = book.push({"gegenkontoInhaber": "Schulz", "gegenkontoIban": IBAN}, {"gegenkontoIban": OTHER_IBAN})
        book.add_rule(counterpartyIban=IBAN)
        assert book.wished(*bookings) == ["HOUSING_RENT", ""]

    def test_only_where_the_sign_fits(self, book: Account) -> None:
        bookings = book.push(*({"gegenkontoInhaber": "Schulz", "betrag": amount} for amount in (-10, 10, 0)))
        book.add_rule(counterpartyName="Schulz")
        assert book.wished(*bookings) == ["HOUSING_RENT", "", ""]
        book.add_rule(item="INCOME_RENTAL", counterpartyName="Schulz")
        assert book.wished(*bookings) == ["", "INCOME_RENTAL", ""]
        book.add_rule(item="TRANSFER_OTHER", counterpartyName="Schulz")
        assert book.wished(*bookings) == ["TRANSFER_OTHER"] * 3

    def test_the_newest_that_fits_wins(self, book: Account) -> None:
        outgoing, incoming = book.push(
            {"gegenkontoInhaber": "Schulz", "gegenkontoIban": IBAN},
            {"gegenkontoInhaber": "Schulz", "gegenkontoIban": IBAN, "betrag": 5},
        )
        book.add_rule(item="HOUSING_RENT", counterpartyName="Schulz", counterpartyIban=IBAN)
        book.add_rule(item="TAXES", counterpartyName="Schulz")
        book.add_rule(item="INCOME_RENTAL", counterpartyIban=IBAN)
        assert book.wished(outgoing, incoming) == ["TAXES", "INCOME_RENTAL"]
        book.add_rule(item="HOUSING_RENT", counterpartyName="Schulz", counterpartyIban=IBAN)
        assert book.wished(outgoing, incoming) == ["HOUSING_RENT", "INCOME_RENTAL"]

    def test_without_it_everything_is_as_before(self, book: Account) -> None:
        book.push({"gegenkontoInhaber": "Schulz"}, {"gegenkontoInhaber": "Meier"})
        before = book.tags()
        made = book.add_rule(counterpartyName="Schulz")
        assert book.tags() != before
        answer = book.http.delete(f"{RULES}/{made['id']}", headers=book.customer.bearer)
        assert (answer.status_code, answer.content) == (200, b"")
        assert book.tags() == before
        assert book.http.delete(f"{RULES}/{made['id']}", headers=book.customer.bearer).status_code == 404


class TestOfTenants:
    def test_they_hold_for_all_users(self, tenant: TenantUnderTest, r1: TenantUnderTest, http: httpx.Client) -> None:
        books = [Account(tenant.customer()), Account(tenant.customer()), Account(r1.customer())]
        bookings = [book.push({"gegenkontoInhaber": "Schulz"})[0] for book in books]
        made = add_rule(http, tenant.bearer("app"), counterpartyName="Schulz")
        found = [book.wished(booking) for book, booking in zip(books, bookings, strict=True)]
        assert found == [["HOUSING_RENT"], ["HOUSING_RENT"], [""]]
        details = books[0].tags()[bookings[0]]["details"]
        assert (details["source"], details["reason"]) == ("RULE", "Regel des Anbieters für diesen Zahlungspartner")
        assert http.delete(f"{RULES}/{made['id']}", headers=tenant.bearer("app")).status_code == 200
        assert books[0].wished(bookings[0]) == [""]

    def test_a_users_own_rule_goes_before(self, tenant: TenantUnderTest, http: httpx.Client) -> None:
        book = Account(tenant.customer())
        first, second = book.push({"gegenkontoInhaber": "Schulz", "gegenkontoIban": IBAN}, {"gegenkontoInhaber": "Schulz"})
        mine = book.add_rule(item="TAXES", counterpartyIban=IBAN)
        add_rule(http, tenant.bearer("app"), "HOUSING_RENT", counterpartyName="Schulz", counterpartyIban=IBAN)
        add_rule(http, tenant.bearer("app"), "LIVING_OTHER", counterpartyName="Schulz")
        assert book.wished(first, second) == ["TAXES", "LIVING_OTHER"]
        assert http.delete(f"{RULES}/{mine['id']}", headers=book.customer.bearer).status_code == 200
        assert book.wished(first, second) == ["LIVING_OTHER"] * 2

    def test_everybody_sees_only_their_own(self, tenant: TenantUnderTest, http: httpx.Client) -> None:
        user, other = tenant.customer().bearer, tenant.customer().bearer
        elsewhere = tenant.stack.tenant().bearer("app")
        owners = {"user": user, "other": other, "tenant": tenant.bearer("app"), "elsewhere": elsewhere}
        made = {name: add_rule(http, bearer, counterpartyName="Schulz")["id"] for name, bearer in owners.items()}
        for name, bearer in owners.items():
            assert [item["id"] for item in http.get(RULES, headers=bearer).json()] == [made[name]]
            for stranger in made.keys() - {name}:
                assert http.get(f"{RULES}/{made[stranger]}", headers=bearer).status_code == 404
                assert http.delete(f"{RULES}/{made[stranger]}", headers=bearer).status_code == 404
        for name, bearer in owners.items():
            assert http.get(f"{RULES}/{made[name]}", headers=bearer).status_code == 200
        assert http.delete(f"{RULES}/{made['elsewhere']}", headers=owners["elsewhere"]).status_code == 200


def test_there_is_a_limit(http: httpx.Client, r1: TenantUnderTest, stack: Stack) -> None:
    customer = r1.customer()
    stack.sql(
        "INSERT INTO category_rules (id, tenant_id, user_id, item, counterparty_iban, counterparty_name, name_key, rank, after) "
        "SELECT gen_random_uuid(), :tenant, :user, 'TAXES', '', 'x' || n, 'x' || n, n, 0 FROM generate_series(1, 5000) AS n",
        tenant=r1.tenant_id,
        user=customer.user_id,
    )
    assert http.post(RULES, json=rule(), headers=customer.bearer).status_code == 409
    assert http.post(RULES, json=rule(counterpartyName="x17"), headers=customer.bearer).status_code == 201
    assert len(http.get(RULES, headers=customer.bearer).json()) == 5000
