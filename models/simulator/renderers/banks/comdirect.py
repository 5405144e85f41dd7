"""comdirect: who and what stand together in one text behind labels; only some channels tell the name apart."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, PAYER, SHOP, Case, Layout, Line, Shape

_REFERENCE = "Ref. {code:16}/{digits:5}"
_CARD_NUMBER, _ABROAD = "Karte Nr. 4871 78XX XXXX {card:4}", "[ {original} {currency} Kurs {rate}]"
_LABELS = " End-to-End-Ref.: [{eref}|nicht angegeben][ CORE / Mandatsref.: {mref}][ Gläubiger-ID: {cred}]"
_CARD = Shape(
    name="",
    purpose=f"<Buchungstext: {SHOP}[, {{city}} DE] {_CARD_NUMBER} Kartenzahlung{_ABROAD}> {_REFERENCE}",
    ultimate="",
    account=False,
)
_CASH = replace(
    _CARD,
    purpose=f"<Buchungstext: {{party:22}}[, {{city}} DE] {_CARD_NUMBER} Bargeldauszahlung> {_REFERENCE}",
)
_FROM = Shape(name="", purpose=f"Auftraggeber: {PAYER} Buchungstext: <{{text}}> {_REFERENCE}", ultimate="", account=False)
_TO = Shape(
    name="",
    purpose=f"Empfänger: {PAYER}[ Kto/IBAN: {{iban}}][ BLZ/BIC: {{bic}}] Buchungstext: <{{text}}> {_REFERENCE}",
    ultimate="",
)
_NAMED = Shape(purpose=f"<{{text}}>{_LABELS} {_REFERENCE}")
_OWN = replace(OWN, purpose=f"Buchungstext: <[{{text}}|Kontoabschluss {{valued:dmy}}]> {_REFERENCE}")

COMDIRECT = Layout(
    (
        Line(Case.CARD, "Kartenverfügung", _CARD, 3),
        Line(Case.CARD, "Lastschrift / Belastung", _CARD, 2),
        Line(Case.CARD_REFUND, "Kartenverfügung", _CARD),
        Line(Case.DEBIT, "Lastschrift / Belastung", _FROM, 3),
        Line(Case.DEBIT, "Lastschrift / Belastung", _NAMED, 3),
        Line(Case.DEBIT_RETURN, "Rücklastschrift", _FROM),
        Line(Case.TRANSFER, "Übertrag / Überweisung", _TO, 3),
        Line(Case.TRANSFER, "Übertrag / Überweisung", _NAMED, 2),
        Line(Case.STANDING, "Übertrag / Überweisung", _TO, 3),
        Line(Case.STANDING, "Dauerauftrag", _NAMED, 2),
        Line(Case.CREDIT, "Übertrag / Überweisung", _FROM, 3),
        Line(Case.CREDIT, "Übertrag / Überweisung", _NAMED, 3),
        Line(Case.ATM, "Auszahlung GAA", _CASH, 3),
        Line(Case.ATM, "Kartenverfügung", _CASH, 2),
        Line(Case.SHOP_CASH, "Kartenverfügung", _CARD),
        Line(Case.DEPOSIT, "Bareinzahlung", replace(_OWN, purpose=f"Buchungstext: <[{{text}}|Einzahlung]> {_REFERENCE}")),
        Line(Case.FEE, "Kontoabschluss", _OWN),
        Line(Case.INTEREST_PAID, "Kontoabschlusszinsen", _OWN),
        Line(Case.INTEREST, "Zinsen", _OWN),
        Line(Case.SECURITIES_BUY, "Wertpapiere", _OWN),
        Line(Case.SECURITIES_SELL, "Wertpapiere", _OWN),
        Line(Case.INSTALMENT, "Lastschrift / Belastung", _FROM),
        Line(
            Case.SETTLEMENT,
            "Visa-Kartenabrechnung",
            replace(_OWN, purpose=f"<Buchungstext: Summe Monatsabrechnung Visa {{valued:dmy}}[ {{text}}]> {_REFERENCE}"),
        ),
        Line(Case.PENDING, "offen", replace(_FROM, purpose=f"Auftraggeber: [{{legal}}|{SHOP}][ Buchungstext: <{{text}}>]")),
    ),
    coded=0.0,
    width=35,
)
