"""The bank: a message in, a message out. No socket and no clock; what happens to an answer on its way is part of it."""

import json
import os
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any

from pipelines.banks.fints.syntax import ENCODING, Segment, segment
from pipelines.banks.fints_bank import login, orders
from pipelines.banks.fints_bank.customers import BankCustomer, BankProfile, BankTransport, find_customer
from pipelines.banks.fints_bank.dialogue import IDLE_DURATION, MAX_DIALOGUES, BankDialogue, BankExchange, new_token
from pipelines.banks.fints_bank.messages import (
    ANONYMOUS,
    BANK_CODE,
    NO_DIALOGUE,
    AnswerMessage,
    BankFeedback,
    CustomerMessage,
    MalformedMessage,
    read_request,
    signed,
    write_answer,
)
from pipelines.banks.fints_bank.parameters import BPD_VERSIONS, bank_parameters
from warehouse.runtime import files

JOURNAL = "messages.jsonl"
ENDED = BankFeedback("0100", "Dialog beendet.")


@dataclass(frozen=True)
class BankDelivery:
    """An answer, and what becomes of it on its way."""

    message: bytes
    transport: BankTransport = BankTransport.NORMAL
    wait_seconds: float = 0.0


class FintsBank:
    """A bank with its dialogues in memory, and what it remembers of customers in a folder."""

    def __init__(self, folder: Path, address: str = "https://127.0.0.1/fints") -> None:
        self.folder = folder
        self.address = address
        self._dialogues: OrderedDict[str, BankDialogue] = OrderedDict()
        self._lock = Lock()

    def answer(self, message: bytes, now: datetime) -> BankDelivery:
        """The answer to a message of a customer's program."""
        try:
            request = read_request(message)
        except MalformedMessage:
            answer = AnswerMessage([BankFeedback("9110", "Unbekannter Aufbau.")], is_aborted=True)
            return BankDelivery(write_answer(None, NO_DIALOGUE, 1, answer.body(), now))
        if request.is_anonymous:
            return BankDelivery(self._answer_anonymous(request, now))
        customer = find_customer(request.user_id)
        if customer is None:
            return BankDelivery(self._refuse(request, "9340", "Benutzerkennung oder PIN ungültig.", now))
        return self._answer_customer(request, customer, now)

    def _answer_customer(self, request: CustomerMessage, customer: BankCustomer, now: datetime) -> BankDelivery:
        behaviour = customer.behaviour
        if behaviour.transport in (BankTransport.MAINTENANCE, BankTransport.UNAVAILABLE, BankTransport.CUT):
            self._write_down(request, request.dialogue_id, [], now)
            return BankDelivery(b"", behaviour.transport, behaviour.wait_seconds)
        if request.bank_code != BANK_CODE:
            return BankDelivery(self._refuse(request, "9010", "Die Bankleitzahl ist unbekannt.", now))
        dialogue = self._dialogue(request, now)
        if dialogue is None:
            return BankDelivery(self._refuse(request, "9010", "Die Dialog-ID ist ungültig.", now))
        with dialogue.lock:
            exchange = BankExchange(self.folder, request, dialogue, customer, now)
            self._converse(exchange)
            dialogue.used_at = now
        self._write_down(request, dialogue.id, exchange.answer.codes(), now)
        transport = BankTransport.CUT if exchange.is_cut else behaviour.transport
        return BankDelivery(_message(exchange), transport, behaviour.wait_seconds)

    def _converse(self, exchange: BankExchange) -> None:
        """Answers a message, and ends the dialogue where it is over."""
        request, dialogue = exchange.request, exchange.dialogue
        is_expected = request.number == dialogue.last_number + 1 or exchange.customer.behaviour.ignores_numbers
        if not is_expected:
            exchange.answer.abort(request.signature_number, "9120", "Die Nachrichtennummer ist falsch.")
        else:
            dialogue.last_number = request.number
            ending = request.order("HKEND")
            if request.dialogue_id == NO_DIALOGUE:
                login.begin(exchange, self.address)
            elif login.check_pin(exchange):
                if ending is None:
                    orders.process(exchange)
                else:
                    exchange.answer.general.append(ENDED)
                    self._forget(dialogue)
        if exchange.answer.is_aborted:
            self._forget(dialogue)

    def _answer_anonymous(self, request: CustomerMessage, now: datetime) -> bytes:
        """Gives the bank's parameters to anybody."""
        answer, dialogue_id = AnswerMessage(), request.dialogue_id
        preparation = request.order("HKVVB")
        if request.order("HKEND"):
            answer.general.append(ENDED)
        elif preparation is None or request.bank_code != BANK_CODE:
            answer.general.append(BankFeedback("9010", "Der Auftrag wurde abgelehnt."))
            answer.is_aborted = True
        elif not preparation.text(4).strip():
            answer.abort(preparation.number, "9078", "Das FinTS-Produkt ist nicht registriert.")
        else:
            dialogue_id = new_token()
            answer.say(preparation.number, "0020", "Informationen fehlerfrei entgegengenommen.")
            if preparation.text(1) != BPD_VERSIONS[BankProfile.STANDARD]:
                answer.say(preparation.number, "3050", "BPD nicht mehr aktuell, aktuelle Version enthalten.")
                for parameter in bank_parameters(BankProfile.STANDARD, self.address):
                    answer.add(preparation.number, parameter)
        return write_answer(request, dialogue_id, request.number, answer.body(), now)

    def _refuse(self, request: CustomerMessage, code: str, text: str, now: datetime) -> bytes:
        answer = AnswerMessage()
        answer.abort(request.signature_number, code, text)
        return write_answer(request, request.dialogue_id, request.number, answer.body(), now)

    def _dialogue(self, request: CustomerMessage, now: datetime) -> BankDialogue | None:
        """The dialogue of a message, a new one for its first; None if it has ended, or is another customer's."""
        with self._lock:
            if request.dialogue_id == NO_DIALOGUE:
                others = [other for other in self._dialogues.values() if other.user_id == request.user_id]
                dialogue = BankDialogue(new_token(), request.user_id, request.system_id, now)
                dialogue.is_second = any(other.waiting for other in others)
                self._dialogues[dialogue.id] = dialogue
                while len(self._dialogues) > MAX_DIALOGUES:
                    self._dialogues.popitem(last=False)
                return dialogue
            open_dialogue = self._dialogues.get(request.dialogue_id)
        if open_dialogue is None or open_dialogue.user_id != request.user_id or now - open_dialogue.used_at > IDLE_DURATION:
            return None
        return open_dialogue

    def _forget(self, dialogue: BankDialogue) -> None:
        with self._lock:
            self._dialogues.pop(dialogue.id, None)

    def _write_down(self, request: CustomerMessage, dialogue_id: str, codes: list[str], now: datetime) -> None:
        """Adds a line to the journal: who sent which orders and got which codes. Never a PIN, a TAN or an account."""
        entry: dict[str, Any] = {
            "at": now.isoformat(),
            "user_id": request.user_id,
            "dialogue": dialogue_id,
            "number": request.number,
            "method": request.method,
            "orders": [order.name for order in request.orders],
            "codes": codes,
        }
        files.make_folder(self.folder)
        descriptor = os.open(self.folder / JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, json.dumps(entry).encode() + b"\n")
        finally:
            os.close(descriptor)


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """All messages that the bank has answered, the oldest first."""
    path = folder / JOURNAL
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _message(exchange: BankExchange) -> bytes:
    """The answer as bytes, with the faults of the bank that the customer has."""
    request, behaviour = exchange.request, exchange.customer.behaviour
    tan_order = request.order("HKTAN")
    is_renumbered = behaviour.renumbers and tan_order is not None and tan_order.text(1) == "S"
    number = 1 if is_renumbered else request.number
    body = exchange.answer.body()
    if behaviour.miscounts_bytes:
        return _miscounted(exchange, number, body)
    if behaviour.signs_answers:
        body = signed(request, body, exchange.now)
    if behaviour.is_terse:
        request = replace(request, user_id=ANONYMOUS)
    return write_answer(request, exchange.dialogue.id, number, body, exchange.now)


def _miscounted(exchange: BankExchange, number: int, body: list[Segment]) -> bytes:
    """The answer in UTF-8, whose lengths count umlauts once."""
    body = [*body, segment("HIKIM", 2, "Hinweis", "Änderungen für Überweisungen: größer, schöner, früher.")]
    message = write_answer(exchange.request, exchange.dialogue.id, number, body, exchange.now)
    return message.decode(ENCODING).encode()
