"""N26: a clean name and hardly a purpose, English words, no codes."""

from dataclasses import replace

from models.simulator.renderers.layouts import Case, Layout, Line, Shape

_N26_CARD = Shape(name="{prefix}{party}", purpose="", ultimate="", account=False)
_N26_PLAIN = Shape(ultimate="")
_N26_SILENT = Shape(purpose="", ultimate="")

N26 = Layout(
    (
        Line(Case.CARD, "MasterCard Payment", _N26_CARD, 3),
        Line(Case.CARD, "Presentment", _N26_CARD, 2),
        Line(Case.CARD_ABROAD, "MasterCard Payment", replace(_N26_CARD, purpose="<[{original:.} {currency}]>")),
        Line(Case.CARD_REFUND, "Presentment Refund", _N26_CARD),
        Line(Case.DEBIT, "Direct Debit", replace(_N26_PLAIN, purpose="<{text:54}>")),
        Line(Case.DEBIT_RETURN, "Direct Debit Reversal", _N26_SILENT),
        Line(Case.TRANSFER, "Outgoing Transfer", _N26_PLAIN, 2),
        Line(Case.TRANSFER, "Debit Transfer", _N26_PLAIN, 2),
        Line(Case.TRANSFER, "MoneyBeam", _N26_SILENT, 1),
        Line(Case.STANDING, "Outgoing Transfer", _N26_PLAIN),
        Line(Case.CREDIT, "Income", _N26_PLAIN, 2),
        Line(Case.CREDIT, "Credit Transfer", _N26_PLAIN, 2),
        Line(Case.CREDIT, "MoneyBeam", _N26_SILENT, 1),
        Line(Case.SALARY, "Income", _N26_PLAIN),
        Line(Case.PUBLIC, "Income", _N26_PLAIN),
        Line(Case.ATM, "Presentment", replace(_N26_CARD, name="{party}[ {city}]")),
        Line(Case.SHOP_CASH, "CASH26", _N26_CARD),
        Line(Case.DEPOSIT, "CASH26", Shape(name="{party}", purpose="", ultimate="", account=False)),
        Line(Case.FEE, "Fee", Shape(name="N26 Bank", purpose="<{text:27}>", ultimate="", account=False)),
        Line(Case.INTEREST, "Interest", Shape(name="N26 Bank", purpose="<{text:27}>", ultimate="", account=False)),
        Line(Case.SETTLEMENT, "Direct Debit", _N26_SILENT),
        Line(Case.INTERNAL, "Outgoing Transfer", _N26_PLAIN, 1),
        Line(Case.INTERNAL, "Space Transfer", _N26_SILENT, 1),
        Line(Case.INTERNAL_CREDIT, "Income", _N26_PLAIN, 1),
        Line(Case.INTERNAL_CREDIT, "Space Transfer", _N26_SILENT, 1),
        Line(Case.PENDING, "Authorization", _N26_CARD),
    ),
    coded=0.0,
    with_bic=False,
)
