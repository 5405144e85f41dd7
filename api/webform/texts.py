"""All texts of the form, in German and English. `{…}` is a value that the page fills in; both languages have the same ones.

Which texts a page shows is decided in `templates/`, and by the keys that the values of `pages.py` carry.
"""

from api.schemas.languages import Language as Language
from api.schemas.languages import Text as Text
from api.schemas.languages import say as say

Texts = dict[str, Text]

STEPS: Texts = {
    "terms": Text("Bedingungen", "Terms"),
    "bank": Text("Bank", "Bank"),
    "login": Text("Anmelden", "Log in"),
    "upload": Text("Hochladen", "Upload"),
    "confirm": Text("Bestätigen", "Confirm"),
    "accounts": Text("Konten", "Accounts"),
    "summary": Text("Prüfen", "Review"),
    "order": Text("Überweisung", "Transfer"),
    "done": Text("Fertig", "Done"),
}

PAYEES: Texts = {
    "MATCH": Text(
        "Die Bank des Empfängers bestätigt den Namen.",
        "The payee's bank confirms the name.",
    ),
    "CLOSE_MATCH": Text(
        "Der Name ist ähnlich, stimmt aber nicht genau mit dem Inhaber des Kontos überein.",
        "The name is similar to that of the account's owner, but not the same.",
    ),
    "NO_MATCH": Text(
        "Das Konto gehört nach Auskunft der Bank des Empfängers jemand anderem.",
        "According to the payee's bank the account belongs to somebody else.",
    ),
    "NOT_POSSIBLE": Text(
        "Die Bank des Empfängers konnte nicht prüfen, ob Name und IBAN zusammenpassen.",
        "The payee's bank could not check whether name and IBAN match.",
    ),
}

PAYEE_RESULTS: Texts = {
    "MATCH": Text("Name und IBAN passen zusammen", "Name and IBAN match"),
    "CLOSE_MATCH": Text("Name ist ähnlich", "Name is similar"),
    "NO_MATCH": Text("Name passt nicht zur IBAN", "Name does not match the IBAN"),
    "NOT_POSSIBLE": Text("Konnte nicht geprüft werden", "Could not be checked"),
}
"""The results of `PAYEES` in short, beside the confirmation of a transfer."""

