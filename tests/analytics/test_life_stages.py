"""Life stages of made-up lives: which rule decides, what is unknown, and since when."""

from datetime import date, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics import trees
from analytics.analyses.life_events import life_events
from analytics.analyses.life_stages import life_stages
from analytics.frames import LIFE_STAGES, PRODUCTS
from tests.analytics.lives import book, child_benefit, debit, everyday, months, rent, stages_of, take_snapshot, wage

WHOLE = ("2024-01", "2026-06")
JOB = wage(days=months(*WHOLE, 28), euros=2500.0, name="Alt GmbH")


def work(*parts: pl.DataFrame) -> str:
    return stages_of(everyday(), *parts)["LABOURMARKET"]


def family(*parts: pl.DataFrame) -> str:
    return stages_of(everyday(), *parts)["PARENTHOOD"]


def home(*parts: pl.DataFrame) -> str:
    return stages_of(everyday(), *parts)["HOUSING"]


def test_nobody_without_bookings_has_stages() -> None:
    nothing = take_snapshot()
    assert_frame_equal(life_stages(nothing, life_events(nothing)), LIFE_STAGES.to_frame())


def test_each_dimension_has_one_stage_of_the_tree() -> None:
    whole = take_snapshot(everyday(), JOB)
    result = life_stages(whole, life_events(whole))
    assert result["dimension"].to_list() == ["HOUSING", "LABOURMARKET", "PARENTHOOD", "SAVINGS"]
    assert set(result["item"]) <= {item.system_name for item in trees.tree("LIFE_STAGES").items}


def test_with_less_than_three_full_months_everything_is_unknown() -> None:
    short = [everyday(first=date(2026, 4, 2)), wage(days=months("2026-04", "2026-06", 28), euros=2500.0, name="Alt GmbH")]
    assert set(stages_of(*short).values()) == {"UNKNOWN"}
    longer = [everyday(first=date(2026, 4, 1)), wage(days=months("2026-04", "2026-06", 28), euros=2500.0, name="Alt GmbH")]
    assert stages_of(*longer)["LABOURMARKET"] == "EMPLOYED"


# Labour market


@pytest.mark.parametrize(("euros", "stage"), [(800.0, "EMPLOYED"), (799.99, "MARGINAL")])
def test_from_800_euros_on_a_wage_is_employment(euros: float, stage: str) -> None:
    assert work(wage(days=months(*WHOLE, 28), euros=euros, name="Alt GmbH")) == stage


def test_an_account_without_income_says_nothing_about_work() -> None:
    assert work() == "UNKNOWN"


@pytest.mark.parametrize(("pension", "stage"), [(1000.0, "RETIRED"), (999.99, "EMPLOYED")])
def test_a_pension_of_half_the_income_is_retirement(pension: float, stage: str) -> None:
    payments = book("INCOME_PENSION", months(*WHOLE, 27), pension, "Rentenversicherung", "Rente")
    assert work(wage(days=months(*WHOLE, 28), euros=1000.0, name="Alt GmbH"), payments) == stage


def test_benefits_decide_before_wages() -> None:
    parental = book("INCOME_STATE_FAMILY", months("2025-09", "2026-06", 10), 1200.0, "Elterngeldstelle", "Elterngeld")
    jobless = book("INCOME_OTHER", months("2025-09", "2026-06", 10), 900.0, "Jobcenter", "Bürgergeld", channel="PUBLIC")
    assert work(JOB, parental, jobless) == "PARENTALLEAVE"
    assert work(JOB, jobless) == "UNEMPLOYED"


def test_invoices_above_the_wages_are_self_employment() -> None:
    def invoices(euros: float) -> list[pl.DataFrame]:
        names = ("Kunde A", "Kunde B")
        return [book("INCOME_OTHER", months(*WHOLE, 9), euros / 2, name, "Rechnung", freelancer="REVENUE") for name in names]

    assert work(JOB, *invoices(2600.0)) == "SELFEMPLOYED"
    assert work(JOB, *invoices(2400.0)) == "EMPLOYED"


