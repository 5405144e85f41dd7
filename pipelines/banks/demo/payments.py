"""What the demo bank does with orders to pay: the rules that it checks, and what it has executed or refused for ever.

Every reference has one fate, which is remembered: an order that was executed or waits for money, or None if it was refused.
"""

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from schwifty import IBAN

from analytics.products import ProductCategory
from pipelines.banks.base import Code, Done, Failed, FetchedProduct, Payment
from pipelines.banks.demo.memory import open_memory, read_memory

TO_REFERENCE_ACCOUNT_ONLY = frozenset({ProductCategory.CALL_MONEY, ProductCategory.SAVINGS})
EURO_AREA = frozenset("AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK".split())  # noqa: SIM905 - one line is enough
"""Where every bank offers instant payments."""
NO_FUNDS = Failed(Code.TRANSFER_REFUSED, "Keine Deckung: Der Betrag ist höher als der verfügbare.")
DUPLICATE = Failed(Code.TRANSFER_REFUSED, "Der Auftrag ist ein Duplikat: Ein Auftrag mit dieser Referenz liegt bereits vor.")

_PAYMENT = TypeAdapter(Payment)


def refusal(payment: Payment, products: Sequence[FetchedProduct], today: date) -> Failed | None:
    """Why the bank does not take an order, if it does not."""
    product = _payer(payment, products)
    if product is None or not product.transfer_support:
        return Failed(Code.TRANSFER_REFUSED, "Von diesem Konto sind keine Überweisungen möglich.")
    if payment.bulk and not product.bulk_transfer_support:
        return Failed(Code.TRANSFER_REFUSED, "Von diesem Konto sind keine Sammelüberweisungen möglich.")
    wrong = _mistake(payment, today) or _limit(payment, product, products)
    if wrong:
        return Failed(Code.TRANSFER_INVALID, wrong)
    return NO_FUNDS if payment.refuse_without_funds and _lacks_funds(payment, products) else None


def execute(folder: Path, user_id: str, payment: Payment, products: Sequence[FetchedProduct], now: datetime) -> Done | Failed:
    """Executes an order that was confirmed, or lets it wait for money; the same order again changes nothing."""
    waiting = _lacks_funds(payment, products)
    if waiting and payment.refuse_without_funds:
        return NO_FUNDS
    order = _PAYMENT.dump_python(payment, mode="json")
    with open_memory(_memory(folder), user_id) as fates:
        fate = fates.setdefault(str(payment.reference), {**order, "at": now.isoformat(), "waiting": waiting})
    return Done() if fate and fate | order == fate else DUPLICATE


def refuse(folder: Path, user_id: str, reference: UUID) -> None:
    """Remembers that an order will never be executed, unless it was."""
    with open_memory(_memory(folder), user_id) as fates:
        fates.setdefault(str(reference), None)


def outcome(folder: Path, user_id: str, reference: UUID) -> Done | Failed | None:
    """What became of an order; None if nothing did."""
    fates = read_memory(_memory(folder), user_id)
    if str(reference) not in fates:
        return None
    return Done() if fates[str(reference)] else Failed(Code.TRANSFER_REFUSED)


def executed_orders(folder: Path, user_id: str) -> list[dict[str, Any]]:
    """All orders of a user id that were executed or wait for money, the oldest first."""
    return [fate for fate in read_memory(_memory(folder), user_id).values() if fate]


def _memory(folder: Path) -> Path:
    return folder / "payments"


def _payer(payment: Payment, products: Sequence[FetchedProduct]) -> FetchedProduct | None:
    return next((product for product in products if product.key == payment.product), None)


def _mistake(payment: Payment, today: date) -> str | None:
    """What makes no sense in an order, from whichever account."""
    if not payment.transfers or (len(payment.transfers) > 1 and not payment.bulk):
        return "Die Zahl der Überweisungen passt nicht zum Auftrag."
    if any(transfer.amount_cents <= 0 for transfer in payment.transfers):
        return "Der Betrag muss größer als null sein."
    ibans = [IBAN(transfer.iban, allow_invalid=True) for transfer in payment.transfers]
    if not all(iban.is_valid and iban.in_sepa_zone for iban in ibans):
        return "Die IBAN des Empfängers ist falsch oder liegt außerhalb des SEPA-Raums."
    if payment.execute_on and payment.execute_on < today:
        return "Der Tag der Ausführung liegt in der Vergangenheit."
    return None


def _limit(payment: Payment, product: FetchedProduct, products: Sequence[FetchedProduct]) -> str | None:
    """What the account, or a recipient's bank, does not offer."""
    recipients = {transfer.iban for transfer in payment.transfers}
    limited = product.category in TO_REFERENCE_ACCOUNT_ONLY
    if limited and not recipients <= {entry.iban for entry in products if entry.category is ProductCategory.CHECKING}:
        return "Von diesem Konto sind nur Überweisungen auf das Referenzkonto möglich."
    if payment.instant and limited:
        return "Von diesem Konto sind keine Echtzeitüberweisungen möglich."
    if payment.instant and not all(iban[:2] in EURO_AREA for iban in recipients):
        return "Die Bank des Empfängers nimmt keine Echtzeitüberweisungen an."
    return None


def _lacks_funds(payment: Payment, products: Sequence[FetchedProduct]) -> bool:
    product = _payer(payment, products)
    available = (product.balance_cents or 0) + (product.overdraft_limit_cents or 0) if product else 0
    return sum(transfer.amount_cents for transfer in payment.transfers) > available