TROUBLES: Texts = {
    "wrong_credentials": Text(
        "Ihre Bank hat die Zugangsdaten nicht erkannt. Bitte prüfen Sie Ihre Eingaben und versuchen Sie es noch einmal. "
        "Verbleibende Versuche: {left}.",
        "Your bank did not recognise these login details. Please check what you entered and try again. Attempts left: {left}.",
    ),
    "stored_login_refused": Text(
        "Ihre Bank nimmt die gespeicherten Zugangsdaten nicht mehr an. Bitte geben Sie Ihre aktuellen Zugangsdaten ein.",
        "Your bank no longer accepts the stored login details. Please enter your current ones.",
    ),
    "fields_missing": Text(
        "Bitte geben Sie Ihre Zugangsdaten noch einmal ein und füllen Sie alle Felder aus: Es fehlten Angaben, oder Ihre Bank "
        "hat auf die Anmeldung nicht geantwortet.",
        "Please enter your credentials again and fill in every field: details were missing, or your bank did not answer the "
        "login.",
    ),
    "login_unfit": Text(
        "Mindestens eine Angabe kann so nicht stimmen. Bitte prüfen Sie die markierten Felder.",
        "At least one entry cannot be right. Please check the marked fields.",
    ),
    "wrong_tan": Text(
        "Ihre Bank hat die TAN nicht angenommen. Bitte geben Sie die zuletzt erzeugte TAN ein. Verbleibende Versuche: {left}.",
        "Your bank did not accept the TAN. Please enter the most recent one. Attempts left: {left}.",
    ),
    "bank_not_chosen": Text(
        "Diese Bank steht nicht zur Auswahl. Bitte suchen Sie Ihre Bank und wählen Sie sie aus der Liste.",
        "That bank is not available. Please search for your bank and choose it from the list.",
    ),
    "nothing_chosen": Text(
        "Sie haben noch nichts ausgewählt. Bitte wählen Sie eine der Möglichkeiten.",
        "You have not chosen anything yet. Please choose one of the options.",
    ),
    "no_account_chosen": Text(
        "Sie haben noch kein Konto ausgewählt. Bitte wählen Sie zuerst ein Konto aus.",
        "You have not chosen an account yet. Please choose one first.",
    ),
    "tan_missing": Text(
        "Die TAN fehlt noch. Bitte geben Sie sie ein.",
        "The TAN is missing. Please enter it.",
    ),
    "repeated_order": Text(
        "Eine gleiche Überweisung haben Sie gerade erst beauftragt. Zu Ihrem Schutz haben wir sie nicht noch einmal gesendet. "
        "Möchten Sie wirklich ein zweites Mal überweisen, warten Sie bitte eine Minute und bestätigen Sie dann erneut.",
        "You have just ordered an identical transfer. To protect you, we have not sent it again. "
        "If you really want to transfer a second time, please wait a minute and then confirm again.",
    ),
    "field_required": Text("Bitte füllen Sie dieses Feld aus.", "Please fill in this field."),
    "field_unfit": Text(
        "Diese Angabe kann so nicht stimmen. Bitte prüfen Sie sie auf Tippfehler.",
        "This entry cannot be right. Please check it for typing errors.",
    ),
    "iban_unfit": Text(
        "Diese IBAN ist nicht gültig. Bitte vergleichen Sie sie Zeichen für Zeichen.",
        "This IBAN is not valid. Please compare it character by character.",
    ),
    "not_in_sepa": Text(
        "Dieses Konto liegt außerhalb des SEPA-Raums. Bitte geben Sie die IBAN eines Kontos im SEPA-Raum ein.",
        "This account is outside the SEPA area. Please enter the IBAN of an account inside it.",
    ),
    "amount_unfit": Text(
        "Bitte geben Sie einen Betrag über 0 ein, zum Beispiel 49,90.",
        "Please enter an amount above 0, for example 49,90.",
    ),
    "text_too_long": Text(
        "Dieser Text ist zu lang. Bitte kürzen Sie ihn auf höchstens {limit} Zeichen.",
        "This text is too long. Please shorten it to at most {limit} characters.",
    ),
    "characters_refused": Text(
        "Banken nehmen hier nur Buchstaben, Ziffern und einfache Satzzeichen an. Bitte entfernen Sie andere Zeichen.",
        "Banks accept only letters, digits and simple punctuation here. Please remove other characters.",
    ),
    "bic_missing": Text(
        "Zu dieser IBAN kennen wir die Bank nicht. So lässt sich die Überweisung nicht senden; bitte prüfen Sie die IBAN.",
        "We do not know the bank of this IBAN. The transfer cannot be sent like this; please check the IBAN.",
    ),
    "order_refused": Text(
        "Ihre Bank hat die Überweisung nicht angenommen. Es wurde kein Geld überwiesen. Bitte prüfen Sie Ihre Angaben.",
        "Your bank did not accept the transfer. No money was transferred. Please check your details.",
    ),
    "bank_unreachable": Text(
        "Ihre Bank antwortet gerade nicht. Bitte versuchen Sie es in einigen Minuten noch einmal.",
        "Your bank is not answering at the moment. Please try again in a few minutes.",
    ),
    "terms_not_accepted": Text(
        "Ohne Ihre Zustimmung geht es nicht weiter. Bitte lesen Sie die Bedingungen und stimmen Sie zu, oder lehnen Sie sie ab.",
        "We cannot go on without your consent. Please read the terms and accept or decline them.",
    ),
    "file_missing": Text(
        "Sie haben noch keine Datei ausgewählt. Bitte wählen Sie einen Kontoauszug aus.",
        "You have not chosen a file yet. Please choose a statement.",
    ),
    "file_unreadable": Text(
        "Diese Datei können wir nicht lesen. Es wurde nichts gespeichert.",
        "We cannot read this file. Nothing was stored.",
    ),
    "page_old": Text(
        "Ihre letzte Eingabe kam von einer veralteten Seite und wurde nicht verwendet. Bitte machen Sie hier weiter.",
        "Your last entry came from an outdated page and was not used. Please continue here.",
    ),
}

