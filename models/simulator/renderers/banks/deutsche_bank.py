"""Deutsche Bank and Postbank: terminal lines, and references before the purpose (Postbank), behind it, or as MT940."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, SHOP, Capitals, Case, Layout, Line, Shape

_POSTBANK_DEBIT = Shape(purpose="[Referenz {eref} ][Mandat {mref} ][Einreicher-ID {cred} ]<{text}>", ultimate="[{ultimate}]")
_DEBIT = Shape(
    purpose="<{text}>[ Kundenreferenz {eref}][ Gläubiger-ID {cred}][ Mand-ID {mref}][ ABWA {ultimate}]"
    " RCUR Wiederholungslastschrift",
    ultimate="",
)
_TAGGED = Shape(
    purpose="SVWZ+<{text}>[\nEREF+{eref}][\nMREF+{mref}][\nCRED+{cred}][\nPURP+{purp}][\nABWA+{ultimate}]", ultimate=""
)
_ORDERED = Shape(purpose="SVWZ+<{text}>[\nEREF+{eref}][\nABWE+{ultimate}]", ultimate="")
_PLAIN = Shape(purpose="<{text}>[ Kundenreferenz {eref}]")
_ABROAD = "[ {original} {currency} Kurs {rate}]"
_TERMINAL = Shape(
    name="{prefix}{party}",
    purpose=f"<{SHOP}[//{{city}}/DE] Terminal {{digits:8}} {{day:iso}}T{{time:hms}} Folgenr. {{card:2}} Verfalld. {{expiry:ym}}>",
    ultimate="",
)
_OFFLINE = replace(
    _TERMINAL,
    purpose="Referenz {digits:26} Mandat OFFLINE Einreicher-ID DE{digits:2}ZZZ{digits:11} "
    f"<{SHOP}[//{{city}}/DE] Terminal {{digits:8}} {{day:iso}}T{{time:hms}} Verfalld. {{expiry:ym}}>",
)
_ANONYMOUS = replace(
    _TERMINAL,
    name="ABRECHNUNG KARTE",
    purpose=f"<{SHOP}[//{{city}}/DE] {{day:dashes}}T{{time:hms}} Folgenr. {{card:2}} Verfalld. {{expiry:my}}>",
    account=False,
)
_NUMBERED = replace(
    _ANONYMOUS,
    name="Abrechnung Karte",
    purpose=f"<{SHOP}[//{{city}}/DE] {{day:dashes}}T{{time:hms}} Kartennr. {{card:12}}{_ABROAD}>",
)
_MACHINE = Shape(
    name="{party}",
    purpose="<{party:22}[//{city}/DE] Terminal {digits:8} {day:iso}T{time:hms} Folgenr. {card:2} Verfalld. {expiry:ym}>",
    ultimate="",
    account=False,
)
_CLOSING = replace(OWN, purpose="<[{text}|Rechnungsabschluss - siehe Hinweis {valued:dmy}]>")

DEUTSCHE_BANK = Layout(
    (
        Line(Case.CARD, "Kartenzahlung", _TERMINAL, 3),
        Line(Case.CARD, "Kartenzahlung", _ANONYMOUS, 3),
        Line(Case.CARD, "SEPA Lastschrift (ELV)", _OFFLINE, 1, code="107"),
        Line(Case.CARD_ONLINE, "Kartenzahlung", _NUMBERED),
        Line(Case.CARD_REFUND, "Gutschrift Kartenzahlung", _TERMINAL),
        Line(Case.DEBIT, "SEPA Lastschrift", _POSTBANK_DEBIT, 2),
        Line(Case.DEBIT, "SEPA-Lastschrift von", _DEBIT, 2),
        Line(Case.DEBIT, "SEPA Lastschrifteinzug von", _TAGGED, 2),
        Line(
            Case.DEBIT_RETURN,
            "SEPA Rücklastschrift",
            replace(_POSTBANK_DEBIT, purpose="[Referenz {eref} ][Mandat {mref} ]<Rücklastschrift[ {text}]>"),
        ),
        Line(Case.COLLECTION_RETURN, "Rückgabe SEPA Lastschrift", _TAGGED),
        Line(Case.STANDING, "SEPA-Dauerauftrag an", _ORDERED, 2),
        Line(Case.STANDING, "SEPA Überweisung (Dauerauftrag)", Shape(), 2),
        Line(Case.STANDING_CREDIT, "SEPA-Gutschrift von", _TAGGED),
        Line(Case.TRANSFER, "SEPA-Überweisung an", _ORDERED, 2),
        Line(Case.TRANSFER, "SEPA Überweisung", Shape(), 2),
        Line(Case.INSTANT, "SEPA Echtzeitüberweisung an", _ORDERED),
        Line(Case.CREDIT, "SEPA-Gutschrift von", _TAGGED, 2),
        Line(Case.CREDIT, "Gutschrift", _PLAIN, 2),
        Line(Case.INSTANT_CREDIT, "SEPA Echtzeitüberweisung von", _TAGGED),
        Line(Case.SALARY, "SEPA-Gehaltsgutschrift von", _TAGGED, 1),
        Line(Case.SALARY, "SEPA Überweisung (Lohn, Gehalt, Rente)", _PLAIN, 2),
        Line(Case.PENSION, "SEPA Überweisung (Lohn, Gehalt, Rente)", _PLAIN),
        Line(Case.TRANSFER_RETURN, "SEPA Rücküberweisung", _PLAIN),
        Line(Case.ATM, "Auszahlung Geldautomat", _MACHINE, 2),
        Line(Case.ATM, "Bargeldauszahlung (Geldautomat)", _MACHINE, 1),
        Line(Case.SHOP_CASH, "Bargeldauszahlung (Kasse)", _TERMINAL, code="083"),
        Line(Case.COUNTER, "Auszahlung", replace(OWN, purpose="<[{text}|Barauszahlung Filiale]>")),
        Line(Case.DEPOSIT, "Bareinzahlung", replace(OWN, purpose="<[{text}|Einzahlung]>")),
        Line(Case.FEE, "Entgelt", _CLOSING, 2),
        Line(Case.FEE, "Zinsen/Entgelt", _CLOSING, 1),
        Line(Case.INTEREST_PAID, "Zinsen/Entgelt", _CLOSING),
        Line(Case.INTEREST, "Zinsen", _CLOSING),
        Line(Case.SECURITIES_BUY, "Wertpapiere", _PLAIN),
        Line(Case.SECURITIES_SELL, "Wertpapiere", _PLAIN),
        Line(Case.INSTALMENT, "Kreditrate", _PLAIN),
        Line(
            Case.SETTLEMENT,
            "Kreditkartenabrechnung",
            Shape(purpose="<[{text} ]Abrechnung Mastercard {card:4} {valued:dmy}>", account=False),
        ),
        Line(Case.INTERNAL, "Umbuchung", Shape()),
        Line(Case.INTERNAL_CREDIT, "Umbuchung", Shape()),
        Line(Case.PENDING, "Vorgemerkt", Shape(name=f"[{{legal}}|{SHOP}]", ultimate="", account=False)),
    ),
    coded=0.9,
    capitals=Capitals.CARDS,
    width=27,
)
