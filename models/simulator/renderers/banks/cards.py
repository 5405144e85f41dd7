"""The statement of a credit card: merchant, place and foreign amount; the settlement comes from a current account."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, SHOP, Capitals, Case, Layout, Line, Shape

_ABROAD = "[ {original} {currency} Kurs {rate}]"
_NAMED = Shape(name=SHOP, purpose=f"<[{{city:13}} DE]{_ABROAD}>", ultimate="", account=False)
_ONE_LINE = Shape(name="", purpose=f"<{SHOP}[ {{city:13}}] DE{_ABROAD}>", ultimate="", account=False)
_DATED = Shape(name=SHOP, purpose=f"<Kaufdatum {{day:dmy}}[ {{city:13}}]{_ABROAD}>", ultimate="", account=False)
_CASH = Shape(name="{party:22}", purpose="<BARGELDVERFUEGUNG[ {city:13}] {day:dm}>", ultimate="", account=False)
_BOOKED = Shape(account=False)

CARD_STATEMENT = Layout(
    (
        Line(Case.CARD, "Visa-Umsatz", _NAMED, 2),
        Line(Case.CARD, "Kartenumsatz", _ONE_LINE, 2),
        Line(Case.CARD, None, _ONE_LINE, 1),
        Line(Case.CARD, "Mastercard Umsatz", _DATED, 2),
        Line(Case.CARD_REFUND, "Gutschrift", _NAMED, 1),
        Line(Case.CARD_REFUND, "Gutschrift", _ONE_LINE, 1),
        Line(Case.DEBIT, "Kartenumsatz", Shape(name="{prefix}{party:22}", ultimate="", account=False)),
        Line(Case.TRANSFER, "Überweisung von Kreditkarte", _BOOKED),
        Line(Case.CREDIT, "Zahlungseingang", _BOOKED),
        Line(Case.ATM, "Bargeldverfügung", _CASH),
        Line(Case.FEE, "Entgelt", replace(OWN, purpose="<[{text}|Jahresbeitrag Kreditkarte]>"), 2),
        Line(Case.FEE, "Auslandseinsatzentgelt", replace(OWN, purpose="<[{text}|1,75% AUSLANDSEINSATZENTGELT]>"), 1),
        Line(Case.INTEREST_PAID, "Sollzinsen", replace(OWN, purpose="<[{text}|Zinsen bis {valued:dmy}]>")),
        Line(Case.INTEREST, "Habenzinsen", replace(OWN, purpose="<[{text}|Zinsen bis {valued:dmy}]>")),
        Line(
            Case.SETTLEMENT_CREDIT,
            "Ausgleich Kartenkonto",
            replace(OWN, purpose="<LASTSCHRIFT EINZUG VOM GIROKONTO[ {text}]>"),
            2,
        ),
        Line(Case.SETTLEMENT_CREDIT, "Zahlung", replace(OWN, purpose="<GUTSCHRIFT ABRECHNUNG {valued:dmy} - VIELEN DANK>"), 1),
        Line(Case.SETTLEMENT, "Übertrag", replace(OWN, purpose="<UEBERTRAG GUTHABEN[ {text}]>")),
        Line(Case.INTERNAL, "Übertrag", _BOOKED),
        Line(Case.INTERNAL_CREDIT, "Ausgleich Kartenkonto", _BOOKED),
        Line(Case.PENDING, "Reservierung", replace(_ONE_LINE, purpose=f"<{SHOP}[ {{city:13}}]>")),
    ),
    coded=0.0,
    capitals=Capitals.EVERYWHERE,
)
