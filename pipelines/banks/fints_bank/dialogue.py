"""The state of a dialogue at the bank, and one exchange of messages in it."""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from pipelines.banks.fints.syntax import Segment
from pipelines.banks.fints_bank.customers import BankCustomer
from pipelines.banks.fints_bank.messages import AnswerMessage, CustomerMessage
from pipelines.banks.fints_bank.methods import METHODS, BankMethod

CONSENT_DURATION = timedelta(days=180)
IDLE_DURATION = timedelta(minutes=15)
MAX_DIALOGUES = 2_000
DIGEST_LENGTH = 12


@dataclass
class WaitingOrder:
    """An order that waits for its confirmation; the login itself waits without a segment."""

    order: Segment | None
    message_number: int
    polls: int = 0
    wrong_tans: int = 0


@dataclass
class PayeeCase:
    """A verification of payees: for which order, with what result, and for how many more polls it seems to run."""

    digest: str
    results: tuple[dict[str, str], ...]
    vop_id: bytes
    polling_id: bytes
    polls_left: int = 0


@dataclass
class BankDialogue:
    """A dialogue with a customer; one that was not confirmed lists media and ends, nothing else."""

    id: str
    user_id: str
    system_id: str
    used_at: datetime
    last_number: int = 0
    method: str = ""
    is_confirmed: bool = False
    is_strong: bool = False
    """Whether the customer has confirmed the login in this very dialogue."""
    is_locked: bool = False
    is_second: bool = False
    """Whether another dialogue of the customer waits for a confirmation."""
    wants_user_parameters: bool = True
    waiting: dict[str, WaitingOrder] = field(default_factory=dict)
    released_orders: set[str] = field(default_factory=set)
    payee_cases: dict[bytes, PayeeCase] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock, repr=False)


@dataclass
class BankExchange:
    """A message, the dialogue to which it belongs, and the answer as it comes together."""

    folder: Path
    request: CustomerMessage
    dialogue: BankDialogue
    customer: BankCustomer
    now: datetime
    answer: AnswerMessage = field(default_factory=AnswerMessage)
    is_cut: bool = False
    """Whether the answer is lost on its way."""

    @property
    def method(self) -> BankMethod | None:
        """The TAN method with which the message is signed."""
        return METHODS.get(self.request.method) if self.request.method in self.customer.functions else None


def new_token(length: int = 12) -> str:
    """A name for a dialogue or an order, which nobody can guess."""
    return secrets.token_hex(length)


def new_system_id(user_id: str) -> str:
    """A system id that the bank recognises without storing it."""
    return _system_id(user_id, new_token(DIGEST_LENGTH // 2))


def is_own_system_id(user_id: str, system_id: str) -> bool:
    """Whether the bank has given this system id to this customer."""
    return system_id == _system_id(user_id, system_id[:DIGEST_LENGTH])


def is_recent(memory: dict[str, Any], system_id: str, now: datetime) -> bool:
    """Whether a login of this system id was confirmed in the last 180 days."""
    confirmed_at = memory.get("confirmed", {}).get(system_id)
    return confirmed_at is not None and now - datetime.fromisoformat(confirmed_at) < CONSENT_DURATION


def fingerprint(order: Segment, *left_out: int) -> str:
    """A hash of an order without its number and some of its elements, to recognise it when it comes again."""
    elements = [element for place, element in enumerate(order.elements, 1) if place not in left_out]
    while elements and not any(elements[-1]):  # programs write empty elements at the end, or leave them out
        elements.pop()
    return hashlib.sha256(repr((order.name, elements)).encode()).hexdigest()


def _system_id(user_id: str, nonce: str) -> str:
    return nonce + hashlib.sha256(f"{user_id}/{nonce}".encode()).hexdigest()[:DIGEST_LENGTH]
