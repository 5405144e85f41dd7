"""The dialogue with a FinTS bank as a pure machine: it says which message comes next, and goes on with the answer.

A flow is a generator that yields messages and takes answers; it also yields the parts of a fetch as they are ready. It has no
connection, no clock and no PIN. Where the customer is asked it ends with a turn, whose state another process can go on with.

synchronise ── method, if several ── medium, if several ── login ─┬─ TAN ────────┬─ old bookings, each with its TAN ── the rest
                                                                  ├─ app, polled ┤
                                                                  └─ exempt ─────┴─ or a payment (`paying.py`)
"""

from dataclasses import replace

from pipelines.banks.base import (
    ChooseMedium,
    ChooseMethod,
    Code,
    Done,
    Failed,
    FetchRequest,
    Reply,
    ScaNeeded,
    Turn,
    Unusable,
)
from pipelines.banks.fints import codes, delivery, orders, placing
from pipelines.banks.fints.challenges import TanChallenge
from pipelines.banks.fints.codes import OutOfStep
from pipelines.banks.fints.confirmation import NO_METHOD, ask_app, ask_customer, continued, is_pending, turn_with, wait_again
from pipelines.banks.fints.conversation import Conversation, FintsCaller, Flow, challenge_of, login_in_step, synchronise
from pipelines.banks.fints.history import read_history, sepa_accounts, today_of
from pipelines.banks.fints.memory import History, Memory, PaymentDraft, State, write_memory, write_state
from pipelines.banks.fints.messages import FIRST_ORDER, Answer
from pipelines.banks.fints.parameters import (
    FintsAccount,
    media_for,
    read_accounts,
    read_media,
)


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
    if draft is None:
        return (yield from _gather(conversation, accounts, request, {}, 0))
    return (yield from placing.place(conversation, accounts, draft, is_polled=is_polled))


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


def fetch(caller: FintsCaller, memory: Memory, request: FetchRequest) -> Flow[None]:
    """The header and every requested product. Raises `ScaNeeded` where the bank wants the customer to confirm."""
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