MEDIA: Texts = {
    "LIST": Text("TAN-Liste", "TAN list"),
    "GENERATOR": Text("TAN-Generator", "TAN generator"),
    "MOBILE": Text("Mobiltelefon", "Mobile phone"),
    "SECODER": Text("Kartenleser", "Card reader"),
    "PUSH_TAN": Text("App auf dem Smartphone", "App on your smartphone"),
}

KINDS: Texts = {
    "CHECKING": Text("Girokonto", "Current account"),
    "SAVINGS": Text("Sparkonto", "Savings account"),
    "FIXED_DEPOSIT": Text("Festgeldkonto", "Fixed deposit"),
    "LOAN": Text("Kredit", "Loan"),
    "CALL_MONEY": Text("Tagesgeldkonto", "Overnight deposit"),
    "HOME_SAVINGS": Text("Bausparvertrag", "Home savings contract"),
    "OTHER_ACCOUNT": Text("Konto", "Account"),
    "CREDIT_CARD": Text("Kreditkarte", "Credit card"),
    "OTHER_CARD": Text("Karte", "Card"),
    "DEPOT": Text("Wertpapierdepot", "Securities account"),
    "OTHER_PRODUCT": Text("Weiteres Produkt", "Other product"),
}

RESULTS: Texts = {
    "consent_done": Text(
        "Die Verbindung zu Ihrer Bank steht. Sie müssen nichts weiter tun.",
        "The connection to your bank is in place. There is nothing more for you to do.",
    ),
    "paid": Text(
        "Ihre Bank hat die Überweisung angenommen. Sie müssen nichts weiter tun.",
        "Your bank has accepted the transfer. There is nothing more for you to do.",
    ),
    "accepted_for_later": Text(
        "Ihre Bank hat die Überweisung vorgemerkt und führt sie zum gewünschten Termin aus.",
        "Your bank has scheduled the transfer and will execute it on the chosen date.",
    ),
    "refused": Text(
        "Ihre Bank hat die Überweisung abgelehnt. Es wurde kein Geld überwiesen.",
        "Your bank has refused the transfer. No money was transferred.",
    ),
    "unknown": Text(
        "Ihre Bank hat den Ausgang der Überweisung nicht mitgeteilt. Vielleicht wurde sie ausgeführt: Bitte sehen Sie in Ihrem "
        "Online-Banking nach, bevor Sie noch einmal überweisen.",
        "Your bank has not told us how the transfer ended. It may have been executed: please look at your online banking "
        "before you transfer again.",
    ),
}

HEADINGS: Texts = {
    "consent_done": Text("Alles erledigt", "All done"),
    "paid": Text("Überweisung beauftragt", "Transfer ordered"),
    "accepted_for_later": Text("Überweisung vorgemerkt", "Transfer scheduled"),
    "refused": Text("Überweisung nicht ausgeführt", "Transfer not executed"),
    "unknown": Text("Ausgang noch unbekannt", "Outcome not known yet"),
}
"""The headings of `RESULTS`."""

