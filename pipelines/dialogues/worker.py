"""What a worker does with dialogues: it asks the bank for a move, tells how it stands then, and brings on what nobody moves.

It commits that the bank is being asked, asks without holding a transaction, and commits the answer. What dies in between leaves
a dialogue that says so. A payment of which nobody knows is never sent again: the bank is only asked what became of it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import structlog

from pipelines.banks.base import (
    CatalogueBank,
    Code,
    Connector,
    Consent,
    Done,
    Failed,
    FetchRequest,
    Header,
    Order,
    Payment,
    Reply,
    ScaNeeded,
    Turn,
    Unreachable,
    Unusable,
    message,
)
from pipelines.context import Context
from pipelines.dialogues import steps
from pipelines.dialogues.found_accounts import FoundAccounts, found, seal
from pipelines.dialogues.requests import order_of, written
from pipelines.dialogues.steps import Phase, Standing
from pipelines.fetching import connect
from pipelines.fetching.validation import check_header
from warehouse.errors import Busy, DatabaseUnavailable
from warehouse.logs import describe
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Dialogue
from warehouse.secrets.vault import Vault
from warehouse.stores import accesses, dialogues, providers
from warehouse.stores.dialogues import CALLING, CONNECT, CONSENT, LOGIN, ORDER, PAYEE, PAYMENT, REPLY, STATE

DONE_CODES = {CONSENT: Code.CONSENT_DONE, CONNECT: Code.CONSENT_DONE, PAYMENT: Code.TRANSFER_DONE}
CONSENT_LASTS = timedelta(days=180)
AT_ONCE = 200
LOOKS = 12
FIRST_LOOK_SECONDS = 10.0
CALLS_AT_MOST = 8
"""Calls of one move: a bank that goes on asking for what was said before is asked no more."""
T = TypeVar("T")
log = structlog.get_logger("dialogues")


@dataclass(frozen=True)
class Question:
    """Whether an account is a recipient's."""

    name: str
    iban: str


@dataclass(frozen=True)
class MoveJob:
    """Which move of which dialogue."""

    tenant: UUID
    user: UUID
    dialogue: UUID
    move: int


def advance(house: Context, job: MoveJob, now: datetime) -> None:
    """Carries out a move, unless it was carried out or overtaken. Never raises for what a bank does."""
    plan = _plan(house, job, now)
    if plan is None:
        return
    standing, state = _asked(house, plan)
    _settle(house, job, standing, state, plan)
    log.info("moved", dialogue=str(job.dialogue), kind=plan.kind, phase=standing.phase)


def give_up(house: Context, job: MoveJob) -> None:
    """Ends a move whose worker is gone, or that went wrong by our own fault."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is not None:
            _lose(owner, dialogue)


def look_after(house: Context) -> int:
    """Brings on what nobody would move: times that are over, moves whose job is gone, and what the bank should be asked about;
    answers how many that were.
    """
    with house.database.operating() as operator:
        late = dialogues.overdue(operator, AT_ONCE)
        for dialogue in late:
            over = steps.expired(steps.restored(dialogue.step), pays=dialogue.kind == PAYMENT)
            end_as(owner_of(operator, dialogue), dialogue, over)
        lost = dialogues.without_job(operator, AT_ONCE)
        for dialogue in lost:
            if dialogue.phase == CALLING:
                _lose(owner_of(operator, dialogue), dialogue)
            else:
                dialogues.enqueue_again(owner_of(operator, dialogue), dialogue)
        due = dialogues.due(operator, AT_ONCE)
        for dialogue in due:
            dialogues.ask(owner_of(operator, dialogue), house.vault, dialogue, written(Reply()))
    return len(late) + len(lost) + len(due)


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
    given: bool
    """Whether the login was given for this dialogue: an access takes it over at a good end."""


def _plan(house: Context, job: MoveJob, now: datetime) -> _Plan | None:
    """How to ask the bank, committed before it is asked; None if there is nothing to ask."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is None:
            return None
        if dialogue.phase == CALLING:  # its worker died: the bank may have heard of it
            _lose(owner, dialogue)
            return None
        step = steps.restored(dialogue.step) if dialogue.step else None
        looks, elsewhere = is_unknown(dialogue), steps.is_elsewhere(step)
        if not looks and dialogues.is_over(owner, dialogue):  # no worker was there in time
            end_as(owner, dialogue, steps.expired(step, pays=dialogue.kind == PAYMENT))
            return None
        row = providers.find(owner, dialogue.provider_id)
        provider = CatalogueBank(row.id, row.name, row.connector, row.blz, row.bic)
        connector = house.connectors.get(row.connector)
        access = accesses.lock(owner, dialogue.access_id) if dialogue.access_id else None
        known = dialogues.begin_call(owner, house.vault, dialogue)
        given = {name.removeprefix(LOGIN): value.decode() for name, value in known.items() if name.startswith(LOGIN)}
        login = given or (accesses.credentials(owner, house.vault, access) if access else {})
        if connector is None or not row.enabled or not login:
            pays = dialogue.kind == PAYMENT
            unasked = steps.after_fault(Unreachable(), pays=pays, first=True, elsewhere=elsewhere)
            end_as(owner, dialogue, steps.unknown() if looks else unasked)
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
            given=bool(given),
        )


def _ordered(owner: Owner, vault: Vault, dialogue: Dialogue, known: Mapping[str, bytes]) -> Order | Question:
    if dialogue.kind == PAYEE:
        return Question(**json.loads(known[ORDER]))
    return order_of(owner, vault, dialogue) if dialogue.kind == PAYMENT else Consent()


