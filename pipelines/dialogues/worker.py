"""The worker's side of dialogues: runs moves at the bank, stores the state afterwards, and advances dialogues that wait for
nobody.

It commits that the bank is being asked, asks without an open transaction, and commits the answer. A crash in between leaves a
dialogue in that phase. A payment with unknown outcome is never sent again: the bank is only asked for its outcome.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog

from pipelines.banks.base import (
    MAX_STATE_BYTES,
    AccessLocked,
    Code,
    Connector,
    Consent,
    Done,
    Failed,
    FetchRequest,
    FieldsMissing,
    Header,
    LoginFate,
    Offer,
    Order,
    Payment,
    Reply,
    ScaNeeded,
    Step,
    Turn,
    Unreachable,
    Unusable,
    WrongCredentials,
    message,
    scheduled_message,
)
from pipelines.banks.connectors import as_bank
from pipelines.banks.login_attempts import ENTER_AGAIN, LoginUnclear
from pipelines.context import Context
from pipelines.dialogues import steps
from pipelines.dialogues.found_accounts import accounts_of, seal
from pipelines.dialogues.requests import dump_reply, order_of
from pipelines.dialogues.steps import ASK_FOR_CONSENT, Phase, Standing
from pipelines.fetching import attempts, connect, refresh
from pipelines.fetching.attempts import LoginUse
from pipelines.fetching.refresh import CUSTOMER_CODES
from pipelines.fetching.store import BankAnswer, FetchJob, storable_memory
from pipelines.fetching.validation import check_header
from warehouse.errors import Busy, DatabaseUnavailable, KontorError
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Dialogue
from warehouse.runtime.logs import describe
from warehouse.secrets.vault import Vault
from warehouse.stores import accesses, bank_logins, dialogues, providers, webhooks
from warehouse.stores.bank_logins import LoginTrace
from warehouse.stores.dialogues import CALLING, CONNECT, CONSENT, LOGIN, MEMORY, OPEN, ORDER, PAYEE, PAYMENT, REPLY, STATE
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


class StateTooLarge(KontorError):
    """A connector needs more state between two moves than can be stored."""


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
    fetch = _settle(context, job, standing, state, plan)
    if fetch is not None and (answer := _fetched(context, plan, standing)) is not None:
        refresh.publish_answer(context, fetch, answer, now, plan.request.provider.id)
    log.info("moved", dialogue=str(job.dialogue), kind=plan.kind, phase=standing.phase)


def give_up(context: Context, job: MoveJob) -> None:
    """Ends a move whose worker died, or that failed by an error of ours."""
    with context.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is not None:
            _recover(owner, dialogue)


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
                events += _after_loss(owner_of(operator, dialogue), dialogue)
            else:
                dialogues.enqueue_again(owner_of(operator, dialogue), dialogue)
        due_dialogues = dialogues.due(operator, BATCH_DIALOGUES)
        for dialogue in due_dialogues:
            dialogue.polls += dialogue.phase == OPEN
            dialogues.ask(owner_of(operator, dialogue), context.vault, dialogue, dump_reply(Reply()))
        webhooks.announce(operator, *events)
    return len(overdue_dialogues) + len(lost_dialogues) + len(due_dialogues)


@dataclass(frozen=True)
class _Plan:
    """The call to make at the bank."""

    kind: str
    connector: Connector
    request: FetchRequest
    login: LoginUse
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
    cancelled: bool
    """Whether the customer has cancelled the payment before confirming anything."""
    stored_memory: bytes = field(repr=False)
    """What the connector remembers of the access. The request may have a newer memory, from an earlier move."""
    login_is_new: bool
    """Whether the login was entered for this dialogue: the access takes it over after success."""


def _plan(context: Context, job: MoveJob, now: datetime) -> _Plan | None:
    """The call to make, committed before it is made; None if there is nothing to ask."""
    with context.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        if dialogue is None:
            return None
        if dialogue.phase == CALLING:  # its worker died: the bank may have received it
            _recover(owner, dialogue)
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
        provider = as_bank(provider_row)
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
        trace = bank_logins.trace(owner, context.vault, dialogue.provider_id, dialogue.login_hash, login)
        entered_at = access.login_entered_at if access and not typed_login else None
        refused = bank_logins.stopping_refusal(bank_logins.refusals(owner, trace), trace, entered_at, attended=not looks)
        use = _login_use(dialogue, trace, access, connector.offer(provider), is_typed=bool(typed_login))
        attempt = attempts.look(owner, use)
        if refused or attempt is None:
            refusal = LoginUnclear() if not refused else AccessLocked() if refused.locked else WrongCredentials()
            unasked = steps.after_fault(
                refusal, pays=dialogue.kind == PAYMENT, first=STATE not in sealed_values, elsewhere=elsewhere
            )
            end_as(owner, dialogue, steps.unknown_outcome() if looks else unasked)
            return None
        attempts.begin(owner, attempt)
        stored_memory = accesses.memory(owner, context.vault, access) if access else b""
        request = FetchRequest(
            provider,
            login,
            now,
            attended_from=dialogue.attended_from,
            return_to=dialogue.return_to,
            memory=sealed_values.get(MEMORY, stored_memory),
        )
        if access is not None and dialogue.kind == CONSENT:
            request = replace(request, **vars(refresh.scope_with_consent(owner, access, context)))
        elif dialogue.kind == CONNECT:
            request = replace(request, wanted=frozenset())  # the accounts alone: the customer has not chosen among them
        return _Plan(
            dialogue.kind,
            connector,
            request,
            use,
            _order(owner, context.vault, dialogue, sealed_values),
            sealed_values.get(STATE),
            Reply(**json.loads(sealed_values[REPLY])),
            dialogue.method,
            dialogue.medium,
            looks=looks,
            elsewhere=elsewhere,
            fixed=dialogue.fixed,
            cancelled=dialogue.cancelled,
            stored_memory=stored_memory,
            login_is_new=bool(typed_login),
        )


def _login_use(dialogue: Dialogue, login: LoginTrace, access: Access | None, offer: Offer | None, *, is_typed: bool) -> LoginUse:
    """The use of the login: one that was entered for the dialogue, or that of its access."""
    is_counted = offer is not None and offer.one_attempt
    if is_typed or access is None:
        return LoginUse(login, dialogue.login_entered_at or dialogue.created_at, is_counted=is_counted)
    return LoginUse(login, access.login_entered_at, access.fetched_at, is_counted=is_counted)


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
            payee = _call(context, plan, lambda: plan.connector.verify_payee(plan.request, question.name, question.iban))
            return replace(steps.after_verification(payee), login=LoginFate.ACCEPTED), b""
        if plan.kind == CONNECT and first:
            try:
                return _accounts_standing(plan, _header(context, plan), None), b""
            except ScaNeeded as fault:  # the bank requires a confirmation first
                if not may_go_on():
                    return replace(stopped_standing, login=fault.login_fate), b""
        turn = _turn(context, plan, plan.state, plan.reply)
        plan, login = _with_memory(plan, turn.memory), turn.login
        for _ in range(MAX_CALLS_PER_MOVE):
            move = steps.automatic_reply(turn.step, plan.method, plan.medium)
            if move is None:
                break
            if not may_go_on():
                return replace(stopped_standing, login=login), b""
            first = False
            turn = _turn(context, plan, turn.state, move)
            plan, login = _with_memory(plan, turn.memory), turn.login
        if plan.kind == CONNECT and isinstance(turn.step, Done):
            if not may_go_on():
                return replace(stopped_standing, login=login), b""
            header = next((check_header(part) for part in turn.parts if isinstance(part, Header)), None)
            return _accounts_standing(plan, header or _header(context, plan), turn.step.consent_ends_at), b""
    except (DatabaseUnavailable, Busy):
        raise
    except Exception as fault:
        log.info("bank_failed", connector=plan.connector.name, error=describe(fault))
        pays = plan.kind == PAYMENT
        standing = steps.after_fault(fault, pays=pays, first=first, elsewhere=plan.elsewhere)
        if plan.cancelled:
            standing = steps.after_cancellation(None)
        if plan.looks:
            standing = steps.unknown_outcome()
        return replace(standing, login=steps.login_fate(fault)), b""
    standing = _after_step(context, plan, steps.refuse_choices(turn.step) if plan.fixed else turn.step)
    if plan.cancelled:
        standing = steps.after_cancellation(standing)
    parts = turn.parts if standing.phase is Phase.DONE and plan.kind == CONSENT else ()
    return replace(standing, memory=_new_memory(plan), login=login, parts=parts), turn.state


def _with_memory(plan: _Plan, memory: bytes | None) -> _Plan:
    """The plan for the next call, with the memory that the connector returned with the last one."""
    new_memory = storable_memory(memory)
    return plan if new_memory is None else replace(plan, request=replace(plan.request, memory=new_memory))


def _new_memory(plan: _Plan) -> bytes | None:
    """What the connector wants to remember of the access, if it is not stored already."""
    return None if plan.request.memory == plan.stored_memory else plan.request.memory


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


def _fetched(context: Context, plan: _Plan, standing: Standing) -> BankAnswer | None:
    """What a consent has fetched within its dialogue; None if that is nothing, or makes no sense: a fetch follows anyway."""
    if not standing.parts:
        return None
    try:
        return refresh.answer_of(context, standing.parts, plan.request)
    except Unusable:
        log.warning("parts_unusable", connector=plan.connector.name)
        return None


def _may_go_on(context: Context, job: MoveJob) -> bool:
    """Whether the move is still wanted and those for whom it runs are active."""
    with context.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        return dialogue is not None and dialogues.may_go_on(owner, dialogue)


def _turn(context: Context, plan: _Plan, state: bytes | None, reply: Reply) -> Turn:
    if state is None:
        order = plan.order if isinstance(plan.order, Payment) else Consent()
        turn = _call(context, plan, lambda: plan.connector.start(order, plan.request))
    else:
        turn = _call(context, plan, lambda: plan.connector.resume(plan.request, state, reply))
    if not isinstance(turn.step, Done | Failed) and len(turn.state) > MAX_STATE_BYTES:
        raise StateTooLarge
    return turn


def _header(context: Context, plan: _Plan) -> Header:
    """The bank's header with all accounts, without bookings."""

    def ask() -> Header:
        header = next(iter(plan.connector.fetch(replace(plan.request, wanted=frozenset()))), None)
        if not isinstance(header, Header):
            raise Unusable
        return check_header(header)

    return _call(context, plan, ask)


