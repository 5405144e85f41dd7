"""Texts of the demo for results and errors, in German and English."""

from dataclasses import dataclass

from api.schemas.languages import Text


@dataclass(frozen=True)
class Notice:
    title: Text
    text: Text
    bad: bool = False


FIELDS = {
    "transferDetails.recipient": "Empfänger",
    "transferDetails.iban": "IBAN",
    "transferDetails.amount": "Betrag",
    "transferDetails.purpose": "Verwendungszweck",
}
"""The labels on the page by the service's names of fields."""
REENTRY = {
    "ACCOUNT_CREATED": Notice(
        Text("Ihre Bank ist verbunden.", "Your bank is connected."),
        Text("Wir holen gerade Ihre Umsätze.", "We are fetching your transactions."),
    ),
    "FINISHED": Notice(
        Text("Alles erledigt.", "All done."),
        Text("Der Vorgang im Formular ist abgeschlossen.", "The form is finished."),
    ),
    "LEGAL_NOT_ACCEPTED": Notice(
        Text("Ohne Ihre Zustimmung geht es nicht.", "It does not work without your consent."),
        Text(
            "Sie haben den Bedingungen nicht zugestimmt. Es wurde nichts abgerufen und nichts gespeichert.",
            "You did not accept the terms. Nothing was fetched and nothing was stored.",
        ),
    ),
    "USER_CANCELLED": Notice(
        Text("Sie haben abgebrochen.", "You cancelled."),
        Text(
            "Es wurde nichts verbunden. Sie können jederzeit von vorn beginnen.",
            "Nothing was connected. You can start again at any time.",
        ),
    ),
    "BACKEND_ERROR": Notice(
        Text("Der Dienst hat unerwartet geantwortet.", "The service answered unexpectedly."),
        Text(
            "Das lag nicht an Ihnen. Bitte versuchen Sie es in ein paar Minuten noch einmal.",
            "It was not your fault. Please try again in a few minutes.",
        ),
        bad=True,
    ),
    "INVALID_CREDENTIALS": Notice(
        Text("Die Zugangsdaten stimmten dreimal nicht.", "The login was wrong three times."),
        Text(
            "Für die Demobank ist die Kennung demo1 und die PIN demo. Eine echte Bank hätte den Zugang jetzt wohl gesperrt.",
            "At the demo bank the user id is demo1 and the PIN demo. At a real bank the login might be locked now.",
        ),
        bad=True,
    ),
    "INVALID_TAN": Notice(
        Text("Die TAN stimmte dreimal nicht.", "The TAN was wrong three times."),
        Text(
            "Bei der Demobank ist die TAN immer 42. Bitte beginnen Sie von vorn.",
            "At the demo bank the TAN is always 42. Please start again.",
        ),
        bad=True,
    ),
    "ERROR": Notice(
        Text("Das hat nicht geklappt.", "That did not work."),
        Text(
            "Der Vorgang ist abgelaufen, war schon beendet oder gehört nicht zu diesem Browser. Bitte beginnen Sie von vorn.",
            "It has expired, was finished already or does not belong to this browser. Please start again.",
        ),
        bad=True,
    ),
    "NO_CALLBACK_URL": Notice(
        Text("Das Formular wusste nicht, wohin zurück.", "The form did not know where to return."),
        Text(
            "Dem Aufruf fehlte die Adresse dieser Seite (callbackUrl).", "The call lacked the address of this page (callbackUrl)."
        ),
        bad=True,
    ),
    "INVALID_CALLBACK_URL": Notice(
        Text("Das Formular darf nicht hierher zurückführen.", "The form may not lead back here."),
        Text(
            "Die Adresse dieser Seite steht nicht auf der Liste des Mandanten. »kontor demo seed« trägt sie nach.",
            "The address of this page is not on the tenant's list. “kontor demo seed” adds it.",
        ),
        bad=True,
    ),
}
"""The notice for each value of `baReentry`."""
NOTHING_STORED = Text("Es wurde nichts gespeichert.", "Nothing was stored.")
FAILURES = {
    "403": Notice(
        Text("Das kam nicht von dieser Seite.", "That did not come from this page."),
        Text("Zum Schutz vor fremden Seiten wurde nichts getan.", "Nothing was done, as a protection from other sites."),
        bad=True,
    ),
    "404": Notice(
        Text("Hier ist nichts.", "There is nothing here."),
        Text("Diese Seite gibt es in der Demo nicht.", "The demo has no such page."),
        bad=True,
    ),
    "413": Notice(
        Text("Die Datei ist zu groß.", "The file is too large."),
        Text(
            "Mehr als 10 MB auf einmal nehmen wir nicht an. Es wurde nichts gespeichert.",
            "We take at most 10 MB at a time. Nothing was stored.",
        ),
        bad=True,
    ),
    "429": Notice(
        Text("Einen Moment bitte.", "One moment please."),
        Text(
            "Das waren zu viele Anfragen auf einmal. In einer Minute geht es wieder.",
            "Those were too many requests at once. It will work again in a minute.",
        ),
        bad=True,
    ),
    "502": Notice(
        Text("Der Dienst antwortet gerade nicht.", "The service does not answer at the moment."),
        Text("Bitte versuchen Sie es gleich noch einmal.", "Please try again soon."),
        bad=True,
    ),
    "transfer": Notice(
        Text("Die Überweisung wurde nicht angenommen.", "The transfer was not accepted."),
        Text("Bitte prüfen Sie die Angaben.", "Please check what you typed."),
        bad=True,
    ),
    "amount": Notice(
        Text("Die Überweisung wurde nicht angenommen.", "The transfer was not accepted."),
        Text("Der Betrag ist keine Zahl, wie zum Beispiel 12,50.", "The amount is not a number such as 12.50."),
        bad=True,
    ),
    "assumption": Notice(
        Text("Das lässt sich nicht rechnen.", "That cannot be calculated."),
        Text(
            "Bitte geben Sie Beträge zwischen 0 und 100.000 Euro ein, zum Beispiel 250.",
            "Please type amounts between 0 and 100,000 euros, for example 250.",
        ),
        bad=True,
    ),
    "category": Notice(
        Text("Die Kategorie wurde nicht geändert.", "The category was not changed."),
        Text(
            "Sie passt nicht zu dieser Buchung: Einnahmen und Ausgaben haben eigene Kategorien.",
            "It does not fit this transaction: income and expenses have categories of their own.",
        ),
        bad=True,
    ),
}
CORRECTED = Notice(
    Text("Danke, gemerkt.", "Thank you, noted."),
    Text(
        "Alle Auswertungen rechnen jetzt mit Ihrer Kategorie.",
        "All analyses now use your category.",
    ),
)


