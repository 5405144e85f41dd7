"""The catalogue of codes: what every code of an error or message means, and what to do about it, in German and English.

One entry for each code. Error bodies, messages on objects, the pages below `/docs/errors` and `docs/tenants/errors.md` follow
from it. `CATALOGUE` has the codes of the interface (`BA…`) and, for the token endpoints, the names of RFC 6749.
"""

from dataclasses import dataclass

from api.schemas.languages import Text
from pipelines.banks.base import Code

ERROR, INFO = "ERROR", "INFO"


@dataclass(frozen=True)
class CodeEntry:
    """What there is to say about a code."""

    code: str
    title: Text
    """The text that error bodies and messages carry."""
    meaning: Text
    remedy: Text
    statuses: tuple[int, ...] = ()
    """The statuses of answers with this code; none for codes that only objects carry."""
    level: str = ERROR
    is_oauth: bool = False


STATUS_ENTRIES = (
    CodeEntry(
        "BA400",
        Text("Die Anfrage ist ungültig.", "The request is invalid."),
        Text(
            "Ein Feld, ein Parameter oder der ganze Inhalt der Anfrage entspricht nicht der Schnittstelle. `details` nennt die"
            " Felder; `fields` nennt zu jedem den Ort, den gesendeten Wert (nie ein Geheimnis) und was erlaubt ist.",
            "A field, a parameter or the whole body does not conform to the interface. `details` names the fields; `fields` says"
            " for each of them where it is, what was sent (never a secret) and what is allowed.",
        ),
        Text(
            "Korrigieren Sie die genannten Felder. Dieselbe Anfrage scheitert wieder.",
            "Correct the named fields. The same request fails again.",
        ),
        (400,),
    ),
    CodeEntry(
        "BA401",
        Text("Die Anmeldung fehlt oder ist fehlgeschlagen.", "Authentication is missing or has failed."),
        Text(
            "Der Header `Authorization` fehlt, oder Name und Geheimnis passen nicht zusammen. Welches von beiden falsch ist, wird"
            " nicht verraten.",
            "The `Authorization` header is missing, or name and secret do not match. Which of the two is wrong is not revealed.",
        ),
        Text(
            "Senden Sie `Authorization: Bearer` mit einem Token von `POST /auth/oauth2/token`, oder prüfen Sie das Geheimnis.",
            "Send `Authorization: Bearer` with a token from `POST /auth/oauth2/token`, or check the secret.",
        ),
        (401,),
    ),
    CodeEntry(
        "BA403",
        Text(
            "Das Token ist ungültig oder abgelaufen, oder ihm fehlt die Berechtigung.",
            "The token is invalid or has expired, or it lacks the permission.",
        ),
        Text(
            "Das Token ist unbekannt, abgelaufen oder widerrufen, sein Scope reicht nicht, es gehört einem Client statt einem"
            " Benutzer (oder umgekehrt), oder der Mandant arbeitet mit dem Formular und darf diese Operation nicht aufrufen.",
            "The token is unknown, expired or revoked, its scope is not sufficient, it belongs to a client instead of a user (or"
            " vice versa), or the tenant uses the redirect form and may not call this operation.",
        ),
        Text(
            "Holen Sie einmal ein neues Token. Bleibt es bei 403, bitten Sie Ihren Betreiber um den Scope der Operation.",
            "Request a new token once. If the answer is 403 again, ask your operator for the scope of the operation.",
        ),
        (403,),
    ),
    CodeEntry(
        "BA404",
        Text("Das Objekt wurde nicht gefunden.", "The object was not found."),
        Text(
            "Unter dieser Adresse gibt es nichts, oder das Objekt gehört jemand anderem; beides ist nicht zu unterscheiden.",
            "There is nothing at this address, or the object belongs to somebody else; the two cannot be told apart.",
        ),
        Text(
            "Prüfen Sie die Adresse. Lesen Sie die Liste erneut und folgen Sie ihren `relations`.",
            "Check the address. Read the list again and follow its `relations`.",
        ),
        (404,),
    ),
    CodeEntry(
        "BA405",
        Text("Die Methode ist hier nicht erlaubt.", "The method is not allowed here."),
        Text(
            "Die Adresse gibt es, aber nicht mit dieser Methode.",
            "The address exists, but not with this method.",
        ),
        Text("Verwenden Sie eine Methode aus dem Header `Allow`.", "Use a method from the `Allow` header."),
        (405,),
    ),
    CodeEntry(
        "BA406",
        Text("Das gewünschte Format wird nicht angeboten.", "The requested format is not offered."),
        Text(
            "Keiner der Typen im Header `Accept` ist einer, den die Operation liefert.",
            "None of the types in the `Accept` header is one that the operation produces.",
        ),
        Text("Senden Sie `Accept: application/json` oder gar kein `Accept`.", "Send `Accept: application/json`, or no `Accept`."),
        (406,),
    ),
    CodeEntry(
        "BA408",
        Text(
            "Die Anfrage wurde nicht rechtzeitig vollständig gesendet.",
            "The request was not sent completely in time.",
        ),
        Text(
            "Der Inhalt kam nicht innerhalb der Zeitgrenze an (60 Sekunden, wenn der Betreiber nichts anderes setzt).",
            "The body did not arrive within the time limit (60 seconds unless the operator sets another one).",
        ),
        Text("Wiederholen Sie die Anfrage.", "Repeat the request."),
        (408,),
    ),
    CodeEntry(
        "BA409",
        Text(
            "Die Anfrage steht im Widerspruch zum Stand der Daten.",
            "The request conflicts with the current state of the data.",
        ),
        Text(
            "Der Name ist vergeben, der Benutzer ist schon aktiv, der Bankzugang besteht mit anderen Zugangsdaten, eine"
            " Grenze ist erreicht, oder der Vorgang erwartet diesen Schritt nicht.",
            "The name is in use, the user is already active, the access exists with another login, a limit is reached, or the"
            " dialogue does not expect this step.",
        ),
        Text(
            "Lesen Sie das Objekt und entscheiden Sie dann. Dieselbe Anfrage scheitert wieder.",
            "Read the object, then decide. The same request fails again.",
        ),
        (409,),
    ),
    CodeEntry(
        "BA410",
        Text("Diese Operation oder dieser Stand wird nicht mehr angeboten.", "This operation or state is no longer offered."),
        Text(
            "Der Betreiber hat die Operation abgeschaltet, oder ein cursor ist älter als das, was wir noch wissen.",
            "The operator has retired the operation, or a cursor is older than what we still know.",
        ),
        Text(
            "Sehen Sie im Änderungsprotokoll nach, was an ihre Stelle getreten ist; beginnen Sie ohne cursor neu.",
            "See the changelog for what has replaced it; begin anew without a cursor.",
        ),
        (410,),
    ),
    CodeEntry(
        "BA413",
        Text("Die Anfrage ist zu groß.", "The request is too large."),
        Text(
            "Der Inhalt hat mehr als 1 MiB, oder mehr als 10 MiB bei Operationen, die viele Buchungen nehmen.",
            "The body exceeds 1 MiB, or 10 MiB for operations that take many bookings.",
        ),
        Text("Senden Sie weniger auf einmal.", "Send less at once."),
        (413,),
    ),
    CodeEntry(
        "BA415",
        Text("Das Format der Anfrage wird nicht unterstützt.", "The format of the request is not supported."),
        Text(
            "Die Operation nimmt diesen `Content-Type` oder diese `Content-Encoding` nicht.",
            "The operation does not accept this `Content-Type` or `Content-Encoding`.",
        ),
        Text(
            "Senden Sie `Content-Type: application/json` in UTF-8 und unkomprimiert; die Token-Endpunkte nehmen"
            " `application/x-www-form-urlencoded`.",
            "Send `Content-Type: application/json` in UTF-8 and not compressed; the token endpoints take"
            " `application/x-www-form-urlencoded`.",
        ),
        (415,),
    ),
    CodeEntry(
        "BA429",
        Text("Zu viele Versuche. Bitte später erneut versuchen.", "Too many attempts. Please try again later."),
        Text(
            "Zu viele falsche Anmeldungen, zu viele Abrufe ohne Anwesenheit des Kunden, zu viele wartende Anfragen, oder zu viele"
            " lange Antworten, die noch nicht abgeholt sind.",
            "Too many failed logins, too many fetches without the customer, too many waiting requests, or too many long responses"
            " that have not been read.",
        ),
        Text(
            "Warten Sie so viele Sekunden, wie `Retry-After` sagt. Ist der Kunde anwesend, senden Sie `Customer-IP-Address`.",
            "Wait for as many seconds as `Retry-After` says. If the customer is present, send `Customer-IP-Address`.",
        ),
        (429,),
    ),
    CodeEntry(
        "BA503",
        Text("Der Dienst ist vorübergehend nicht verfügbar.", "The service is temporarily unavailable."),
        Text(
            "Der Dienst startet neu, oder seine Datenbank antwortet gerade nicht.",
            "The service is restarting, or its database does not answer at the moment.",
        ),
        Text("Wiederholen Sie die Anfrage nach `Retry-After` Sekunden.", "Repeat the request after `Retry-After` seconds."),
        (503,),
    ),
    CodeEntry(
        "BA504",
        Text(
            "Die Anfrage wurde nicht rechtzeitig beantwortet. Bitte in Kürze wiederholen.",
            "The request was not answered in time. Please repeat it shortly.",
        ),
        Text(
            "Nach 180 Sekunden gab es keine Antwort, oder eine Änderung kam nicht an die Reihe. Was begonnen wurde, läuft im"
            " Hintergrund weiter.",
            "There was no answer after 180 seconds, or a change did not get its turn. What was begun goes on in the background.",
        ),
        Text(
            "Wiederholen Sie die Anfrage nach kurzer Zeit, eine Zahlung nur mit derselben `paymentId`, eine TAN nie.",
            "Repeat the request after a short wait; a payment only with the same `paymentId`, a TAN never.",
        ),
        (504,),
    ),
)

