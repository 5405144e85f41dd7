"""The order of a payment: sent once, its payees verified, then confirmed; the bank's codes say what becomes of it."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Literal, TypeVar

from pipelines.banks.base import (
    MAX_STATE_BYTES,
    BankFault,
    Code,
    ConfirmPayee,
    Done,
    Failed,
    NoAnswer,
    Reply,
    Turn,
    Unusable,
    Wait,
)
from pipelines.banks.fints import codes, orders, pain
from pipelines.banks.fints.challenges import TanChallenge
from pipelines.banks.fints.confirmation import NO_METHOD, ask_app, ask_customer, continued, is_pending, turn_with, wait_again
from pipelines.banks.fints.conversation import BERLIN, Conversation, FintsCaller, Flow, challenge_of
from pipelines.banks.fints.delivery import key_of
from pipelines.banks.fints.history import sepa_accounts
from pipelines.banks.fints.memory import Memory, OrderTrace, PaymentDraft, State, write_memory, write_state
from pipelines.banks.fints.messages import FIRST_ORDER, Answer
from pipelines.banks.fints.parameters import BankParameters, FintsAccount, can_pay
from pipelines.banks.fints.payees import Verification, read_verification
from pipelines.banks.fints.syntax import Segment

T = TypeVar("T")
PaymentStage = Literal["tan", "ready", "checking", "payee"]
PAUSE_SECONDS = 1.0
MAX_CHECKS = 60
SPARE_STATE_BYTES = 24 * 1024
"""What must be free in the state of a new payment: room for parameters, and for the answers about its payees."""
SENDING, CHECKING = "Ihr Auftrag wird an die Bank übermittelt.", "Ihre Bank prüft den Empfänger."
TAN_FAULTS = "99"
"""The beginning of codes about TANs, and of confirmations that were refused or came too late."""
NOT_OFFERED = {
    "HKCCS": "Die Bank bietet hier keine Überweisungen an.",
    "HKCSE": "Die Bank bietet hier keine terminierten Überweisungen an.",
    "HKIPZ": "Die Bank bietet hier keine Echtzeitüberweisungen an.",
    "HKCCM": "Die Bank bietet hier keine Sammelüberweisungen an.",
}
NO_PAYMENTS_FROM_ACCOUNT = "Von diesem Konto sind keine solchen Überweisungen möglich."
MIXED_BULK = "Sammelüberweisungen sind bei dieser Bank nur ohne Termin und nicht in Echtzeit möglich."
TOO_MANY = "Die Bank nimmt nicht so viele Überweisungen in einem Auftrag an."
TOO_LARGE = "Der Auftrag ist zu groß. Bitte teilen Sie ihn auf."
WRONG_DAY = "Die Bank nimmt Aufträge für diesen Tag nicht an."
CANCELLED = "Der Auftrag wurde abgebrochen."


class OrderLost(NoAnswer):
    """The order may lie at the bank, and nobody knows what becomes of it."""


def _maybe_sent(flow: Flow[T]) -> Flow[T]:
    """The flow of a message that carries the order or its TAN: without its answer nobody knows."""
    try:
        return (yield from flow)
    except BankFault as fault:
        raise OrderLost from fault


# What the bank takes.


def order_of(draft: PaymentDraft) -> str:
    """The name of the order for a payment; the day on which it was begun decides whether it is one of a later day."""
    if draft.payment.bulk:
        return "HKCCM"
    if draft.payment.instant:
        return "HKIPZ"
    return "HKCSE" if _lead_days(draft) > 0 else "HKCCS"


def refusal_of(memory: Memory, draft: PaymentDraft) -> Failed | None:
    """Why a payment is not offered at this bank, before anything is sent."""
    bank, payment, order = memory.bank, draft.payment, order_of(draft)
    if not memory.methods:
        return Failed(Code.TRANSFER_REFUSED, NO_METHOD)
    if payment.bulk and (payment.instant or _lead_days(draft) > 0):
        return Failed(Code.TRANSFER_REFUSED, MIXED_BULK)
    if order not in bank.versions or not orders.transfer_format(bank, order):
        return Failed(Code.TRANSFER_REFUSED, NOT_OFFERED[order])
    if len(payment.transfers) > (bank.bulk_transfers if payment.bulk else 1) or not payment.transfers:
        return Failed(Code.TRANSFER_INVALID, TOO_MANY)
    if order == "HKCSE" and not bank.lead_days[0] <= _lead_days(draft) <= bank.lead_days[1]:
        return Failed(Code.TRANSFER_INVALID, WRONG_DAY)
    return None


def _lead_days(draft: PaymentDraft) -> int:
    return (draft.payment.execute_on - _day(draft)).days if draft.payment.execute_on else 0


def _day(draft: PaymentDraft) -> date:
    return draft.created_at.astimezone(BERLIN).date()


def fits(state: State) -> bool:
    content = write_state(state)
    return content is not None and len(content) <= MAX_STATE_BYTES - SPARE_STATE_BYTES


# The order.


def place(conversation: Conversation, accounts: tuple[FintsAccount, ...], draft: PaymentDraft, *, is_polled: bool) -> Flow[Turn]:
    """Sends the order after the login; behind a login that was polled, in a move of its own."""
    refusal = refusal_of(conversation.memory, draft)  # the login may have brought new parameters
    accounts = yield from sepa_accounts(conversation, accounts)
    account = next((each for each in accounts if key_of(each) == draft.payment.product), None)
    if refusal is None and (account is None or not can_pay(conversation.memory.bank, account, order_of(draft))):
        refusal = Failed(Code.TRANSFER_REFUSED, NO_PAYMENTS_FROM_ACCOUNT)
    if refusal is not None:
        yield from conversation.close()
        return Turn(refusal)
    draft = replace(draft, account=account)
    if is_polled:
        return turn_with(Wait(PAUSE_SECONDS, SENDING, 1, approves=False), _state("ready", conversation, draft))
    return (yield from send_first(conversation, draft))


def send_first(conversation: Conversation, draft: PaymentDraft) -> Flow[Turn]:
    """Sends the order, with the question about its payees if the bank wants it."""
    bank = conversation.memory.bank
    is_verified = order_of(draft) in bank.verified_orders and "HKVPP" in bank.versions
    return (yield from _send(conversation, draft, orders.verify_payees(bank) if is_verified else None))


def _send_approved(conversation: Conversation, draft: PaymentDraft) -> Flow[Turn]:
    """Sends the order that the bank has held, now that its payees are confirmed."""
    bank = conversation.memory.bank
    approval = orders.approve_payees(bank, draft.result_id) if draft.result_id and "HKVPA" in bank.versions else None
    return (yield from _send(conversation, draft, approval))


def _send(conversation: Conversation, draft: PaymentDraft, companion: Segment | None) -> Flow[Turn]:
    """Sends the order. From here on nothing but the bank's codes say what becomes of it."""
    memory, order, method = conversation.memory, order_of(draft), conversation.method
    if draft.account is None or method is None:
        raise Unusable
    companions = [] if companion is None else [companion]
    announced = [orders.announce(method, order, memory.medium)] if conversation.needs_tan(order) else []
    payment = draft.payment
    trace = OrderTrace(payment.reference, payment.product, conversation.dialogue, conversation.number, _day(draft))
    conversation.memory = replace(memory, order=trace)
    segments = (*companions, _transfer(memory.bank, draft.account, draft), *announced)
    answer = yield from _maybe_sent(conversation.ask(*segments))
    number = FIRST_ORDER + len(companions)
    return (yield from _after_order(conversation, draft, answer, number, range(FIRST_ORDER, FIRST_ORDER + len(segments))))


