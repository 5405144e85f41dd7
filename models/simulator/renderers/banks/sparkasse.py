"""The savings banks: as CAMT, where references have columns of their own, and as MT940, where they stand in the purpose."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, SHOP, Capitals, Case, Layout, Line, Shape

_MOMENT = "{day:iso}T{time:hm} Debitk.{card:1} {expiry:iso}"
_FOREIGN = "[ Original {original} {currency} 1 Euro={rate} {currency} Einsatzentgelt 0,{digits:2} EUR Zahl.System VISA Debit]"
_TILL = Shape(name=f"{SHOP}[/{{street}}/{{city}}/DE|[//{{city}}/DE]]", purpose=f"<{_MOMENT}>", ultimate="")
_TILL_SHORT = Shape(name=f"{SHOP}[//{{city}}/DE]", purpose=f"<{_MOMENT}>", ultimate="")
_HESSE = Shape(name="Landesbank Hessen-Thüringen", ultimate=SHOP, purpose=f"<{_MOMENT}{_FOREIGN}>", account=False)
_BAVARIA = replace(_HESSE, name="Bayerische Landesbank")
_SIGNED = Shape(name="{party}", purpose="<ELV{digits:8} {day:dm} {time:dots} ME{digits:1}>", ultimate="")
_MACHINE = Shape(
    name="GA NR0000{digits:4} BLZ{digits:8} {digits:1}", purpose="<{day:dm}/{time:dots}UHR[ {city}]>", ultimate="", account=False
)
_OTHER_MACHINE = Shape(name="{party}[//{city}/DE]", purpose=f"<{_MOMENT}>", ultimate="")
_CLOSING = replace(OWN, purpose="<[{text}|Entgeltabrechnung siehe Anlage]>")
_BOOKED = Shape()
_RETURNED = Shape(purpose="<[{text} ]RUECKLASTSCHRIFT MS03 SONST. GRUND>")

_CAMT = (
    Line(Case.CARD, "KARTENZAHLUNG", _TILL, 4, batch="9290"),
    Line(Case.CARD, "KARTENZAHLUNG", _TILL_SHORT, 3, batch="9290"),
    Line(Case.CARD, "DIG. KARTE (APPLE PAY)", _TILL, 3, batch="9290"),
    Line(Case.CARD, "SEPA-ELV-LASTSCHRIFT", _SIGNED, 1, code="107", batch="9248"),
    Line(Case.CARD, "KARTENZAHLUNG", _HESSE, 2, batch="9248"),
    Line(Case.CARD_ONLINE, "KARTENZAHLUNG", _HESSE, 3, batch="9248"),
    Line(Case.CARD_ONLINE, "E-COM (APPLE PAY)", _HESSE, 2, batch="9248"),
    Line(Case.CARD_ONLINE, "KARTENZAHLUNG", _BAVARIA, 1, batch="9248"),
    Line(Case.CARD_REFUND, "GUTSCHR. KARTENZAHLUNG", _TILL_SHORT, batch="9290"),
    Line(Case.DEBIT, "FOLGELASTSCHRIFT", _BOOKED, 8, batch="9248"),
    Line(Case.DEBIT, "EINMAL LASTSCHRIFT", _BOOKED, 1, batch="9248"),
    Line(Case.DEBIT, "ERSTLASTSCHRIFT", _BOOKED, 1, batch="9248"),
    Line(Case.DEBIT_COLLECTED, "SEPA-LASTSCHRIFT EINREICHUNG", _BOOKED, batch="9200"),
    Line(Case.DEBIT_RETURN, "LS WIEDERGUTSCHRIFT", _RETURNED, batch="9228"),
    Line(Case.COLLECTION_RETURN, "RUECKLASTSCHRIFT", _RETURNED, batch="9228"),
    Line(Case.STANDING, "DAUERAUFTRAG", _BOOKED, batch="9245"),
    Line(Case.STANDING_CREDIT, "GUTSCHR. UEBERW. DAUERAUFTR", _BOOKED, batch="9601"),
    Line(Case.TRANSFER, "ONLINE-UEBERWEISUNG", _BOOKED, 4, code="177", batch="9310"),
    Line(Case.TRANSFER, "EINZELUEBERWEISUNG", _BOOKED, 1, batch="9311"),
    Line(Case.INSTANT, "ECHTZEIT-UEBERWEISUNG", _BOOKED, batch="9310"),
    Line(Case.CREDIT, "GUTSCHR. UEBERWEISUNG", _BOOKED, batch="9601"),
    Line(Case.INSTANT_CREDIT, "ECHTZEIT-GUTSCHRIFT", _BOOKED, batch="9601"),
    Line(Case.SALARY, "LOHN  GEHALT", _BOOKED, batch="9603"),
    Line(Case.PENSION, "RENTE", _BOOKED, batch="9603"),
    Line(Case.PUBLIC, "GUTSCHR. UEBERWEISUNG OEFFENTL. KASSEN", _BOOKED, batch="9603"),
    Line(Case.VL, "VERMOEGENSW. LEISTUNGEN", _BOOKED, batch="9603"),
    Line(Case.TRANSFER_RETURN, "RETOURE", _BOOKED, batch="9602"),
    Line(Case.ATM, "BARGELDAUSZAHLUNG", _MACHINE, 3, batch="9291"),
    Line(Case.ATM, "BARGELDAUSZAHLUNG", _OTHER_MACHINE, 1, batch="9291"),
    Line(Case.SHOP_CASH, "BARGELDAUSZAHLUNG KASSE", _TILL_SHORT, code="083", batch="9290"),
    Line(Case.COUNTER, "BARAUSZAHLUNG", replace(OWN, purpose="<[{text}|Auszahlung an der Kasse]>"), batch="0401"),
    Line(
        Case.DEPOSIT,
        "BARGELDEINZAHLUNG",
        replace(OWN, purpose="<[{text} ]SB-EINZAHLUNG {day:dm}/{time:dots}UHR[ {city}]>"),
        batch="0402",
    ),
    Line(Case.COUNTER_DEPOSIT, "BAREINZAHLUNG", replace(OWN, purpose="<[{text}|Einzahlung an der Kasse]>"), batch="0401"),
    Line(Case.FEE, "ENTGELTABSCHLUSS", _CLOSING, 3, batch="9800"),
    Line(Case.FEE, "ENTGELTE", _CLOSING, 1, batch="9800"),
    Line(Case.FEE_REFUND, "ENTGELT GUTSCHRIFT", _CLOSING, batch="9800"),
    Line(Case.INTEREST_PAID, "ABSCHLUSS", replace(OWN, purpose="<[{text}|Abrechnung {valued:dmy} siehe Anlage]>"), batch="9800"),
    Line(Case.INTEREST, "ZINSEN", replace(OWN, purpose="<[{text}|Habenzinsen bis {valued:dmy}]>"), batch="9800"),
    Line(Case.SECURITIES_BUY, "WERTPAPIERE", _BOOKED, batch="9500"),
    Line(Case.SECURITIES_SELL, "WERTPAPIERE", _BOOKED, batch="9500"),
    Line(Case.INSTALMENT, "DARLEHENSRATE", _BOOKED, batch="9700"),
    Line(Case.LOAN_PAYOUT, "DARLEHENSAUSZAHLUNG", _BOOKED, batch="9700"),
    Line(
        Case.SETTLEMENT,
        "KREDITKARTENABRECHNUNG",
        Shape(purpose="<[{text} ]Abrechnung vom {valued:dmy} Karte {card:4}>"),
        batch="9292",
    ),
    Line(Case.SETTLEMENT_CREDIT, "KREDITKARTENGUTSCHRIFT", _BOOKED, batch="9292"),
    Line(Case.INTERNAL, "UEBERTRAG", _BOOKED, batch="9310"),
    Line(Case.INTERNAL_CREDIT, "UEBERTRAG", _BOOKED, batch="9310"),
    Line(
        Case.PENDING, "VORMERKUNG", Shape(name=f"[{{legal}}|{SHOP}]", purpose="<[{text}|VORGEMERKT]>", ultimate="", account=False)
    ),
)

_REFERENCES = "[EREF+{eref}\n][MREF+{mref}\n][CRED+{cred}\n]"
_TAGGED = Shape(purpose=f"{_REFERENCES}[PURP+{{purp}}\n]SVWZ+<{{text}}>[\nABWA+{{ultimate}}]", ultimate="")
_TYPED = Shape(purpose="[EREF+{eref}\n]SVWZ+<[{text} ]DATUM {booked:dmy}, {time:dots} UHR>[\nABWE+{ultimate}]", ultimate="")
_ORDERED = Shape(purpose="[EREF+{eref}\n]SVWZ+<{text}>[\nABWE+{ultimate}]", ultimate="")
_TERMINAL = Shape(
    name=f"{SHOP}",
    purpose="[EREF+{eref}\n]SVWZ+<[{city}/DE ]{day:iso}T{time:hms} Debitk.{card:1} {expiry:iso}>",
    ultimate="",
)
_VISA = Shape(name="LANDESBANK HESSEN-THUERINGEN", purpose=f"SVWZ+<{_MOMENT}{_FOREIGN}>\nABWA+{SHOP}", ultimate="", account=False)
_SIGNED_TAGGED = Shape(
    name="{party}",
    purpose="[EREF+{eref}\n][MREF+{mref}\n][CRED+{cred}\n]SVWZ+<ELV{digits:8} {day:dm} {time:dots} ME{digits:1}>",
    ultimate="",
)
_RETURNED_TAGGED = Shape(purpose=f"{_REFERENCES}SVWZ+<RUECKLASTSCHRIFT[ {{text}}] MS03 SONST. GRUND>", ultimate="")
_MT940_SHAPES = {
    _BOOKED: _TAGGED,
    _TILL: _TERMINAL,
    _TILL_SHORT: _TERMINAL,
    _HESSE: _VISA,
    _BAVARIA: _VISA,
    _SIGNED: _SIGNED_TAGGED,
    _RETURNED: _RETURNED_TAGGED,
}
_ORDERS = {Case.TRANSFER: _TYPED, Case.INSTANT: _TYPED, Case.STANDING: _ORDERED, Case.INTERNAL: _TYPED}


def _as_mt940(line: Line) -> Line:
    shape = _ORDERS.get(line.case) or _MT940_SHAPES.get(line.shape, line.shape)
    return replace(line, shape=shape)


SPARKASSE_CAMT = Layout(_CAMT, coded=1.0, capitals=Capitals.CARDS)
SPARKASSE_MT940 = Layout(tuple(map(_as_mt940, _CAMT)), coded=1.0, capitals=Capitals.EVERYWHERE, width=27)