MESSAGE_ENTRIES = (
    CodeEntry(
        Code.INTERNAL,
        Text("Interner Fehler.", "Internal error."),
        Text(
            "Bei uns ist etwas fehlgeschlagen, das nicht an der Anfrage liegt.",
            "Something failed on our side; the request is not the cause.",
        ),
        Text(
            "Melden Sie dem Betreiber die `X-Correlation-ID` der Antwort. Einen Bankzugang versucht der nächste Abruf erneut.",
            "Report the `X-Correlation-ID` of the answer to the operator. On an access, the next refresh tries again.",
        ),
        (500,),
    ),
    CodeEntry(
        Code.LOCKED,
        Text(
            "Der Bankzugang ist nach drei falschen Eingaben gesperrt.",
            "The bank access is locked after three wrong entries.",
        ),
        Text(
            "Die Zugangsdaten waren dreimal falsch. Die Bank wird nicht mehr gefragt, bis neue gesendet werden.",
            "The credentials were wrong three times. The bank is not asked again until new ones are sent.",
        ),
        Text(
            "Der Kunde entsperrt den Zugang bei seiner Bank; danach senden Sie neue Zugangsdaten.",
            "The customer unlocks the login at the bank; then send new credentials.",
        ),
    ),
    CodeEntry(
        Code.WRONG_CREDENTIALS,
        Text(
            "Die Zugangsdaten sind nicht korrekt. Nach drei falschen Eingaben wird der Bankzugang gesperrt.",
            "The credentials are not correct. After three wrong entries the bank access is locked.",
        ),
        Text("Die Bank hat die Anmeldung abgelehnt.", "The bank has refused the login."),
        Text(
            "Fragen Sie den Kunden und senden Sie die richtigen Zugangsdaten mit `refresh=true`.",
            "Ask the customer and send the right credentials with `refresh=true`.",
        ),
    ),
    CodeEntry(
        Code.FIELDS_MISSING,
        Text("Die Zugangsdaten sind unvollständig.", "The credentials are incomplete."),
        Text(
            "Der Anbieter verlangt weitere Felder; `details` zählt sie auf. Oder die Antwort der Bank auf die Anmeldung ging "
            "verloren; dann sagt `details` das.",
            "The provider requires further fields; `details` lists them. Or the bank's answer to the login was lost; `details` "
            "then says so.",
        ),
        Text(
            "Fragen Sie den Kunden nach diesen Feldern und senden Sie alle Felder mit `refresh=true`, auch dieselben noch "
            "einmal.",
            "Ask the customer for these fields and send all fields with `refresh=true`, also the same ones once more.",
        ),
    ),
    CodeEntry(
        Code.UNREACHABLE,
        Text(
            "Die Bank ist derzeit nicht erreichbar, zum Beispiel wegen Wartungsarbeiten.",
            "The bank cannot be reached at present, for example because of maintenance.",
        ),
        Text("Die Bank hat nicht geantwortet.", "The bank did not answer."),
        Text(
            "Nichts: der nächste Abruf versucht es erneut. Zustimmung oder Zahlung: beginnen Sie später neu.",
            "Nothing: the next refresh tries again. For a consent or payment, start again later.",
        ),
    ),
    CodeEntry(
        Code.INCOMPLETE,
        Text(
            "Der Bankzugang konnte nicht vollständig abgerufen werden.",
            "The bank access could not be fetched completely.",
        ),
        Text(
            "Die Bank hat nur einen Teil geliefert, oder Daten, die nicht stimmen können. Vorhandene Daten bleiben.",
            "The bank delivered only a part, or data that cannot be right. Existing data are kept.",
        ),
        Text(
            "Nichts: die folgenden Meldungen nennen die fehlenden Teile, der nächste Abruf versucht es erneut.",
            "Nothing: the following messages name the missing parts, and the next refresh tries again.",
        ),
    ),
    CodeEntry(
        Code.PRODUCT_FAILED,
        Text("Das Bankprodukt konnte nicht aktualisiert werden.", "The bank product could not be updated."),
        Text("Ein Produkt des Bankzugangs fehlt im Abruf.", "A product of the access is missing from the fetch."),
        Text(
            "Nichts: vorhandene Daten bleiben, der nächste Abruf versucht es erneut.",
            "Nothing: existing data are kept, and the next refresh tries again.",
        ),
    ),
    CodeEntry(
        Code.BOOKINGS_FAILED,
        Text("Die Umsätze konnten nicht aktualisiert werden.", "The bookings could not be updated."),
        Text("Die Umsätze eines Produkts fehlen im Abruf.", "The bookings of a product are missing from the fetch."),
        Text(
            "Nichts: vorhandene Daten bleiben, der nächste Abruf versucht es erneut.",
            "Nothing: existing data are kept, and the next refresh tries again.",
        ),
    ),
    CodeEntry(
        Code.POSITIONS_FAILED,
        Text("Die Depotpositionen konnten nicht aktualisiert werden.", "The securities positions could not be updated."),
        Text("Die Positionen eines Depots fehlen im Abruf.", "The positions of a depot are missing from the fetch."),
        Text(
            "Nichts: vorhandene Daten bleiben, der nächste Abruf versucht es erneut.",
            "Nothing: existing data are kept, and the next refresh tries again.",
        ),
    ),
    CodeEntry(
        Code.TRANSFER_INVALID,
        Text("Die Überweisungsdaten sind ungültig.", "The transfer details are invalid."),
        Text(
            "Die Bank nimmt diese Angaben nicht an, zum Beispiel weil nur auf das Referenzkonto überwiesen werden darf.",
            "The bank does not accept these details, for example because transfers may only go to the reference account.",
        ),
        Text(
            "Korrigieren Sie den Auftrag und verwenden Sie eine neue `paymentId`.",
            "Correct the order and use a new `paymentId`.",
        ),
    ),
    CodeEntry(
        Code.METHOD_INVALID,
        Text("Das TAN-Verfahren ist ungültig.", "The TAN method is invalid."),
        Text(
            "Das Verfahren oder das Medium gibt es nicht, oder der Zugang hat keines.",
            "The method or the medium does not exist, or the login has none.",
        ),
        Text("Beginnen Sie neu mit `queryTanSettings=true`.", "Start again with `queryTanSettings=true`."),
    ),
    CodeEntry(
        Code.TAN_INVALID,
        Text("Die TAN ist ungültig oder nicht mehr gültig.", "The TAN is invalid or no longer valid."),
        Text(
            "Die TAN war dreimal falsch, oder die Frist ist abgelaufen. Der Vorgang ist beendet.",
            "The TAN was wrong three times, or the time limit has expired. The dialogue has ended.",
        ),
        Text(
            "Beginnen Sie neu, eine Überweisung mit einer neuen `paymentId`.",
            "Start again; a transfer with a new `paymentId`.",
        ),
    ),
    CodeEntry(
        Code.TRANSFER_REFUSED,
        Text("Die Überweisung ist nicht möglich.", "The transfer is not possible."),
        Text(
            "Konto oder Deckung lassen sie nicht zu, die `paymentId` gehört zu einem anderen Auftrag, oder ein gleicher Auftrag"
            " wurde gerade erst erteilt.",
            "Account or funds do not permit it, the `paymentId` belongs to another order, or an equal order was placed a moment"
            " ago.",
        ),
        Text(
            "Lesen Sie die Zahlung. Ein neuer Auftrag braucht eine neue `paymentId`.",
            "Read the payment. A new order needs a new `paymentId`.",
        ),
        (409,),
    ),
    CodeEntry(
        Code.STOPPED,
        Text(
            "Der Vorgang wurde beendet, weil der Zugang zu diesem Dienst deaktiviert wurde.",
            "The dialogue was ended because access to this service was deactivated.",
        ),
        Text(
            "Benutzer, Client, API-Schlüssel oder Mandant wurde deaktiviert. Die Bank wurde nicht mehr gefragt.",
            "The user, client, API key or tenant was deactivated. The bank was not asked again.",
        ),
        Text(
            "Beginnen Sie nach der Reaktivierung neu, eine Überweisung mit einer neuen `paymentId`.",
            "After reactivation, start again; a transfer with a new `paymentId`.",
        ),
    ),
    CodeEntry(
        Code.TAN_NEEDED,
        Text("Bitte geben Sie eine TAN ein.", "Please enter a TAN."),
        Text("Der Kunde muss mit einer TAN bestätigen.", "The customer must confirm with a TAN."),
        Text(
            "Zeigen Sie `challenge` und senden Sie die TAN an `submit_text_tan`.",
            "Show `challenge` and send the TAN to `submit_text_tan`.",
        ),
        level=INFO,
    ),
    CodeEntry(
        Code.TRANSFER_DONE,
        Text("Die Überweisung wurde erfolgreich ausgeführt.", "The transfer was executed successfully."),
        Text("Die Bank hat die Überweisung angenommen.", "The bank has accepted the transfer."),
        Text("Nichts: der Vorgang ist fertig.", "Nothing: the dialogue is complete."),
        level=INFO,
    ),
    CodeEntry(
        Code.OUTCOME_UNKNOWN,
        Text(
            "Ob die Überweisung ausgeführt wird, ist noch unbekannt. Bitte senden Sie sie nicht erneut.",
            "It is not known yet whether the transfer is executed. Please do not send it again.",
        ),
        Text(
            "Die Bank hat nicht gesagt, was sie mit der Überweisung getan hat. Sie wird weiter gefragt.",
            "The bank has not said what it did with the transfer. It is asked again.",
        ),
        Text(
            "Senden Sie den Auftrag nie erneut. Lesen Sie `self`, bis sich der Stand ändert.",
            "Never send the order again. Read `self` until the state changes.",
        ),
    ),
    CodeEntry(
        Code.NOTICE,
        Text("Die Bank hat eine Mitteilung für Sie.", "The bank has a notice for you."),
        Text(
            "Eine Mitteilung der Bank, zum Beispiel die Bitte, in ihrer App zu bestätigen; sie steht in `details`.",
            "A notice of the bank, such as a request to confirm in its app; it is in `details`.",
        ),
        Text(
            "Zeigen Sie `details`. Bei Zustimmung oder Zahlung lesen Sie `self` oder folgen Sie `redirect`.",
            "Show `details`. For a consent or payment read `self`, or follow `redirect`.",
        ),
        level=INFO,
    ),
    CodeEntry(
        Code.METHOD_NEEDED,
        Text(
            "Bitte bestätigen Sie den Vorgang bei Ihrer Bank. Wählen Sie dazu zuerst eines der angebotenen Sicherheitsverfahren.",
            "Please confirm at your bank. First choose one of the offered security methods.",
        ),
        Text(
            "Der Kunde muss bestätigen und dazu ein Verfahren wählen.",
            "The customer must confirm, and choose a method for it.",
        ),
        Text("Folgen Sie `start_sca` (Bankzugang) oder `set_method`.", "Follow `start_sca` (access) or `set_method`."),
        level=INFO,
    ),
    CodeEntry(
        Code.PAYEE_NEEDED,
        Text(
            "Bitte bestätigen Sie den Empfänger: Name und IBAN passen nicht sicher zusammen.",
            "Please confirm the payee: name and IBAN do not match for certain.",
        ),
        Text(
            "Die Bank des Empfängers hat Namen und IBAN geprüft. `payees` nennt das Ergebnis für jede Überweisung, bei einem"
            " ähnlichen Namen auch den richtigen.",
            "The recipient's bank has compared name and IBAN. `payees` has the result for each transfer, and for a similar name"
            " the right one.",
        ),
        Text(
            "Zeigen Sie `payees` und `details` und senden Sie die Entscheidung des Kunden an `confirm_payee`.",
            "Show `payees` and `details`, and send the customer's decision to `confirm_payee`.",
        ),
        level=INFO,
    ),
    CodeEntry(
        Code.MEDIUM_NEEDED,
        Text("Bitte wählen Sie ein TAN-Medium.", "Please choose a TAN medium."),
        Text("Das Verfahren hat mehrere Medien.", "The method has several media."),
        Text("Folgen Sie `set_medium`.", "Follow `set_medium`."),
        level=INFO,
    ),
    CodeEntry(
        Code.CONSENT_DONE,
        Text("Die Zustimmung wurde erteilt.", "The consent was given."),
        Text("Der Bankzugang wird nun von selbst abgerufen.", "The access is fetched automatically now."),
        Text("Nichts: der Vorgang ist fertig.", "Nothing: the dialogue is complete."),
        level=INFO,
    ),
)

