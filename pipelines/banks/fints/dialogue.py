"""The dialogue with a FinTS bank as a pure machine: it says which message comes next, and goes on with the answer.

A flow is a generator that yields messages and takes answers; it also yields the parts of a fetch as they are ready. It has no
connection, no clock and no PIN. Where the customer is asked it ends with a turn, whose state another process can go on with.

synchronise ── method, if several ── medium, if several ── login ─┬─ TAN ────────┬─ old bookings, each with its TAN ── the rest
                                                                  ├─ app, polled ┤
                                                                  └─ exempt ─────┴─ or a payment (`paying.py`)
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from pipelines.banks.base import (
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    Done,
    EnterTan,
    Failed,
    FetchRequest,
    NoAnswer,
    Part,
    Reply,
    ScaNeeded,
    Turn,
    Unreachable,
    Unusable,
    Wait,
)
from pipelines.banks.fints import codes, orders
from pipelines.banks.fints.challenges import TanChallenge, read_challenge
from pipelines.banks.fints.codes import OutOfStep
from pipelines.banks.fints.memory import History, Memory, PaymentDraft, State, write_memory, write_state
from pipelines.banks.fints.messages import FIRST_ORDER, NO_DIALOGUE, ONE_STEP, UNKNOWN_SYSTEM, Answer, FintsMessage
from pipelines.banks.fints.parameters import (
    SHORT_HISTORY_DAYS,
    BankParameters,
    FintsAccount,
    TanMethod,
    answer_name,
    media_for,
    read_accounts,
    read_bank,
    read_media,
    with_sepa,
)
from pipelines.banks.fints.syntax import Segment, serialise

T = TypeVar("T")
Flow: TypeAlias = Generator[FintsMessage | Part, Any, T]
BERLIN = ZoneInfo("Europe/Berlin")
MAX_PAGES = 500
MANUAL_WAIT_SECONDS = 15.0
"""The time between two polls where the bank would rather have the customer say that the app has confirmed."""
NO_METHOD = "Die Bank bietet kein Verfahren an, mit dem Sie hier freigeben können."


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


# Before the login.


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


def _list_media(caller: FintsCaller, memory: Memory) -> Flow[Memory]:
    """The memory with the customer's media. A bank that does not tell them leaves the medium open."""
    method = memory.chosen
    if method is None or not method.names_medium or "HKTAB" not in memory.bank.versions:
        return replace(memory, media=())
    conversation = Conversation(caller, memory)
    login = (
        orders.identification(caller.blz, caller.user_id, memory.system_id),
        orders.preparation(memory.bank, caller.product_id),
        orders.announce(method, "HKTAB", None),
    )
    question = orders.media(memory.bank)
    number = FIRST_ORDER + len(login)
    answer = yield from conversation.ask(*login, *([question] if caller.lists_media_first else []))
    codes.check(answer, (caller.user_id,))
    if codes.waits_for_customer(answer) or answer.errors():
        return replace(memory, media=())
    conversation.is_signed_in = True
    if not caller.lists_media_first:
        number = FIRST_ORDER
        answer = yield from conversation.closing(conversation.ask(question))
    media = read_media(answer.data("HITAB", number)) if codes.is_done(answer, number) else ()
    yield from conversation.close()
    return replace(memory, media=media)


# A consent.


def begin(caller: FintsCaller, memory: Memory, request: FetchRequest) -> Flow[Turn]:
    """The first step of a consent. The bank is asked anew for everything, since it may offer other methods than the last time:
    what is remembered could only lead to a login that it refuses.
    """
    fresh = yield from synchronise(caller, memory)
    return (yield from choose(caller, fresh, request))


def resume(caller: FintsCaller, state: State, reply: Reply, request: FetchRequest) -> Flow[Turn]:
    """The step after a reply, as long as no payment lies at the bank."""
    memory, draft = state.memory, state.draft
    match state.at:
        case "method" if reply.method is not None:
            if reply.method not in {method.code for method in memory.methods}:
                return Turn(Failed(Code.METHOD_INVALID))
            return (yield from _choose_medium(caller, replace(memory, method=reply.method), request, draft))
        case "medium" if reply.medium is not None:
            if reply.medium not in {medium.name for medium in memory.media}:
                return Turn(Failed(Code.METHOD_INVALID))
            return (yield from _enter(caller, replace(memory, medium=reply.medium), request, draft))
        case "tan" if reply.tan:
            return (yield from _confirm(caller, state, reply.tan, request))
        case "app":
            return (yield from _poll(caller, state, request))
    raise Unusable


