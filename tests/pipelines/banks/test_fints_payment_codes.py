"""What the FinTS connector takes from the codes of banks about payments, against scripts of their answers."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from lxml import etree

from pipelines.banks.base import (
    AccessLocked,
    BankFault,
    Code,
    ConfirmPayee,
    Consent,
    Done,
    EnterTan,
    Failed,
    NoAnswer,
    Payee,
    PayeeMatch,
    Payment,
    Reply,
    Transfer,
    Turn,
    Unreachable,
    Unusable,
    Wait,
    WrongCredentials,
)
from pipelines.banks.fints import pain
from pipelines.banks.fints.delivery import key_of
from pipelines.banks.fints.parameters import FintsAccount, read_accounts
from pipelines.banks.fints.syntax import parse
from tests.pipelines.banks.fints_answers import (
    DONE,
    IBAN,
    METHOD_APP,
    MT940,
    NO_MORE,
    NOW,
    OK,
    SPA,
    UPD,
    Bank,
    Scene,
    asked,
    binary,
    bookings,
    bpd,
    message,
    raises,
    request,
    scripted,
    signed_in,
    sync,
)

PAIN = "urn?:iso?:std?:iso?:20022?:tech?:xsd?:pain.001."
FORMAT_03, FORMAT_09, FORMAT_GERMAN = (f"{PAIN}{version}" for version in ("001.03", "001.09", "003.03"))
REPORT = "urn?:iso?:std?:iso?:20022?:tech?:xsd?:pain.002.001.10"
WITH_TAN = "HKCCS:J:HKCSE:J:HKIPZ:J:HKCCM:J:HKKAZ:N:HKSPA:N:HKPRO:N:HKVPP:N"
CAN_PAY = UPD.replace("HKCAZ:1'", "HKCCS:1+HKCSE:1+HKIPZ:1+HKCCM:1+HKPRO:1'")
REFERENCE = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
PRODUCT = key_of(read_accounts(parse(CAN_PAY.encode()))[0])
RECIPIENT = "DE89370400440532013000"
TRANSFER = Transfer("Anna Muster", RECIPIENT, 1250, "Rechnung 4711")
PAYMENT = Payment(REFERENCE, PRODUCT, (TRANSFER,))
LOST = NoAnswer("lost")


def parameters(formats: str = FORMAT_03, *, checks: bool = False, app: bool = False, protocol: bool = False) -> str:
    """The parameters of a bank at which can be paid."""
    segments = f"HISPAS:70:1:4+1+1+0+J:N:N:{formats}'HICCSS:71:1:4+1+1+0'HICSES:72:1:4+1+1+0+2:30'HICCMS:73:1:4+1+1+0+3:J:J'"
    if checks:
        segments += f"HIVPPS:74:1:4+1+1+0+1000:N:V:J:N:{REPORT}:HKCCS:HKCCM'HIVPAS:75:1:4+1+1+0'"
    if protocol:
        segments += "HIPROS:76:3:4+1+1'"
    methods = ("", METHOD_APP) if app else ()
    return bpd(*methods, with_tan=WITH_TAN, further=segments)


def memory_of(parameters_text: str, allowed: str = "900") -> bytes:
    turn = scripted(sync(allowed, parameters_text), NO_MORE, asked()).connector().start(Consent(), request())
    return turn.memory or b""


@pytest.fixture(scope="module")
def memory() -> bytes:
    return memory_of(parameters())


@pytest.fixture(scope="module")
def checking() -> bytes:
    """What is remembered of a bank that verifies payees."""
    return memory_of(parameters(checks=True))


def paid(memory: bytes, *script: Scene, payment: Payment = PAYMENT, allowed: str = "900") -> tuple[Turn, Bank]:
    bank = scripted(signed_in(CAN_PAY, allowed), SPA, *script)
    return bank.connector().start(payment, request(memory)), bank


def resumed(turn: Turn, reply: Reply, *script: Scene) -> tuple[Turn, Bank]:
    bank = scripted(*script)
    return bank.connector().resume(request(turn.memory or b""), turn.state, reply), bank


WAITS = OK + "HIRMS:3:2:4+0030::TAN erforderlich'HITAN:5:6:4+4++REF1+Bitte TAN eingeben.'"


def test_the_order_comes_with_hktan_and_its_tan_alone_executes_it(memory: bytes) -> None:
    turn, bank = paid(memory, WAITS)
    assert turn.step == EnterTan("Bitte TAN eingeben.", "photoTAN")
    assert bank.orders() == [["HKIDN", "HKVVB", "HKTAN"], ["HKSPA"], ["HKCCS", "HKTAN"]]
    assert (bank.segment(2, "HKTAN").text(1), bank.segment(2, "HKTAN").text(2)) == ("4", "HKCCS")
    assert bank.segment(2, "HKCCS").element(1) == (IBAN, "BYLADEM1001")
    end, bank = resumed(turn, Reply(tan="4711"), DONE, NO_MORE)
    assert end.step == Done()
    assert bank.orders() == [["HKTAN"], ["HKEND"]]
    assert bank.secrets()[0][1] == "4711"


# Answers to the order.

NUMBER_WRONG = "HIRMG:2:2+9800::Abbruch+9120::Nummer falsch'"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OK, id="no code for the order"),
        pytest.param(OK + "HIRMS:3:2:9+0020::ok'", id="a code for another segment"),
        pytest.param(OK + "HIRMS:3:2:3+3060::Hinweis'", id="a warning alone"),
        pytest.param(OK + "HIRMS:3:2:3+3040::mehr:P'", id="more data"),
        pytest.param(OK + "HIRMS:3:2:3+3010::nichts'", id="no data"),
        pytest.param(OK + "HIRMS:3:2:3+3945::Freigabe nicht möglich'", id="held, without a word about payees"),
        pytest.param(OK + "HIRMS:3:2:3+0020::ok+3945::gehalten'", id="held and executed"),
        pytest.param(OK + "HIRMS:3:2:3+0020::ok+9010::abgelehnt'", id="executed and refused"),
        pytest.param("HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+0020::ok'", id="executed, and the message has errors"),
        pytest.param("HIRMG:2:2+9050::Fehler'", id="errors of nobody"),
        pytest.param(NUMBER_WRONG, id="a wrong number"),
        pytest.param("HIRMG:2:2+9800::Abbruch'HIRMS:3:2:2+9120::Nummer falsch'", id="a wrong number in the signature"),
        pytest.param(OK + "HIRMS:3:2:4+0030::TAN erforderlich'", id="a confirmation of nothing"),
        pytest.param(OK + "HIRMS:3:2:3+9010::nein'HIRMS:4:2:4+0030::TAN'HITAN:5:6:4+4++R+T'", id="refused, and to be confirmed"),
        pytest.param(message(DONE, number="2"), id="an answer to another message"),
        pytest.param(message(DONE, "DIALOG2", number="3"), id="an answer of another dialogue"),
        pytest.param(b"<html>Wartung</html>", id="a page"),
        pytest.param(NoAnswer(), id="cut"),
        pytest.param(Unreachable(), id="a gateway without its bank"),
        pytest.param(Unusable(), id="unreadable"),
    ],
)
def test_without_a_positive_code_nobody_knows(memory: bytes, answer: Scene) -> None:
    bank = scripted(signed_in(CAN_PAY), SPA, answer)
    assert isinstance(raises(lambda: bank.connector().start(PAYMENT, request(memory))), NoAnswer)
    assert not bank.script
    assert len(bank.received) == 3, "nothing follows an order of which nobody knows anything"


@pytest.mark.parametrize("code", ["0010", "0020"])
def test_an_order_that_needs_no_confirmation_is_accepted_by_its_own_code(memory: bytes, code: str) -> None:
    turn, _ = paid(memory, OK + f"HIRMS:3:2:3+{code}::ok'HIRMS:4:2:4+3076::keine'HITAN:5:6:4+4++noref+nochallenge'", NO_MORE)
    assert turn.step == Done()


@pytest.mark.parametrize(
    ("answer", "details"),
    [
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9210::Limit überschritten'", "Limit überschritten"),
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:4+9210::Medium fehlt'", "Medium fehlt"),
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9210::max darf nicht'", None),
    ],
)
def test_a_negative_code_refuses_with_the_banks_words(memory: bytes, answer: str, details: str | None) -> None:
    turn, bank = paid(memory, answer, NO_MORE)
    assert turn.step == Failed(Code.TRANSFER_REFUSED, details)
    assert bank.orders()[-1] == ["HKEND"]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:2+9942::PIN falsch'", WrongCredentials),
        ("HIRMG:2:2+9800::Ende+9910::PIN falsch'", WrongCredentials),
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9931::gesperrt'", AccessLocked),
    ],
)
def test_a_login_that_is_refused_with_the_order_is_not_used_again(memory: bytes, answer: str, fault: type[BankFault]) -> None:
    bank = scripted(signed_in(CAN_PAY), SPA, answer)
    assert isinstance(raises(lambda: bank.connector().start(PAYMENT, request(memory))), fault)
    assert len(bank.received) == 3


# Answers to the confirmation.


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OK, id="no code"),
        pytest.param(OK + "HIRMS:3:2:9+0020::ok'", id="a code for another segment"),
        pytest.param(OK + "HIRMS:3:2:3+3040::mehr:P'", id="more data"),
        pytest.param(OK + "HIRMS:3:2:3+0020::ok+9010::nein'", id="both"),
        pytest.param(NUMBER_WRONG, id="a wrong number"),
        pytest.param(message(DONE, number="3"), id="a late answer"),
        pytest.param(NoAnswer(), id="cut"),
        pytest.param(Unreachable(), id="a gateway without its bank"),
    ],
)
def test_a_tan_without_a_positive_code_is_sent_once_and_nobody_knows(memory: bytes, answer: Scene) -> None:
    turn, _ = paid(memory, WAITS)
    bank = scripted(answer)
    fault = raises(lambda: bank.connector().resume(request(turn.memory or b""), turn.state, Reply(tan="1")))
    assert isinstance(fault, NoAnswer)
    assert len(bank.received) == 1


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("9941::TAN falsch", Failed(Code.TAN_INVALID)),
        ("9910::TAN ungültig", Failed(Code.TAN_INVALID)),
        ("9951::Zu spät", Failed(Code.TAN_INVALID)),
        ("9210::Keine Deckung", Failed(Code.TRANSFER_REFUSED, "Keine Deckung")),
    ],
)
def test_a_refused_tan_or_order(memory: bytes, code: str, end: Failed) -> None:
    turn, _ = paid(memory, WAITS)
    last, _ = resumed(turn, Reply(tan="1"), f"HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+{code}'", NO_MORE)
    assert last.step == end


def test_a_second_confirmation_of_the_same_order_is_asked_for(memory: bytes) -> None:
    turn, _ = paid(memory, WAITS)
    turn, _ = resumed(turn, Reply(tan="1"), asked(3, text="Noch eine TAN"))
    assert isinstance(turn.step, EnterTan)
    end, bank = resumed(turn, Reply(tan="2"), DONE, NO_MORE)
    assert end.step == Done()
    assert bank.segment(0, "HKTAN").text(5) == "REF3"


@pytest.fixture(scope="module")
def polled() -> Turn:
    """A payment that waits for the app."""
    remembered = memory_of(parameters(app=True), "923")
    answer = OK + "HIRMS:3:2:4+3955::App'HITAN:5:7:4+4++REF1+Bitte freigeben.'"
    turn, _ = paid(remembered, answer, allowed="923")
    assert turn.step == Wait(3, "Bitte freigeben.", 5)
    return turn


PENDING = OK + "HIRMS:3:2:3+3956::Noch nicht'"


def test_the_app_confirms(polled: Turn) -> None:
    turn, _ = resumed(polled, Reply(), PENDING)
    assert isinstance(turn.step, Wait)
    assert resumed(turn, Reply(), DONE, NO_MORE)[0].step == Done()
    refused = "HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9957::Abgelehnt'"
    assert resumed(turn, Reply(), refused, NO_MORE)[0].step == Failed(Code.TAN_INVALID)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(["HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9210::Referenz unbekannt'"], id="unknown after a lost poll"),
        pytest.param([NUMBER_WRONG], id="a poll was lost and the dialogue is over"),
        pytest.param(
            ["HIRMG:2:2+9120::Nummer falsch'", "HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9010::nein'"], id="refused after a lost poll"
        ),
        pytest.param([NoAnswer()], id="cut"),
    ],
)
def test_a_poll_after_a_lost_one_never_says_that_nothing_was_paid(polled: Turn, script: list[Scene]) -> None:
    bank = scripted(*script)
    assert isinstance(raises(lambda: bank.connector().resume(request(), polled.state, Reply())), NoAnswer)
    assert not bank.script


def test_a_lost_poll_may_turn_out_well(polled: Turn) -> None:
    assert resumed(polled, Reply(), "HIRMG:2:2+9120::Nummer falsch'", DONE, NO_MORE)[0].step == Done()


# Payees.


def verified(code: str = "", name: str = "", codes: str = "3090::prüfen", *, held: bool = True, report: bytes = b"") -> str:
    """The answer to an order with a verification of payees."""
    single = f"{RECIPIENT}::{name}::{code}" if code else ""
    hold = "HIRMS:5:2:4+3945::gehalten'HIRMS:6:2:5+3905::keine Challenge'" if held else ""
    return OK + f"HIRMS:3:2:3+{codes}'{hold}HIVPP:7:1:3+@3@ID1++++{binary(report) if report else ''}+{single}+Bitte prüfen.'"


CHALLENGE = "HIRMS:8:2:5+0030::TAN'HITAN:9:6:5+4++REF1+Bitte TAN eingeben.'"


def test_a_match_goes_on_to_its_tan(checking: bytes) -> None:
    answer = verified("RCVC", codes="0020::ok+0025::keine Abweichung+3091::nicht nötig", held=False) + CHALLENGE
    turn, bank = paid(checking, answer)
    assert isinstance(turn.step, EnterTan)
    assert bank.orders()[2] == ["HKVPP", "HKCCS", "HKTAN"]
    assert resumed(turn, Reply(tan="1"), DONE, NO_MORE)[0].step == Done()


def test_a_payee_that_differs_waits_for_the_customers_word_even_where_the_bank_would_not(checking: bytes) -> None:
    turn, _ = paid(checking, verified("RVMC", "Anna M. Muster", held=False) + CHALLENGE)
    assert turn.step == ConfirmPayee((Payee(PayeeMatch.CLOSE_MATCH, "Anna M. Muster"),), "Bitte prüfen.")
    turn, bank = resumed(turn, Reply(payee_confirmed=True))
    assert isinstance(turn.step, EnterTan)
    assert not bank.received, "the order lies at the bank and is not sent again"
    end, bank = resumed(turn, Reply(tan="1"), DONE, NO_MORE)
    assert end.step == Done()
    assert bank.segment(0, "HKTAN").text(5) == "REF1"


@pytest.mark.parametrize(
    ("answer", "payee"),
    [
        (verified("RVNM"), Payee(PayeeMatch.NO_MATCH)),
        (verified("RVNA"), Payee(PayeeMatch.NOT_POSSIBLE)),
        (verified("RVMC"), Payee(PayeeMatch.NO_MATCH)),
        (verified("XXXX"), Payee(PayeeMatch.NOT_POSSIBLE)),
        (verified(), Payee(PayeeMatch.NOT_POSSIBLE)),
    ],
)
def test_what_is_no_match_is_asked_about(checking: bytes, answer: str, payee: Payee) -> None:
    turn, _ = paid(checking, answer)
    assert turn.step == ConfirmPayee((payee,), "Bitte prüfen.")
    turn, bank = resumed(turn, Reply(payee_confirmed=True), OK + CHALLENGE)
    assert isinstance(turn.step, EnterTan)
    assert bank.orders() == [["HKVPA", "HKCCS", "HKTAN"]]
    assert bank.segment(0, "HKVPA").binary(1) == b"ID1"


def test_the_order_is_the_same_when_it_is_confirmed(checking: bytes) -> None:
    turn, first = paid(checking, verified("RVNM"))
    bank = scripted(OK + CHALLENGE)
    later = replace(request(turn.memory or b""), now=NOW + timedelta(minutes=7))
    bank.connector().resume(later, turn.state, Reply(payee_confirmed=True))
    assert first.segment(2, "HKCCS").binary(3) == bank.segment(0, "HKCCS").binary(3)


def test_a_lost_answer_to_a_confirmed_order_is_unknown_and_one_to_a_question_about_payees_is_not(checking: bytes) -> None:
    turn, _ = paid(checking, verified("RVNM"))
    bank = scripted(LOST)
    fault = raises(lambda: bank.connector().resume(request(), turn.state, Reply(payee_confirmed=True)))
    assert isinstance(fault, NoAnswer)
    pending = OK + "HIRMS:3:2:3+3093::läuft+3040::mehr:P1'HIRMS:5:2:4+3945::gehalten'HIVPP:7:1:3+++@2@PO+++++7'"
    turn, _ = paid(checking, pending)
    assert turn.step == Wait(7, "Ihre Bank prüft den Empfänger.", 1, approves=False)
    end, bank = resumed(turn, Reply(), LOST)
    assert end.step == Failed(Code.UNREACHABLE, "lost")
    assert bank.orders() == [["HKVPP"]]
    assert (bank.segment(0, "HKVPP").binary(2), bank.segment(0, "HKVPP").text(4)) == (b"PO", "P1")


def test_a_match_after_polling_is_sent_with_its_approval(checking: bytes) -> None:
    pending = OK + "HIRMS:3:2:3+3093::läuft+3040::mehr:P1'HIRMS:5:2:4+3945::gehalten'HIVPP:7:1:3+++@2@PO+++++1'"
    turn, _ = paid(checking, pending)
    turn, _ = resumed(turn, Reply(), OK + "HIRMS:3:2:3+3093::läuft+3040::mehr:P1'HIVPP:7:1:3+++@2@PO+++++1'")
    assert isinstance(turn.step, Wait)
    assert turn.step.max_polls == 2, "each question is asked once"
    match = OK + "HIRMS:3:2:3+0020::ok+0025::keine Abweichung'HIVPP:7:1:3+@3@ID2'"
    turn, bank = resumed(turn, Reply(), match, OK + CHALLENGE)
    assert isinstance(turn.step, EnterTan)
    assert bank.orders() == [["HKVPP"], ["HKVPA", "HKCCS", "HKTAN"]]


def report(*entries: tuple[str, str, str], group: str = "RVCM") -> bytes:
    """A report about payees: end-to-end id, code and name of each."""
    rows = "".join(
        f"<TxInfAndSts><OrgnlEndToEndId>{key}</OrgnlEndToEndId><TxSts>{code}</TxSts>"
        f"<StsRsnInf><AddtlInf>{name}</AddtlInf></StsRsnInf></TxInfAndSts>"
        for key, code, name in entries
    )
    body = f"<OrgnlGrpInfAndSts><GrpSts>{group}</GrpSts></OrgnlGrpInfAndSts><OrgnlPmtInfAndSts>{rows}</OrgnlPmtInfAndSts>"
    return f"<Document xmlns='urn:x'><CstmrPmtStsRpt>{body}</CstmrPmtStsRpt></Document>".encode()


def test_a_report_is_read_for_each_transfer(checking: bytes) -> None:
    bulk = replace(PAYMENT, transfers=tuple(replace(TRANSFER, end_to_end_id=key) for key in ("A", "B", "B")), bulk=True)
    document = report(("B", "RVMC", "Anna B."), ("B", "RVNM", ""))
    turn, bank = paid(checking, verified(report=document), payment=bulk)
    assert isinstance(turn.step, ConfirmPayee)
    assert turn.step.payees == (
        Payee(PayeeMatch.NOT_POSSIBLE),
        Payee(PayeeMatch.CLOSE_MATCH, "Anna B."),
        Payee(PayeeMatch.NO_MATCH),
    )
    order = bank.segment(2, "HKCCM")
    assert (order.element(2), order.text(4)[-10:]) == (("37,5", "EUR"), "001.001.03")


@pytest.mark.parametrize("document", [b"<Document", b"x", b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>"])
def test_an_unreadable_report_confirms_nothing(checking: bytes, document: bytes) -> None:
    bank = scripted(signed_in(CAN_PAY), SPA, verified(report=document))
    try:
        turn = bank.connector().start(PAYMENT, request(checking))
    except NoAnswer:
        return
    assert turn.step == ConfirmPayee((Payee(PayeeMatch.NOT_POSSIBLE),), "Bitte prüfen.")


# What is offered.


@pytest.mark.parametrize(
    ("payment", "code"),
    [
        (replace(PAYMENT, instant=True), Code.TRANSFER_REFUSED),
        (replace(PAYMENT, execute_on=NOW.date() + timedelta(days=1)), Code.TRANSFER_INVALID),
        (replace(PAYMENT, execute_on=NOW.date() + timedelta(days=31)), Code.TRANSFER_INVALID),
        (replace(PAYMENT, transfers=(TRANSFER,) * 4, bulk=True), Code.TRANSFER_INVALID),
    ],
)
def test_what_the_parameters_exclude_is_refused_without_asking(memory: bytes, payment: Payment, code: Code) -> None:
    bank = scripted()
    step = bank.connector().start(payment, request(memory)).step
    assert isinstance(step, Failed)
    assert (step.code, bool(step.details)) == (code, True)
    assert not bank.received


def test_a_bank_whose_formats_we_do_not_write_is_no_bank_to_pay_at() -> None:
    remembered = memory_of(parameters("sepade.pain.001.001.02.xsd"))
    bank = scripted()
    assert isinstance(bank.connector().start(PAYMENT, request(remembered)).step, Failed)
    assert not bank.received


@pytest.mark.parametrize(
    ("formats", "version"),
    [
        (f"{FORMAT_GERMAN}:{FORMAT_03}:{FORMAT_09}", "001.001.09"),
        (f"{FORMAT_GERMAN}:{FORMAT_03}", "001.001.03"),
        (f"sepade.pain.001.001.02.xsd:{FORMAT_GERMAN}", "001.003.03"),
    ],
)
def test_the_document_has_the_best_format_that_the_bank_reads(formats: str, version: str) -> None:
    _, bank = paid(memory_of(parameters(formats)), WAITS, payment=replace(PAYMENT, transfers=(FULL,)))
    order = bank.segment(2, "HKCCS")
    assert order.text(2) == f"urn:iso:std:iso:20022:tech:xsd:pain.{version}"
    root = etree.fromstring(order.binary(3))
    assert etree.QName(root).namespace == order.text(2)
    assert root.findtext(".//{*}MsgId") == REFERENCE.hex
    is_new = version == "001.001.09"
    assert root.findtext(".//{*}ReqdExctnDt/{*}Dt" if is_new else ".//{*}ReqdExctnDt") == "1999-01-01"
    assert root.findtext(f".//{{*}}CdtrAgt/{{*}}FinInstnId/{{*}}{'BICFI' if is_new else 'BIC'}") == "COBADEFFXXX"
    (entry,) = root.iterfind(".//{*}CdtTrfTxInf")
    names = [etree.QName(child).localname for child in entry]
    assert names == ["PmtId", "Amt", "UltmtDbtr", "CdtrAgt", "Cdtr", "CdtrAcct", "UltmtCdtr", "Purp", "RmtInf"]


FULL = Transfer(
    "Müller & Söhne <GmbH>",
    RECIPIENT,
    100_000_001,
    "Rechnung",
    bic="COBADEFFXXX",
    end_to_end_id="E-1",
    purpose_code="SALA",
    ultimate_debtor="Erika",
    ultimate_creditor="Moritz",
)


def test_amounts_and_names_are_written_for_every_bank() -> None:
    account = FintsAccount("1", "", "12030000", IBAN, owner_name="Jörg Ångström & Töchter")
    document = pain.write_pain001(replace(PAYMENT, transfers=(FULL,), instant=True), account, FORMAT_09, NOW, is_scheduled=False)
    root = etree.fromstring(document)
    assert root.findtext(".//{*}InstdAmt") == root.findtext(".//{*}CtrlSum") == "1000000.01"
    assert root.findtext(".//{*}Dbtr/{*}Nm") == "Joerg Angstroem + Toechter"
    assert root.findtext(".//{*}DbtrAgt/{*}FinInstnId/{*}Othr/{*}Id") == "NOTPROVIDED"
    assert root.findtext(".//{*}LclInstrm/{*}Cd") == "INST"
    assert root.findtext(".//{*}Cdtr/{*}Nm") == FULL.recipient


# Outcomes.


@pytest.fixture(scope="module")
def protocol() -> bytes:
    """What is remembered of an order that waits for its TAN at a bank with a protocol."""
    turn, _ = paid(memory_of(parameters(protocol=True)), WAITS)
    return turn.memory or b""


def entry(feedback: str, dialogue: str = "DIALOG1", number: int = 3) -> str:
    return f"HIPRO:4:3:3+{dialogue}:{number}+3+20261116+113000+{feedback}'"


@pytest.mark.parametrize(
    ("entries", "end"),
    [
        (entry("0020::Ausgeführt"), Done()),
        (entry("0030::TAN erforderlich") + entry("0020::Ausgeführt", number=4), Done()),
        (entry(f"0020::Auftrag {REFERENCE} ausgeführt", "OTHER"), Done()),
        (entry("0020::Ausgeführt", "OTHER"), None),
        (entry("0020::Ausgeführt", number=2), None),
        (entry("0020::Ausgeführt", number=5), None),
        (entry("0030::TAN erforderlich"), None),
        (entry("0010::Entgegengenommen"), None),
        (entry("0020::ok+3945::gehalten"), None),
        (entry("9210::Abgelehnt"), Failed(Code.TRANSFER_REFUSED)),
        (entry("0030::TAN") + entry("9941::TAN falsch", number=4), Failed(Code.TRANSFER_REFUSED)),
        (entry("9210::Abgelehnt", "OTHER"), None),
        ("", None),
    ],
)
def test_the_protocol_says_what_became_of_the_very_order(protocol: bytes, entries: str, end: Done | Failed | None) -> None:
    nothing = OK + "HIRMS:3:2:3+3010::keine Umsätze'"
    further = () if end else (nothing,)
    bank = scripted(signed_in(CAN_PAY), SPA, DONE + entries, *further, NO_MORE)
    assert bank.connector().outcome(request(protocol), REFERENCE) == end
    assert not bank.script
    assert not any("HKCCS" in names for names in bank.orders())


@pytest.mark.parametrize(
    ("reference", "pending", "end"),
    [(REFERENCE.hex, False, Done()), (REFERENCE.hex, True, None), ("E2E-4711", False, None)],
)
def test_a_booking_with_our_reference_is_the_order(memory: bytes, reference: str, pending: bool, end: Done | None) -> None:
    line = MT940.replace("?20SVWZ+Miete", f"?20EREF+{reference[:22]}?21{reference[22:]}?22SVWZ+Miete")
    answer = bookings("", line) if pending else bookings(line)
    bank = scripted(signed_in(CAN_PAY), SPA, answer, NO_MORE)
    assert bank.connector().outcome(request(memory), REFERENCE) == end


def test_an_outcome_for_which_the_bank_wants_the_customer_stays_unknown(memory: bytes) -> None:
    bank = scripted(asked(), NO_MORE)
    assert bank.connector().outcome(request(memory), REFERENCE) is None
    assert bank.orders()[-1] == ["HKEND"]
    bank = scripted()
    assert bank.connector().outcome(request(), REFERENCE) is None
    assert not bank.received
