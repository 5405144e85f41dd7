"""Reads the transfers of a payment order (pain.001)."""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from lxml import etree
from schwifty import IBAN

from pipelines.banks.fints.syntax import Segment
from pipelines.banks.fints_bank.parameters import MAX_LEAD_DAYS, MAX_TRANSFERS, TRANSFER_FORMATS

AMOUNT = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,2})?")
AT_ONCE = date(1999, 1, 1)
"""The day that stands for no day in SEPA orders."""


class Unacceptable(ValueError):
    """An order that the bank refuses; says why in German."""


@dataclass(frozen=True)
class BankTransfer:
    """One transfer of an order."""

    recipient: str
    iban: str
    amount_cents: int
    purpose: str
    end_to_end_id: str


@dataclass(frozen=True)
class PaymentOrder:
    """An order to pay, as it stands in its document."""

    message_id: str
    debtor_iban: str
    execute_on: date | None
    transfers: tuple[BankTransfer, ...]


def read_payment(order: Segment, today: date) -> PaymentOrder:
    """The payment of HKCCS, HKCSE, HKIPZ or HKCCM; raises `Unacceptable`."""
    descriptor, document = (4, 5) if order.name == "HKCCM" else (2, 3)
    if order.text(descriptor) not in TRANSFER_FORMATS:
        raise Unacceptable("Das SEPA-Format wird nicht unterstützt.")
    payment = _read(order.binary(document), order.text(descriptor))
    _check(order.name, payment, today)
    return payment


def _read(document: bytes, space: str) -> PaymentOrder:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(document, parser)
    except etree.XMLSyntaxError as error:
        raise Unacceptable("Das gesendete SEPA-Dokument ist nicht valide.") from error
    if root.tag != f"{{{space}}}Document":
        raise Unacceptable("Das gesendete SEPA-Dokument passt nicht zum SEPA-Format.")
    day = _text(root, "ReqdExctnDt/{*}Dt") or _text(root, "ReqdExctnDt")
    transfers = tuple(_transfer(element) for element in root.iterfind(".//{*}CdtTrfTxInf"))
    try:
        requested_day = date.fromisoformat(day)
    except ValueError as error:
        raise Unacceptable("Das gesendete SEPA-Dokument ist nicht valide.") from error
    if _cents(_text(root, "CtrlSum")) != sum(transfer.amount_cents for transfer in transfers) or _text(root, "NbOfTxs") != str(
        len(transfers)
    ):
        raise Unacceptable("Anzahl oder Summe der Überweisungen ist falsch.")
    execute_on = None if requested_day == AT_ONCE else requested_day
    return PaymentOrder(_text(root, "MsgId"), _text(root, "DbtrAcct/{*}Id/{*}IBAN"), execute_on, transfers)


def _transfer(element: Any) -> BankTransfer:
    amount = element.find(".//{*}InstdAmt")
    if amount is None or amount.get("Ccy") != "EUR":
        raise Unacceptable("Die Währung ist nicht zulässig.")
    return BankTransfer(
        _text(element, "Cdtr/{*}Nm"),
        _text(element, "CdtrAcct/{*}Id/{*}IBAN"),
        _cents(amount.text or ""),
        "".join(part.text or "" for part in element.iterfind(".//{*}Ustrd")),
        _text(element, "EndToEndId"),
    )


def _check(name: str, payment: PaymentOrder, today: date) -> None:
    """Raises for what the bank does not execute."""
    if not payment.transfers or len(payment.transfers) > (MAX_TRANSFERS if name == "HKCCM" else 1):
        raise Unacceptable("Die Anzahl der Überweisungen ist nicht zulässig.")
    for transfer in payment.transfers:
        if transfer.amount_cents <= 0 or not transfer.recipient:
            raise Unacceptable("Betrag oder Empfänger ist nicht zulässig.")
        if not IBAN(transfer.iban, allow_invalid=True).is_valid:
            raise Unacceptable("Die IBAN des Empfängers ist falsch.")
    lead_days = (payment.execute_on - today).days if payment.execute_on else 0
    if name == "HKCSE" and not 0 < lead_days <= MAX_LEAD_DAYS:
        raise Unacceptable("Der Ausführungstermin ist nicht zulässig.")
    if name != "HKCSE" and lead_days > 0:
        raise Unacceptable("Ein Ausführungstermin ist hier nicht zulässig.")


def _text(element: Any, path: str) -> str:
    content = element.findtext(f".//{{*}}{path}")
    return (content or "").strip()


def _cents(text: str) -> int:
    if not AMOUNT.fullmatch(text.strip()):
        raise Unacceptable("Ein Betrag ist nicht zulässig.")
    return int(Decimal(text.strip()) * 100)
