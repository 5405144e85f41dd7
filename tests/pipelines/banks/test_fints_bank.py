"""The simulated FinTS bank: what a customer's program sees of it, message by message, without a socket."""

import json
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from threading import Thread

import httpx
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.banks.fints.syntax import Segment, parse, segment
from pipelines.banks.fints_bank.bank import FintsBank, read_journal
from pipelines.banks.fints_bank.customers import PERSONS, SPECIAL, BankTransport, find_customer
from pipelines.banks.fints_bank.server import FintsServer
from pipelines.statements.camt import read_camt
from pipelines.statements.mt940 import read_mt940
from tests.support.fints_program import BANK, Program, framed, hktan, international, preparation

NOW = datetime(2026, 11, 18, 8, tzinfo=UTC)
IBAN = "DE07370501981029384756"
CAMT = "urn:iso:std:iso:20022:tech:xsd:camt.052.001.08"
TAN = "123456"


class Clock:
    now = NOW


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bank(tmp_path: Path) -> FintsBank:
    return FintsBank(tmp_path)


def program(bank: FintsBank, user_id: str, method: str = "922", clock: Clock | None = None) -> Program:
    """A program that has a system id."""
    new_program = Program(lambda message: bank.answer(message, clock.now if clock else NOW).message, user_id, method=method)
    new_program.synchronise()
    return new_program


def logged_in(bank: FintsBank, user_id: str, method: str = "922") -> Program:
    """A program in a dialogue that needed no confirmation."""
    new_program = program(bank, user_id, method)
    new_program.log_in()
    assert new_program.all("HIUPD"), new_program.codes()
    return new_program


def hkcaz(first: str = "", touchdown: str = "", iban: str = IBAN) -> Segment:
    return segment("HKCAZ", 1, international(iban), (CAMT,), "N", first, "", "", touchdown)


def hkkaz(first: str = "", touchdown: str = "", iban: str = IBAN) -> Segment:
    return segment("HKKAZ", 7, international(iban), "N", first, "", "", touchdown)


def days_ago(days: int) -> str:
    return f"{NOW.date() - timedelta(days=days):%Y%m%d}"


def pages(reader: Program, *, as_camt: bool, first: str) -> Iterator[pl.DataFrame]:
    """The booked lines of all pages."""
    touchdown = ""
    while True:
        reader.exchange(hkcaz(first, touchdown) if as_camt else hkkaz(first, touchdown))
        assert "0020" in reader.codes(3)
        content = reader.one("HICAZ").binary(3) if as_camt else reader.one("HIKAZ").binary(1)
        statements = read_camt(content) if as_camt else read_mt940(content)
        assert not any(statement.differences for statement in statements)
        yield from (statement.bookings for statement in statements)
        if "3040" not in reader.codes(3):
            return
        touchdown = str(reader.parameters("3040")[0])


