"""Dialogues with a bank, from the customer's wish to the bank's last word.

A request puts a move down (`begin`, `reply`) and waits; the worker carries it out (`advance`): it commits that the bank is being
asked, asks without holding a transaction, and commits the answer. What dies in between leaves a dialogue that says so. A payment
of which nobody knows is never sent again: the bank is only asked what became of it (`look`).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar
from uuid import UUID

import structlog

from pipelines import payments, steps
from pipelines.banks.base import (
    Code,
    Connector,
    Consent,
    Done,
    Failed,
    FetchRequest,
    Order,
    Payment,
    Provider,
    Reply,
    Turn,
    Unreachable,
)
from pipelines.house import House
from pipelines.steps import Phase, Standing
from warehouse import accesses, dialogues, providers, sealed_values
from warehouse.database import Owner
from warehouse.dialogues import CALLING, CONSENT, LOGIN, OPEN, ORDER, PAYEE, PAYMENT, REPLY, STATE, UNKNOWN
from warehouse.errors import Busy, DatabaseUnavailable, Invalid, NameTaken, OutOfTurn, PaymentDiffers, PaymentRepeated
from warehouse.logs import describe
from warehouse.settings import Settings
from warehouse.tables import Access, Dialogue
from warehouse.vault import Vault

DONE_CODES = {CONSENT: Code.CONSENT_DONE, PAYMENT: Code.TRANSFER_DONE}
CONSENT_LASTS = timedelta(days=180)
AT_ONCE = 200
ALIKE_SECONDS = 60
UNKNOWN_AT_MOST = 1_000
LOOKS = 12
FIRST_LOOK_SECONDS = 10.0
CALLS_AT_MOST = 8
"""Calls of one move: a bank that goes on asking for what was said before is asked no more."""
T = TypeVar("T")
log = structlog.get_logger("dialogues")


@dataclass(frozen=True)
class MoveJob:
    """Which move of which dialogue."""

    tenant: UUID
    user: UUID
    dialogue: UUID
    move: int


@dataclass(frozen=True)
class Wanted:
    """How a dialogue is held: where the customer is, where a bank's own pages lead back to, and what was chosen before."""

    attended_from: str | None
    return_to: str | None = None
    method: str | None = None
    medium: str | None = None
    fixed: bool = False
    """Whether method and medium cannot be chosen any more."""


@dataclass(frozen=True)
class Who:
    """With which login a bank is asked: that of an access, or one that was given for this dialogue alone."""

    provider_id: UUID
    login_hash: bytes = field(repr=False)
    access: Access | None = None
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)


def begin_consent(owner: Owner, vault: Vault, settings: Settings, access: Access, wanted: Wanted) -> Dialogue:
    """Puts down the first move of a consent for an access."""
    who = Who(access.provider_id, access.login_hash, access)
    dialogue = dialogues.add(owner, CONSENT, seconds=settings.dialogue_seconds, **_columns(who, wanted))
    dialogues.ask(owner, vault, dialogue, _written(Reply()))
    return dialogue


def begin_payment(owner: Owner, vault: Vault, settings: Settings, who: Who, order: Payment, wanted: Wanted) -> Dialogue:
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
    for name, value in who.credentials.items():
        sealed_values.put(owner, vault, dialogues.subject(dialogue.id), LOGIN + name, value.encode())
    dialogues.ask(owner, vault, dialogue, _written(Reply()))
    return dialogue


def begin_payment_once(
    owner: Owner, vault: Vault, settings: Settings, who: Who, order: Payment, wanted: Wanted, *, named: bool
) -> Dialogue:
    """Begins a payment, unless it was begun before. One with an id of the caller (`named`) is found again by it for ever; of the
    others an equal one within a minute is taken for a mistake.
    """
    known = dialogues.of_payment(owner, order.reference) if named else None
    if known is not None:
        if known.digest != payments.digest(order) or known.access_id != (who.access.id if who.access else None):
            raise PaymentDiffers
        return known
    if not named and dialogues.alike(owner, payments.digest_without_reference(order), ALIKE_SECONDS):
        raise PaymentRepeated
    try:
        return begin_payment(owner, vault, settings, who, order, wanted)
    except NameTaken as error:  # somebody else has begun it in this moment: next time it is known
        raise Busy from error


