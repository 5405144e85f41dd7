"""TARGOBANK: the parts of a booking one behind the other with semicolons between, names often in capitals."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, SHOP, Capitals, Case, Layout, Line, Shape

_DEBIT = Shape(purpose="<{text}>[ ; {eref} ; {cred} ; {mref}|[ ; {eref}]]")
_BOOKED = Shape(purpose="<{text}>[ ; {eref}]")
_ORDERED = Shape(purpose="<{text}> ; HBKIN{digits:13} - Bitte bei Rückfragen angeben.")
_TILL = Shape(name=SHOP, purpose="<[{city} ]{digits:8} ; Kartennummer: {card:6}XXXXXX{card:4}>", ultimate="", account=False)
_ABROAD = replace(
    _TILL, purpose="<[{city} ]{digits:8} ; [{original} {currency} Kurs {rate} ; ]Kartennummer: {card:6}XXXXXX{card:4}>"
)
_MACHINE = replace(_TILL, name="{party:22}")
_CLOSING = replace(OWN, purpose="<[{text}|Abschluss {valued:dmy}]>")

TARGOBANK = Layout(
    (
        Line(Case.CARD, "Kartenzahlung", _TILL),
        Line(Case.CARD_ABROAD, "Kartenzahlung Ausland", _ABROAD),
        Line(Case.CARD_REFUND, "Gutschrift Kartenzahlung", _TILL),
        Line(Case.DEBIT, "Lastschrift", _DEBIT),
        Line(
            Case.DEBIT_RETURN,
            "Rücklastschrift",
            replace(_DEBIT, purpose="<Rückgabe[ {text}]>[ ; {eref} ; {cred} ; {mref}|[ ; {eref}]]"),
        ),
        Line(Case.COLLECTION_RETURN, "Rücklastschrift", _DEBIT),
        Line(Case.STANDING, "Dauerauftrag", _ORDERED),
        Line(Case.TRANSFER, "Überweisung", _ORDERED),
        Line(Case.INSTANT, "Echtzeitüberweisung", _ORDERED),
        Line(Case.CREDIT, "Gutschrift", _BOOKED),
        Line(Case.INSTANT_CREDIT, "Echtzeitgutschrift", _BOOKED),
        Line(Case.SALARY, "Gehalt/Rente", _BOOKED, 2),
        Line(Case.SALARY, "Gutschrift", _BOOKED, 1),
        Line(Case.TRANSFER_RETURN, "Rücküberweisung", _BOOKED),
        Line(Case.ATM, "Geldautomat", _MACHINE),
        Line(Case.SHOP_CASH, "Kartenzahlung mit Bargeld", _TILL, code="083"),
        Line(Case.COUNTER, "Barauszahlung", replace(OWN, purpose="<[{text}|Filiale]>")),
        Line(Case.DEPOSIT, "Bareinzahlung", replace(OWN, purpose="<[{text}|Filiale]>")),
        Line(Case.FEE, "Kontoführungsgebühr", _CLOSING, 2),
        Line(Case.FEE, "Gebühr", _CLOSING, 1),
        Line(Case.INTEREST_PAID, "Sollzinsen", _CLOSING),
        Line(Case.INTEREST, "Habenzinsen", _CLOSING),
        Line(Case.SECURITIES_BUY, "Wertpapierkauf", _BOOKED),
        Line(Case.SECURITIES_SELL, "Wertpapierverkauf", _BOOKED),
        Line(Case.INSTALMENT, "Kreditrate", Shape(purpose="<[{text} ; ]Vertrag {card:10}>")),
        Line(Case.LOAN_PAYOUT, "Kreditauszahlung", _BOOKED),
        Line(
            Case.SETTLEMENT,
            "Lastschrift",
            Shape(
                name="TARGOBANK VISA SERVICE",
                purpose="<[{text} ; ]ABRECHNUNG VOM {valued:dmy2} {card:4}>",
                ultimate="",
                account=False,
            ),
        ),
        Line(Case.INTERNAL, "Umbuchung", _ORDERED),
        Line(Case.INTERNAL_CREDIT, "Umbuchung", _BOOKED),
        Line(Case.PENDING, "Vormerkung", Shape(name=f"[{{legal}}|{SHOP}]", ultimate="", account=False)),
    ),
    coded=0.6,
    capitals=Capitals.EVERYWHERE,
)
