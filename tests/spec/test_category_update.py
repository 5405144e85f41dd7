"""The category update: a customer's own choice for a booking, for those like it, and for those to come."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx
import pytest

from tests.support.accounts import Account, category
from tests.support.stack import Stack, TenantUnderTest
from warehouse import scopes

IBAN, OTHER_IBAN = "DE02120300000000202051", "DE02500105170137075030"


def wished(item: str = "HOUSING_RENT", tree: str = "CATEGORIES", **more: Any) -> dict[str, Any]:
    return {"tags": category(item, tree, **more)}


def put(account: Account, booking: str, body: Any = None, **query: str) -> httpx.Response:
    return account.customer.call("PUT", f"{account.path}/{booking}", json=wished() if body is None else body, params=query)


def put_by_id(account: Account, booking: str, body: Any = None, **query: str) -> httpx.Response:
    given = wished() if body is None else body
    return account.http.put(f"/ai/v1/transactions/{booking}", json=given, params=query, headers=account.customer.bearer)


def take_back(account: Account, booking: str, **query: str) -> httpx.Response:
    return account.http.delete(f"/ai/v1/transactions/{booking}/tags", params=query, headers=account.customer.bearer)


@pytest.fixture
def account(r1: TenantUnderTest) -> Account:
    return Account(r1.customer())


@pytest.fixture(scope="module")
def shared(r1: TenantUnderTest) -> Account:
    """An account for tests that change nothing, or only their own bookings."""
    return Account(r1.customer())


def test_anonymous(http: httpx.Client) -> None:
    for method, path in (
        ("PUT", "/customer/v2/bankzugaenge/a/b/kontoumsaetze/c"),
        ("PUT", "/ai/v1/transactions/c"),
        ("DELETE", "/ai/v1/transactions/c/tags"),
    ):
        assert http.request(method, path, json=wished()).status_code == 401


def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest, shared: Account) -> None:
    (booking,) = shared.push({})
    token = r1.bearer("app", shared.customer.username, scopes.CUSTOMER_READ)
    for method, path in (
        ("PUT", f"/customer/v2{shared.path}/{booking}"),
        ("PUT", f"/ai/v1/transactions/{booking}"),
        ("DELETE", f"/ai/v1/transactions/{booking}/tags"),
    ):
        assert http.request(method, path, json=wished(), headers=token).status_code == 403
    assert shared.chosen([booking]) == [False]


def test_a_clients_token_chooses_nothing(http: httpx.Client, r1: TenantUnderTest, shared: Account) -> None:
    (booking,) = shared.push({})
    assert http.put(f"/ai/v1/transactions/{booking}", json=wished(), headers=r1.bearer("app")).status_code == 403


def test_a_choice_is_the_category(shared: Account) -> None:
    first, second = shared.push({}, {})
    answer = put(shared, first, wished("RECREATION_PETS"))
    assert (answer.status_code, answer.content) == (200, b"")
    tag = shared.tags()[first]
    assert tag["tagTreeItem"]["systemName"] == "RECREATION_PETS"
    assert (tag["details"]["confidenceLevel"], tag["details"]["source"]) == (1, "USER")
    assert tag["details"]["reason"] == "eigene Wahl"
    assert shared.chosen([first, second]) == [True, False]
    found = shared.customer.read(shared.path, params={"categorize": "true"})
    (classification,) = next(booking["classifications"] for booking in found if booking["id"] == first)
    assert (classification["category"], classification["parentCategory"]) == ("RECREATION_PETS", "RECREATION")


def test_by_the_id_alone(shared: Account) -> None:
    (booking,) = shared.push({})
    assert put_by_id(shared, booking).status_code == 200
    assert shared.items([booking]) == ["HOUSING_RENT"]


def test_the_latest_choice_holds(shared: Account) -> None:
    (booking,) = shared.push({})
    for item in ("HOUSING_RENT", "TAXES", "TRANSFER_OTHER"):
        assert put(shared, booking, wished(item)).status_code == 200
        assert shared.items([booking]) == [item]


def test_again_changes_nothing(account: Account) -> None:
    (booking,) = account.push({"gegenkontoInhaber": "Vermieter Schulz"})
    query = {"changeExisting": "true", "createRule": "true"}
    assert put(account, booking, **query).status_code == 200
    before = account.revision, account.tags(), account.rules()
    assert put(account, booking, **query).status_code == 200
    assert (account.revision, account.tags(), account.rules()) == before


class TestSigns:
    """INCOME_* needs a positive amount, TRANSFER_* and four others take any, all others need a negative one."""

    @pytest.mark.parametrize(
        ("item", "amount", "fits"),
        [
            ("INCOME_SALARY", 10, True),
            ("INCOME_SALARY", -10, False),
            ("INCOME_SALARY", 0, False),
            ("INCOME_STATE_FAMILY", 10, True),
            ("LIVING_GROCERIES", -10, True),
            ("LIVING_GROCERIES", 10, False),
            ("LIVING_GROCERIES", 0, False),
            ("TAXES", -10, True),
            ("TAXES", 10, False),
            ("SAVINGS_SECURITIES", 10, False),
            ("INSURANCE_VEHICLE", 10, False),
            ("TRANSFER_INTERNAL", 10, True),
            ("TRANSFER_INTERNAL", -10, True),
            ("TRANSFER_INTERNAL", 0, True),
            ("OTHER_INCOME", 10, True),
            ("OTHER_INCOME", -10, True),
            ("BANKFINANCE_ATMDEPOSIT", 10, True),
            ("BANKFINANCE_CASHDEPOSIT", -10, True),
            ("BANKFINANCE_CREDITINCOME", 10, True),
            ("OTHER_SPENDING", 10, False),
        ],
    )
    def test_a_category_must_fit_the_amount(self, shared: Account, item: str, amount: int, fits: bool) -> None:
        (booking,) = shared.push({"betrag": amount})
        answer = put(shared, booking, wished(item))
        assert answer.status_code == (200 if fits else 400)
        assert shared.chosen([booking]) == [fits]
        if not fits:
            assert answer.json()["messages"][0]["details"] == "tags.systemName: passt nicht zum Vorzeichen des Betrags"


class TestWrongBodies:
    @pytest.mark.parametrize(
        "body",
        [
            wished("UNKNOWN_THING"),
            wished("living_groceries"),
            wished("LIVING"),
            wished("INCOME"),
            wished("NET"),
            wished("EXPENSES"),
            wished("HOUSING_RENT", "INSURANCE_TYPES"),
            wished("VEHICLE_CAR", "INSURANCE_TYPES"),
            wished("HOUSING_RENT", "categories"),
            {"tags": {"systemName": "HOUSING_RENT"}},
            {"tags": {"systemName": "HOUSING_RENT", "tagTree": {}}},
            {"tags": {"systemName": "HOUSING_RENT", "tagTree": {"systemId": 1}}},
            {"tags": {"systemId": 10201, "tagTree": {"systemName": "CATEGORIES"}}},
            {"tags": {"systemName": None, "tagTree": {"systemName": "CATEGORIES"}}},
            {"tags": {"systemName": 7, "tagTree": {"systemName": "CATEGORIES"}}},
            {"tags": []},
            {"tags": None},
            {"tags": "HOUSING_RENT"},
            {},
            [],
        ],
    )
    def test_nothing_is_changed(self, shared: Account, body: Any) -> None:
        (booking,) = shared.push({})
        for answer in (put(shared, booking, body), put_by_id(shared, booking, body)):
            assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")
            assert answer.json()["messages"][0]["fields"]
        assert shared.chosen([booking]) == [False]

    def test_only_system_names_count(self, shared: Account) -> None:
        (booking,) = shared.push({})
        body = wished(systemId=99999, displayName="Kleidung", systemNameParent="SHOPPING")
        body["tags"]["tagTree"] |= {"systemId": 2, "version": "x"}
        assert put(shared, booking, body).status_code == 200
        assert shared.items([booking]) == ["HOUSING_RENT"]

    @pytest.mark.parametrize("flag", ["changeExisting", "createRule"])
    @pytest.mark.parametrize("value", ["1", "", "yes", "True"])
    def test_flags_are_true_or_false(self, shared: Account, flag: str, value: str) -> None:
        (booking,) = shared.push({})
        assert put(shared, booking, **{flag: value}).status_code == 400
        assert shared.chosen([booking]) == [False]


class TestMissing:
    def test_unknown_bookings(self, shared: Account) -> None:
        for booking in (str(uuid.uuid4()), "nonsense", "%00"):
            assert put(shared, booking).status_code == 404
            assert put_by_id(shared, booking).status_code == 404
            assert take_back(shared, booking).status_code == 404

    def test_a_booking_of_another_product(self, account: Account, shared: Account) -> None:
        second = account.customer.connected("test_many_3")
        product = account.customer.access(second)["bankprodukte"][0]["id"]
        (booking,) = account.push({})
        path = f"/bankzugaenge/{second}/{product}/kontoumsaetze/{booking}"
        assert account.customer.call("PUT", path, json=wished()).status_code == 404
        assert account.chosen([booking]) == [False]

    def test_strangers_find_nothing_and_change_nothing(
        self, shared: Account, r1: TenantUnderTest, r2: TenantUnderTest, http: httpx.Client
    ) -> None:
        (booking,) = shared.push({"gegenkontoInhaber": "Vermieter Schulz"})
        missing = put(shared, str(uuid.uuid4()))
        for stranger in (Account(r1.customer()), Account(r2.customer())):
            own = stranger.customer.bearer
            for answer in (
                http.put(f"/customer/v2{shared.path}/{booking}", json=wished(), headers=own),
                http.put(f"/customer/v2{stranger.path}/{booking}", json=wished(), headers=own),
                http.put(f"/ai/v1/transactions/{booking}", json=wished(), headers=own, params={"changeExisting": "true"}),
                http.delete(f"/ai/v1/transactions/{booking}/tags", headers=own),
            ):
                assert (answer.status_code, answer.json()) == (404, missing.json())
        assert shared.chosen([booking]) == [False]


class TestThoseThatThereAre:
    """changeExisting: all bookings of the user with the same name and the same IBAN whose sign fits."""

    def test_the_same_counterparty(self, account: Account) -> None:
        name = "Vermieter Schulz"
        alike = account.push(
            {"gegenkontoInhaber": name, "gegenkontoIban": IBAN},
            {"gegenkontoInhaber": "VERMIETER  SCHULZ", "gegenkontoIban": "de02 1203 0000 0000 2020 51"},
            {"gegenkontoInhaber": name, "gegenkontoIban": IBAN, "betrag": -99, "verwendungszweck": "etwas anderes"},
        )
        others = account.push(
            {"gegenkontoInhaber": name, "gegenkontoIban": IBAN, "betrag": 10},
            {"gegenkontoInhaber": name, "gegenkontoIban": OTHER_IBAN},
            {"gegenkontoInhaber": name},
            {"gegenkontoInhaber": "Vermieterin Schulz", "gegenkontoIban": IBAN},
            {"gegenkontoIban": IBAN},
            {"verwendungszweck": name},
        )
        assert put(account, alike[0], changeExisting="true").status_code == 200
        assert account.items(alike) == ["HOUSING_RENT"] * 3
        assert account.chosen(others) == [False] * len(others)
        assert account.rules() == []

    @pytest.mark.parametrize("given", [{"gegenkontoInhaber": "Vermieter Schulz"}, {"gegenkontoIban": IBAN}])
    def test_what_is_missing_must_be_missing(self, account: Account, given: dict[str, str]) -> None:
        alike = account.push(given, given)
        both = account.push({"gegenkontoInhaber": "Vermieter Schulz", "gegenkontoIban": IBAN})
        assert put(account, alike[0], changeExisting="true").status_code == 200
        assert account.chosen(alike) == [True, True]
        assert account.chosen(both) == [False]

    def test_a_booking_without_a_counterparty_is_like_no_other(self, account: Account) -> None:
        first, second = account.push({"verwendungszweck": "Scheck"}, {"verwendungszweck": "Scheck"})
        assert put(account, first, changeExisting="true").status_code == 200
        assert account.chosen([first, second]) == [True, False]

    def test_without_the_flag_only_this_one(self, account: Account) -> None:
        first, second = account.push({"gegenkontoInhaber": "Kiosk"}, {"gegenkontoInhaber": "Kiosk"})
        assert put(account, first).status_code == 200
        assert account.chosen([first, second]) == [True, False]

    def test_over_all_products_of_the_user_and_of_nobody_else(self, account: Account, r1: TenantUnderTest) -> None:
        second, stranger = Account(account.customer), Account(r1.customer())
        everywhere = [place.push({"gegenkontoInhaber": "Kiosk"})[0] for place in (account, second, stranger)]
        assert put(account, everywhere[0], changeExisting="true").status_code == 200
        assert account.chosen(everywhere[:1]) == second.chosen(everywhere[1:2]) == [True]
        assert stranger.chosen(everywhere[2:]) == [False]

    def test_those_to_come_are_not_meant(self, account: Account) -> None:
        (first,) = account.push({"gegenkontoInhaber": "Kiosk"})
        assert put(account, first, changeExisting="true").status_code == 200
        later = account.push({"gegenkontoInhaber": "Kiosk"})
        assert account.chosen(later) == [False]

    def test_earlier_choices_are_replaced(self, account: Account) -> None:
        first, second = account.push({"gegenkontoInhaber": "Kiosk"}, {"gegenkontoInhaber": "Kiosk"})
        assert put(account, second, wished("TAXES")).status_code == 200
        assert put(account, first, changeExisting="true").status_code == 200
        assert account.items([first, second]) == ["HOUSING_RENT"] * 2


class TestThoseToCome:
    """createRule: a rule for the bookings of the counterparty that come after it."""

    def test_bookings_that_come_later(self, account: Account) -> None:
        first, second = account.push({"gegenkontoInhaber": "Kiosk"}, {"gegenkontoInhaber": "Kiosk"})
        assert put(account, first, createRule="true").status_code == 200
        later = account.push(
            {"gegenkontoInhaber": "KIOSK", "buchungsdatum": "2026-01-02 00:00:00"}, {"gegenkontoInhaber": "Kneipe"}
        )
        assert account.chosen([first, second, *later]) == [True, False, True, False]
        assert account.tags()[later[0]]["details"]["reason"] == "eigene Regel für diesen Zahlungspartner"

    def test_only_where_the_sign_fits(self, account: Account) -> None:
        (first,) = account.push({"gegenkontoInhaber": "Kiosk"})
        assert put(account, first, createRule="true").status_code == 200
        later = account.push({"gegenkontoInhaber": "Kiosk", "betrag": 5}, {"gegenkontoInhaber": "Kiosk", "betrag": 0})
        assert account.chosen(later) == [False, False]

    def test_the_rule_is_listed_and_can_be_ended(self, account: Account, http: httpx.Client) -> None:
        (first,) = account.push({"gegenkontoInhaber": "Kiosk am Eck", "gegenkontoIban": IBAN})
        assert put(account, first, createRule="true").status_code == 200
        (rule,) = account.rules()
        assert (rule["counterpartyName"], rule["counterpartyIban"]) == ("Kiosk am Eck", IBAN)
        assert rule["tagTreeItem"]["systemName"] == "HOUSING_RENT"
        before = account.tags()
        later = account.push({"gegenkontoInhaber": "Kiosk am Eck", "gegenkontoIban": IBAN})
        assert account.chosen(later) == [True]
        assert http.delete(rule["relations"][0]["href"], headers=account.customer.bearer).status_code == 200
        after = account.tags()
        assert after.pop(later[0])["details"]["source"] != "USER"
        assert after == before
        assert account.rules() == []

    def test_again_it_reaches_what_it_has_reached(self, account: Account) -> None:
        (first,) = account.push({"gegenkontoInhaber": "Kiosk"})
        assert put(account, first, createRule="true").status_code == 200
        later = account.push({"gegenkontoInhaber": "Kiosk"})
        assert put(account, first, createRule="true").status_code == 200
        assert account.chosen(later) == [True]
        assert put(account, first, wished("TAXES"), createRule="true").status_code == 200
        assert account.items(later) == ["TAXES"]
        assert len(account.rules()) == 1

    def test_a_choice_goes_before_a_rule(self, account: Account) -> None:
        (first,) = account.push({"gegenkontoInhaber": "Kiosk"})
        assert put(account, first, createRule="true").status_code == 200
        later = account.push({"gegenkontoInhaber": "Kiosk"})
        assert put(account, later[0], wished("TAXES")).status_code == 200
        assert account.items(later) == ["TAXES"]

    def test_no_rule_for_nobody(self, account: Account) -> None:
        (booking,) = account.push({"verwendungszweck": "Scheck"})
        answer = put(account, booking, createRule="true")
        assert answer.status_code == 400
        assert "createRule" in answer.json()["messages"][0]["details"]
        assert account.chosen([booking]) == [False]

    def test_both_flags(self, account: Account) -> None:
        first, second = account.push({"gegenkontoInhaber": "Kiosk"}, {"gegenkontoInhaber": "Kiosk"})
        assert put_by_id(account, first, changeExisting="true", createRule="true").status_code == 200
        later = account.push({"gegenkontoInhaber": "Kiosk"})
        assert account.chosen([first, second, *later]) == [True] * 3

    def test_another_user_has_no_part_in_it(self, account: Account, r1: TenantUnderTest) -> None:
        stranger = Account(r1.customer())
        (first,) = account.push({"gegenkontoInhaber": "Kiosk"})
        assert put(account, first, createRule="true").status_code == 200
        assert stranger.chosen(stranger.push({"gegenkontoInhaber": "Kiosk"})) == [False]
        assert stranger.rules() == []


class TestInsurance:
    """Outside insurance, a chosen category leaves no insurance type; inside, one of its division."""

    def test_no_insurance(self, account: Account) -> None:
        (booking,) = account.push({"gegenkontoInhaber": "HUK-COBURG", "verwendungszweck": "Kfz-Versicherung"})
        assert put(account, booking, wished("LIVING_GROCERIES")).status_code == 200
        assert account.items([booking], "insurances") == ["UNRELATED_OTHER"]

    @pytest.mark.parametrize(
        ("category", "division"),
        [
            ("INSURANCE_VEHICLE", {"VEHICLE"}),
            ("INSURANCE_PROVISIONARY", {"PROVISIONARY", "LIFE"}),
            ("INSURANCE_OTHER", {"OTHER"}),
        ],
    )
    def test_an_insurance(self, account: Account, category: str, division: set[str]) -> None:
        (booking,) = account.push({"gegenkontoInhaber": "Irgendeine Versicherung"})
        assert put(account, booking, wished(category)).status_code == 200
        assert account.tags("insurances")[booking]["tagTreeItem"]["systemNameParent"] in division


class TestTheWayBack:
    def test_what_was_recognised_holds_again(self, account: Account) -> None:
        (booking,) = account.push({"gegenkontoInhaber": "Kiosk"})
        before = account.tags()
        assert put(account, booking).status_code == 200
        answer = take_back(account, booking)
        assert (answer.status_code, answer.content) == (200, b"")
        assert account.tags() == before

    def test_twice_is_once(self, account: Account) -> None:
        (booking,) = account.push({})
        assert put(account, booking).status_code == 200
        assert take_back(account, booking).status_code == 200
        before = account.revision
        assert take_back(account, booking).status_code == 200
        assert account.revision == before

    def test_for_all_of_a_counterparty(self, account: Account) -> None:
        kiosk = account.push({"gegenkontoInhaber": "Kiosk"}, {"gegenkontoInhaber": "Kiosk"})
        other = account.push({"gegenkontoInhaber": "Kneipe"})
        for booking in (*kiosk, *other):
            assert put(account, booking).status_code == 200
        assert take_back(account, kiosk[0], changeExisting="true").status_code == 200
        assert account.chosen([*kiosk, *other]) == [False, False, True]


class TestLasting:
    def test_a_choice_survives_a_refresh(self, account: Account) -> None:
        booking = next(item["id"] for item in account.customer.read(account.path) if item["betrag"] < 0)
        assert put(account, booking, wished("RECREATION_PETS")).status_code == 200
        before = account.tags()
        assert account.customer.refresh(account.key).status_code == 201
        assert account.tags() == before
        assert account.items([booking]) == ["RECREATION_PETS"]

    def test_it_goes_with_the_access(self, account: Account, stack: Stack) -> None:
        (booking,) = account.push({})
        assert put(account, booking).status_code == 200
        find = "SELECT count(*) FROM category_choices WHERE user_id = :user"
        assert stack.sql(find, user=account.customer.user_id)[0][0] == 1
        assert account.customer.call("DELETE", f"/bankzugaenge/{account.key}").status_code == 200
        assert stack.sql(find, user=account.customer.user_id)[0][0] == 0

    def test_every_change_makes_lists_new(self, account: Account) -> None:
        (booking,) = account.push({})
        changes: list[Callable[[], httpx.Response]] = [
            partial(put, account, booking),
            partial(put, account, booking, wished("TAXES")),
            partial(take_back, account, booking),
        ]
        for change in changes:
            etag = account.customer.get(account.path, params={"tag": "true"}).headers["ETag"]
            assert change().status_code == 200
            fresh = account.customer.get(account.path, params={"tag": "true"}, headers={"If-None-Match": etag})
            assert fresh.status_code == 200


class TestAtTheSameTime:
    def test_many_choices_of_one_user(self, account: Account) -> None:
        bookings = account.push(*({"betrag": -n - 1} for n in range(20)))
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(partial(put, account), bookings))
        assert {answer.status_code for answer in answers} == {200}
        assert account.chosen(bookings) == [True] * 20

    def test_one_of_them_wins_whole(self, account: Account) -> None:
        kiosk = account.push(*({"gegenkontoInhaber": "Kiosk", "betrag": -n - 1} for n in range(10)))
        items = ["HOUSING_RENT", "TAXES", "LIVING_GROCERIES", "TRANSFER_OTHER"] * 3
        query = {"changeExisting": "true", "createRule": "true"}
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda item: put(account, kiosk[0], wished(item), **query), items))
        assert {answer.status_code for answer in answers} == {200}
        assert len(set(account.items(kiosk))) == 1
        (rule,) = account.rules()
        assert account.items(account.push({"gegenkontoInhaber": "Kiosk"})) == [rule["tagTreeItem"]["systemName"]]
        assert rule["tagTreeItem"]["systemName"] == account.items(kiosk)[0]
