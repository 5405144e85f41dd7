"""Commerzbank: references behind German labels in one running text; without a name of its own in part of the channels."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, PAYER, SHOP, Capitals, Case, Layout, Line, Shape

_REFERENCE = " End-to-End-Ref.: [{eref}|NOTPROVIDED]"
_MANDATE = "[ Mandatsref: {mref}][ Gläubiger-ID: {cred}]"
_ULTIMATE = "[ Abweichender Auftraggeber: {ultimate}]"
_REPEATED = " SEPA-BASISLASTSCHRIFT wiederholend"
_DEBIT = Shape(purpose=f"<{{text}}>{_REFERENCE}{_MANDATE}{_ULTIMATE}{_REPEATED}", ultimate="")
_DEBIT_ONCE = replace(_DEBIT, purpose=f"<{{text}}>{_REFERENCE}{_MANDATE} SEPA-BASISLASTSCHRIFT einmalig")
_DEBIT_NAMELESS = replace(_DEBIT, name="", purpose=f"<{PAYER} {{text}}>{_REFERENCE}{_MANDATE}{_REPEATED}", account=False)
_TRANSFER = Shape(purpose=f"<{{text}}>{_REFERENCE}[ Abweichender Empfänger: {{ultimate}}]", ultimate="")
_TRANSFER_NAMELESS = replace(_TRANSFER, name="", purpose=f"<{PAYER} {{text}}>{_REFERENCE}", account=False)
_STANDING = replace(_TRANSFER, purpose=f"<{{text}}>{_REFERENCE} Dauerauftrag")
_CREDIT = replace(_TRANSFER, purpose=f"<{{text}}>{_REFERENCE}{_ULTIMATE}")
_ABROAD = "[ {original} {currency} Kurs {rate}]"
_TILL = Shape(
    name="",
    purpose=f"<{SHOP}[//{{city}}/DE] {{day:iso}}T{{time:hms}} KFN {{card:1}} VJ {{expiry:ym}} Kartenzahlung>",
    ultimate="",
    account=False,
)
_DEBIT_CARD = replace(
    _TILL,
    purpose=f"<{SHOP}[ {{city}} DE] {{day:dmy}} Debit Mastercard {{card:4}}{_ABROAD} Kartenzahlung>",
)
_MACHINE = replace(_TILL, purpose="<{party:22}[//{city}/DE] {day:iso}T{time:hms} KFN {card:1} VJ {expiry:ym} Auszahlung>")
_OWN = replace(OWN, purpose="<[{text}|Rechnungsabschluss per {valued:dmy}]>")

COMMERZBANK = Layout(
    (
        Line(Case.CARD, "Lastschrift", _TILL, 4),
        Line(Case.CARD, "Kartenzahlung", _DEBIT_CARD, 2),
        Line(Case.CARD_ONLINE, "Kartenzahlung", _DEBIT_CARD),
        Line(Case.CARD_REFUND, "Gutschrift", _TILL),
        Line(Case.DEBIT, "Lastschrift", _DEBIT, 5),
        Line(Case.DEBIT, "Lastschrift", _DEBIT_ONCE, 1),
        Line(Case.DEBIT, "Lastschrift", _DEBIT_NAMELESS, 3),
        Line(Case.DEBIT_RETURN, "Gutschrift", replace(_DEBIT, purpose=f"<Rücklastschrift[ {{text}}]>{_REFERENCE}{_MANDATE}")),
        Line(
            Case.COLLECTION_RETURN,
            "Lastschrift",
            replace(_DEBIT, purpose=f"<Rückgabe Lastschrift[ {{text}}]>{_REFERENCE}{_MANDATE}"),
        ),
        Line(Case.STANDING, "Dauerauftrag", _STANDING, 3),
        Line(Case.STANDING, "Überweisung", _STANDING, 2),
        Line(Case.TRANSFER, "Überweisung", _TRANSFER, 3),
        Line(Case.TRANSFER, "Überweisung", _TRANSFER_NAMELESS, 2),
        Line(Case.INSTANT, "Echtzeitüberweisung", _TRANSFER),
        Line(Case.CREDIT, "Gutschrift", _CREDIT, 3),
        Line(Case.CREDIT, "Gutschrift", _TRANSFER_NAMELESS, 1),
        Line(Case.SALARY, "Gutschrift", _CREDIT),
        Line(Case.TRANSFER_RETURN, "Gutschrift", replace(_CREDIT, purpose=f"<Rücküberweisung[ {{text}}]>{_REFERENCE}")),
        Line(Case.ATM, "Auszahlung", _MACHINE),
        Line(Case.SHOP_CASH, "Auszahlung", _TILL, code="083"),
        Line(Case.COUNTER, "Auszahlung", replace(OWN, purpose="<[{text}|Barauszahlung]>")),
        Line(Case.DEPOSIT, "Einzahlung", replace(OWN, purpose="<[{text}|Bareinzahlung]>")),
        Line(Case.FEE, "Zinsen/Entgelte", _OWN),
        Line(Case.INTEREST, "Zinsen/Entgelte", _OWN),
        Line(Case.SECURITIES_BUY, "Wertpapiere", replace(_OWN, purpose="<[{text}|WERTPAPIERKAUF]>")),
        Line(Case.SECURITIES_SELL, "Wertpapiere", replace(_OWN, purpose="<[{text}|WERTPAPIERERTRAG]>")),
        Line(Case.INSTALMENT, "Lastschrift", Shape(purpose="<[{text} ]Darlehen {card:10} Leistungsrate>")),
        Line(
            Case.SETTLEMENT,
            "Lastschrift",
            Shape(purpose="<Kreditkartenabrechnung {card:4} vom {valued:dmy}[ {text}]>", account=False),
        ),
        Line(Case.INTERNAL, "Überweisung", _TRANSFER),
        Line(Case.INTERNAL_CREDIT, "Gutschrift", _CREDIT),
        Line(
            Case.PENDING,
            "Vorgemerkte Umsätze",
            Shape(name="", purpose=f"<[{{legal}}|{SHOP}][ {{text}}]>", ultimate="", account=False),
        ),
    ),
    coded=0.9,
    capitals=Capitals.CARDS,
    width=35,
)
