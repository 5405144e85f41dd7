"""Orders that read: accounts, balances, bookings, depots, media and the protocol of past orders."""

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from pipelines.banks.demo.memory import read_memory
from pipelines.banks.fints.syntax import Segment, segment
from pipelines.banks.fints_bank.accounts import BankAccount
from pipelines.banks.fints_bank.dialogue import BankExchange, fingerprint
from pipelines.banks.fints_bank.methods import medium_element
from pipelines.banks.fints_bank.parameters import CAMT, account_element, national_element, sepa_accounts

if TYPE_CHECKING:
    from pipelines.banks.fints_bank.books import StatementPage

DONE = "Der Auftrag wurde ausgeführt."
PERIOD_PLACES = {"HKKAZ": (3, 4, 6), "HKCAZ": (4, 5, 7), "DKKKU": (4, 5, 7)}
"""Where orders for bookings have the first day, the last day and the touchdown point."""


CARD_LINE_WIDTH = 40


class UnreadableDay(ValueError):
    """A day that is not written as eight digits."""


def needs_confirmation(exchange: BankExchange, order: Segment) -> bool:
    """Whether an order reads bookings of long ago, which were not released in this dialogue."""
    from pipelines.banks.fints_bank import books

    if order.name not in PERIOD_PLACES or _release(order) in exchange.dialogue.released_orders:
        return False
    if exchange.dialogue.is_strong and not exchange.customer.behaviour.history_needs_tan:
        return False
    try:
        start = _day(order.text(PERIOD_PLACES[order.name][0]))
    except UnreadableDay:
        return False
    return books.is_long_ago(start, exchange.now)


def release(exchange: BankExchange, order: Segment) -> None:
    """Remembers that an order was confirmed, so that its next pages need nothing more."""
    if order.name in PERIOD_PLACES:
        exchange.dialogue.released_orders.add(_release(order))


def list_media(exchange: BankExchange, order: Segment, number: int) -> None:
    """HKTAB: the customer's media of the requested class."""
    media = [medium for medium in exchange.customer.behaviour.media if order.text(2) in ("", "A", medium.media_class)]
    if not media:
        exchange.answer.say(number, "3010", "Es liegen keine Einträge vor.")
        return
    exchange.answer.say(number, "0020", DONE)
    elements = [medium_element(medium, order.version) for medium in media]
    exchange.answer.add(number, segment("HITAB", order.version, "0", *elements))


def _list_accounts(exchange: BankExchange, order: Segment, number: int) -> None:
    from pipelines.banks.fints_bank import books

    accounts = books.accounts(exchange.customer, exchange.now)
    exchange.answer.say(number, "0020", DONE)
    exchange.answer.add(number, segment("HISPA", order.version, *sepa_accounts(exchange.customer, accounts)))


def _tell_balances(exchange: BankExchange, order: Segment, number: int) -> None:
    from pipelines.banks.fints_bank import books

    if order.text(2) == "J":
        accounts = [account for account in books.accounts(exchange.customer, exchange.now) if "HKSAL" in account.orders]
    else:
        account = account_for(exchange, order, number)
        accounts = [account] if account else []
    for account in accounts:
        exchange.answer.add(number, _balance(account, order.version, exchange.now))
    if accounts:
        exchange.answer.say(number, "0020", DONE)


def _tell_bookings(exchange: BankExchange, order: Segment, number: int) -> None:
    from pipelines.banks.fints_bank import books, statements

    account = account_for(exchange, order, number)
    if account is None:
        return
    first_place, last_place, touchdown_place = PERIOD_PLACES[order.name]
    try:
        period = _day(order.text(first_place)), _day(order.text(last_place))
    except UnreadableDay:
        exchange.answer.say(number, "9110", "Ungültiges Datum.")
        return
    page = books.page(exchange.customer, account, period, order.text(touchdown_place), exchange.now)
    if page is None:
        exchange.answer.say(number, "9210", "Der Aufsetzpunkt ist unbekannt.")
    elif not page.bookings.height and not page.pending.height:
        exchange.answer.say(number, "3010", "Keine Umsätze gefunden.")
    else:
        exchange.answer.say(number, "0020", DONE)
        if page.touchdown:
            exchange.answer.say(number, "3040", "Es liegen weitere Informationen vor.", page.touchdown)
        if order.name == "DKKKU":
            exchange.answer.add(number, _card_bookings(account, page))
            return
        booked, pending = statements.write(order.name, exchange.customer, account, page, exchange.now)
        if order.name == "HKCAZ":
            exchange.answer.add(number, segment("HICAZ", 1, account_element(account), CAMT, booked, pending))
        else:
            exchange.answer.add(number, segment("HIKAZ", order.version, booked, pending))


