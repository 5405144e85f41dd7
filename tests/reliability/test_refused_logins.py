"""A PIN that a bank has refused is sent once: over all accesses and tenants of a login, until its customer enters it anew."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from pipelines import housekeeping
from pipelines.banks.demo import calls
from tests.spec.dialogues import BACK, TRANSFER, codes
from tests.spec.dialogues import IP as IP_HEADER
from tests.support.stack import DEMO, Customer, Stack
from warehouse.settings import Settings
from warehouse.stores import bank_logins, fetches

IP = "84.112.10.7"
TOMORROW = timedelta(days=1)


@pytest.fixture
def bank(stack: Stack) -> Iterator[str]:
    """The id of a bank whose logins each belong to one person."""
    provider = str(uuid.uuid4())
    stack.sql("INSERT INTO providers (id, name, connector, consumer_relevant) VALUES (:id, 'Bank', 'demo', false)", id=provider)
    yield provider
    for table in ("refused_logins", "unattended_sessions", "dialogues", "accesses"):
        stack.sql(f"DELETE FROM {table} WHERE provider_id = :id", id=provider)
    stack.sql("DELETE FROM providers WHERE id = :id", id=provider)


@pytest.fixture
def userid() -> str:
    """A user id whose wrong PINs the bank counts; its PIN is itself."""
    return f"test_lock_{uuid.uuid4().hex[:10]}"


def new_customer(stack: Stack) -> Customer:
    """A customer of a tenant of its own."""
    return stack.tenant().customer()


def asked(stack: Stack, userid: str) -> int:
    """How often the bank was asked with a user id."""
    return sum(call["event"] == "begin" and call["user_id"] == userid for call in calls(stack.home / "demo-bank"))


def entered(customer: Customer, userid: str, pin: str, bank: str, key: str | None = None) -> str:
    """The id of an access with a login that a customer enters now."""
    key, answer = customer.add(userid, pin, key=key, refresh=key is not None, ip=IP, providerId=bank)
    assert answer.status_code == 201, answer.text
    customer.wait_idle(key)
    return key


def due(stack: Stack, customer: Customer) -> int:
    """How many accesses of a customer the schedule would fetch tomorrow."""
    with stack.database.operating() as operator:
        found = fetches.due_accesses(operator, datetime.now(UTC) + TOMORROW, 10_000)
        return sum(access.user_id == customer.user_id for access in found)


class TestPin:
    def test_it_is_sent_once_however_often_it_is_tried(self, stack: Stack, bank: str, userid: str) -> None:
        customer = new_customer(stack)
        key = entered(customer, userid, "falsch", bank)
        assert customer.codes(key) == ["BA1011"]
        for ip in (IP, None, IP):
            assert customer.refresh(key, ip=ip).status_code == 201
        entered(customer, userid, "falsch", bank, key)
        assert customer.codes(key) == ["BA1010"], "three wrong entries, of which the bank has seen one"
        assert asked(stack, userid) == 1
        assert due(stack, customer) == 0

    def test_it_is_sent_once_over_all_tenants_and_outlives_its_access(self, stack: Stack, bank: str, userid: str) -> None:
        first, second = new_customer(stack), new_customer(stack)
        key = entered(first, userid, "falsch", bank)
        assert first.call("DELETE", f"/bankzugaenge/{key}").status_code == 200
        assert second.codes(entered(second, userid, "falsch", bank)) == ["BA1011"]
        assert asked(stack, userid) == 1

    def test_another_pin_is_tried_and_the_refused_one_stays_refused(self, stack: Stack, bank: str, userid: str) -> None:
        first, second = new_customer(stack), new_customer(stack)
        other = entered(second, userid, "falsch", bank)
        key = entered(first, userid, userid, bank)
        assert first.access(key)["status"] == "VOLLSTAENDIG"
        assert asked(stack, userid) == 2
        assert second.refresh(other).status_code == 201
        assert second.codes(other) == ["BA1011"]
        assert asked(stack, userid) == 2
        assert first.refresh(key, ip=None).status_code == 201
        assert (first.codes(key), asked(stack, userid)) == ([], 3)

    def test_dialogues_do_not_send_it_either(self, stack: Stack, bank: str, userid: str) -> None:
        customer = new_customer(stack)
        key = entered(customer, userid, "falsch", bank)
        answer = customer.call("POST", f"/bankzugaenge/{key}/consent", params={"callbackUrl": BACK}, headers=IP_HEADER)
        assert codes(customer.read(answer.headers["Location"])) == ["BA1011"]
        body = {
            "provider": bank,
            "product": "none",
            "credentials": customer.tenant.encrypted(userid=userid, pin="falsch"),
            **{"instant": False, "transferDetails": TRANSFER},
        }
        answer = customer.call("POST", "/payment/single-transfer", params={"callbackUrl": BACK}, headers=IP_HEADER, json=body)
        assert codes(answer.json()) == ["BA1011"]
        assert asked(stack, userid) == 1

    def test_what_a_dialogue_learns_holds_for_fetches(self, stack: Stack, bank: str, userid: str) -> None:
        customer = new_customer(stack)
        body = {
            "provider": bank,
            "product": "none",
            "credentials": customer.tenant.encrypted(userid=userid, pin="falsch"),
            **{"instant": False, "transferDetails": TRANSFER},
        }
        answer = customer.call("POST", "/payment/single-transfer", params={"callbackUrl": BACK}, headers=IP_HEADER, json=body)
        assert codes(answer.json()) == ["BA1011"]
        assert customer.codes(entered(customer, userid, "falsch", bank)) == ["BA1011"]
        assert asked(stack, userid) == 1


class TestLogin:
    def test_without_its_customer_it_is_not_used_anywhere_until_it_works_again(
        self, stack: Stack, bank: str, userid: str
    ) -> None:
        first, second, third = new_customer(stack), new_customer(stack), new_customer(stack)
        key, other = entered(first, userid, userid, bank), entered(second, userid, userid, bank)
        assert due(stack, first) == 1
        entered(third, userid, "falsch", bank)
        before = asked(stack, userid)
        for customer, access in ((first, key), (second, other)):
            assert customer.refresh(access, ip=None).status_code == 201
            assert customer.codes(access) == ["BA1011"]
            assert due(stack, customer) == 0
        for _ in range(3):
            assert first.refresh(key, ip=None).status_code == 201
        assert (first.codes(key), asked(stack, userid)) == (["BA1011"], before), "nobody has entered it wrongly here"
        assert first.refresh(key).status_code == 201
        assert (first.codes(key), asked(stack, userid)) == ([], before + 1), "a customer who waits may use it"
        assert second.refresh(other, ip=None).status_code == 201
        assert second.codes(other) == [], "the bank has accepted it"
        assert due(stack, first) == due(stack, second) == 1

    def test_who_enters_it_anew_may_use_it_at_once(self, stack: Stack, bank: str, userid: str) -> None:
        first, second = new_customer(stack), new_customer(stack)
        entered(first, userid, "falsch", bank)
        key, answer = second.add(userid, userid, providerId=bank)
        assert answer.status_code == 201
        second.wait_complete(key)
        assert second.codes(key) == []

    def test_a_locked_login_is_not_used_before_it_is_entered_anew(self, stack: Stack, bank: str, userid: str) -> None:
        first, second = new_customer(stack), new_customer(stack)
        other = entered(second, userid, userid, bank)
        key = entered(first, userid, "falsch-1", bank)
        for pin in ("falsch-2", "falsch-3"):
            entered(first, userid, pin, bank, key)
        assert first.codes(key) == ["BA1010"]
        before = asked(stack, userid)
        for ip in (None, IP):
            assert second.refresh(other, ip=ip).status_code == 201
        assert (second.codes(other), asked(stack, userid)) == (["BA1010"], before)
        entered(second, userid, userid, bank, other)
        assert asked(stack, userid) == before + 1, "the customer may have unlocked it"

    def test_a_published_login_counts_for_each_user(self, stack: Stack) -> None:
        first, second = new_customer(stack), new_customer(stack)
        key = second.connected("demo1", ip=IP)
        entered(first, "demo1", "falsch", DEMO)
        assert second.refresh(key, ip=None).status_code == 201
        assert second.codes(key) == []


class TestRows:
    def test_a_row_tells_nothing_without_the_key(self, stack: Stack, bank: str, userid: str) -> None:
        entered(new_customer(stack), userid, "falsch-4711", bank)
        ((login_hash, secret_hash),) = stack.sql(
            "SELECT login_hash, secret_hash FROM refused_logins WHERE provider_id = :id", id=bank
        )
        assert (len(login_hash), len(secret_hash)) == (32, 32)
        ((stored,),) = stack.sql("SELECT login_hash FROM accesses WHERE provider_id = :id", id=bank)
        assert stored != login_hash
        find = "SELECT column_name FROM information_schema.columns WHERE table_name = 'refused_logins'"
        columns = {name for (name,) in stack.sql(find)}
        assert columns == {"login_hash", "provider_id", "secret_hash", "locked", "held", "refused_at"}

    def test_housekeeping_forgets_it_after_ninety_days(self, stack: Stack, bank: str, userid: str) -> None:
        entered(new_customer(stack), userid, "falsch", bank)
        age = "UPDATE refused_logins SET refused_at = now() - make_interval(days => :days) WHERE provider_id = :id"
        for days, left in ((89, 1), (91, 0)):
            stack.sql(age, days=days, id=bank)
            housekeeping.sweep(stack.database, Settings())
            assert stack.sql("SELECT count(*) FROM refused_logins WHERE provider_id = :id", id=bank) == [(left,)]

    def test_the_operator_forgets_what_a_bank_refused_by_mistake(self, stack: Stack, bank: str, userid: str) -> None:
        customer = new_customer(stack)
        key = entered(customer, userid, "falsch", bank)
        with stack.database.operating() as operator:
            assert bank_logins.forget_refusals(operator, uuid.UUID(bank)) == 1
        entered(customer, userid, "falsch", bank, key)
        assert asked(stack, userid) == 2
