"""The FinTS connector against the simulated FinTS bank: both were written from the standard, neither from the other."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pytest

from pipelines.banks.base import (
    AccessLocked,
    BankFault,
    CatalogueBank,
    ChooseMedium,
    ChooseMethod,
    Code,
    Consent,
    Done,
    EnterTan,
    Failed,
    FetchedBookings,
    FetchRequest,
    Header,
    Holdings,
    NoAnswer,
    Part,
    ProductFailure,
    Reply,
    ScaNeeded,
    Step,
    Turn,
    Unreachable,
    Unusable,
    Wait,
    WrongCredentials,
)
from pipelines.banks.fints.bank import FintsConnector
from pipelines.banks.fints.syntax import parse
from pipelines.banks.fints_bank.server import FintsServer
from tests.pipelines.banks.cases import NOW
from tests.support.fints_line import connector

PROVIDER = CatalogueBank(UUID(int=8), "Demo FinTS", "fints", blz="99999991")
PIN, TAN = "12345", "123456"
MAX_STEPS = 40


def request(user_id: str, memory: bytes = b"", pin: str = PIN, **changes: Any) -> FetchRequest:
    return FetchRequest(PROVIDER, {"userid": user_id, "pin": pin}, NOW, memory=memory, **changes)


@dataclass
class Customer:
    """A customer who answers every step, each in a connector of its own, as if another process went on."""

    folder: Path
    user_id: str
    method: str | None = None
    tan: str = TAN
    sent: list[bytes] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bank = connector(self.folder, NOW, self.sent.append)

    def consent(self, memory: bytes = b"", **changes: Any) -> Turn:
        turn = self.bank.start(Consent(), request(self.user_id, memory, **changes))
        while not isinstance(turn.step, Done | Failed):
            self.steps.append(turn.step)
            assert len(self.steps) < MAX_STEPS
            memory = turn.memory or memory
            turn = self.bank.resume(request(self.user_id, memory, **changes), turn.state, self.reply(turn.step))
        return replace(turn, memory=turn.memory or memory)

    def reply(self, step: Step) -> Reply:
        match step:
            case ChooseMethod(methods):
                return Reply(method=self.method or methods[0].code)
            case ChooseMedium(media):
                return Reply(medium=media[-1].name)
            case EnterTan():
                return Reply(tan=self.tan)
            case Wait():
                return Reply()
        raise AssertionError(step)

    def fetch(self, memory: bytes = b"", **changes: Any) -> list[Part]:
        return list(self.bank.fetch(request(self.user_id, memory, **changes)))

    @property
    def kinds(self) -> list[type]:
        return [type(step) for step in self.steps]


def frames(parts: tuple[Part, ...] | list[Part]) -> dict[str, pl.DataFrame]:
    return {part.product: part.frame for part in parts if isinstance(part, FetchedBookings)}


def daily_sums(frame: pl.DataFrame) -> pl.DataFrame:
    sums = frame.group_by("booked_on", "pending").agg(pl.col("amount_cents").sum(), pl.len())
    return sums.sort("booked_on", "pending")


@pytest.mark.parametrize(
    ("user_id", "method", "kinds"),
    [
        ("demo1", None, [Wait] * 3),
        ("demo2", "911", [ChooseMethod, ChooseMedium, EnterTan]),
        ("demo4", None, [EnterTan]),
        ("demo5", "972", [ChooseMethod, EnterTan]),
        ("demo7", "920", [ChooseMethod, ChooseMedium, EnterTan]),
        ("test_old", "920", [ChooseMethod, EnterTan]),
        ("test_several_media", "910", [ChooseMethod, ChooseMedium, EnterTan]),
        ("test_app_manual", None, [Wait]),
        ("test_renumbered", None, [Wait] * 3),
    ],
)
def test_every_method_leads_to_the_data(tmp_path: Path, user_id: str, method: str | None, kinds: list[type]) -> None:
    customer = Customer(tmp_path, user_id, method)
    with pytest.raises(ScaNeeded):
        customer.fetch()
    turn = customer.consent(whole_history_of=frozenset())
    assert turn.step == Done()
    assert customer.kinds == kinds
    header, *details = turn.parts
    assert isinstance(header, Header)
    assert len(details) == len(header.products) > 0
    assert not [part for part in details if isinstance(part, ProductFailure)]


def test_a_refresh_needs_no_customer_after_a_consent(tmp_path: Path) -> None:
    customer = Customer(tmp_path, "demo1")
    turn = customer.consent(whole_history_of=frozenset())
    again = customer.fetch(turn.memory or b"")
    assert {key: frame.height for key, frame in frames(again).items()} == {
        key: frame.height for key, frame in frames(turn.parts).items()
    }
    assert all(isinstance(part, Header | FetchedBookings | Holdings) for part in again)


@pytest.mark.parametrize("user_id", ["test_long_history", "test_pages", "test_latin1", "test_byte_counts", "test_listed_twice"])
def test_no_quirk_loses_or_doubles_a_booking(tmp_path: Path, user_id: str) -> None:
    received = frames(Customer(tmp_path, user_id).consent().parts)
    # The same customer as MT940 without any TAN, with a shorter history.
    plain = [part for part in Customer(tmp_path / "plain", "test_one_step").fetch() if isinstance(part, FetchedBookings)]
    assert received.keys() == {part.product for part in plain}
    for part in plain:
        assert part.frame.height > 1
        others = received[part.product].filter(pl.col("booked_on") >= part.complete_from)
        assert daily_sums(others).equals(daily_sums(part.frame))


@pytest.mark.parametrize(
    ("user_id", "fault"),
    [
        ("test_wrong_pin", WrongCredentials),
        ("test_wrong_pin_9340", WrongCredentials),
        ("test_locked", AccessLocked),
        ("test_locked_9930", AccessLocked),
        ("test_locked_3938", AccessLocked),
        ("test_9078", Unreachable),
        ("test_maintenance", Unreachable),
        ("test_unreachable", Unreachable),
        ("test_cut", NoAnswer),
        ("test_9800", Unusable),
        ("nobody", WrongCredentials),
    ],
)
def test_faults(tmp_path: Path, user_id: str, fault: type[BankFault]) -> None:
    customer = Customer(tmp_path, user_id)
    with pytest.raises(fault):
        customer.consent()


@pytest.mark.parametrize("user_id", ["test_9391", "test_9075", "test_9120"])
def test_a_forgotten_system_id_is_asked_for_again(tmp_path: Path, user_id: str) -> None:
    customer = Customer(tmp_path, user_id)
    memory = customer.consent(whole_history_of=frozenset()).memory or b""
    parts = customer.fetch(memory)
    assert isinstance(parts[0], Header)
    assert (parts[0].memory or b"") != memory


@pytest.mark.parametrize("user_id", ["test_9010", "test_9050"])
def test_refused_orders_are_failures_of_their_products(tmp_path: Path, user_id: str) -> None:
    header, *details = Customer(tmp_path, user_id).consent().parts
    assert isinstance(header, Header)
    assert {type(part) for part in details} == {ProductFailure}


def test_wrong_tans_and_a_silent_app_end_the_dialogue(tmp_path: Path) -> None:
    assert Customer(tmp_path, "test_tan", tan="000000").consent().step == Failed(Code.TAN_INVALID)
    silent = Customer(tmp_path, "test_app_silent")
    assert silent.consent().step == Failed(Code.TAN_INVALID)
    assert set(silent.kinds) == {Wait}


def test_a_wrong_pin_is_sent_once_for_each_entry(tmp_path: Path) -> None:
    customer = Customer(tmp_path, "test_lock")
    for _ in range(2):
        before = len(customer.sent)
        with pytest.raises(WrongCredentials):
            list(customer.bank.fetch(request("test_lock", pin="99999")))
        assert len(customer.sent) == before + 1


def test_a_lost_poll_is_sent_again_and_harms_nothing(tmp_path: Path) -> None:
    customer = Customer(tmp_path, "demo1")
    turn = customer.bank.start(Consent(), request("demo1", wanted=frozenset()))
    assert isinstance(turn.step, Wait)
    customer.bank.resume(request("demo1", wanted=frozenset()), turn.state, Reply())  # its answer is lost
    again = customer.bank.resume(request("demo1", wanted=frozenset()), turn.state, Reply())
    assert isinstance(again.step, Wait | Failed)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FintsServer]:
    with FintsServer(tmp_path) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def test_many_logins_at_once_each_carry_their_own_pin_over_real_connections(
    server: FintsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []
    answer = server.bank.answer

    def watching(message: bytes, now: Any) -> Any:
        inner = [part for each in parse(message) if each.name == "HNVSD" for part in parse(each.binary(1))]
        user_id = next(each.text(11, 3) for each in inner if each.name == "HNSHK")
        seen.append((user_id, next(each.text(3) for each in inner if each.name == "HNSHA")))
        return answer(message, now)

    monkeypatch.setattr(server.bank, "answer", watching)
    bank = FintsConnector(None, server.url)

    def log_in(number: int) -> None:
        user_id = f"test_lock_{number}"
        for attempt in range(4):
            login = {"userid": user_id, "pin": f"{PIN}-{number}-{attempt}"}
            with pytest.raises(BankFault):
                list(bank.fetch(FetchRequest(PROVIDER, login, NOW)))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(log_in, range(8)))
    assert sorted(seen) == sorted((f"test_lock_{n}", f"{PIN}-{n}-{attempt}") for n in range(8) for attempt in range(4))


def test_parameters_are_asked_without_a_login(server: FintsServer) -> None:
    parameters = FintsConnector(None, server.url).parameters(PROVIDER, NOW)
    assert parameters.name
    assert "HKCAZ" in parameters.versions
    assert {"923", "911"} <= {method.code for method in parameters.methods}