def begin_verification(
    owner: Owner, vault: Vault, settings: Settings, who: Who, payment_id: UUID, name: str, iban: str
) -> Dialogue:
    """Puts down a question about a payee, to be asked for a payment."""
    dialogue = dialogues.add(
        owner, PAYEE, seconds=settings.dialogue_seconds, **_columns(who, Wanted(None)), digest=_asks(payment_id, name, iban)
    )
    question = json.dumps({"name": name, "iban": iban}).encode()
    sealed_values.put(owner, vault, dialogues.subject(dialogue.id), ORDER, question)
    dialogues.ask(owner, vault, dialogue, _written(Reply()))
    return dialogue


def verified(owner: Owner, verification_id: UUID, order: Payment) -> bool:
    """Whether this verification was asked for just this payment: its id, the name and the IBAN."""
    dialogue = dialogues.find(owner, verification_id, PAYEE)
    transfer = order.transfers[0]
    return dialogue.digest == _asks(order.reference, transfer.recipient, transfer.iban)


def reply(owner: Owner, vault: Vault, dialogue: Dialogue, move: Reply) -> int:
    """Puts down a customer's move on a dialogue that the caller has locked; answers its number."""
    if dialogue.phase != OPEN or dialogues.ended(owner, dialogue):
        raise OutOfTurn
    steps.check(steps.restored(dialogue.step), move)
    dialogue.method = move.method or dialogue.method
    dialogue.medium = move.medium or dialogue.medium
    return dialogues.ask(owner, vault, dialogue, _written(move))


def order_of(owner: Owner, vault: Vault, dialogue: Dialogue) -> Payment:
    """The payment that a dialogue is about."""
    return payments.from_json(sealed_values.get(owner, vault, dialogues.order_subject(dialogue.id), ORDER))


def advance(house: House, job: MoveJob, now: datetime) -> None:
    """Carries out a move, unless it was carried out or overtaken. Never raises for what a bank does."""
    plan = _plan(house, job, now)
    if plan is None:
        return
    standing, state = _asked(house, plan)
    _settle(house, job, standing, state, plan)
    log.info("moved", dialogue=str(job.dialogue), kind=plan.kind, phase=standing.phase)


def give_up(house: House, job: MoveJob) -> None:
    """Ends a move whose worker is gone, or that went wrong by our own fault."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is not None:
            _lose(owner, dialogue)


def look_after(house: House) -> int:
    """Brings on what nobody would move: times that are over, moves whose job is gone, and what the bank should be asked about;
    answers how many that were.
    """
    with house.database.operating() as operator:
        late = dialogues.overdue(operator, AT_ONCE)
        for dialogue in late:
            _apply(
                _owner(operator, dialogue), dialogue, steps.expired(steps.restored(dialogue.step), pays=dialogue.kind == PAYMENT)
            )
        lost = dialogues.without_job(operator, AT_ONCE)
        for dialogue in lost:
            if dialogue.phase == CALLING:
                _lose(_owner(operator, dialogue), dialogue)
            else:
                dialogues.put_down_again(_owner(operator, dialogue), dialogue)
        due = dialogues.due(operator, AT_ONCE)
        for dialogue in due:
            dialogues.ask(_owner(operator, dialogue), house.vault, dialogue, _written(Reply()))
    return len(late) + len(lost) + len(due)


def unknown_payments(operator: Owner) -> Sequence[tuple[Dialogue, str]]:
    """Payments of which nobody knows the end, each with the name of its tenant; the oldest first."""
    return dialogues.unknown(operator, Code.OUTCOME_UNKNOWN, UNKNOWN_AT_MOST)


def settle(operator: Owner, id_: UUID, *, executed: bool) -> Dialogue:
    """Ends an unknown payment as an operator has heard from the bank. `id_` is the payment's or the dialogue's."""
    dialogue = _unknown(operator, id_)
    step = Done() if executed else Failed(Code.TRANSFER_REFUSED)
    _apply(_owner(operator, dialogue), dialogue, steps.after(step, DONE_CODES[PAYMENT]))
    log.info("settled_by_hand", dialogue=str(dialogue.id), phase=dialogue.phase)
    return dialogue


def look_now(operator: Owner, id_: UUID) -> Dialogue:
    """Lets a worker ask the bank now what became of an unknown payment."""
    dialogue = _unknown(operator, id_)
    dialogues.look_now(_owner(operator, dialogue), dialogue)
    return dialogue


@dataclass(frozen=True)
class Question:
    """Whether an account is a recipient's."""

    name: str
    iban: str


