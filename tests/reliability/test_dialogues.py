"""What breaks around a payment or a consent: the worker dies or stops, the database restarts, the customer comes too late.

Whatever happens, the bank hears of a confirmation once at most, and a payment is told done only if the bank has executed it.
"""

import signal
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipelines.banks.demo import calls, executed_orders
from pipelines.banks.demo.memory import open_memory
from tests.spec.dialogues import BACK, IP, TRANSFER, Status, codes, href, moved, rels, up_to_tan
from tests.support.stack import Customer, Stack, TenantUnderTest, running_stack, start, wait_until
from warehouse.postgres.embedded import pg_ctl

PATIENCE_SECONDS = 60
DIALOGUE_SECONDS = 400


@pytest.fixture(scope="module")
def stack(homes: Path) -> Iterator[Stack]:
    """A service that gives up a silent worker quickly, and a customer somewhat earlier than usual."""
    told = {"KONTOR_WORKER_LOST_SECONDS": "2", "KONTOR_DIALOGUE_SECONDS": str(DIALOGUE_SECONDS), "KONTOR_WORKERS": "1"}
    with running_stack(homes / "dialogues", **told) as running:
        yield running


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    """A thread for a request that waits."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


class Paying:
    """A payment of a user id of its own that waits for a TAN."""

    def __init__(self, customer: Customer, part: str) -> None:
        self.customer, self.stack = customer, customer.tenant.stack
        self.userid = f"test_transfer_{part}_{customer.username}"
        self.payment = str(uuid.uuid4())
        access = customer.connected(self.userid)
        (product,) = customer.access(access)["bankprodukte"]
        self.place = f"/bankzugaenge/{access}/{product['id']}/payment/single-transfer"
        answer = self.order()
        assert answer.status_code == 200, answer.text
        self.status = up_to_tan(customer, answer.json(), 1)
        assert codes(self.status) == ["BA1110"]
        self.before = self.calls()

    def order(self) -> httpx.Response:
        body = {"instant": False, "transferDetails": TRANSFER}
        query = {"callbackUrl": BACK, "paymentId": self.payment}
        return self.customer.call("POST", self.place, json=body, params=query, headers=IP)

    def enter(self) -> httpx.Response:
        return self.customer.call("PUT", href(self.status, "submit_text_tan"), json={"tan": "42"})

    def codes(self) -> list[str]:
        """What the customer is told now."""
        return codes(self.customer.read(href(self.status, "self")))

    def wait_for(self, code: str) -> None:
        wait_until(lambda: self.codes() == [code], PATIENCE_SECONDS, lambda: str((self.codes(), self.row())))

    def row(self) -> Any:
        (found,) = self.stack.sql("SELECT id, phase, move FROM dialogues WHERE payment_id = :id", id=self.payment)
        return found

    def wait_phase(self, phase: str) -> None:
        wait_until(lambda: self.row().phase == phase, 20, lambda: str(self.row()))

    def look_now(self) -> None:
        """Lets the time until the next look be over."""
        self.stack.sql("UPDATE dialogues SET look_at = clock_timestamp() WHERE payment_id = :id", id=self.payment)

    def executions(self) -> int:
        return sum(order["reference"] == self.payment for order in executed_orders(self.stack.home / "demo-bank", self.userid))

    def calls(self) -> list[str]:
        """What the bank was asked, in this order."""
        ledger = calls(self.stack.home / "demo-bank")
        return [call["operation"] for call in ledger if call["event"] == "begin" and call["user_id"] == self.userid]

    def asked_since(self) -> list[str]:
        """What the bank was asked since it waited for the TAN."""
        return self.calls()[len(self.before) :]

    def nothing_sealed(self) -> bool:
        return not self.stack.sql("SELECT field FROM sealed_values WHERE subject = :s", s=f"dialogue:{self.row().id}")


def kill(stack: Stack) -> None:
    stack.worker.send_signal(signal.SIGKILL)
    stack.worker.wait()


def stop(stack: Stack) -> None:
    stack.worker.send_signal(signal.SIGTERM)
    assert stack.worker.wait(30) == 0


def new_worker(stack: Stack) -> None:
    begun = stack.worker_log.read_text().count('"working"')
    stack.worker = start("pipelines.worker", stack.told, stack.worker_log)
    wait_until(lambda: stack.worker_log.read_text().count('"working"') > begun, 30)


def told(answer: Future[httpx.Response]) -> list[str]:
    """What a request that waited was answered in the end."""
    found = answer.result(PATIENCE_SECONDS)
    assert found.status_code == 200, found.text
    return codes(found.json())


class TestKilled:
    def test_after_the_banks_yes_a_payment_is_unknown_never_sent_again_and_found_out(
        self, stack: Stack, customer: Customer, background: ThreadPoolExecutor
    ) -> None:
        paying = Paying(customer, "late_600")
        entered = background.submit(paying.enter)
        wait_until(lambda: paying.executions() == 1, 20)
        kill(stack)
        assert paying.row().phase == "CALLING"
        new_worker(stack)
        assert told(entered) == ["BA1119"]
        assert paying.codes() == ["BA1119"]
        assert paying.enter().status_code == 409
        assert codes(paying.order().json()) == ["BA1119"], "the same order again is told how it stands"
        assert paying.asked_since() == ["resume"]
        paying.look_now()
        paying.wait_for("BA1111")
        assert paying.asked_since() == ["resume", "outcome"]
        assert paying.executions() == 1
        assert paying.nothing_sealed()

    def test_before_the_bank_has_done_anything_a_payment_stays_unknown(
        self, stack: Stack, customer: Customer, background: ThreadPoolExecutor
    ) -> None:
        paying = Paying(customer, "slow_600")
        entered = background.submit(paying.enter)
        wait_until(lambda: paying.asked_since() == ["resume"], 20)
        kill(stack)
        new_worker(stack)
        assert told(entered) == ["BA1119"]
        paying.look_now()
        wait_until(lambda: paying.asked_since() == ["resume", "outcome"], 20, paying.asked_since)
        paying.wait_phase("UNKNOWN")
        assert paying.codes() == ["BA1119"]
        assert paying.executions() == 0

    def test_before_the_bank_was_asked_a_new_worker_carries_it_out_once(
        self, stack: Stack, customer: Customer, background: ThreadPoolExecutor
    ) -> None:
        paying = Paying(customer, "slow_0")
        kill(stack)
        entered = background.submit(paying.enter)
        paying.wait_phase("ASKED")
        assert paying.enter().status_code == 409
        new_worker(stack)
        assert told(entered) == ["BA1111"]
        assert (paying.executions(), paying.asked_since()) == (1, ["resume"])
        assert paying.nothing_sealed()

    def test_a_consent_ends_with_a_message_and_can_be_begun_anew(
        self, stack: Stack, customer: Customer, background: ThreadPoolExecutor
    ) -> None:
        userid = f"test_sca_method_media_{customer.username}"
        access, _ = customer.add(userid)
        status = up_to_tan(customer, begun_consent(customer, access), 1)
        assert codes(status) == ["BA1110"]
        with open_memory(stack.home / "demo-bank", userid):  # the bank waits for this before it says yes
            entered = background.submit(customer.call, "PUT", href(status, "submit_text_tan"), json={"tan": "42"})
            find = "SELECT 1 FROM dialogues WHERE user_id = :user AND phase = 'CALLING'"
            wait_until(lambda: stack.sql(find, user=customer.user_id), 20)
            kill(stack)
        new_worker(stack)
        assert told(entered) == ["BA999"]
        ended = customer.read(href(status, "self"))
        assert (codes(ended), rels(ended)) == (["BA999"], ["self"])
        again = up_to_tan(customer, begun_consent(customer, access), 1)
        assert codes(moved(customer, again, "submit_text_tan", tan="42")) == ["BA3090"]
        customer.wait_complete(access)
        left = "SELECT field FROM sealed_values WHERE user_id = :user AND subject LIKE 'dialogue:%'"
        assert not stack.sql(left, user=customer.user_id)


class TestStopped:
    def test_a_stop_waits_for_a_bank_that_is_about_to_answer(
        self, stack: Stack, customer: Customer, background: ThreadPoolExecutor
    ) -> None:
        paying = Paying(customer, "slow_0.5")
        entered = background.submit(paying.enter)
        wait_until(lambda: paying.asked_since() == ["resume"], 20)
        stop(stack)
        new_worker(stack)
        assert told(entered) in (["BA1111"], ["BA1119"])
        paying.look_now()
        paying.wait_for("BA1111")
        assert paying.executions() == 1
        assert paying.asked_since().count("resume") == 1

    def test_a_bank_that_takes_longer_is_not_asked_again(
        self, stack: Stack, customer: Customer, background: ThreadPoolExecutor
    ) -> None:
        paying = Paying(customer, "late_600")
        entered = background.submit(paying.enter)
        wait_until(lambda: paying.executions() == 1, 20)
        stop(stack)
        new_worker(stack)
        assert told(entered) == ["BA1119"]
        paying.look_now()
        paying.wait_for("BA1111")
        assert (paying.executions(), paying.asked_since()) == (1, ["resume", "outcome"])

    def test_a_restart_of_the_database_pays_once(self, stack: Stack, customer: Customer, background: ThreadPoolExecutor) -> None:
        paying = Paying(customer, "slow_2")
        background.submit(paying.enter)
        wait_until(lambda: paying.asked_since() == ["resume"], 20)
        pg_ctl(stack.home / "postgres", "restart", "-m", "immediate")
        wait_until(lambda: paying.executions() == 1, 20)
        wait_until(lambda: paying.row().phase in ("DONE", "UNKNOWN"), PATIENCE_SECONDS, lambda: str(paying.row()))
        paying.look_now()
        paying.wait_for("BA1111")
        assert paying.executions() == 1
        assert paying.asked_since().count("resume") == 1
        assert paying.nothing_sealed()


class TestTooLate:
    def test_a_tan_after_the_timeout_is_refused_without_asking_the_bank(self, stack: Stack, customer: Customer) -> None:
        paying = Paying(customer, "slow_0")
        left = "SELECT extract(epoch FROM ends_at - clock_timestamp()) FROM dialogues WHERE payment_id = :id"
        assert DIALOGUE_SECONDS - PATIENCE_SECONDS < stack.sql(left, id=paying.payment)[0][0] <= DIALOGUE_SECONDS
        stack.worker.send_signal(signal.SIGSTOP)
        try:
            stack.sql("UPDATE dialogues SET ends_at = clock_timestamp() WHERE payment_id = :id", id=paying.payment)
            assert paying.row().phase == "OPEN", "nobody has noticed yet"
            assert paying.enter().status_code == 409
        finally:
            stack.worker.send_signal(signal.SIGCONT)
        paying.wait_for("BA1103")
        status: Status = customer.read(href(paying.status, "self"))
        assert rels(status) == ["self"]
        assert "timeout" not in status
        assert paying.enter().status_code == 409
        assert (paying.row().phase, paying.asked_since(), paying.executions()) == ("FAILED", [], 0)
        assert paying.nothing_sealed()


def begun_consent(customer: Customer, access: str) -> Status:
    answer = customer.call("POST", f"/bankzugaenge/{access}/consent", params={"callbackUrl": BACK}, headers=IP)
    assert answer.status_code == 201, answer.text
    found: Status = customer.read(answer.headers["Location"])
    return found
