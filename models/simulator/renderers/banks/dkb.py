"""DKB before and after its change of 2023: dots for blanks in shops' names; earlier, transfers told when they were ordered."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, Capitals, Case, Layout, Line, Shape

_OUT, _IN = "Ausgang", "Eingang"
_DKB_SHOP = "{prefix}{party:.22}[.{store}][/{city:.13}]"
_DKB_CARD = Shape(name=_DKB_SHOP, purpose="<VISA Debitkartenumsatz vom {day:dmy}>", ultimate="", account=False)
_DKB_POS = replace(_DKB_CARD, purpose="<{day:iso}T{time:hm} Debitk. {card:1} {expiry:iso} Zahl.System VISA Debit (POS)>")
_DKB_ABROAD = replace(_DKB_CARD, purpose="<VISA Debitkartenumsatz vom {day:dmy}[ Original {original} {currency} Kurs {rate}]>")

DKB_NEW = Layout(
    (
        Line(Case.CARD, "Kartenzahlung", _DKB_CARD, 3),
        Line(Case.CARD, _OUT, _DKB_CARD, 2),
        Line(Case.CARD, "Kartenzahlung", _DKB_POS, 2),
        Line(Case.CARD_ABROAD, "Kartenzahlung", _DKB_ABROAD),
        Line(Case.CARD_REFUND, "Kartenzahlung", _DKB_CARD, 3),
        Line(Case.CARD_REFUND, _IN, _DKB_CARD, 2),
        Line(Case.DEBIT, "Lastschrift", weight=3),
        Line(Case.DEBIT, _OUT, weight=2),
        Line(Case.DEBIT_RETURN, _IN, Shape(purpose="<Rücklastschrift[ {text}]>")),
        Line(Case.COLLECTION_RETURN, _OUT, Shape(purpose="<Rücklastschrift[ {text}]>")),
        Line(Case.STANDING, "Dauerauftrag", weight=3),
        Line(Case.STANDING, _OUT, weight=2),
        Line(Case.TRANSFER, "Überweisung", weight=3),
        Line(Case.TRANSFER, _OUT, weight=2),
        Line(Case.CREDIT, "Gutschrift", weight=3),
        Line(Case.CREDIT, _IN, weight=2),
        Line(Case.SALARY, "Lohn, Gehalt, Rente", weight=3),
        Line(Case.SALARY, _IN, weight=2),
        Line(
            Case.ATM,
            "Geldautomat",
            replace(
                _DKB_CARD, name="{party:.22}[/{city:.13}]", purpose="<VISA Debitkartenumsatz Bargeldauszahlung vom {day:dmy}>"
            ),
        ),
        Line(Case.COUNTER, _OUT, replace(OWN, purpose="<[{text}|Barauszahlung]>")),
        Line(Case.DEPOSIT, _IN, replace(OWN, purpose="<[{text}|Bareinzahlung]>")),
        Line(Case.FEE, "Zinsen/Entgelte", Shape(name="DKB AG", ultimate="", account=False)),
        Line(
            Case.INTEREST,
            "Zinsen/Entgelte",
            Shape(name="DKB AG", purpose="<[{text}|Abrechnung {valued:dmy}]>", ultimate="", account=False),
        ),
        Line(Case.SECURITIES_BUY, "Wertpapierabrechnung"),
        Line(Case.SECURITIES_SELL, "Wertpapierabrechnung"),
        Line(Case.INSTALMENT, "Darlehen"),
        Line(Case.LOAN_PAYOUT, "Darlehen"),
        Line(Case.SETTLEMENT, "Kreditkartenabrechnung", Shape(purpose="<[{text} ]VISA-ABR. {card:6}******{card:4}>")),
        Line(Case.INTERNAL, "Umbuchung", weight=3),
        Line(Case.INTERNAL, _OUT, weight=2),
        Line(Case.INTERNAL_CREDIT, "Umbuchung", weight=3),
        Line(Case.INTERNAL_CREDIT, _IN, weight=2),
        Line(Case.PENDING, "Vorgemerkt", Shape(name=f"[{{legal}}|{_DKB_SHOP}]", purpose="<{text}>", ultimate="", account=False)),
    ),
    coded=0.5,
    with_bic=False,
)

_OLD_TYPED = Shape(purpose="<[{text} ]DATUM {booked:dmy}, {time:dots} UHR1.TAN {digits:6}>")
_OLD_CARD = Shape(
    name="{prefix}{party:.22}[.{store}]/[{city:.13}]/DE", purpose="<{day:iso} Debitk.{card:2} VISA Debit>", ultimate=""
)
_OLD_GIROCARD = replace(_OLD_CARD, purpose="<{day:iso}T{time:hm} Debitk.{card:1} {expiry:iso}>")
_OLD_ABROAD = replace(
    _OLD_CARD,
    name="{prefix}{party:.22}[/{city:.13}]",
    purpose="<{day:iso} Debitk.{card:2} VISA Debit[ Original {original} {currency} 1 Euro={rate} {currency}]>",
)

DKB_OLD = Layout(
    (
        Line(Case.CARD, "Kartenzahlung/-abrechnung", _OLD_CARD, 2),
        Line(Case.CARD, "Kartenzahlung", _OLD_GIROCARD, 2),
        Line(Case.CARD_ABROAD, "Kartenzahlung/-abrechnung", _OLD_ABROAD),
        Line(Case.CARD_REFUND, "Gutschrift", _OLD_CARD),
        Line(Case.DEBIT, "FOLGELASTSCHRIFT", weight=3),
        Line(Case.DEBIT, "Lastschrift", Shape(purpose="<{text}>[ EREF+{eref}][ MREF+{mref}][ CRED+{cred}]"), 2),
        Line(Case.DEBIT, "ERSTLASTSCHRIFT"),
        Line(Case.DEBIT_RETURN, "LS-WIEDERGUTSCHRIFT", Shape(purpose="<LASTSCHRIFTRUECKGABE[ {text}]>")),
        Line(Case.COLLECTION_RETURN, "RUECKLASTSCHRIFT", Shape(purpose="<LASTSCHRIFTRUECKGABE[ {text}]>")),
        Line(Case.STANDING, "Dauerauftrag"),
        Line(Case.TRANSFER, "Online-Ueberweisung", _OLD_TYPED, 3, code="177"),
        Line(Case.TRANSFER, "Überweisung", _OLD_TYPED),
        Line(Case.CREDIT, "Gutschrift"),
        Line(Case.STANDING_CREDIT, "Dauerauftrag-Gutschrift"),
        Line(Case.SALARY, "Lohn, Gehalt, Rente"),
        Line(Case.PUBLIC, "Überweisung öffentliche Kassen"),
        Line(Case.TRANSFER_RETURN, "Rueckueberweisung"),
        Line(Case.ATM, "Bargeldauszahlung", replace(_OLD_CARD, name="{party:.22}[/{city:.13}]/DE", account=False)),
        Line(Case.SHOP_CASH, "Bargeldauszahlung", _OLD_GIROCARD, code="083"),
        Line(Case.COUNTER, "Barauszahlung", replace(OWN, purpose="<[{text}|AUSZAHLUNG]>")),
        Line(Case.DEPOSIT, "Bareinzahlung", replace(OWN, purpose="<[{text}|EINZAHLUNG]>")),
        Line(Case.FEE, "Entgelte", OWN),
        Line(Case.INTEREST_PAID, "Abschluss", replace(OWN, purpose="<[{text}|Abrechnung {valued:dmy} siehe Anlage]>")),
        Line(Case.INTEREST, "Abschluss", replace(OWN, purpose="<[{text}|Abrechnung {valued:dmy} Guthabenzinsen]>")),
        Line(Case.SECURITIES_BUY, "Wertpapiere"),
        Line(Case.SECURITIES_SELL, "Wertpapiere"),
        Line(Case.INSTALMENT, "Rate", Shape(purpose="<[{text} ]DARL. {card:10}>")),
        Line(Case.SETTLEMENT, "Kartenabrechnung", Shape(purpose="<VISA-ABR. {card:6}XXXXXX{card:4}[ {text}]>")),
        Line(Case.INTERNAL, "Umbuchung"),
        Line(Case.INTERNAL_CREDIT, "Umbuchung"),
        Line(Case.PENDING, "Vormerkung", Shape(name="[{legal}|{prefix}{party:.22}]", ultimate="", account=False)),
    ),
    coded=0.9,
    capitals=Capitals.CARDS,
    with_bic=False,
)