OAUTH_ENTRIES = (
    CodeEntry(
        "invalid_request",
        Text("Die Token-Anfrage ist ungültig.", "The token request is invalid."),
        Text(
            "Ein Feld des Formulars fehlt, steht mehrfach oder ist ungültig; `error_description` nennt es.",
            "A field of the form is missing, repeated or invalid; `error_description` names it.",
        ),
        Text(
            "Korrigieren Sie das Formular. Dieselbe Anfrage scheitert wieder.",
            "Correct the form. The same request fails again.",
        ),
        (400, 404, 405, 406, 408, 410, 413, 415),
        is_oauth=True,
    ),
    CodeEntry(
        "invalid_client",
        Text("Die Anmeldung ist fehlgeschlagen.", "Authentication has failed."),
        Text(
            "Name oder Geheimnis des Clients, oder Name oder Passwort des Benutzers stimmen nicht; welches davon, wird nicht"
            " verraten.",
            "Name or secret of the client, or name or password of the user are wrong; which of them is not revealed.",
        ),
        Text(
            "Prüfen Sie den Namen (`<tenant>/<client>`) und das Geheimnis, oder Name und Passwort des Benutzers.",
            "Check the name (`<tenant>/<client>`) and the secret, or name and password of the user.",
        ),
        (401,),
        is_oauth=True,
    ),
    CodeEntry(
        "unsupported_grant_type",
        Text("Dieser grant_type wird nicht angeboten.", "This grant_type is not offered."),
        Text("`grant_type` ist keiner der beiden erlaubten Werte.", "`grant_type` is neither of the two allowed values."),
        Text("Senden Sie `client_credentials` oder `password`.", "Send `client_credentials` or `password`."),
        (400,),
        is_oauth=True,
    ),
    CodeEntry(
        "invalid_scope",
        Text("Der gewünschte Scope kann nicht erteilt werden.", "The requested scope cannot be granted."),
        Text(
            "Keiner der gewünschten Scopes ist dem Client und dem Benutzer erteilt, oder `scope` ist leer.",
            "None of the requested scopes is granted to client and user, or `scope` is empty.",
        ),
        Text(
            "Lassen Sie `scope` weg, oder verlangen Sie Scopes, die Client und Benutzer haben.",
            "Omit `scope`, or request scopes that client and user have.",
        ),
        (400,),
        is_oauth=True,
    ),
    CodeEntry(
        "temporarily_unavailable",
        Text("Der Dienst kann gerade kein Token ausstellen.", "The service cannot issue a token at the moment."),
        Text(
            "Zu viele falsche Anmeldungen in kurzer Zeit, oder der Dienst startet neu.",
            "Too many failed logins in a short time, or the service is restarting.",
        ),
        Text("Warten Sie so viele Sekunden, wie `Retry-After` sagt.", "Wait for as many seconds as `Retry-After` says."),
        (429, 503, 504),
        is_oauth=True,
    ),
    CodeEntry(
        "server_error",
        Text("Interner Fehler beim Ausstellen des Tokens.", "Internal error while issuing the token."),
        Text(
            "Bei uns ist etwas fehlgeschlagen, das nicht an der Anfrage liegt.",
            "Something failed on our side; the request is not the cause.",
        ),
        Text(
            "Melden Sie dem Betreiber die `X-Correlation-ID` der Antwort.",
            "Report the `X-Correlation-ID` of the answer to the operator.",
        ),
        (500,),
        is_oauth=True,
    ),
)

CATALOGUE: dict[str, CodeEntry] = {str(entry.code): entry for entry in (*STATUS_ENTRIES, *MESSAGE_ENTRIES, *OAUTH_ENTRIES)}
"""Every entry by its code."""
BY_STATUS: dict[int, CodeEntry] = {
    status: entry for entry in (*STATUS_ENTRIES, CATALOGUE[Code.INTERNAL]) for status in entry.statuses
}
"""The entry of an error that says no more than its status."""


def entry_of_status(status: int) -> CodeEntry:
    """The entry of a status; of one without its own, that of a bad request or of an internal error."""
    return BY_STATUS.get(status) or BY_STATUS[400 if status < 500 else 500]