def _transfer(bank: BankParameters, account: FintsAccount, draft: PaymentDraft) -> Segment:
    order, payment = order_of(draft), draft.payment
    format_name = orders.transfer_format(bank, order)
    document = pain.write_pain001(payment, account, format_name, draft.created_at, is_scheduled=order == "HKCSE")
    total_cents = sum(transfer.amount_cents for transfer in payment.transfers)
    return orders.transfer(bank, account, order, document, total_cents)


def _after_order(conversation: Conversation, draft: PaymentDraft, answer: Answer, number: int, segments: range) -> Flow[Turn]:
    """What follows the order with this number among these segments of its message."""
    if codes.is_accepted(answer, number):
        return (yield from _finish(conversation))
    _raise_refused_login(conversation, answer, number, codes.WRONG_PIN)
    if codes.is_refused(answer, segments):
        return (yield from _refuse(conversation, answer, segments))
    if answer.errors() or {item.code for item in answer.codes_of(number)} & codes.DONE:
        raise OrderLost
    try:
        verification = read_verification(answer, FIRST_ORDER, draft.payment) if number > FIRST_ORDER else None
        challenge = challenge_of(answer) if codes.waits_for_customer(answer) else None
    except Unusable as fault:
        raise OrderLost from fault
    if verification is not None and verification.payees and not verification.is_match:
        return _ask_about_payees(conversation, replace(draft, challenge=challenge), verification)
    if challenge is not None:
        return _ask_for_confirmation(conversation, draft, challenge)
    if verification is None or not answer.has(codes.ORDER_HELD, codes.PAYEES_PENDING):
        raise OrderLost
    return (yield from _after_check(conversation, draft, verification))


