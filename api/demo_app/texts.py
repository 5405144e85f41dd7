"""Texts of the demo for results and errors."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Notice:
    title: str
    text: str
    bad: bool = False


FIELDS = {
    "transferDetails.recipient": "Empfänger",
    "transferDetails.iban": "IBAN",
    "transferDetails.amount": "Betrag",
    "transferDetails.purpose": "Verwendungszweck",
}
"""The labels on the page by the service's names of fields."""
REENTRY = {
    "ACCOUNT_CREATED": Notice("Ihre Bank ist verbunden.", "Wir holen gerade Ihre Umsätze."),
    "FINISHED": Notice("Alles erledigt.", "Der Vorgang im Formular ist abgeschlossen."),
    "LEGAL_NOT_ACCEPTED": Notice(
        "Ohne Ihre Zustimmung geht es nicht.",
        "Sie haben den Bedingungen nicht zugestimmt. Es wurde nichts abgerufen und nichts gespeichert.",
    ),
    "USER_CANCELLED": Notice("Sie haben abgebrochen.", "Es wurde nichts verbunden. Sie können jederzeit von vorn beginnen."),
    "BACKEND_ERROR": Notice(
        "Der Dienst hat unerwartet geantwortet.",
        "Das lag nicht an Ihnen. Bitte versuchen Sie es in ein paar Minuten noch einmal.",
        True,
    ),
    "INVALID_CREDENTIALS": Notice(
        "Die Zugangsdaten stimmten dreimal nicht.",
        "Für die Demobank ist die Kennung demo1 und die PIN demo. Bei einer echten Bank könnte der Zugang jetzt gesperrt sein.",
        True,
    ),
    "INVALID_TAN": Notice(
        "Die TAN stimmte dreimal nicht.", "Bei der Demobank ist die TAN immer 42. Bitte beginnen Sie von vorn.", True
    ),
    "ERROR": Notice(
        "Das hat nicht geklappt.",
        "Der Vorgang ist abgelaufen, war schon beendet oder gehört nicht zu diesem Browser. Bitte beginnen Sie von vorn.",
        True,
    ),
    "NO_CALLBACK_URL": Notice(
        "Das Formular wusste nicht, wohin zurück.", "Dem Aufruf fehlte die Adresse dieser Seite (callbackUrl).", True
    ),
    "INVALID_CALLBACK_URL": Notice(
        "Das Formular darf nicht hierher zurückführen.",
        "Die Adresse dieser Seite steht nicht auf der Liste des Mandanten. »kontor demo seed« trägt sie nach.",
        True,
    ),
}
"""The notice for each value of `baReentry`."""
FAILURES = {
    "403": Notice("Das kam nicht von dieser Seite.", "Zum Schutz vor fremden Seiten wurde nichts getan.", True),
    "404": Notice("Hier ist nichts.", "Diese Seite gibt es in der Demo nicht.", True),
    "413": Notice("Die Datei ist zu groß.", "Mehr als 10 MB auf einmal nehmen wir nicht an. Es wurde nichts gespeichert.", True),
    "429": Notice("Einen Moment bitte.", "Das waren zu viele Anfragen auf einmal. In einer Minute geht es wieder.", True),
    "502": Notice("Der Dienst antwortet gerade nicht.", "Bitte versuchen Sie es gleich noch einmal.", True),
    "transfer": Notice("Die Überweisung wurde nicht angenommen.", "Bitte prüfen Sie die Angaben.", True),
    "amount": Notice("Die Überweisung wurde nicht angenommen.", "Der Betrag ist keine Zahl, wie zum Beispiel 12,50.", True),
}


def uploaded(count: int) -> Notice:
    """What an upload has brought."""
    if count == 0:
        return Notice("Nichts Neues.", "Alle Umsätze dieser Datei waren schon da. Es wurde nichts verdoppelt.")
    return Notice("Ihr Kontoauszug ist da.", f"{count} neue Umsätze, geordnet und ausgewertet.")


def unreadable(details: str) -> Notice:
    """Why a file was refused, in the words of the service."""
    text = details.removeprefix("datei: ").removeprefix("Content-Type: ")
    return Notice(
        "Diese Datei können wir nicht lesen.", f"{text or 'Sie ist kein Kontoauszug'}. Es wurde nichts gespeichert.", True
    )


def refusal(details: str) -> Notice:
    """Why a transfer was refused, in the words of the service with the labels of the page."""
    for name, label in FIELDS.items():
        details = details.replace(name, label)
    return replace(FAILURES["transfer"], text=details) if details else FAILURES["transfer"]
