"""A dialogue with a bank as a pure state machine: which replies a step accepts, and where an answer of the bank leads.

Consents and payments, the old and the new interface and the redirect form all use it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Discriminator, Tag, TypeAdapter

from pipelines.banks.base import (
    AccessLocked,
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    Done,
    EnterTan,
    Failed,
    FieldsMissing,
    LoginFate,
    NoAnswer,
    Part,
    Payee,
    Redirect,
    Reply,
    Step,
    Wait,
    WrongCredentials,
    message,
)
from pipelines.dialogues.found_accounts import FoundAccount
from warehouse.errors import NotOffered, OutOfTurn


class Phase(StrEnum):
    """The phase of a dialogue; `warehouse/stores/dialogues.py` explains each."""

    OPEN = "OPEN"
    DONE = "DONE"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Standing:
    """The state of a dialogue after an answer of the bank."""

    phase: Phase
    step: Step | Payee
    messages: Sequence[dict[str, str]]
    look_after: float | None = None
    """Seconds until the bank is asked whether the customer has confirmed elsewhere."""
    accounts: tuple[FoundAccount, ...] | None = None
    """The accounts among which the customer may choose now."""
    memory: bytes | None = field(default=None, repr=False)
    """What the connector wants to remember of the access; None if that is nothing new."""
    parts: tuple[Part, ...] = field(default=(), repr=False)
    """What a consent has fetched within its dialogue."""
    login: LoginFate = LoginFate.LOST
    """What became of the login."""


LOGIN_FAULTS = (WrongCredentials, AccessLocked, FieldsMissing)
"""Faults of the login: the bank has not processed the order."""
ASK_FOR_CONSENT = frozenset({Code.METHOD_NEEDED, Code.METHOD_INVALID, Code.TAN_INVALID})
"""Messages of an access whose customer should give the consent, or give it again: it was never given, or the attempt failed."""
REDIRECT_LOOK_SECONDS = 2.0
CANCELLED = Failed(Code.TRANSFER_REFUSED, "Der Kunde hat den Auftrag abgebrochen.")
MIN_POLL_SECONDS = 1.0
"""The least time between two polls of a bank, whatever its connector says."""


def check_reply(step: Step | Payee, reply: Reply) -> None:
    """Returns if the step accepts this reply; raises `OutOfTurn` or `NotOffered` otherwise."""
    match step:
        case ChooseMethod(methods) if reply.method is not None:
            offered = reply.method in {method.code for method in methods}
        case ChooseMedium(media) if reply.medium is not None:
            offered = reply.medium in {medium.name for medium in media}
        case EnterTan() if reply.tan is not None:
            offered = True
        case ConfirmPayee() if reply.payee_confirmed is not None:
            offered = True
        case _:
            raise OutOfTurn
    if not offered:
        raise NotOffered


def automatic_reply(step: Step, method: str | None, medium: str | None) -> Reply | None:
    """The reply for a method or medium that was chosen before; None if the customer must choose."""
    match step:
        case ChooseMethod(methods) if method in {entry.code for entry in methods}:
            return Reply(method=method)
        case ChooseMedium(media) if medium in {entry.name for entry in media}:
            return Reply(medium=medium)
    return None


def after_step(step: Step, end_code: Code) -> Standing:
    """The state after a step of the bank. `end_code` is the customer's message after success."""
    match step:
        case ChooseMethod():
            return Standing(Phase.OPEN, step, [message(Code.METHOD_NEEDED)])
        case ChooseMedium():
            return Standing(Phase.OPEN, step, [message(Code.MEDIUM_NEEDED)])
        case EnterTan():
            return Standing(Phase.OPEN, step, [message(Code.TAN_NEEDED, step.instructions)])
        case ConfirmPayee():
            return Standing(Phase.OPEN, step, [message(Code.PAYEE_NEEDED, step.notice)])
        case Wait():
            return Standing(Phase.OPEN, step, [message(Code.NOTICE, step.instructions)], poll_seconds(step))
        case Redirect():
            return Standing(Phase.OPEN, step, [message(Code.NOTICE)], poll_seconds(step))
        case Failed():
            return Standing(Phase.FAILED, step, [message(step.code, step.details)])
        case Done():
            return Standing(Phase.DONE, step, [message(end_code)])


def after_verification(payee: Payee) -> Standing:
    """The final state of a verification."""
    return Standing(Phase.DONE, payee, [])


def refuse_choices(step: Step) -> Step:
    """The step of a dialogue with fixed method and medium: if the bank asks for a choice, the fixed one is invalid."""
    if isinstance(step, ChooseMethod | ChooseMedium):
        return Failed(Code.METHOD_INVALID)
    return step


def after_cancellation(standing: Standing | None) -> Standing:
    """The state of a payment that the customer has cancelled before confirming anything. `standing` is what follows from the
    bank's answer, if there is one: a bank that has paid all the same is believed, and so is one that lets the customer confirm
    elsewhere.
    """
    if standing is not None and standing.phase is Phase.DONE:
        return standing
    if standing is not None and is_confirmed_elsewhere(standing.step):
        return unknown_outcome()
    return after_step(CANCELLED, Code.TRANSFER_DONE)