def _accounts_standing(plan: _Plan, header: Header, consent_ends_at: datetime | None) -> Standing:
    """The final state of a list of accounts: the customer can choose now."""
    end = Done(consent_ends_at or header.consent_ends_at)
    memory = _new_memory(_with_memory(plan, header.memory))
    return Standing(
        Phase.DONE,
        end,
        [message(Code.CONSENT_DONE)],
        accounts=accounts_of(header),
        memory=memory,
        login=LoginFate.ACCEPTED,
    )


def _outcome(context: Context, plan: _Plan) -> Standing:
    """The state after asking the bank for the outcome of a payment."""
    if not isinstance(plan.order, Payment):
        return replace(steps.unknown_outcome(), login=LoginFate.UNSENT)
    reference = plan.order.reference
    bank_step = _call(context, plan, lambda: plan.connector.outcome(plan.request, reference))
    if bank_step is None:  # perhaps nothing was sent
        return replace(steps.unknown_outcome(), login=LoginFate.UNSENT)
    return replace(_after_step(context, plan, bank_step), login=LoginFate.ACCEPTED)


def _call(context: Context, plan: _Plan, ask: Callable[[], T]) -> T:
    """The bank's answer, from a thread of its own and within the time limit."""

    def answers() -> Iterator[tuple[T]]:
        yield (ask(),)  # in a tuple, because None is an answer too but would end the session

    ((answer,),) = context.sessions.listen(plan.request.provider.id, answers(), context.settings.bank_timeout_seconds)
    return answer


