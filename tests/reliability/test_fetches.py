"""What breaks around a fetch: the worker is killed, the database restarts, the bank hangs, many banks are slow at once."""

import json
import signal
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from pipelines.banks.demo import calls
from pipelines.context import Context
from pipelines.fetching import refresh
from pipelines.fetching.slots import slot_of
from tests.support.receiver import receiving
from tests.support.stack import Customer, Stack, TenantUnderTest, running_stack, start, wait_until
from warehouse.postgres.embedded import pg_ctl
from warehouse.settings import Settings

IP = "84.112.10.7"
PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def banks(homes: Path) -> Iterator[Stack]:
    """A service that loses patience quickly."""
    told = {"REQUEST_TIMEOUT_SECONDS": "8", "BANK_TIMEOUT_SECONDS": "14", "WORKER_LOST_SECONDS": "3"}
    told |= {"WEBHOOK_PRIVATE_ADDRESSES": "true", "WORKERS": "1"}
    with running_stack(homes / "banks", **{f"KONTOR_{name}": value for name, value in told.items()}) as running:
        yield running


@pytest.fixture(scope="module")
def tenant(banks: Stack) -> TenantUnderTest:
    return banks.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


@pytest.fixture
def house(banks: Stack) -> Iterator[Context]:
    """The flows' view of the service, for a schedule that ticks when the test says so."""
    found = Context.of(Settings(home=banks.home, database_url=banks.where.service))
    yield found
    found.database.close()


def sessions(stack: Stack, userid: str) -> int:
    return sum(call["event"] == "begin" and call["user_id"] == userid for call in calls(stack.home / "demo-bank"))


def new_worker(stack: Stack) -> None:
    log = stack.home / "worker.log"
    begun = log.read_text().count('"working"')
    stack.worker = start("pipelines.worker", stack.told, log)
    wait_until(lambda: log.read_text().count('"working"') > begun, 30)


def is_whole(customer: Customer, key: str) -> bool:
    """Whether the access is complete and every booking is there once. While the database restarts, 503 is an answer."""
    answer = customer.get(f"/bankzugaenge/{key}")
    assert answer.status_code in (200, 503, 504), answer.text
    if answer.status_code != 200 or answer.json()["status"] != "VOLLSTAENDIG":
        return False
    for product in answer.json()["bankprodukte"]:
        if product["kategorie"] != "DEPOT":
            bookings = customer.bookings(key, product["id"])
            assert len({booking["id"] for booking in bookings}) == len(bookings) > 0
    return True


def test_a_fetch_survives_the_death_of_its_worker(banks: Stack, customer: Customer) -> None:
    key, answer = customer.add("test_slow_bookings_2.1")
    assert answer.status_code == 201
    banks.worker.send_signal(signal.SIGKILL)
    banks.worker.wait()
    assert customer.access(key)["status"] == "KOPFDATEN"
    new_worker(banks)
    wait_until(lambda: is_whole(customer, key), PATIENCE_SECONDS)
    assert sessions(banks, "test_slow_bookings_2.1") == 2
    product = customer.access(key)["bankprodukte"][0]["id"]
    undisturbed = customer.tenant.customer()
    other = undisturbed.connected("test_slow_bookings_2.1", ip=IP)
    assert len(undisturbed.bookings(other, product)) == len(customer.bookings(key, product))


def test_a_fetch_survives_a_restart_of_the_database(banks: Stack, customer: Customer) -> None:
    key, answer = customer.add("test_slow_bookings_2.2")
    assert answer.status_code == 201
    pg_ctl(banks.home / "postgres", "restart", "-m", "immediate")
    wait_until(lambda: is_whole(customer, key), PATIENCE_SECONDS)
    second = customer.connected("demo1")
    assert is_whole(customer, second)


def test_a_waiting_request_survives_a_restart_of_the_database(banks: Stack, customer: Customer) -> None:
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(customer.add, "test_slow_2.3", key="k")
        wait_until(lambda: "k" in customer.read("/bankzugaenge"), 10)
        pg_ctl(banks.home / "postgres", "restart", "-m", "immediate")
        assert adding.result()[1].status_code in (201, 504)
    wait_until(lambda: is_whole(customer, "k"), PATIENCE_SECONDS)


def test_a_stopped_worker_leaves_nothing_behind(banks: Stack, customer: Customer) -> None:
    key, _ = customer.add("test_slow_bookings_2.4")
    banks.worker.send_signal(signal.SIGTERM)
    assert banks.worker.wait(30) == 0
    new_worker(banks)
    wait_until(lambda: is_whole(customer, key), PATIENCE_SECONDS)


