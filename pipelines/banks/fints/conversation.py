"""A conversation with a FinTS bank: messages of one dialogue, what is learned from their answers, synchronisation and login."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from pipelines.banks.base import (
    BankFault,
    NoAnswer,
    Part,
    ScaNeeded,
    Unreachable,
    Unusable,
)
from pipelines.banks.fints import codes, orders
from pipelines.banks.fints.challenges import TanChallenge, read_challenge
from pipelines.banks.fints.codes import OutOfStep
from pipelines.banks.fints.memory import Memory
from pipelines.banks.fints.messages import FIRST_ORDER, NO_DIALOGUE, ONE_STEP, UNKNOWN_SYSTEM, Answer, FintsMessage
from pipelines.banks.fints.parameters import (
    BankParameters,
    FintsAccount,
    TanMethod,
    read_accounts,
    read_bank,
)
from pipelines.banks.fints.syntax import Segment

T = TypeVar("T")
Flow: TypeAlias = Generator[FintsMessage | Part, Any, T]
BERLIN = ZoneInfo("Europe/Berlin")


@dataclass(frozen=True)
class FintsCaller:
    """Who asks which bank, by which product."""

    blz: str
    user_id: str
    product_id: str
    lists_media_first: bool = False
    """Whether the bank wants the question for media within the message of the login."""


class Conversation:
    """A dialogue at the bank: counts its messages and knows its id."""

    def __init__(self, caller: FintsCaller, memory: Memory, dialogue: str = NO_DIALOGUE, number: int = 1) -> None:
        self.caller = caller
        self.memory = memory
        self.dialogue = dialogue
        self.number = number
        self.is_signed_in = False

    @property
    def method(self) -> TanMethod | None:
        return self.memory.chosen

    def ask(self, *segments: Segment, tan: str | None = None) -> Flow[Answer]:
        """The bank's answer to a message with these orders. Raises `NoAnswer` for one that belongs to another message."""
        security = self.method.code if self.method else ONE_STEP
        answer: Answer = yield FintsMessage(self.dialogue, self.number, segments, self.memory.system_id, security, tan)
        if not answer.belongs_to(self.dialogue, self.number):
            raise NoAnswer
        self.number += 1
        if answer.dialogue not in ("", NO_DIALOGUE):
            self.dialogue = answer.dialogue
        if answer.has(codes.ABORTED, codes.ENDED):
            self.is_signed_in = False
        return answer

    def order(self, segment: Segment) -> Flow["Answer | TanChallenge"]:
        """The answer to an order, or what the customer must confirm before. Raises the fault of a dialogue that is over."""
        method = self.method if segment.name in self.memory.bank.with_tan else None
        announced = [] if method is None else [orders.announce(method, segment.name, self.memory.medium)]
        answer = yield from self.ask(segment, *announced)
        codes.check(answer, (self.caller.user_id,))
        return challenge_of(answer) if codes.waits_for_customer(answer) else answer

    def needs_tan(self, order: str) -> bool:
        """Whether an order is announced as one that may need a TAN."""
        return self.method is not None and order in self.memory.bank.with_tan

    def learn(self, answer: Answer) -> None:
        """Takes over what an answer says about the bank and the customer's methods."""
        allowed = tuple(
            method for item in answer.all_codes() if item.code == codes.ALLOWED_METHODS for method in item.parameters if method
        )
        bank = read_bank(answer.segments, self.memory.bank)
        self.memory = replace(self.memory, bank=bank, allowed=allowed or self.memory.allowed)

    def close(self) -> Flow[None]:
        """Ends the dialogue, if the bank has accepted the login; whether that is heard does not matter."""
        if self.is_signed_in:
            self.is_signed_in = False
            try:
                yield from self.ask(orders.end(self.dialogue))
            except BankFault:
                return

    def closing(self, flow: Flow[T]) -> Flow[T]:
        """The flow, after whose fault the dialogue is ended, unless nobody answers. A login that was refused sends no further
        message with its PIN.
        """
        try:
            return (yield from flow)
        except Unreachable:
            raise
        except BankFault as fault:
            if not fault.refuses_login:
                yield from self.close()
            raise


def challenge_of(answer: Answer) -> TanChallenge:
    """What the customer must confirm; raises `Unusable` if the bank does not say it."""
    challenge = next((read_challenge(each) for each in reversed(answer.all("HITAN"))), None)
    if challenge is None or challenge.reference in codes.NO_REFERENCE:
        raise Unusable
    return challenge


