"""Which credits are wages: the failure modes by name."""

from typing import Any

import polars as pl

from analytics.tagging.categories import add_rule_category
from analytics.tagging.line_facts import add_facts
from analytics.tagging.wages import wages
from tests.analytics.drawing import canonical, line, lines, rows

MONTHS = [f"2024-{month:02}" for month in range(1, 7)]


def monthly(name: str, amount: float, day: int = 28, **more: Any) -> list[dict[str, Any]]:
    """One credit a month from this sender."""
    return [{"amount": amount + index, "on": f"{month}-{day:02}", "name": name, **more} for index, month in enumerate(MONTHS)]


def wage_ids(*drawn: dict[str, Any]) -> list[str]:
    return wages(rows(*drawn))["id"].sort().to_list()


def through(*drawn: dict[str, Any], purpose: str = "") -> pl.DataFrame:
    """The bookings with what rules and words say about their lines, as the whole tagger hands them on."""
    told = [line(row["name"], row.get("purpose", purpose), row["amount"], row.get("channel", "TRANSFER")) for row in drawn]
    read = add_facts(add_rule_category(lines(*told))).select("rule_category", *add_facts(lines(line())).columns[13:])
    bare = rows(*[{key: value for key, value in row.items() if key != "purpose"} for row in drawn])
    return bare.drop([name for name in read.columns if name in bare.columns]).hstack(read)


def test_the_bank_says_that_it_is_a_wage() -> None:
    assert wage_ids({"amount": 2100, "on": "2024-05-28", "name": "Werk", "channel": "SALARY", "is_company": True}) == ["t000"]


def test_a_purpose_code_says_it_too() -> None:
    assert wage_ids({"amount": 900, "on": "2024-05-28", "name": "Werk", "purpose_code": "SALA"}) == ["t000"]


def test_a_monthly_credit_of_a_company_is_a_wage_without_any_word() -> None:
    assert len(wage_ids(*monthly("Werk GmbH", 2100, is_company=True))) == len(MONTHS)


def test_two_credits_are_not_yet_monthly() -> None:
    assert wage_ids(*monthly("Werk GmbH", 2100, is_company=True)[:2]) == []


def test_wages_from_two_legal_entities_are_both_wages() -> None:
    old = monthly("Werk Nord GmbH", 2100, is_company=True)[:3]
    new = monthly("Werk Süd AG", 2300, is_company=True)[3:]
    assert len(wage_ids(*old, *new)) == len(MONTHS)


def test_two_wages_in_one_month_are_both_wages() -> None:
    day = monthly("Werk GmbH", 1900, is_company=True)
    night = monthly("Kneipe", 520, day=3, says_pay=True)
    assert len(wage_ids(*day, *night)) == 2 * len(MONTHS)


def test_an_advance_and_a_bonus_of_the_employer_are_wages_too() -> None:
    regular = monthly("Werk GmbH", 2100, is_company=True, channel="SALARY")
    advance = {"amount": 300, "on": "2024-05-12", "name": "Werk GmbH", "is_company": True, "says_pay_extra": True}
    assert "t006" in wage_ids(*regular, advance)


def test_expenses_paid_back_by_the_employer_are_no_wage() -> None:
    regular = monthly("Werk GmbH", 2100, is_company=True, channel="SALARY")
    expenses = {"amount": 80, "on": "2024-05-12", "name": "Werk GmbH", "is_company": True, "says_no_pay": True}
    assert "t006" not in wage_ids(*regular, expenses)


def test_a_pension_under_the_code_of_wages_is_no_wage() -> None:
    drawn = through(*monthly("Deutsche Post Renten Service", 1300, channel="SALARY"), purpose="RV-Rente 123")
    assert drawn["rule_category"].unique().to_list() == ["INCOME_PENSION"]
    assert wages(drawn).height == 0


def test_an_employee_of_an_insurer_earns_a_wage() -> None:
    drawn = through(*monthly("Allianz SE", 4100, channel="SALARY"), purpose="Gehalt")
    assert wages(drawn.with_columns(flag_insurer=True)).height == len(MONTHS)


def test_a_monthly_annuity_of_an_insurer_is_no_wage() -> None:
    assert wage_ids(*monthly("Allianz Leben", 310, is_company=True, flag_insurer=True)) == []