STOPS: Texts = {
    "expired": Text(
        "Zu Ihrer Sicherheit gilt diese Seite nur kurze Zeit. Es wurde nichts ausgeführt, was Sie nicht bestätigt haben. "
        "Bitte kehren Sie zu Ihrem Anbieter zurück und beginnen Sie dort neu.",
        "For your security this page is valid for a short time only. Nothing was done that you did not confirm. "
        "Please go back to your provider and start again there.",
    ),
    "expired_of_tenant": Text(
        "Zu Ihrer Sicherheit gilt diese Seite nur kurze Zeit. Es wurde nichts ausgeführt, was Sie nicht bestätigt haben. "
        "Bitte gehen Sie zurück und beginnen Sie dort neu.",
        "For your security this page is valid for a short time only. Nothing was done that you did not confirm. "
        "Please go back and start again there.",
    ),
    "no_callback": Text(
        "Der Anbieter, von dem Sie kommen, hat keine Adresse für den Rückweg angegeben. "
        "Bitte kehren Sie zu ihm zurück und melden Sie ihm das.",
        "The provider you came from has not given an address for the way back. Please return to it and report this.",
    ),
    "invalid_callback": Text(
        "Die Adresse für den Rückweg ist bei uns nicht für Ihren Anbieter hinterlegt. Zu Ihrem Schutz leiten wir Sie nicht "
        "dorthin weiter. Bitte melden Sie das Ihrem Anbieter.",
        "The address for the way back is not registered with us for your provider. To protect you, we do not send you there. "
        "Please report this to your provider.",
    ),
    "failure": Text(
        "Bei uns ist ein Fehler aufgetreten, das tut uns leid. Bitte versuchen Sie es in einigen Minuten noch einmal.",
        "Something went wrong on our side, and we are sorry. Please try again in a few minutes.",
    ),
    "not_found": Text(
        "Diese Seite gibt es nicht. Bitte kehren Sie zu Ihrem Anbieter zurück und beginnen Sie dort neu.",
        "This page does not exist. Please go back to your provider and start again there.",
    ),
    "unavailable": Text(
        "Wir sind gerade nicht erreichbar. Bitte laden Sie diese Seite in einigen Minuten neu.",
        "We are not available at the moment. Please reload this page in a few minutes.",
    ),
    "too_many": Text(
        "Es kamen sehr viele Anfragen in kurzer Zeit. Bitte warten Sie eine Minute und laden Sie diese Seite dann neu.",
        "There were very many requests in a short time. Please wait a minute and then reload this page.",
    ),
    "bad_request": Text(
        "Diese Anfrage haben wir nicht verstanden. Bitte gehen Sie einen Schritt zurück und versuchen Sie es noch einmal.",
        "We did not understand this request. Please go one step back and try again.",
    ),
}

STOP_HEADINGS: Texts = {
    "expired": Text("Diese Sitzung ist abgelaufen", "This session has expired"),
    "expired_of_tenant": Text("Diese Sitzung ist abgelaufen", "This session has expired"),
    "no_callback": Text("Hier fehlt der Rückweg", "The way back is missing"),
    "invalid_callback": Text("Dieser Rückweg ist nicht erlaubt", "This way back is not allowed"),
    "failure": Text("Das hat leider nicht geklappt", "Sorry, that did not work"),
    "not_found": Text("Seite nicht gefunden", "Page not found"),
    "unavailable": Text("Gerade nicht erreichbar", "Not available right now"),
    "too_many": Text("Bitte einen Moment Geduld", "Please wait a moment"),
    "bad_request": Text("Das haben wir nicht verstanden", "We did not understand that"),
}
"""The headings of `STOPS`."""

REQUESTS: Texts = {
    "CREATE_ACCOUNT": Text("Konten verbinden", "Connect your accounts"),
    "AUTHENTICATE_ACCOUNT": Text("Zugriff erneuern", "Renew access"),
    "SINGLE_TRANSFER": Text("Überweisung freigeben", "Approve a transfer"),
}
"""What a tenant asks of its customer, by use case: the heading of the first page."""

