"""What customers accept before they type anything into the redirect form: the tenant's own text, or the house's.

A text is plain: paragraphs with a blank line between them, headings with `# ` before them, `{tenant}` where the tenant's name
belongs.
"""

import json

from warehouse.postgres.tables import FormDesign
from warehouse.secrets import hashing
from warehouse.stores.designs import LANGUAGES

TENANT = "{tenant}"
HEADING = "# "
HOUSE = {
    "de": """
# Worum es geht

Sie möchten {tenant} Einblick in Ihre Konten geben oder von dort aus eine Überweisung in Auftrag geben. Dieses Formular
verbindet Sie dafür mit Ihrer Bank. Es wird von Kontor betrieben („wir“), einem Dienst für Kontoinformationen und
Zahlungsauslösung, den {tenant} nutzt.

# Ihre Zugangsdaten

Was Sie hier eingeben, wird verschlüsselt an uns und verschlüsselt weiter an Ihre Bank übertragen. {tenant} bekommt Ihre
Zugangsdaten und TANs nie zu sehen. Ihre Zugangsdaten bewahren wir verschlüsselt auf, solange die Verbindung besteht, damit Ihre
Konten aktuell bleiben. Eine TAN verwenden wir nur für den Vorgang, den Sie gerade bestätigen.

# Welche Daten {tenant} erhält

Von den Konten, Karten und Depots, die Sie auswählen, erhält {tenant}: Bezeichnung, Kontonummer und IBAN, die Namen der Inhaber,
Kontostände, Umsätze mit Betrag, Datum, Verwendungszweck und Gegenseite, bei Depots die Wertpapiere. Hinzu kommt, was wir daraus
errechnen, zum Beispiel Kategorien, laufende Verträge, Einnahmen und Ausgaben. Was Sie nicht auswählen, erhält {tenant} nicht.

Aus Umsätzen kann mehr hervorgehen als Geldbeträge, etwa aus Arztrechnungen oder Beiträgen an Vereine, Kirchen und Parteien. Ihre
Zustimmung schließt solche Angaben ein. Wählen Sie ein Konto nicht aus, wenn {tenant} sie nicht erhalten soll.

# Wie lange Ihre Zustimmung gilt

Bis zu viermal am Tag fragen wir bei Ihrer Bank nach neuen Umsätzen, auch wenn Sie gerade nicht angemeldet sind. Das dürfen wir
höchstens 180 Tage lang; danach geschieht es nur weiter, wenn Sie es bei Ihrer Bank erneut bestätigen.

# Überweisungen

Eine Überweisung führt Ihre Bank nur aus, wenn Sie genau diese Überweisung mit Ihrem Verfahren, zum Beispiel einer TAN, freigeben.
{tenant} erfährt, ob sie ausgeführt wurde. Nach der Freigabe lässt sie sich in der Regel nicht mehr zurückholen.

# Was mit Ihren Daten nicht geschieht

Wir nutzen Ihre Daten nicht für Werbung, wir verkaufen sie nicht, und wir geben sie niemandem außer {tenant} und, für Ihre
Aufträge, Ihrer Bank. Wenn Sie die Kategorie eines Umsatzes berichtigen, kann dessen Text ohne Ziffern dazu dienen, unsere
Erkennung zu verbessern; das geschieht nur, wenn {tenant} es uns erlaubt hat. Wofür {tenant} selbst Ihre Daten verwendet, steht in
den Datenschutzhinweisen von {tenant}.

# Widerruf und Löschung

Ihre Zustimmung ist freiwillig. Sie können sie jederzeit für die Zukunft widerrufen: bei {tenant} oder bei Ihrer Bank. Wird die
Verbindung bei {tenant} getrennt, sind Ihre Zugangsdaten und Umsätze bei uns sofort nicht mehr abrufbar und werden gelöscht. Von
Überweisungen bleibt, was eine zweite Ausführung verhindert und was wir gesetzlich aufbewahren müssen. Was {tenant} bis dahin
erhalten hat, liegt bei {tenant}; wenden Sie sich dorthin, wenn es ebenfalls gelöscht werden soll.
""",
    "en": """
# What this is about

You want to let {tenant} see your accounts, or to order a transfer from there. This form connects you to your bank for that
purpose. It is run by Kontor (“we”), a service for account information and payment initiation that {tenant} uses.

# Your login

What you enter here travels encrypted to us, and encrypted from us to your bank. {tenant} never gets to see your login or your
TANs. We keep your login, encrypted, for as long as the connection exists, so that your accounts stay up to date. A TAN is used
only for what you are confirming at that moment.

# Which data {tenant} receives

Of the accounts, cards and securities accounts that you select, {tenant} receives: description, account number and IBAN, the names
of the holders, balances, transactions with amount, date, purpose and counterparty, and the securities in a securities account.
Added to this is what we work out from them, for example categories, running contracts, income and expenses. What you do not
select, {tenant} does not receive.

Transactions can tell more than amounts of money, for example doctors' bills or contributions to associations, churches and
parties. Your consent includes such details. Do not select an account if {tenant} should not receive them.

# How long your consent lasts

Up to four times a day we ask your bank for new transactions, even when you are not logged in. We may do so for no more than 180
days; after that it goes on only if you confirm it again at your bank.

# Transfers

Your bank executes a transfer only if you approve exactly that transfer with your own method, such as a TAN. {tenant} is told
whether it was executed. Once approved, it can usually not be taken back.

# What does not happen with your data

We do not use your data for advertising, we do not sell them, and we give them to nobody but {tenant} and, for what you order,
your bank. If you correct the category of a transaction, its text without digits may help to improve our recognition; this happens
only if {tenant} has allowed it. What {tenant} itself uses your data for is explained in the privacy notice of {tenant}.

# Withdrawal and deletion

Your consent is voluntary. You can withdraw it for the future at any time: with {tenant} or with your bank. When the connection is
ended with {tenant}, your login and transactions can no longer be retrieved from us, from that moment on, and are deleted. Of
transfers we keep what prevents a second execution and what the law requires us to keep. What {tenant} has received until then is
with {tenant}; please turn to them if it is to be deleted as well.
""",
}


def text(design: FormDesign | None, language: str) -> str:
    """What a customer reads: the tenant's text in this language, else its German one, else the house's."""
    own = design.terms if design else {}
    return own.get(language) or own.get("de") or HOUSE[language]


def digest(design: FormDesign | None) -> bytes:
    """The name of all that customers of a tenant may have read: another text has another one, and is asked for again."""
    return hashing.digest(json.dumps([text(design, language) for language in LANGUAGES]))


def paragraphs(text: str, tenant_name: str) -> tuple[str, ...]:
    """The paragraphs of a text, each in one line, headings with `# ` before them, with the tenant's name in place."""
    blocks: list[list[str]] = [[]]
    for line in map(str.strip, text.splitlines()):
        if line.startswith(HEADING):
            blocks += [[line], []]
        elif line:
            blocks[-1].append(line)
        else:
            blocks.append([])
    return tuple(" ".join(block).replace(TENANT, tenant_name) for block in blocks if block)