def test_rent_from_a_private_tenant_is_no_wage() -> None:
    drawn = through(*monthly("Tobias Ernst", 650, day=2, channel="STANDINGORDER"), purpose="Miete Whg 2")
    assert drawn["rule_category"].unique().to_list() == ["INCOME_RENTAL"]
    assert wages(drawn).height == 0


def test_money_from_a_person_every_month_is_no_wage() -> None:
    assert wage_ids(*monthly("Stefan Roth", 377, is_person=True)) == []


def test_child_benefit_inside_civil_service_pay_is_part_of_the_wage() -> None:
    drawn = through(*monthly("LBV NRW", 3900, channel="SALARY"), purpose="Bezüge 05/24 inkl. Kindergeld")
    assert wages(drawn).height == len(MONTHS)


def test_child_benefit_alone_is_no_wage() -> None:
    drawn = through(*monthly("Familienkasse", 250, channel="PUBLIC"), purpose="KG123456FK123456")
    assert drawn["rule_category"].unique().to_list() == ["INCOME_STATE_FAMILY"]
    assert wages(drawn).height == 0


def test_a_tax_refund_larger_than_the_wage_is_no_wage() -> None:
    wage = monthly("Werk GmbH", 2100, channel="SALARY", purpose="Lohn")
    refund = {"amount": 3300, "on": "2024-05-10", "name": "Finanzamt Köln", "purpose": "Erstattung EST 2023"}
    drawn = through(*wage, refund)
    assert drawn["rule_category"].to_list()[-1] == "INCOME_OTHER"
    assert "t006" not in wages(drawn)["id"]


def test_a_paid_out_loan_is_no_wage() -> None:
    drawn = through({"amount": 15000, "on": "2024-05-10", "name": "Targobank AG", "purpose": "Kreditauszahlung 12"})
    assert drawn["rule_category"].to_list() == ["BANKFINANCE_CREDITINCOME"]
    assert wages(drawn).height == 0


def test_the_monthly_invoice_of_a_freelancer_is_no_wage() -> None:
    assert wage_ids(*monthly("Agentur GmbH", 1900, is_company=True, says_no_pay=True)) == []


def test_own_transfers_are_not_looked_at() -> None:
    assert wage_ids(*monthly("Anna Müller", 500, is_company=True, category="TRANSFER_OTHER")) == []


def test_pending_and_negative_rows_are_not_looked_at() -> None:
    pending = {"amount": 2100, "on": "2024-05-28", "channel": "SALARY", "pending": True, "says_pay": True}
    paid = {"amount": -2100, "on": "2024-05-28", "channel": "SALARY", "says_pay": True}
    assert wage_ids(pending, paid) == []


def test_more_points_mean_more_confidence_and_the_reason_names_them() -> None:
    weak = wages(rows(*monthly("Werk GmbH", 2100, is_company=True)))
    strong = wages(rows(*monthly("Werk GmbH", 2100, is_company=True, channel="SALARY", says_pay=True)))
    assert weak["confidence"].max() < strong["confidence"].min()  # type: ignore[operator]
    assert strong["reason"][0] == (
        "Buchungsart Lohn oder Gehalt, Lohn im Text, jeden Monat, von einem Arbeitgeber, unter den größten Eingängen"
    )


def crowd(user: str) -> list[dict[str, Any]]:
    wage = monthly("Werk GmbH", 2100, is_company=True, user=user)
    side = monthly("Kneipe", 300, day=3, says_pay=True, user=user)
    friends = monthly("Stefan Roth", 20, is_person=True, user=user)
    return [{**row, "id": f"{user}{number:02}"} for number, row in enumerate((*wage, *side, *friends))]


def test_the_order_of_rows_changes_nothing() -> None:
    drawn = rows(*crowd("anna"), *crowd("bert"))
    assert wages(drawn).sort("id").equals(wages(drawn.sample(fraction=1, shuffle=True, seed=5)).sort("id"))


def test_other_users_change_nothing() -> None:
    together = wages(rows(*crowd("anna"), *crowd("bert")))
    apart = pl.concat([wages(rows(*crowd("anna"))), wages(rows(*crowd("bert")))])
    assert together.drop("row").sort("id").equals(apart.drop("row").sort("id"))


def test_no_rows_no_overlay() -> None:
    assert wages(rows({"amount": 1, "on": "2024-05-03"}).clear()).height == 0


def test_the_drawing_writes_as_lines_do() -> None:
    assert canonical("Müller & Söhne KG123456FK12 o2 13.") == "mueller & soehne kg0fk0 o2 0"