def choose(caller: FintsCaller, memory: Memory, request: FetchRequest, draft: PaymentDraft | None = None) -> Flow[Turn]:
    """The choice of a method, if there are several; then the login, for a consent or a payment."""
    methods = memory.methods
    if len(methods) > 1:
        choice = ChooseMethod(tuple(method.shown() for method in methods))
        return turn_with(choice, State("method", caller.user_id, memory, draft=draft))
    if methods:
        return (yield from _choose_medium(caller, replace(memory, method=methods[0].code), request, draft))
    return (yield from _enter(caller, replace(memory, method="", medium=""), request, draft))


def _choose_medium(caller: FintsCaller, memory: Memory, request: FetchRequest, draft: PaymentDraft | None) -> Flow[Turn]:
    method = memory.chosen
    if method is None:
        return Turn(Failed(Code.METHOD_INVALID, NO_METHOD))
    try:
        memory = yield from _list_media(caller, memory)
    except OutOfStep:  # the login synchronises
        memory = replace(memory, media=())
    media = media_for(method, memory.media)
    memory = replace(memory, media=media, medium=media[0].name if media else "")
    if len(media) > 1:
        choice = ChooseMedium(tuple(medium.shown() for medium in media))
        return turn_with(choice, State("medium", caller.user_id, memory, draft=draft))
    return (yield from _enter(caller, memory, request, draft))


def _enter(caller: FintsCaller, memory: Memory, request: FetchRequest, draft: PaymentDraft | None) -> Flow[Turn]:
    """The login, and what follows if the bank wants no confirmation of it."""
    conversation, outcome = yield from login_in_step(caller, memory)
    if isinstance(outcome, TanChallenge):
        return ask_customer(State("tan", caller.user_id, conversation.memory, draft=draft), conversation, outcome)
    return (yield from conversation.closing(_after_login(conversation, outcome, request, draft)))


def _after_login(
    conversation: Conversation,
    accounts: tuple[FintsAccount, ...],
    request: FetchRequest,
    draft: PaymentDraft | None,
    *,
    is_polled: bool = False,
) -> Flow[Turn]:
    """What follows the login: the payment, or all that a consent brings."""
    from pipelines.banks.fints import paying

    if draft is None:
        return (yield from _gather(conversation, accounts, request, {}, 0))
    return (yield from paying.place(conversation, accounts, draft, is_polled=is_polled))


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


def ask_customer(state: State, conversation: Conversation, challenge: TanChallenge) -> Turn:
    """The turn in which the customer confirms, with the state of the conversation."""
    method = conversation.method
    if method is None:
        return Turn(Failed(Code.METHOD_INVALID, NO_METHOD))
    waiting = replace(
        state,
        at="app" if method.decoupled else "tan",
        memory=conversation.memory,
        dialogue=conversation.dialogue,
        number=conversation.number,
        reference=challenge.reference,
        text=challenge.text,
    )
    if method.decoupled:
        return turn_with(_wait(method, challenge.text, method.first_wait_seconds), waiting)
    return turn_with(EnterTan(challenge.text, method.name, hhduc=challenge.flicker, photo=challenge.image), waiting)


def _wait(method: TanMethod, text: str, seconds: float) -> Wait:
    return Wait(max(seconds, 0 if method.polls_itself else MANUAL_WAIT_SECONDS), text, method.max_polls)


def turn_with(step: ChooseMethod | ChooseMedium | EnterTan | ConfirmPayee | Wait, state: State) -> Turn:
    """The turn with a state; raises `Unusable` if that is too large."""
    content = write_state(state)
    if content is None:
        raise Unusable
    return Turn(step, content, write_memory(state.memory))


def _confirm(caller: FintsCaller, state: State, tan: str, request: FetchRequest) -> Flow[Turn]:
    """The step after a TAN. It is sent once: a wrong one ends the dialogue at the bank."""
    conversation, method = continued(caller, state)
    answer = yield from conversation.closing(conversation.ask(orders.submit(method, state.reference), tan=tan))
    return (yield from _after_confirmation(conversation, state, answer, request))


