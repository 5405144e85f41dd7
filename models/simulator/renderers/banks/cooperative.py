"""The cooperative banks (Volksbanken, Raiffeisenbanken): the references stand before the purpose and a second time inside it."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, SHOP, Capitals, Case, Layout, Line, Shape

_BEFORE = "[EREF+{eref}\n]KREF+{digits:22}\n[MREF+{mref}\n][CRED+{cred}\n][PURP+{purp}\n]"
_AGAIN = "[ EREF: {eref}][ MREF: {mref}][ CRED: {cred}][ IBAN: {iban}][ BIC: {bic}][ ABWA: {ultimate}]"
_BOOKED = Shape(purpose=f"{_BEFORE}SVWZ+<{{text}}>{_AGAIN}", ultimate="")
_ORDERED = Shape(purpose="KREF+{digits:22}\nSVWZ+<{text}>[ IBAN: {iban}][ BIC: {bic}][ ABWE: {ultimate}]", ultimate="")
_TYPED = Shape(
    purpose="KREF+{digits:22}\nSVWZ+<{text}> EREF: [{eref}|NOTPROVIDED] TAN1: SecureGo plus[ IBAN: {iban}][ BIC: {bic}]",
    ultimate="",
)
_PLACE = "[/{street}][/{city}/DE]"
_TILL = Shape(
    name="{prefix}{party:25}",
    purpose=f"[EREF+{{eref}}\n]SVWZ+<{SHOP}{_PLACE} {{day:iso}}T{{time:hms}} Folgenr.00{{card:1}} Verfalld.{{expiry:iso}}>",
    ultimate="",
)
_CARD_ACCOUNT = Shape(
    name="DZ BANK AG",
    purpose=f"SVWZ+<{SHOP}[ {{city}}] DE {{day:dm}} {{amount}} EUR[ {{original}} {{currency}} KURS {{rate}}] DEBIT MASTERCARD>",
    ultimate="",
    account=False,
)
_MACHINE = Shape(
    name="{party}",
    purpose="SVWZ+<{party:22}[/{city}/DE] {day:iso}T{time:hms} GA {digits:8} girocard>",
    ultimate="",
    account=False,
)
_CLOSING = replace(OWN, purpose="SVWZ+<[{text}|Abschluss per {valued:dmy}]>")
_RETURNED = Shape(purpose=f"{_BEFORE}SVWZ+<Rückgabe[ {{text}}] SONSTIGE GRUENDE>{_AGAIN}", ultimate="")

VR = Layout(
    (
        Line(Case.CARD, "Kartenzahlung girocard", _TILL, 5, batch="931"),
        Line(Case.CARD, "Kartenzahlung", _CARD_ACCOUNT, 1, batch="931"),
        Line(Case.CARD_ONLINE, "Kartenzahlung", _CARD_ACCOUNT, batch="931"),
        Line(Case.CARD_REFUND, "Gutschrift girocard", _TILL, batch="931"),
        Line(Case.DEBIT, "Basislastschrift", _BOOKED, batch="931"),
        Line(Case.DEBIT_COLLECTED, "Lastschrifteinreichung", _BOOKED, batch="931"),
        Line(Case.DEBIT_RETURN, "Lastschrift Wiedergutschrift", _RETURNED, batch="936"),
        Line(Case.COLLECTION_RETURN, "Rücklastschrift", _RETURNED, batch="936"),
        Line(Case.STANDING, "Dauerauftragsbelast", _ORDERED, batch="900"),
        Line(Case.STANDING_CREDIT, "Dauerauftragsgutschr", _BOOKED, batch="931"),
        Line(Case.TRANSFER, "Überweisungsauftrag", _TYPED, 3, batch="801"),
        Line(Case.TRANSFER, "EURO-UEBERWEISUNG", _TYPED, 1, batch="801"),
        Line(Case.INSTANT, "Echtzeitüberweisung", _TYPED, batch="801"),
        Line(Case.CREDIT, "Überweisungsgutschr.", _BOOKED, batch="931"),
        Line(Case.INSTANT_CREDIT, "Echtzeitgutschrift", _BOOKED, batch="931"),
        Line(Case.SALARY, "Lohn/Gehalt/Rente", _BOOKED, batch="931"),
        Line(Case.PUBLIC, "Überweisungsgutschr.", _BOOKED, batch="931"),
        Line(Case.VL, "Verm.wirks.Leistung", _BOOKED, batch="931"),
        Line(Case.TRANSFER_RETURN, "Überweisungsrückgabe", _BOOKED, batch="936"),
        Line(Case.ATM, "Auszahlung girocard", _MACHINE, batch="931"),
        Line(Case.SHOP_CASH, "Auszahlung girocard", _TILL, code="083", batch="931"),
        Line(Case.COUNTER, "Auszahlung", replace(OWN, purpose="<[{text}|Barauszahlung]>"), batch="100"),
        Line(Case.DEPOSIT, "Einzahlung", replace(OWN, purpose="<[{text}|Bareinzahlung]>"), batch="100"),
        Line(Case.FEE, "Kontoführung", _CLOSING, 2, batch="905"),
        Line(Case.FEE, "Entgelt/Auslagen", _CLOSING, 1, batch="905"),
        Line(Case.INTEREST_PAID, "Abschluss", _CLOSING, batch="905"),
        Line(Case.INTEREST, "Zinsen", replace(OWN, purpose="SVWZ+<[{text}|Zinsgutschrift per {valued:dmy}]>"), batch="905"),
        Line(Case.SECURITIES_BUY, "Wertpapierabrechnung", _BOOKED, batch="950"),
        Line(Case.SECURITIES_SELL, "Wertpapierertrag", _BOOKED, batch="950"),
        Line(Case.INSTALMENT, "Annuität", _BOOKED, code="602", batch="970"),
        Line(Case.LOAN_PAYOUT, "Darlehensauszahlung", _BOOKED, batch="970"),
        Line(
            Case.SETTLEMENT,
            "Kreditkartenabrechnung",
            Shape(purpose="SVWZ+<[{text} ]Karte {card:4} per {valued:dmy}>", ultimate=""),
            batch="931",
        ),
        Line(Case.INTERNAL, "Übertrag", _ORDERED, batch="801"),
        Line(Case.INTERNAL_CREDIT, "Übertrag", _BOOKED, batch="801"),
        Line(
            Case.PENDING,
            "Vorgemerkter Umsatz",
            Shape(name="[{legal}|{prefix}{party}]", purpose="<{text}>", ultimate="", account=False),
        ),
    ),
    coded=1.0,
    capitals=Capitals.CARDS,
    width=27,
)
