"""The report of a month about one user's money, from the documents of the analyses as of its last day: no rule of its own."""

import calendar
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from analytics.analyses.cashflow.statistics import MAIN
from pipelines.results import live
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.documents.contracts import ALL as CONTRACTS
from pipelines.results.live import FLOWS
from warehouse.postgres.database import Owner

MONTH_ITEM = re.compile(r"(\d{4})_M(\d{2})")
INCOME, EXPENSES = "INCOME", "EXPENSES"
NO_CATEGORIES = frozenset({INCOME, EXPENSES, "NET", "TRANSFER"})
"""Tags that are sums, or move money between own accounts."""
HISTORY_MONTHS = 12
UNKNOWN_PARTNER, ACTIVE = "UNKNOWN", "ACTIVE"


@dataclass(frozen=True, order=True)
class ReportMonth:
    """A month of the calendar."""

    year: int
    number: int

    @classmethod
    def of(cls, day: date) -> "ReportMonth":
        return cls(day.year, day.month)

    @property
    def first(self) -> date:
        return date(self.year, self.number, 1)

    @property
    def last(self) -> date:
        return date(self.year, self.number, calendar.monthrange(self.year, self.number)[1])

    @property
    def before(self) -> "ReportMonth":
        return ReportMonth.of(self.first - timedelta(days=1)) if (self.year, self.number) > (1, 1) else self

    def has(self, day: date) -> bool:
        return self.first <= day <= self.last


@dataclass(frozen=True)
class MonthSums:
    """Income and expenses of a month in cents, both usually positive."""

    month: ReportMonth
    income_cents: int = 0
    expenses_cents: int = 0

    @property
    def net_cents(self) -> int:
        return self.income_cents - self.expenses_cents


@dataclass(frozen=True)
class CategorySum:
    """The expenses of a main category in this month and in the one before, in cents."""

    name: str
    cents: int
    before_cents: int


@dataclass(frozen=True)
class ReportContract:
    """A contract: who, what for, how often, how much, and when it is due next. Amounts are signed cents."""

    name: str
    category: str
    period: str
    amount_cents: int
    next_on: date | None
    is_active: bool
    first_on: date
    latest_on: date
    price_changes: tuple[tuple[date, int, int], ...]
    """The day of each change, with the amounts before and after it."""


@dataclass(frozen=True)
class MonthReport:
    """What a month was like. `as_of` is the last day that counts; None without any data."""

    month: ReportMonth
    as_of: date | None
    sums: MonthSums
    sums_before: MonthSums
    history: tuple[MonthSums, ...] = ()
    categories: tuple[CategorySum, ...] = ()
    contracts: tuple[ReportContract, ...] = ()

    @property
    def new_contracts(self) -> tuple[ReportContract, ...]:
        return tuple(contract for contract in self.contracts if self.month.has(contract.first_on))

    @property
    def ended_contracts(self) -> tuple[ReportContract, ...]:
        """Contracts that are over, and were paid for the last time in this month or the one before."""
        since = self.month.before.first
        return tuple(contract for contract in self.contracts if not contract.is_active and contract.latest_on >= since)

    @property
    def price_changes(self) -> tuple[tuple[ReportContract, int, int], ...]:
        """The contracts whose price changed in this month, with the amounts before and after."""
        changes = ((contract, change) for contract in self.contracts for change in contract.price_changes)
        return tuple((contract, before, after) for contract, (day, before, after) in changes if self.month.has(day))


def month_report(owner: Owner, base_url: str, month: ReportMonth) -> MonthReport:
    """The report of a month, read in the owner's transaction."""
    documents = live.make_documents(owner, base_url, month.last)
    as_of = documents.state.as_of
    nothing = MonthReport(month, as_of, MonthSums(month), MonthSums(month.before))
    if as_of is None or as_of < month.first:
        return nothing
    view = CashflowView(level=MAIN)
    flows = _flows(live.make_cashflow_view(documents.contents[FLOWS], str(owner.user_id), as_of, base_url, view))
    history = _history(flows, month)
    if not any(months.get(month) for months in flows.values()):
        return nothing
    return MonthReport(
        month,
        as_of,
        history[-1],
        history[-2],
        history[1:],
        _categories(flows, month),
        _contracts(json.loads(documents.contents[CONTRACTS], parse_float=Decimal)),
    )


def _flows(document: bytes) -> dict[tuple[str, str], dict[ReportMonth, int]]:
    """Cents by system name and display name of a category, and by month."""
    entries: list[Mapping[str, Any]] = json.loads(document, parse_float=Decimal)
    flows = {}
    for entry in entries:
        item = entry["tagTreeItem"]
        months = ((_month(statistic), _cents(statistic["cashflow"])) for statistic in entry["details"]["statistics"])
        flows[item["systemName"], item["displayName"]] = {month: cents for month, cents in months if month is not None}
    return flows


def _month(statistic: Mapping[str, Any]) -> ReportMonth | None:
    match = MONTH_ITEM.fullmatch(statistic["tagTreeItem"]["systemName"])
    return ReportMonth(int(match[1]), int(match[2])) if match else None


def _history(flows: Mapping[tuple[str, str], Mapping[ReportMonth, int]], month: ReportMonth) -> tuple[MonthSums, ...]:
    """The sums of the month and of twelve months before it, the oldest first."""
    sums = {name: months for (name, _), months in flows.items() if name in (INCOME, EXPENSES)}
    months = [month]
    while len(months) <= HISTORY_MONTHS:
        months.append(months[-1].before)
    return tuple(
        MonthSums(one, sums.get(INCOME, {}).get(one, 0), -sums.get(EXPENSES, {}).get(one, 0)) for one in reversed(months)
    )


def _categories(flows: Mapping[tuple[str, str], Mapping[ReportMonth, int]], month: ReportMonth) -> tuple[CategorySum, ...]:
    """The main categories with expenses in this month, the largest first."""
    sums = [
        CategorySum(display_name, -months.get(month, 0), -months.get(month.before, 0))
        for (name, display_name), months in flows.items()
        if name not in NO_CATEGORIES
    ]
    return tuple(sorted((one for one in sums if one.cents > 0), key=lambda one: (-one.cents, one.name)))


def _contracts(document: Iterable[Mapping[str, Any]]) -> tuple[ReportContract, ...]:
    """The contracts, the largest expense first."""
    return tuple(sorted((_contract(entry) for entry in document), key=lambda contract: (contract.amount_cents, contract.name)))


def _contract(entry: Mapping[str, Any]) -> ReportContract:
    details, partner = entry["details"], entry["tagTreeItemBusinessPartner"]
    category = entry["tagTreeItem"]["displayName"]
    has_partner = partner["systemName"] != UNKNOWN_PARTNER
    return ReportContract(
        partner["displayName"] if has_partner else details.get("counterpartyName") or category,
        category,
        entry["tagTreeItemPeriod"]["displayName"],
        _cents(details.get("amountNext", details["amountLatest"])),
        _day(details.get("dateNext")),
        details["status"] == ACTIVE,
        date.fromisoformat(details["dateFirst"][:10]),
        date.fromisoformat(details["dateLatest"][:10]),
        tuple(
            (date.fromisoformat(change["date"][:10]), _cents(change["amountBefore"]), _cents(change["amountAfter"]))
            for change in details["priceChanges"]
        ),
    )


def _day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text[:10])


def _cents(amount: Decimal | int) -> int:
    return int((Decimal(amount) * 100).to_integral_value())