class TestEnvelope:
    def test_anybody_gets_the_banks_parameters(self, bank: FintsBank) -> None:
        identification = segment("HKIDN", 2, BANK, "9999999999", "0", "0")
        message = framed("0", 1, (_numbered(identification, 2), _numbered(preparation("KONTOR"), 3)), 4)
        answer = bank.answer(message, NOW).message
        assert b"HIBPA:4:3:3+3+280:99999991+Demo FinTS" in answer
        assert b"HNVSK" not in answer
        assert answer.startswith(b"HNHBK:1:3+%012d+300+" % len(answer))

    @pytest.mark.parametrize(
        "spoilt",
        [
            lambda message: message[:-1],
            lambda message: message.replace(b"HNHBK:1:3+0", b"HNHBK:1:3+9"),
            lambda message: message.replace(b"+300+0+1'", b"+220+0+1'"),
            lambda message: message.replace(b"HNHBS:6:1+1", b"HNHBS:6:1+2"),
            lambda message: message.replace(b"HNHBS:6:1", b"HNHBS:7:1"),
            lambda _: b"<html></html>",
            lambda _: b"",
        ],
    )
    def test_a_message_with_a_wrong_frame_is_refused(self, bank: FintsBank, spoilt) -> None:  # type: ignore[no-untyped-def]
        sender = Program(lambda message: message, "demo1", method="923", number=1)
        message = sender.message(sender.identification(), preparation("KONTOR"))
        assert b"9110" not in bank.answer(message, NOW).message
        assert b"+9110::" in bank.answer(spoilt(message), NOW).message

    def test_messages_are_counted(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_mt940")
        reader.number += 1
        reader.exchange(segment("HKSPA", 1))
        assert {"9120", "9800"} <= set(reader.codes())
        reader.exchange(segment("HKSPA", 1))
        assert "9010" in reader.codes(), "the dialogue is over"

    def test_a_dialogue_belongs_to_its_customer(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_mt940")
        reader.user_id = "test_pages"
        reader.exchange(segment("HKSPA", 1))
        assert "9010" in reader.codes()

    def test_a_dialogue_ends_when_nobody_uses_it(self, bank: FintsBank, clock: Clock) -> None:
        reader = program(bank, "test_mt940", clock=clock)
        reader.log_in()
        clock.now += timedelta(hours=1)
        reader.exchange(segment("HKSPA", 1))
        assert "9800" in reader.codes()


class TestLogin:
    def test_the_first_login_of_a_system_id_is_confirmed_in_the_app(self, bank: FintsBank, clock: Clock) -> None:
        reader = program(bank, "demo1", "923", clock)
        reader.log_in()
        assert reader.codes(5) == ["3955"]
        assert not reader.all("HIUPD")
        reference = reader.one("HITAN").text(3)
        polls = []
        for _ in range(3):
            reader.exchange(hktan("S", reference=reference))
            polls.append(reader.codes(3)[0])
        assert polls == ["3956", "3956", "0020"]
        assert [account.text(8) for account in reader.all("HIUPD")] == ["Girokonto", "Tagesgeld", "Visa Classic", "Depot"]
        reader.end()
        clock.now += timedelta(days=179)
        reader.log_in()
        assert reader.codes(5) == ["3076"]
        reader.end()
        clock.now += timedelta(days=2)
        reader.log_in()
        assert reader.codes(5) == ["3955"]

    def test_another_system_id_is_not_confirmed(self, bank: FintsBank) -> None:
        reader = program(bank, "demo5")
        reader.log_in()
        reader.exchange(hktan("2", reference=reader.one("HITAN").text(3)), tan=TAN)
        assert reader.all("HIUPD")
        reader.end()
        reader.synchronise()
        reader.log_in()
        assert reader.codes(5) == ["0030"]

    def test_three_wrong_tans_end_the_dialogue(self, bank: FintsBank) -> None:
        reader = program(bank, "test_tan")
        reader.log_in()
        reference = reader.one("HITAN").text(3)
        for _ in range(2):
            reader.exchange(hktan("2", reference=reference), tan="000000")
            assert reader.codes() == ["9050", "9941"]
        reader.exchange(hktan("2", reference=reference), tan="000000")
        assert reader.codes() == ["9050", "9800", "9941"]

    def test_a_reference_that_the_bank_never_gave_confirms_nothing(self, bank: FintsBank) -> None:
        reader = program(bank, "test_tan")
        reader.log_in()
        reader.exchange(hktan("2", reference="0815"), tan=TAN)
        assert reader.codes(3) == ["9210"]
        reader.exchange(hkcaz(days_ago(10)))
        assert reader.codes(3) == ["9075"]

    def test_bookings_are_not_read_before_the_login_is_confirmed(self, bank: FintsBank) -> None:
        reader = program(bank, "test_app", "923")
        reader.log_in()
        reader.exchange(hkcaz(days_ago(10)))
        assert reader.codes(3) == ["9075"]
        assert not reader.all("HICAZ")

    @pytest.mark.parametrize(
        ("user_id", "method", "binary"),
        [("test_chip_tan", "911", b"1784"), ("test_photo_tan", "972", b"\x00\x09image/png"), ("test_sms_tan", "920", b"")],
    )
    def test_challenges(self, bank: FintsBank, user_id: str, method: str, binary: bytes) -> None:
        reader = program(bank, user_id, method)
        reader.log_in()
        challenge = reader.one("HITAN")
        assert challenge.binary(5)[: len(binary)] == binary
        assert bool(challenge.binary(5)) == bool(binary)
        reader.exchange(hktan("2", reference=challenge.text(3)), tan=TAN)
        assert "0020" in reader.codes(3)

    def test_a_medium_must_be_named_where_there_are_several(self, bank: FintsBank) -> None:
        reader = program(bank, "test_several_media", "920")
        reader.log_in()
        assert reader.codes(5) == ["9210"]
        reader.restart()
        reader.log_in(purpose="HKTAB")
        assert reader.codes(5) == ["3076"]
        reader.exchange(segment("HKTAB", 5, "0", "M"))
        media = [element[13] for element in reader.one("HITAB").elements[1:]]
        assert media == ["Mein Handy", "Diensthandy"]
        reader.restart()
        reader.log_in(medium="Diensthandy")
        assert reader.codes(5) == ["0030"]
        assert reader.one("HITAN").text(7) == "Diensthandy"

    def test_media_can_be_asked_for_in_the_first_message(self, bank: FintsBank) -> None:
        reader = program(bank, "test_several_media", "920")
        reader.log_in(segment("HKTAB", 4, "0", "A"))
        assert len(reader.one("HITAB").elements) == 6
        assert reader.one("HITAB").elements[1][12] == "Sparkassen-Card 1234"

    def test_the_app_by_hand_is_not_polled(self, bank: FintsBank) -> None:
        reader = program(bank, "test_app_manual", "946")
        reader.log_in()
        (parameters,) = [each for each in reader.all("HITANS") if each.version == 7]
        described = parameters.element(4)
        place = described.index("946")
        assert described[place + 21 : place + 26] == ("20", "5", "5", "J", "N")
        reader.exchange(hktan("S", reference=reader.one("HITAN").text(3)))
        assert "0020" in reader.codes(3)

    def test_an_app_that_never_confirms_ends_the_dialogue_after_the_last_poll(self, bank: FintsBank) -> None:
        reader = program(bank, "test_app_silent", "923")
        reader.log_in()
        reference = reader.one("HITAN").text(3)
        for _ in range(20):
            reader.exchange(hktan("S", reference=reference))
            assert reader.codes(3) == ["3956"]
        reader.exchange(hktan("S", reference=reference))
        assert reader.codes() == ["9050", "9800", "9951"]

    def test_parameters_are_sent_only_if_they_are_new(self, bank: FintsBank) -> None:
        reader = program(bank, "test_mt940")
        reader.exchange(reader.identification(), preparation("KONTOR", "3", "5"), hktan("4", "HKIDN"))
        assert not reader.all("HIBPA")
        assert not reader.all("HIUPD")
        assert "3076" in reader.codes()

    def test_one_step(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_one_step", "999")
        assert reader.one("HIBPA").text(1) == "7"
        assert not reader.all("HICAZS")
        reader.exchange(segment("HKKAZ", 5, ("1029384756", "", *BANK), "N", days_ago(200), ""))
        assert "0020" in reader.codes(3)

    def test_one_step_is_not_enough_elsewhere(self, bank: FintsBank) -> None:
        reader = program(bank, "demo8", "999")
        reader.log_in()
        assert {"9075", "9800"} <= set(reader.codes())

    def test_polls_belong_into_one_dialogue(self, bank: FintsBank) -> None:
        reader = program(bank, "test_9040", "923")
        reader.log_in()
        reference, dialogue_id = reader.one("HITAN").text(3), reader.dialogue_id
        reader.restart()
        reader.log_in()
        assert {"9040", "9800"} <= set(reader.codes())
        reader.dialogue_id, reader.number = dialogue_id, 1
        reader.exchange(hktan("S", reference=reference))
        assert reader.codes(3) == ["3956"]

    def test_methods_can_be_learned_with_hktan_in_one_step(self, bank: FintsBank) -> None:
        reader = Program(lambda message: bank.answer(message, NOW).message, "demo2")
        reader.exchange(reader.identification(), preparation("K"), hktan("4", "HKIDN"), segment("HKSYN", 3, "0"))
        assert reader.parameters("3920") == ("910", "911", "923")
        assert reader.all("HISYN")
        reader.exchange(segment("HKSPA", 1))
        assert reader.codes(3) == ["9075"], "that is no confirmation"

    def test_a_method_of_somebody_else_is_refused(self, bank: FintsBank) -> None:
        reader = program(bank, "demo1", "910")
        reader.log_in()
        assert {"9210", "9800"} <= set(reader.codes())

    def test_old_banks_have_no_decoupled_methods(self, bank: FintsBank) -> None:
        reader = program(bank, "test_old", "910")
        reader.exchange(reader.identification(), preparation("KONTOR"), hktan("4", "HKIDN", version=6))
        assert [each.version for each in reader.all("HITANS")] == [6]
        assert "923" not in reader.one("HITANS").element(4)
        assert reader.one("HITAN").version == 6


class TestRefusals:
    @pytest.mark.parametrize(
        ("user_id", "code"),
        [
            ("test_wrong_pin", "9910"),
            ("test_wrong_pin_9340", "9340"),
            ("test_locked", "9931"),
            ("test_locked_9930", "9930"),
            ("test_wrong_pin_9942", "9942"),
            ("test_9078", "9078"),
            ("nobody", "9340"),
        ],
    )
    def test_user_ids_that_are_always_refused(self, bank: FintsBank, user_id: str, code: str) -> None:
        reader = Program(lambda message: bank.answer(message, NOW).message, user_id, method="923")
        reader.log_in()
        assert {code, "9800"} <= set(reader.codes())

    def test_a_wrong_pin_is_refused_in_every_message(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_mt940")
        reader.pin = "54321"
        reader.exchange(segment("HKSPA", 1))
        assert {"9942", "9800"} <= set(reader.codes())
        assert not reader.all("HISPA")

    def test_customers_with_pins_of_their_own(self, bank: FintsBank) -> None:
        reader = Program(lambda message: bank.answer(message, NOW).message, "test_pin_24680", pin="24680", method="922")
        reader.synchronise()
        reader.log_in()
        assert reader.all("HIUPD")
        reader.pin = "12345"
        reader.exchange(segment("HKSPA", 1))
        assert "9942" in reader.codes()

    def test_three_wrong_pins_lock_for_a_while(self, bank: FintsBank, clock: Clock) -> None:
        reader = program(bank, "test_lock_x", "923", clock)
        codes = []
        for pin in ("1", "2", "3", "12345"):
            reader.pin = pin
            reader.restart()
            reader.log_in()
            codes.append([code for code in reader.codes() if code in ("9942", "9931", "3938", "3076")])
        assert codes == [["9942"], ["9942"], ["3938", "9931"], ["3938", "9931"]]
        clock.now += timedelta(minutes=11)
        reader.restart()
        reader.log_in()
        assert "3076" in reader.codes()

    def test_customers_of_the_demo_are_never_locked(self, bank: FintsBank) -> None:
        reader = program(bank, "demo8", "923")
        reader.pin = "1"
        for _ in range(4):
            reader.restart()
            reader.log_in()
            assert "9942" in reader.codes()
        reader.pin = "12345"
        reader.restart()
        reader.log_in()
        assert "3076" in reader.codes()

    def test_a_lock_as_a_warning(self, bank: FintsBank) -> None:
        reader = program(bank, "test_locked_3938", "923")
        reader.log_in()
        assert "3938" in reader.codes(4)
        reader.exchange(hkcaz(days_ago(10)))
        assert reader.codes(3) == ["9931"]

    def test_a_program_without_a_product_id_is_refused(self, bank: FintsBank) -> None:
        reader = program(bank, "demo8", "923")
        reader.product = ""
        reader.log_in()
        assert reader.codes(4) == ["9078"]

    @pytest.mark.parametrize("code", ["9391", "9075", "9120"])
    def test_a_system_id_that_is_no_longer_good(self, bank: FintsBank, code: str) -> None:
        reader = logged_in(bank, f"test_{code}", "923")
        reader.end()
        reader.log_in()
        assert {code, "9800"} <= set(reader.codes())
        reader.restart()
        reader.synchronise()
        reader.log_in()
        assert "3076" in reader.codes()

    def test_an_invented_system_id_is_refused(self, bank: FintsBank) -> None:
        reader = program(bank, "demo8", "923")
        reader.system_id = "0123456789ABCDEF"
        reader.log_in()
        assert "9391" in reader.codes()

    @pytest.mark.parametrize(
        ("user_id", "codes"),
        [("test_9010", ["9050", "9010"]), ("test_9050", ["9050", "9110"]), ("test_9800", ["9800"])],
    )
    def test_orders_that_fail(self, bank: FintsBank, user_id: str, codes: list[str]) -> None:
        reader = logged_in(bank, user_id)
        reader.exchange(hkcaz(days_ago(10)))
        assert reader.codes() == codes
        assert not reader.all("HICAZ")

    def test_what_an_account_may_not_do_is_refused(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_mt940")
        assert all(("HKCAZ", "1") not in account.elements for account in reader.all("HIUPD"))
        reader.exchange(hkcaz(days_ago(10)))
        assert reader.codes(3) == ["9010"]

    @pytest.mark.parametrize("order", [segment("HKXYZ", 1), segment("HKCAZ", 9), segment("HKSAL", 7, ("DE00",), "N")])
    def test_orders_that_the_bank_does_not_know(self, bank: FintsBank, order: Segment) -> None:
        reader = logged_in(bank, "test_mt940")
        reader.exchange(order)
        assert reader.codes(3) == ["9010"]


class TestFrames:
    def test_a_refusal_without_encryption_and_without_segment(self, bank: FintsBank) -> None:
        sender = Program(lambda message: message, "test_wrong_pin_9942", method="923", number=1)
        answer = bank.answer(sender.message(sender.identification(), preparation("K")), NOW).message
        assert b"HNVSK" not in answer
        assert b"HIRMS" not in answer
        assert b"HIRMG:2:2+9800::Der Dialog wurde abgebrochen.+9942::" in answer

    def test_signed_answers(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_signed")
        assert [reader.answer[0].name, reader.answer[-1].name] == ["HNSHK", "HNSHA"]
        assert [each.number for each in reader.answer] == list(range(2, len(reader.answer) + 2))

    def test_hktan_names_its_order(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_pages")
        reader.exchange(hkcaz("20240101"), hktan("4", "HKKAZ"))
        assert reader.codes(4) == ["9110"]

    @given(st.data())
    def test_no_message_breaks_the_bank(self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
        bank = FintsBank(tmp_path_factory.getbasetemp() / "fuzzed")
        sender = Program(lambda message: message, "test_mt940", method="922", number=1)
        text = st.text(st.characters(max_codepoint=255), max_size=12)
        element = st.one_of(text, st.binary(max_size=12), st.lists(text, max_size=4))
        name = st.sampled_from(("HKIDN", "HKVVB", "HKTAN", "HKSYN", "HKTAB", "HKEND", "HKCAZ", "HKVPP", "HKVPA", "HKCCS"))
        order = st.builds(
            lambda name, version, elements: segment(name, version, *elements), name, st.integers(0, 9), st.lists(element)
        )
        orders = data.draw(st.lists(order, max_size=4))
        login = bank.answer(sender.message(sender.identification(), preparation("K"), hktan("4", "HKIDN")), NOW).message
        sender.dialogue_id, sender.number = parse(login)[0].text(3), 2
        for message in (sender.message(*orders), data.draw(st.binary(max_size=200))):
            assert bank.answer(message, NOW).message.startswith(b"HNHBK:1:3+")


class TestReading:
    def test_accounts_and_balances(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_mt940")
        reader.exchange(segment("HKSPA", 1))
        assert [element[0] for element in reader.one("HISPA").elements] == ["J", "J", "N", "N"]
        reader.exchange(segment("HKSAL", 7, international(IBAN), "N"))
        assert reader.one("HISAL").element(4)[:3] == ("C", "2591,24", "EUR")
        reader.exchange(segment("HKSAL", 5, ("1029384756", "", *BANK), "J"))
        assert len(reader.all("HISAL")) == 3

    @pytest.mark.parametrize("as_camt", [True, False])
    @pytest.mark.parametrize("user_id", ["test_pages", "test_split_day", "test_booked_only"])
    def test_all_pages_together_are_the_history(self, bank: FintsBank, user_id: str, as_camt: bool) -> None:
        reader = logged_in(bank, user_id)
        frames = list(pages(reader, as_camt=as_camt, first=days_ago(80)))
        whole = pl.concat(frames)
        (expected,) = pages(logged_in(bank, "test_plain", "923"), as_camt=as_camt, first=days_ago(80))
        assert whole.drop("purpose").equals(expected.drop("purpose"))
        assert (len(frames) > 1) == (user_id != "test_booked_only")

    def test_pages_end_with_a_day_unless_the_bank_splits_days(self, bank: FintsBank) -> None:
        def splits(user_id: str) -> int:
            frames = list(pages(logged_in(bank, user_id), as_camt=True, first=days_ago(80)))
            return sum(before["booked_on"][-1] == after["booked_on"][0] for before, after in pairwise(frames))

        assert splits("test_pages") == 0
        assert splits("test_split_day") > 0

    def test_an_invented_touchdown_point_is_refused(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_pages")
        for touchdown in ("TD+0:", "TD+999999:", "x"):
            reader.exchange(hkcaz(days_ago(80), touchdown))
            assert reader.codes(3) == ["9210"]

    @pytest.mark.parametrize("order", [hkcaz, hkkaz])
    def test_pending_lines_come_apart_from_booked_ones(self, bank: FintsBank, order) -> None:  # type: ignore[no-untyped-def]
        reader = logged_in(bank, "test_plain", "923")
        reader.exchange(order(days_ago(10)))
        data = reader.answer[-1]
        booked, pending = (data.binary(3), data.binary(4)) if data.name == "HICAZ" else (data.binary(1), data.binary(2))
        read = read_camt if data.name == "HICAZ" else read_mt940
        assert not read(booked)[0].bookings["pending"].any()
        assert read(pending)[0].bookings["pending"].all()

    def test_a_booked_line_that_is_pending_as_well(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_pending_twice")
        reader.exchange(hkcaz(days_ago(10)))
        booked, pending = (read_camt(reader.one("HICAZ").binary(place))[0].bookings for place in (3, 4))
        assert booked.tail(1).drop("pending").rows()[0] in pending.drop("pending").rows()

    def test_no_bookings_are_a_warning_and_no_data(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_mt940")
        tomorrow = f"{NOW.date() + timedelta(days=1):%Y%m%d}"
        reader.exchange(segment("HKKAZ", 7, international(IBAN), "N", tomorrow, tomorrow))
        assert reader.codes(3) == ["3010"]
        assert not reader.all("HIKAZ")

    def test_days_that_do_not_exist_are_refused(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_mt940")
        for day in ("20260230", "2026-01-01", "yesterday"):
            reader.exchange(hkkaz(day))
            assert reader.codes(3) == ["9110"]

    @pytest.mark.parametrize("first", ["20240101", ""])
    def test_bookings_of_long_ago_need_a_tan_in_the_same_dialogue(self, bank: FintsBank, first: str) -> None:
        reader = logged_in(bank, "test_pages")
        reader.exchange(hkcaz(first))
        assert reader.codes(3) == ["9370"]
        reader.exchange(hkcaz(first), hktan("4", "HKCAZ"))
        assert reader.codes(4) == ["0030"]
        assert not reader.all("HICAZ")
        reader.exchange(hktan("2", reference=reader.one("HITAN").text(3)), tan=TAN)
        assert reader.all("HICAZ")
        assert "3040" in reader.codes(3)
        reader.exchange(hkcaz(first, str(reader.parameters("3040")[0])), hktan("4", "HKCAZ"))
        assert reader.codes(4) == ["3076"], "the next page belongs to the confirmed order"
        assert reader.all("HICAZ")
        reader.exchange(hkcaz("20240201"), hktan("4", "HKCAZ"))
        assert reader.codes(4) == ["0030"], "another order does not"

    def test_a_confirmed_login_releases_them_too_but_not_at_every_bank(self, bank: FintsBank) -> None:
        for user_id, code in (("demo5", "3076"), ("test_long_history", "0030")):
            reader = program(bank, user_id)
            reader.log_in()
            reader.exchange(hktan("2", reference=reader.one("HITAN").text(3)), tan=TAN)
            accounts = [account.text(2) for account in reader.all("HIUPD") if account.text(2)]
            reader.exchange(hkcaz("20240101", iban=accounts[0]), hktan("4", "HKCAZ"))
            assert reader.codes(4) == [code], user_id

    def test_many_bookings(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_many_1500")
        reader.exchange(hkcaz("20230101"), hktan("4", "HKCAZ"))
        reader.exchange(hktan("2", reference=reader.one("HITAN").text(3)), tan=TAN)
        first = read_camt(reader.one("HICAZ").binary(3))[0].bookings.height
        reader.exchange(hkcaz("20230101", str(reader.parameters("3040")[0])))
        second = read_camt(reader.one("HICAZ").binary(3))[0].bookings.height
        assert first + second == 1500

    def test_statements_in_latin_1_with_line_breaks_in_their_purposes(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_latin1")
        reader.exchange(hkcaz(days_ago(60)))
        document = reader.one("HICAZ").binary(3)
        assert b'encoding="ISO-8859-1"' in document
        assert b"\r\n" in document
        assert read_camt(document)[0].bookings.height > 10

    def test_a_depot(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_mt940")
        reader.exchange(segment("HKWPD", 6, ("7029384756", "", *BANK)))
        statement = reader.one("HIWPD").binary(1).decode("latin-1")
        assert ":35B:ISIN IE00B4L5Y983\r\n/DE/A0RPWH\r\niShares Core MSCI World UCITS ETF" in statement
        assert ":90B::MRKT//ACTU/EUR85,18" in statement
        assert ":93B::AGGR//UNIT/78," in statement
        assert ":19A::HOLP//EUR10561,85" in statement

    def test_a_depot_by_wkn_with_bonds_in_percent(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_wkn")
        depots = [account.text(1) for account in reader.all("HIUPD") if account.text(4) == "30"]
        statements = []
        for depot in depots:
            reader.exchange(segment("HKWPD", 6, (depot, "", *BANK)))
            statements.append(reader.one("HIWPD").binary(1).decode("latin-1"))
        assert "ISIN" not in "".join(statements)
        assert ":35B:/DE/723610" in statements[0]
        assert any("//PRCT/" in statement and "//FAMT/" in statement for statement in statements)

    def test_an_account_that_is_listed_twice(self, bank: FintsBank) -> None:
        reader = logged_in(bank, "test_listed_twice")
        numbers = [account.text(1) for account in reader.all("HIUPD")]
        assert numbers.count("1029384756") == 2
        assert numbers[-1] == ""
        reader.exchange(segment("HKSPA", 1))
        assert len(reader.one("HISPA").elements) == 5


class TestFaultsOfTransport:
    @pytest.mark.parametrize(
        ("user_id", "transport"),
        [
            ("test_maintenance", BankTransport.MAINTENANCE),
            ("test_unreachable", BankTransport.UNAVAILABLE),
            ("test_cut", BankTransport.CUT),
        ],
    )
    def test_no_answer_of_a_bank(self, bank: FintsBank, user_id: str, transport: BankTransport) -> None:
        sender = Program(lambda message: message, user_id, number=1)
        assert bank.answer(sender.message(sender.identification()), NOW).transport is transport

    def test_slow(self, bank: FintsBank) -> None:
        sender = Program(lambda message: message, "test_slow_2.5_x", method="922", number=1)
        assert bank.answer(sender.message(sender.identification(), preparation("K")), NOW).wait_seconds == 2.5

    def test_lengths_that_count_umlauts_once(self, bank: FintsBank) -> None:
        replies: list[bytes] = []

        def send(message: bytes) -> bytes:
            replies.append(bank.answer(message, NOW).message)
            return replies[-1]

        Program(send, "test_byte_counts", method="922").log_in()
        text = replies[0].decode()
        declared, start = int(text.split("HNVSD:999:1+@")[1].split("@")[0]), text.index("HNVSD:999:1+@")
        data = text[text.index("@", start + len("HNVSD:999:1+@")) + 1 : text.rindex("'HNHBS")]
        assert declared == len(data) < len(data.encode())

    def test_messages_that_are_numbered_anew_after_a_poll(self, bank: FintsBank) -> None:
        replies = []
        reader = program(bank, "test_renumbered", "923")
        send = reader.send
        reader.send = lambda message: replies.append(send(message)) or replies[-1]  # type: ignore[func-returns-value]
        reader.log_in()
        reader.exchange(hktan("S", reference=reader.one("HITAN").text(3)))
        assert replies[-1].split(b"'")[0].split(b"+")[4:] == [b"1", reader.dialogue_id.encode() + b":2"]
        reader.exchange(hktan("S", reference=reader.one("HITAN").text(3)))
        assert reader.codes(3) == ["3956"], "the bank still counts the customer's messages"


def test_every_user_id_that_the_docs_name_exists() -> None:
    docs = Path("docs/demo-bank.md").read_text().partition("## The FinTS bank")[2]
    for pattern, _ in SPECIAL:
        stem = pattern.partition("(")[0].rstrip("_")
        assert f"`{stem}" in docs, f"{stem} is not in docs/demo-bank.md"
    assert all(find_customer(person) for person in PERSONS)


def test_the_journal_has_no_secrets(bank: FintsBank, tmp_path: Path) -> None:
    reader = program(bank, "test_tan")
    reader.log_in()
    reader.exchange(hktan("2", reference=reader.one("HITAN").text(3)), tan=TAN)
    journal = read_journal(tmp_path)
    assert [entry["orders"] for entry in journal][-2:] == [["HKIDN", "HKVVB", "HKTAN"], ["HKTAN"]]
    everything = json.dumps(journal) + "".join(path.read_text() for path in (tmp_path / "state").glob("*.json"))
    assert TAN not in everything
    assert "12345" not in everything


def _numbered(order: Segment, number: int) -> Segment:
    return Segment(order.name, order.version, order.elements, number)


class TestServer:
    def test_messages_go_over_http(self, tmp_path: Path) -> None:
        with serving(tmp_path) as url, httpx.Client(timeout=60) as client:
            reader = Program(
                lambda message: b64decode(client.post(url, content=b64encode(message)).content), "demo8", method="923"
            )
            reader.synchronise()
            reader.log_in()
            assert [account.text(8) for account in reader.all("HIUPD")] == ["Girokonto Start", "PrivatSparen"]
            assert reader.one("HIKOM").text(3, 2) == url

    def test_the_web_server_has_faults_of_its_own(self, tmp_path: Path) -> None:
        def post(client: httpx.Client, url: str, user_id: str) -> httpx.Response:
            sender = Program(lambda message: message, user_id, method="922", number=1)
            return client.post(url, content=b64encode(sender.message(sender.identification(), preparation("K"))))

        with serving(tmp_path) as url, httpx.Client(timeout=60) as client:
            page = post(client, url, "test_maintenance")
            assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
            assert post(client, url, "test_unreachable").status_code == 503
            with pytest.raises(httpx.RemoteProtocolError):
                post(client, url, "test_cut")
            assert b"\r\n" in post(client, url, "test_line_breaks").content.strip()
            assert client.post(url, content=b"no base64!").status_code == 400
            assert client.post(url.removesuffix("fints"), content=b"").status_code == 404

    def test_the_program_prints_its_address_and_stops_on_sigterm(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "pipelines.banks.fints_bank", "--folder", str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert httpx.get(url.replace("/fints", "/ready")).status_code == 200
            process.terminate()
            assert process.wait(60) == 0


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The bank on a free port; its address."""
    with FintsServer(folder) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.url
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join()
