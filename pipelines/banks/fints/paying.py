"""Payments as a pure machine: the order is sent once, and nothing but a positive code for it means that the bank has accepted it.

login ─┬─ TAN, exempt ─────────────┬─ order ─┬─ match ──────────────────────┬─ TAN ────────┬─ accepted, refused, or nobody knows
       └─ app, polled ── a pause ──┘         ├─ payees differ ── confirmed ─┤              │
                                             └─ still checked, polled ──────┘─ app, polled ┘

Before the order is sent, every fault means that nothing was done. From then on an answer is read by the codes of the order's own
segment, and its absence is `OrderLost`. A poll may be repeated by a worker that takes over from a dead one; so no order follows a
poll in the same move, unless that poll can be made only once (`Wait.max_polls`).
"""

from dataclasses import replace

from pipelines.banks.base import (
    BankFault,
    Code,
    Failed,
    FetchRequest,
    Payment,
    Reply,
    Turn,
    Unusable,
)
from pipelines.banks.fints import dialogue
from pipelines.banks.fints.confirmation import continued
from pipelines.banks.fints.conversation import FintsCaller, Flow, synchronise
from pipelines.banks.fints.memory import Memory, PaymentDraft, State
from pipelines.banks.fints.placing import TOO_LARGE, OrderLost, after_decision, check_again, fits, refusal_of, release, send_first


def begin(caller: FintsCaller, memory: Memory, request: FetchRequest, payment: Payment) -> Flow[Turn]:
    """The first step of a payment."""
    draft = PaymentDraft(payment, request.now)
    return (yield from _unsent(_begin(caller, memory, request, draft)))


def _begin(caller: FintsCaller, memory: Memory, request: FetchRequest, draft: PaymentDraft) -> Flow[Turn]:
    if not memory.is_complete:
        memory = yield from synchronise(caller, memory)
    memory = replace(memory, order=None)
    refusal = refusal_of(memory, draft)
    if refusal is None and not fits(State("method", caller.user_id, memory, draft=draft)):
        refusal = Failed(Code.TRANSFER_INVALID, TOO_LARGE)
    return Turn(refusal) if refusal else (yield from dialogue.choose(caller, memory, request, draft))


def resume(caller: FintsCaller, state: State, reply: Reply, request: FetchRequest) -> Flow[Turn]:
    """The step after a reply."""
    draft = state.draft
    if draft is None:
        raise Unusable
    if draft.is_placed:
        return (yield from release(caller, state, reply))
    match state.at:
        case "ready":
            conversation, _ = continued(caller, state)
            return (yield from _unsent(conversation.closing(send_first(conversation, replace(draft, polls=draft.polls + 1)))))
        case "checking":
            return (yield from _unsent(check_again(caller, state, draft)))
        case "payee":
            return (yield from _unsent(after_decision(caller, state, draft, reply)))
    return (yield from _unsent(dialogue.resume(caller, state, reply, request)))


def _unsent(flow: Flow[Turn]) -> Flow[Turn]:
    """The flow of a payment of which the bank has no order, or holds it until the customer has confirmed its payees: a fault
    means that nothing was done. A refused login is raised, since it must not be used again.
    """
    try:
        return (yield from flow)
    except OrderLost:
        raise
    except BankFault as fault:
        if fault.refuses_login:
            raise
        return Turn(Failed(fault.code, fault.details))
