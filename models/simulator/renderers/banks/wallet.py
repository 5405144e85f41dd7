"""The list of a PayPal account: a clean name, a kind of payment, and PayPal's own transaction code instead of references."""

from dataclasses import replace

from models.simulator.renderers.layouts import OWN, Case, Layout, Line, Shape

_CODE = "Transaktionscode {code:17}"
_PAID = Shape(name="{party}", purpose=f"<[{{text}} ]{_CODE}>", ultimate="", account=False)
_SILENT = replace(_PAID, purpose="<[{text}]>")
_INVOICED = replace(_PAID, purpose=f"<[{{text}} ]Rechnungsnummer {{digits:9}} {_CODE}>")
_ABROAD = replace(_PAID, purpose=f"<[{{text}} ][{{original}} {{currency}} Wechselkurs {{rate}} ]{_CODE}>")
_BANK = replace(OWN, purpose=f"<[{{text}} ]{_CODE}>")

PAYPAL_WALLET = Layout(
    (
        Line(Case.CARD, "PayPal Express-Zahlung", _PAID, 3),
        Line(Case.CARD, "Website-Zahlung", _SILENT, 1),
        Line(Case.CARD, "Handyzahlung", _INVOICED, 1),
        Line(Case.CARD_ABROAD, "PayPal Express-Zahlung", _ABROAD),
        Line(Case.CARD_REFUND, "Rückzahlung", _PAID),
        Line(Case.DEBIT, "Zahlung im Einzugsverfahren mit Zahlungsrechnung", _INVOICED),
        Line(Case.DEBIT_RETURN, "Rückbuchung", _PAID),
        Line(Case.TRANSFER, "Allgemeine Zahlung", _SILENT),
        Line(Case.CREDIT, "Handyzahlung", _SILENT, 1),
        Line(Case.CREDIT, "Allgemeine Zahlung", _SILENT, 2),
        Line(Case.ATM, "Bargeldabhebung", _PAID),
        Line(Case.FEE, "PayPal-Gebühr", _BANK),
        Line(Case.SETTLEMENT, "Von Nutzer eingeleitete Abbuchung", _BANK),
        Line(Case.SETTLEMENT_CREDIT, "Bankgutschrift auf PayPal-Konto", _BANK),
        Line(Case.INTERNAL, "Von Nutzer eingeleitete Abbuchung", _BANK),
        Line(Case.INTERNAL_CREDIT, "Bankgutschrift auf PayPal-Konto", _BANK),
        Line(Case.PENDING, "Allgemeine Autorisierung", _SILENT),
    ),
    coded=0.0,
    with_bic=False,
)
