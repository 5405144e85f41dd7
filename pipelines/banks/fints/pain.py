"""Orders to pay as pain.001, and reports about payees as pain.002: the documents of ISO 20022 that travel inside of segments."""

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lxml import etree

from pipelines.banks.base import Payee, PayeeMatch, Payment, Transfer, Unusable
from pipelines.banks.fints.parameters import TRANSFER_FORMAT, FintsAccount

SPACE = "urn:iso:std:iso:20022:tech:xsd:pain."
NEWEST_VERSION = "001.001.09"
AT_ONCE = "1999-01-01"
"""The day that stands for no day in SEPA orders."""
NOT_PROVIDED = "NOTPROVIDED"
NAME_LENGTH = 70
BULK_REFERENCE_LENGTH = 28
MATCHES = {
    "RCVC": PayeeMatch.MATCH,
    "RVMC": PayeeMatch.CLOSE_MATCH,
    "RVNM": PayeeMatch.NO_MATCH,
    "RVNA": PayeeMatch.NOT_POSSIBLE,
}
"""What banks say of payees; anything else is no answer."""
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "&": "+"})


@dataclass(frozen=True)
class PayeeReport:
    """What a report says of one payee."""

    end_to_end_id: str
    iban: str
    payee: Payee


def end_to_end_ids(payment: Payment) -> list[str]:
    """The end-to-end ids of all transfers: the customer's, or ours, by which a booking is found again."""
    reference = payment.reference.hex
    if len(payment.transfers) == 1:
        return [payment.transfers[0].end_to_end_id or reference]
    short = reference[:BULK_REFERENCE_LENGTH]
    return [transfer.end_to_end_id or f"{short}{number:04}" for number, transfer in enumerate(payment.transfers, 1)]


def write_pain001(
    payment: Payment, account: FintsAccount, format_name: str, created_at: datetime, *, is_scheduled: bool
) -> bytes:
    """The order as a document in a format of the bank. The same arguments give the same bytes: an order that is confirmed must be
    the one that was checked.
    """
    match = TRANSFER_FORMAT.search(format_name)
    if match is None:
        raise Unusable
    version = match[1]
    root = etree.Element(f"{{{SPACE}{version}}}Document", nsmap={None: SPACE + version})
    initiation = _child(root, "CstmrCdtTrfInitn")
    owner_name = plain_name(account.owner_name)
    reference, count = payment.reference.hex, str(len(payment.transfers))
    total = _amount(sum(transfer.amount_cents for transfer in payment.transfers))
    header = _child(initiation, "GrpHdr")
    for name, text in (("MsgId", reference), ("CreDtTm", f"{created_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")):
        _put(header, name, text)
    _put(header, "NbOfTxs", count)
    _put(header, "CtrlSum", total)
    _put(header, "InitgPty/Nm", owner_name)
    group = _child(initiation, "PmtInf")
    _put(group, "PmtInfId", reference)
    _put(group, "PmtMtd", "TRF")
    if payment.bulk:
        _put(group, "BtchBookg", "true")
    _put(group, "NbOfTxs", count)
    _put(group, "CtrlSum", total)
    kind = _child(group, "PmtTpInf")
    _put(kind, "SvcLvl/Cd", "SEPA")
    if payment.instant:
        _put(kind, "LclInstrm/Cd", "INST")
    day = payment.execute_on.isoformat() if is_scheduled and payment.execute_on else AT_ONCE
    _put(group, "ReqdExctnDt/Dt" if version == NEWEST_VERSION else "ReqdExctnDt", day)
    _put(group, "Dbtr/Nm", owner_name)
    _put(group, "DbtrAcct/Id/IBAN", account.iban)
    _put(group, *_agent("DbtrAgt", account.bic, version))
    _put(group, "ChrgBr", "SLEV")
    for transfer, end_to_end_id in zip(payment.transfers, end_to_end_ids(payment), strict=True):
        _add_transfer(group, transfer, end_to_end_id, version)
    document: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return document


def plain_name(name: str) -> str:
    """A name of our side in letters that every bank reads."""
    decomposed = unicodedata.normalize("NFKD", name.translate(UMLAUTS)).encode("ascii", "ignore").decode()
    plain = "".join(letter if letter.isalnum() or letter in "/-?:().,'+ " else " " for letter in decomposed)
    return " ".join(plain.split())[:NAME_LENGTH].strip() or "Kontoinhaber"


