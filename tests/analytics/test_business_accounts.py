"""Which meals are entertainment of business partners: those paid from a business account."""

from typing import Any

from analytics.tagging.business_accounts import business_meals
from analytics.tagging.layers import layered_bookings
from tests.analytics.drawing import products, rows

ANNA, COMPANY = "Anna Roth", "Roth Design GmbH"
MEAL = {"category": "RECREATION_ENTERTAINMENTFOOD", "amount": -60.0, "name": "Ristorante"}
GROCERIES = {"category": "LIVING_GROCERIES", "amount": -30.0, "name": "REWE"}
REVENUE = {"category": "INCOME_OTHER", "amount": 900.0, "name": "Agentur GmbH", "freelancer": "REVENUE"}
TAX = {"category": "TAXES", "amount": -400.0, "name": "Finanzamt", "freelancer": "VAT_PAID"}


def entertained_products(*drawn: tuple[str, dict[str, Any], int], second_owner: str = ANNA) -> list[str]:
    """The products whose meals are entertainment; bookings are told as product, kind and number."""
    bookings = [
        {"on": f"2024-05-{day + 1:02}", "freelancer": "PRIVATE", "product": product, **kind}
        for product, kind, count in drawn
        for day in range(count)
    ]
    frame = rows(*bookings)
    accounts = products(("anna", "giro", "CHECKING", None, ANNA), ("anna", "second", "CHECKING", None, second_owner))
    meals = business_meals(layered_bookings(frame), accounts)
    assert set(meals["freelancer"]) <= {"ENTERTAINMENT"}
    return sorted(set(frame.filter(frame["row"].is_in(meals["row"].implode()))["product"]))


def test_a_meal_of_an_employee_is_private() -> None:
    assert entertained_products(("giro", MEAL, 5), ("giro", GROCERIES, 8)) == []


def test_a_meal_from_the_only_account_of_a_freelancer_is_private() -> None:
    assert entertained_products(("giro", MEAL, 5), ("giro", GROCERIES, 8), ("giro", REVENUE, 6), ("giro", TAX, 2)) == []


def test_a_meal_from_the_account_with_the_revenues_is_entertainment_where_shopping_goes_through_another() -> None:
    drawn = (("giro", MEAL, 5), ("giro", GROCERIES, 8), ("second", MEAL, 2), ("second", REVENUE, 3), ("second", GROCERIES, 1))
    assert entertained_products(*drawn) == ["second"]


def test_an_account_that_is_connected_alone_is_a_business_account_if_nobody_shops_with_it() -> None:
    assert entertained_products(("second", MEAL, 2), ("second", TAX, 1)) == ["second"]


def test_two_invoices_make_no_business_account() -> None:
    assert entertained_products(("giro", GROCERIES, 8), ("second", MEAL, 2), ("second", REVENUE, 2)) == []


def test_a_meal_from_the_account_of_a_company_is_entertainment() -> None:
    drawn = (("giro", MEAL, 5), ("second", MEAL, 2), ("second", GROCERIES, 2))
    assert entertained_products(*drawn, second_owner=COMPANY) == ["second"]


def test_a_refunded_meal_is_no_expense() -> None:
    assert entertained_products(("second", TAX, 1), ("second", MEAL | {"amount": 60.0}, 1)) == []
