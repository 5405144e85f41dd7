"""The way through the redirect form as a pure machine: where a customer is, what can be done there, and what a refusal leads to.

Values in, values out. What a move does is in `pipelines/forms/`; how a place looks, in `api/webform/`.

CREATE_ACCOUNT        terms ─ bank ─ login ─ (confirmation) ─ accounts ─ summary ─ back
                      terms ─ bank ─ upload ─ uploaded ─ back, for statement files
AUTHENTICATE_ACCOUNT  terms ─ start ─ confirmation ─ result ─ back
SINGLE_TRANSFER       terms ─ (bank ─ login ─ accounts) ─ order ─ confirmation ─ result ─ back
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from pipelines.banks.base import ChooseMedium, ChooseMethod, Code, ConfirmPayee, EnterTan, Failed, Payee, Redirect, Step, Wait
from pipelines.dialogues import steps
from warehouse.stores.dialogues import ASKED, CALLING, CONNECT, DONE, FAILED, OPEN, PAYMENT
from warehouse.stores.providers import STATEMENT_FILES
from warehouse.stores.redirect_sessions import AUTHENTICATE_ACCOUNT, CREATE_ACCOUNT, SINGLE_TRANSFER, SessionDialogue

MAX_LOGIN_TRIES = 3


class Reentry(StrEnum):
    """The outcome that a tenant receives when its customer returns."""

    ACCOUNT_CREATED = "ACCOUNT_CREATED"
    FINISHED = "FINISHED"
    LEGAL_NOT_ACCEPTED = "LEGAL_NOT_ACCEPTED"
    USER_CANCELLED = "USER_CANCELLED"
    BACKEND_ERROR = "BACKEND_ERROR"
    INVALID_CREDENTIALS = "INVALID_CREDENTIALS"
    INVALID_TAN = "INVALID_TAN"
    ERROR = "ERROR"
    NO_CALLBACK_URL = "NO_CALLBACK_URL"
    INVALID_CALLBACK_URL = "INVALID_CALLBACK_URL"


class FormStep(StrEnum):
    """The steps of the form."""

    TERMS = "TERMS"
    BANK = "BANK"
    LOGIN = "LOGIN"
    UPLOAD = "UPLOAD"
    UPLOADED = "UPLOADED"
    START = "START"
    WORKING = "WORKING"
    METHOD = "METHOD"
    MEDIUM = "MEDIUM"
    TAN = "TAN"
    PAYEE = "PAYEE"
    APP = "APP"
    BANK_PAGE = "BANK_PAGE"
    ACCOUNTS = "ACCOUNTS"
    SUMMARY = "SUMMARY"
    ORDER = "ORDER"
    RESULT = "RESULT"
    FAILURE = "FAILURE"
    """The bank has refused, and `moves.handle_refusal` has not run yet."""
    END = "END"


ACTIONS: dict[FormStep, tuple[str, ...]] = {
    FormStep.TERMS: ("accept", "decline"),
    FormStep.BANK: ("bank",),
    FormStep.LOGIN: ("login", "other"),
    FormStep.UPLOAD: ("upload", "other"),
    FormStep.UPLOADED: ("upload", "close"),
    FormStep.START: ("start",),
    FormStep.METHOD: ("method",),
    FormStep.MEDIUM: ("medium",),
    FormStep.TAN: ("tan",),
    FormStep.PAYEE: ("confirm_payee",),
    FormStep.ACCOUNTS: ("accounts",),
    FormStep.SUMMARY: ("connect", "back"),
    FormStep.ORDER: ("pay",),
    FormStep.RESULT: ("finish",),
}
CANCEL = "cancel"
REFUSALS = {Code.TRANSFER_INVALID, Code.TRANSFER_REFUSED}
"""The bank has processed the order and refused it, which the result page shows."""
RETRY_REASONS = {Code.WRONG_CREDENTIALS: "wrong_credentials", Code.FIELDS_MISSING: "fields_missing"}
CONFIRMING = (
    FormStep.WORKING,
    FormStep.METHOD,
    FormStep.MEDIUM,
    FormStep.TAN,
    FormStep.PAYEE,
    FormStep.APP,
    FormStep.BANK_PAGE,
    FormStep.FAILURE,
)


@dataclass(frozen=True)
class FormFacts:
    """The facts that decide at which step a customer is."""

    use_case: str
    accepted: bool
    connected: bool
    """Whether the session is about an existing access."""
    has_bank: bool
    wants_login: bool
    """Whether the stored login was refused."""
    chosen: bool
    """Whether accounts were chosen."""
    came_back: bool
    """Whether the customer has returned from the bank's own page."""
    ended: bool
    asked_terms: bool = False
    """Whether the session began with the terms."""
    has_files: bool = False
    """Whether the customer has chosen to upload statement files instead of a bank."""
    uploaded: bool = False
    """Whether a file was stored."""
    kind: str | None = None
    phase: str | None = None
    step: Step | Payee | None = None


