"""The dialogue in which a customer confirms an order, as a machine: from a state and a move to the next step.

method, if there are several ── medium, if several serve the method ── TAN (three tries) ── done
                                                                    ├─ waiting for the app ── done
                                                                    └─ the bank's own page ── done
"""

import secrets
import struct
import zlib
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

import ada_url
from pydantic import AwareDatetime, TypeAdapter

from pipelines.banks.base import (
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    Consent,
    Done,
    EnterTan,
    Failed,
    FetchRequest,
    Order,
    Payee,
    PayeeMatch,
    Payment,
    Redirect,
    Reply,
    Step,
    Turn,
    Unusable,
    Wait,
)
from pipelines.banks.demo import chip_tan, security
from pipelines.banks.demo.histories import Customer

RIGHT_TAN = "42"
MAX_WRONG_TANS = 3
CONSENT_DURATION = timedelta(days=180)
APP_CONFIRMS_AFTER = timedelta(seconds=3)
APP_POLLS = 60
PAYEE_CHECK_LASTS = timedelta(seconds=1)
PAYEE_POLLS = 10
PAYEE_NOTICE = "Wenn Sie den Auftrag dennoch freigeben, kann das Geld bei einem anderen Empfänger ankommen."
CHECKS_PAYEE, SLOW_PAYEE = "test_payee", "test_payee_slow"
"""The beginnings of user ids whose payments the bank checks: those with a payee that is no match must be confirmed, and the
second ones only after a poll.
"""
SILENT_APP = "test_app_silent"
"""The beginning of user ids whose app never confirms: the bank is polled every second, three times."""
SILENT_APP_SECONDS, SILENT_APP_POLLS = 1.0, 3
BACK_FROM_PAGE_AFTER = timedelta(seconds=1)


@dataclass(frozen=True)
class DialogueState:
    """Where a dialogue stands; `payment` is None for a consent."""

    user_id: str
    at: Literal["checking", "payee", "method", "medium", "tan", "app", "page"]
    asked_at: AwareDatetime
    payment: Payment | None = None
    method: str = ""
    media: tuple[str, ...] = ()
    wrong: int = 0
    url: str = ""
    payees: tuple[Payee, ...] = ()
    polls: int = 0
    """How often the connector has asked whether the app has confirmed, as FinTS banks count messages of a dialogue."""

    @property
    def order(self) -> Order:
        return self.payment or Consent()

    @property
    def is_polled(self) -> bool:
        """Whether the customer confirms elsewhere, and the connector asks whether that has happened."""
        return self.at in ("app", "page")


_STATE = TypeAdapter(DialogueState)


def begin(customer: Customer, order: Order, request: FetchRequest, payees: tuple[Payee, ...] = ()) -> Turn:
    """The first step: the answers about payees that are no match, or the choice of a method. `payees` are those of the payment
    of a customer whose bank asks about them.
    """
    state = DialogueState(customer.user_id, "method", request.now, order if isinstance(order, Payment) else None, payees=payees)
    if payees and customer.user_id.startswith(SLOW_PAYEE):
        return _turn(customer, replace(state, at="checking"), request)
    return _after_payees(customer, state, request)


def _after_payees(customer: Customer, state: DialogueState, request: FetchRequest) -> Turn:
    if any(payee.match is not PayeeMatch.MATCH for payee in state.payees):
        return _turn(customer, replace(state, at="payee"), request)
    return _begin_to_confirm(customer, replace(state, at="method"), request)


def _begin_to_confirm(customer: Customer, state: DialogueState, request: FetchRequest) -> Turn:
    """The customer chooses a method, if there is a choice."""
    match security.usable_methods(customer.methods, request.return_to):
        case ():
            return Turn(Failed(Code.METHOD_INVALID, "Es gibt kein Verfahren, mit dem Sie hier freigeben können."))
        case (only,):
            return _choose_method(customer, state, only.code, request)
    return _turn(customer, state, request)


def read_state(customer: Customer, payload: bytes) -> DialogueState:
    """The state of a dialogue of this customer; what another wrote is refused."""
    try:
        state = _STATE.validate_json(payload)
    except ValueError as error:
        raise Unusable from error
    is_method_valid = state.at in ("checking", "payee", "method") or state.method in {method.code for method in customer.methods}
    if state.user_id != customer.user_id or not is_method_valid:
        raise Unusable
    return state


