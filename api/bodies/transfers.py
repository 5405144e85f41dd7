"""Transfers between the wire and the domain: orders from forms, and bodies from orders. Statuses are in `dialogues.py`."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from uuid import UUID

from api.schemas.base import Wire, amount, cents
from api.schemas.transfers import (
    BulkTransfer,
    LegacyTransfer,
    PayeeQuestion,
    ProductTransfer,
    ProviderTransfer,
    TransferDetails,
    TransferDetailsBody,
)
from pipelines.banks.base import Payment, Transfer
from pipelines.dialogues import payments
from warehouse.errors import OrderUnfit

Form = LegacyTransfer | ProductTransfer | ProviderTransfer | BulkTransfer
SHARED_FIELDS = (
    *("recipient", "iban", "bic", "currency", "purpose"),
    *("end_to_end_id", "purpose_code", "ultimate_debtor", "ultimate_creditor"),
)


def payment_of(form: Form, reference: UUID, product: str, *, today: date, refuse_without_funds: bool = False) -> Payment:
    """The order of a form, paid from the product of this key. Raises `OrderUnfit`, which names the field as the form does."""
    transfers = _transfers(form)
    with _field_names_of(form):
        return payments.payment(
            reference,
            product,
            transfers,
            today=today,
            bulk=isinstance(form, BulkTransfer),
            instant=not isinstance(form, LegacyTransfer) and form.instant,
            execute_on=form.execute_on,
            refuse_without_funds=refuse_without_funds,
        )


def payee_of(form: PayeeQuestion) -> tuple[str, str]:
    """Name and IBAN to be verified, as a transfer to them would give them to the bank."""
    with _field_names_of(form):
        return payments.sepa_text("recipient", form.recipient, payments.NAME_LENGTH), payments.checked_iban(form.iban)


def details_body(transfer: Transfer) -> TransferDetailsBody:
    """A transfer as responses show it: exactly what the bank receives."""
    values = {name: getattr(transfer, name) for name in SHARED_FIELDS if name != "currency"}
    return TransferDetailsBody(**values, currency=payments.CURRENCY, amount=amount(transfer.amount_cents))


def _transfers(form: Form) -> list[Transfer]:
    if isinstance(form, LegacyTransfer):
        return [_transfer(form)]
    if isinstance(form, BulkTransfer):
        return [_transfer(details, f"transfers[{place}].") for place, details in enumerate(form.transfers)]
    return [_transfer(form.details, "transferDetails.")]


def _transfer(form: LegacyTransfer | TransferDetails, place: str = "") -> Transfer:
    values = {name: getattr(form, name) for name in SHARED_FIELDS if name in type(form).model_fields}
    with _field_names_of(form, place):
        return payments.transfer(**values, amount_cents=cents(form.amount))


@contextmanager
def _field_names_of(form: Wire, place: str = "") -> Iterator[None]:
    """Makes an `OrderUnfit` name its field as the form does, and carry what the form says there."""
    try:
        yield
    except OrderUnfit as error:
        value = getattr(form, error.field)
        error.value = value if isinstance(value, str | Decimal | None) else str(value)
        error.field = f"{place}{type(form).model_fields[error.field].alias or error.field}"
        raise