@dataclass(frozen=True)
class _Plan:
    """How to ask the bank."""

    kind: str
    connector: Connector
    request: FetchRequest
    order: Order | Question
    state: bytes | None = field(repr=False)
    reply: Reply
    method: str | None
    medium: str | None
    looks: bool
    """Whether the bank is only asked what became of a payment."""
    elsewhere: bool
    """Whether the customer may have confirmed without us."""
    fixed: bool


def _plan(house: House, job: MoveJob, now: datetime) -> _Plan | None:
    """How to ask the bank, committed before it is asked; None if there is nothing to ask."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is None:
            return None
        if dialogue.phase == CALLING:  # its worker died: the bank may have heard of it
            _lose(owner, dialogue)
            return None
        step = steps.restored(dialogue.step) if dialogue.step else None
        looks, elsewhere = _is_unknown(dialogue), steps.is_elsewhere(step)
        if not looks and dialogues.ended(owner, dialogue):  # no worker was there in time
            _apply(owner, dialogue, steps.expired(step, pays=dialogue.kind == PAYMENT))
            return None
        row = providers.find(owner, dialogue.provider_id)
        provider = Provider(row.id, row.name, row.connector, row.blz, row.bic)
        connector = house.connectors.get(row.connector)
        access = accesses.lock(owner, dialogue.access_id) if dialogue.access_id else None
        known = dialogues.call(owner, house.vault, dialogue)
        login = {name.removeprefix(LOGIN): value.decode() for name, value in known.items() if name.startswith(LOGIN)}
        login = login or (accesses.credentials(owner, house.vault, access) if access else {})
        if connector is None or not row.enabled or not login:
            pays = dialogue.kind == PAYMENT
            unasked = steps.after_fault(Unreachable(), pays=pays, first=True, elsewhere=elsewhere)
            _apply(owner, dialogue, steps.unknown() if looks else unasked)
            return None
        request = FetchRequest(provider, login, now, attended_from=dialogue.attended_from, return_to=dialogue.return_to)
        return _Plan(
            dialogue.kind,
            connector,
            request,
            _ordered(owner, house.vault, dialogue, known),
            known.get(STATE),
            Reply(**json.loads(known[REPLY])),
            dialogue.method,
            dialogue.medium,
            looks=looks,
            elsewhere=elsewhere,
            fixed=dialogue.fixed,
        )


def _ordered(owner: Owner, vault: Vault, dialogue: Dialogue, known: Mapping[str, bytes]) -> Order | Question:
    if dialogue.kind == PAYEE:
        return Question(**json.loads(known[ORDER]))
    return Consent() if dialogue.kind == CONSENT else order_of(owner, vault, dialogue)


def _asked(house: House, plan: _Plan) -> tuple[Standing, bytes]:
    """How things stand after the bank was asked, and what it wants to be shown next time."""
    first = plan.state is None
    try:
        if plan.looks:
            return _outcome(house, plan), plan.state or b""
        if isinstance(plan.order, Question):
            asked = plan.order
            return steps.verified(
                _call(house, plan, lambda: plan.connector.verify_payee(plan.request, asked.name, asked.iban))
            ), b""
        turn = _turn(house, plan, plan.state, plan.reply)
        for _ in range(CALLS_AT_MOST):
            move = steps.by_itself(turn.step, plan.method, plan.medium)
            if move is None:
                break
            first = False
            turn = _turn(house, plan, turn.state, move)
    except (DatabaseUnavailable, Busy):
        raise
    except Exception as fault:
        log.info("bank_failed", connector=plan.connector.name, error=describe(fault))
        pays = plan.kind == PAYMENT
        told = steps.after_fault(fault, pays=pays, first=first, elsewhere=plan.elsewhere)
        return steps.unknown() if plan.looks else told, b""
    return steps.after(steps.fixed(turn.step) if plan.fixed else turn.step, DONE_CODES[plan.kind]), turn.state


def _turn(house: House, plan: _Plan, state: bytes | None, reply: Reply) -> Turn:
    if state is None:
        order = plan.order if isinstance(plan.order, Payment) else Consent()
        return _call(house, plan, lambda: plan.connector.start(order, plan.request))
    return _call(house, plan, lambda: plan.connector.resume(plan.request, state, reply))


def _outcome(house: House, plan: _Plan) -> Standing:
    """What the bank says of a payment of which we do not know."""
    if not isinstance(plan.order, Payment):
        return steps.unknown()
    reference = plan.order.reference
    found = _call(house, plan, lambda: plan.connector.outcome(plan.request, reference))
    return steps.unknown() if found is None else steps.after(found, DONE_CODES[PAYMENT])


def _call(house: House, plan: _Plan, ask: Callable[[], T]) -> T:
    """What the bank answers, in a thread of its own and within its time."""

    def answers() -> Iterator[tuple[T]]:
        yield (ask(),)  # None is an answer too, and would be the end of a line

    ((answer,),) = house.lines.listen(plan.request.provider.id, answers(), house.settings.bank_timeout_seconds)
    return answer


def _settle(house: House, job: MoveJob, standing: Standing, state: bytes, plan: _Plan) -> None:
    """Stores how things stand, unless somebody else has ended the move meanwhile."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is None or dialogue.phase != CALLING:
            log.warning("late_answer_dropped", dialogue=str(job.dialogue))
            return
        if standing.phase is Phase.OPEN:
            dialogue.step = steps.stored(standing.step)
            dialogue.messages = list(standing.messages)
            dialogues.open_again(owner, house.vault, dialogue, state, standing.look_after)
            return
        if standing.phase is Phase.DONE:
            _keep(owner, dialogue, standing.step, plan.request.now)
        _apply(owner, dialogue, standing)


