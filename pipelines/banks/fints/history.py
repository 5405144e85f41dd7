"""What is read of accounts without a question: IBANs, and bookings over all pages."""

from datetime import date, timedelta

from pipelines.banks.base import (
    FetchRequest,
    ScaNeeded,
    Unusable,
)
from pipelines.banks.fints import codes, orders
from pipelines.banks.fints.challenges import TanChallenge
from pipelines.banks.fints.conversation import BERLIN, Conversation, Flow
from pipelines.banks.fints.memory import History
from pipelines.banks.fints.messages import FIRST_ORDER, Answer
from pipelines.banks.fints.parameters import (
    SHORT_HISTORY_DAYS,
    BankParameters,
    FintsAccount,
    answer_name,
    with_sepa,
)
from pipelines.banks.fints.syntax import Segment, serialise

MAX_PAGES = 500


def sepa_accounts(conversation: Conversation, accounts: tuple[FintsAccount, ...]) -> Flow[tuple[FintsAccount, ...]]:
    """The accounts with their IBANs and BICs. A bank that does not tell them leaves those of the customer's parameters."""
    if "HKSPA" in conversation.memory.bank.versions:
        answer = yield from conversation.order(orders.accounts(conversation.memory.bank))
        if isinstance(answer, Answer) and codes.is_done(answer, FIRST_ORDER):
            accounts = with_sepa(accounts, answer.data("HISPA", FIRST_ORDER))
        elif not accounts:
            raise ScaNeeded if isinstance(answer, TanChallenge) else Unusable
    return accounts


def booking_order(bank: BankParameters, account: FintsAccount) -> str | None:
    """The order that brings the bookings of an account: CAMT where it is offered, for cards their own order if there is no other;
    None if there is none.
    """
    if "HKCAZ" in bank.versions and account.allows("HKCAZ") and account.iban:
        return "HKCAZ"
    if "HKKAZ" in bank.versions and account.allows("HKKAZ"):
        return "HKKAZ"
    return "DKKKU" if "DKKKU" in bank.versions and account.is_card and account.allows("DKKKU") else None


def read_history(
    conversation: Conversation, account: FintsAccount, days: tuple[date, date], answer: Answer | None = None
) -> Flow["History | TanChallenge | None"]:
    """The bookings of an account, over all pages; what the customer must confirm before; or None if the bank refuses them.
    `answer` is the first page, if it has come with a TAN.
    """
    bank = conversation.memory.bank
    order = booking_order(bank, account)
    if order is None:
        return None
    booked: list[bytes] = []
    pending: list[bytes] = []
    page = ""
    for _ in range(MAX_PAGES):
        if answer is None:
            outcome = yield from conversation.order(orders.bookings(bank, account, order, days, page))
            if isinstance(outcome, TanChallenge):
                return outcome if not page else None
            answer = outcome
        if not codes.is_done(answer, FIRST_ORDER):
            return None
        segments = answer.data(answer_name(order), FIRST_ORDER)
        if not segments and not codes.is_empty(answer, FIRST_ORDER):
            return None  # a positive code without data says nothing about bookings
        for each in segments:
            if order == "DKKKU":
                booked.append(serialise([each]))
                continue
            first = 3 if order == "HKCAZ" else 1
            booked += _documents(each, first)
            pending += _documents(each, first + 1)
        following = codes.next_page(answer, FIRST_ORDER)
        if following is None:
            return History(order, days[0], tuple(booked), tuple(pending))
        if following == page:
            return None
        page, answer = following, None
    return None


def _documents(each: Segment, place: int) -> list[bytes]:
    """The documents of an element: one, or a group of them."""
    return [content for position in range(1, len(each.element(place)) + 1) if (content := each.binary(place, position)).strip()]


def today_of(request: FetchRequest) -> date:
    """The bank's day: the one in Germany."""
    return request.now.astimezone(BERLIN).date()


def short_history(request: FetchRequest) -> date:
    """The first day of the bookings that banks give without a TAN."""
    return today_of(request) - timedelta(days=SHORT_HISTORY_DAYS)
