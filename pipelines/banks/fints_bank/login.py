"""The beginning of a dialogue: user id, PIN, product, system id, parameters, and the confirmation of the login."""

from datetime import datetime, timedelta
from hmac import compare_digest

from pipelines.banks.demo.memory import open_memory, read_memory
from pipelines.banks.fints.syntax import Segment, segment
from pipelines.banks.fints_bank import confirmation, reading
from pipelines.banks.fints_bank.customers import BankProfile, LoginSca
from pipelines.banks.fints_bank.dialogue import BankExchange, is_own_system_id, is_recent, new_system_id
from pipelines.banks.fints_bank.messages import ONE_STEP, BankFeedback
from pipelines.banks.fints_bank.parameters import BPD_VERSIONS, UPD_VERSION, bank_parameters

MAX_WRONG_PINS = 3
LOCK_DURATION = timedelta(minutes=10)
UNASSIGNED = "0"
NEEDS_SCA = "Starke Kundenauthentifizierung erforderlich."


def check_pin(exchange: BankExchange) -> bool:
    """Whether the PIN of a message is right; else the dialogue is over. Only user ids made for it are ever locked."""
    number, behaviour = exchange.request.signature_number, exchange.customer.behaviour
    if behaviour.login_refusal:
        if behaviour.is_terse:
            exchange.answer.general.append(BankFeedback(*behaviour.login_refusal))
            exchange.answer.is_aborted = True
        else:
            exchange.answer.abort(number, *behaviour.login_refusal)
        return False
    fits = compare_digest(exchange.request.pin.encode(), behaviour.pin.encode())
    if behaviour.counts_wrong_pins and not _is_unlocked(exchange, fits):
        exchange.answer.say(number, "3938", "Ihr Zugang ist vorläufig gesperrt - Bitte PIN-Sperre aufheben.")
        exchange.answer.abort(number, "9931", "Zugang gesperrt.")
    elif not fits:
        exchange.answer.abort(number, "9942", "PIN ungültig. Drei Fehlversuche führen zur Sperrung.")
    return not exchange.answer.is_aborted


def begin(exchange: BankExchange, address: str) -> None:
    """Answers the first message of a dialogue."""
    identification, preparation = exchange.request.order("HKIDN"), exchange.request.order("HKVVB")
    if identification is None or preparation is None:
        exchange.answer.abort(exchange.request.signature_number, "9110", "Falsche Segmentzusammenstellung.")
        return
    if not preparation.text(4).strip():
        exchange.answer.abort(preparation.number, "9078", "Das FinTS-Produkt ist nicht registriert.")
        return
    if not check_pin(exchange) or not _synchronise(exchange, identification):
        return
    _prepare(exchange, preparation, address)
    if exchange.customer.behaviour.warns_of_lock:
        exchange.dialogue.is_locked = True
        exchange.answer.say(preparation.number, "3938", "Ihr Zugang ist vorläufig gesperrt - Bitte PIN-Sperre aufheben.")
    _authenticate(exchange, preparation)
    media = exchange.request.order("HKTAB")
    if media is not None and not exchange.answer.is_aborted:
        reading.list_media(exchange, media, media.number)


def _is_unlocked(exchange: BankExchange, fits: bool) -> bool:
    with open_memory(exchange.folder, exchange.customer.user_id) as memory:
        if "locked_until" in memory:
            if exchange.now < datetime.fromisoformat(memory["locked_until"]):
                return False
            del memory["locked_until"]
        memory["wrong_pins"] = 0 if fits else memory.get("wrong_pins", 0) + 1
        if memory["wrong_pins"] >= MAX_WRONG_PINS:
            memory |= {"wrong_pins": 0, "locked_until": (exchange.now + LOCK_DURATION).isoformat()}
            return False
    return True


