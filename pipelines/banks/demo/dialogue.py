"""The dialogue in which a customer confirms, as a pure machine: from a state and a move to the next step.

method ── medium, if several serve the method ── TAN (three tries) ── done
                                              └─ waiting for the app ── done
"""

import json
import struct
import zlib
from datetime import datetime, timedelta
from typing import Any

from pipelines.banks.base import (
    ChooseMedium,
    ChooseMethod,
    Code,
    Done,
    EnterTan,
    Failed,
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


def begin(customer: Customer) -> Turn:
    """The first step: the customer chooses a method."""
    return _turn(customer, {"user_id": customer.user_id, "at": "method"})


def proceed(customer: Customer, state: bytes, reply: Reply, now: datetime) -> Turn:
    """The step after a move; a move that does not belong here, or none, repeats the step."""
    known = _opened(customer, state)
    match known["at"]:
        case "method" if reply.method is not None:
            return _chosen_method(customer, known, reply.method, now)
        case "medium" if reply.medium is not None:
            if reply.medium not in known["media"]:
                return Turn(Failed(Code.METHOD_INVALID))
            return _confirm(customer, known, now)
        case "tan" if reply.tan is not None:
            return _tried(customer, known, reply.tan, now)
        case "app" if now >= datetime.fromisoformat(known["asked_at"]) + APP_CONFIRMS_AFTER:
            return Turn(Done(now + CONSENT_LASTS))
    return _turn(customer, known)


def _chosen_method(customer: Customer, known: dict[str, Any], method: str, now: datetime) -> Turn:
    if method not in {entry.code for entry in customer.methods}:
        return Turn(Failed(Code.METHOD_INVALID))
    media = [medium.name for medium in security.offered(method, customer.media, now)]
    known = known | {"method": method, "media": media}
    return _turn(customer, known | {"at": "medium"}) if len(media) > 1 else _confirm(customer, known, now)


def _confirm(customer: Customer, known: dict[str, Any], now: datetime) -> Turn:
    if known["method"] == security.APP.code:
        return _turn(customer, known | {"at": "app", "asked_at": now.isoformat()})
    return _turn(customer, known | {"at": "tan", "wrong": 0})


def _tried(customer: Customer, known: dict[str, Any], tan: str, now: datetime) -> Turn:
    if tan == RIGHT_TAN:
        return Turn(Done(now + CONSENT_LASTS))
    known = known | {"wrong": known["wrong"] + 1}
    return Turn(Failed(Code.TAN_INVALID)) if known["wrong"] >= TRIES else _turn(customer, known)


def _turn(customer: Customer, known: dict[str, Any]) -> Turn:
    return Turn(_step(customer, known), json.dumps(known).encode())


def _step(customer: Customer, known: dict[str, Any]) -> Step:
    match known["at"]:
        case "method":
            return ChooseMethod(customer.methods)
        case "medium":
            return ChooseMedium(tuple(medium for medium in customer.media if medium.name in known["media"]))
        case "app":
            return Wait(APP_CONFIRMS_AFTER.total_seconds(), security.APP.hint or "")
    return _tan_wanted(customer, known)


def _tan_wanted(customer: Customer, known: dict[str, Any]) -> EnterTan:
    method = next(entry for entry in customer.methods if entry.code == known["method"])
    optical, photo = method == security.OPTICAL, method == security.PHOTO
    return EnterTan(
        method.hint or "",
        method.code,
        hhd="2908881344731012345678900,00" if optical else None,
        hhduc="1784011041875F051234567890041203000044302C323015" if optical else None,
        photo=_picture() if photo else None,
        wrong_before=known["wrong"],
    )


def _opened(customer: Customer, state: bytes) -> dict[str, Any]:
    """The state of a dialogue of this customer; what another wrote is refused."""
    try:
        known = json.loads(state)
    except ValueError as error:
        raise Unusable from error
    if not isinstance(known, dict) or known.get("user_id") != customer.user_id or "at" not in known:
        raise Unusable
    return known


def _picture() -> bytes:
    """A small chequered PNG, as a photoTAN looks."""
    size = 24
    rows = b"".join(b"\0" + bytes(255 * ((x * y + x + y) % 2) for x in range(size)) for y in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