def test_training_is_told_by_its_words() -> None:
    assert work(wage(days=months(*WHOLE, 28), euros=1100.0, name="Werk AG", purpose="Ausbildungsvergütung")) == "TRAINEE"


def test_a_student_with_a_side_job_studies() -> None:
    fees = book("EDUCATION_ACADEMIC", [date(2025, 8, 15), date(2026, 2, 15)], -300.0, "Uni", "Semesterbeitrag")
    assert work(fees, wage(days=months(*WHOLE, 28), euros=450.0, name="Kiosk")) == "STUDENT"


def test_a_job_that_ended_is_no_employment() -> None:
    assert work(wage(days=months("2024-01", "2025-12", 28), euros=2500.0, name="Alt GmbH")) == "UNKNOWN"


def test_a_stale_access_is_judged_as_of_its_own_day() -> None:
    day = date(2026, 4, 30)
    parts = [everyday(last=day), JOB.filter(pl.col("booked_on") <= day)]
    assert stages_of(*parts, as_of=day)["LABOURMARKET"] == "EMPLOYED"


# Parenthood


def test_the_youngest_child_decides() -> None:
    benefit = child_benefit(days=months(*WHOLE, 8), euros=500.0)
    care = debit("FAMILY_CHILDCARE", months(*WHOLE, 5), -180.0, "Kita Sonne", "Elternbeitrag")
    leave = book("INCOME_STATE_FAMILY", months("2025-09", "2026-06", 10), 1200.0, "Elterngeldstelle", "Elterngeld")
    assert family(benefit) == "SCHOOL"
    assert family(benefit, care) == "PRESCHOOL"
    assert family(benefit, care, leave) == "INFANT"


def test_care_at_school_is_for_a_pupil() -> None:
    assert family(debit("FAMILY_CHILDCARE", months(*WHOLE, 5), -90.0, "Offene Ganztagsschule", "OGS Beitrag")) == "SCHOOL"


def test_a_child_that_has_left_the_nursery_goes_to_school() -> None:
    clothes = book("FAMILY_CHILDNECESSITIES", months("2025-09", "2026-06", 12), -40.0, "Kinderschuhe Blume")
    nursery = debit("FAMILY_CHILDCARE", months("2024-01", "2025-08", 5), -180.0, "Kita Sonne", "Elternbeitrag")
    assert family(clothes) == "PRESCHOOL"
    assert family(clothes, nursery) == "SCHOOL"
    long_ago = debit("FAMILY_CHILDCARE", months("2024-01", "2025-03", 5), -180.0, "Kita Sonne", "Elternbeitrag")
    assert family(clothes, long_ago, child_benefit(days=months(*WHOLE, 8), euros=259.0)) == "SCHOOL"


def test_an_only_child_with_expenses_for_school_is_a_pupil() -> None:
    clothes = book("FAMILY_CHILDNECESSITIES", months("2025-09", "2026-06", 12), -40.0, "Kinderschuhe Blume")
    trips = book("FAMILY_OTHER", months("2025-10", "2025-12", 20), -22.0, "Grundschule am Park", "Klassenkasse")
    one, two = (child_benefit(days=months("2026-01", "2026-06", 8), euros=euros) for euros in (259.0, 518.0))
    early = [child_benefit(days=months("2024-01", "2025-12", 8), euros=euros, name="Kasse") for euros in (255.0, 510.0)]
    assert family(clothes, trips, one, early[0]) == "SCHOOL"
    assert family(clothes, trips, two, early[1]) == "PRESCHOOL"


def test_what_was_bought_for_a_small_child_long_ago_says_nothing() -> None:
    days = months("2025-07", "2025-12", 12)
    assert family(book("FAMILY_CHILDNECESSITIES", days, -40.0, "Baby und Kind")) == "NONE_OBSERVED"


