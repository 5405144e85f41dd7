"""User ids with a special behaviour: slow, empty, changing, refused. Each is one function; `docs/demo-bank.md` lists all."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from models.simulator.scripted.personas import load, plain
from pipelines.banks.base import (
    Code,
    Done,
    Failed,
    FetchRequest,
    Header,
    Medium,
    Method,
    Order,
    Part,
    Payment,
    ProductFailure,
    ScaNeeded,
    Unreachable,
    Unusable,
)
from pipelines.banks.demo import answers, devices, dialogue, security
from pipelines.banks.demo.answers import CustomerData
from pipelines.banks.demo.histories import Customer
from pipelines.banks.demo.households import MEDIA, METHODS, Households, Member
from pipelines.banks.demo.memory import count, open_memory

MAX_WAIT_SECONDS = 3600.0
LONG_HISTORY = "test_long_history"
"""The beginning of user ids to whom the bank gives bookings of long ago only within the dialogue of a consent."""


@dataclass(frozen=True)
class SpecialSession:
    """A session of a special user id, with the end of a consent that still holds and the bank's way to wait."""

    folder: Path
    request: FetchRequest
    user_id: str
    consent_ends_at: datetime | None
    pause: Callable[[float], object]


def histories(user_id: str) -> Households | None:
    """The customer behind a special user id, whose PIN is the user id, as a supply of one; None for other user ids."""
    return _households(user_id) if _behaviour(user_id) else None


def answer(session: SpecialSession) -> Iterator[Part]:
    """The parts that a special user id is answered with."""
    behaviour = _behaviour(session.user_id)
    return behaviour(session) if behaviour else iter(())


def _customer_data(session: SpecialSession) -> CustomerData:
    supply = _households(session.user_id)
    customer = supply.find(session.user_id) or Customer(session.user_id, ())
    return answers.answer(supply, customer, session.request.now, session.consent_ends_at)


def is_exempt(user_id: str, order: Order) -> bool:
    """Whether the bank executes an order without asking for a confirmation."""
    return isinstance(order, Payment) and _part(user_id) == "exempt"


def execute_payment(user_id: str, execute: Callable[[], Done | Failed], pause: Callable[[float], object]) -> Done | Failed:
    """The outcome of a confirmed payment for a user id; `execute` executes it."""
    match _part(user_id):
        case "lost":
            raise Unreachable
        case "refused":
            return Failed(Code.TRANSFER_REFUSED, "Die Bank führt diesen Auftrag nicht aus.")
        case "slow":
            pause(_seconds(user_id))
        case "late":
            outcome = execute()
            pause(_seconds(user_id))
            return outcome
        case "unknown":
            execute()
            raise Unreachable
    return execute()


def _part(user_id: str) -> str | None:
    """The part that a user id plays when it pays."""
    return user_id.split("_")[2] if user_id.startswith("test_transfer_") else None


def _seconds(user_id: str) -> float:
    """The seconds that a user id names after its part."""
    return min(float(user_id.split("_")[3]), MAX_WAIT_SECONDS)


def _households(user_id: str) -> Households:
    persona = plain(user_id)
    methods: tuple[Method, ...] = (security.MANUAL, security.OPTICAL, security.PUSH, security.APP, security.PHOTO)
    media: tuple[Medium, ...] = (
        security.GENERATOR,
        security.SECODER,
        security.PHONE,
        security.TABLET,
        security.PHONE_APP,
    )
    if user_id == "test_partial":
        persona, methods, media = replace(load("employee"), user_id=user_id), METHODS["demo1"], MEDIA["demo1"]
    elif user_id.startswith("test_consent_redirect"):
        methods, media = (security.PAGE,), ()
    elif user_id.startswith(("test_consent_app", dialogue.SILENT_APP)):
        methods, media = (security.APP,), (security.PHONE_APP,)
    return Households((Member(persona, methods, media, pin=user_id),))


def _number(session: SpecialSession, otherwise: float) -> float:
    """The number at the end of the user id."""
    match = re.search(r"_(\d+(?:\.\d+)?)$", session.user_id)
    return float(match[1]) if match else otherwise


# What the user ids do.


def _ordinary(session: SpecialSession) -> Iterator[Part]:
    return answers.parts(_customer_data(session), session.request)


def _slow(session: SpecialSession) -> Iterator[Part]:
    session.pause(min(_number(session, 10.0), MAX_WAIT_SECONDS))
    yield from _ordinary(session)


def _slow_bookings(session: SpecialSession) -> Iterator[Part]:
    customer_data = _customer_data(session)
    yield answers.header(customer_data, session.request.now)
    session.pause(min(_number(session, 10.0), MAX_WAIT_SECONDS))
    yield from answers.details(customer_data, session.request)


def _hang(session: SpecialSession) -> Iterator[Part]:
    session.pause(MAX_WAIT_SECONDS)
    raise Unreachable
    yield


def _unusable(session: SpecialSession) -> Iterator[Part]:
    """A header, and then an answer that makes no sense."""
    yield answers.header(_customer_data(session), session.request.now)
    raise Unusable


def _partial(session: SpecialSession) -> Iterator[Part]:
    """The first product comes; of the others the bank gives one fault each."""
    customer_data = _customer_data(session)
    keys = [account.product.key for account in customer_data.customer.accounts]
    codes = dict(zip(keys[1:], (Code.BOOKINGS_FAILED, Code.PRODUCT_FAILED, Code.POSITIONS_FAILED), strict=True))
    yield answers.header(customer_data, session.request.now)
    for part in answers.details(customer_data, session.request):
        yield ProductFailure(part.product, codes[part.product]) if part.product in codes else part


