"""Orders that pay: verification of their payees, their execution after a confirmation, and the list of executed ones."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from pipelines.banks.base import PayeeMatch
from pipelines.banks.demo.memory import open_memory, read_memory
from pipelines.banks.fints.syntax import Segment, segment
from pipelines.banks.fints_bank import reading
from pipelines.banks.fints_bank.customers import BankProfile, OrderFault, PayeeCheck
from pipelines.banks.fints_bank.dialogue import BankExchange, PayeeCase, fingerprint, new_token
from pipelines.banks.fints_bank.parameters import REPORT_FORMAT
from pipelines.banks.fints_bank.transfers import PaymentOrder, Unacceptable, read_payment

MATCH = "RCVC"
MATCH_CODES = {
    PayeeMatch.MATCH: MATCH,
    PayeeMatch.CLOSE_MATCH: "RVMC",
    PayeeMatch.NO_MATCH: "RVNM",
    PayeeMatch.NOT_POSSIBLE: "RVNA",
}
CASE_DURATION = timedelta(days=30)
POLLS = 2
POLL_TOUCHDOWN = "VOP+1:"
NOTICE = "Stimmen Name und IBAN nicht überein, kann das Geld bei einem anderen Empfänger ankommen."


def executed_orders(folder: Path, user_id: str) -> list[dict[str, Any]]:
    """All payments of a user id that were executed, the oldest first."""
    entries: list[dict[str, Any]] = read_memory(folder, user_id).get("orders", [])
    return entries


def is_acceptable(exchange: BankExchange, order: Segment) -> bool:
    """Whether the bank takes an order; else it says why."""
    account = reading.account_for(exchange, order, order.number)
    if account is None:
        return False
    try:
        payment = _payment(exchange, order)
    except Unacceptable as refusal:
        exchange.answer.say(order.number, "9210", str(refusal))
        return False
    if payment.debtor_iban != account.product.iban:
        exchange.answer.say(order.number, "9210", "Das Konto des Auftraggebers stimmt nicht überein.")
        return False
    return True


def is_payee_verified(exchange: BankExchange, order: Segment) -> bool:
    """Whether the confirmation of a payment may begin: its payees match, or the customer has accepted the differences."""
    if exchange.customer.behaviour.profile is not BankProfile.STANDARD:
        return True
    approval, check = exchange.request.order("HKVPA"), exchange.request.order("HKVPP")
    if approval is not None:
        return _is_approved(exchange, order, approval)
    if check is None:
        exchange.answer.say(order.number, "9076", "Namensabgleich erforderlich.")
        return False
    case = _open_case(exchange, order)
    if case.polls_left:
        _postpone(exchange, check, case)
        _hold(exchange, order)
        return False
    _tell_result(exchange, check, case, is_first=True)
    if all(result["code"] == MATCH for result in case.results):
        return True
    _hold(exchange, order)
    return False


def poll_payees(exchange: BankExchange, check: Segment) -> None:
    """HKVPP on its own: whether the verification has come to an end."""
    cases = [case for case in exchange.dialogue.payee_cases.values() if case.polling_id == check.binary(2)]
    if not cases or check.text(4) != POLL_TOUCHDOWN:
        exchange.answer.say(check.number, "9210", "Keine Daten zur übermittelten Polling-ID vorhanden.")
        return
    cases[0].polls_left = max(cases[0].polls_left - 1, 0)
    if cases[0].polls_left:
        _postpone(exchange, check, cases[0])
    else:
        _tell_result(exchange, check, cases[0], is_first=False)


def execute(exchange: BankExchange, order: Segment, number: int, message_number: int) -> None:
    """Executes a payment that was confirmed, and writes it down with the message in which it came."""
    fault = exchange.customer.behaviour.order_fault
    if fault is OrderFault.REFUSED:
        exchange.answer.say(number, "9010", "Der Auftrag wurde abgelehnt.")
        return
    exchange.is_cut = fault in (OrderFault.CUT_BEFORE, OrderFault.CUT_AFTER)
    if fault is OrderFault.CUT_BEFORE:
        return
    payment = _payment(exchange, order)
    order_id = new_token(8)
    entry = _entry(exchange, order, payment) | {"order_id": order_id, "message_number": message_number}
    with open_memory(exchange.folder, exchange.customer.user_id) as memory:
        memory.setdefault("orders", []).append(entry)
    exchange.answer.say(number, "0020", "Der Auftrag wurde ausgeführt.")
    if order.name == "HKCSE":
        exchange.answer.add(number, segment("HICSE", order.version, order_id))


def _payment(exchange: BankExchange, order: Segment) -> PaymentOrder:
    from pipelines.banks.demo import answers

    return read_payment(order, answers.today(exchange.now))


def _entry(exchange: BankExchange, order: Segment, payment: PaymentOrder) -> dict[str, Any]:
    return {
        "kind": order.name,
        "message_id": payment.message_id,
        "debtor_iban": payment.debtor_iban,
        "execute_on": payment.execute_on and payment.execute_on.isoformat(),
        "transfers": [vars(transfer) for transfer in payment.transfers],
        "at": exchange.now.isoformat(),
        "dialogue": exchange.dialogue.id,
        "segment_number": order.number,
    }


def _is_approved(exchange: BankExchange, order: Segment, approval: Segment) -> bool:
    case = exchange.dialogue.payee_cases.get(approval.binary(1))
    if case is None or case.polls_left or case.digest != fingerprint(order):
        exchange.answer.say(approval.number, "9210", "Die VOP-ID passt nicht zum Auftrag.")
        return False
    exchange.answer.say(approval.number, "0020", "Ausführungsbestätigung nach Namensabgleich erhalten.")
    return True


def _open_case(exchange: BankExchange, order: Segment) -> PayeeCase:
    from pipelines.banks.demo import payees
    from pipelines.banks.demo.histories import Customer

    results = []
    for transfer in _payment(exchange, order).transfers:
        payee = payees.verify_payee(Customer(exchange.customer.user_id, ()), transfer.recipient, transfer.iban)
        code, name = MATCH_CODES[payee.match], payee.name or ""
        results.append({"iban": transfer.iban, "code": code, "name": name, "end_to_end_id": transfer.end_to_end_id})
    polls = POLLS if exchange.customer.behaviour.payee_check is PayeeCheck.POLLING else 0
    case = PayeeCase(fingerprint(order), tuple(results), new_token().encode(), new_token().encode(), polls)
    exchange.dialogue.payee_cases[case.vop_id] = case
    return case


def _postpone(exchange: BankExchange, check: Segment, case: PayeeCase) -> None:
    """Says that the verification still runs, and when to come back."""
    exchange.answer.say(check.number, "3093", "Namensabgleich ist noch in Bearbeitung.")
    exchange.answer.say(check.number, "3040", "Es liegen weitere Informationen vor.", POLL_TOUCHDOWN)
    exchange.answer.add(check.number, segment("HIVPP", 1, "", "", case.polling_id, "", "", "", "", "1"))


def _tell_result(exchange: BankExchange, check: Segment, case: PayeeCase, *, is_first: bool) -> None:
    """The result of a verification; one that matches at once needs no approval of its own."""
    if all(result["code"] == MATCH for result in case.results):
        exchange.answer.say(check.number, "0020", "Der Auftrag wurde ausgeführt.")
        exchange.answer.say(check.number, "0025", "Keine Namensabweichung.")
        if is_first:
            exchange.answer.say(check.number, "3091", "VOP-Ausführungsauftrag nicht benötigt.")
    else:
        exchange.answer.say(check.number, "3090", "Ergebnis des Namensabgleichs prüfen.")
    until = exchange.now + CASE_DURATION
    validity = (f"{until:%Y%m%d}", f"{until:%H%M%S}")
    if len(case.results) > 1 or exchange.customer.behaviour.payee_check is PayeeCheck.REPORT:
        report = segment("HIVPP", 1, case.vop_id, validity, "", REPORT_FORMAT, _report(case), "", NOTICE)
    else:
        (result,) = case.results
        reason = "Prüfung nicht möglich" if result["code"] == "RVNA" else ""
        single = (result["iban"], "", result["name"], "", result["code"], reason)
        report = segment("HIVPP", 1, case.vop_id, validity, "", "", "", single, NOTICE)
    exchange.answer.add(check.number, report)


def _hold(exchange: BankExchange, order: Segment) -> None:
    """Says that nothing is executed before the payees are verified."""
    exchange.answer.say(order.number, "3945", "Freigabe kann nicht erteilt werden.")
    tan_order = exchange.request.order("HKTAN")
    if tan_order is not None:
        exchange.answer.say(tan_order.number, "3905", "Es wurde keine Challenge erzeugt.")


def _report(case: PayeeCase) -> bytes:
    """The results as a payment status report (pain.002)."""
    codes = {result["code"] for result in case.results}
    group = MATCH if codes == {MATCH} else codes.pop() if len(codes) == 1 else "RVCM"
    entries = "".join(
        f"<TxInfAndSts><OrgnlEndToEndId>{escape(result['end_to_end_id'])}</OrgnlEndToEndId><TxSts>{result['code']}</TxSts>"
        + (f"<StsRsnInf><AddtlInf>{escape(result['name'])}</AddtlInf></StsRsnInf>" if result["name"] else "")
        + f"<OrgnlTxRef><CdtrAcct><Id><IBAN>{result['iban']}</IBAN></Id></CdtrAcct></OrgnlTxRef></TxInfAndSts>"
        for result in case.results
    )
    status = f"<OrgnlNbOfTxs>{len(case.results)}</OrgnlNbOfTxs><GrpSts>{group}</GrpSts>"
    body = f"<OrgnlGrpInfAndSts>{status}</OrgnlGrpInfAndSts><OrgnlPmtInfAndSts>{entries}</OrgnlPmtInfAndSts>"
    document = f'<Document xmlns="{REPORT_FORMAT}"><CstmrPmtStsRpt>{body}</CstmrPmtStsRpt></Document>'
    return f'<?xml version="1.0" encoding="UTF-8"?>{document}'.encode()