REQUEST_LEADS: Texts = {
    "CREATE_ACCOUNT": Text(
        "{tenant} bittet um Einblick in Ihre Kontostände und Umsätze.",
        "{tenant} asks to see your balances and transactions.",
    ),
    "AUTHENTICATE_ACCOUNT": Text(
        "{tenant} bittet Sie, den Einblick in Ihre Konten zu verlängern.",
        "{tenant} asks you to prolong its view of your accounts.",
    ),
    "SINGLE_TRANSFER": Text(
        "{tenant} bittet Sie um die Freigabe einer Überweisung.",
        "{tenant} asks you to approve a transfer.",
    ),
}

POINTS: Texts = {
    "login": Text(
        "Ihre Zugangsdaten gehen verschlüsselt an Ihre Bank. {tenant} sieht sie nie.",
        "Your login goes to your bank encrypted. {tenant} never sees it.",
    ),
    "choice": Text(
        "Sie wählen die Konten aus. Alles andere bleibt verborgen.",
        "You choose the accounts. Everything else stays hidden.",
    ),
    "approval": Text(
        "Geld bewegt sich erst, wenn Sie genau diese Überweisung freigeben.",
        "No money moves before you approve exactly this transfer.",
    ),
    "withdrawal": Text(
        "Ihre Zustimmung gilt höchstens 180 Tage. Sie können sie jederzeit widerrufen.",
        "Your consent lasts 180 days at most. You can withdraw it at any time.",
    ),
    "once": Text(
        "Einblick in Ihre Konten gibt das nicht auf Dauer.",
        "This gives no lasting view of your accounts.",
    ),
}
"""What matters most of the terms, in short."""