def read_pain002(document: bytes) -> tuple[Payee | None, list[PayeeReport]]:
    """What a report says of all payees together, unless they differ, and of each. Raises `Unusable`."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(document, parser)
    except etree.XMLSyntaxError as error:
        raise Unusable from error
    match = MATCHES.get(_text(root, ".//{*}OrgnlGrpInfAndSts/{*}GrpSts"))
    of_all = None if match in (None, PayeeMatch.CLOSE_MATCH) else Payee(match)
    return of_all, [_report(element) for element in root.iterfind(".//{*}TxInfAndSts")]


def payee_of(code: str, name: str) -> Payee:
    """A payee by the code of its bank; a close match must say whom it matches."""
    match = MATCHES.get(code, PayeeMatch.NOT_POSSIBLE)
    right_name = " ".join(name.split())[: NAME_LENGTH * 2]
    if match is not PayeeMatch.CLOSE_MATCH:
        return Payee(match)
    return Payee(match, right_name) if right_name else Payee(PayeeMatch.NO_MATCH)


def payees_of_report(payment: Payment, document: bytes) -> tuple[Payee, ...]:
    """What a report says of each transfer. One that is not mentioned has what is said of all, or could not be verified."""
    of_all, reports = read_pain002(document)
    missing = of_all or Payee(PayeeMatch.NOT_POSSIBLE)
    ibans = [transfer.iban for transfer in payment.transfers]
    return tuple(_take(reports, key, iban, missing) for key, iban in zip(end_to_end_ids(payment), ibans, strict=True))


def _take(reports: list[PayeeReport], end_to_end_id: str, iban: str, missing: Payee) -> Payee:
    """What the first unused report about a transfer says; a customer may use an end-to-end id several times."""
    for place, report in enumerate(reports):
        if report.end_to_end_id == end_to_end_id and report.iban in ("", iban):
            return reports.pop(place).payee
    return missing


def _report(element: Any) -> PayeeReport:
    name = "".join(part.text or "" for part in element.iterfind(".//{*}StsRsnInf/{*}AddtlInf"))
    iban = _text(element, ".//{*}CdtrAcct/{*}Id/{*}IBAN")
    return PayeeReport(_text(element, "{*}OrgnlEndToEndId"), iban, payee_of(_text(element, "{*}TxSts"), name))


def _add_transfer(group: Any, transfer: Transfer, end_to_end_id: str, version: str) -> None:
    entry = _child(group, "CdtTrfTxInf")
    _put(entry, "PmtId/EndToEndId", end_to_end_id)
    amount = _put(entry, "Amt/InstdAmt", _amount(transfer.amount_cents))
    amount.set("Ccy", "EUR")
    if transfer.ultimate_debtor:
        _put(entry, "UltmtDbtr/Nm", transfer.ultimate_debtor)
    if transfer.bic:
        _put(entry, *_agent("CdtrAgt", transfer.bic, version))
    _put(entry, "Cdtr/Nm", transfer.recipient)
    _put(entry, "CdtrAcct/Id/IBAN", transfer.iban)
    if transfer.ultimate_creditor:
        _put(entry, "UltmtCdtr/Nm", transfer.ultimate_creditor)
    if transfer.purpose_code:
        _put(entry, "Purp/Cd", transfer.purpose_code)
    if transfer.purpose:
        _put(entry, "RmtInf/Ustrd", transfer.purpose)


def _agent(name: str, bic: str, version: str) -> tuple[str, str]:
    """The path and the value of a bank: its BIC, or that there is none."""
    if not bic:
        return f"{name}/FinInstnId/Othr/Id", NOT_PROVIDED
    return f"{name}/FinInstnId/{'BICFI' if version == NEWEST_VERSION else 'BIC'}", bic


def _put(parent: Any, path: str, text: str) -> Any:
    """Adds elements one inside of the other, the last with a text, and returns it."""
    for name in path.split("/"):
        parent = _child(parent, name)
    parent.text = text
    return parent


def _child(parent: Any, name: str) -> Any:
    """A new element within another one, in the same namespace."""
    return etree.SubElement(parent, etree.QName(etree.QName(parent).namespace, name))


def _amount(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _text(element: Any, path: str) -> str:
    return (element.findtext(path) or "").strip()