def proceed(customer: Customer, state: DialogueState, reply: Reply, request: FetchRequest) -> Turn:
    """The step after a move; a move that does not belong here, or none, repeats the step."""
    waited = request.now - state.asked_at
    match state.at:
        case "checking" if waited >= PAYEE_CHECK_LASTS:
            return _after_payees(customer, state, request)
        case "payee" if reply.payee_confirmed is not None:
            if not reply.payee_confirmed:
                return Turn(Failed(Code.TRANSFER_REFUSED, "Der Auftrag wurde abgebrochen."))
            return _begin_to_confirm(customer, replace(state, at="method"), request)
        case "method" if reply.method is not None:
            return _choose_method(customer, state, reply.method, request)
        case "medium" if reply.medium is not None:
            if reply.medium not in state.media:
                return Turn(Failed(Code.METHOD_INVALID))
            return _confirm(customer, state, request)
        case "tan" if reply.tan is not None:
            return _check_tan(customer, state, reply.tan, request)
        case "app" if waited >= APP_CONFIRMS_AFTER and not customer.user_id.startswith(SILENT_APP):
            return _complete(state, request)
        case "app":
            state = replace(state, polls=state.polls + 1)
        case "page" if waited >= BACK_FROM_PAGE_AFTER:
            return _complete(state, request)
    return _turn(customer, state, request)


def _choose_method(customer: Customer, state: DialogueState, method: str, request: FetchRequest) -> Turn:
    if method not in {entry.code for entry in security.usable_methods(customer.methods, request.return_to)}:
        return Turn(Failed(Code.METHOD_INVALID))
    media = tuple(medium.name for medium in security.offered_media(method, customer.media, request.now))
    state = replace(state, method=method, media=media)
    return _turn(customer, replace(state, at="medium"), request) if len(media) > 1 else _confirm(customer, state, request)


def _confirm(customer: Customer, state: DialogueState, request: FetchRequest) -> Turn:
    state = replace(state, asked_at=request.now)
    if state.method == security.APP.code:
        return _turn(customer, replace(state, at="app"), request)
    if state.method == security.PAGE.code:
        return _turn(customer, replace(state, at="page", url=_page(request.return_to or "")), request)
    return _turn(customer, replace(state, at="tan"), request)


def _check_tan(customer: Customer, state: DialogueState, tan: str, request: FetchRequest) -> Turn:
    if tan == RIGHT_TAN:
        return _complete(state, request)
    state = replace(state, wrong=state.wrong + 1)
    return Turn(Failed(Code.TAN_INVALID)) if state.wrong >= MAX_WRONG_TANS else _turn(customer, state, request)


def _complete(state: DialogueState, request: FetchRequest) -> Turn:
    return Turn(Done() if state.payment else Done(request.now + CONSENT_DURATION))


def _turn(customer: Customer, state: DialogueState, request: FetchRequest) -> Turn:
    return Turn(_step(customer, state, request), _STATE.dump_json(state))


def _step(customer: Customer, state: DialogueState, request: FetchRequest) -> Step:
    match state.at:
        case "checking":
            return Wait(PAYEE_CHECK_LASTS.total_seconds(), "Ihre Bank prüft den Empfänger.", PAYEE_POLLS, approves=False)
        case "payee":
            return ConfirmPayee(state.payees, PAYEE_NOTICE)
        case "method":
            return ChooseMethod(security.usable_methods(customer.methods, request.return_to))
        case "medium":
            return ChooseMedium(tuple(medium for medium in customer.media if medium.name in state.media))
        case "app":
            if customer.user_id.startswith(SILENT_APP):
                return Wait(SILENT_APP_SECONDS, security.APP.hint or "", SILENT_APP_POLLS, payees=state.payees or None)
            return Wait(APP_CONFIRMS_AFTER.total_seconds(), security.APP.hint or "", APP_POLLS, payees=state.payees or None)
        case "page":
            return Redirect(state.url)
    return _ask_for_tan(customer, state)


def _page(return_to: str) -> str:
    """The bank's page. There is none, so the customer comes back at once, with a token as banks add one."""
    url = ada_url.URL(return_to)
    query = ada_url.URLSearchParams(url.search)
    query.append("demo-bank", secrets.token_urlsafe(16))
    url.search = str(query)
    return str(url.href)


def _ask_for_tan(customer: Customer, state: DialogueState) -> EnterTan:
    method = next(entry for entry in customer.methods if entry.code == state.method)
    optical, photo = method == security.OPTICAL, method == security.PHOTO
    code, data = chip_tan.start_code(state.payment, state.asked_at.isoformat()), chip_tan.shown_data(state.payment)
    return EnterTan(
        method.hint or "",
        method.name,
        hhd=chip_tan.typed_code(code, data) if optical or method == security.MANUAL else None,
        hhduc=chip_tan.optical_code(code, data) if optical else None,
        photo=_picture() if photo else None,
        wrong_before=state.wrong,
        payees=state.payees or None,
    )


def _picture() -> bytes:
    """A small chequered PNG, as a photoTAN looks."""
    size = 24
    rows = b"".join(b"\0" + bytes(255 * ((x * y + x + y) % 2) for x in range(size)) for y in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
