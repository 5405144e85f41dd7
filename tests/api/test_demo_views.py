"""What the demo makes of the interface's answers, where they are thin: no history, gaps, a bank that is not done or failed."""

from decimal import Decimal
from typing import Any

from api.demo_app import views
from api.demo_app.charts import ExpectedMonth

NOTHING: dict[str, Any] = {
    "accesses": {},
    "products": [],
    "contracts": [],
    "cashflow": [],
    "disposable": {},
    "events": [],
    "stages": [],
    "triggers": [],
    "affordability": {},
    "credit_risk": {},
    "categorised": [],
    "partnered": [],
}


def answers(**told: Any) -> views.Answers:
    return views.Answers(**{**NOTHING, **told})


def flow(name: str, booked: dict[str, str], coming: dict[str, tuple[str, str, str]] | None = None) -> dict[str, Any]:
    """The cashflow of a category, by names of months."""
    return {
        "tagTreeItem": {"systemName": name, "displayName": name.title()},
        "details": {
            "statistics": [{"cashflow": Decimal(amount), "tagTreeItem": {"systemName": time}} for time, amount in booked.items()],
            "predictions": [
                {
                    **dict(zip(("cashflow", "cashflowLower", "cashflowUpper"), map(Decimal, amounts), strict=True)),
                    "tagTreeItem": {"systemName": time},
                }
                for time, amounts in (coming or {}).items()
            ],
        },
    }


def test_nothing_known_is_nothing_shown() -> None:
    none = answers()
    assert (views.months(none), views.categories(none, []), views.accounts(none), views.contracts(none)) == ([], [], [], [])
    assert (views.disposable(none), views.affordability(none), views.owner(none), views.as_of(none)) == (None, None, "", "")
    assert (views.curve(none), views.credit_risk(none), views.booking_views(none)) == (None, None, [])


def test_what_is_left_is_drawn_from_the_salary_over_the_day_of_the_analyses_to_payday() -> None:
    details = {
        "dateSalaryLatest": "2026-10-30",
        "dateSalaryNext": "2026-11-30",
        "daysUntilSalary": 12,
        "transactionIds": ["salary", "shop"],
        "amountCurrentlyLeft": 2000.0,
        "amountExpectedLeft": 800.0,
    }
    bookings = [
        {"id": "shop", "buchungsdatum": "2026-11-10 00:00:00", "betrag": -500.0},
        {"id": "salary", "buchungsdatum": "2026-10-30 00:00:00", "betrag": 2500.0},
    ]
    curve = views.curve(answers(disposable={"details": details}, partnered=bookings))
    assert curve is not None
    days = [[str(points[at].on) for at in (0, -1)] for points in (curve.past, curve.coming)]
    assert days == [["2026-10-30", "2026-11-18"], ["2026-11-18", "2026-11-30"]]
    assert [points[-1].cents for points in (curve.past, curve.coming)] == [200_000, 80_000]


def test_a_month_without_bookings_is_shown_as_such() -> None:
    expenses = flow(
        "EXPENSES", {"TOTAL_TOTAL": "-9", "2025_M12": "-10.10", "2026_M02": "-20"}, {"2026_M03": ("-30", "-50", "-25")}
    )
    shown = views.months(answers(cashflow=[expenses]))
    assert [(month.year, month.number, month.income, month.expenses) for month in shown] == [
        (2025, 12, 0, 1010),
        (2026, 1, 0, 0),
        (2026, 2, 0, 2000),
        (2026, 3, 0, 0),
    ]
    assert shown[-1].expected_expenses == ExpectedMonth(3000, 2500, 5000)


def test_a_history_without_predictions_ends_with_its_last_month() -> None:
    shown = views.months(answers(cashflow=[flow("INCOME", {"2024_M01": "1", "2026_M02": "1"})]))
    assert len(shown) == 12
    assert (shown[-1].year, shown[-1].number) == (2026, 2)


def test_categories_are_means_of_whole_months_the_largest_first() -> None:
    told = answers(
        cashflow=[
            flow("EXPENSES", {"2026_M01": "-50", "2026_M02": "-50"}, {"2026_M03": ("-1", "-1", "-1")}),
            flow("LIVING", {"2026_M01": "-10", "2026_M02": "-20", "2026_M03": "-999"}),
            flow("HOUSING", {"2026_M01": "-60"}),
            flow("TRANSFER", {"2026_M01": "-1000"}),
            flow("SHOPPING", {"2026_M01": "5"}),
        ]
    )
    found = views.categories(told, views.months(told))
    assert [(category.name, category.monthly, category.share) for category in found] == [
        ("Housing", 3000, 1.0),
        ("Living", 1500, 0.5),
    ]


def test_more_comes_until_a_bank_is_done_or_has_failed() -> None:
    failed = [{"level": "ERROR", "code": "BA1011", "message": "Falsche Zugangsdaten"}]
    assert views.is_pending(answers(accesses={"a": {"status": "KOPFDATEN"}}))
    assert not views.is_pending(answers(accesses={"a": {"status": "VOLLSTAENDIG"}}))
    told = answers(
        accesses={"a": {"status": "GESTARTET", "messages": failed}, "b": {"status": "VOLLSTAENDIG", "messages": failed}}
    )
    assert not views.is_pending(told)
    assert [(notice.title.de, notice.bad) for notice in views.messages(told)] == [("Falsche Zugangsdaten", True)]
