"""Confirmations (HKTAN): asking for one, checking a TAN, being polled, and what follows when the customer has confirmed."""

from datetime import timedelta

from pipelines.banks.demo.memory import open_memory
from pipelines.banks.fints.syntax import Segment, segment
from pipelines.banks.fints_bank import methods
from pipelines.banks.fints_bank.dialogue import BankExchange, WaitingOrder, new_token
from pipelines.banks.fints_bank.methods import BankMethod
from pipelines.banks.fints_bank.parameters import user_parameters

CHALLENGE_DURATION = timedelta(minutes=5)
UNKNOWN_REFERENCE = "Keine Daten zur übermittelten Auftragsreferenz vorhanden."


def has_medium(exchange: BankExchange, tan_order: Segment) -> bool:
    """Whether HKTAN names a medium of the customer, where the method needs one and there are several."""
    method = exchange.method
    if method is None or not method.needs_medium:
        return True
    names = [medium.name for medium in exchange.customer.behaviour.media if medium.media_class == method.media_class]
    if tan_order.text(11) in names or (len(names) == 1 and not tan_order.text(11)):
        return True
    exchange.answer.say(tan_order.number, "9210", "Das TAN-Medium fehlt oder ist unbekannt.")
    return False


def exempt(exchange: BankExchange, tan_order: Segment) -> None:
    """Answers that no confirmation is needed."""
    exchange.answer.say(tan_order.number, "3076", "Starke Kundenauthentifizierung nicht notwendig.")
    exchange.answer.add(tan_order.number, segment("HITAN", tan_order.version, "4", "", "noref", "nochallenge"))


def ask(exchange: BankExchange, tan_order: Segment, order: Segment | None) -> None:
    """Keeps an order, or the login, until the customer has confirmed it."""
    method, reference = exchange.method, new_token()
    if method is None:
        exchange.answer.say(tan_order.number, "9210", "Das Sicherheitsverfahren ist nicht zugelassen.")
        return
    exchange.dialogue.waiting[reference] = WaitingOrder(order, exchange.request.number)
    if method.is_decoupled:
        exchange.answer.say(tan_order.number, "3955", "Sicherheitsfreigabe erfolgt über anderen Kanal.")
    else:
        exchange.answer.say(tan_order.number, "0030", "Auftrag empfangen - Sicherheitsfreigabe erforderlich.")
    exchange.answer.add(tan_order.number, _challenge(exchange, tan_order, method, reference))


def confirm(exchange: BankExchange, tan_order: Segment) -> WaitingOrder | None:
    """Answers a TAN, or the question whether the customer has confirmed in the app; what may be executed now."""
    reference = tan_order.text(5)
    waiting = exchange.dialogue.waiting.get(reference)
    method = exchange.method
    if waiting is None or method is None or method.is_decoupled != (tan_order.text(1) == "S"):
        exchange.answer.say(tan_order.number, "9210", UNKNOWN_REFERENCE)
        return None
    is_confirmed = (
        _is_polled(exchange, tan_order, waiting, method) if method.is_decoupled else _is_right(exchange, tan_order, waiting)
    )
    if not is_confirmed:
        return None
    del exchange.dialogue.waiting[reference]
    exchange.answer.add(tan_order.number, segment("HITAN", tan_order.version, tan_order.text(1), "", reference))
    if waiting.order is None:
        exchange.dialogue.is_strong = True
        _remember(exchange)
        exchange.answer.say(tan_order.number, "0020", "Der Auftrag wurde ausgeführt.")
        let_in(exchange, tan_order.number)
    return waiting


def let_in(exchange: BankExchange, number: int) -> None:
    """Opens the dialogue for orders, and sends the user's parameters if they are new."""
    from pipelines.banks.fints_bank import books

    exchange.dialogue.is_confirmed = True
    if exchange.dialogue.wants_user_parameters and not exchange.dialogue.is_locked:
        exchange.answer.say(number, "3050", "UPD nicht mehr aktuell, aktuelle Version enthalten.")
        for parameter in user_parameters(exchange.customer, books.accounts(exchange.customer, exchange.now)):
            exchange.answer.add(number, parameter)


def _challenge(exchange: BankExchange, tan_order: Segment, method: BankMethod, reference: str) -> Segment:
    until = exchange.now + CHALLENGE_DURATION
    return segment(
        "HITAN",
        tan_order.version,
        "4",
        "",
        reference,
        method.challenge,
        methods.challenge_data(method),
        (f"{until:%Y%m%d}", f"{until:%H%M%S}"),
        tan_order.text(11),
    )


def _is_polled(exchange: BankExchange, tan_order: Segment, waiting: WaitingOrder, method: BankMethod) -> bool:
    """Whether the customer has confirmed in the app: after two polls, or by hand before the first."""
    waiting.polls += 1
    if waiting.polls > (method.max_polls or 0):
        exchange.answer.abort(tan_order.number, "9951", "Zeitüberschreitung im Zwei-Schritt-Verfahren.")
        return False
    is_patient = waiting.polls > methods.POLLS_BEFORE_CONFIRMATION or not method.may_poll
    if is_patient and not exchange.customer.behaviour.never_confirms:
        return True
    exchange.answer.say(tan_order.number, "3956", "Starke Kundenauthentifizierung noch ausstehend.")
    exchange.answer.add(tan_order.number, segment("HITAN", tan_order.version, "S", "", tan_order.text(5)))
    return False


def _is_right(exchange: BankExchange, tan_order: Segment, waiting: WaitingOrder) -> bool:
    if tan_order.text(1) == "2" and exchange.request.tan == methods.RIGHT_TAN:
        return True
    waiting.wrong_tans += 1
    if waiting.wrong_tans >= methods.MAX_WRONG_TANS:
        exchange.answer.abort(tan_order.number, "9941", "TAN ungültig. Der Auftrag wurde gelöscht.")
    else:
        exchange.answer.say(tan_order.number, "9941", "TAN ungültig.")
    return False


def _remember(exchange: BankExchange) -> None:
    """Remembers that the login of this system id was confirmed now."""
    with open_memory(exchange.folder, exchange.customer.user_id) as memory:
        memory.setdefault("confirmed", {})[exchange.dialogue.system_id] = exchange.now.isoformat()
