"""The worker's side of dialogues: runs moves at the bank, stores the state afterwards, and advances dialogues that wait for
nobody.

It commits that the bank is being asked, asks without an open transaction, and commits the answer. A crash in between leaves a
dialogue in that phase. A payment with unknown outcome is never sent again: the bank is only asked for its outcome.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
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
    FieldsMissing,
    Header,
    Order,
    Payment,
    Reply,
    ScaNeeded,
    Step,
    Turn,
    Unreachable,
    Unusable,
    message,
    scheduled_message,
)
from pipelines.context import Context
from pipelines.dialogues import steps
from pipelines.dialogues.found_accounts import accounts_of, seal
from pipelines.dialogues.requests import dump_reply, order_of
from pipelines.dialogues.steps import ASK_FOR_CONSENT, Phase, Standing
from pipelines.fetching import connect
from pipelines.fetching.refresh import CUSTOMER_CODES
from pipelines.fetching.validation import check_header
from warehouse.errors import Busy, DatabaseUnavailable
from warehouse.logs import describe
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Dialogue
from warehouse.secrets.vault import Vault
from warehouse.stores import accesses, dialogues, providers, webhooks
from warehouse.stores.dialogues import CALLING, CONNECT, CONSENT, LOGIN, ORDER, PAYEE, PAYMENT, REPLY, STATE
from warehouse.stores.webhooks import NewEvent
from warehouse.webhook_types import EventType

DONE_CODES = {CONSENT: Code.CONSENT_DONE, CONNECT: Code.CONSENT_DONE, PAYMENT: Code.TRANSFER_DONE}
CONSENT_DURATION = timedelta(days=180)
BATCH_DIALOGUES = 200
MAX_LOOKS = 12
FIRST_LOOK_SECONDS = 10.0
MAX_CALLS_PER_MOVE = 8
"""Calls to the bank per move, for a bank that keeps asking for choices that were made before."""
T = TypeVar("T")
log = structlog.get_logger("dialogues")


@dataclass(frozen=True)
class Question:
    """The question whether an account belongs to a recipient."""

    name: str
    iban: str


@dataclass(frozen=True)
class MoveJob:
    """The ids of one move of one dialogue."""

    tenant: UUID
    user: UUID
    dialogue: UUID
    move: int


def advance(context: Context, job: MoveJob, now: datetime) -> None:
    """Runs a move, unless it has been run or is outdated. Never raises for a fault of the bank."""
    plan = _plan(context, job, now)
    if plan is None:
        return
    standing, state = _ask_bank(context, plan, partial(_may_go_on, context, job))
    _settle(context, job, standing, state, plan)
    log.info("moved", dialogue=str(job.dialogue), kind=plan.kind, phase=standing.phase)


def give_up(context: Context, job: MoveJob) -> None:
    """Ends a move whose worker died, or that failed by an error of ours."""
    with context.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is not None:
            _end_lost(owner, dialogue)


def advance_overdue(context: Context) -> int:
    """Advances dialogues that are expired, that lost their job, or whose bank should be asked again; returns their number."""
    events: list[NewEvent] = []
    with context.database.operating() as operator:
        overdue_dialogues = dialogues.overdue(operator, BATCH_DIALOGUES)
        for dialogue in overdue_dialogues:
            standing = steps.after_expiry(steps.load_step(dialogue.step), pays=dialogue.kind == PAYMENT)
            events += _end(owner_of(operator, dialogue), dialogue, standing)
        lost_dialogues = dialogues.without_job(operator, BATCH_DIALOGUES)
        for dialogue in lost_dialogues:
            if dialogue.phase == CALLING:
                events += _end(owner_of(operator, dialogue), dialogue, _lost_standing(dialogue))
            else:
                dialogues.enqueue_again(owner_of(operator, dialogue), dialogue)
        due_dialogues = dialogues.due(operator, BATCH_DIALOGUES)
        for dialogue in due_dialogues:
            dialogues.ask(owner_of(operator, dialogue), context.vault, dialogue, dump_reply(Reply()))
        webhooks.announce(operator, *events)
    return len(overdue_dialogues) + len(lost_dialogues) + len(due_dialogues)


@dataclass(frozen=True)
class _Plan:
    """The call to make at the bank."""

    kind: str
    connector: Connector
    request: FetchRequest
    order: Order | Question
    state: bytes | None = field(repr=False)
    reply: Reply
    method: str | None
    medium: str | None
    looks: bool
    """Whether the bank is only asked for the outcome of a payment."""
    elsewhere: bool
    """Whether the customer may have confirmed outside of Kontor."""
    fixed: bool
    login_is_new: bool
    """Whether the login was entered for this dialogue: the access takes it over after success."""


def _plan(context: Context, job: MoveJob, now: datetime) -> _Plan | None:
    """The call to make, committed before it is made; None if there is nothing to ask."""
    with context.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is None:
            return None
        if dialogue.phase == CALLING:  # its worker died: the bank may have received it
            _end_lost(owner, dialogue)
            return None
        step = steps.load_step(dialogue.step) if dialogue.step else None
        looks, elsewhere = is_unknown(dialogue), steps.is_confirmed_elsewhere(step)
        if not looks and dialogues.is_over(owner, dialogue):  # no worker was free in time
            end_as(owner, dialogue, steps.after_expiry(step, pays=dialogue.kind == PAYMENT))
            return None
        if not dialogues.may_go_on(owner, dialogue):
            stop(owner, dialogue)
            return None
        provider_row = providers.find(owner, dialogue.provider_id)
        provider = CatalogueBank(provider_row.id, provider_row.name, provider_row.connector, provider_row.blz, provider_row.bic)
        connector = context.connectors.get(provider_row.connector)
        access = accesses.lock(owner, dialogue.access_id) if dialogue.access_id else None
        sealed_values = dialogues.begin_call(owner, context.vault, dialogue)
        typed_login = {
            name.removeprefix(LOGIN): value.decode() for name, value in sealed_values.items() if name.startswith(LOGIN)
        }
        login = typed_login or (accesses.readable_credentials(owner, context.vault, access) or {} if access else {})
        if connector is None or not provider_row.enabled or not login:
            pays = dialogue.kind == PAYMENT
            fault = FieldsMissing() if access and not login else Unreachable()
            unasked = steps.after_fault(fault, pays=pays, first=True, elsewhere=elsewhere)
            end_as(owner, dialogue, steps.unknown_outcome() if looks else unasked)
            return None
        request = FetchRequest(provider, login, now, attended_from=dialogue.attended_from, return_to=dialogue.return_to)
        return _Plan(
            dialogue.kind,
            connector,
            request,
            _order(owner, context.vault, dialogue, sealed_values),
            sealed_values.get(STATE),
            Reply(**json.loads(sealed_values[REPLY])),
            dialogue.method,
            dialogue.medium,
            looks=looks,
            elsewhere=elsewhere,
            fixed=dialogue.fixed,
            login_is_new=bool(typed_login),
        )


def _order(owner: Owner, vault: Vault, dialogue: Dialogue, sealed_values: Mapping[str, bytes]) -> Order | Question:
    if dialogue.kind == PAYEE:
        return Question(**json.loads(sealed_values[ORDER]))
    return order_of(owner, vault, dialogue) if dialogue.kind == PAYMENT else Consent()


def _ask_bank(context: Context, plan: _Plan, may_go_on: Callable[[], bool] = lambda: True) -> tuple[Standing, bytes]:
    """The state after asking the bank, and the bank's own state for the next move. `may_go_on` says before each further call of
    the same move whether the bank may still be asked.
    """
    first = plan.state is None
    stopped_standing = steps.after_deactivation(None, pays=plan.kind == PAYMENT)
    try:
        if plan.looks:
            return _outcome(context, plan), plan.state or b""
        if isinstance(plan.order, Question):
            question = plan.order
            return steps.after_verification(
                _call(context, plan, lambda: plan.connector.verify_payee(plan.request, question.name, question.iban))
            ), b""
        if plan.kind == CONNECT and first:
            with suppress(ScaNeeded):  # otherwise the bank requires a confirmation first
                return _accounts_standing(_header(context, plan), None), b""
            if not may_go_on():
                return stopped_standing, b""
        turn = _turn(context, plan, plan.state, plan.reply)
        for _ in range(MAX_CALLS_PER_MOVE):
            move = steps.automatic_reply(turn.step, plan.method, plan.medium)
            if move is None:
                break
            if not may_go_on():
                return stopped_standing, b""
            first = False
            turn = _turn(context, plan, turn.state, move)
        if plan.kind == CONNECT and isinstance(turn.step, Done):
            if not may_go_on():
                return stopped_standing, b""
            return _accounts_standing(_header(context, plan), turn.step.consent_ends_at), b""
    except (DatabaseUnavailable, Busy):
        raise
    except Exception as fault:
        log.info("bank_failed", connector=plan.connector.name, error=describe(fault))
        pays = plan.kind == PAYMENT
        standing = steps.after_fault(fault, pays=pays, first=first, elsewhere=plan.elsewhere)
        return steps.unknown_outcome() if plan.looks else standing, b""
    return _after_step(context, plan, steps.refuse_choices(turn.step) if plan.fixed else turn.step), turn.state


def _after_step(context: Context, plan: _Plan, step: Step) -> Standing:
    """The state after a step of the bank. A transfer of a later day is scheduled, not executed."""
    standing = steps.after_step(step, DONE_CODES[plan.kind])
    execute_on = plan.order.execute_on if isinstance(plan.order, Payment) else None
    if (
        standing.phase is Phase.DONE
        and execute_on is not None
        and execute_on > plan.request.now.astimezone(context.settings.zone).date()
    ):
        return replace(standing, messages=[scheduled_message(execute_on)])
    return standing


def _may_go_on(context: Context, job: MoveJob) -> bool:
    """Whether the move is still wanted and those for whom it runs are active."""
    with context.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        return dialogue is not None and dialogues.may_go_on(owner, dialogue)


def _turn(context: Context, plan: _Plan, state: bytes | None, reply: Reply) -> Turn:
    if state is None:
        order = plan.order if isinstance(plan.order, Payment) else Consent()
        return _call(context, plan, lambda: plan.connector.start(order, plan.request))
    return _call(context, plan, lambda: plan.connector.resume(plan.request, state, reply))


def _header(context: Context, plan: _Plan) -> Header:
    """The bank's header with all accounts, without bookings."""

    def ask() -> Header:
        header = next(iter(plan.connector.fetch(replace(plan.request, wanted=frozenset()))), None)
        if not isinstance(header, Header):
            raise Unusable
        return check_header(header)

    return _call(context, plan, ask)