WORDS: Texts = {
    # around every page
    "title": Text("Schritt {number} von {count}: {heading} – {name}", "Step {number} of {count}: {heading} – {name}"),
    "error": Text("Fehler: {title}", "Error: {title}"),
    "step": Text("Schritt {number} von {count}", "Step {number} of {count}"),
    "steps": Text("Fortschritt", "Progress"),
    "step_done": Text("erledigt: ", "done: "),
    "trouble": Text("Bitte prüfen", "Please check"),
    "bank_says": Text("Ihre Bank schreibt: „{text}“", "Your bank writes: “{text}”"),
    "busy": Text("Einen Moment bitte …", "One moment please …"),
    "cancel": Text("Abbrechen und zurück zu {tenant}", "Cancel and go back to {tenant}"),
    "next": Text("Weiter", "Continue"),
    "trust": Text(
        "Ihre Zugangsdaten gehen verschlüsselt an Ihre Bank; {tenant} sieht sie nie.",
        "Your login details go to your bank encrypted; {tenant} never sees them.",
    ),
    "trust_own": Text(
        "Ihre Zugangsdaten gehen verschlüsselt an Ihre Bank.",
        "Your login details go to your bank encrypted.",
    ),
    "session_ends": Text(
        "Diese Sitzung endet gleich. Möchten Sie mehr Zeit?",
        "This session is about to end. Would you like more time?",
    ),
    "session_extend": Text("Sitzung verlängern", "Extend session"),
    "imprint": Text("Impressum", "Imprint"),
    "privacy": Text("Datenschutz", "Privacy"),
    # terms
    "terms_full": Text("Vollständige Bedingungen lesen", "Read the full terms"),
    "terms_note": Text(
        "Mit „Zustimmen und weiter“ nehmen Sie die Bedingungen an.",
        "By “Accept and continue” you accept the terms.",
    ),
    "accept": Text("Zustimmen und weiter", "Accept and continue"),
    "decline": Text("Ablehnen", "Decline"),
    # banks
    "banks_heading": Text("Bei welcher Bank sind Sie?", "Which bank are you with?"),
    "banks_search": Text("Bank suchen", "Find your bank"),
    "banks_hint": Text("Name, Bankleitzahl oder BIC", "Name, bank code or BIC"),
    "search": Text("Suchen", "Search"),
    "banks_some": Text("Häufig gewählt", "Often chosen"),
    "banks_found": Text("Gefunden für „{query}“", "Found for “{query}”"),
    "bank_recent": Text("Zuletzt genutzt", "Used before"),
    "bank_disturbed": Text("Antwortet gerade nicht zuverlässig", "Not answering reliably at the moment"),
    "banks_none": Text(
        "Zu „{query}“ haben wir keine Bank gefunden. Versuchen Sie es mit der Bankleitzahl oder einem Teil des Namens.",
        "We found no bank for “{query}”. Try the bank code or a part of the name.",
    ),
    "banks_more": Text(
        "Und {count} weitere. Mit einem Ort oder der Bankleitzahl finden Sie Ihre Bank schneller.",
        "And {count} more. A town or the bank code gets you to your bank faster.",
    ),
    "banks_files": Text("Bank nicht dabei? Kontoauszug hochladen", "Bank not listed? Upload a statement"),
    "blz": Text("BLZ {blz}", "Bank code {blz}"),
    # login
    "login_heading": Text("Bei Ihrer Bank anmelden", "Log in to your bank"),
    "login_lead": Text(
        "Geben Sie die Zugangsdaten ein, mit denen Sie sich im Online-Banking von {bank} anmelden.",
        "Enter the details that you use to log in to the online banking of {bank}.",
    ),
    "log_in": Text("Anmelden", "Log in"),
    "show": Text("Anzeigen", "Show"),
    "hide": Text("Verbergen", "Hide"),
    "other_bank": Text("Andere Bank wählen", "Choose another bank"),
    # upload
    "upload_heading": Text("Kontoauszug hochladen", "Upload a statement"),
    "upload_lead": Text(
        "Laden Sie in Ihrem Online-Banking die Umsätze als Datei herunter und geben Sie die Datei hier an {tenant} weiter.",
        "Download your transactions as a file from your online banking, and pass the file on to {tenant} here.",
    ),
    "upload_label": Text("Ihre Kontoauszüge", "Your statements"),
    "upload_drop": Text("Dateien hierher ziehen oder auswählen", "Drop files here, or choose them"),
    "upload_hint": Text(
        "CSV, CAMT oder MT940, zusammen bis 10 MB. Mehrere Dateien und Konten sind möglich; doppelte Umsätze erkennen wir.",
        "CSV, CAMT or MT940, up to 10 MB in total. Several files and accounts are fine; we recognise duplicate transactions.",
    ),
    "upload": Text("Hochladen", "Upload"),
    "uploaded_heading": Text("Ihre Umsätze sind da", "Your transactions are here"),
    "uploaded_lead": Text("Das haben wir in Ihren Dateien gefunden:", "This is what we found in your files:"),
    "uploaded_lines": Text("{lines} Umsätze, {added} neu", "{lines} transactions, {added} new"),
    "upload_more": Text("Weitere Datei", "Another file"),
    "uploaded_done": Text("Fertig, zurück zu {tenant}", "Done, back to {tenant}"),
    # start
    "start_heading": Text("Zugriff erneuern", "Renew access"),
    "start_lead": Text(
        "Ihre Zustimmung für {bank} läuft ab oder ist abgelaufen. Im nächsten Schritt fragen wir Ihre Bank; "
        "bestätigen Sie dort wie gewohnt.",
        "Your consent for {bank} is about to expire or has expired. In the next step we ask your bank; "
        "confirm there as you usually do.",
    ),
    "start": Text("Jetzt erneuern", "Renew now"),
    # working
    "working_heading": Text("Wir fragen Ihre Bank", "We are asking your bank"),
    "working_status": Text(
        "Das dauert meist nur wenige Sekunden. Die Seite geht von selbst weiter.",
        "This usually takes a few seconds only. The page moves on automatically.",
    ),
    "check": Text("Status prüfen", "Check status"),
    # methods and media
    "methods_heading": Text("Wie möchten Sie bestätigen?", "How would you like to confirm?"),
    "methods_lead": Text(
        "{bank} bietet Ihnen mehrere Verfahren an. Wählen Sie das, das Sie gerade zur Hand haben.",
        "{bank} offers you several methods. Choose the one you have at hand.",
    ),
    "media_heading": Text("Womit möchten Sie bestätigen?", "What would you like to confirm with?"),
    "media_lead": Text(
        "Bei {bank} sind mehrere Geräte für Sie hinterlegt. Wählen Sie eines davon.",
        "Several devices are registered for you at {bank}. Choose one of them.",
    ),
    # tan
    "tan_heading": Text("TAN eingeben", "Enter the TAN"),
    "tan_label": Text("TAN", "TAN"),
    "tan_method": Text("Verfahren", "Method"),
    "tan_start_code": Text("Startcode", "Start code"),
    "tan_order_heading": Text("Diese Überweisung geben Sie frei", "You are approving this transfer"),
    "payee_check": Text("Prüfung des Empfängers", "Check of the payee"),
    "tan_hint": Text(
        "Vergleichen Sie die Daten, die Ihr Gerät oder Ihre App anzeigt, bevor Sie die TAN eingeben.",
        "Compare the data that your device or app shows before you enter the TAN.",
    ),
    "flicker_alt": Text(
        "Animierte Grafik mit fünf blinkenden Balken zum Einlesen mit dem TAN-Generator",
        "Animated picture with five flickering bars, to be read by the TAN generator",
    ),
    "flicker_how": Text(
        "Stecken Sie Ihre Karte in den TAN-Generator und halten Sie ihn an die blinkende Grafik. "
        "Die Dreiecke müssen auf die Marken Ihres Geräts zeigen; ändern Sie sonst die Größe.",
        "Put your card into the TAN generator and hold it against the flickering picture. "
        "The triangles must point to the marks on your device; otherwise change the size.",
    ),
    "flicker_manual": Text(
        "Vertragen Sie kein Blinken oder liest das Gerät die Grafik nicht? Blenden Sie sie aus und geben Sie die Daten am "
        "Gerät von Hand ein.",
        "Is flickering bad for you, or can the device not read the picture? Hide it and type the data into the device by hand.",
    ),
    "photo_alt": Text(
        "Grafik zum Einlesen mit der photoTAN-App oder dem Lesegerät Ihrer Bank",
        "Picture to be read by your bank's photoTAN app or reader",
    ),
    "photo_how": Text(
        "Scannen Sie die Grafik mit der App oder dem Lesegerät Ihrer Bank.",
        "Scan the picture with your bank's app or reader.",
    ),
    "size": Text("Größe der Grafik", "Size of the picture"),
    "size_none": Text("Aus", "Off"),
    "confirm": Text("Bestätigen", "Confirm"),
    # app
    "app_heading": Text("Wir warten auf Ihre Freigabe", "Waiting for your approval"),
    "app_status": Text(
        "Lassen Sie diese Seite geöffnet. Sobald Ihre Bank die Freigabe meldet, geht es von selbst weiter.",
        "Keep this page open. As soon as your bank reports your approval, it moves on automatically.",
    ),
    # payee
    "payee_heading": Text("Ist das der richtige Empfänger?", "Is this the right payee?"),
    "payee_name": Text("Das Konto gehört", "The account belongs to"),
    "payee_how": Text(
        "Brechen Sie ab, wenn Sie nicht sicher sind, und fragen Sie den Empfänger auf einem anderen Weg nach Namen und IBAN.",
        "Cancel if you are not sure, and ask the payee for name and IBAN by other means.",
    ),
    "payee_confirm": Text("Trotzdem überweisen", "Pay all the same"),
    # bank_page
    "bank_page_heading": Text("Weiter auf der Seite Ihrer Bank", "Continue on your bank's page"),
    "bank_page_lead": Text(
        "Bestätigen Sie auf der Seite von {bank}. Danach werden Sie automatisch hierher zurückgeleitet.",
        "Confirm on the page of {bank}. After that you are brought back here automatically.",
    ),
    "bank_page_check": Text(
        "Es öffnet sich eine Seite von {host}.",
        "A page of {host} opens.",
    ),
    "bank_page_go": Text("Weiter zu {bank}", "Continue to {bank}"),
    # accounts
    "accounts_heading": Text("Welche Konten möchten Sie verbinden?", "Which accounts would you like to connect?"),
    "accounts_lead": Text(
        "{tenant} sieht nur, was Sie hier auswählen.",
        "{tenant} sees only what you choose here.",
    ),
    "accounts_legend": Text("Ihre Konten bei {bank}", "Your accounts at {bank}"),
    "account_heading": Text("Von welchem Konto möchten Sie überweisen?", "Which account would you like to pay from?"),
    "account_lead": Text(
        "Wählen Sie das Konto, von dem der Betrag abgebucht wird.",
        "Choose the account that the amount is debited from.",
    ),
    # summary
    "summary_heading": Text("Stimmt alles?", "Is everything right?"),
    "summary_lead": Text(
        "Wenn Sie zustimmen, bekommt {tenant} Umsätze und Kontostände dieser Konten zu sehen:",
        "If you agree, {tenant} retrieves the transactions and balances of these accounts:",
    ),
    "summary_note": Text(
        "Geld bewegt das nicht: Jede Überweisung müssten Sie eigens bei Ihrer Bank bestätigen.",
        "This moves no money: you would have to confirm every transfer separately with your bank.",
    ),
    "connect": Text("Konten verbinden", "Connect accounts"),
    "change": Text("Auswahl ändern", "Change selection"),
    # order
    "order_heading": Text("Überweisung prüfen", "Check the transfer"),
    "order_lead": Text(
        "Prüfen Sie Empfänger, IBAN und Betrag genau. Danach geben Sie die Überweisung frei, wenn Ihre Bank es verlangt.",
        "Check recipient, IBAN and amount carefully. Your bank may ask you to confirm the transfer next.",
    ),
    "order_edit_heading": Text("Überweisung", "Transfer"),
    "order_edit_lead": Text(
        "Ergänzen oder ändern Sie die Angaben. Danach geben Sie die Überweisung frei, wenn Ihre Bank es verlangt.",
        "Complete or change the details. Your bank may ask you to confirm the transfer next.",
    ),
    "recipient": Text("Empfänger", "Recipient"),
    "recipient_hint": Text("Name der Person oder Firma", "Name of the person or company"),
    "iban": Text("IBAN", "IBAN"),
    "iban_hint": Text("Leerzeichen sind erlaubt", "Blanks are allowed"),
    "amount": Text("Betrag in Euro", "Amount in euros"),
    "amount_hint": Text("Zum Beispiel 49,90 oder 1.234,50", "For example 49,90 or 1.234,50"),
    "amount_of": Text("{amount} €", "€{amount}"),
    "amount_short": Text("Betrag", "Amount"),
    "purpose": Text("Verwendungszweck", "Purpose"),
    "purpose_hint": Text("Höchstens 140 Zeichen", "At most 140 characters"),
    "from": Text("Von Konto", "From account"),
    "execute_on": Text("Ausführung", "Execution"),
    "instant": Text("Echtzeitüberweisung", "Instant transfer"),
    "instant_note": Text(
        "Das Geld ist in Sekunden beim Empfänger und lässt sich nicht zurückholen.",
        "The money reaches the recipient within seconds and cannot be called back.",
    ),
    "pay": Text("Überweisung bestätigen", "Confirm transfer"),
    # result, return, stopped
    "until": Text("Gültig bis {day}.", "Valid until {day}."),
    "finish": Text("Zurück zu {tenant}", "Back to {tenant}"),
    "return_heading": Text("Sie werden weitergeleitet", "You are being forwarded"),
    "return_lead": Text("Es geht zurück zu {tenant}.", "We are taking you back to {tenant}."),
    "correlation": Text("Kennung für Rückfragen", "Reference for enquiries"),
    "reason": Text("Grund", "Reason"),
}