def _poll(caller: FintsCaller, state: State, request: FetchRequest) -> Flow[Turn]:
    """The step after asking whether the app has confirmed. If the answer to an earlier poll was lost, the bank is one message
    ahead.
    """
    conversation, method = continued(caller, state)
    answer, _ = yield from ask_app(conversation, method, state.reference)
    if is_pending(answer):
        return wait_again(conversation, method, state)
    return (yield from _after_confirmation(conversation, state, answer, request))


def ask_app(conversation: Conversation, method: TanMethod, reference: str) -> Flow[tuple[Answer, bool]]:
    """The answer to a poll, and whether the answer to an earlier one was lost."""
    answer = yield from conversation.ask(orders.ask_app(method, reference))
    is_ahead = answer.has(codes.WRONG_NUMBER)
    if is_ahead and not answer.has(codes.ABORTED):
        answer = yield from conversation.ask(orders.ask_app(method, reference))
    return answer, is_ahead


def is_pending(answer: Answer) -> bool:
    """Whether the app has not confirmed yet."""
    return answer.has(codes.APP_PENDING, codes.APP_ASKED) and not answer.errors()


def wait_again(conversation: Conversation, method: TanMethod, state: State) -> Turn:
    """The turn that goes on polling."""
    waiting = replace(state, number=conversation.number)
    return turn_with(_wait(method, state.text, method.wait_seconds), waiting)


def continued(caller: FintsCaller, state: State) -> tuple[Conversation, TanMethod]:
    """The conversation of a state, and its method."""
    conversation = Conversation(caller, state.memory, state.dialogue, state.number)
    conversation.is_signed_in = True
    if conversation.method is None:
        raise Unusable
    return conversation, conversation.method


def _after_confirmation(conversation: Conversation, state: State, answer: Answer, request: FetchRequest) -> Flow[Turn]:
    """Goes on after the login or an order was confirmed; without a positive code for it, nothing was."""
    if answer.has(*codes.LOCKED, *codes.PIN_REFUSED):
        codes.check(answer, (conversation.caller.user_id,))
    if answer.errors():
        if not answer.has(*codes.WRONG_PIN):  # where the PIN may be blamed, it is not sent once more
            yield from conversation.close()
        return Turn(Failed(Code.TAN_INVALID))
    if codes.waits_for_customer(answer):  # the bank wants another confirmation of the same order
        return ask_customer(state, conversation, challenge_of(answer))
    if not codes.is_done(answer, FIRST_ORDER):
        yield from conversation.close()
        raise Unusable
    if state.order is None:
        conversation.learn(answer)
        accounts = read_accounts(answer.segments)
        next_flow = _after_login(conversation, accounts, request, state.draft, is_polled=state.at == "app")
        return (yield from conversation.closing(next_flow))
    return (yield from conversation.closing(_go_on_with(conversation, state, answer, request)))


def _go_on_with(conversation: Conversation, state: State, answer: Answer, request: FetchRequest) -> Flow[Turn]:
    """Takes the old bookings that came with a TAN, and goes on with the next account."""
    place, histories = state.order or 0, dict(state.histories)
    first_day = state.first_day or today_of(request)
    history = yield from read_history(conversation, state.accounts[place], (first_day, today_of(request)), answer)
    if isinstance(history, History):
        histories[place] = history
    return (yield from _gather(conversation, state.accounts, request, histories, place + 1, has_sepa=True))


def _gather(
    conversation: Conversation,
    accounts: tuple[FintsAccount, ...],
    request: FetchRequest,
    histories: dict[int, History],
    start: int,
    *,
    has_sepa: bool = False,
) -> Flow[Turn]:
    """Fetches what a consent brings: first the bookings of long ago, for which the bank may want further TANs, then the rest."""
    from pipelines.banks.fints import delivery

    if not has_sepa:
        accounts = yield from sepa_accounts(conversation, accounts)
    for place in range(start, len(accounts)):
        first_day = delivery.first_day_with_tan(conversation, accounts[place], request)
        if first_day is None:
            continue
        history = yield from read_history(conversation, accounts[place], (first_day, today_of(request)))
        if isinstance(history, History):
            histories[place] = history
        elif isinstance(history, TanChallenge):
            state = State(
                "tan",
                conversation.caller.user_id,
                conversation.memory,
                accounts=accounts,
                order=place,
                first_day=first_day,
                histories=histories,
            )
            if write_state(state) is not None:
                return ask_customer(state, conversation, history)
            break  # what has come does not fit into the state: the others get their recent bookings
    yield from delivery.deliver(conversation, accounts, request, histories, may_lack=True)
    yield from conversation.close()
    return Turn(Done(), memory=write_memory(conversation.memory))