def _accounts_standing(header: Header, consent_ends_at: datetime | None) -> Standing:
    """The final state of a list of accounts: the customer can choose now."""
    end = Done(consent_ends_at or header.consent_ends_at)
    return Standing(Phase.DONE, end, [message(Code.CONSENT_DONE)], accounts=accounts_of(header))


def _outcome(context: Context, plan: _Plan) -> Standing:
    """The state after asking the bank for the outcome of a payment."""
    if not isinstance(plan.order, Payment):
        return steps.unknown_outcome()
    reference = plan.order.reference
    bank_step = _call(context, plan, lambda: plan.connector.outcome(plan.request, reference))
    return steps.unknown_outcome() if bank_step is None else _after_step(context, plan, bank_step)


def _call(context: Context, plan: _Plan, ask: Callable[[], T]) -> T:
    """The bank's answer, from a thread of its own and within the time limit."""

    def answers() -> Iterator[tuple[T]]:
        yield (ask(),)  # in a tuple, because None is an answer too but would end the session

    ((answer,),) = context.sessions.listen(plan.request.provider.id, answers(), context.settings.bank_timeout_seconds)
    return answer


def _settle(context: Context, job: MoveJob, standing: Standing, state: bytes, plan: _Plan) -> None:
    """Stores the state, unless the move was ended meanwhile.

    If somebody for whom the dialogue runs was deactivated during the call, the bank's final word is stored as it is, nothing
    follows from it, and a dialogue that would go on ends.
    """
    with context.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is None or dialogue.phase != CALLING:
            log.warning("late_answer_dropped", dialogue=str(job.dialogue))
            return
        if not dialogues.may_go_on(owner, dialogue):
            pays = dialogue.kind == PAYMENT
            is_final = standing.phase is not Phase.OPEN
            end_as(
                owner, dialogue, standing if is_final else steps.after_deactivation(standing.step, pays=pays), asks_again=False
            )
            return
        if standing.phase is Phase.OPEN:
            dialogue.step = steps.dump_step(standing.step)
            dialogue.messages = list(standing.messages)
            dialogues.open_again(owner, context.vault, dialogue, state, standing.look_after)
            return
        if standing.phase is Phase.DONE:
            _update_access(owner, context.vault, dialogue, standing.step, plan)
        if standing.accounts is not None:
            seal(owner, context.vault, dialogue.id, standing.accounts)
        end_as(owner, dialogue, standing)


