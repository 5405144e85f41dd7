"""Requests of dialogues with a bank: a consent, a payment, the verification of a payee, or a list of accounts.

A request enqueues a move (`begin_…`, `reply`) and waits; the worker runs it (`pipelines/dialogues/worker.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from pipelines.banks.base import Payment, Reply
from pipelines.dialogues import payments, steps
from warehouse.errors import Busy, NameTaken, NoBank, OutOfTurn, PaymentDiffers, PaymentRepeated
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Dialogue
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import dialogues, providers
from warehouse.stores.dialogues import CONNECT, CONSENT, LOGIN, OPEN, ORDER, PAYEE, PAYMENT

EQUAL_ORDER_SECONDS = 60


@dataclass(frozen=True)
class DialogueOptions:
    """Options of a dialogue: the customer's IP address, where the bank's own pages lead back to, and method and medium chosen
    before.
    """

    attended_from: str | None
    return_to: str | None = None
    method: str | None = None
    medium: str | None = None
    fixed: bool = False
    """Whether method and medium can no longer be chosen."""


@dataclass(frozen=True)
class BankLogin:
    """The login of a dialogue: that of an access, or one that was entered for this dialogue alone."""

    provider_id: UUID
    login_hash: bytes = field(repr=False)
    access: Access | None = None
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    entered_at: datetime | None = None
    """When credentials were entered that are used by several dialogues; None for just now."""


def begin_consent(owner: Owner, vault: Vault, settings: Settings, access: Access, options: DialogueOptions) -> Dialogue:
    """Begins a consent for an access, with its stored login."""
    return begin_consent_with(owner, vault, settings, BankLogin(access.provider_id, access.login_hash, access), options)


def begin_consent_with(owner: Owner, vault: Vault, settings: Settings, login: BankLogin, options: DialogueOptions) -> Dialogue:
    """Begins a consent with a login that the access takes over once the bank has accepted it."""
    dialogue = dialogues.add(owner, CONSENT, seconds=settings.dialogue_seconds, **_columns(login, options))
    _seal_login(owner, vault, dialogue, login)
    dialogues.ask(owner, vault, dialogue, dump_reply(Reply()))
    return dialogue


def begin_look(owner: Owner, vault: Vault, settings: Settings, login: BankLogin, options: DialogueOptions) -> Dialogue:
    """Begins a dialogue that lists the accounts of a login before anything is connected. If the bank requires a confirmation
    first, the customer gives a consent.
    """
    dialogue = dialogues.add(owner, CONNECT, seconds=settings.dialogue_seconds, **_columns(login, options))
    _seal_login(owner, vault, dialogue, login)
    dialogues.ask(owner, vault, dialogue, dump_reply(Reply()))
    return dialogue


def begin_payment(
    owner: Owner, vault: Vault, settings: Settings, login: BankLogin, order: Payment, options: DialogueOptions
) -> Dialogue:
    """Begins a payment. The order is stored before any bank is asked."""
    dialogue = dialogues.add(
        owner,
        PAYMENT,
        seconds=settings.dialogue_seconds,
        **_columns(login, options),
        product=order.product,
        payment_id=order.reference,
        digest=payments.digest(order),
        likeness=payments.digest_without_reference(order),
    )
    sealed_values.put(owner, vault, dialogues.order_subject(dialogue.id), ORDER, payments.to_json(order))
    _seal_login(owner, vault, dialogue, login)
    dialogues.ask(owner, vault, dialogue, dump_reply(Reply()))
    return dialogue


def begin_payment_once(
    owner: Owner,
    vault: Vault,
    settings: Settings,
    login: BankLogin,
    order: Payment,
    options: DialogueOptions,
    *,
    has_payment_id: bool,
) -> Dialogue:
    """Begins a payment unless it exists already. With a payment id of the caller, the existing dialogue of the same order and
    login is returned; without one, an equal order within `EQUAL_ORDER_SECONDS` is refused as a mistake.
    """
    earlier_dialogue = dialogues.of_payment(owner, order.reference) if has_payment_id else None
    if earlier_dialogue is not None:
        if earlier_dialogue.digest != payments.digest(order) or not _is_of_login(earlier_dialogue, login):
            raise PaymentDiffers
        return earlier_dialogue
    if not has_payment_id and dialogues.has_equal_order(owner, payments.digest_without_reference(order), EQUAL_ORDER_SECONDS):
        raise PaymentRepeated
    try:
        return begin_payment(owner, vault, settings, login, order, options)
    except NameTaken as error:  # begun by another request at the same moment; a retry finds it
        raise Busy from error


def begin_verification(
    owner: Owner, vault: Vault, settings: Settings, login: BankLogin, payment_id: UUID, name: str, iban: str
) -> Dialogue:
    """Begins the verification of a payee for a payment."""
    dialogue = dialogues.add(
        owner,
        PAYEE,
        seconds=settings.dialogue_seconds,
        **_columns(login, DialogueOptions(None)),
        digest=_question_digest(payment_id, name, iban),
    )
    question = json.dumps({"name": name, "iban": iban}).encode()
    sealed_values.put(owner, vault, dialogues.subject(dialogue.id), ORDER, question)
    dialogues.ask(owner, vault, dialogue, dump_reply(Reply()))
    return dialogue


def is_verification_of(owner: Owner, verification_id: UUID, order: Payment) -> bool:
    """Whether a verification was made for this payment: the same id, name and IBAN."""
    dialogue = dialogues.find(owner, verification_id, PAYEE)
    transfer = order.transfers[0]
    return dialogue.digest == _question_digest(order.reference, transfer.recipient, transfer.iban)


def reply(owner: Owner, vault: Vault, dialogue: Dialogue, move: Reply) -> int:
    """Enqueues a customer's reply to a dialogue that the caller has locked; returns the number of the move."""
    if dialogue.phase != OPEN or dialogues.is_over(owner, dialogue):
        raise OutOfTurn
    steps.check_reply(steps.load_step(dialogue.step), move)
    dialogue.method = move.method or dialogue.method
    dialogue.medium = move.medium or dialogue.medium
    dialogue.cancelled = dialogue.cancelled or move.payee_confirmed is False
    return dialogues.ask(owner, vault, dialogue, dump_reply(move))


