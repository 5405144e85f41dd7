"""A PIN whose answer is lost is not sent again by ourselves: cut connections, pages instead of answers, killed workers."""

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from pipelines import housekeeping
from pipelines.banks import catalogue
from pipelines.banks.fints_bank.bank import BankDelivery, FintsBank
from pipelines.banks.fints_bank.customers import BankTransport
from pipelines.banks.fints_bank.messages import read_request
from pipelines.banks.fints_bank.server import FintsServer
from tests.reliability.test_dialogues import kill, new_worker
from tests.spec.dialogues import BACK, IP, codes
from tests.support.stack import Customer, Stack, running_stack, wait_until
from warehouse.settings import Settings

PIN, WRONG = "12345", "99999"
PATIENCE_SECONDS = 120
PROVIDER = str(catalogue.SIMULATED_BANK.id)


class WatchedBank(FintsBank):
    """Counts the messages of each user id, and does to its answers what a test says."""

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder, address)
        self.logins: Counter[str] = Counter()
        self.transport = BankTransport.NORMAL
        self.released = threading.Event()
        self.released.set()

    def answer(self, message: bytes, now: datetime) -> BankDelivery:
        request = read_request(message)
        self.logins[request.user_id] += request.order("HKIDN") is not None
        delivery = super().answer(message, now)
        self.released.wait(PATIENCE_SECONDS)
        return delivery if self.transport is BankTransport.NORMAL else BankDelivery(b"", self.transport)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FintsServer]:
    folder = tmp_path_factory.mktemp("fints")
    with FintsServer(folder) as running:
        running.bank = WatchedBank(folder, running.url)
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(scope="module")
def stack(server: FintsServer, homes: Path) -> Iterator[Stack]:
    environment = {"KONTOR_FINTS_DEMO_URL": server.url, "KONTOR_WORKERS": "1", "KONTOR_WORKER_LOST_SECONDS": "3"}
    with running_stack(homes / "attempts", **environment) as running:
        with running.database.operating() as owner:
            catalogue.add_simulated_bank(owner)
        yield running


@pytest.fixture
def bank(server: FintsServer) -> Iterator[WatchedBank]:
    watched = server.bank
    assert isinstance(watched, WatchedBank)
    yield watched
    watched.transport = BankTransport.NORMAL
    watched.released.set()


@pytest.fixture
def customer(stack: Stack) -> Customer:
    return stack.tenant().customer()


def new_user(kind: str = "test_one_step") -> str:
    return f"{kind}_{uuid.uuid4().hex[:8]}"


def enter(customer: Customer, user_id: str, pin: str = PIN, key: str | None = None) -> str:
    """The id of an access whose login the customer enters now; returns when its fetch has ended."""
    credentials = customer.tenant.encrypted(userid=user_id, pin=pin)
    key = key or f"a-{uuid.uuid4().hex[:8]}"
    answer = customer.call(
        "POST",
        "/bankzugaenge",
        json={key: {"providerId": PROVIDER, "credentials": credentials}},
        params={"refresh": "true"},
        headers=IP,
    )
    assert answer.status_code == 201, answer.text
    customer.wait_idle(key, PATIENCE_SECONDS)
    return key


@pytest.mark.parametrize("transport", [BankTransport.CUT, BankTransport.MAINTENANCE])
def test_a_new_login_without_an_answer_is_sent_once_for_each_entry(
    customer: Customer, bank: WatchedBank, transport: BankTransport
) -> None:
    user_id, bank.transport = new_user(), transport
    key = enter(customer, user_id, WRONG)
    assert customer.codes(key) == ["BA1012"]
    assert bank.logins[user_id] == 1
    for ip in ("84.112.10.7", None):
        assert customer.refresh(key, ip=ip).status_code == 201
    answer = customer.call("POST", f"/bankzugaenge/{key}/consent", params={"callbackUrl": BACK}, headers=IP)
    assert codes(customer.read(answer.headers["Location"])) == ["BA1012"]
    assert bank.logins[user_id] == 1, "nobody has entered it again"
    enter(customer, user_id, WRONG, key)
    assert bank.logins[user_id] == 2, "an entry is an attempt, also of the same PIN"
    bank.transport = BankTransport.NORMAL
    enter(customer, user_id, PIN, key)
    assert customer.codes(key) == []


def test_a_login_that_was_accepted_before_is_sent_once_more(customer: Customer, bank: WatchedBank) -> None:
    user_id = new_user()
    key = enter(customer, user_id)
    assert (customer.codes(key), bank.logins[user_id]) == ([], 2), "one asks for the parameters"
    bank.transport = BankTransport.CUT
    assert customer.refresh(key).status_code == 201
    assert (customer.codes(key), customer.issues(key)) == ([], ["BA1051"])
    assert customer.refresh(key).status_code == 201
    assert customer.codes(key) == ["BA1012"]
    assert bank.logins[user_id] == 4
    bank.transport = BankTransport.NORMAL
    for ip in ("84.112.10.7", None):
        assert customer.refresh(key, ip=ip).status_code == 201
    assert bank.logins[user_id] == 4
    enter(customer, user_id, key=key)
    assert (customer.codes(key), customer.issues(key)) == ([], [])


def test_pages_of_maintenance_do_not_ask_customers_whose_login_was_accepted(customer: Customer, bank: WatchedBank) -> None:
    user_id = new_user()
    key = enter(customer, user_id)
    bank.transport = BankTransport.MAINTENANCE
    for _ in range(3):
        assert customer.refresh(key).status_code == 201
        assert (customer.codes(key), customer.issues(key)) == ([], ["BA1051"])
    bank.transport = BankTransport.NORMAL
    assert customer.refresh(key).status_code == 201
    assert (customer.codes(key), customer.issues(key)) == ([], [])


def test_a_killed_worker_does_not_send_a_new_login_again(stack: Stack, customer: Customer, bank: WatchedBank) -> None:
    user_id = new_user()
    bank.released.clear()
    credentials = customer.tenant.encrypted(userid=user_id, pin=WRONG)
    entry = {"providerId": PROVIDER, "credentials": credentials}
    with ThreadPoolExecutor(1) as background:
        background.submit(customer.call, "POST", "/bankzugaenge", json={"killed": entry}, headers=IP)
        wait_until(lambda: bank.logins[user_id] == 1, PATIENCE_SECONDS)
        kill(stack)
        bank.released.set()
        new_worker(stack)
        customer.wait_idle("killed", PATIENCE_SECONDS)
    assert customer.codes("killed") == ["BA1012"]
    assert bank.logins[user_id] == 1


def test_what_is_stored_of_attempts_tells_nothing_and_is_deleted(stack: Stack, customer: Customer, bank: WatchedBank) -> None:
    user_id, bank.transport = new_user(), BankTransport.CUT
    enter(customer, user_id, WRONG)
    find = "SELECT login_hash, secret_hash, unanswered FROM login_attempts ORDER BY sent_at DESC LIMIT 1"
    ((login_hash, secret_hash, unanswered),) = stack.sql(find)
    assert (len(login_hash), len(secret_hash), unanswered) == (32, 32, 1)
    for days, rows in ((89, 1), (91, 0)):
        stack.sql(
            "UPDATE login_attempts SET sent_at = now() - make_interval(days => :days) WHERE login_hash = :login",
            days=days,
            login=login_hash,
        )
        housekeeping.sweep(stack.database, Settings())
        assert stack.sql("SELECT count(*) FROM login_attempts WHERE login_hash = :login", login=login_hash) == [(rows,)]