# The payees.


def _after_check(conversation: Conversation, draft: PaymentDraft, verification: Verification) -> Flow[Turn]:
    """What follows the bank's word about the payees of an order that it holds."""
    if not verification.payees:
        return (yield from _wait_for_payees(conversation, draft, verification))
    if not verification.is_match:
        return _ask_about_payees(conversation, draft, verification)
    return (yield from _send_approved(conversation, replace(draft, result_id=verification.result_id)))


def _wait_for_payees(conversation: Conversation, draft: PaymentDraft, verification: Verification) -> Flow[Turn]:
    if draft.polls >= MAX_CHECKS:
        yield from conversation.close()
        return Turn(Failed(Code.TRANSFER_REFUSED))
    draft = replace(draft, polling_id=verification.polling_id or draft.polling_id, page=verification.page or draft.page)
    wait = Wait(verification.wait_seconds, CHECKING, draft.polls + 1, approves=False)
    return turn_with(wait, _state("checking", conversation, draft))


def check_again(caller: FintsCaller, state: State, draft: PaymentDraft) -> Flow[Turn]:
    """Asks whether the payees are verified. The order goes on behind a match, so this is asked once for each state."""
    conversation, _ = continued(caller, state)
    draft = replace(draft, polls=draft.polls + 1)
    question = orders.verify_payees(conversation.memory.bank, draft.polling_id, draft.page)
    answer = yield from conversation.ask(question)
    codes.check(answer, (caller.user_id,))
    if answer.errors():
        return (yield from _refuse(conversation, answer, (FIRST_ORDER,)))
    verification = read_verification(answer, FIRST_ORDER, draft.payment)
    if verification is None:
        yield from conversation.close()
        raise Unusable
    return (yield from _after_check(conversation, draft, verification))


def _ask_about_payees(conversation: Conversation, draft: PaymentDraft, verification: Verification) -> Turn:
    draft = replace(
        draft, payees=verification.payees, notice=verification.notice, result_id=verification.result_id, polling_id=b"", page=""
    )
    return turn_with(ConfirmPayee(draft.payees, draft.notice), _state("payee", conversation, draft))


def after_decision(caller: FintsCaller, state: State, draft: PaymentDraft, reply: Reply) -> Flow[Turn]:
    """What follows the customer's word about the payees."""
    if reply.payee_confirmed is None:
        return turn_with(ConfirmPayee(draft.payees, draft.notice), state)
    conversation, _ = continued(caller, state)
    if not reply.payee_confirmed:
        yield from conversation.close()
        return Turn(Failed(Code.TRANSFER_REFUSED, CANCELLED))
    draft, challenge = replace(draft, payees=(), notice=None, challenge=None), draft.challenge
    if challenge is not None:
        return _ask_for_confirmation(conversation, draft, challenge)
    return (yield from _send_approved(conversation, draft))


