"""Payments at the simulated FinTS bank: nothing without a confirmation, and not before the payee was verified."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.banks.fints.syntax import Segment, segment
from pipelines.banks.fints_bank.bank import FintsBank
from pipelines.banks.fints_bank.customers import BankTransport
from pipelines.banks.fints_bank.paying import executed_orders
from tests.support.fints_program import BANK, Program, hktan, international

NOW = datetime(2026, 11, 18, 8, tzinfo=UTC)
IBAN = "DE07370501981029384756"
SPACE = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
REPORT = "urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"
TAN = "123456"
OTHER_BANK, CLOSE_BY_DIGITS, NO_MATCH = "DE02120300000000202051", "DE39500400000250297481", "DE02500105170137075090"


@pytest.fixture
def bank(tmp_path: Path) -> FintsBank:
    return FintsBank(tmp_path)


def payer(bank: FintsBank, user_id: str = "test_mt940", method: str = "922") -> Program:
    """A program in a dialogue that may pay."""
    new_program = Program(lambda message: bank.answer(message, NOW).message, user_id, method=method)
    new_program.synchronise()
    new_program.log_in()
    assert new_program.all("HIUPD"), new_program.codes()
    return new_program


def pain(*transfers: tuple[str, str, str], day: str = "1999-01-01", total: str | None = None) -> bytes:
    """A document with transfers of a recipient, an IBAN and an amount."""
    entries = "".join(
        f"<CdtTrfTxInf><PmtId><EndToEndId>E{place}</EndToEndId></PmtId><Amt><InstdAmt Ccy='EUR'>{amount}</InstdAmt></Amt>"
        f"<Cdtr><Nm>{name}</Nm></Cdtr><CdtrAcct><Id><IBAN>{iban}</IBAN></Id></CdtrAcct>"
        f"<RmtInf><Ustrd>Miete</Ustrd></RmtInf></CdtTrfTxInf>"
        for place, (name, iban, amount) in enumerate(transfers)
    )
    total = total or f"{sum(float(amount) for *_, amount in transfers):.2f}"
    header = f"<GrpHdr><MsgId>M-1</MsgId><NbOfTxs>{len(transfers)}</NbOfTxs><CtrlSum>{total}</CtrlSum></GrpHdr>"
    debtor = f"<DbtrAcct><Id><IBAN>{IBAN}</IBAN></Id></DbtrAcct>"
    information = f"<PmtInf><ReqdExctnDt><Dt>{day}</Dt></ReqdExctnDt>{debtor}{entries}</PmtInf>"
    return f"<Document xmlns='{SPACE}'><CstmrCdtTrfInitn>{header}{information}</CstmrCdtTrfInitn></Document>".encode()


def transfer(name: str = "Erika Beispiel", iban: str = OTHER_BANK, amount: str = "12.34") -> Segment:
    return segment("HKCCS", 1, international(IBAN), SPACE, pain((name, iban, amount)))


def check(polling_id: bytes = b"", touchdown: str = "") -> Segment:
    return segment("HKVPP", 1, (REPORT,), polling_id, "", touchdown)


def confirm(program: Program, tan: str = TAN) -> list[str]:
    """The codes for the TAN of what waits."""
    program.exchange(hktan("2", reference=program.one("HITAN").text(3)), tan=tan)
    return program.codes(3)


def test_a_transfer_is_executed_with_its_tan_alone(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank)
    program.exchange(check(), transfer(), hktan("4", "HKCCS"))
    assert program.codes(3) == ["0020", "0025", "3091"]
    assert program.one("HIVPP").element(6)[4] == "RCVC"
    assert program.codes(5) == ["0030"]
    assert confirm(program, "000000") == ["9941"]
    program.exchange(check(), transfer(), hktan("4", "HKCCS"))
    assert executed_orders(tmp_path, program.user_id) == []
    assert confirm(program) == ["0020"]
    (order,) = executed_orders(tmp_path, program.user_id)
    assert (order["kind"], order["message_id"]) == ("HKCCS", "M-1")
    assert order["transfers"] == [
        {
            "recipient": "Erika Beispiel",
            "iban": OTHER_BANK,
            "amount_cents": 1234,
            "purpose": "Miete",
            "end_to_end_id": "E0",
        }
    ]


def test_a_tan_executes_once(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank)
    program.exchange(check(), transfer(), hktan("4", "HKCCS"))
    reference = program.one("HITAN").text(3)
    for _ in range(2):
        program.exchange(hktan("2", reference=reference), tan=TAN)
    assert program.codes(3) == ["9210"]
    assert len(executed_orders(tmp_path, program.user_id)) == 1


def test_a_transfer_in_the_app(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank, "test_transfer_app", "923")
    program.exchange(check(), transfer(), hktan("4", "HKCCS"))
    assert program.codes(5) == ["3955"]
    reference = program.one("HITAN").text(3)
    for orders in (0, 0, 1):
        program.exchange(hktan("S", reference=reference))
        assert len(executed_orders(tmp_path, program.user_id)) == orders


def test_without_hktan_nothing_is_executed(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank)
    program.exchange(check(), transfer())
    assert program.codes(4) == ["9370"]
    assert executed_orders(tmp_path, program.user_id) == []


def test_without_verification_nothing_is_executed(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank)
    program.exchange(transfer(), hktan("4", "HKCCS"))
    assert program.codes(3) == ["9076"]
    assert not program.all("HITAN")
    assert executed_orders(tmp_path, program.user_id) == []


@pytest.mark.parametrize(("iban", "code"), [(CLOSE_BY_DIGITS, "RVMC"), (NO_MATCH, "RVNM")])
def test_a_payee_that_differs_needs_the_customers_word(bank: FintsBank, tmp_path: Path, iban: str, code: str) -> None:
    program = payer(bank)
    order = transfer(iban=_valid(iban))
    program.exchange(check(), order, hktan("4", "HKCCS"))
    assert program.codes(3) == ["3090"]
    assert program.codes(4) == ["3945"]
    assert program.codes(5) == ["3905"]
    result = program.one("HIVPP")
    assert result.element(6)[4] == code
    assert bool(result.element(6)[2]) == (code == "RVMC")
    approval = segment("HKVPA", 1, result.binary(1))
    program.exchange(approval, transfer(iban=OTHER_BANK), hktan("4", "HKCCS"))
    assert program.codes(3) == ["9210"], "the approval is for one order alone"
    program.exchange(approval, order, hktan("4", "HKCCS"))
    assert program.codes(3) == ["0020"]
    assert executed_orders(tmp_path, program.user_id) == []
    assert confirm(program) == ["0020"]
    assert len(executed_orders(tmp_path, program.user_id)) == 1


def test_a_verification_that_takes_its_time(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank, "test_payee_polling")
    program.exchange(check(), transfer(), hktan("4", "HKCCS"))
    assert program.codes(3) == ["3093", "3040"]
    assert program.codes(4) == ["3945"]
    pending = program.one("HIVPP")
    assert pending.text(8) == "1"
    assert not pending.binary(1)
    touchdown = str(program.parameters("3040")[0])
    program.exchange(check(b"x", touchdown))
    assert program.codes(3) == ["9210"]
    program.exchange(check(pending.binary(3), touchdown))
    assert program.codes(3) == ["3093", "3040"]
    program.exchange(check(pending.binary(3), touchdown))
    assert program.codes(3) == ["0020", "0025"]
    program.exchange(segment("HKVPA", 1, program.one("HIVPP").binary(1)), transfer(), hktan("4", "HKCCS"))
    assert confirm(program) == ["0020"]
    assert len(executed_orders(tmp_path, program.user_id)) == 1


def test_a_report_for_a_bulk_transfer(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank)
    document = pain(("Erika Beispiel", OTHER_BANK, "1.00"), ("Otto &amp; Co", _valid(NO_MATCH), "2.50"))
    order = segment("HKCCM", 1, international(IBAN), ("3,5", "EUR"), "N", SPACE, document)
    program.exchange(check(), order, hktan("4", "HKCCM"))
    result = program.one("HIVPP")
    assert result.text(4) == REPORT
    assert b"<GrpSts>RVCM</GrpSts>" in result.binary(5)
    assert result.binary(5).count(b"<TxSts>") == 2
    program.exchange(segment("HKVPA", 1, result.binary(1)), order, hktan("4", "HKCCM"))
    assert confirm(program) == ["0020"]
    (entry,) = executed_orders(tmp_path, program.user_id)
    assert [each["amount_cents"] for each in entry["transfers"]] == [100, 250]


def test_a_report_for_a_single_transfer(bank: FintsBank) -> None:
    program = payer(bank, "test_payee_report")
    program.exchange(check(), transfer(), hktan("4", "HKCCS"))
    assert b"<GrpSts>RCVC</GrpSts>" in program.one("HIVPP").binary(5)
    assert confirm(program) == ["0020"]


@pytest.mark.parametrize(("days", "code"), [(0, "9210"), (30, "0030"), (500, "9210")])
def test_a_scheduled_transfer(bank: FintsBank, tmp_path: Path, days: int, code: str) -> None:
    program = payer(bank)
    day = NOW.date() + timedelta(days=days)
    document = pain(("Erika Beispiel", OTHER_BANK, "5.00"), day=day.isoformat())
    program.exchange(check(), segment("HKCSE", 1, international(IBAN), SPACE, document), hktan("4", "HKCSE"))
    assert code in program.codes()
    if code == "0030":
        assert confirm(program) == ["0020"]
        (entry,) = executed_orders(tmp_path, program.user_id)
        assert program.one("HICSE").text(1) == entry["order_id"]
        assert entry["execute_on"] == day.isoformat()


def test_an_instant_transfer(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank)
    document = pain(("Erika Beispiel", OTHER_BANK, "5.00"))
    program.exchange(check(), segment("HKIPZ", 1, international(IBAN), SPACE, document), hktan("4", "HKIPZ"))
    assert confirm(program) == ["0020"]
    assert [entry["kind"] for entry in executed_orders(tmp_path, program.user_id)] == ["HKIPZ"]


@pytest.mark.parametrize(
    "order",
    [
        segment("HKCCS", 1, international(IBAN), "urn:x", pain(("E", OTHER_BANK, "1.00"))),
        segment("HKCCS", 1, international(IBAN), SPACE, b"<Document"),
        segment("HKCCS", 1, international(IBAN), SPACE, pain(("E", OTHER_BANK, "1.00"), ("E", OTHER_BANK, "1.00"))),
        segment("HKCCS", 1, international(IBAN), SPACE, pain(("E", OTHER_BANK, "1.00"), total="2.00")),
        segment("HKCCS", 1, international(IBAN), SPACE, pain(("E", OTHER_BANK, "-1.00"))),
        segment("HKCCS", 1, international(IBAN), SPACE, pain(("E", OTHER_BANK, "1.001"))),
        segment("HKCCS", 1, international(IBAN), SPACE, pain(("E", "DE00120300000000202051", "1.00"))),
        segment("HKCCS", 1, international("DE73370501986029384756"), SPACE, pain(("E", OTHER_BANK, "1.00"))),
        segment("HKCCS", 1, ("", "", "4152********7731", "", *BANK), SPACE, pain(("E", OTHER_BANK, "1.00"))),
    ],
)
def test_orders_that_the_bank_does_not_take(bank: FintsBank, tmp_path: Path, order: Segment) -> None:
    program = payer(bank)
    program.exchange(check(), order, hktan("4", "HKCCS"))
    assert program.codes(4) in (["9210"], ["9010"])
    assert not program.all("HITAN")
    assert executed_orders(tmp_path, program.user_id) == []


def test_the_protocol_names_the_message_of_an_order(bank: FintsBank) -> None:
    program = payer(bank)
    program.exchange(segment("HKPRO", 4))
    assert program.codes(3) == ["3010"]
    program.exchange(check(), transfer(), hktan("4", "HKCCS"))
    sent_in = (program.dialogue_id, str(program.number))
    confirm(program)
    program.exchange(segment("HKPRO", 4))
    assert program.one("HIPRO").element(1) == sent_in
    assert program.one("HIPRO").text(5, 1) == "0020"


@pytest.mark.parametrize(
    ("user_id", "orders"), [("test_transfer_refused", 0), ("test_transfer_lost", 0), ("test_transfer_unknown", 1)]
)
def test_confirmed_payments_that_go_wrong(bank: FintsBank, tmp_path: Path, user_id: str, orders: int) -> None:
    program = payer(bank, user_id)
    program.exchange(check(), transfer(), hktan("4", "HKCCS"))
    program.number += 1
    message = program.message(hktan("2", reference=program.one("HITAN").text(3)), tan=TAN)
    delivery = bank.answer(message, NOW)
    assert (delivery.transport is BankTransport.CUT) == (user_id != "test_transfer_refused")
    assert len(executed_orders(tmp_path, user_id)) == orders


def test_one_step_with_its_tan(bank: FintsBank, tmp_path: Path) -> None:
    program = payer(bank, "test_one_step", "999")
    document = pain(("Erika Beispiel", OTHER_BANK, "5.00")).replace(b"001.09", b"001.03")
    order = segment("HKCCS", 1, international(IBAN), SPACE.replace("001.09", "001.03"), document)
    program.exchange(order)
    assert program.codes(3) == ["9941"]
    program.exchange(order, tan=TAN)
    assert program.codes(3) == ["0020"]
    assert len(executed_orders(tmp_path, "test_one_step")) == 1


def _valid(iban: str) -> str:
    """The IBAN with right check digits."""
    number = int(iban[4:] + "131400")
    return f"DE{98 - number % 97:02}{iban[4:]}"