def _settle(context: Context, job: MoveJob, standing: Standing, state: bytes, plan: _Plan) -> FetchJob | None:
    """Stores the state, unless the move was ended meanwhile; returns the fetch that follows from it, if any.

    If somebody for whom the dialogue runs was deactivated during the call, the bank's final word is stored as it is, nothing
    follows from it, and a dialogue that would go on ends.
    """
    with context.database.acting_for(job.tenant, job.user) as owner:
        dialogue = dialogues.at_move(owner, job.dialogue, job.move)
        standing = _note_login(owner, plan, standing)
        if dialogue is None or dialogue.phase != CALLING:
            log.warning("late_answer_dropped", dialogue=str(job.dialogue))
            return None
        if not dialogues.may_go_on(owner, dialogue):
            pays = dialogue.kind == PAYMENT
            is_final = standing.phase is not Phase.OPEN
            end_as(
                owner, dialogue, standing if is_final else steps.after_deactivation(standing.step, pays=pays), asks_again=False
            )
            return None
        if standing.phase is Phase.OPEN:
            before = steps.load_step(dialogue.step) if dialogue.step else None
            dialogue.polls = dialogue.polls if steps.goes_on_waiting(before, standing.step) else 0
            if steps.poll_seconds(standing.step) is not None and not steps.may_poll(standing.step, dialogue.polls):
                end_as(owner, dialogue, steps.after_expiry(standing.step, pays=dialogue.kind == PAYMENT))
                return None
            dialogue.step = steps.dump_step(standing.step)
            dialogue.messages = list(standing.messages)
            dialogues.open_again(owner, context.vault, dialogue, state, standing.look_after, standing.memory)
            return None
        fetch = _update_access(owner, context.vault, dialogue, standing, plan) if standing.phase is Phase.DONE else None
        if standing.accounts is not None:
            seal(owner, context.vault, dialogue.id, standing.accounts)
            if standing.memory is not None:
                dialogues.keep_memory(owner, context.vault, dialogue.id, standing.memory)
        end_as(owner, dialogue, standing)
        return fetch


