"""What lasts: the memory of an access, and the state of a dialogue between two moves. Neither has a PIN or a TAN."""

import lzma
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Literal
from uuid import UUID

from pydantic import TypeAdapter

from pipelines.banks.base import MAX_STATE_BYTES, Payee, Payment, Unusable
from pipelines.banks.fints.challenges import TanChallenge
from pipelines.banks.fints.messages import NO_DIALOGUE, UNKNOWN_SYSTEM
from pipelines.banks.fints.parameters import BankParameters, FintsAccount, TanMedium, TanMethod

SEPARATOR = b"\0"
FAST_COMPRESSION = 1


@dataclass(frozen=True)
class OrderTrace:
    """The message in which a payment was sent: what banks call it by when they are asked what became of it."""

    reference: UUID
    product: str
    dialogue: str
    number: int
    day: date
    tan_number: int | None = None
    """The number of the message with its TAN."""


@dataclass(frozen=True)
class Memory:
    """What is remembered of an access: our id at the bank, the bank's parameters, and how the customer confirms."""

    system_id: str = UNKNOWN_SYSTEM
    bank: BankParameters = field(default_factory=BankParameters)
    allowed: tuple[str, ...] = ()
    """The codes of the methods that the bank allows to the customer."""
    method: str = ""
    medium: str = ""
    media: tuple[TanMedium, ...] = ()
    order: OrderTrace | None = None
    """The payment of the dialogue, while its outcome is open."""

    @property
    def methods(self) -> tuple[TanMethod, ...]:
        """The two-step methods that the customer can use; none at a bank that knows one step only."""
        return tuple(method for method in self.bank.methods if method.code in self.allowed)

    @property
    def chosen(self) -> TanMethod | None:
        """The chosen method."""
        return next((method for method in self.methods if method.code == self.method), None)

    @property
    def is_complete(self) -> bool:
        """Whether a login is possible without asking the bank for parameters, and the customer for a method."""
        has_method = self.chosen is not None or not self.methods
        return self.system_id != UNKNOWN_SYSTEM and self.bank.version != "0" and bool(self.allowed) and has_method


@dataclass(frozen=True)
class History:
    """The bookings of an account as the bank wrote them, complete from a day on."""

    order: str
    first_day: date
    booked: tuple[bytes, ...] = field(default=(), repr=False)
    pending: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class PaymentDraft:
    """A payment on its way to the bank."""

    payment: Payment = field(repr=False)
    created_at: datetime
    account: FintsAccount | None = field(default=None, repr=False)
    """The account from which is paid, once the bank has named it."""
    is_placed: bool = False
    """Whether the order lies at the bank, and what is confirmed is the order and no longer the login."""
    polls: int = 0
    """How often the bank was asked since it works alone: no such question is sent twice, since the order may follow it."""
    result_id: bytes = b""
    polling_id: bytes = b""
    page: str = ""
    payees: tuple[Payee, ...] = field(default=(), repr=False)
    notice: str | None = None
    challenge: TanChallenge | None = None
    """What must be confirmed after the customer's word about the payees, if the bank has said it together with them."""


@dataclass(frozen=True)
class State:
    """Where a dialogue stands while the customer is asked, or the bank works. `order` is the account whose old bookings wait for
    a TAN; None for the login itself, and for payments.
    """

    at: Literal["method", "medium", "tan", "app", "ready", "checking", "payee"]
    user_id: str = field(repr=False)
    memory: Memory
    dialogue: str = NO_DIALOGUE
    number: int = 1
    reference: str = ""
    text: str = ""
    accounts: tuple[FintsAccount, ...] = ()
    order: int | None = None
    first_day: date | None = None
    histories: dict[int, History] = field(default_factory=dict, repr=False)
    """The old bookings that came before, by the places of their accounts."""
    draft: PaymentDraft | None = field(default=None, repr=False)
    """The payment of the dialogue; None for a consent."""


_MEMORY, _STATE = TypeAdapter(Memory), TypeAdapter(State)
_LOAD: TypeAdapter[tuple[dict[int, History], PaymentDraft | None]] = TypeAdapter(
    tuple[dict[int, History], PaymentDraft | None], config={"ser_json_bytes": "base64", "val_json_bytes": "base64"}
)


def write_memory(memory: Memory) -> bytes:
    """The memory as it is stored."""
    return _MEMORY.dump_json(memory, exclude_defaults=True)


def read_memory(content: bytes) -> Memory:
    """The stored memory; an empty one if it cannot be read, since everything in it can be asked for again."""
    try:
        return _MEMORY.validate_json(content)
    except ValueError:
        return Memory()


def write_state(state: State) -> bytes | None:
    """The state as it is stored; None if it is too large, because of the bookings or transfers in it."""
    head = _STATE.dump_json(state, exclude={"histories", "draft"}, exclude_defaults=True)
    load = _LOAD.dump_json((state.histories, state.draft), exclude_defaults=True)
    preset = FAST_COMPRESSION if state.draft else lzma.PRESET_DEFAULT
    tail = lzma.compress(load, preset=preset) if state.histories or state.draft else b""
    content = head + SEPARATOR + tail
    return content if len(content) <= MAX_STATE_BYTES else None


def read_state(content: bytes, user_id: str) -> State:
    """The state of a dialogue of this user; raises `Unusable` for anything else."""
    head, _, tail = content.partition(SEPARATOR)
    try:
        state = _STATE.validate_json(head)
        histories, draft = _LOAD.validate_json(lzma.decompress(tail)) if tail else ({}, None)
    except (ValueError, lzma.LZMAError) as error:
        raise Unusable from error
    if state.user_id != user_id:
        raise Unusable
    return replace(state, histories=histories, draft=draft)
