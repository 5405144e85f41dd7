"""What became of a payment whose answer was lost: by the bank's protocol of orders (HKPRO), or by the bookings of the account.

Both can only say that it was executed, or that it was refused. What neither mentions stays unknown: it may still be waiting for
the customer's app, or be booked tomorrow.
"""

from datetime import date, timedelta
from uuid import UUID

from pipelines.banks.base import BankFault, Code, Done, Failed, FetchRequest, Unreachable, Unusable
from pipelines.banks.fints import codes, orders
from pipelines.banks.fints.challenges import TanChallenge
from pipelines.banks.fints.conversation import Conversation, FintsCaller, Flow, login_in_step
from pipelines.banks.fints.delivery import bookings_frame, key_of
from pipelines.banks.fints.history import MAX_PAGES, read_history, sepa_accounts, today_of
from pipelines.banks.fints.memory import History, Memory, OrderTrace
from pipelines.banks.fints.messages import FIRST_ORDER, Answer
from pipelines.banks.fints.pain import BULK_REFERENCE_LENGTH
from pipelines.banks.fints.parameters import FintsAccount, can_pay
from pipelines.banks.fints.syntax import Segment
from pipelines.statements.statement import StatementFault

SEARCHED_DAYS = 14
"""How far back an order is looked for whose day is not remembered."""
FEEDBACK = 5
"""The place of the first return code in HIPRO."""
EXECUTED = "0020"
OPEN_CODES = frozenset(
    (codes.TAN_NEEDED, codes.APP_ASKED, codes.APP_PENDING, codes.ORDER_HELD, codes.PAYEES_DIFFER, codes.PAYEES_PENDING)
)


def find_outcome(caller: FintsCaller, memory: Memory, request: FetchRequest, reference: UUID) -> Flow[Done | Failed | None]:
    """What became of a payment; None if the bank does not say it, or wants the customer first. Nothing is ever paid here."""
    if not memory.is_complete:
        return None
    trace = memory.order if memory.order is not None and memory.order.reference == reference else None
    conversation, outcome = yield from login_in_step(caller, memory)
    if isinstance(outcome, TanChallenge):
        yield from conversation.close()
        return None
    accounts = yield from conversation.closing(sepa_accounts(conversation, outcome))
    first_day = trace.day if trace else today_of(request) - timedelta(days=SEARCHED_DAYS)
    days = (first_day, today_of(request))
    end: Done | Failed | None = yield from conversation.closing(_by_protocol(conversation, days, reference, trace))
    if end is None:
        end = yield from conversation.closing(_by_bookings(conversation, accounts, days, reference, trace))
    yield from conversation.close()
    return end


# The protocol.


def _by_protocol(
    conversation: Conversation, days: tuple[date, date], reference: UUID, trace: OrderTrace | None
) -> Flow[Done | Failed | None]:
    """What the protocol says; a bank that has none, or refuses it, says nothing."""
    bank, page, entries = conversation.memory.bank, "", list[Segment]()
    if "HKPRO" not in bank.versions:
        return None
    for _ in range(MAX_PAGES):
        answer = yield from conversation.order(orders.protocol(bank, days, page))
        if not isinstance(answer, Answer) or not codes.is_done(answer, FIRST_ORDER):
            return None
        entries += answer.data("HIPRO", FIRST_ORDER)
        following = codes.next_page(answer, FIRST_ORDER)
        if following is None or following == page:
            break
        page = following
    return read_protocol(entries, reference, trace)


def read_protocol(entries: list[Segment], reference: UUID, trace: OrderTrace | None) -> Done | Failed | None:
    """What entries of the protocol say of an order: those for its own message or its TAN, and those that name it."""
    own_codes = [_entry_codes(entry) for entry in entries if _is_about(entry, reference, trace)]
    if any(EXECUTED in entry and not entry & OPEN_CODES and not _is_negative(entry) for entry in own_codes):
        return Done()
    return Failed(Code.TRANSFER_REFUSED) if any(_is_negative(entry) for entry in own_codes) else None


def _is_about(entry: Segment, reference: UUID, trace: OrderTrace | None) -> bool:
    if trace is not None and entry.text(1) == trace.dialogue:
        return entry.text(1, 2) in {str(trace.number), str(trace.tan_number)}
    texts = (entry.text(place, 3) for place in range(FEEDBACK, len(entry.elements) + 1))
    return any(name in text.lower() for text in texts for name in (reference.hex, str(reference)))


def _entry_codes(entry: Segment) -> frozenset[str]:
    return frozenset(entry.text(place) for place in range(FEEDBACK, len(entry.elements) + 1))


def _is_negative(entry_codes: frozenset[str]) -> bool:
    return any(code.startswith("9") for code in entry_codes)


# The bookings.


def _by_bookings(
    conversation: Conversation,
    accounts: tuple[FintsAccount, ...],
    days: tuple[date, date],
    reference: UUID,
    trace: OrderTrace | None,
) -> Flow[Done | None]:
    """Done if a booking bears our own reference, which no other order has. A customer's end-to-end id may come twice."""
    for account in accounts:
        if not can_pay(conversation.memory.bank, account, "HKCCS") or (trace and key_of(account) != trace.product):
            continue
        try:
            history = yield from read_history(conversation, account, days)
        except Unreachable:
            raise
        except BankFault:
            return None
        if isinstance(history, History) and _is_booked(history, account, reference):
            return Done()
    return None


def _is_booked(history: History, account: FintsAccount, reference: UUID) -> bool:
    import polars as pl

    try:
        frame = bookings_frame(history, account)
    except (StatementFault, Unusable):
        return False
    texts = pl.col("purpose").str.replace_all(r"\s", "").str.to_lowercase()
    is_ours = texts.str.contains(reference.hex[:BULK_REFERENCE_LENGTH], literal=True)
    return not frame.filter(is_ours & ~pl.col("pending") & (pl.col("amount_cents") < 0)).is_empty()