@dataclass(frozen=True)
class RefusalOutcome:
    """The consequence of a refusal: the end of the session, or the login again with a reason."""

    outcome: Reentry | None = None
    trouble: str | None = None
    tries: int = 0


def facts(
    use_case: str,
    access_key: str | None,
    provider_id: UUID | None,
    progress: Mapping[str, Any],
    outcome: str | None,
    dialogue: SessionDialogue | None,
    *,
    accepted: bool,
) -> FormFacts:
    """The facts of a stored session and its dialogue."""
    return FormFacts(
        use_case,
        accepted=accepted,
        connected=access_key is not None and use_case != CREATE_ACCOUNT,
        has_bank=provider_id is not None,
        wants_login=bool(progress.get("wants_login")),
        chosen=progress.get("chosen") is not None,
        came_back=bool(progress.get("came_back")),
        ended=outcome is not None,
        asked_terms=bool(progress.get("asked_terms")),
        has_files=provider_id == STATEMENT_FILES,
        uploaded=bool(progress.get("uploaded")),
        kind=dialogue.kind if dialogue else None,
        phase=dialogue.phase if dialogue else None,
        step=steps.load_step(dialogue.step) if dialogue and dialogue.step else None,
    )


def place(facts: FormFacts) -> FormStep:
    """The step at which the customer is."""
    if facts.ended:
        return FormStep.END
    if facts.phase is not None:  # the terms were accepted before; a text that changes meanwhile is shown next time
        return _in_dialogue(facts)
    if not facts.accepted:
        return FormStep.TERMS
    if not facts.connected and not facts.has_bank:
        return FormStep.BANK
    if facts.has_files and facts.use_case == CREATE_ACCOUNT:
        return FormStep.UPLOADED if facts.uploaded else FormStep.UPLOAD
    if not facts.connected or facts.wants_login:
        return FormStep.LOGIN
    return FormStep.START if facts.use_case == AUTHENTICATE_ACCOUNT else FormStep.ORDER


def _in_dialogue(facts: FormFacts) -> FormStep:
    """The step at which the customer is once the bank was asked."""
    if isinstance(facts.step, Failed) and facts.step.code is Code.OUTCOME_UNKNOWN:
        return FormStep.RESULT
    if facts.phase in (ASKED, CALLING):
        return FormStep.APP if steps.is_confirmed_elsewhere(facts.step) else FormStep.WORKING
    if facts.phase == OPEN:
        return _at_step(facts)
    if facts.phase == FAILED:
        refused = facts.kind == PAYMENT and isinstance(facts.step, Failed) and facts.step.code in REFUSALS
        return FormStep.RESULT if refused else FormStep.FAILURE
    if facts.phase == DONE and facts.kind == CONNECT:
        if not facts.chosen:
            return FormStep.ACCOUNTS
        return FormStep.SUMMARY if facts.use_case == CREATE_ACCOUNT else FormStep.ORDER
    return FormStep.RESULT