def _note_login(owner: Owner, plan: _Plan, standing: Standing) -> Standing:
    """Records what became of the login, even if nobody waits for the move any more. Returns the state with which the dialogue
    goes on: one of which nobody knows whether the bank has refused the login asks for it.
    """
    if standing.login is LoginFate.ACCEPTED:
        bank_logins.release(owner, plan.login.login)
    may_use_again = attempts.settle(owner, plan.login, standing.login)
    is_refused = standing.login in (LoginFate.REFUSED, LoginFate.LOCKED)
    return standing if may_use_again or is_refused else steps.asking_for_login(standing, ENTER_AGAIN)


def _update_access(owner: Owner, vault: Vault, dialogue: Dialogue, standing: Standing, plan: _Plan) -> FetchJob | None:
    """Updates the access after success: its method, medium, login and memory. After a consent, begins a fetch and returns it."""
    access = accesses.lock(owner, dialogue.access_id) if dialogue.access_id else None
    if access is None:
        return None
    access.sca_method, access.sca_medium = dialogue.method, dialogue.medium
    if plan.login_is_new:
        connect.take_login(owner, vault, access, dict(plan.request.credentials), dialogue.login_hash)
        owner.session.flush()
        attempts.settle(owner, plan.login, LoginFate.ACCEPTED)  # once more: the access counts the login as entered just now
    if standing.memory is not None and access.login_hash == dialogue.login_hash:
        accesses.remember(owner, vault, access, standing.memory)
    step = standing.step
    if dialogue.kind == CONSENT and isinstance(step, Done):
        access.consent_ends_at = step.consent_ends_at or plan.request.now + CONSENT_DURATION
        access.messages = [item for item in access.messages if item["code"] not in ASK_FOR_CONSENT]
        access.waits_for_customer = any(item["code"] in CUSTOMER_CODES for item in access.messages)
        asker = owner.through(dialogue.client_id, dialogue.api_key_id)
        fetch_id = accesses.begin_fetch(asker, access, is_awaited=True, attended_from=dialogue.attended_from)
        return FetchJob(access.tenant_id, access.user_id, access.id, fetch_id)
    return None


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


def _recover(owner: Owner, dialogue: Dialogue) -> None:
    """Goes on after a move of which nobody knows whether the bank received it, and announces an end."""
    webhooks.announce(owner, *_after_loss(owner, dialogue))


def _after_loss(owner: Owner, dialogue: Dialogue) -> list[NewEvent]:
    """The events after a lost move: it is polled again where that is allowed, and else the dialogue ends."""
    step = steps.load_step(dialogue.step) if dialogue.step else None
    seconds = steps.poll_seconds(step)
    may_go_on = seconds is not None and dialogues.may_go_on(owner, dialogue) and not dialogues.is_over(owner, dialogue)
    standing = steps.after_loss(
        step, dialogue.polls, pays=dialogue.kind == PAYMENT, cancelled=dialogue.cancelled, may_go_on=may_go_on
    )
    if standing is not None:
        return _end(owner, dialogue, standing)
    dialogues.poll_later(owner, dialogue, seconds or steps.MIN_POLL_SECONDS)
    return []


def is_unknown(dialogue: Dialogue) -> bool:
    """Whether the outcome of the dialogue is unknown, also while the bank is being asked for it."""
    return steps.is_outcome_unknown(steps.load_step(dialogue.step) if dialogue.step else None)


def owner_of(operator: Owner, dialogue: Dialogue) -> Owner:
    """The operator's transaction, limited to the user of a dialogue."""
    return Owner(operator.session, dialogue.tenant_id, dialogue.user_id)