def order_of(owner: Owner, vault: Vault, dialogue: Dialogue) -> Payment:
    """The payment of a dialogue."""
    return payments.from_json(sealed_values.get(owner, vault, dialogues.order_subject(dialogue.id), ORDER))


def dump_reply(move: Reply) -> bytes:
    """A reply as it is stored."""
    return json.dumps(asdict(move)).encode()


def _seal_login(owner: Owner, vault: Vault, dialogue: Dialogue, login: BankLogin) -> None:
    for name, value in login.credentials.items():
        sealed_values.put(owner, vault, dialogues.subject(dialogue.id), LOGIN + name, value.encode())


def _columns(login: BankLogin, options: DialogueOptions) -> dict[str, object]:
    """The columns of a dialogue about its login; raises `NoBank` if there is no bank to talk to."""
    if login.provider_id in providers.WITHOUT_BANK:
        raise NoBank
    return {
        "access_id": login.access.id if login.access else None,
        "provider_id": login.provider_id,
        "login_hash": login.login_hash,
        "login_entered_at": login.entered_at,
        "method": options.method,
        "medium": options.medium,
        "attended_from": options.attended_from,
        "return_to": options.return_to,
        "fixed": options.fixed,
    }


def _is_of_login(dialogue: Dialogue, login: BankLogin) -> bool:
    """Whether a dialogue has this login: the same access, or none, and the same user at the same bank. Another PIN is no other
    login.
    """
    access_id = login.access.id if login.access else None
    return (dialogue.access_id, dialogue.provider_id, dialogue.login_hash) == (access_id, login.provider_id, login.login_hash)


def _question_digest(payment_id: UUID, name: str, iban: str) -> bytes:
    return sha256("\0".join((str(payment_id), name, iban)).encode()).digest()
