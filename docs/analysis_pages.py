"""The pages of `docs/analyses`, one for each analysis: `python docs/analysis_pages.py` writes them, and a test compares them.

Definition and limits are written here. Fields and examples come from the wire schemas, the measured quality from the table of
`quality.md`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from api.schemas import analyses

DOCS = Path(__file__).parent
FOLDER = DOCS / "analyses"


@dataclass(frozen=True)
class AnalysisPage:
    """What a page says beside what is made from schemas and tables; `figures` are the names of its rows in `quality.md`."""

    title: str
    path: str
    body: type[BaseModel]
    figures: tuple[str, ...]
    definition: str
    limits: tuple[str, ...]


PAGES = {
    "contracts": AnalysisPage(
        "Contracts",
        "contracts",
        analyses.ContractBody,
        ("Contracts", "Contracts, one or two bookings", "Period", "Next date", "Next amount", "Status"),
        "Every payment that comes again and again, in or out: rent, salary, insurance, electricity, subscriptions, "
        "instalments. Bookings of "
        "one partner that belong together form a contract with its period, its amounts and steps of price, its next "
        "date and its status.",
        (
            "A contract that was seen once or twice is an estimate; `periodConfidenceLevel` says how sure its period is.",
            "Cash and transfers between own accounts are never contracts, except payments to connected loans and home savings.",
            "A contract that is paid from an account that is not connected is not seen.",
        ),
    ),
    "cashflow": AnalysisPage(
        "Cashflow",
        "cashflow",
        analyses.CashflowBody,
        ("Cashflow, next month", "Intervals"),
        "Income and expenses by category or partner, and by week, month, quarter and year, with a forecast for the "
        "current and the next one. "
        "The bounds of a forecast hold in about 85 of 100 cases.",
        (
            "Transfers between own accounts are neither income nor expenses; a refund counts in the category of its purchase.",
            "The forecasts of income and of expenses both miss their gates: see the figures.",
            "Only booked bookings in the customer's main currency count.",
        ),
    ),
    "disposable-money": AnalysisPage(
        "Disposable money",
        "disposable-money",
        analyses.DisposableMoneyBody,
        ("Disposable money",),
        "What is left of the latest salary, now and on the day of the next one: the salary, what was spent since, what "
        "contracts will still "
        "take, and what is usually spent in the days until then.",
        (
            "The answer is `{}` where no salary comes.",
            "Standing orders to own savings count as committed, single transfers to own savings do not count.",
            "The estimate ten days before the salary misses its gate: see the figures.",
        ),
    ),
    "life-events": AnalysisPage(
        "Life events",
        "life-events",
        analyses.LifeEventBody,
        ("Life events",),
        "Changes in career, housing, family and finances that bookings show: a new employer, a move, a child, a loan. "
        "`eventDate` is when it "
        "happened, `knownSince` the day since which the bookings show it.",
        (
            "Bookings about health, religion, unions and parties are not used as evidence.",
            "What leaves no trace in the connected accounts is not seen; some events are known only weeks later.",
        ),
    ),
    "life-stages": AnalysisPage(
        "Life stages",
        "life/stages",
        analyses.LifeStageBody,
        ("Life stages",),
        "How the customer earns, lives and saves today, and whether there are children.",
        (
            "A stage follows from connected accounts alone: rent paid by somebody else looks like no rent.",
            "Bookings about health, religion, unions and parties are not used as evidence.",
        ),
    ),
    "sales-triggers": AnalysisPage(
        "Sales triggers",
        "sales-triggers",
        analyses.SalesTriggerBody,
        ("Sales triggers",),
        "Occasions to talk with the customer, by exact rules over events, contracts and cashflow. A trigger lives for "
        "90 days from the day on "
        "which it is known (180 for a first child).",
        (
            "A rule is exact, what it rests on is not: a wrong event gives a wrong trigger.",
            "Whether you may address a customer about it is your responsibility.",
        ),
    ),
    "affordability": AnalysisPage(
        "Affordability",
        "affordability",
        analyses.AffordabilityBody,
        ("Affordability",),
        "Income and expenses of the last full months by need and regularity, what is left of them, and signs of risk "
        "such as returned debits.",
        (
            "The answer is `{}` with less than three full months.",
            "Expenses are written as positive numbers here.",
            "Accounts that are not connected are missing from income and expenses.",
        ),
    ),
    "credit-risk": AnalysisPage(
        "Credit risk",
        "credit-risk",
        analyses.CreditRiskBody,
        ("Credit risk",),
        "A class from A to E and a score from 0 to 100 by a scorecard of twenty signals, with stress values and the "
        "highest affordable "
        "instalment. It is no probability of default.",
        (
            "The answer is `{}` with less than three full months.",
            "Health, religion, politics, unions, origin and place of residence are not used.",
            "Decisions about a person without human involvement are subject to Article 22 GDPR.",
        ),
    ),
}
"""The pages by their names."""


def markdown(name: str) -> str:
    """A page as Markdown."""
    page = PAGES[name]
    parts = [
        f"# {page.title}",
        page.definition,
        f"`GET /customer/v2/ai/{page.path}` needs the scope `http://service/customer/read`. [What all analyses "
        "share](../tenants.md#analyses), "
        "[how to read the figures](../tenants/analyses.md).",
        "## Fields",
        "Of `details`; the tag around it is that of [all tags](../tenants.md#tags-of-bookings).",
        _field_table(page.body),
        *_example(page.body),
        "## Limits",
        "\n".join(f"- {limit}" for limit in page.limits),
        "## Measured quality",
        "On simulated households that nothing was tuned on; [how it was measured, and what it does not "
        "say](../quality.md#analyses).",
        _quality_table(page.figures),
    ]
    return "\n\n".join(parts) + "\n"


def _field_table(body: type[BaseModel]) -> str:
    schema = body.model_json_schema(by_alias=True)
    details = schema["$defs"][body.__name__.replace("Body", "Details")]
    rows = [f"| `{field}` | {_type(values, schema)} | {_words(values)} |" for field, values in details["properties"].items()]
    return "\n".join(["| field | type | meaning, or an example |", "|---|---|---|", *rows])


def _type(values: dict[str, Any], schema: dict[str, Any]) -> str:
    """The type of a field in words: `list of` and `or null` included."""
    if "anyOf" in values:
        return " or ".join(_type(option, schema) for option in values["anyOf"])
    if "$ref" in values:
        name = values["$ref"].rsplit("/", 1)[1]
        return "text" if "enum" in schema["$defs"][name] else "object"
    if values.get("type") == "array":
        return f"list of {_type(values.get('items', {}), schema)}"
    words = {"string": "text", "object": "object", "integer": "whole number", "number": "number", "boolean": "true or false"}
    return words.get(values.get("type", ""), values.get("type", "object"))


def _words(values: dict[str, Any]) -> str:
    text = values.get("description") or ""
    examples = values.get("examples")
    if not text and examples:
        text = f"`{json.dumps(examples[0], ensure_ascii=False)}`"
    return text.replace("|", "\\|").replace("\n", " ")


def _example(body: type[BaseModel]) -> list[str]:
    schema = body.model_json_schema(by_alias=True)
    details = _sample(schema["$defs"][body.__name__.replace("Body", "Details")], schema)
    text = json.dumps(details, ensure_ascii=False, indent=1)
    return [
        "## Example",
        "`details` with the values that the documentation of the interface uses as examples.",
        f"```json\n{text}\n```",
    ]


def _sample(values: dict[str, Any], schema: dict[str, Any]) -> Any:
    """The example value of a field: its own, or one made of those of its parts."""
    if values.get("examples"):
        return values["examples"][0]
    if "$ref" in values:
        return _sample(schema["$defs"][values["$ref"].rsplit("/", 1)[1]], schema)
    if "anyOf" in values:
        return _sample(values["anyOf"][0], schema)
    if "properties" in values:
        return {field: _sample(part, schema) for field, part in values["properties"].items()}
    if values.get("type") == "array":
        return [_sample(values.get("items", {}), schema)]
    return values["enum"][0] if "enum" in values else None


def _quality_table(figures: tuple[str, ...]) -> str:
    lines = (DOCS / "quality.md").read_text().split("\n## Analyses")[1].split("\n### ")[0].splitlines()
    rows = [line for line in lines if line.startswith("|") and line.split("|")[1].strip() in figures]
    return "\n".join(["| analysis | figure | value | 95 % | gate | baseline |  |", "|---|---|---|---|---|---|---|", *rows])


if __name__ == "__main__":
    for page_name in PAGES:
        (FOLDER / f"{page_name}.md").write_text(markdown(page_name))
