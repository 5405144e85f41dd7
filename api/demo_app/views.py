"""Values for the demo's pages, from the responses of the interface. No markup."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from api.demo_app.bookings import BookingView, booking_field, bookings, logo_colour, monogram
from api.demo_app.cancelling import cancelling
from api.demo_app.charts import ExpectedMonth, Month
from api.demo_app.curves import CurvePoint, MoneyCurve, money_curve
from api.demo_app.formats import cents
from api.demo_app.tenant import ACCESSES, CUSTOMER, FILES_PROVIDER, DemoVisit
from api.demo_app.texts import Notice
from api.schemas.languages import Text

ANALYSES = f"{CUSTOMER}/ai"
BOOKINGS = f"{CUSTOMER}/kontoumsaetze"
LATER = ("life-events", "life/stages", "sales-triggers", "affordability", "credit-risk")
"""The analyses that a page can wait for."""
COMPLETE = "VOLLSTAENDIG"
MAX_MONTHS = 12
MAX_CATEGORIES = 8
SUMS = {"INCOME", "EXPENSES", "NET"}
NOT_EXPENSES = SUMS | {"TRANSFER"}
LOADED_BOOKINGS = 150
"""Enough for the time since a salary."""
SHOWN_BOOKINGS, MAX_SHOWN_BOOKINGS = 16, 150
MONTH = re.compile(r"(\d{4})_M(\d{2})")
KINDS = {
    "GIROKONTO": Text("Girokonto", "Current account"),
    "SPARKONTO": Text("Sparkonto", "Savings account"),
    "FESTGELDKONTO": Text("Festgeld", "Fixed deposit"),
    "KREDITKONTO": Text("Kredit", "Loan"),
    "TAGESGELDKONTO": Text("Tagesgeld", "Call money"),
    "BAUSPARKONTO": Text("Bausparen", "Home savings"),
    "SONSTIGESKONTO": Text("Konto", "Account"),
    "KREDITKARTE": Text("Kreditkarte", "Credit card"),
    "SONSTIGEKARTE": Text("Karte", "Card"),
    "DEPOT": Text("Depot", "Securities"),
}
OTHER_KIND = Text("Weiteres", "Other")
RISKS = {
    "returnDebits": Text("Rücklastschriften", "returned debits"),
    "reminderCharges": Text("Mahngebühren", "reminder charges"),
    "debtCollectionPayments": Text("Inkasso", "debt collection"),
    "seizurePayments": Text("Pfändungen", "seizures"),
}


@dataclass(frozen=True)
class Answers:
    """The responses of the interface about a customer: those that a correction changes at once, and all others."""

    partnered: list[dict[str, Any]]
    categorised: list[dict[str, Any]]
    contracts: list[dict[str, Any]]
    cashflow: list[dict[str, Any]]
    disposable: dict[str, Any]
    accesses: dict[str, Any] = field(default_factory=dict)
    products: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    stages: list[dict[str, Any]] = field(default_factory=list)
    triggers: list[dict[str, Any]] = field(default_factory=list)
    affordability: dict[str, Any] = field(default_factory=dict)
    credit_risk: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AccountView:
    name: str
    kind: Text
    bank: str
    number: str
    balance: int | None
    currency: str
    access: str
    product: str
    can_pay: bool


@dataclass(frozen=True)
class Change:
    """When a price changed, from which to which amount (cents)."""

    on: str
    before: int
    after: int

    @property
    def rise(self) -> int:
        """How much more is paid or received since the change; below zero if less."""
        return abs(self.after) - abs(self.before)


@dataclass(frozen=True)
class ContractView:
    id: str
    name: str
    monogram: str
    colour: int
    category: str
    insurance: str | None
    period: str
    amount: int
    next_on: str | None
    active: bool
    overdue: bool
    reason: str
    changes: tuple[Change, ...]
    history: tuple[int, ...]
    cancelling: Text | None


@dataclass(frozen=True)
class CategoryShare:
    key: str
    name: str
    monthly: int
    share: float
    """Relative to the largest category."""


@dataclass(frozen=True)
class Conclusion:
    """A life event, life stage or sales trigger, and its reason."""

    title: str
    text: str
    reason: str
    on: str
    amount: int | None
    confidence: float


async def load_partners(visit: DemoVisit) -> list[dict[str, Any]]:
    """The bookings since a salary, with their partners. No correction changes these."""
    listed: list[dict[str, Any]] = await visit.read(BOOKINGS, tag="business-partners", limit=str(LOADED_BOOKINGS))
    return listed


async def load(visit: DemoVisit, today: date, partnered: list[dict[str, Any]], shown_bookings: int) -> Answers:
    """All responses about the visitor that the page of a day needs, with the bookings of `load_partners`: those that arrived
    since they were loaded are loaded with their partners too.
    """
    accesses = await visit.read(ACCESSES)
    others = ("/ai/v1/products", *(f"{ANALYSES}/{name}" for name in LATER))
    first: Answers
    first, later = await asyncio.gather(
        load_first(visit, today, partnered, shown_bookings), asyncio.gather(*(visit.read(address) for address in others))
    )
    products, events, stages, triggers, affordability, credit_risk = later
    partnered_ids = {item["id"] for item in partnered}
    if any(item["id"] not in partnered_ids for item in first.categorised):
        first = replace(first, partnered=await load_partners(visit))
    return replace(
        first,
        accesses=accesses,
        products=products,
        events=events,
        stages=stages,
        triggers=triggers,
        affordability=affordability,
        credit_risk=credit_risk,
    )


async def load_first(visit: DemoVisit, today: date, partnered: list[dict[str, Any]], shown_bookings: int) -> Answers:
    """Only the responses that show first what a correction changes: categories of the bookings shown and of one more, which tells
    whether there are more.
    """
    first_month = today.replace(year=today.year - 1, day=1)
    categorised, contracts, cashflow, disposable = await asyncio.gather(
        visit.read(BOOKINGS, tag="categories", limit=str(min(shown_bookings + 1, LOADED_BOOKINGS))),
        visit.read(f"{ANALYSES}/contracts"),
        visit.read(f"{ANALYSES}/cashflow", focus="time", catLevel="main", granularity="month", **{"from": str(first_month)}),
        visit.read(f"{ANALYSES}/disposable-money"),
    )
    return Answers(partnered, categorised, contracts, cashflow, disposable)


def is_pending(answers: Answers) -> bool:
    """Whether a fetch is still running."""
    return any(access["status"] != COMPLETE and not _failed(access) for access in answers.accesses.values())


def messages(answers: Answers) -> list[Notice]:
    """The messages of the banks, each once."""
    items = [message for holder in (*answers.accesses.values(), *answers.products) for message in holder.get("messages", ())]
    notices = [Notice(_both(item["message"]), _both(item.get("details") or ""), item["level"] == "ERROR") for item in items]
    return list(dict.fromkeys(notices))


def accounts(answers: Answers) -> list[AccountView]:
    """All products in the order of the bank."""
    return [
        AccountView(
            name=item["name"] or "Konto",
            kind=KINDS.get(item["category"], OTHER_KIND),
            bank=item["bankName"] or "",
            number=_grouped(item["iban"] or "") or item["accountNumber"] or "",
            balance=None if item["balance"] is None else cents(item["balance"]),
            currency=item["currency"] or "EUR",
            access=item["access"],
            product=item["id"],
            can_pay=bool(item["transferSupport"]),
        )
        for item in answers.products
    ]


def as_of(answers: Answers) -> str:
    """The time of the latest fetch, as on the wire; empty if there was none."""
    return max((item["updatedAt"] or "" for item in answers.products), default="")


def owner(answers: Answers) -> str:
    """The owner of the accounts, if the bank names one."""
    return next((item["owner"] for item in answers.products if item["owner"]), "")


def total(views: Iterable[AccountView]) -> int | None:
    """The sum of all euro balances, in cents; None if none is known, as with files that tell no balance."""
    balances = [account.balance for account in views if account.currency == "EUR" and account.balance is not None]
    return sum(balances) if balances else None


def is_fetched(answers: Answers) -> bool:
    """Whether a bank delivers data, which are then refreshed by themselves."""
    return any(access["providerId"] != FILES_PROVIDER for access in answers.accesses.values())


def contracts(answers: Answers) -> list[ContractView]:
    """All contracts: active ones first, by their next date."""
    views = [_contract(item) for item in answers.contracts]
    return sorted(views, key=lambda item: (not item.active, item.next_on or "9999", item.name))


def months(answers: Answers) -> list[Month]:
    """The last twelve complete months, then the current and the next one with their predictions."""
    flows = {item["tagTreeItem"]["systemName"]: item["details"] for item in answers.cashflow}
    if "INCOME" not in flows and "EXPENSES" not in flows:
        return []
    income, expenses = (_by_month(flows.get(name)) for name in ("INCOME", "EXPENSES"))
    coming_income, coming_expenses = (_expected(flows.get(name)) for name in ("INCOME", "EXPENSES"))
    past, coming = sorted({*income, *expenses}), sorted({*coming_income, *coming_expenses})
    last = coming[0] if coming else _following(past[-1]) if past else None
    if last is None:
        return []
    complete = [_earlier(last, back) for back in range(MAX_MONTHS, 0, -1)]
    keys = [*(key for key in complete if past and key >= past[0]), *coming]
    return [
        Month(
            *key,
            income=income.get(key, 0),
            expenses=-expenses.get(key, 0) or 0,
            expected_income=coming_income.get(key),
            expected_expenses=_negated(coming_expenses.get(key)),
        )
        for key in keys
    ]


def categories(answers: Answers, months: Sequence[Month]) -> list[CategoryShare]:
    """The largest categories of expenses, as monthly means over the complete months shown."""
    keys = [(month.year, month.number) for month in months if not month.is_open]
    sums: dict[tuple[str, str], int] = {}
    for entry in answers.cashflow:
        item = entry["tagTreeItem"]
        if item["systemName"] not in NOT_EXPENSES:
            flows = _by_month(entry["details"])
            sums[item["systemName"], item["displayName"]] = -sum(flows.get(key, 0) for key in keys)
    top = sorted(((amount, name) for name, amount in sums.items() if amount > 0), reverse=True)[:MAX_CATEGORIES]
    return [CategoryShare(*names, round(amount / len(keys)), amount / top[0][0]) for amount, names in top]


def findings(tags: Iterable[dict[str, Any]]) -> list[Conclusion]:
    """Life events, life stages or sales triggers, the latest first."""
    conclusions = [
        Conclusion(
            title=tag["tagTreeItem"]["displayName"],
            text=tag["tagTreeItem"].get("description", ""),
            reason=tag["details"]["reason"],
            on=tag["details"].get("eventDate") or tag["details"]["dateSince"],
            amount=None if tag["details"].get("amount") is None else cents(tag["details"]["amount"]),
            confidence=float(tag["details"]["confidenceLevel"]),
        )
        for tag in tags
    ]
    return sorted(conclusions, key=lambda item: item.on, reverse=True)


def disposable(answers: Answers) -> dict[str, Any] | None:
    """What remains of the latest salary until the next one, in cents; None without a salary."""
    details = answers.disposable.get("details")
    if details is None:
        return None
    amounts = {name: cents(value) for name, value in details.items() if name.startswith("amount")}
    return {
        **amounts,
        "since": details["dateSalaryLatest"],
        "until": details["dateSalaryNext"],
        "days": details["daysUntilSalary"],
        "reason": details["reason"],
        "parts": (
            ("spent", -amounts["amountCashflow"]),
            ("fixed", -amounts["amountExpectedFixedCashflow"]),
            ("flex", -amounts["amountExpectedFlexCashflow"]),
            ("left", amounts["amountExpectedLeft"]),
        ),
    }


def affordability(answers: Answers) -> dict[str, Any] | None:
    """An average month of the household, in cents; None if the history is too short."""
    details = answers.affordability.get("details")
    if details is None:
        return None
    return {
        "income": cents(details["income"]["amount"]),
        "necessities": cents(details["expenses"]["necessities"]["amount"]),
        "regular_luxuries": cents(details["expenses"]["luxuries"]["regular"]["amount"]),
        "irregular_luxuries": cents(details["expenses"]["luxuries"]["irregular"]["amount"]),
        "savings": cents(details["savings"]),
        "left": cents(details["discretionaryForIrregularLuxuries"]) - cents(details["shortfallForIrregularLuxuries"]),
        "ratio": float(details["ratioExpensesToIncome"]),
        "months": details["months"],
        "risks": [text for name, text in RISKS.items() if details[name]],
    }


def booking_views(answers: Answers) -> list[BookingView]:
    """The latest bookings, the newest first."""
    return bookings(answers.categorised, answers.partnered)


def curve(answers: Answers) -> MoneyCurve | None:
    """What is left since the salary and until the next one; None without a salary, or on the day of the next one."""
    details = answers.disposable.get("details")
    if details is None:
        return None
    since, payday = (date.fromisoformat(details[name]) for name in ("dateSalaryLatest", "dateSalaryNext"))
    today = payday - timedelta(days=details["daysUntilSalary"])
    if not since <= today < payday:
        return None
    counted_ids = set(details["transactionIds"])
    flows = [
        (date.fromisoformat(booking_field(item, "booked_on")[:10]), cents(booking_field(item, "amount")))
        for item in answers.partnered
        if item["id"] in counted_ids
    ]
    not_loaded = cents(details["amountCurrentlyLeft"]) - sum(amount for _, amount in flows)
    bookings_since = [*flows, (since, not_loaded)]
    expected = [
        (date.fromisoformat(item["details"]["dateNext"]), cents(item["details"]["amountNext"]))
        for item in answers.contracts
        if item["details"].get("dateNext") and not item["tagTreeItem"]["systemName"].startswith("TRANSFER_")
    ]
    first_day = sum(amount for on, amount in bookings_since if on <= since)
    later = [(on, amount) for on, amount in bookings_since if on > since]
    return money_curve(
        CurvePoint(since, first_day),
        today,
        CurvePoint(payday, cents(details["amountExpectedLeft"])),
        later,
        expected,
    )


def credit_risk(answers: Answers) -> dict[str, Any] | None:
    """The class, the score and its signals, in cents; None if the history is too short."""
    details = answers.credit_risk.get("details")
    if details is None:
        return None
    signals = [
        {
            "key": signal["signal"],
            "name": signal["displayName"],
            "reason": signal["reason"],
            "points": signal["points"],
            "max_points": signal["maxPoints"],
            "share": signal["points"] / signal["maxPoints"] if signal["maxPoints"] else 1.0,
        }
        for signal in details["signals"]
    ]
    return {
        "class": details["riskClass"],
        "score": details["score"],
        "text": answers.credit_risk["tagTreeItem"].get("description", ""),
        "notice": details["notice"],
        "surplus": cents(details["amountSurplus"]),
        "debts": cents(details["amountDebtService"]),
        "instalment": cents(details["amountAffordableInstalment"]),
        "less_20": details["stress"]["incomeLess20"]["riskClass"],
        "signals": signals,
        "lost": sorted((signal for signal in signals if signal["points"] < signal["max_points"]), key=_lost_points, reverse=True),
        "missing": details["missing"],
    }


def _lost_points(signal: dict[str, Any]) -> int:
    return int(signal["max_points"] - signal["points"])


def _both(text: str) -> Text:
    """A text of the service, which is in the language of the page."""
    return Text(text, text)


def _contract(item: dict[str, Any]) -> ContractView:
    details = item["details"]
    partner, insurance = item["tagTreeItemBusinessPartner"], item["tagTreeItemInsuranceType"]
    has_partner = partner["systemName"] != "UNKNOWN"
    regular = details["costDevelopmentRegular"]
    name = partner["displayName"] if has_partner else details.get("counterpartyName") or item["tagTreeItem"]["displayName"]
    amount = cents(details.get("amountNext", details["amountLatest"]))
    return ContractView(
        id=item["id"],
        name=name,
        monogram=monogram(name),
        colour=logo_colour(name),
        cancelling=cancelling(item["tagTreeItem"]["systemName"], partner["systemName"], name, amount),
        category=item["tagTreeItem"]["displayName"],
        insurance=None if insurance["systemName"] == "UNRELATED_OTHER" else insurance["displayName"],
        period=item["tagTreeItemPeriod"]["displayName"],
        amount=amount,
        next_on=details.get("dateNext"),
        active=details["status"] == "ACTIVE",
        overdue=details["overdue"],
        reason=details["reason"],
        changes=tuple(
            Change(change["date"], cents(change["amountBefore"]), cents(change["amountAfter"]))
            for change in details["priceChanges"]
        ),
        history=tuple(abs(cents(regular[on])) for on in sorted(regular)),
    )


def _failed(access: dict[str, Any]) -> bool:
    return any(message["level"] == "ERROR" for message in access.get("messages", ()))


def _by_month(details: dict[str, Any] | None) -> dict[tuple[int, int], int]:
    flows = ((_month_of(entry), cents(entry["cashflow"])) for entry in (details or {}).get("statistics", ()))
    return {key: amount for key, amount in flows if key is not None}


def _expected(details: dict[str, Any] | None) -> dict[tuple[int, int], ExpectedMonth]:
    predictions = (
        (_month_of(entry), ExpectedMonth(*(cents(entry[name]) for name in ("cashflow", "cashflowLower", "cashflowUpper"))))
        for entry in (details or {}).get("predictions", ())
    )
    return {key: expected for key, expected in predictions if key is not None}


def _month_of(entry: dict[str, Any]) -> tuple[int, int] | None:
    match = MONTH.fullmatch(entry["tagTreeItem"]["systemName"])
    return (int(match[1]), int(match[2])) if match else None


def _negated(expected: ExpectedMonth | None) -> ExpectedMonth | None:
    """The expectation with its sign changed, so that expenses are positive; the bounds change places."""
    return expected and ExpectedMonth(-expected.amount, -expected.upper, -expected.lower)


def _earlier(key: tuple[int, int], back: int) -> tuple[int, int]:
    year, number = divmod(key[0] * 12 + key[1] - 1 - back, 12)
    return year, number + 1


def _following(key: tuple[int, int]) -> tuple[int, int]:
    return _earlier(key, -1)


def _grouped(iban: str) -> str:
    return " ".join(iban[place : place + 4] for place in range(0, len(iban), 4))