def uploaded(count: int) -> Notice:
    """What an upload has brought."""
    if count == 0:
        return Notice(
            Text("Nichts Neues.", "Nothing new."),
            Text(
                "Alle Umsätze dieser Datei waren schon da. Es wurde nichts verdoppelt.",
                "All transactions of this file were there already. Nothing was doubled.",
            ),
        )
    return Notice(
        Text("Ihr Kontoauszug ist da.", "Your statement is here."),
        Text(f"{count} neue Umsätze, geordnet und ausgewertet.", f"{count} new transactions, sorted and analysed."),
    )


def unreadable(details: str) -> Notice:
    """Why a file was refused, in the words of the service."""
    text = details.removeprefix("datei: ").removeprefix("Content-Type: ") or "Sie ist kein Kontoauszug"
    return Notice(
        Text("Diese Datei können wir nicht lesen.", "We cannot read this file."),
        Text(*(f"{text}. {nothing}" for nothing in NOTHING_STORED)),
        bad=True,
    )


def refusal(details: str) -> Notice:
    """Why a transfer was refused, in the words of the service with the labels of the page."""
    for name, label in FIELDS.items():
        details = details.replace(name, label)
    return Notice(FAILURES["transfer"].title, Text(details, details), bad=True) if details else FAILURES["transfer"]
