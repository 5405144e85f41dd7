"""A dialogue with a bank as a pure machine: what a step asks for, what a move may be, and where an answer leads.

Values in, values out: consents and payments, the old and the new interface and the redirect form all go this way.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pipelines.banks.base import (
    AccessLocked,
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    Done,
    EnterTan,
    Failed,
    FieldsMissing,
    Medium,
    MediumClass,
    Method,
    NoAnswer,
    Payee,
    PayeeMatch,
    Redirect,
    Reply,
    Step,
    Wait,
    WrongCredentials,
    message,
)
from pipelines.dialogues.found_accounts import FoundAccounts
from warehouse.errors import NotOffered, OutOfTurn


class Phase(StrEnum):
    """Whose turn it is; `warehouse/stores/dialogues.py` says what each means."""

    OPEN = "OPEN"
    DONE = "DONE"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Standing:
    """How a dialogue stands after an answer of the bank."""

    phase: Phase
    step: Step | Payee | FoundAccounts
    messages: Sequence[dict[str, str]]
    look_after: float | None = None
    """After so many seconds the bank is asked whether the customer has confirmed elsewhere."""


REFUSED_AT_THE_DOOR = (WrongCredentials, AccessLocked, FieldsMissing)
"""Faults of the login: the bank has not even looked at the order."""
REDIRECT_LOOK_SECONDS = 2.0


def check(step: Step | Payee, reply: Reply) -> None:
    """Returns if the dialogue waits for this move; raises `OutOfTurn` or `NotOffered` if not."""
    match step:
        case ChooseMethod(methods) if reply.method is not None:
            offered = reply.method in {method.code for method in methods}
        case ChooseMedium(media) if reply.medium is not None:
            offered = reply.medium in {medium.name for medium in media}
        case EnterTan() if reply.tan is not None:
            offered = True
        case _:
            raise OutOfTurn
    if not offered:
        raise NotOffered


def by_itself(step: Step, method: str | None, medium: str | None) -> Reply | None:
    """The move that need not be asked for, since method and medium were said before; None if the customer must choose."""
    match step:
        case ChooseMethod(methods) if method in {entry.code for entry in methods}:
            return Reply(method=method)
        case ChooseMedium(media) if medium in {entry.name for entry in media}:
            return Reply(medium=medium)
    return None


def after(step: Step, done: Code) -> Standing:
    """Where a step of the bank leads. `done` is what the customer is told at a good end."""
    match step:
        case ChooseMethod():
            return Standing(Phase.OPEN, step, [message(Code.METHOD_NEEDED)])
        case ChooseMedium():
            return Standing(Phase.OPEN, step, [message(Code.MEDIUM_NEEDED)])
        case EnterTan():
            return Standing(Phase.OPEN, step, [message(Code.TAN_NEEDED, step.instructions)])
        case Wait():
            return Standing(Phase.OPEN, step, [message(Code.NOTICE, step.instructions)], step.seconds)
        case Redirect():
            return Standing(Phase.OPEN, step, [message(Code.NOTICE)], REDIRECT_LOOK_SECONDS)
        case Failed():
            return Standing(Phase.FAILED, step, [message(step.code, step.details)])
        case Done():
            return Standing(Phase.DONE, step, [message(done)])


def verified(payee: Payee) -> Standing:
    """The end of a question about a payee."""
    return Standing(Phase.DONE, payee, [])


def fixed(step: Step) -> Step:
    """A step of a dialogue whose method and medium were said at the beginning: what is still to be chosen was said wrong."""
    if isinstance(step, ChooseMethod | ChooseMedium):
        return Failed(Code.METHOD_INVALID)
    return step


def after_fault(fault: Exception, *, pays: bool, first: bool, elsewhere: bool = False) -> Standing:
    """Where a fault leads. Of a payment that the bank may have seen, nobody knows: it is never sent again.

    At the first move a fault that a connector names means that nothing was done; no answer, and faults of our own, do not.
    Who confirms `elsewhere` may have done so, whatever the bank says at the door.
    """
    told = fault if isinstance(fault, BankFault) else BankFault()
    silent = isinstance(fault, NoAnswer) or not isinstance(fault, BankFault)
    refused = isinstance(fault, REFUSED_AT_THE_DOOR) or (first and not silent)
    if pays and (elsewhere or not refused):
        return unknown()
    return Standing(Phase.FAILED, Failed(told.code, told.details), [message(told.code, told.details)])


def unknown() -> Standing:
    """Nobody knows what the bank did."""
    return Standing(Phase.UNKNOWN, Failed(Code.OUTCOME_UNKNOWN), [message(Code.OUTCOME_UNKNOWN)])


def is_elsewhere(step: Step | Payee | FoundAccounts | None) -> bool:
    """Whether the customer confirms without a move of ours."""
    return isinstance(step, Wait | Redirect)


def expired(step: Step | Payee | None, *, pays: bool) -> Standing:
    """The customer did not confirm in time, as far as we know."""
    if pays and is_elsewhere(step):
        return unknown()
    return Standing(Phase.FAILED, Failed(Code.TAN_INVALID), [message(Code.TAN_INVALID, "Die Frist ist abgelaufen.")])


# Steps as they are stored: nothing in them is secret.

KINDS: dict[str, type[Step] | type[Payee]] = {
    kind.__name__: kind for kind in (ChooseMethod, ChooseMedium, EnterTan, Redirect, Wait, Done, Failed, Payee)
}


def stored(step: Step | Payee | FoundAccounts) -> dict[str, Any]:
    """A step as JSON values."""
    return {"kind": type(step).__name__} | {name: _plain(value) for name, value in asdict(step).items() if value is not None}


def restored(values: dict[str, Any]) -> Step | Payee:
    """The step again."""
    rest = {name: value for name, value in values.items() if name != "kind"}
    kind = KINDS[values["kind"]]
    if kind is ChooseMethod:
        return ChooseMethod(tuple(Method(**method) for method in rest["methods"]))
    if kind is ChooseMedium:
        return ChooseMedium(tuple(_medium(medium) for medium in rest["media"]))
    if "photo" in rest:
        rest["photo"] = b64decode(rest["photo"])
    if "consent_ends_at" in rest:
        rest["consent_ends_at"] = datetime.fromisoformat(rest["consent_ends_at"])
    if kind is Failed:
        rest["code"] = Code(rest["code"])
    if kind is Payee:
        rest["match"] = PayeeMatch(rest["match"])
    return kind(**rest)


def _medium(values: dict[str, Any]) -> Medium:
    dates = {name: datetime.fromisoformat(values[name]) for name in ("valid_from", "valid_to") if values.get(name)}
    return Medium(values["name"], MediumClass(values["kind"]), **dates)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if item is not None}
    return value
