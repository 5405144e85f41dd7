"""HypoVereinsbank: much in capitals; the purpose first, the references behind it with blanks between."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, SHOP, Capitals, Case, Layout, Line, Shape

_REFERENCES = "[ EREF+{eref}][ MREF+{mref}][ CRED+{cred}][ PURP+{purp}][ ABWA+{ultimate}]"
_BOOKED = Shape(purpose=f"SVWZ+<{{text}}>{_REFERENCES}", ultimate="")
_HEADLESS = Shape(purpose=f"<{{text}}>{_REFERENCES}", ultimate="")
_ORDERED = Shape(purpose="SVWZ+<{text}>[ EREF+{eref}][ ABWE+{ultimate}]", ultimate="")
_TILL = Shape(
    name=SHOP,
    purpose="<KARTENZAHLUNG[ {city} DE] {day:dmy2} {time:dots} UHR KARTE {card:1} BIS {expiry:ym} TID {digits:8}>",
    ultimate="",
)
_TILL_LINE = Shape(
    name="GIROCARD",
    purpose=f"<{SHOP}[//{{city}}/DE/0] {{day:dmy}} UM {{time:hms}} REF {{digits:6}}/{{digits:6}}/{{card:1}}>",
    ultimate="",
    account=False,
)
_DEBIT_CARD = Shape(
    name="HVB DEBITKARTE",
    purpose=f"<MC {{card:4}} {SHOP}[ {{city}}] {{day:dm}}[ {{original}} {{currency}} KURS {{rate}}]>",
    ultimate="",
    account=False,
)
_MACHINE = Shape(
    name="GELDAUTOMAT", purpose="<{party:22}[ {city}] {day:dmy2} {time:dots} UHR KARTE {card:1}>", ultimate="", account=False
)
_CLOSING = replace(OWN, purpose="<[{text}|ABSCHLUSS PER {valued:dmy}]>")

HVB = Layout(
    (
        Line(Case.CARD, "KARTENZAHLUNG", _TILL, 3, batch="4261"),
        Line(Case.CARD, "SEPA-CARDS-CLEARING", _TILL_LINE, 2, batch="4261"),
        Line(Case.CARD_ONLINE, "KARTENVERFUEGUNG", _DEBIT_CARD, batch="4262"),
        Line(Case.CARD_REFUND, "GUTSCHRIFT KARTENUMSATZ", _TILL, batch="4261"),
        Line(Case.DEBIT, "SEPA-BASIS-LASTSCHRIFT", _BOOKED, 3, batch="4240"),
        Line(Case.DEBIT, "SEPA-LASTSCHRIFT", _HEADLESS, 1, batch="4240"),
        Line(Case.DEBIT_RETURN, "SEPA-LASTSCHR. RETOURE", _BOOKED, batch="4249"),
        Line(Case.COLLECTION_RETURN, "SEPA-LASTSCHR. RETOURE CORE", _BOOKED, batch="4249"),
        Line(Case.STANDING, "SEPA-DAUERAUFTRAG", _ORDERED, batch="4170"),
        Line(Case.STANDING_CREDIT, "SEPA-DAUERAUFTRAGSGUTSCHR.", _BOOKED, batch="4050"),
        Line(Case.TRANSFER, "SEPA-UEBERWEISUNG", _ORDERED, batch="4110"),
        Line(Case.INSTANT, "SEPA-ECHTZEITUEBERWEISUNG", _ORDERED, batch="4118"),
        Line(Case.CREDIT, "SEPA-GUTSCHRIFT", _BOOKED, 3, batch="4050"),
        Line(Case.CREDIT, "GUTSCHRIFT", _HEADLESS, 1, batch="4050"),
        Line(Case.INSTANT_CREDIT, "SEPA-ECHTZEITGUTSCHRIFT", _BOOKED, batch="4058"),
        Line(Case.SALARY, "GEHALT/RENTE", _BOOKED, batch="4051"),
        Line(Case.PUBLIC, "GUTSCHRIFT OEFFENTL. KASSEN", _BOOKED, batch="4052"),
        Line(Case.VL, "VL-GUTSCHRIFT", _BOOKED, batch="4053"),
        Line(Case.TRANSFER_RETURN, "SEPA-UEBERW. RETOURE", _BOOKED, batch="4059"),
        Line(Case.ATM, "AUSZAHLUNG GELDAUTOMAT", _MACHINE, batch="4260"),
        Line(Case.SHOP_CASH, "KARTENZAHLUNG BARGELD", _TILL, code="083", batch="4261"),
        Line(Case.COUNTER, "BARAUSZAHLUNG", replace(OWN, purpose="<[{text}|KASSE]>"), batch="0100"),
        Line(Case.DEPOSIT, "BAREINZAHLUNG", replace(OWN, purpose="<[{text}|EINZAHLUNG]>"), batch="0101"),
        Line(Case.FEE, "ENTGELT", _CLOSING, batch="8000"),
        Line(Case.INTEREST_PAID, "ABSCHLUSS", _CLOSING, batch="8000"),
        Line(Case.INTEREST, "ZINSEN", _CLOSING, batch="8000"),
        Line(Case.SECURITIES_BUY, "WERTPAPIER KAUF", _BOOKED, batch="5000"),
        Line(Case.SECURITIES_SELL, "WERTPAPIER ERTRAG", _BOOKED, batch="5000"),
        Line(Case.INSTALMENT, "DARLEHENSLEISTUNG", _BOOKED, batch="7000"),
        Line(Case.LOAN_PAYOUT, "DARLEHENSAUSZAHLUNG", _BOOKED, batch="7000"),
        Line(
            Case.SETTLEMENT,
            "KREDITKARTENABRECHNUNG",
            Shape(purpose="<[{text} ]HVB MASTERCARD {card:4} {valued:dmy}>", account=False),
            batch="4270",
        ),
        Line(Case.INTERNAL, "UEBERTRAG", _ORDERED, batch="4110"),
        Line(Case.INTERNAL_CREDIT, "UEBERTRAG", _BOOKED, batch="4050"),
        Line(Case.PENDING, "VORGEMERKT", Shape(name=f"[{{legal}}|{SHOP}]", ultimate="", account=False)),
    ),
    coded=1.0,
    capitals=Capitals.EVERYWHERE,
    width=27,
)
