"""The verification of payees (HIVPP): what a bank says of the recipients of an order, or that it needs more time."""

from dataclasses import dataclass, field

from pipelines.banks.base import Payee, PayeeMatch, Payment
from pipelines.banks.fints import codes, pain
from pipelines.banks.fints.challenges import MAX_TEXT_LENGTH, NO_TEXT, plain_text
from pipelines.banks.fints.messages import Answer
from pipelines.banks.fints.parameters import MAX_WAIT_SECONDS
from pipelines.banks.fints.syntax import Segment

RESULT_ID, POLLING_ID, REPORT, SINGLE, NOTICE, WAIT = 1, 3, 5, 6, 7, 8
"""The places of these elements in HIVPP."""
SINGLE_NAME, SINGLE_CODE = 3, 5
NO_DIFFERENCE = "0025"
USUAL_WAIT_SECONDS = 2.0
MAX_WAIT_DIGITS = 3


@dataclass(frozen=True)
class Verification:
    """The state of a verification. `payees` has an answer for each transfer, and is empty while the bank works."""

    payees: tuple[Payee, ...] = field(default=(), repr=False)
    result_id: bytes = b""
    polling_id: bytes = b""
    page: str = ""
    wait_seconds: float = USUAL_WAIT_SECONDS
    notice: str | None = None

    @property
    def is_match(self) -> bool:
        """Whether all names are those of the accounts."""
        return bool(self.payees) and all(payee.match is PayeeMatch.MATCH for payee in self.payees)


def read_verification(answer: Answer, number: int, payment: Payment) -> Verification | None:
    """What the bank says of the payees in its answer to the segment with this number; None if it says nothing. Raises `Unusable`
    for a report that cannot be read.
    """
    own_codes = {item.code for item in answer.codes_of(number)}
    hivpp = next(iter(answer.data("HIVPP", number)), None)
    if hivpp is None or not own_codes:
        return None
    page = codes.next_page(answer, number) or ""
    result_id, polling_id = hivpp.binary(RESULT_ID), hivpp.binary(POLLING_ID)
    if codes.PAYEES_PENDING in own_codes or (page and not result_id):
        return Verification((), result_id, polling_id, page, _wait_seconds(hivpp))
    payees = _payees(hivpp, payment)
    if not payees:
        match = PayeeMatch.MATCH if NO_DIFFERENCE in own_codes else PayeeMatch.NOT_POSSIBLE
        payees = (Payee(match),) * len(payment.transfers)
    return Verification(payees, result_id, polling_id, page, notice=_notice(hivpp))


def _payees(hivpp: Segment, payment: Payment) -> tuple[Payee, ...]:
    if hivpp.binary(REPORT):
        return pain.payees_of_report(payment, hivpp.binary(REPORT))
    code = hivpp.text(SINGLE, SINGLE_CODE)
    if not code or len(payment.transfers) > 1:  # a single result says nothing of several payees
        return ()
    return (pain.payee_of(code, hivpp.text(SINGLE, SINGLE_NAME)),)


def _notice(hivpp: Segment) -> str | None:
    text = hivpp.text(NOTICE)
    return None if text.strip() in NO_TEXT else plain_text(text)[:MAX_TEXT_LENGTH]


def _wait_seconds(hivpp: Segment) -> float:
    text = hivpp.text(WAIT)
    is_number = text.isdecimal() and len(text) <= MAX_WAIT_DIGITS
    return min(float(text), MAX_WAIT_SECONDS) if is_number else USUAL_WAIT_SECONDS
