"""Texts that our own connectors have for the customers of banks, in German and English. What else a bank says is shown in its own
words.
"""

from api.schemas.languages import Text

BANK_TEXTS = {
    text.de: text
    for text in (
        # logins
        Text("Nutzerkennung", "User id"),
        Text("Anmeldename", "Login name"),
        Text("PIN", "PIN"),
        Text("Anmeldename oder Legitimations-ID Ihres Online-Bankings", "Login name or legitimation id of your online banking"),
        Text("PIN Ihres Online-Bankings", "PIN of your online banking"),
        Text("demo1 bis demo8, oder eine der Testkennungen", "demo1 to demo8, or one of the test ids"),
        Text("demo, oder bei Testkennungen die Kennung selbst", "demo; of a test id, the id itself"),
        Text("Geben Sie den Startcode in Ihren TAN-Generator ein.", "Type the start code into your TAN generator."),
        Text(
            "Halten Sie Ihren TAN-Generator vor die flackernde Grafik.",
            "Hold your TAN generator against the flickering picture.",
        ),
        Text(
            "Nehmen Sie die TAN mit der genannten Nummer von Ihrer Liste.",
            "Take the TAN with the given number from your list.",
        ),
        Text("Sie erhalten die TAN auf Ihr Mobilgerät.", "You receive the TAN on your mobile device."),
        Text(
            "Bestätigen Sie den Auftrag in der App; eine TAN brauchen Sie nicht.",
            "Confirm the order in the app; you need no TAN.",
        ),
        Text(
            "Sie werden zu Ihrer Bank weitergeleitet und geben den Auftrag dort frei.",
            "You are sent to your bank and approve the order there.",
        ),
        Text("Fotografieren Sie die Grafik mit Ihrem Lesegerät.", "Take a picture of the graphic with your reader."),
        Text("Ihre Bank prüft den Empfänger.", "Your bank is checking the payee."),
        Text(
            "Wenn Sie den Auftrag dennoch freigeben, kann das Geld bei einem anderen Empfänger ankommen.",
            "If you approve the order all the same, the money may reach somebody else.",
        ),
        Text(
            "VR-NetKey oder Alias",
            "VR-NetKey or alias",
        ),
        Text(
            "Ihr VR-NetKey oder der Alias, den Sie dafür gewählt haben",
            "Your VR-NetKey, or the alias that you have chosen for it",
        ),
        Text(
            "Online-PIN Ihres Online-Bankings",
            "Online PIN of your online banking",
        ),
        Text(
            "Anmeldename oder Legitimations-ID",
            "Login name or legitimation id",
        ),
        Text(
            "Online-Banking-PIN, 5 bis 38 Zeichen",
            "Online banking PIN, 5 to 38 characters",
        ),
        Text(
            "Filiale und Konto",
            "Branch and account",
        ),
        Text(
            "Filialnummer (3 Ziffern), Kontonummer (7 Ziffern) und Unterkonto (2 Ziffern) ohne Leerzeichen",
            "Number of the branch (3 digits), account (7 digits) and sub-account (2 digits), without spaces",
        ),
        Text(
            "Der FinTS-Zugang muss im Online-Banking freigeschaltet sein.",
            "FinTS access must be enabled in your online banking.",
        ),
        Text(
            "apoBank-NetKey oder Alias",
            "apoBank NetKey or alias",
        ),
        Text(
            "Ihr NetKey oder der Alias, den Sie dafür gewählt haben",
            "Your NetKey, or the alias that you have chosen for it",
        ),
        Text(
            "Postbank ID",
            "Postbank ID",
        ),
        Text(
            "Die Postbank ID, mit der Sie sich im Online-Banking anmelden",
            "The Postbank ID with which you log in to online banking",
        ),
        Text(
            "Passwort, 5 bis 50 Zeichen",
            "Password, 5 to 50 characters",
        ),
        Text(
            "Teilnehmernummer",
            "Participant number (Teilnehmernummer)",
        ),
        Text(
            "Ihre Teilnehmernummer, nicht der Benutzername",
            "Your participant number, not the user name",
        ),
        Text(
            "Zugangsnummer",
            "Access number (Zugangsnummer)",
        ),
        Text(
            "Ihre Zugangsnummer mit 8 Ziffern",
            "Your access number of 8 digits",
        ),
        Text(
            "Direct-Banking-Nummer",
            "Direct banking number",
        ),
        Text(
            "Ihre Direct-Banking-Nummer",
            "Your direct banking number",
        ),
        Text(
            "Der Anmeldename Ihres Bankings",
            "The login name of your banking",
        ),
        Text(
            "Passwort Ihres Bankings",
            "Password of your banking",
        ),
        Text(
            "Die letzten 10 Ziffern Ihrer IBAN",
            "The last 10 digits of your IBAN",
        ),
        Text(
            "Internetbanking PIN, 5 bis 10 Zeichen",
            "Internet banking PIN, 5 to 10 characters",
        ),
        Text(
            "UserID",
            "User ID",
        ),
        Text(
            "UserID oder Kontonummer",
            "User ID or account number",
        ),
        Text(
            "Online-Banking-Nummer",
            "Online banking number",
        ),
        Text(
            "Kontonummer oder der Benutzername, den Sie gewählt haben",
            "Account number, or the user name that you have chosen",
        ),
        Text(
            "Eine Bank zum Ausprobieren: demo1 mit der PIN demo.",
            "A bank to try things out: demo1 with the PIN demo.",
        ),
        Text(
            "Kontoauszüge als Datei aus Ihrem Online-Banking: CAMT, MT940 oder CSV.",
            "Statement files from your online banking: CAMT, MT940 or CSV.",
        ),
        Text(
            "Konten, deren Umsätze und Salden Sie selbst übertragen.",
            "Accounts whose transactions and balances you send yourself.",
        ),
        # orders
        Text(
            "Bitte geben Sie den Auftrag mit Ihrem Verfahren frei.",
            "Please approve the order with your method.",
        ),
        Text(
            "Die Bank bietet kein Verfahren an, mit dem Sie hier freigeben können.",
            "The bank offers no method with which you can approve here.",
        ),
        Text(
            "Es gibt kein Verfahren, mit dem Sie hier freigeben können.",
            "There is no method with which you can approve here.",
        ),
        Text(
            "Ihr Auftrag wird an die Bank übermittelt.",
            "Your order is being sent to the bank.",
        ),
        Text(
            "Der Auftrag wurde abgebrochen.",
            "The order was cancelled.",
        ),
        Text(
            "Die Bank führt diesen Auftrag nicht aus.",
            "The bank does not execute this order.",
        ),
        Text(
            "Die Bank bietet hier keine Überweisungen an.",
            "The bank offers no transfers here.",
        ),
        Text(
            "Die Bank bietet hier keine terminierten Überweisungen an.",
            "The bank offers no scheduled transfers here.",
        ),
        Text(
            "Die Bank bietet hier keine Echtzeitüberweisungen an.",
            "The bank offers no instant transfers here.",
        ),
        Text(
            "Die Bank bietet hier keine Sammelüberweisungen an.",
            "The bank offers no bulk transfers here.",
        ),
        Text(
            "Von diesem Konto sind keine solchen Überweisungen möglich.",
            "Such transfers are not possible from this account.",
        ),
        Text(
            "Von diesem Konto sind keine Überweisungen möglich.",
            "Transfers are not possible from this account.",
        ),
        Text(
            "Von diesem Konto sind keine Sammelüberweisungen möglich.",
            "Bulk transfers are not possible from this account.",
        ),
        Text(
            "Von diesem Konto sind keine Echtzeitüberweisungen möglich.",
            "Instant transfers are not possible from this account.",
        ),
        Text(
            "Von diesem Konto sind nur Überweisungen auf das Referenzkonto möglich.",
            "From this account, only transfers to its reference account are possible.",
        ),
        Text(
            "Die Bank des Empfängers nimmt keine Echtzeitüberweisungen an.",
            "The payee's bank takes no instant transfers.",
        ),
        Text(
            "Sammelüberweisungen sind bei dieser Bank nur ohne Termin und nicht in Echtzeit möglich.",
            "At this bank, bulk transfers can be neither scheduled nor instant.",
        ),
        Text(
            "Die Bank nimmt nicht so viele Überweisungen in einem Auftrag an.",
            "The bank does not take so many transfers in one order.",
        ),
        Text(
            "Der Auftrag ist zu groß. Bitte teilen Sie ihn auf.",
            "The order is too large. Please split it.",
        ),
        Text(
            "Die Bank nimmt Aufträge für diesen Tag nicht an.",
            "The bank takes no orders for this day.",
        ),
        Text(
            "Keine Deckung: Der Betrag ist höher als der verfügbare.",
            "Not enough money: the amount is higher than what is available.",
        ),
        Text(
            "Der Auftrag ist ein Duplikat: Ein Auftrag mit dieser Referenz liegt bereits vor.",
            "The order is a duplicate: there is an order with this reference already.",
        ),
        Text(
            "Die Zahl der Überweisungen passt nicht zum Auftrag.",
            "The number of transfers does not fit the order.",
        ),
        Text(
            "Der Betrag muss größer als null sein.",
            "The amount must be above zero.",
        ),
        Text(
            "Die IBAN des Empfängers ist falsch oder liegt außerhalb des SEPA-Raums.",
            "The payee's IBAN is wrong or outside SEPA.",
        ),
        Text(
            "Der Tag der Ausführung liegt in der Vergangenheit.",
            "The day of execution lies in the past.",
        ),
    )
}
"""By the German text."""
