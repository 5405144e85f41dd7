"""The parts of a fetch: products with balances, bookings and positions, from what the bank has answered."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from analytics.products import ProductCategory
from pipelines.banks.base import (
    Code,
    FetchedBookings,
    FetchedProduct,
    FetchRequest,
    Header,
    Holdings,
    ProductFailure,
    SameBookings,
    ScaNeeded,
    Unusable,
)
from pipelines.banks.fints import cards, codes, orders, positions
from pipelines.banks.fints.challenges import TanChallenge
from pipelines.banks.fints.conversation import BERLIN, Conversation, Flow
from pipelines.banks.fints.digests import digest_of
from pipelines.banks.fints.history import MAX_PAGES, booking_order, read_history, short_history, today_of
from pipelines.banks.fints.memory import History, write_memory
from pipelines.banks.fints.messages import FIRST_ORDER, Answer
from pipelines.banks.fints.parameters import BankParameters, FintsAccount, can_pay
from pipelines.banks.fints.syntax import Segment
from pipelines.statements.statement import StatementFault, cents_of

if TYPE_CHECKING:
    import polars as pl

KEY_LENGTH = 16
CATEGORIES = {
    0: ProductCategory.CHECKING,
    1: ProductCategory.SAVINGS,
    2: ProductCategory.FIXED_DEPOSIT,
    3: ProductCategory.DEPOT,
    4: ProductCategory.LOAN,
    5: ProductCategory.CREDIT_CARD,
    6: ProductCategory.DEPOT,
    7: ProductCategory.HOME_SAVINGS,
}
"""The category of a product by the tens of its account type."""
NAMES = {
    ProductCategory.DEPOT: r"depot|wertpapier",
    ProductCategory.CALL_MONEY: r"tagesgeld|extra-konto|plus-?konto|cash ?konto",
    ProductCategory.FIXED_DEPOSIT: r"festgeld|termingeld",
    ProductCategory.SAVINGS: r"spar",
    ProductCategory.CREDIT_CARD: r"kreditkarte|visa|mastercard",
    ProductCategory.LOAN: r"darlehen|kredit|baufinanz",
    ProductCategory.CHECKING: r"giro|kontokorrent|gehalt|konto",
}
"""Words in the names of products, where the bank does not say what they are; the first match decides."""
NAME_PATTERNS = {category: re.compile(words, re.IGNORECASE) for category, words in NAMES.items()}
BOOKED, CREDIT_LINE = 4, 6
"""The places of these elements in HISAL."""
log = structlog.get_logger("fints")


def category_of(account: FintsAccount) -> ProductCategory:
    """The kind of an account: by its type, its name, or what may be asked about it."""
    if account.kind is not None and account.kind // 10 in CATEGORIES and account.kind > 0:
        category = CATEGORIES[account.kind // 10]
        is_call_money = NAME_PATTERNS[ProductCategory.CALL_MONEY].search(account.name) is not None
        is_refined = is_call_money and category in (ProductCategory.CHECKING, ProductCategory.SAVINGS)
        return ProductCategory.CALL_MONEY if is_refined else category
    if account.orders is not None and "HKWPD" in account.orders and not {"HKKAZ", "HKCAZ"} & set(account.orders):
        return ProductCategory.DEPOT
    by_name = next((kind for kind, words in NAME_PATTERNS.items() if words.search(account.name)), None)
    return by_name or (ProductCategory.CHECKING if account.iban else ProductCategory.OTHER_ACCOUNT)


def key_of(account: FintsAccount) -> str:
    """The key of the product: stable, and without the number of the account."""
    return hashlib.sha256("\0".join(account.identity).encode()).hexdigest()[:KEY_LENGTH]


def is_depot(account: FintsAccount, bank: BankParameters) -> bool:
    """Whether the bank tells the positions of an account."""
    return category_of(account) is ProductCategory.DEPOT and "HKWPD" in bank.versions and account.allows("HKWPD")


def is_served(account: FintsAccount, bank: BankParameters) -> bool:
    """Whether the bank tells bookings or positions of an account; what it tells nothing about is no product."""
    if category_of(account) is ProductCategory.DEPOT:
        return is_depot(account, bank)
    return booking_order(bank, account) is not None


# The days that are asked for.


def first_day(conversation: Conversation, account: FintsAccount, request: FetchRequest, *, with_tan: bool) -> date:
    """The first day of the bookings to ask for. Days of long ago only where the bank wants no TAN, or the customer can enter
    one; but a day from which bookings are missing is never skipped.
    """
    bank, category = conversation.memory.bank, category_of(account)
    order = booking_order(bank, account) or ""
    stored_days = {"HKCAZ": bank.camt_days, "DKKKU": bank.card_days}.get(order, bank.statement_days)
    oldest = today_of(request) - timedelta(days=stored_days)
    short = max(oldest, short_history(request))
    since = request.since.get(key_of(account))
    if since is not None:
        return max(since, oldest)
    is_whole = request.whole_history_of is None or category in request.whole_history_of
    return oldest if is_whole and (with_tan or not conversation.needs_tan(order)) else short


def first_day_with_tan(conversation: Conversation, account: FintsAccount, request: FetchRequest) -> date | None:
    """The first day of bookings of long ago that are wanted and may need a TAN; None if there are none."""
    bank = conversation.memory.bank
    order = booking_order(bank, account)
    is_wanted = request.wanted is None or key_of(account) in request.wanted
    if order is None or not is_wanted or not is_served(account, bank) or not conversation.needs_tan(order):
        return None
    day = first_day(conversation, account, request, with_tan=True)
    return day if day < short_history(request) else None


# The parts.


def deliver(
    conversation: Conversation,
    accounts: tuple[FintsAccount, ...],
    request: FetchRequest,
    histories: dict[int, History],
    *,
    may_lack: bool,
) -> Flow[None]:
    """The header, then every requested product. A product for which the bank wants a TAN fails if it `may_lack`; otherwise all
    of the fetch does, with `ScaNeeded`.
    """
    served = [(place, account) for place, account in enumerate(accounts) if is_served(account, conversation.memory.bank)]
    products: list[FetchedProduct] = []
    depots: dict[str, Holdings | ProductFailure] = {}
    cards_by_key: dict[str, History | ProductFailure] = {}
    for place, account in served:
        product = yield from _product(conversation, account, request)
        if is_depot(account, conversation.memory.bank):
            holdings = yield from _holdings(conversation, account, may_lack=may_lack)
            depots[product.key] = holdings
            product = _valued(product, holdings, request.now)
        elif booking_order(conversation.memory.bank, account) == "DKKKU":
            history = histories.get(place) or (yield from _history(conversation, account, request, may_lack=may_lack))
            cards_by_key[product.key] = history
            product = _with_card_balance(product, history, request.now)
        products.append(product)
    requested = [entry for entry in served if request.wanted is None or key_of(entry[1]) in request.wanted]
    memory = conversation.memory
    header = Header(
        tuple(products),
        tuple(method.shown() for method in memory.methods),
        memory.method or None,
        tuple(medium.shown() for medium in memory.media),
        memory=write_memory(memory),
    )
    if not requested:
        yield from conversation.close()
    yield header
    for place, account in requested:
        depot = depots.get(key_of(account))
        outcome = cards_by_key.get(key_of(account)) or histories.get(place)
        if depot is not None:
            yield depot
        elif isinstance(outcome, ProductFailure):
            yield outcome
        else:
            yield (yield from _bookings(conversation, account, request, outcome, may_lack=may_lack))


def _product(conversation: Conversation, account: FintsAccount, request: FetchRequest) -> Flow[FetchedProduct]:
    """The product of an account, with its balance if the bank tells it."""
    bank, cents, balance_at, credit_line = conversation.memory.bank, None, None, None
    currency = account.currency
    if not is_depot(account, bank) and "HKSAL" in bank.versions and account.allows("HKSAL"):
        answer = yield from conversation.order(orders.balance(bank, account))
        if isinstance(answer, Answer) and codes.is_done(answer, FIRST_ORDER):
            segments = answer.data("HISAL", FIRST_ORDER)
            if segments:
                cents, currency, balance_at = _balance(segments[0], request.now)
                credit_line = _amount(segments[0], CREDIT_LINE)
    category, has_method = category_of(account), bool(conversation.memory.methods)
    return FetchedProduct(
        key_of(account),
        category,
        account.name or "Konto",
        account.owner_name or "Kontoinhaber",
        currency=currency,
        balance_cents=cents,
        balance_at=balance_at,
        account_number=account.number,
        iban=account.iban or None,
        bic=account.bic or None,
        blz=account.blz or None,
        bank_name=bank.name or None,
        transfer_support=has_method and can_pay(bank, account, "HKCCS"),
        bulk_transfer_support=has_method and can_pay(bank, account, "HKCCM"),
        overdraft_limit_cents=credit_line if category is ProductCategory.CHECKING else None,
    )


def _valued(product: FetchedProduct, holdings: Holdings | ProductFailure, now: datetime) -> FetchedProduct:
    """The depot with the value of its positions, if each has one."""
    if isinstance(holdings, ProductFailure) or any(position.total_cents is None for position in holdings.positions):
        return product
    total = sum(position.total_cents or 0 for position in holdings.positions)
    return replace(product, balance_cents=total, balance_at=now, balance_by_statement=False)


def _with_card_balance(product: FetchedProduct, history: History | ProductFailure, now: datetime) -> FetchedProduct:
    """The card with the balance that came with its bookings, if the bank tells none otherwise."""
    if isinstance(history, ProductFailure) or product.balance_cents is not None:
        return product
    try:
        balance = cards.card_balance(history.booked)
    except (StatementFault, Unusable):
        return product
    if balance is None:
        return product
    cents, currency, day = balance
    balance_at = min(datetime.combine(day, datetime.min.time(), BERLIN), now)
    return replace(product, balance_cents=cents, currency=currency, balance_at=balance_at)


def _balance(hisal: Segment, now: datetime) -> tuple[int, str, datetime]:
    """The booked balance of HISAL, its currency and its time; raises `Unusable` if it makes no sense."""
    sign, amount, currency, day, time = (hisal.text(BOOKED, position) for position in range(1, 6))
    try:
        cents = cents_of(amount)
        booked_at = datetime.strptime(day + (time or "000000"), "%Y%m%d%H%M%S").replace(tzinfo=BERLIN) if day else now
    except (StatementFault, ValueError) as error:
        raise Unusable from error
    if sign not in ("C", "D"):
        raise Unusable
    return (cents if sign == "C" else -cents), currency or hisal.text(3) or "EUR", min(booked_at, now)


def _amount(hisal: Segment, place: int) -> int | None:
    try:
        return cents_of(hisal.text(place))
    except StatementFault:
        return None


def _history(
    conversation: Conversation, account: FintsAccount, request: FetchRequest, *, may_lack: bool
) -> Flow[History | ProductFailure]:
    """The bookings of an account as the bank writes them."""
    day = first_day(conversation, account, request, with_tan=False)
    outcome = yield from read_history(conversation, account, (day, today_of(request)))
    if isinstance(outcome, TanChallenge) and not may_lack:
        raise ScaNeeded
    return outcome if isinstance(outcome, History) else ProductFailure(key_of(account), Code.BOOKINGS_FAILED)


def _bookings(
    conversation: Conversation, account: FintsAccount, request: FetchRequest, history: History | None, *, may_lack: bool
) -> Flow[FetchedBookings | SameBookings | ProductFailure]:
    """The bookings of an account. The same answer as the last time is not read again."""
    key = key_of(account)
    outcome = history or (yield from _history(conversation, account, request, may_lack=may_lack))
    if isinstance(outcome, ProductFailure):
        return outcome
    digest = digest_of(outcome, account)
    if request.digests.get(key) == digest:
        return SameBookings(key)
    try:
        return FetchedBookings(key, outcome.first_day, bookings_frame(outcome, account), digest)
    except (StatementFault, Unusable) as fault:
        log.warning("bookings_unreadable", order=outcome.order, error=str(fault))
        return ProductFailure(key, Code.BOOKINGS_FAILED)


def bookings_frame(history: History, account: FintsAccount) -> "pl.DataFrame":
    """The bookings of a history from its first day on, the oldest first. Raises `StatementFault`, and `Unusable` for the
    bookings of another account.
    """
    import polars as pl

    from analytics.frames import BOOKINGS
    from pipelines.statements.camt import read_camt
    from pipelines.statements.mt940 import read_mt940
    from pipelines.statements.statement import in_order

    if history.order == "DKKKU":
        frame = cards.card_bookings(history.booked)
        return frame.filter(pl.col("booked_on") >= history.first_day)
    if history.order == "HKCAZ":
        booked = [statement for content in history.booked for statement in read_camt(content)]
        pending = [statement for content in history.pending for statement in read_camt(content)]
    else:
        booked = read_mt940(_joined(history.booked)) if history.booked else []
        pending = read_mt940(_joined(history.pending)) if history.pending else []
    for statement in (*booked, *pending):
        if account.iban and statement.account.iban and statement.account.iban != account.iban:
            raise Unusable
    differences = sum(len(statement.differences) for statement in booked)
    if differences:
        log.warning("statement_differs", order=history.order, differences=differences)
    frames = [
        *(statement.bookings for statement in booked),
        *(statement.bookings.with_columns(pending=pl.lit(True)) for statement in pending),
    ]
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=BOOKINGS)
    return in_order(frame.filter(pl.col("booked_on") >= history.first_day))


def _joined(pages: Sequence[bytes]) -> bytes:
    """The pages of MT940 as one file: a page may end within a statement, but not within a line."""
    return b"".join(page if page.endswith(b"\n") else page + b"\r\n" for page in pages)


def _holdings(conversation: Conversation, account: FintsAccount, *, may_lack: bool) -> Flow[Holdings | ProductFailure]:
    """The positions of a depot, over all pages."""
    key, bank, page = key_of(account), conversation.memory.bank, ""
    statements: list[bytes] = []
    for _ in range(MAX_PAGES):
        answer = yield from conversation.order(orders.positions(bank, account, page))
        if isinstance(answer, TanChallenge):
            if not may_lack:
                raise ScaNeeded
            return ProductFailure(key, Code.POSITIONS_FAILED)
        segments = answer.data("HIWPD", FIRST_ORDER)
        if not codes.is_done(answer, FIRST_ORDER) or not (segments or codes.is_empty(answer, FIRST_ORDER)):
            return ProductFailure(key, Code.POSITIONS_FAILED)
        statements += [each.binary(1) for each in segments if each.binary(1).strip()]
        following = codes.next_page(answer, FIRST_ORDER)
        if following is None:
            break
        page = following
    try:
        return Holdings(key, positions.read_mt535(statements))
    except Unusable:
        return ProductFailure(key, Code.POSITIONS_FAILED)