def _update_access(owner: Owner, vault: Vault, dialogue: Dialogue, step: object, plan: _Plan) -> None:
    """Updates the access after success: its method, medium and login; after a consent, also begins a fetch."""
    access = accesses.lock(owner, dialogue.access_id) if dialogue.access_id else None
    if access is None:
        return
    access.sca_method, access.sca_medium = dialogue.method, dialogue.medium
    if plan.login_is_new:
        connect.take_login(owner, vault, access, dict(plan.request.credentials), dialogue.login_hash)
    if dialogue.kind == CONSENT and isinstance(step, Done):
        access.consent_ends_at = step.consent_ends_at or plan.request.now + CONSENT_DURATION
        access.messages = [item for item in access.messages if item["code"] not in ASK_FOR_CONSENT]
        access.waits_for_customer = any(item["code"] in CUSTOMER_CODES for item in access.messages)
        asker = owner.through(dialogue.client_id, dialogue.api_key_id)
        accesses.begin_fetch(asker, access, is_awaited=True, attended_from=dialogue.attended_from)


def stop(owner: Owner, dialogue: Dialogue) -> None:
    """Ends a dialogue because somebody for whom it runs was deactivated. The bank is not asked again."""
    step = steps.load_step(dialogue.step) if dialogue.step else None
    end_as(owner, dialogue, steps.after_deactivation(step, pays=dialogue.kind == PAYMENT), asks_again=False)


