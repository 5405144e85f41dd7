"""The orders of a dialogue: which of them the bank takes now, which must be confirmed first, and what it does with them."""

from functools import lru_cache

from pipelines.banks.fints.syntax import Segment
from pipelines.banks.fints_bank import confirmation, paying, reading
from pipelines.banks.fints_bank.customers import BankProfile
from pipelines.banks.fints_bank.dialogue import BankExchange
from pipelines.banks.fints_bank.messages import ONE_STEP
from pipelines.banks.fints_bank.methods import RIGHT_TAN
from pipelines.banks.fints_bank.parameters import PAYMENTS, bank_parameters

WITHOUT_CONFIRMATION = frozenset(("HKTAB",))
"""What a dialogue may do whose login was not confirmed."""


def process(exchange: BankExchange) -> None:
    """Answers all orders of a message in a dialogue."""
    if exchange.customer.behaviour.aborts_orders and not exchange.request.order("HKEND"):
        exchange.answer.is_aborted = True
        return
    for order in exchange.request.orders:
        if exchange.answer.is_aborted:
            return
        if order.name == "HKTAN":
            _process_tan(exchange, order)
        elif order.name not in ("HKVPP", "HKVPA") or not _payment(exchange):
            _process(exchange, order)


def _process_tan(exchange: BankExchange, tan_order: Segment) -> None:
    """HKTAN in its own right; with process 4 it only accompanies an order."""
    if tan_order.text(1) in ("2", "S"):
        waiting = confirmation.confirm(exchange, tan_order)
        if waiting is not None and waiting.order is not None:
            reading.release(exchange, waiting.order)
            _execute(exchange, waiting.order, tan_order.number, waiting.message_number)


def _process(exchange: BankExchange, order: Segment) -> None:
    refusal = _refusal(exchange, order)
    if refusal:
        exchange.answer.say(order.number, *refusal)
        return
    tan_order = exchange.request.order("HKTAN")
    if order.name in PAYMENTS:
        if not paying.is_acceptable(exchange, order) or not paying.is_payee_verified(exchange, order):
            return
        needs_confirmation = True
    else:
        needs_confirmation = reading.needs_confirmation(exchange, order)
    if not needs_confirmation:
        _execute(exchange, order, order.number)
        if tan_order is not None and tan_order.text(1) == "4":
            confirmation.exempt(exchange, tan_order)
    elif exchange.request.method == ONE_STEP:
        _execute_in_one_step(exchange, order)
    elif tan_order is None:
        exchange.answer.say(order.number, "9370", "Anzahl der Signaturen für diesen Auftrag unzureichend.")
    elif tan_order.text(2) != order.name:
        exchange.answer.say(tan_order.number, "9110", "HKTAN nennt einen anderen Auftrag.")
    elif confirmation.has_medium(exchange, tan_order):
        confirmation.ask(exchange, tan_order, order)


def _refusal(exchange: BankExchange, order: Segment) -> tuple[str, str] | None:
    """Why the bank does not take an order at all."""
    dialogue, behaviour = exchange.dialogue, exchange.customer.behaviour
    if order.name not in reading.HANDLERS.keys() | set(PAYMENTS) | {"HKVPP"}:
        return "9010", "Der Auftrag wird nicht unterstützt."
    if (order.name, order.version) not in _offered(behaviour.profile):
        return "9010", "Die Version des Auftrags wird nicht unterstützt."
    if dialogue.is_locked:
        return "9931", "Zugang gesperrt."
    if not dialogue.is_confirmed and order.name not in WITHOUT_CONFIRMATION:
        return "9075", "Starke Kundenauthentifizierung erforderlich."
    if behaviour.order_refusal and order.name in reading.REFUSABLE:
        return behaviour.order_refusal
    return None


def _execute(exchange: BankExchange, order: Segment, number: int, message_number: int | None = None) -> None:
    """Does what an order says. `number` is that of the segment that is answered, which may come later than the order."""
    if order.name in PAYMENTS:
        paying.execute(exchange, order, number, message_number or exchange.request.number)
    elif order.name == "HKVPP":
        paying.poll_payees(exchange, order)
    else:
        reading.HANDLERS[order.name](exchange, order, number)


def _execute_in_one_step(exchange: BankExchange, order: Segment) -> None:
    """Executes an order whose TAN came with it; bookings need none there."""
    if order.name in PAYMENTS and exchange.request.tan != RIGHT_TAN:
        exchange.answer.say(order.number, "9941", "TAN ungültig.")
    else:
        _execute(exchange, order, order.number)


def _payment(exchange: BankExchange) -> Segment | None:
    """The payment of a message, with which a verification of payees comes."""
    return next((order for order in exchange.request.orders if order.name in PAYMENTS), None)


@lru_cache(maxsize=len(BankProfile))
def _offered(profile: BankProfile) -> frozenset[tuple[str, int]]:
    """The orders in the versions that the bank's parameters name."""
    names = [(parameter.name, parameter.version) for parameter in bank_parameters(profile, "")]
    return frozenset((f"{name[0]}K{name[2:-1]}", version) for name, version in names if name.endswith("S"))