def _asked(house: Context, plan: _Plan) -> tuple[Standing, bytes]:
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
        if plan.kind == CONNECT and first:
            with suppress(ScaNeeded):  # else the bank wants a confirmation before it shows anything
                return _shown(_header(house, plan), None), b""
        turn = _turn(house, plan, plan.state, plan.reply)
        for _ in range(CALLS_AT_MOST):
            move = steps.by_itself(turn.step, plan.method, plan.medium)
            if move is None:
                break
            first = False
            turn = _turn(house, plan, turn.state, move)
        if plan.kind == CONNECT and isinstance(turn.step, Done):
            return _shown(_header(house, plan), turn.step.consent_ends_at), b""
    except (DatabaseUnavailable, Busy):
        raise
    except Exception as fault:
        log.info("bank_failed", connector=plan.connector.name, error=describe(fault))
        pays = plan.kind == PAYMENT
        told = steps.after_fault(fault, pays=pays, first=first, elsewhere=plan.elsewhere)
        return steps.unknown() if plan.looks else told, b""
    return steps.after(steps.fixed(turn.step) if plan.fixed else turn.step, DONE_CODES[plan.kind]), turn.state


def _turn(house: Context, plan: _Plan, state: bytes | None, reply: Reply) -> Turn:
    if state is None:
        order = plan.order if isinstance(plan.order, Payment) else Consent()
        return _call(house, plan, lambda: plan.connector.start(order, plan.request))
    return _call(house, plan, lambda: plan.connector.resume(plan.request, state, reply))


def _header(house: Context, plan: _Plan) -> Header:
    """What the bank shows of all accounts; their bookings are not asked for."""

    def ask() -> Header:
        header = next(iter(plan.connector.fetch(replace(plan.request, wanted=frozenset()))), None)
        if not isinstance(header, Header):
            raise Unusable
        return check_header(header)

    return _call(house, plan, ask)


def _shown(header: Header, consent_ends_at: datetime | None) -> Standing:
    """The end of a look at accounts: they can be chosen now."""
    return Standing(Phase.DONE, found(header, consent_ends_at), [message(Code.CONSENT_DONE)])


def _outcome(house: Context, plan: _Plan) -> Standing:
    """What the bank says of a payment of which we do not know."""
    if not isinstance(plan.order, Payment):
        return steps.unknown()
    reference = plan.order.reference
    found = _call(house, plan, lambda: plan.connector.outcome(plan.request, reference))
    return steps.unknown() if found is None else steps.after(found, DONE_CODES[PAYMENT])


def _call(house: Context, plan: _Plan, ask: Callable[[], T]) -> T:
    """What the bank answers, in a thread of its own and within its time."""

    def answers() -> Iterator[tuple[T]]:
        yield (ask(),)  # None is an answer too, and would be the end of a line

    ((answer,),) = house.lines.listen(plan.request.provider.id, answers(), house.settings.bank_timeout_seconds)
    return answer


def _settle(house: Context, job: MoveJob, standing: Standing, state: bytes, plan: _Plan) -> None:
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
            _keep(owner, house.vault, dialogue, standing.step, plan)
        if isinstance(standing.step, FoundAccounts):
            seal(owner, house.vault, dialogue.id, standing.step.accounts)
            standing = replace(standing, step=Done(standing.step.consent_ends_at))
        end_as(owner, dialogue, standing)


def _keep(owner: Owner, vault: Vault, dialogue: Dialogue, step: object, plan: _Plan) -> None:
    """What a good end changes of the access: how it confirms, and with which login; a consent lets it be fetched, which it is at
    once.
    """
    access = accesses.lock(owner, dialogue.access_id) if dialogue.access_id else None
    if access is None:
        return
    access.sca_method, access.sca_medium = dialogue.method, dialogue.medium
    if plan.given:
        connect.take_login(owner, vault, access, dict(plan.request.credentials), dialogue.login_hash)
    if dialogue.kind == CONSENT and isinstance(step, Done):
        access.consent_ends_at = step.consent_ends_at or plan.request.now + CONSENT_LASTS
        access.messages = [item for item in access.messages if item["code"] != Code.METHOD_NEEDED]
        access.waits_for_customer = bool(access.messages)
        accesses.begin_fetch(owner, access, is_awaited=True, attended_from=dialogue.attended_from)


def end_as(owner: Owner, dialogue: Dialogue, standing: Standing) -> None:
    """Ends a dialogue as it stands. The bank is asked about an unknown end again and again, ever more seldom."""
    dialogue.looks += is_unknown(dialogue)
    dialogue.step = steps.stored(standing.step)
    dialogue.messages = list(standing.messages)
    goes_on = standing.phase is Phase.UNKNOWN and dialogue.looks < LOOKS
    dialogues.end(owner, dialogue, standing.phase, FIRST_LOOK_SECONDS * 2**dialogue.looks if goes_on else None)


def _lose(owner: Owner, dialogue: Dialogue) -> None:
    """Ends a move of which nobody knows what the bank did with it."""
    end_as(owner, dialogue, steps.after_fault(RuntimeError(), pays=dialogue.kind == PAYMENT, first=False))


def is_unknown(dialogue: Dialogue) -> bool:
    """Whether nobody knows the end of it, also while the bank is being asked about it."""
    step = steps.restored(dialogue.step) if dialogue.step else None
    return isinstance(step, Failed) and step.code is Code.OUTCOME_UNKNOWN


def owner_of(operator: Owner, dialogue: Dialogue) -> Owner:
    """The operator's transaction, limited to whose dialogue it is."""
    return Owner(operator.session, dialogue.tenant_id, dialogue.user_id)