# A session without the customer.


def fetch(caller: FintsCaller, memory: Memory, request: FetchRequest) -> Flow[None]:
    """The header and every requested product. Raises `ScaNeeded` where the bank wants the customer to confirm."""
    from pipelines.banks.fints import delivery

    if not memory.is_complete:
        memory = yield from synchronise(caller, memory)
        if memory.methods:  # a login would ask the customer, who has not chosen how to confirm
            raise ScaNeeded
    conversation, outcome = yield from login_in_step(caller, memory)
    if isinstance(outcome, TanChallenge):
        yield from conversation.close()
        raise ScaNeeded
    accounts = yield from conversation.closing(sepa_accounts(conversation, outcome))
    yield from conversation.closing(delivery.deliver(conversation, accounts, request, {}, may_lack=False))
    yield from conversation.close()


# Orders.


def sepa_accounts(conversation: Conversation, accounts: tuple[FintsAccount, ...]) -> Flow[tuple[FintsAccount, ...]]:
    """The accounts with their IBANs and BICs. A bank that does not tell them leaves those of the customer's parameters."""
    if "HKSPA" in conversation.memory.bank.versions:
        answer = yield from conversation.order(orders.accounts(conversation.memory.bank))
        if isinstance(answer, Answer) and codes.is_done(answer, FIRST_ORDER):
            accounts = with_sepa(accounts, answer.data("HISPA", FIRST_ORDER))
        elif not accounts:
            raise ScaNeeded if isinstance(answer, TanChallenge) else Unusable
    return accounts


def booking_order(bank: BankParameters, account: FintsAccount) -> str | None:
    """The order that brings the bookings of an account: CAMT where it is offered, for cards their own order if there is no other;
    None if there is none.
    """
    if "HKCAZ" in bank.versions and account.allows("HKCAZ") and account.iban:
        return "HKCAZ"
    if "HKKAZ" in bank.versions and account.allows("HKKAZ"):
        return "HKKAZ"
    return "DKKKU" if "DKKKU" in bank.versions and account.is_card and account.allows("DKKKU") else None


def read_history(
    conversation: Conversation, account: FintsAccount, days: tuple[date, date], answer: Answer | None = None
) -> Flow["History | TanChallenge | None"]:
    """The bookings of an account, over all pages; what the customer must confirm before; or None if the bank refuses them.
    `answer` is the first page, if it has come with a TAN.
    """
    bank = conversation.memory.bank
    order = booking_order(bank, account)
    if order is None:
        return None
    booked: list[bytes] = []
    pending: list[bytes] = []
    page = ""
    for _ in range(MAX_PAGES):
        if answer is None:
            outcome = yield from conversation.order(orders.bookings(bank, account, order, days, page))
            if isinstance(outcome, TanChallenge):
                return outcome if not page else None
            answer = outcome
        if not codes.is_done(answer, FIRST_ORDER):
            return None
        segments = answer.data(answer_name(order), FIRST_ORDER)
        if not segments and not codes.is_empty(answer, FIRST_ORDER):
            return None  # a positive code without data says nothing about bookings
        for each in segments:
            if order == "DKKKU":
                booked.append(serialise([each]))
                continue
            first = 3 if order == "HKCAZ" else 1
            booked += _documents(each, first)
            pending += _documents(each, first + 1)
        following = codes.next_page(answer, FIRST_ORDER)
        if following is None:
            return History(order, days[0], tuple(booked), tuple(pending))
        if following == page:
            return None
        page, answer = following, None
    return None


def _documents(each: Segment, place: int) -> list[bytes]:
    """The documents of an element: one, or a group of them."""
    return [content for position in range(1, len(each.element(place)) + 1) if (content := each.binary(place, position)).strip()]


def today_of(request: FetchRequest) -> date:
    """The bank's day: the one in Germany."""
    return request.now.astimezone(BERLIN).date()


def short_history(request: FetchRequest) -> date:
    """The first day of the bookings that banks give without a TAN."""
    return today_of(request) - timedelta(days=SHORT_HISTORY_DAYS)
