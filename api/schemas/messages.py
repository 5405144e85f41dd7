"""Messages to the customer: level and German text of every code."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from api.schemas.base import Message
from pipelines.banks.base import Code

TEXTS: dict[Code, tuple[str, str]] = {
    Code.INTERNAL: ("ERROR", "Interner Fehler."),
    Code.LOCKED: ("ERROR", "Der Bankzugang ist nach drei falschen Eingaben gesperrt."),
    Code.WRONG_CREDENTIALS: (
        "ERROR",
        "Die Zugangsdaten sind nicht korrekt. Nach drei falschen Eingaben wird der Bankzugang gesperrt.",
    ),
    Code.FIELDS_MISSING: ("ERROR", "Die Zugangsdaten sind unvollständig."),
    Code.UNREACHABLE: ("ERROR", "Die Bank ist derzeit nicht erreichbar, zum Beispiel wegen Wartungsarbeiten."),
    Code.INCOMPLETE: ("ERROR", "Der Bankzugang konnte nicht vollständig abgerufen werden."),
    Code.PRODUCT_FAILED: ("ERROR", "Das Bankprodukt konnte nicht aktualisiert werden."),
    Code.BOOKINGS_FAILED: ("ERROR", "Die Umsätze konnten nicht aktualisiert werden."),
    Code.POSITIONS_FAILED: ("ERROR", "Die Depotpositionen konnten nicht aktualisiert werden."),
    Code.TRANSFER_INVALID: ("ERROR", "Die Überweisungsdaten sind ungültig."),
    Code.METHOD_INVALID: ("ERROR", "Das TAN-Verfahren ist ungültig."),
    Code.TAN_INVALID: ("ERROR", "Die TAN ist ungültig oder nicht mehr gültig."),
    Code.TRANSFER_REFUSED: ("ERROR", "Die Überweisung ist nicht möglich."),
    Code.STOPPED: ("ERROR", "Der Vorgang wurde beendet, weil der Zugang zu diesem Dienst deaktiviert wurde."),
    Code.TAN_NEEDED: ("INFO", "Bitte geben Sie eine TAN ein."),
    Code.TRANSFER_DONE: ("INFO", "Die Überweisung wurde erfolgreich ausgeführt."),
    Code.OUTCOME_UNKNOWN: (
        "ERROR",
        "Ob die Überweisung ausgeführt wird, ist noch unbekannt. Bitte senden Sie sie nicht erneut.",
    ),
    Code.NOTICE: ("INFO", "Die Bank hat eine Mitteilung für Sie."),
    Code.METHOD_NEEDED: (
        "INFO",
        "Bitte bestätigen Sie den Vorgang bei Ihrer Bank. Wählen Sie dazu zuerst eines der angebotenen Sicherheitsverfahren.",
    ),
    Code.MEDIUM_NEEDED: ("INFO", "Bitte wählen Sie ein TAN-Medium."),
    Code.CONSENT_DONE: ("INFO", "Die Zustimmung wurde erteilt."),
}


def message_bodies(stored_messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Stored messages as the interface shows them."""
    return [_message(Code(item["code"]), item) for item in stored_messages]


def _message(code: Code, item: Mapping[str, Any]) -> Message:
    level, text = TEXTS[code]
    if "execute_on" in item:
        day = date.fromisoformat(item["execute_on"])
        text = f"Die Überweisung wurde angenommen und ist für den {day:%d.%m.%Y} vorgemerkt."
    return Message(level=level, code=code, message=text, details=item.get("details"))
