"""What a visitor assumes in the what-if form, as the interface takes it, and its answer as rows of a table. No markup."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.demo_app.formats import amount, cents
from api.schemas.languages import Text

AMOUNT_FIELDS = {"instalment": "ADD_INSTALMENT", "rent": "ADD_RENT", "salary": "CHANGE_SALARY"}
MAX_CANCELLED = 5
ROWS = (
    ("disposableMoney", "amountExpectedLeft", Text("Bleibt bis zum Gehalt", "Left until payday"), 1),
    ("creditRisk", "amountIncome", Text("Einkommen im Monat", "Income a month"), 1),
    ("creditRisk", "amountExpenses", Text("Ausgaben im Monat", "Expenses a month"), -1),
    ("creditRisk", "amountSurplus", Text("Überschuss im Monat", "Surplus a month"), 1),
    ("creditRisk", "amountAffordableInstalment", Text("Tragbare neue Rate", "Affordable new instalment"), 1),
)
"""The analysis and the field of a row, its label, and whether more is better (1) or worse (-1)."""


class NoAmount(ValueError):
    """A field holds something that is no amount."""


@dataclass(frozen=True)
class ComparedRow:
    """A figure without and with the assumptions; `better` is above zero if the change is good."""

    label: Text
    before: int
    after: int
    better: int

    @property
    def change(self) -> int:
        return self.after - self.before


def assumptions(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    """The assumptions of the form; raises `NoAmount` for what cannot be read."""
    items: list[dict[str, Any]] = []
    if fields.get("cancel"):
        items.append({"kind": "CANCEL_CONTRACT", "contractId": fields["cancel"]})
    for name, kind in AMOUNT_FIELDS.items():
        if typed := fields.get(name, "").strip():
            euros = amount(typed)
            if euros is None:
                raise NoAmount(name)
            items.append({"kind": kind, "amount": euros})
    if fields.get("child"):
        items.append({"kind": "CHILD_BORN"})
    return items


def compared(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of the comparison, the classes of the credit risk, and what the next month leaves, in cents."""
    sides = answer["without"], answer["with"]
    rows = []
    for analysis, field, label, better in ROWS:
        details = [side[analysis].get("details") for side in sides]
        if all(details):
            before, after = (cents(part[field]) for part in details)
            rows.append(ComparedRow(label, before, after, better * ((after > before) - (after < before))))
    net = [_next_net(side["cashflow"]) for side in sides]
    if None not in net:
        label = Text("Nächster Monat: Einnahmen minus Ausgaben", "Next month: income less expenses")
        before, after = net[0] or 0, net[1] or 0
        rows.insert(1, ComparedRow(label, before, after, (after > before) - (after < before)))
    risks = [side["creditRisk"].get("details") for side in sides]
    return {
        "reasons": [item["reason"] for item in answer["assumptions"]],
        "rows": rows,
        "classes": [(risk["riskClass"], risk["score"]) for risk in risks] if all(risks) else [],
    }


def _next_net(cashflow: list[dict[str, Any]]) -> int | None:
    """What the latest predicted month leaves, in cents."""
    for entry in cashflow:
        predictions = entry["details"]["predictions"]
        if entry["tagTreeItem"]["systemName"] == "NET" and predictions:
            return cents(predictions[-1]["cashflow"])
    return None