def test_neither_toys_nor_a_babysitter_once_a_year_make_a_parent() -> None:
    toys = book("FAMILY_TOYS", months(*WHOLE, 12), -40.0, "Spielwaren Blume")
    sitter = book("FAMILY_CHILDCARE", [date(2025, 3, 21), date(2026, 4, 20)], -25.0, "Babysitter")
    club = book("FAMILY_CHILDACTIVITIES", months("2026-01", "2026-06", 15), -30.0, "Musikschule")
    assert family(toys, sitter) == "NONE_OBSERVED"
    assert family(toys, club) == "SCHOOL"


def test_the_end_of_child_benefit_makes_a_grown_up_child() -> None:
    assert family(child_benefit(days=months("2024-01", "2025-10", 8), euros=255.0)) == "ADULTCHILD"


def test_a_birth_in_the_history_makes_an_infant_for_three_years() -> None:
    assert family(child_benefit(days=months("2025-03", "2026-06", 8), euros=255.0)) == "INFANT"


def test_no_sign_of_children_counts_only_after_a_year() -> None:
    assert family() == "NONE_OBSERVED"
    assert stages_of(everyday(first=date(2025, 7, 1)))["PARENTHOOD"] == "UNKNOWN"


def test_support_from_parents_makes_nobody_a_parent() -> None:
    assert (
        family(book("OTHER_INCOME", months(*WHOLE, 1), 400.0, "Eva Muster", "Unterhalt Juli", channel="STANDINGORDER"))
        == "NONE_OBSERVED"
    )


# Housing


def test_the_loan_decides_before_the_rent_and_the_rent_before_what_owners_pay() -> None:
    loan = debit("HOUSING_FINANCING", months(*WHOLE, 28), -1400.0, "Bank", "Zins und Tilgung")
    flat = rent(days=months(*WHOLE, 1), euros=-700.0, name="Wohnbau")
    tax = debit("TAXES", [date(2026, 2, 15), date(2026, 5, 15)], -120.0, "Stadt", "Grundsteuer")
    assert home(loan, flat, tax) == "OWNER_FINANCED"
    assert home(flat, tax) == "TENANT"
    assert home(tax) == "OWNER"
    assert home() == "UNKNOWN"


def test_board_money_is_living_with_the_family() -> None:
    assert home(rent(days=months(*WHOLE, 1), euros=-150.0, name="Eva und Max Muster")) == "WITHFAMILY"


def test_a_relative_as_landlord_is_a_landlord() -> None:
    assert home(rent(days=months(*WHOLE, 1), euros=-650.0, name="Karl Muster")) == "TENANT"


def test_being_a_landlord_stands_beside_the_own_housing() -> None:
    let = book("INCOME_RENTAL", months(*WHOLE, 2), 600.0, "Mieter", "Miete", channel="STANDINGORDER")
    whole = take_snapshot(everyday(), let, rent(days=months(*WHOLE, 1), euros=-700.0, name="Wohnbau"))
    result = life_stages(whole, life_events(whole)).filter(pl.col("dimension") == "HOUSING")
    assert result["item"].to_list() == ["HOUSING_LANDLORD", "HOUSING_TENANT"]


# Savings

ACCOUNTS = pl.DataFrame(
    [("anna", "giro", "CHECKING", None, "Anna Muster", None), ("anna", "sparen", "SAVINGS", None, "Anna Muster", None)],
    PRODUCTS,
    orient="row",
)


def saving(euros: float, planned: bool = True) -> str:
    """Who earns 2,000 and puts so much aside each month, by plan or by hand, to the own account."""
    earned = wage(days=months(*WHOLE, 28), euros=2000.0, name="Alt GmbH")
    if planned:
        return stages_of(everyday(), earned, debit("SAVINGS_SECURITIES", months(*WHOLE, 15), -euros, "Broker", "Sparplan"))[
            "SAVINGS"
        ]
    days = [day + timedelta(days=number * 7 % 16 - 12) for number, day in enumerate(months(*WHOLE, 15))]
    out = book("TRANSFER_SAVINGS", days, -euros, "Anna Muster", "Sparen")
    back = book("TRANSFER_SAVINGS", days, euros, "Anna Muster giro", "Sparen", product="sparen")
    return stages_of(everyday(), earned, out, back, products=ACCOUNTS)["SAVINGS"]