def end_as(owner: Owner, dialogue: Dialogue, standing: Standing, *, asks_again: bool = True) -> None:
    """Ends a dialogue in this state. While an outcome is unknown, the bank is asked again at doubling intervals.

    `asks_again` is false for somebody who was deactivated: nothing follows from the end, and no webhook is told of it.
    """
    webhooks.announce(owner, *_end(owner, dialogue, standing, asks_again=asks_again))


def _end(owner: Owner, dialogue: Dialogue, standing: Standing, *, asks_again: bool = True) -> list[NewEvent]:
    """The same without the announcement; returns the events to announce at the end of the transaction."""
    dialogue.looks += is_unknown(dialogue)
    dialogue.step = steps.dump_step(standing.step)
    dialogue.messages = list(standing.messages)
    if dialogue.kind == CONSENT and standing.phase is Phase.FAILED:
        _tell_access(owner, dialogue, standing)
    goes_on = asks_again and standing.phase is Phase.UNKNOWN and dialogue.looks < MAX_LOOKS
    dialogues.end(owner, dialogue, standing.phase, FIRST_LOOK_SECONDS * 2**dialogue.looks if goes_on else None)
    if dialogue.kind != PAYMENT or not asks_again or standing.phase is Phase.UNKNOWN:
        return []
    outcome = {"outcome": str(standing.phase)}
    return [NewEvent(EventType.PAYMENT_FINAL, dialogue.user_id, dialogue_id=dialogue.id, details=outcome)]


def _tell_access(owner: Owner, dialogue: Dialogue, standing: Standing) -> None:
    """Says in the access why its consent was not given, so that the customer is offered to begin again."""
    access = accesses.lock(owner, dialogue.access_id) if dialogue.access_id else None
    reasons = [item for item in standing.messages if item["code"] in ASK_FOR_CONSENT]
    if access is not None and reasons:
        others = [item for item in access.messages if item["code"] not in {reason["code"] for reason in reasons}]
        access.messages = reasons + others


def _end_lost(owner: Owner, dialogue: Dialogue) -> None:
    """Ends a move of which nobody knows whether the bank received it."""
    end_as(owner, dialogue, _lost_standing(dialogue))


def _lost_standing(dialogue: Dialogue) -> Standing:
    return steps.after_fault(RuntimeError(), pays=dialogue.kind == PAYMENT, first=False)


def is_unknown(dialogue: Dialogue) -> bool:
    """Whether the outcome of the dialogue is unknown, also while the bank is being asked for it."""
    step = steps.load_step(dialogue.step) if dialogue.step else None
    return isinstance(step, Failed) and step.code is Code.OUTCOME_UNKNOWN


def owner_of(operator: Owner, dialogue: Dialogue) -> Owner:
    """The operator's transaction, limited to the user of a dialogue."""
    return Owner(operator.session, dialogue.tenant_id, dialogue.user_id)
