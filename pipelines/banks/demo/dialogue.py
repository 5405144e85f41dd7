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
    Consent,
    Done,
    EnterTan,
    Failed,
    FetchRequest,
    Order,
    Payment,
    Redirect,
    Reply,
    Step,
    Turn,
    Unusable,
    Wait,
)
from pipelines.banks.demo import security
from pipelines.banks.demo.histories import Customer

RIGHT_TAN = "42"
TRIES = 3
CONSENT_LASTS = timedelta(days=180)
APP_CONFIRMS_AFTER = timedelta(seconds=3)
BACK_FROM_PAGE_AFTER = timedelta(seconds=1)


@dataclass(frozen=True)
class DialogueState:
    """Where a dialogue stands; `payment` is None for a consent."""

    user_id: str
    at: Literal["method", "medium", "tan", "app", "page"]
    asked_at: AwareDatetime
    payment: Payment | None = None
    method: str = ""
    media: tuple[str, ...] = ()
    wrong: int = 0
    url: str = ""

    @property
    def order(self) -> Order:
        return self.payment or Consent()


_STATE = TypeAdapter(DialogueState)


def begin(customer: Customer, order: Order, request: FetchRequest) -> Turn:
    """The first step: the customer chooses a method, if there is a choice."""
    known = DialogueState(customer.user_id, "method", request.now, order if isinstance(order, Payment) else None)
    match security.usable(customer.methods, request.return_to):
        case ():
            return Turn(Failed(Code.METHOD_INVALID, "Es gibt kein Verfahren, mit dem Sie hier freigeben können."))
        case (only,):
            return _chosen_method(customer, known, only.code, request)
    return _turn(customer, known, request)


def opened(customer: Customer, state: bytes) -> DialogueState:
    """The state of a dialogue of this customer; what another wrote is refused."""
    try:
        known = _STATE.validate_json(state)
    except ValueError as error:
        raise Unusable from error
    chosen = known.at == "method" or known.method in {method.code for method in customer.methods}
    if known.user_id != customer.user_id or not chosen:
        raise Unusable
    return known


def proceed(customer: Customer, known: DialogueState, reply: Reply, request: FetchRequest) -> Turn:
    """The step after a move; a move that does not belong here, or none, repeats the step."""
    waited = request.now - known.asked_at
    match known.at:
        case "method" if reply.method is not None:
            return _chosen_method(customer, known, reply.method, request)
        case "medium" if reply.medium is not None:
            if reply.medium not in known.media:
                return Turn(Failed(Code.METHOD_INVALID))
            return _confirm(customer, known, request)
        case "tan" if reply.tan is not None:
            return _tried(customer, known, reply.tan, request)
        case "app" if waited >= APP_CONFIRMS_AFTER:
            return _done(known, request)
        case "page" if waited >= BACK_FROM_PAGE_AFTER:
            return _done(known, request)
    return _turn(customer, known, request)


def _chosen_method(customer: Customer, known: DialogueState, method: str, request: FetchRequest) -> Turn:
    if method not in {entry.code for entry in security.usable(customer.methods, request.return_to)}:
        return Turn(Failed(Code.METHOD_INVALID))
    media = tuple(medium.name for medium in security.offered(method, customer.media, request.now))
    known = replace(known, method=method, media=media)
    return _turn(customer, replace(known, at="medium"), request) if len(media) > 1 else _confirm(customer, known, request)


def _confirm(customer: Customer, known: DialogueState, request: FetchRequest) -> Turn:
    known = replace(known, asked_at=request.now)
    if known.method == security.APP.code:
        return _turn(customer, replace(known, at="app"), request)
    if known.method == security.PAGE.code:
        return _turn(customer, replace(known, at="page", url=_page(request.return_to or "")), request)
    return _turn(customer, replace(known, at="tan"), request)


def _tried(customer: Customer, known: DialogueState, tan: str, request: FetchRequest) -> Turn:
    if tan == RIGHT_TAN:
        return _done(known, request)
    known = replace(known, wrong=known.wrong + 1)
    return Turn(Failed(Code.TAN_INVALID)) if known.wrong >= TRIES else _turn(customer, known, request)


def _done(known: DialogueState, request: FetchRequest) -> Turn:
    return Turn(Done() if known.payment else Done(request.now + CONSENT_LASTS))


def _turn(customer: Customer, known: DialogueState, request: FetchRequest) -> Turn:
    return Turn(_step(customer, known, request), _STATE.dump_json(known))


def _step(customer: Customer, known: DialogueState, request: FetchRequest) -> Step:
    match known.at:
        case "method":
            return ChooseMethod(security.usable(customer.methods, request.return_to))
        case "medium":
            return ChooseMedium(tuple(medium for medium in customer.media if medium.name in known.media))
        case "app":
            return Wait(APP_CONFIRMS_AFTER.total_seconds(), security.APP.hint or "")
        case "page":
            return Redirect(known.url)
    return _tan_wanted(customer, known)


def _page(return_to: str) -> str:
    """The bank's page. There is none, so the customer comes back at once, with a token as banks add one."""
    url = ada_url.URL(return_to)
    query = ada_url.URLSearchParams(url.search)
    query.append("demo-bank", secrets.token_urlsafe(16))
    url.search = str(query)
    return str(url.href)


def _tan_wanted(customer: Customer, known: DialogueState) -> EnterTan:
    method = next(entry for entry in customer.methods if entry.code == known.method)
    optical, photo = method == security.OPTICAL, method == security.PHOTO
    return EnterTan(
        method.hint or "",
        method.name,
        hhd="2908881344731012345678900,00" if optical else None,
        hhduc="1784011041875F051234567890041203000044302C323015" if optical else None,
        photo=_picture() if photo else None,
        wrong_before=known.wrong,
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
