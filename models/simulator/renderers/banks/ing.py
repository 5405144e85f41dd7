"""ING: the card stands in the name, and most card payments are called direct debits."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, SHOP, Capitals, Case, Layout, Line, Shape

_CARD, _CLEARING = "NR XXXX {card:4}[ {city:13} DE]", "{digits:6} ARN{digits:23}"
_BOOKED = Shape()
_DEBIT = Shape(purpose="<{text}>[ Mandat: {mref}][ Referenz: {eref}]")
_VISA = Shape(
    name=f"VISA {SHOP}", purpose="<" + _CARD + " KAUFUMSATZ {day:dm} {amount:.} " + _CLEARING + ">", ultimate="", account=False
)
_ABROAD = replace(_VISA, purpose="<" + _CARD + " KAUFUMSATZ {day:dm}[ {original:.} {currency} KURS {rate:.}] " + _CLEARING + ">")
_REFUND = replace(_VISA, purpose="<" + _CARD + " GUTSCHRIFT {day:dm} {amount:.} " + _CLEARING + ">")
_CASH = replace(_VISA, name="VISA {party:22}", purpose="<" + _CARD + " BARGELDAUSZAHLUNG {day:dm} {amount:.} " + _CLEARING + ">")
_GIROCARD = Shape(name=SHOP, purpose="<[{city}//]{day:iso}T{time:hms} KFN {card:1} VJ {expiry:ym} girocard>", ultimate="")

ING = Layout(
    (
        Line(Case.CARD, "Lastschrift", _VISA, 5),
        Line(Case.CARD, "Kartenzahlung", _GIROCARD, 2),
        Line(Case.CARD_ONLINE, "Lastschrift", _VISA),
        Line(Case.CARD_ABROAD, "Lastschrift", _ABROAD),
        Line(Case.CARD_REFUND, "Gutschrift", _REFUND),
        Line(Case.DEBIT, "Lastschrift", _BOOKED, 3),
        Line(Case.DEBIT, "Lastschrift", _DEBIT, 2),
        Line(Case.DEBIT_RETURN, "Retoure", _BOOKED),
        Line(Case.COLLECTION_RETURN, "Retoure", _BOOKED),
        Line(Case.STANDING, "Dauerauftrag/Terminueberweisung"),
        Line(Case.TRANSFER, "Überweisung", _BOOKED, code="177"),
        Line(Case.INSTANT, "Echtzeitüberweisung"),
        Line(Case.CREDIT, "Gutschrift"),
        Line(Case.INSTANT_CREDIT, "Gutschrift aus Echtzeitüberweisung"),
        Line(Case.STANDING_CREDIT, "Gutschrift aus Dauerauftrag"),
        Line(Case.SALARY, "Gehalt/Rente"),
        Line(Case.TRANSFER_RETURN, "Retoure"),
        Line(Case.ATM, "Lastschrift", _CASH, 4),
        Line(Case.ATM, "Bargeldauszahlung", _CASH, 1),
        Line(Case.SHOP_CASH, "Bargeldauszahlung", _GIROCARD, code="083"),
        Line(Case.COUNTER, "Auszahlung", replace(OWN, purpose="<[{text}|Bargeldauszahlung am Schalter]>")),
        Line(Case.DEPOSIT, "Einzahlung", replace(OWN, purpose="<[{text}|Bargeldeinzahlung]>")),
        Line(Case.FEE, "Entgelt", OWN),
        Line(Case.INTEREST_PAID, "Abschluss", replace(OWN, purpose="<[{text}|Sollzinsen bis {valued:dmy}]>")),
        Line(Case.INTEREST, "Zinsertrag", replace(OWN, purpose="<[{text}|Zinsen vom {valued:dmy}]>")),
        Line(Case.SECURITIES_BUY, "Wertpapierkauf"),
        Line(Case.SECURITIES_SELL, "Wertpapiergutschrift"),
        Line(Case.INSTALMENT, "Lastschrift", Shape(purpose="<[{text} ]Darlehen {card:8}>")),
        Line(Case.LOAN_PAYOUT, "Darlehensauszahlung"),
        Line(Case.SETTLEMENT, "Visa-Kartenabrechnung"),
        Line(Case.INTERNAL, "Übertrag"),
        Line(Case.INTERNAL_CREDIT, "Übertrag"),
        Line(Case.PENDING, "Vorgemerkt", Shape(name=f"[{{legal}}|VISA {SHOP}]", ultimate="", account=False)),
    ),
    coded=0.6,
    capitals=Capitals.CARDS,
    with_bic=False,
)