def _at_step(facts: FormFacts) -> FormStep:
    match facts.step:
        case ChooseMethod():
            return FormStep.METHOD
        case ChooseMedium():
            return FormStep.MEDIUM
        case EnterTan():
            return FormStep.TAN
        case ConfirmPayee():
            return FormStep.PAYEE
        case Redirect() if not facts.came_back:
            return FormStep.BANK_PAGE
        case Redirect():
            return FormStep.APP
        case Wait() if facts.step.approves:
            return FormStep.APP
    return FormStep.WORKING


def actions(facts: FormFacts) -> tuple[str, ...]:
    """The actions that are possible now."""
    here = place(facts)
    possible = ACTIONS.get(here, ())
    if facts.connected:
        possible = tuple(action for action in possible if action != "other")
    return (*possible, CANCEL) if cancels(facts) else possible


def cancels(facts: FormFacts) -> bool:
    """Whether the customer can still leave without effect. A payment that may be confirmed elsewhere at this moment cannot be
    cancelled.
    """
    here = place(facts)
    if here in (FormStep.RESULT, FormStep.UPLOADED, FormStep.END):
        return False
    return facts.kind != PAYMENT or here in (FormStep.METHOD, FormStep.MEDIUM, FormStep.TAN, FormStep.PAYEE)


def refusal_outcome(code: Code, *, typed: bool, tries: int, late: bool) -> RefusalOutcome:
    """The consequence of a refusal. A stored login that was not entered now costs no try; `late`: the dialogue has expired."""
    if code in RETRY_REASONS:
        tries += typed
        if tries >= MAX_LOGIN_TRIES:
            return RefusalOutcome(Reentry.INVALID_CREDENTIALS, tries=tries)
        return RefusalOutcome(trouble=RETRY_REASONS[code] if typed else "stored_login_refused", tries=tries)
    if code is Code.LOCKED:
        return RefusalOutcome(Reentry.INVALID_CREDENTIALS, tries=tries)
    if code is Code.TAN_INVALID:
        return RefusalOutcome(Reentry.ERROR if late else Reentry.INVALID_TAN, tries=tries)
    return RefusalOutcome(Reentry.BACKEND_ERROR, tries=tries)


def outcome(facts: FormFacts) -> Reentry:
    """The outcome that the tenant receives after the result page."""
    if facts.phase == DONE:
        return Reentry.FINISHED
    refused = isinstance(facts.step, Failed) and facts.step.code in REFUSALS
    return Reentry.ERROR if refused else Reentry.BACKEND_ERROR


def path(facts: FormFacts) -> tuple[tuple[str, ...], int]:
    """The names of the steps shown to the customer, and the number of those that are finished."""
    names = _names(facts)
    here = place(facts)
    current = {
        FormStep.TERMS: "terms",
        FormStep.BANK: "bank",
        FormStep.LOGIN: "login",
        FormStep.UPLOAD: "upload",
        FormStep.UPLOADED: "done",
        FormStep.START: "confirm",
        FormStep.ACCOUNTS: "accounts",
        FormStep.SUMMARY: "summary",
        FormStep.ORDER: "order",
        FormStep.RESULT: "done",
        FormStep.END: "done",
    }.get(here, "login" if facts.kind == CONNECT else "confirm")
    return names, names.index(current) if current in names else len(names)


def _names(facts: FormFacts) -> tuple[str, ...]:
    terms = ("terms",) if facts.asked_terms or place(facts) is FormStep.TERMS else ()
    if facts.use_case == CREATE_ACCOUNT and facts.has_files:
        return (*terms, "bank", "upload", "done")
    if facts.use_case == CREATE_ACCOUNT:
        return (*terms, "bank", "login", "accounts", "summary")
    if facts.use_case == SINGLE_TRANSFER:
        first = () if facts.connected else ("bank", "login", "accounts")
        return (*terms, *first, "order", "confirm", "done")
    return (*terms, "confirm", "done")
