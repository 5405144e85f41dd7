"""Dialogues with a bank, from the side of who wants something: a consent, a payment, a word on a payee, a look at accounts.

A request puts a move down (`begin_…`, `reply`) and waits; the worker carries it out (`pipelines/dialogues/worker.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from uuid import UUID

from pipelines.banks.base import Payment, Reply
from pipelines.dialogues import payments, steps
from warehouse.errors import Busy, NameTaken, OutOfTurn, PaymentDiffers, PaymentRepeated
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Dialogue
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import dialogues
from warehouse.stores.dialogues import CONNECT, CONSENT, LOGIN, OPEN, ORDER, PAYEE, PAYMENT

ALIKE_SECONDS = 60


@dataclass(frozen=True)
class DialogueOptions:
    """How a dialogue is held: where the customer is, where a bank's own pages lead back to, and what was chosen before."""

    attended_from: str | None
    return_to: str | None = None
    method: str | None = None
    medium: str | None = None
    fixed: bool = False
    """Whether method and medium cannot be chosen any more."""


@dataclass(frozen=True)
class BankLogin:
    """With which login a bank is asked: that of an access, or one that was given for this dialogue alone."""

    provider_id: UUID
    login_hash: bytes = field(repr=False)
    access: Access | None = None
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)


def begin_consent(owner: Owner, vault: Vault, settings: Settings, access: Access, wanted: DialogueOptions) -> Dialogue:
    """Puts down the first move of a consent for an access."""
    return begin_consent_with(owner, vault, settings, BankLogin(access.provider_id, access.login_hash, access), wanted)


def begin_consent_with(owner: Owner, vault: Vault, settings: Settings, who: BankLogin, wanted: DialogueOptions) -> Dialogue:
    """The same with a login that the access takes over once the bank has let it in."""
    dialogue = dialogues.add(owner, CONSENT, seconds=settings.dialogue_seconds, **_columns(who, wanted))
    _seal_login(owner, vault, dialogue, who)
    dialogues.ask(owner, vault, dialogue, written(Reply()))
    return dialogue


def begin_look(owner: Owner, vault: Vault, settings: Settings, who: BankLogin, wanted: DialogueOptions) -> Dialogue:
    """Puts down the wish to see which accounts a login opens, before anything of it is kept. Where the bank wants a confirmation
    before it shows them, the customer gives a consent.
    """
    dialogue = dialogues.add(owner, CONNECT, seconds=settings.dialogue_seconds, **_columns(who, wanted))
    _seal_login(owner, vault, dialogue, who)
    dialogues.ask(owner, vault, dialogue, written(Reply()))
    return dialogue


def begin_payment(
    owner: Owner, vault: Vault, settings: Settings, who: BankLogin, order: Payment, wanted: DialogueOptions
) -> Dialogue:
    """Puts down the first move of a payment. The intent is stored before any bank hears of it."""
    dialogue = dialogues.add(
        owner,
        PAYMENT,
        seconds=settings.dialogue_seconds,
        **_columns(who, wanted),
        product=order.product,
        payment_id=order.reference,
        digest=payments.digest(order),
        likeness=payments.digest_without_reference(order),
    )
    sealed_values.put(owner, vault, dialogues.order_subject(dialogue.id), ORDER, payments.to_json(order))
    _seal_login(owner, vault, dialogue, who)
    dialogues.ask(owner, vault, dialogue, written(Reply()))
    return dialogue


def begin_payment_once(
    owner: Owner, vault: Vault, settings: Settings, who: BankLogin, order: Payment, wanted: DialogueOptions, *, named: bool
) -> Dialogue:
    """Begins a payment, unless it was begun before. One with an id of the caller (`named`) is found again by it for ever; of the
    others an equal one within a minute is taken for a mistake.
    """
    known = dialogues.of_payment(owner, order.reference) if named else None
    if known is not None:
        if known.digest != payments.digest(order) or known.access_id != (who.access.id if who.access else None):
            raise PaymentDiffers
        return known
    if not named and dialogues.has_equal_order(owner, payments.digest_without_reference(order), ALIKE_SECONDS):
        raise PaymentRepeated
    try:
        return begin_payment(owner, vault, settings, who, order, wanted)
    except NameTaken as error:  # somebody else has begun it in this moment: next time it is known
        raise Busy from error


def begin_verification(
    owner: Owner, vault: Vault, settings: Settings, who: BankLogin, payment_id: UUID, name: str, iban: str
) -> Dialogue:
    """Puts down a question about a payee, to be asked for a payment."""
    dialogue = dialogues.add(
        owner,
        PAYEE,
        seconds=settings.dialogue_seconds,
        **_columns(who, DialogueOptions(None)),
        digest=_asks(payment_id, name, iban),
    )
    question = json.dumps({"name": name, "iban": iban}).encode()
    sealed_values.put(owner, vault, dialogues.subject(dialogue.id), ORDER, question)
    dialogues.ask(owner, vault, dialogue, written(Reply()))
    return dialogue


def verified(owner: Owner, verification_id: UUID, order: Payment) -> bool:
    """Whether this verification was asked for just this payment: its id, the name and the IBAN."""
    dialogue = dialogues.find(owner, verification_id, PAYEE)
    transfer = order.transfers[0]
    return dialogue.digest == _asks(order.reference, transfer.recipient, transfer.iban)


def reply(owner: Owner, vault: Vault, dialogue: Dialogue, move: Reply) -> int:
    """Puts down a customer's move on a dialogue that the caller has locked; answers its number."""
    if dialogue.phase != OPEN or dialogues.is_over(owner, dialogue):
        raise OutOfTurn
    steps.check(steps.restored(dialogue.step), move)
    dialogue.method = move.method or dialogue.method
    dialogue.medium = move.medium or dialogue.medium
    return dialogues.ask(owner, vault, dialogue, written(move))


def order_of(owner: Owner, vault: Vault, dialogue: Dialogue) -> Payment:
    """The payment that a dialogue is about."""
    return payments.from_json(sealed_values.get(owner, vault, dialogues.order_subject(dialogue.id), ORDER))


def written(move: Reply) -> bytes:
    """A move as it is put down."""
    return json.dumps(asdict(move)).encode()


def _seal_login(owner: Owner, vault: Vault, dialogue: Dialogue, who: BankLogin) -> None:
    for name, value in who.credentials.items():
        sealed_values.put(owner, vault, dialogues.subject(dialogue.id), LOGIN + name, value.encode())


def _columns(who: BankLogin, wanted: DialogueOptions) -> dict[str, object]:
    return {
        "access_id": who.access.id if who.access else None,
        "provider_id": who.provider_id,
        "login_hash": who.login_hash,
        "method": wanted.method,
        "medium": wanted.medium,
        "attended_from": wanted.attended_from,
        "return_to": wanted.return_to,
        "fixed": wanted.fixed,
    }


def _asks(payment_id: UUID, name: str, iban: str) -> bytes:
    return sha256("\0".join((str(payment_id), name, iban)).encode()).digest()
