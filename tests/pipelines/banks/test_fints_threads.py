"""Eight logins at once through one connector: every message carries the PIN of its own customer."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from pipelines.banks.base import CatalogueBank, Consent, Done, EnterTan, FetchRequest, Header, Reply, WrongCredentials
from pipelines.banks.fints.bank import FintsConnector
from pipelines.banks.fints_bank.bank import BankDelivery, FintsBank
from pipelines.banks.fints_bank.messages import read_request
from pipelines.banks.fints_bank.server import FintsServer

PROVIDER = CatalogueBank(UUID(int=8), "Demo FinTS", "fints", blz="99999991")
LOGINS = 8
PINS = [f"{number}" * 5 + "01" for number in range(1, LOGINS + 1)]
TAN = "123456"


class WatchedBank(FintsBank):
    """Counts the messages of each user id by the PIN that they carry."""

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder, address)
        self.pins: Counter[tuple[str, str]] = Counter()
        self._counting = threading.Lock()

    def answer(self, message: bytes, now: datetime) -> BankDelivery:
        request = read_request(message)
        with self._counting:
            self.pins[request.user_id, request.pin] += 1
        return super().answer(message, now)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FintsServer]:
    with FintsServer(tmp_path) as running:
        running.bank = WatchedBank(tmp_path, running.url)
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def user_id(pin: str) -> str:
    return f"test_pin_{pin}_{pin}"


def request(pin: str, memory: bytes = b"", sent_pin: str | None = None) -> FetchRequest:
    credentials = {"userid": user_id(pin), "pin": sent_pin or pin}
    return FetchRequest(PROVIDER, credentials, datetime.now(UTC), memory=memory, whole_history_of=frozenset())


def confirmed(connector: FintsConnector, pin: str) -> bytes:
    """The memory of a customer after a consent."""
    turn = connector.start(Consent(), request(pin))
    while isinstance(turn.step, EnterTan):
        turn = connector.resume(request(pin, turn.memory or b""), turn.state, Reply(tan=TAN))
    assert isinstance(turn.step, Done)
    return turn.memory or b""


@pytest.mark.parametrize("seconds", [pytest.param(2, id="short"), pytest.param(60, id="a minute", marks=pytest.mark.thorough)])
def test_every_message_carries_its_own_pin(server: FintsServer, seconds: float) -> None:
    connector = FintsConnector(None, server.url)
    start = threading.Barrier(LOGINS)
    end = time.monotonic() + seconds

    def log_in_repeatedly(pin: str) -> int:
        memory, sessions = confirmed(connector, pin), 0
        start.wait()
        while not sessions or time.monotonic() < end:
            assert isinstance(next(iter(connector.fetch(request(pin, memory)))), Header)
            confirmed(connector, pin)
            sessions += 1
        return sessions

    with ThreadPoolExecutor(LOGINS) as threads:
        sessions = list(threads.map(log_in_repeatedly, PINS))
    assert min(sessions) > 0
    bank = server.bank
    assert isinstance(bank, WatchedBank)
    assert set(bank.pins) - {("9999999999", "")} == {(user_id(pin), pin) for pin in PINS}


def test_the_bank_of_this_test_would_notice_another_pin(server: FintsServer) -> None:
    connector = FintsConnector(None, server.url)
    with pytest.raises(WrongCredentials):
        connector.start(Consent(), request(PINS[0], sent_pin=PINS[1]))
    bank = server.bank
    assert isinstance(bank, WatchedBank)
    assert (user_id(PINS[0]), PINS[1]) in bank.pins