def _keep(owner: Owner, dialogue: Dialogue, step: object, now: datetime) -> None:
    """What a good end changes of the access: how it confirms; a consent lets it be fetched, which it is at once."""
    access = accesses.lock(owner, dialogue.access_id) if dialogue.access_id else None
    if access is None:
        return
    access.sca_method, access.sca_medium = dialogue.method, dialogue.medium
    if dialogue.kind == CONSENT and isinstance(step, Done):
        access.consent_ends_at = step.consent_ends_at or now + CONSENT_LASTS
        access.messages = [item for item in access.messages if item["code"] != Code.METHOD_NEEDED]
        access.waits_for_customer = bool(access.messages)
        accesses.begin_fetch(owner, access, awaited=True, attended_from=dialogue.attended_from)


def _apply(owner: Owner, dialogue: Dialogue, standing: Standing) -> None:
    """Ends a dialogue as it stands. The bank is asked about an unknown end again and again, ever more seldom."""
    dialogue.looks += _is_unknown(dialogue)
    dialogue.step = steps.stored(standing.step)
    dialogue.messages = list(standing.messages)
    goes_on = standing.phase is Phase.UNKNOWN and dialogue.looks < LOOKS
    dialogues.end(owner, dialogue, standing.phase, FIRST_LOOK_SECONDS * 2**dialogue.looks if goes_on else None)


def _lose(owner: Owner, dialogue: Dialogue) -> None:
    """Ends a move of which nobody knows what the bank did with it."""
    _apply(owner, dialogue, steps.after_fault(RuntimeError(), pays=dialogue.kind == PAYMENT, first=False))


def _unknown(operator: Owner, id_: UUID) -> Dialogue:
    """An unknown payment, locked; `Invalid` says why another one is none."""
    dialogue = dialogues.named(operator, id_)
    if dialogue.phase != UNKNOWN:
        asked = "the bank is being asked about it just now" if _is_unknown(dialogue) else f"its phase is {dialogue.phase}"
        raise Invalid(f"the end of this payment is not unknown: {asked}")
    return dialogue


def _is_unknown(dialogue: Dialogue) -> bool:
    step = steps.restored(dialogue.step) if dialogue.step else None
    return isinstance(step, Failed) and step.code is Code.OUTCOME_UNKNOWN


def _columns(who: Who, wanted: Wanted) -> dict[str, object]:
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


def _owner(operator: Owner, dialogue: Dialogue) -> Owner:
    return Owner(operator.session, dialogue.tenant_id, dialogue.user_id)


def _written(move: Reply) -> bytes:
    return json.dumps(asdict(move)).encode()
