"""The return codes of FinTS banks, and what they mean for us.

Data counts only with a positive code for its very segment. No code, an unreadable answer or an error is a fault, never "nothing".
"""

from collections.abc import Iterable

import structlog

from pipelines.banks.base import AccessLocked, BankFault, ScaNeeded, Unreachable, Unusable, WrongCredentials
from pipelines.banks.fints.messages import Answer, ReturnCode

DONE = frozenset(("0010", "0020"))
NO_DATA = "3010"
MORE_DATA = "3040"
TAN_NEEDED = "0030"
APP_ASKED, APP_PENDING = "3955", "3956"
SCA_EXEMPT = "3076"
ALLOWED_METHODS = "3920"
ENDED = "0100"
ABORTED = "9800"
WRONG_NUMBER = "9120"
WRONG_PIN = frozenset(("9910", "9942", "9340"))
LOCKED = frozenset(("9930", "9931", "3938", "3931"))
OUT_OF_STEP = frozenset(("9075", "9391", WRONG_NUMBER))
"""The bank wants another signature, another system id or another number of the message: it may work after a synchronisation."""
PRODUCT_REFUSED = "9078"
PIN_REFUSED = frozenset(("9942", "9340"))
"""Codes that blame the PIN even where a TAN was entered."""
UNKNOWN_REFERENCE = "9210"
ORDER_HELD = "3945"
"""A payment waits for the customer's word about its payees."""
PAYEES_DIFFER, PAYEES_PENDING = "3090", "3093"
PARTLY_WRONG = frozenset(("9050", "9010"))
"""Codes for the message that say no more than that a segment was refused."""
NO_REFERENCE = frozenset(("", "noref"))
MAX_TEXT_LENGTH = 300
log = structlog.get_logger("fints")


class OutOfStep(ScaNeeded):
    """The bank no longer knows the system id, or wants another kind of login: one synchronisation may help."""


def is_done(answer: Answer, number: int) -> bool:
    """Whether the bank has carried out this very segment: a positive code for it, no error, and no TAN needed."""
    codes = {item.code for item in answer.codes_of(number)}
    return not answer.errors() and not waits_for_customer(answer) and bool(codes & (DONE | {NO_DATA, MORE_DATA}))


def is_empty(answer: Answer, number: int) -> bool:
    """Whether the bank has said that there is nothing."""
    return any(item.code == NO_DATA for item in answer.codes_of(number))


def has_parameters(answer: Answer, number: int) -> bool:
    """Whether the bank has taken the segment of the login: some confirm it by saying that parameters follow."""
    return any(item.code[0] in "01" for item in answer.codes_of(number)) or any(item.code in DONE for item in answer.of_message)


def is_accepted(answer: Answer, number: int) -> bool:
    """Whether the bank has accepted the payment of this very segment: nothing less than a positive code for it, and no code
    anywhere that says otherwise. Warnings alone, more data or no data say nothing about a payment.
    """
    own_codes = {item.code for item in answer.codes_of(number)}
    is_open = waits_for_customer(answer) or answer.has(ORDER_HELD, PAYEES_DIFFER, PAYEES_PENDING)
    return bool(own_codes & DONE) and not is_open and not answer.errors()


def is_refused(answer: Answer, numbers: Iterable[int]) -> bool:
    """Whether the bank has refused the payment of these segments: a negative code for one of them, and no code that speaks of
    success or of a confirmation.
    """
    own_codes = {item.code for number in numbers for item in answer.codes_of(number)}
    is_negative = any(code.startswith("9") for code in own_codes)
    return is_negative and not own_codes & DONE and not waits_for_customer(answer)


def words_of(answer: Answer, numbers: Iterable[int], private: Iterable[str] = ()) -> str | None:
    """The bank's own words for the refusal of these segments, unless they repeat something `private`."""
    places = frozenset(numbers)
    texts = [item for place, item in answer.of_segments if place in places and item.code.startswith("9")]
    return _first_text(texts, private)


def waits_for_customer(answer: Answer) -> bool:
    """Whether an order waits for a TAN or for the customer's app."""
    return answer.has(TAN_NEEDED, APP_ASKED, APP_PENDING)


def next_page(answer: Answer, number: int) -> str | None:
    """The point at which more data of a segment begin; None if these were all."""
    return next((item.parameters[0] for item in answer.codes_of(number) if item.code == MORE_DATA and item.parameters), None)


def check(answer: Answer, typed: Iterable[str] = ()) -> None:
    """Raises the fault of an answer that ends the dialogue. `typed` are texts of the customer, which no message repeats."""
    codes = {item.code for item in answer.all_codes()}
    if codes & LOCKED:
        raise AccessLocked(_text(answer, LOCKED, typed))
    if codes & WRONG_PIN:
        raise WrongCredentials(_text(answer, WRONG_PIN, typed))
    if PRODUCT_REFUSED in codes:
        log.error("product_id_refused")
        raise Unreachable
    if codes & OUT_OF_STEP:
        raise OutOfStep
    errors = {item.code for item in answer.errors()}
    if ABORTED in errors or {item.code for item in answer.of_message if item.code[0] == "9"} - PARTLY_WRONG:
        raise refused(answer)


def refused(answer: Answer) -> BankFault:
    """The fault of an answer that refuses what was asked, for reasons that are not the customer's."""
    log.warning("order_refused", codes=sorted({item.code for item in answer.errors()}))
    return Unusable()


def _text(answer: Answer, codes: frozenset[str], typed: Iterable[str]) -> str | None:
    """The bank's own words for one of these codes, unless they repeat what the customer typed."""
    return _first_text([item for item in answer.all_codes() if item.code in codes], typed)


def _first_text(items: Iterable[ReturnCode], private: Iterable[str]) -> str | None:
    texts = [item.text for item in items if item.text]
    text = " ".join(texts[0].split())[:MAX_TEXT_LENGTH] if texts else ""
    return text if text and not any(secret and secret in text for secret in private) else None