def test_without_a_worker_a_fetch_waits(banks: Stack, customer: Customer) -> None:
    banks.worker.send_signal(signal.SIGTERM)
    assert banks.worker.wait(30) == 0
    key, answer = customer.add("demo1")
    assert answer.status_code == 504
    assert customer.access(key)["status"] == "GESTARTET"
    new_worker(banks)
    wait_until(lambda: is_whole(customer, key), PATIENCE_SECONDS)


def test_a_late_answer_is_stored_whole_and_a_repeat_starts_no_second_fetch(banks: Stack, customer: Customer) -> None:
    userid = "test_slow_9.5"
    key, answer = customer.add(userid)
    assert answer.status_code == 504
    assert answer.json()["messages"][0]["code"] == "BA504"
    assert customer.add(userid, key=key)[1].status_code == 201, "the repeat waits for the same fetch"
    wait_until(lambda: is_whole(customer, key), PATIENCE_SECONDS)
    assert sessions(banks, userid) == 1


def test_a_bank_that_hangs_is_given_up_and_disturbs_nobody(banks: Stack, customer: Customer) -> None:
    key, answer = customer.add("test_hang")
    assert answer.status_code == 504
    assert customer.connected("demo1")
    customer.wait_idle(key, PATIENCE_SECONDS)
    assert customer.issues(key) == ["BA1051"]
    assert customer.access(key)["bankprodukte"] == []


def test_thirty_slow_accesses_do_not_slow_down_reads(banks: Stack, customer: Customer) -> None:
    ready = customer.connected("demo1")
    others = [customer.tenant.customer() for _ in range(6)]
    before = len(calls(banks.home / "demo-bank"))
    with ThreadPoolExecutor(30) as pool:
        adding = [pool.submit(others[n % 6].add, f"test_slow_5.{n:02d}", key=f"k{n}") for n in range(30)]
        wait_until(lambda: len(calls(banks.home / "demo-bank")) > before, 30)
        for _ in range(10):
            assert customer.access(ready)["status"] == "VOLLSTAENDIG"
            assert banks.http.get("/health").status_code == 200
        assert not any(job.done() for job in adding), "the reads were through before the first slow bank answered"
        assert {job.result()[1].status_code for job in adding} <= {201, 504}
    for n in range(30):
        wait_until(lambda n=n: is_whole(others[n % 6], f"k{n}"), PATIENCE_SECONDS)


class TestSchedule:
    @pytest.fixture(autouse=True)
    def nobody_else(self, banks: Stack) -> None:
        """No accesses of other tests that a slot would fetch as well."""
        banks.sql("DELETE FROM accesses")

    def test_a_slot_fetches_each_due_access_once(self, banks: Stack, customer: Customer, house: Context) -> None:
        userid = f"test_new_transactions_{uuid.uuid4().hex[:8]}"
        key = customer.connected(userid)
        wrong, _ = customer.add("demo1", "wrong")
        unconfirmed, _ = customer.add("test_sca_method_media_x")
        unsynced = customer.connected("test_empty", sync=False)
        attempts = {userid: sessions(banks, userid) for userid in ("test_sca_method_media_x", "test_empty")}
        assert unconfirmed
        before = {name: customer.access(name)["aktualisierungszeitpunkt"] for name in (wrong, unsynced)}
        later = datetime.now(UTC) + timedelta(hours=6)
        assert refresh.enqueue_due(house, later) >= 1
        customer.wait_idle(key)
        assert refresh.enqueue_due(house, later) == 0, "a scheduler that starts anew adds nothing"
        assert sessions(banks, userid) == 2
        assert {name: customer.access(name)["aktualisierungszeitpunkt"] for name in (wrong, unsynced)} == before
        assert attempts == {userid: sessions(banks, userid) for userid in attempts}, "only the customer can mend these"

    def test_a_customer_who_joins_a_waiting_fetch_is_waited_for(self, banks: Stack, customer: Customer, house: Context) -> None:
        userid = f"test_new_transactions_{uuid.uuid4().hex[:8]}"
        key = customer.connected(userid)
        product = customer.access(key)["bankprodukte"][0]["id"]
        before = len(customer.bookings(key, product))
        banks.worker.send_signal(signal.SIGSTOP)
        try:
            refresh.enqueue_due(house, datetime.now(UTC) + timedelta(hours=6))
            with ThreadPoolExecutor(1) as pool:
                joining = pool.submit(customer.refresh, key)
                wait_until(lambda: customer.access(key)["status"] == "GESTARTET", 10)
                banks.worker.send_signal(signal.SIGCONT)
                assert joining.result().status_code == 201
        finally:
            banks.worker.send_signal(signal.SIGCONT)
        assert len(customer.bookings(key, product)) == before + 1
        attended = "SELECT attended FROM bank_sessions WHERE user_id = :user ORDER BY created_at DESC LIMIT 1"
        assert banks.sql(attended, user=customer.user_id) == [(True,)]

    def test_at_most_four_sessions_in_any_day(self, banks: Stack, customer: Customer, house: Context) -> None:
        userid = f"test_new_transactions_{uuid.uuid4().hex[:8]}"
        key = customer.connected(userid, ip=IP)
        for slot in range(2, 8):
            refresh.enqueue_due(house, datetime.now(UTC) + timedelta(hours=6 * slot))
            customer.wait_idle(key)
        assert sessions(banks, userid) == 1 + 4
        banks.sql(
            "UPDATE bank_sessions SET created_at = created_at - interval '1 day' WHERE user_id = :user", user=customer.user_id
        )
        banks.sql("UPDATE unattended_sessions SET day = day - 1")
        refresh.enqueue_due(house, datetime.now(UTC) + timedelta(hours=6 * 9))
        customer.wait_idle(key)
        assert sessions(banks, userid) == 1 + 5

    def test_a_day_has_four_slots_in_berlin(self, house: Context) -> None:
        summer = datetime(2026, 7, 1, 3, 59, tzinfo=UTC)
        assert slot_of(summer, house.settings.zone).hour == 0
        assert slot_of(summer + timedelta(minutes=1), house.settings.zone).hour == 6
        winter = datetime(2026, 12, 1, 4, 59, tzinfo=UTC)
        assert slot_of(winter, house.settings.zone).hour == 0
        assert slot_of(winter + timedelta(minutes=1), house.settings.zone).hour == 6