def _tell_positions(exchange: BankExchange, order: Segment, number: int) -> None:
    from pipelines.banks.fints_bank import books, mt535

    account = account_for(exchange, order, number)
    if account is None:
        return
    positions = books.positions(exchange.customer, account, exchange.now)
    if not positions:
        exchange.answer.say(number, "3010", "Es liegen keine Bestände vor.")
        return
    exchange.answer.say(number, "0020", DONE)
    statement = mt535.write_mt535(account, positions, exchange.now, with_isin=not exchange.customer.behaviour.shows_wkn_only)
    exchange.answer.add(number, segment("HIWPD", order.version, statement))


def _tell_protocol(exchange: BankExchange, order: Segment, number: int) -> None:
    """HKPRO: one segment for each order of this customer, with the message in which it was sent."""
    executed = read_memory(exchange.folder, exchange.customer.user_id).get("orders", [])
    if not executed:
        exchange.answer.say(number, "3010", "Es liegen keine Einträge vor.")
        return
    exchange.answer.say(number, "0020", DONE)
    for entry in executed:
        at = datetime.fromisoformat(entry["at"])
        message = (entry["dialogue"], str(entry["message_number"]))
        feedback = ("0020", "", f"Auftrag {entry['message_id']} wurde ausgeführt.")
        protocol = segment(
            "HIPRO", order.version, message, str(entry["segment_number"]), f"{at:%Y%m%d}", f"{at:%H%M%S}", feedback
        )
        exchange.answer.add(number, protocol)


HANDLERS: dict[str, Callable[[BankExchange, Segment, int], None]] = {
    "HKTAB": list_media,
    "HKSPA": _list_accounts,
    "HKSAL": _tell_balances,
    "HKKAZ": _tell_bookings,
    "HKCAZ": _tell_bookings,
    "DKKKU": _tell_bookings,
    "HKWPD": _tell_positions,
    "HKPRO": _tell_protocol,
}
REFUSABLE = frozenset(("HKSAL", "HKKAZ", "HKCAZ", "DKKKU", "HKWPD"))
"""The orders that customers are refused for whom the bank is at fault."""


def account_for(exchange: BankExchange, order: Segment, number: int) -> BankAccount | None:
    """The account of an order, if it may be used for it."""
    from pipelines.banks.fints_bank import books

    account = books.find_account(exchange.customer, order, exchange.now)
    if account is None:
        exchange.answer.say(number, "9010", "Das Konto ist unbekannt.")
    elif order.name not in account.orders:
        exchange.answer.say(number, "9010", "Der Auftrag ist für dieses Konto nicht zugelassen.")
        return None
    return account


def _balance(account: BankAccount, version: int, now: datetime) -> Segment:
    product = account.product
    cents = product.balance_cents or 0
    balance = ("C" if cents >= 0 else "D", amount_text(abs(cents)), product.currency, f"{now:%Y%m%d}", f"{now:%H%M%S}")
    line = product.overdraft_limit_cents or product.credit_line_cents or 0
    limits = ("", (amount_text(line), product.currency), (amount_text(max(cents + line, 0)), product.currency)) if line else ()
    element = account_element(account) if version >= 7 else national_element(account)
    return segment("HISAL", version, element, product.name[:30], product.currency, balance, *limits)


def _card_bookings(account: BankAccount, page: "StatementPage") -> Segment:
    """DIKKU: the card, its balance, and a group for each line of a page."""
    product = account.product
    cents = product.balance_cents or 0
    balance = ("C" if cents >= 0 else "D", amount_text(abs(cents)), product.currency, f"{page.closing_on:%Y%m%d}")
    rows = [*page.bookings.iter_rows(named=True), *page.pending.iter_rows(named=True)]
    return segment("DIKKU", 2, account.number, "", balance, "", "", *(_card_booking(account, row) for row in rows))


def _card_booking(account: BankAccount, row: dict[str, Any]) -> tuple[str, ...]:
    mark, amount = "C" if row["amount_cents"] >= 0 else "D", amount_text(abs(row["amount_cents"]))
    money = (amount, row["currency"], mark)
    days = (f"{row['value_on'] or row['booked_on']:%Y%m%d}", f"{row['booked_on']:%Y%m%d}")
    lines = [
        " ".join((row["purpose"] or "").split())[start : start + CARD_LINE_WIDTH]
        for start in range(0, 4 * CARD_LINE_WIDTH, CARD_LINE_WIDTH)
    ]
    texts = (row["counterparty_name"] or "", *lines, *[""] * 4)
    return (account.number, *days, "", *money, "1,", *money, *texts, "N" if row["pending"] else "J", f"{days[1]}0001")


def amount_text(cents: int) -> str:
    """An amount as FinTS writes it: with a comma always, and without zeros at its end."""
    return f"{cents // 100},{f'{cents % 100:02}'.rstrip('0')}"


def _release(order: Segment) -> str:
    return fingerprint(order, PERIOD_PLACES[order.name][2])


def _day(text: str) -> date | None:
    if not text:
        return None
    if not re.fullmatch("[0-9]{8}", text):
        raise UnreadableDay(text)
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError as error:
        raise UnreadableDay(text) from error