def after_fault(fault: Exception, *, pays: bool, first: bool, elsewhere: bool = False) -> Standing:
    """The state after a fault. If the bank may have received a payment, its outcome is unknown, and it is never sent again.

    At the first move, a fault that a connector raises means that nothing was done; no answer and errors of ours do not mean
    that. If the customer may have confirmed `elsewhere`, no fault means that.
    """
    bank_fault = fault if isinstance(fault, BankFault) else BankFault()
    silent = isinstance(fault, NoAnswer) or not isinstance(fault, BankFault)
    refused = isinstance(fault, LOGIN_FAULTS) or (first and not silent)
    if pays and (elsewhere or not refused):
        return unknown_outcome()
    return Standing(Phase.FAILED, Failed(bank_fault.code, bank_fault.details), [message(bank_fault.code, bank_fault.details)])


def login_fate(fault: Exception) -> LoginFate:
    """What a fault says of the login."""
    return fault.login_fate if isinstance(fault, BankFault) else LoginFate.LOST


def asking_for_login(standing: Standing, details: str) -> Standing:
    """The state in which the customer has to enter the login again, if the dialogue has failed; any other stays."""
    if standing.phase is not Phase.FAILED:
        return standing
    missing = message(Code.FIELDS_MISSING, details)
    return replace(standing, step=Failed(Code.FIELDS_MISSING, details), messages=[missing])


def unknown_outcome() -> Standing:
    """The state of a payment whose outcome nobody knows."""
    return Standing(Phase.UNKNOWN, Failed(Code.OUTCOME_UNKNOWN), [message(Code.OUTCOME_UNKNOWN)])


def is_outcome_unknown(step: Step | Payee | None) -> bool:
    """Whether this is the step of a payment whose outcome nobody knows."""
    return isinstance(step, Failed) and step.code is Code.OUTCOME_UNKNOWN


def is_confirmed_elsewhere(step: Step | Payee | None) -> bool:
    """Whether the customer confirms this step outside of Kontor."""
    return isinstance(step, Redirect) or (isinstance(step, Wait) and step.approves)


def poll_seconds(step: Step | Payee | None) -> float | None:
    """The seconds until the bank is polled in this step; None for a step in which it is not."""
    match step:
        case Wait(seconds):
            return max(seconds, MIN_POLL_SECONDS)
        case Redirect():
            return REDIRECT_LOOK_SECONDS
    return None


def may_poll(step: Step | Payee | None, polls: int) -> bool:
    """Whether the bank may be polled in this step after this number of polls."""
    if isinstance(step, Wait) and step.max_polls is not None:
        return polls < step.max_polls
    return poll_seconds(step) is not None


def goes_on_waiting(before: Step | Payee | None, after: Step | Payee) -> bool:
    """Whether a step is the one before it again: its polls are counted together."""
    if isinstance(before, Wait) and isinstance(after, Wait):
        return before.approves == after.approves
    return isinstance(before, Redirect) and isinstance(after, Redirect)


def after_expiry(step: Step | Payee | None, *, pays: bool) -> Standing:
    """The state after a customer did not confirm in time."""
    if pays and is_confirmed_elsewhere(step):
        return unknown_outcome()
    return Standing(Phase.FAILED, Failed(Code.TAN_INVALID), [message(Code.TAN_INVALID, "Die Frist ist abgelaufen.")])


def after_loss(step: Step | Payee | None, polls: int, *, pays: bool, cancelled: bool, may_go_on: bool = True) -> Standing | None:
    """The state after a move whose worker died, so that nobody knows whether the bank has received it; None if it was a poll that
    may be made again, because it confirms nothing and no order follows it. Any other move is never sent again.
    """
    if may_go_on and poll_seconds(step) is not None and may_poll(step, polls):
        return None
    if cancelled and not is_outcome_unknown(step):
        return after_cancellation(None)
    return after_fault(RuntimeError(), pays=pays, first=False)


def after_deactivation(step: Step | Payee | None, *, pays: bool) -> Standing:
    """The state of a dialogue that ends because somebody for whom it runs was deactivated. What a customer may have confirmed
    elsewhere is unknown, and an unknown outcome stays unknown: the bank is not asked again.
    """
    if pays and (is_outcome_unknown(step) or is_confirmed_elsewhere(step)):
        return unknown_outcome()
    return Standing(Phase.FAILED, Failed(Code.STOPPED), [message(Code.STOPPED)])


# Steps as they are stored: nothing in them is secret.


def dump_step(step: Step | Payee) -> dict[str, Any]:
    """A step as JSON values, with the name of its class as `kind` and without empty fields."""
    fields: dict[str, Any] = _STORED.dump_python(step, mode="json", exclude_none=True)
    return {"kind": _kind(step)} | fields


def load_step(values: dict[str, Any]) -> Step | Payee:
    """The step that `dump_step` wrote."""
    return _STORED.validate_python(values)


def _kind(step: Step | Payee | dict[str, Any]) -> str:
    return str(step["kind"]) if isinstance(step, dict) else type(step).__name__


_STORED: TypeAdapter[Step | Payee] = TypeAdapter(
    Annotated[
        Annotated[ChooseMethod, Tag("ChooseMethod")]
        | Annotated[ChooseMedium, Tag("ChooseMedium")]
        | Annotated[EnterTan, Tag("EnterTan")]
        | Annotated[ConfirmPayee, Tag("ConfirmPayee")]
        | Annotated[Redirect, Tag("Redirect")]
        | Annotated[Wait, Tag("Wait")]
        | Annotated[Done, Tag("Done")]
        | Annotated[Failed, Tag("Failed")]
        | Annotated[Payee, Tag("Payee")],
        Discriminator(_kind),
    ]
)