def _synchronise(exchange: BankExchange, identification: Segment) -> bool:
    """Gives a new system id if one is requested, and otherwise refuses those that the bank does not recognise."""
    user_id, request, dialogue = exchange.customer.user_id, exchange.request, exchange.dialogue
    synchronisation = request.order("HKSYN")
    if synchronisation is not None:
        dialogue.system_id = new_system_id(user_id)
        exchange.answer.say(synchronisation.number, "0020", "Die Synchronisierung der Kundensystem-ID war erfolgreich.")
        exchange.answer.add(synchronisation.number, segment("HISYN", 4, dialogue.system_id))
        return True
    dialogue.system_id = identification.text(3) or UNASSIGNED
    if dialogue.system_id == UNASSIGNED:
        return True
    if not is_own_system_id(user_id, dialogue.system_id):
        exchange.answer.abort(identification.number, "9391", "Neue Kundensystem-ID holen.")
        return False
    stale_code = exchange.customer.behaviour.stale_code
    if stale_code is None:
        return True
    with open_memory(exchange.folder, user_id) as memory:
        served_ids = memory.setdefault("served", [])
        if dialogue.system_id in served_ids:
            exchange.answer.abort(identification.number, stale_code, "Bitte synchronisieren Sie die Kundensystem-ID.")
            return False
        served_ids.append(dialogue.system_id)
    return True


def _prepare(exchange: BankExchange, preparation: Segment, address: str) -> None:
    """Answers HKVVB: the bank's parameters if the customer's are old, and the methods that the customer may use."""
    profile, answer = exchange.customer.behaviour.profile, exchange.answer
    answer.say(preparation.number, "0020", "Informationen fehlerfrei entgegengenommen.")
    if preparation.text(1) != BPD_VERSIONS[profile]:
        answer.say(preparation.number, "3050", "BPD nicht mehr aktuell, aktuelle Version enthalten.")
        for parameter in bank_parameters(profile, address):
            answer.add(preparation.number, parameter)
    exchange.dialogue.wants_user_parameters = preparation.text(2) != UPD_VERSION
    answer.say(
        preparation.number, "3920", "Zugelassene Ein- und Zwei-Schritt-Verfahren für den Benutzer.", *exchange.customer.functions
    )


def _authenticate(exchange: BankExchange, preparation: Segment) -> None:
    """Lets the customer in, asks for a confirmation, or leaves the dialogue open for media alone."""
    tan_order, behaviour, dialogue = exchange.request.order("HKTAN"), exchange.customer.behaviour, exchange.dialogue
    dialogue.method = exchange.request.method
    if tan_order is None or behaviour.profile is BankProfile.ONE_STEP:
        if ONE_STEP in exchange.customer.functions:
            confirmation.let_in(exchange, preparation.number)
        elif exchange.request.order("HKSYN") is None:
            exchange.answer.abort(preparation.number, "9075", NEEDS_SCA)
        return
    if exchange.request.method == ONE_STEP:  # programs that do not know the customer's methods yet
        if exchange.request.order("HKSYN") is None:
            exchange.answer.abort(preparation.number, "9075", NEEDS_SCA)
        else:
            confirmation.exempt(exchange, tan_order)
    elif exchange.method is None:
        exchange.answer.abort(tan_order.number, "9210", "Das Sicherheitsverfahren ist nicht zugelassen.")
    elif tan_order.text(1) != "4" or tan_order.text(2) not in ("HKIDN", "HKTAB"):
        exchange.answer.abort(tan_order.number, "9110", "TAN-Prozess 4 für HKIDN oder HKTAB erwartet.")
    elif tan_order.text(2) == "HKTAB":
        confirmation.exempt(exchange, tan_order)
    elif behaviour.forbids_second_login and dialogue.is_second:
        exchange.answer.abort(tan_order.number, "9040", "Das TAN-Verfahren ist gesperrt.")
    elif confirmation.has_medium(exchange, tan_order):
        if _is_exempt(exchange):
            confirmation.exempt(exchange, tan_order)
            confirmation.let_in(exchange, preparation.number)
        else:
            confirmation.ask(exchange, tan_order, None)


def _is_exempt(exchange: BankExchange) -> bool:
    match exchange.customer.behaviour.login_sca:
        case LoginSca.NEVER:
            return True
        case LoginSca.ALWAYS:
            return False
    memory = read_memory(exchange.folder, exchange.customer.user_id)
    return is_recent(memory, exchange.dialogue.system_id, exchange.now)