# The confirmation of the order.


def _ask_for_confirmation(conversation: Conversation, draft: PaymentDraft, challenge: TanChallenge) -> Turn:
    """The turn in which the customer confirms the order."""
    memory = conversation.memory
    if memory.order is not None and conversation.method is not None and not conversation.method.decoupled:
        conversation.memory = replace(memory, order=replace(memory.order, tan_number=conversation.number))
    state = _state("tan", conversation, replace(draft, is_placed=True))
    return ask_customer(state, conversation, challenge)


def release(caller: FintsCaller, state: State, reply: Reply) -> Flow[Turn]:
    """The step after a TAN, or after asking whether the app has confirmed."""
    conversation, method = continued(caller, state)
    is_certain = True
    if state.at == "tan" and reply.tan:
        answer = yield from _maybe_sent(conversation.ask(orders.submit(method, state.reference), tan=reply.tan))
    elif state.at == "app":
        answer, is_ahead = yield from _maybe_sent(ask_app(conversation, method, state.reference))
        if is_pending(answer):
            return wait_again(conversation, method, state)
        is_certain = not is_ahead and not _has(answer, codes.UNKNOWN_REFERENCE)
    else:
        raise Unusable
    if codes.is_accepted(answer, FIRST_ORDER):
        return (yield from _finish(conversation))
    if codes.waits_for_customer(answer) and not answer.errors():  # the bank wants another confirmation of the same order
        return _confirm_further(conversation, state, answer)
    _raise_refused_login(conversation, answer, FIRST_ORDER, codes.PIN_REFUSED)
    if is_certain and codes.is_refused(answer, (FIRST_ORDER,)):
        return (yield from _refuse(conversation, answer, (FIRST_ORDER,)))
    raise OrderLost


def _confirm_further(conversation: Conversation, state: State, answer: Answer) -> Turn:
    if state.draft is None:
        raise Unusable
    try:
        return _ask_for_confirmation(conversation, state.draft, challenge_of(answer))
    except Unusable as fault:
        raise OrderLost from fault


def _has(answer: Answer, code: str) -> bool:
    return any(item.code == code for item in answer.codes_of(FIRST_ORDER))


# The end.


def _finish(conversation: Conversation) -> Flow[Turn]:
    memory = replace(conversation.memory, order=None)
    yield from conversation.close()
    return Turn(Done(), memory=write_memory(memory))


def _refuse(conversation: Conversation, answer: Answer, segments: Iterable[int]) -> Flow[Turn]:
    """Ends a payment that the bank has refused, with the bank's words."""
    places = tuple(segments)
    refusals = [item.code for place in places for item in answer.codes_of(place) if item.code.startswith("9")]
    if not answer.has(*codes.WRONG_PIN):  # where the PIN may be blamed, it is not sent once more
        yield from conversation.close()
    if any(code.startswith(TAN_FAULTS) for code in refusals):
        return Turn(Failed(Code.TAN_INVALID))
    return Turn(Failed(Code.TRANSFER_REFUSED, codes.words_of(answer, places, (conversation.caller.user_id,))))


def _raise_refused_login(conversation: Conversation, answer: Answer, number: int, pin_codes: frozenset[str]) -> None:
    """Raises the fault of a login that the bank has refused instead of the order; these codes blame the PIN and no TAN."""
    is_open = codes.waits_for_customer(answer) or {item.code for item in answer.codes_of(number)} & codes.DONE
    if not is_open and answer.errors() and answer.has(*codes.LOCKED, *pin_codes):
        codes.check(answer, (conversation.caller.user_id,))


def _state(at: PaymentStage, conversation: Conversation, draft: PaymentDraft) -> State:
    return State(at, conversation.caller.user_id, conversation.memory, conversation.dialogue, conversation.number, draft=draft)