def _empty(session: SpecialSession) -> Iterator[Part]:
    return answers.parts(CustomerData(Customer(session.user_id, ()), {}, {}), session.request)


def _empty_later(session: SpecialSession) -> Iterator[Part]:
    return _empty(session) if count(session.folder, session.user_id, "fetches") else _ordinary(session)


def _consent_ends(session: SpecialSession) -> Iterator[Part]:
    if session.consent_ends_at:
        return _ordinary(session)
    ends_at = session.request.now + timedelta(days=7)
    notice = f"Ihre Zustimmung zum Abruf endet am {ends_at:%d.%m.%Y}."
    return answers.parts(replace(_customer_data(session), consent_ends_at=ends_at, notices=(notice,)), session.request)


def _consent_needed(session: SpecialSession) -> Iterator[Part]:
    if session.consent_ends_at is None:
        raise ScaNeeded
    return _ordinary(session)


def _device_needed(session: SpecialSession) -> Iterator[Part]:
    """Data come only for a connector that remembers a device which the customer has confirmed."""
    if not devices.is_registered(session.folder, session.user_id, session.request.memory):
        raise ScaNeeded
    header, *details = _ordinary(session)
    if isinstance(header, Header):
        header = replace(header, memory=devices.after_fetch(session.request.memory))
    yield header
    yield from details


def _recent(session: SpecialSession) -> Iterator[Part]:
    """The bookings of the last 90 days, whatever is requested."""
    return answers.parts(_customer_data(session), replace(session.request, whole_history_of=frozenset()))


def _new_transactions(session: SpecialSession) -> Iterator[Part]:
    from pipelines.banks.demo import changing

    with open_memory(session.folder, session.user_id) as state:
        days = state.setdefault("fetched_on", [])
        days.append(answers.today(session.request.now).isoformat())
    return answers.parts(changing.with_one_for_each(_customer_data(session), days), session.request)


def _changing_texts(session: SpecialSession) -> Iterator[Part]:
    from pipelines.banks.demo import changing

    before = count(session.folder, session.user_id, "fetches")
    return answers.parts(changing.with_other_words(_customer_data(session), before), session.request)


def _pending(session: SpecialSession) -> Iterator[Part]:
    from pipelines.banks.demo import changing

    with open_memory(session.folder, session.user_id) as state:
        first = "bought_on" not in state
        bought_on = state.setdefault("bought_on", answers.today(session.request.now).isoformat())
    return answers.parts(changing.with_purchase(_customer_data(session), bought_on, pending=first), session.request)


def _many(session: SpecialSession) -> Iterator[Part]:
    from pipelines.banks.demo import changing

    return answers.parts(
        changing.with_rows(_customer_data(session), int(_number(session, 0)), answers.today(session.request.now)), session.request
    )


def _garbage(session: SpecialSession) -> Iterator[Part]:
    from pipelines.banks.demo import garbage

    return garbage.parts(_customer_data(session), session.request, session.user_id.removeprefix("test_garbage_"))


_SUFFIX = r"(_[A-Za-z0-9.-]+)?"
"""User ids with a memory take a suffix, and each has its own."""

SPECIAL: tuple[tuple[str, Callable[[SpecialSession], Iterator[Part]]], ...] = (
    (r"test_wrong_pin|test_locked|test_unreachable|test_incomplete|test_lock_.+", _ordinary),
    (r"test_slow(_\d+(\.\d+)?)?", _slow),
    (r"test_slow_bookings(_\d+(\.\d+)?)?", _slow_bookings),
    (r"test_hang", _hang),
    (r"test_unusable", _unusable),
    (r"test_partial", _partial),
    (r"test_empty", _empty),
    (rf"test_empty_later{_SUFFIX}", _empty_later),
    (rf"test_consent_ends{_SUFFIX}", _consent_ends),
    (rf"test_sca_method_media{_SUFFIX}", _consent_needed),
    (rf"test_consent_redirect{_SUFFIX}", _consent_needed),
    (rf"test_consent_app{_SUFFIX}", _consent_needed),
    (rf"{dialogue.SILENT_APP}{_SUFFIX}", _consent_needed),
    (rf"test_device{_SUFFIX}", _device_needed),
    (rf"{LONG_HISTORY}{_SUFFIX}", _recent),
    (rf"{dialogue.CHECKS_PAYEE}(_slow)?{_SUFFIX}", _ordinary),
    (rf"test_transfer_unknown{_SUFFIX}", _ordinary),
    (rf"test_transfer_lost{_SUFFIX}", _ordinary),
    (rf"test_transfer_refused{_SUFFIX}", _ordinary),
    (rf"test_transfer_exempt{_SUFFIX}", _ordinary),
    (rf"test_transfer_(slow|late)_\d+(\.\d+)?{_SUFFIX}", _ordinary),
    (rf"test_new_transactions{_SUFFIX}", _new_transactions),
    (rf"test_changing_texts{_SUFFIX}", _changing_texts),
    (rf"test_pending{_SUFFIX}", _pending),
    (r"test_many_\d{1,6}", _many),
    (r"test_garbage_(year|rows|html|currency|twice|huge|schema)", _garbage),
)


def _behaviour(user_id: str) -> Callable[[SpecialSession], Iterator[Part]] | None:
    return next((behaviour for pattern, behaviour in SPECIAL if re.fullmatch(pattern, user_id)), None)