@pytest.mark.parametrize(("euros", "stage"), [(20.0, "REGULAR"), (19.99, "NONE"), (300.0, "INTENSIVE"), (299.99, "REGULAR")])
def test_the_share_of_income_put_aside_by_contract(euros: float, stage: str) -> None:
    assert saving(euros) == stage


@pytest.mark.parametrize(
    ("euros", "stage"), [(20.0, "OCCASIONAL"), (500.0, "OCCASIONAL"), (19.99, "NONE"), (-100.0, "NONE"), (-100.01, "DISSAVING")]
)
def test_what_goes_to_the_own_savings_counts_once(euros: float, stage: str) -> None:
    assert saving(euros, planned=False) == stage


# For all


def test_neither_the_order_of_bookings_nor_other_users_change_anything() -> None:
    anna = [everyday(), JOB, rent(days=months(*WHOLE, 1), euros=-700.0, name="Wohnbau")]
    other = [part.with_columns(user=pl.lit("bert"), id="bert " + pl.col("id")) for part in (everyday(),)]
    alone, both = take_snapshot(*anna), take_snapshot(pl.concat([*anna, *other]).sample(fraction=1, shuffle=True, seed=3))
    stages = life_stages(both, life_events(both)).filter(pl.col("user") == "anna")
    assert_frame_equal(stages, life_stages(alone, life_events(alone)))


def test_what_is_sensitive_is_never_evidence() -> None:
    parts = [
        debit("HEALTH_SERVICES", months(*WHOLE, 7), -80.0, "Kinderarzt", "Rechnung"),
        debit("OTHER_DONATION", months(*WHOLE, 8), -80.0, "Kirchengemeinde", "Kita Spende"),
    ]
    whole = take_snapshot(everyday(), JOB, *parts)
    used = life_stages(whole, life_events(whole)).explode("bookings")["bookings"].drop_nulls()
    assert not [name for name in used if name.startswith(("anna HEALTH", "anna OTHER_DONATION"))]
    assert family(*parts) == "NONE_OBSERVED"


def test_who_gets_the_own_child_benefit_or_pays_board_is_no_parent() -> None:
    benefit = child_benefit(days=months("2024-01", "2026-06", 10), euros=255.0)
    learner = wage(days=months("2024-01", "2026-06", 28), euros=1050.0, name="Werk GmbH", purpose="Ausbildungsvergütung")
    board = book("HOUSING_OTHER", months("2024-01", "2026-06", 2), -200.0, "Eva Muster", "Kostgeld", channel="STANDINGORDER")
    for sign in (learner, board):
        assert stages_of(everyday(), benefit, sign)["PARENTHOOD"] == "NONE_OBSERVED"
    care = debit("FAMILY_CHILDCARE", months("2025-01", "2026-06", 3), -200.0, "Kita", "Kita Beitrag")
    assert stages_of(everyday(), benefit, learner, care)["PARENTHOOD"] == "PRESCHOOL"


@pytest.mark.parametrize(
    ("purpose", "stage"),
    [("Elternbeitrag Kindertagesstätte", "PRESCHOOL"), ("OGS Beitrag", "SCHOOL"), ("Grundsteuer", "NONE_OBSERVED")],
)
def test_care_paid_to_a_towns_cashier_is_care(purpose: str, stage: str) -> None:
    care = debit("TAXES", months("2024-01", "2026-06", 5), -180.0, "Stadtkasse", purpose)
    assert stages_of(everyday(), care)["PARENTHOOD"] == stage
