"""Release gates: the thresholds that figures must reach before a release, and the ones we aim at (moonshots).

Here are the table of thresholds and the verdict on figures. Overriding a verdict is up to `models.registry`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.evaluation.metrics import Figure


@dataclass(frozen=True)
class Gate:
    """A threshold for one figure; a model that misses a `hard` one is refused even if it is no worse than the one in use."""

    name: str
    analysis: str
    metric: str
    gate: float
    moonshot: float
    hard: bool = False
    higher_is_better: bool = True
    nominal: float | None = None
    """The target value; the threshold is then the largest distance from it."""

    def passes(self, value: float, threshold: float) -> bool:
        """Whether a value reaches a threshold; NaN never does."""
        if self.nominal is not None:
            return round(abs(value - self.nominal), 9) <= threshold
        return value >= threshold if self.higher_is_better else value <= threshold

    def describe(self, threshold: float) -> str:
        """The threshold as text."""
        if self.nominal is not None:
            return f"{self.nominal:g} ± {threshold:g}"
        return f"{'≥' if self.higher_is_better else '≤'} {threshold:g}"


GATES = (
    Gate("sepa_fields", "SEPA parsing", "fields read exactly", 0.995, 0.999),
    Gate("partner_precision", "Partner", "precision", 0.985, 0.995),
    Gate("partner_recall", "Partner", "recall", 0.93, 0.97),
    Gate("intermediary_unwrapped", "Partner", "merchant behind an intermediary found", 0.95, 0.99),
    Gate("category_seen_accuracy", "Category, seen merchant and format", "accuracy", 0.97, 0.99, hard=True),
    Gate("category_seen_macro_f1", "Category, seen merchant and format", "macro-F1", 0.92, 0.96, hard=True),
    Gate("category_unseen_accuracy", "Category, merchant or wording not in training", "accuracy", 0.85, 0.92, hard=True),
    Gate("category_unseen_macro_f1", "Category, merchant or wording not in training", "macro-F1", 0.70, 0.82),
    Gate("category_format_loss", "Category, unseen format", "loss against seen formats", 0.02, 0.005, higher_is_better=False),
    Gate("reality_main_accuracy", "Category, real lines", "accuracy of main categories", 0.90, 0.96),
    Gate("reality_accuracy", "Category, real lines", "accuracy", 0.84, 0.93),
    Gate("category_value_share", "Category by value", "share of euros placed right", 0.97, 0.99),
    Gate("category_calibration_error", "Calibration", "calibration error of the worst cell", 0.03, 0.015, higher_is_better=False),
    Gate("category_coverage", "Calibration", "coverage at 99 % precision", 0.75, 0.90),
    Gate("transfer_precision", "Own transfers", "precision", 0.99, 0.998),
    Gate("transfer_recall", "Own transfers", "recall", 0.95, 0.985),
    Gate("salary_f1", "Salary", "F1", 0.985, 0.997),
    Gate("salary_average_precision", "Salary", "average precision", 0.98, 0.995),
    Gate("insurance_division", "Insurance", "accuracy of divisions", 0.97, 0.99),
    Gate("insurance_product", "Insurance", "accuracy of products", 0.90, 0.96),
    Gate("insurance_missed", "Insurance", "missed insurances", 0.03, 0.01, higher_is_better=False),
    Gate("freelancer_accuracy", "Freelancer", "accuracy", 0.88, 0.95),
    Gate("freelancer_value_share", "Freelancer", "euros in the right field", 0.92, 0.97),
)
"""The gates of the tagger."""
UNGATED = (
    ("category_test_merchant_accuracy", "Category, merchant of the test alone", "accuracy"),
    ("category_test_brand_accuracy", "Category, named brand of the test alone", "accuracy"),
)
"""Name, analysis and metric of figures that are shown and have no gate: they tell what the gate on the same bookings mixes."""
BY_NAME: Mapping[str, Gate] = {gate.name: gate for gate in GATES}
_TIMES_BEST = "error of {}, times the best possible"
ANALYSES = (
    Gate("contract_f1", "Contracts", "F1, three or more bookings", 0.96, 0.99),
    Gate("contract_pairs_f1", "Contracts", "F1 of pairs of bookings", 0.96, 0.99),
    Gate("contract_habits", "Contracts", "habits taken for one, a user", 0.08, 0.02, higher_is_better=False),
    Gate("contract_few_precision", "Contracts, one or two bookings", "precision", 0.88, 0.95),
    Gate("contract_few_recall", "Contracts, one or two bookings", "recall", 0.60, 0.80),
    Gate("period_accuracy", "Period", "accuracy", 0.98, 0.995),
    Gate("period_fallback_error", "Period", "calibration error where it is guessed", 0.08, 0.04, higher_is_better=False),
    Gate("next_date_exact", "Next date", "exact", 0.80, 0.92),
    Gate("next_date_one_day", "Next date", "at most one day off", 0.92, 0.98),
    Gate("next_date_three_days", "Next date", "at most three days off", 0.97, 0.995),
    Gate("next_amount_fixed", "Next amount", "within 1 %, fixed amounts", 0.95, 0.985),
    Gate("next_amount_usage", "Next amount", "mean error, amounts by usage", 0.15, 0.10, higher_is_better=False),
    Gate("contract_status", "Status", "accuracy", 0.96, 0.99),
    Gate("cashflow_expenses_error", "Cashflow, next month", "error of expenses", 0.17, 0.12, higher_is_better=False),
    Gate("cashflow_income_error", "Cashflow, next month", "error of income", 0.06, 0.03, higher_is_better=False),
    Gate(
        "cashflow_expenses_times_best", "Cashflow, next month", _TIMES_BEST.format("expenses"), 1.1, 1.03, higher_is_better=False
    ),
    Gate("cashflow_income_times_best", "Cashflow, next month", _TIMES_BEST.format("income"), 1.1, 1.03, higher_is_better=False),
    Gate("cashflow_expenses_gain", "Cashflow, next month", "gain over last month, expenses", 0.30, 0.45),
    Gate("cashflow_income_gain", "Cashflow, next month", "gain over last month, income", 0.30, 0.45),
    Gate("cashflow_expenses_bounds", "Intervals", "coverage of expenses", 0.05, 0.02, nominal=0.85),
    Gate("cashflow_income_bounds", "Intervals", "coverage of income", 0.05, 0.02, nominal=0.85),
    Gate("disposable_identity", "Disposable money", "sums that are exact", 1.0, 1.0),
    Gate("disposable_error", "Disposable money", "error ten days before salary", 0.08, 0.05, higher_is_better=False),
    Gate("disposable_times_best", "Disposable money", _TIMES_BEST.format("what is left"), 1.1, 1.03, higher_is_better=False),
    Gate("event_f1", "Life events", "F1", 0.88, 0.95),
    Gate("event_days_off", "Life events", "median error of the date, in days", 10, 3, higher_is_better=False),
    Gate("event_false_a_year", "Life events", "false ones, a user and year", 0.10, 0.03, higher_is_better=False),
    Gate("stage_labourmarket", "Life stages", "accuracy, labour market", 0.93, 0.98),
    Gate("stage_parenthood", "Life stages", "accuracy, parenthood", 0.93, 0.98),
    Gate("stage_housing", "Life stages", "accuracy, housing", 0.93, 0.98),
    Gate("stage_savings", "Life stages", "accuracy, savings", 0.93, 0.98),
    Gate("trigger_conformity", "Sales triggers", "as the rules say, on true tags", 1.0, 1.0),
    Gate("trigger_f1", "Sales triggers", "F1 from end to end", 0.90, 0.96),
    Gate("affordability_precision", "Affordability", "precision of flags", 0.95, 0.99),
    Gate("affordability_recall", "Affordability", "recall of flags", 0.95, 0.99),
    Gate("affordability_ratios", "Affordability", "mean error of ratios", 0.03, 0.01, higher_is_better=False),
    Gate("affordability_identities", "Affordability", "sums that are exact", 1.0, 1.0),
    Gate("credit_risk_sums", "Credit risk", "scores that are the sum of their points", 1.0, 1.0),
    Gate("credit_risk_classes", "Credit risk", "same class as with true tags", 0.90, 0.97),
    Gate("credit_risk_score_error", "Credit risk", "points from the score of true tags", 2, 0.5, higher_is_better=False),
    Gate("credit_risk_counts", "Credit risk", "counts of payment trouble that are true", 0.90, 0.97),
)
"""The gates of the analyses of users."""


def verdicts(figures: Mapping[str, Figure], gates: tuple[Gate, ...] = GATES) -> list[dict[str, Any]]:
    """The verdict of each gate that has a figure, in the order of the table."""
    return [
        {
            "name": gate.name,
            "analysis": gate.analysis,
            "metric": gate.metric,
            **figures[gate.name].as_dict(),
            "gate": gate.gate,
            "moonshot": gate.moonshot,
            "hard": gate.hard,
            "higher_is_better": gate.higher_is_better,
            "nominal": gate.nominal,
            "wanted": gate.describe(gate.gate),
            "passed": gate.passes(figures[gate.name].value, gate.gate),
            "moonshot_reached": gate.passes(figures[gate.name].value, gate.moonshot),
        }
        for gate in gates
        if gate.name in figures
    ]


def ungated(figures: Mapping[str, Figure]) -> list[dict[str, Any]]:
    """The figures that have no gate, in the order of the table."""
    return [
        {"name": name, "analysis": analysis, "metric": metric, **figures[name].as_dict()}
        for name, analysis, metric in UNGATED
        if name in figures
    ]


def objections(candidate: Mapping[str, Figure], incumbent: Mapping[str, Figure] | None) -> list[str]:
    """Why a candidate should not replace the incumbent: hard gates missed, and figures that are worse beyond the interval."""
    reasons = [
        f"{name} is {figure.value:.4f}, the gate is {BY_NAME[name].gate}"
        for name, figure in candidate.items()
        if name in BY_NAME and BY_NAME[name].hard and not BY_NAME[name].passes(figure.value, BY_NAME[name].gate)
    ]
    reasons += [f"{gate.name} was not measured" for gate in GATES if gate.hard and gate.name not in candidate]
    for name, before in (incumbent or {}).items():
        if name in BY_NAME and name not in candidate:
            reasons.append(f"{name} was measured before and is not any more")
        elif name in BY_NAME and _worse(BY_NAME[name], candidate[name], before):
            reasons.append(f"{name} fell from {before.value:.4f} to {candidate[name].value:.4f}, beyond the interval")
    return list(dict.fromkeys(reasons))


def _worse(gate: Gate, candidate: Figure, incumbent: Figure) -> bool:
    """Whether the candidate lies outside the incumbent's interval on the bad side, or is NaN."""
    bound = incumbent.low if gate.higher_is_better else incumbent.high
    return not gate.passes(candidate.value, bound)
