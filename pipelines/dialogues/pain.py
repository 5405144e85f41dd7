"""A payment order as the message that German banks take: pain.001.001.09, checked against its schema.

`sepaxml` writes the frame, the amounts and the accounts. It has no purpose codes, ultimate parties, instant payments, identifiers
of our own or a given time: these are put into its text afterwards.
"""

from datetime import UTC, date, datetime
from typing import Any
from xml.etree import ElementTree  # nosec B405  # reads only what sepaxml has just written

from sepaxml import SepaTransfer
from sepaxml.validation import ValidationError, try_valid_xml

from pipelines.banks.base import Payment, Transfer
from pipelines.dialogues.payments import CURRENCY, NAME_LENGTH, sepa_text

SCHEMA = "pain.001.001.09"
SPACE = f"urn:iso:std:iso:20022:tech:xsd:{SCHEMA}"
NAMES = {"": SPACE}
NOT_PROVIDED = "NOTPROVIDED"
AT_ONCE = date(1999, 1, 1)
"""How an order through FinTS says that it has no day; other ways to a bank give the day on which they send it."""


def pain_001(order: Payment, *, name: str, iban: str, bic: str | None, now: datetime, at_once: date = AT_ONCE) -> bytes:
    """The message for an order from the account of this name, IBAN and BIC. The same arguments give the same bytes."""
    debtor = {"name": sepa_text("name", name, NAME_LENGTH), "IBAN": iban, **({"BIC": bic} if bic else {})}
    frame = SepaTransfer({**debtor, "currency": CURRENCY, "batch": True}, schema=SCHEMA, clean=False)
    for transfer in order.transfers:
        frame.add_payment(_entry(transfer, order.execute_on or at_once))
    document = ElementTree.fromstring(frame.export(validate=False))  # noqa: S314  # nosec B314  # the text is our own
    _complete_header(document, order, now)
    if bic is None:
        _add(_found(document, ".//DbtrAgt/FinInstnId"), "Othr/Id", NOT_PROVIDED)
    for node, transfer in zip(document.iterfind(".//CdtTrfTxInf", NAMES), order.transfers, strict=True):
        _complete_transfer(node, transfer)
    text: bytes = ElementTree.tostring(document, "utf-8", xml_declaration=True)
    try:
        try_valid_xml(text, SCHEMA)
    except ValidationError:
        raise ValueError("the message does not fit its schema") from None  # the cause repeats names and accounts
    return text


def _entry(transfer: Transfer, day: date) -> dict[str, Any]:
    """A transfer in the words of `sepaxml`."""
    return {
        "name": transfer.recipient,
        "IBAN": transfer.iban,
        **({"BIC": transfer.bic} if transfer.bic else {}),
        "amount": transfer.amount_cents,
        "description": transfer.purpose,
        "execution_date": day,
        "endtoend_id": transfer.end_to_end_id or NOT_PROVIDED,
    }


def _complete_header(document: ElementTree.Element, order: Payment, now: datetime) -> None:
    """Names the message by the order's reference, which without hyphens fits into the 35 characters."""
    _found(document, ".//MsgId").text = order.reference.hex
    _found(document, ".//PmtInfId").text = order.reference.hex
    _found(document, ".//CreDtTm").text = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    _found(document, ".//BtchBookg").text = "true" if order.bulk else "false"
    if order.instant:
        _add(_found(document, ".//PmtTpInf"), "LclInstrm/Cd", "INST")


def _complete_transfer(node: ElementTree.Element, transfer: Transfer) -> None:
    """Adds what `sepaxml` has no words for, at the places that the schema asks for."""
    if transfer.ultimate_debtor:
        _add(node, "UltmtDbtr/Nm", transfer.ultimate_debtor, after="Amt")
    if transfer.purpose_code:
        _add(node, "Purp/Cd", transfer.purpose_code, after="CdtrAcct")
    if transfer.ultimate_creditor:
        _add(node, "UltmtCdtr/Nm", transfer.ultimate_creditor, after="CdtrAcct")


def _add(parent: ElementTree.Element, path: str, text: str, *, after: str | None = None) -> None:
    """Adds an element with one element in it, which holds a text: as the last one, or after another."""
    outer, inner = path.split("/")
    element = ElementTree.Element(f"{{{SPACE}}}{outer}")
    ElementTree.SubElement(element, f"{{{SPACE}}}{inner}").text = text
    place = len(parent) if after is None else list(parent).index(_found(parent, after)) + 1
    parent.insert(place, element)


def _found(parent: ElementTree.Element, path: str) -> ElementTree.Element:
    element = parent.find(path, NAMES)
    if element is None:
        raise LookupError(path)
    return element