def read_anonymously(caller: FintsCaller) -> Flow[BankParameters]:
    """The parameters that the bank tells everybody."""
    blank = BankParameters()
    answer: Answer = yield FintsMessage(
        NO_DIALOGUE,
        1,
        (
            orders.identification(caller.blz, orders.ANONYMOUS, UNKNOWN_SYSTEM),
            orders.preparation(blank, caller.product_id),
        ),
        anonymous=True,
    )
    codes.check(answer)
    bank = read_bank(answer.segments, blank)
    if answer.errors():
        raise codes.refused(answer)
    if bank == blank or not codes.has_parameters(answer, FIRST_ORDER):
        raise Unusable
    if not answer.has(codes.ENDED) and answer.dialogue not in ("", NO_DIALOGUE):
        try:
            yield FintsMessage(answer.dialogue, 2, (orders.end(answer.dialogue),), anonymous=True)
        except BankFault:
            return bank
    return bank


def synchronise(caller: FintsCaller, memory: Memory) -> Flow[Memory]:
    """A new memory: our id at the bank, the parameters, and the customer's methods. The bank only checks the PIN."""
    conversation = Conversation(caller, replace(memory, system_id=UNKNOWN_SYSTEM, bank=BankParameters(), method="", medium=""))
    answer = yield from conversation.ask(
        orders.identification(caller.blz, caller.user_id, UNKNOWN_SYSTEM),
        orders.preparation(BankParameters(), caller.product_id),
        orders.synchronisation(),
    )
    try:
        codes.check(answer, (caller.user_id,))
    except (OutOfStep, Unusable):
        if not answer.has(codes.ALLOWED_METHODS):  # a bank may refuse one step, but must name the others
            raise
    conversation.learn(answer)
    _take_system_id(conversation, answer, FIRST_ORDER + 2)
    conversation.is_signed_in = not answer.errors()
    yield from conversation.close()
    fresh = conversation.memory
    if fresh.bank.version == "0":
        fresh = replace(fresh, bank=(yield from read_anonymously(caller)))
    if not fresh.allowed:
        raise Unusable
    return fresh


def _take_system_id(conversation: Conversation, answer: Answer, number: int) -> None:
    """Remembers the system id of an answer, if the bank says that it has given one."""
    ids = [each.text(1) for each in answer.data("HISYN", number) if each.text(1)]
    if ids and not answer.errors() and {item.code for item in answer.codes_of(number)} & codes.DONE:
        conversation.memory = replace(conversation.memory, system_id=ids[0])


def login_in_step(caller: FintsCaller, memory: Memory) -> Flow[tuple[Conversation, "tuple[FintsAccount, ...] | TanChallenge"]]:
    """The login; once more after a synchronisation if the bank no longer knows our id."""
    conversation = Conversation(caller, memory)
    try:
        return conversation, (yield from login(conversation))
    except OutOfStep:
        fresh = yield from synchronise(caller, memory)
    conversation = Conversation(caller, replace(fresh, method=memory.method, medium=memory.medium, media=memory.media))
    if memory.method and conversation.method is None:
        raise ScaNeeded
    return conversation, (yield from login(conversation))


def login(conversation: Conversation) -> Flow["tuple[FintsAccount, ...] | TanChallenge"]:
    """The accounts of the customer, or what must be confirmed before."""
    caller, memory, method = conversation.caller, conversation.memory, conversation.method
    segments = [
        orders.identification(caller.blz, caller.user_id, memory.system_id),
        orders.preparation(memory.bank, caller.product_id),
    ]
    if method is not None:
        segments.append(orders.announce(method, "HKIDN", memory.medium))
    if memory.system_id == UNKNOWN_SYSTEM:
        segments.append(orders.synchronisation())
    answer = yield from conversation.ask(*segments)
    codes.check(answer, (caller.user_id,))
    conversation.learn(answer)
    if memory.system_id == UNKNOWN_SYSTEM:
        _take_system_id(conversation, answer, FIRST_ORDER + len(segments) - 1)
    if codes.waits_for_customer(answer):
        conversation.is_signed_in = True
        return challenge_of(answer)
    if answer.errors():
        raise codes.refused(answer)
    if not codes.has_parameters(answer, FIRST_ORDER) and not codes.has_parameters(answer, FIRST_ORDER + 1):
        raise Unusable
    conversation.is_signed_in = True
    return read_accounts(answer.segments)