class TestNews:
    """A webhook is called for new bookings of a refresh, and for nothing else."""

    @pytest.fixture
    def tenant(self, banks: Stack) -> TenantUnderTest:
        """One of its own for each test, of which a webhook tells no other news."""
        return banks.tenant()

    def test_new_bookings_are_announced_once_signed_and_without_data(self, banks: Stack, customer: Customer) -> None:
        with receiving() as receiver:
            secret = registered(customer, receiver.url)
            key = customer.connected(f"test_new_transactions_{uuid.uuid4().hex[:8]}")
            assert customer.refresh(key).status_code == 201
            wait_until(lambda: len(receiver.calls) == 1, PATIENCE_SECONDS)
            body = json.loads(receiver.calls[0].body)
            assert Webhook(secret).verify(receiver.calls[0].body, receiver.calls[0].headers) == body
            assert body["serial"] == 1, "the first fetch of an access is no news"
            assert body["event"] == "NEW_TRANSACTIONS"
            assert body["user"] == str(customer.user_id)
            assert body["bankzugang"] == {"id": key, "href": f"{banks.base_url}/customer/v2/bankzugaenge/{key}"}
            assert body.keys() == {"serial", "type", "event", "tenant", "user", "bankzugang", "timestamp"}
            customer.refresh(key)
            wait_until(lambda: len(receiver.calls) == 2, PATIENCE_SECONDS)
            assert json.loads(receiver.calls[1].body)["serial"] == 2
            assert customer.call("DELETE", f"/bankzugaenge/{key}").status_code == 200
            find = (
                "SELECT user_id, access_id FROM webhook_events e JOIN clients c ON c.id = e.client_id WHERE c.tenant_id = :tenant"
            )
            assert banks.sql(find, tenant=customer.tenant.tenant_id) == [(None, None)] * 2, "only the numbers stay"

    def test_nothing_new_a_failure_or_no_sync_is_no_news(self, banks: Stack, customer: Customer) -> None:
        with receiving() as receiver:
            registered(customer, receiver.url)
            quiet, unsynced = (
                customer.connected("demo4"),
                customer.connected(f"test_new_transactions_{uuid.uuid4().hex[:8]}", sync=False),
            )
            failing, _ = customer.add("test_unreachable")
            for key in (quiet, failing):
                customer.refresh(key)
            customer.refresh(unsynced, sync=False)
            loud = customer.connected(f"test_new_transactions_{uuid.uuid4().hex[:8]}")
            customer.refresh(loud)
            wait_until(lambda: len(receiver.calls) > 0, PATIENCE_SECONDS)
            assert [json.loads(call.body)["bankzugang"]["id"] for call in receiver.calls] == [loud]
            assert banks.sql("SELECT count(*) FROM webhook_events WHERE user_id = :user", user=customer.user_id) == [(1,)]


def registered(customer: Customer, url: str) -> str:
    """The secret of a webhook at this address."""
    tenant = customer.tenant
    answer = tenant.stack.http.put(tenant.path("clients", "app", "webhook"), json={"url": url}, headers=tenant.bearer("admin"))
    assert answer.status_code == 200, answer.text
    secret: str = answer.json()["secret"]
    return secret
