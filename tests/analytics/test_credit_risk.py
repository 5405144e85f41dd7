"""Credit risk: points that add up, a scorecard that cannot be broken, and nothing that must not count."""

import shutil
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics import trees
from analytics.analyses.credit_risk import CreditRisk, ScorecardBroken, scorecard
from analytics.analyses.credit_risk.scorecard import CLASSES, HIGH, MAX_SCORE, TABLES, Scorecard, read_scorecard
from analytics.analyses.credit_risk.signals import READ_CATEGORIES
from analytics.analyses.snapshot import snapshot
from analytics.analyses.suite import SuiteCache
from analytics.frames import AS_OF, PRODUCTS
from tests.analytics.households import book, household, monthly, rent, salary
from tests.support.examples import examples

AS_OF_DAY = date(2026, 6, 16)
CARD = scorecard()
FORBIDDEN = (
    "HEALTH_", "INSURANCE_", "OTHER_DONATION", "TAXES", "FAMILY_", "EDUCATION_", "RECREATION_", "TRAVEL_", "MOBILITY_",
    "SERVICES_",
)  # fmt: skip
"""Categories that can tell of health, faith, politics, unions, family, origin or the place where somebody lives."""
GOOD_VALUES: dict[str, float] = {
    **{signal.name: 0.0 if signal.worse == HIGH else 10_000.0 for signal in CARD.signals},
}


def analysed(*parts: pl.DataFrame, products: tuple[tuple[Any, ...], ...] = (), as_of: date = AS_OF_DAY) -> CreditRisk:
    """The credit risk of the users of these bookings."""
    bookings = pl.concat(parts)
    users = bookings["user"].unique().sort()
    owned = pl.DataFrame([("anna", *product) for product in products], PRODUCTS, orient="row")
    days = pl.DataFrame({"user": users, "as_of": [as_of] * users.len()}, schema=AS_OF)
    return SuiteCache(snapshot(bookings, owned, days)).credit_risk


def anna(*parts: pl.DataFrame, **columns: Any) -> dict[str, Any]:
    return analysed(*parts, **columns).credit_risk.row(0, named=True)


def signals(*parts: pl.DataFrame, **columns: Any) -> dict[str, dict[str, Any]]:
    rows = analysed(*parts, **columns).signals
    return {row["signal"]: row for row in rows.iter_rows(named=True)}


def giro(balance: int | None) -> tuple[Any, ...]:
    return ("giro", "CHECKING", None, "Anna", balance)


# The scorecard


def test_the_best_values_give_a_hundred_points_and_the_worst_none() -> None:
    worst = {signal.name: 10_000.0 if signal.worse == HIGH else -1.0 for signal in CARD.signals}
    values = pl.DataFrame([GOOD_VALUES, worst], schema_overrides=dict.fromkeys(CARD.names, pl.Float64))
    assert CARD.scores(values).tolist() == [MAX_SCORE, 0]
    assert [CLASSES[place] for place in CARD.classes(values)] == ["A", "E"]


value = st.floats(-1, 12_000, allow_nan=False)


@given(st.sampled_from(CARD.signals), value, value, st.fixed_dictionaries(dict.fromkeys(CARD.names, value)))
@settings(max_examples=examples(300), deadline=None)
def test_a_worse_value_never_gives_more_points_or_a_better_class(
    signal: Any, one: float, other: float, others: dict[str, float]
) -> None:
    better, worse = sorted((one, other), reverse=signal.worse != HIGH)
    values = pl.DataFrame([{**others, signal.name: better}, {**others, signal.name: worse}])
    scores, classes = CARD.scores(values), CARD.classes(values)
    assert scores[1] <= scores[0]
    assert classes[1] >= classes[0]


@pytest.mark.parametrize(
    ("table", "old", "new", "problem"),
    [
        ("scorecard.csv", "rent_burden,0.25,0.3,4,", "rent_burden,0.25,0.29,4,", "gap"),
        ("scorecard.csv", "rent_burden,0.25,0.3,4,", "rent_burden,0.25,0.3,2,", "more points"),
        ("scorecard.csv", "rent_burden,,0.25,5,", "rent_burden,,0.25,6,", "add up to 101"),
        ("scorecard.csv", "rent_burden,,0.25,5,", "rent_burden,0,0.25,5,", "has an end"),
        ("scorecard.csv", "rent_burden,0.5,,0,", "rent_burden,0.5,,1,", "not 0"),
        ("scorecard.csv", "rent_burden,0.5,,0,", "rent_burden,0.5,,null,", "no whole number"),
        ("scorecard.csv", "payments,1,3,2,C,", "payments,1,3,2,E,", "better class"),
        ("scorecard.csv", "payments,1,3,2,C,", "payments,1,3,2,F,", "no class"),
        ("scorecard.csv", "savings_buffer,missing,,2,", "savings_buffer,missing,,8,", "unknown values"),
        ("scorecard.csv", ",keine Mahngebühren", ",", "no reason"),
        ("signals.csv", "rent_burden,charges,high", "rent_burden,charges,low", "more points"),
        ("signals.csv", "rent_burden,charges", "rent_burden,lasten", "none of"),
        ("signals.csv", "rent_burden", "rent", "not the signals"),
        ("classes.csv", "B,78", "B,90", "do not fall"),
        ("classes.csv", "E,0", "E,1", "end at 0"),
        ("classes.csv", "A,88", "A,101", "nobody can reach A"),
    ],
)
def test_a_table_that_breaks_a_rule_is_refused(tmp_path: Path, table: str, old: str, new: str, problem: str) -> None:
    shutil.copytree(TABLES, tmp_path, dirs_exist_ok=True)
    text = (tmp_path / table).read_text()
    assert old in text
    (tmp_path / table).write_text(text.replace(old, new, 1))
    with pytest.raises(ScorecardBroken, match=problem):
        read_scorecard(tmp_path)


def test_an_edited_table_decides(tmp_path: Path) -> None:
    shutil.copytree(TABLES, tmp_path, dirs_exist_ok=True)
    classes = (tmp_path / "classes.csv").read_text().replace("A,88", "A,100")
    (tmp_path / "classes.csv").write_text(classes)
    card: Scorecard = read_scorecard(tmp_path)
    values = pl.DataFrame([{**GOOD_VALUES, "rent_burden": 0.26}])
    assert (CLASSES[CARD.classes(values)[0]], CLASSES[card.classes(values)[0]]) == ("A", "B")


# Nothing forbidden


def test_no_signal_looks_at_what_must_not_count() -> None:
    known = {item.system_name for item in trees.tree("CATEGORIES").items}
    assert set(READ_CATEGORIES) <= known
    assert [name for name in READ_CATEGORIES if name.startswith(FORBIDDEN)] == []


@pytest.mark.parametrize(
    ("forbidden", "neutral"),
    [("HEALTH_SERVICES", "LIVING_OTHER"), ("OTHER_DONATION", "SHOPPING_OTHER"), ("TAXES", "LIVING_OTHER")],
)
def test_what_such_spending_is_for_changes_nothing(forbidden: str, neutral: str) -> None:
    """The same sums for the same need, once for something that must not count."""
    days = [date(2026, 1, 9), date(2026, 2, 17), date(2026, 4, 2), date(2026, 5, 28)]
    told = [
        analysed(household("anna", 3), book(days, [-12_345, -999, -40_000, -7_001], category, counterparty_key="somebody"))
        for category in (forbidden, neutral)
    ]
    assert told[0].credit_risk.equals(told[1].credit_risk)
    assert told[0].signals.equals(told[1].signals)


def test_name_and_place_of_the_customer_change_nothing() -> None:
    bookings = household("anna", 3)
    elsewhere = bookings.with_columns(counterparty_bic=pl.lit("TRISTR2A"), ultimate_name=pl.lit("Gemeinde"))
    one = analysed(bookings, products=(("giro", "CHECKING", "DE02120300000000202051", "Anna Schmidt", 1_000),))
    other = analysed(elsewhere, products=(("giro", "CHECKING", "FR7630006000011234567890189", "Ayşe Yılmaz", 1_000),))
    assert one.credit_risk.equals(other.credit_risk)


# Values


def test_points_add_up_and_every_signal_has_a_reason() -> None:
    risk = analysed(*(household(f"user-{seed}", seed) for seed in range(3)))
    sums = risk.signals.group_by("user").agg(pl.sum("points"), pl.sum("max_points"), pl.len()).sort("user")
    assert sums["points"].to_list() == risk.credit_risk["score"].to_list()
    assert sums["max_points"].unique().to_list() == [MAX_SCORE]
    assert sums["len"].unique().to_list() == [len(CARD.signals)]
    assert not risk.signals["reason"].str.contains(r"[{}]|null|None").any()


def test_without_three_full_months_there_is_nothing_to_say() -> None:
    risk = analysed(salary(months=3))
    assert (risk.credit_risk.height, risk.signals.height) == (0, 0)


def test_no_bookings_at_all() -> None:
    risk = analysed(salary().clear())
    assert (risk.credit_risk.height, risk.signals.height) == (0, 0)


def test_income_and_charges_are_those_of_the_household() -> None:
    told = signals(salary(months=14, cents=200_000), rent(months=14, cents=-60_000))
    assert {name: told[name]["value"] for name in ("income_height", "income_stability", "income_regular", "rent_burden")} == {
        "income_height": 2000.0,
        "income_stability": 1.0,
        "income_regular": 1.0,
        "rent_burden": 0.3,
    }
    assert told["income_length"]["value"] == 13
    assert told["rent_burden"]["reason"] == "30 % des Einkommens gehen in die Miete"
    assert (told["income_height"]["reason"], told["months_seen"]["value"]) == ("2.000 € Einkommen im Monat", 12)
    assert (told["rent_burden"]["booking_count"], len(told["rent_burden"]["bookings"])) == (14, 14)


def test_without_income_the_class_is_the_worst() -> None:
    told = anna(rent(months=14))
    assert (told["risk_class"], told["affordable_instalment"]) == ("E", 0)
    assert told["class_reason"].endswith("höchstens E wegen: Höhe des Einkommens")


def test_a_seizure_allows_no_better_class_than_d() -> None:
    seizure = book([date(2026, 3, 4)], -5_000, "BANKFINANCE_OTHER", purpose="Pfändung Drittschuldner", channel="TRANSFER")
    told = anna(salary(), rent(), seizure, products=(giro(900_000),))
    assert (told["score"] >= 78, told["risk_class"]) == (True, "D")
    assert told["class_reason"].endswith("höchstens D wegen: Pfändungen")
    assert signals(salary(), seizure)["seizure_payments"]["bookings"] == seizure["id"].to_list()


def test_payday_lenders_count_and_their_bookings_are_named() -> None:
    loan = book([date(2026, 3, 4)], 30_000, "BANKFINANCE_CREDITINCOME", counterparty_name="VEXCASH AG")
    repaid = book([date(2026, 4, 3)], -31_500, "BANKFINANCE_CREDITPAYMENT", counterparty_name="VEXCASH AG")
    told = signals(salary(), loan, repaid)["payday_loans"]
    assert (told["value"], told["points"], told["booking_count"]) == (2, 0, 2)


def test_only_the_latest_bookings_are_named() -> None:
    days = [date(2026, month, day) for month in (3, 4, 5) for day in range(1, 11)]
    stakes = book(days, -1_000, "RECREATION_OTHER", partner="TIPICO")
    told = signals(salary(), stakes)["gambling"]
    assert (told["booking_count"], told["bookings"]) == (30, stakes["id"].to_list()[-20:])


def test_unknown_balances_are_told_and_give_the_points_of_the_table() -> None:
    risk, told = anna(salary(), rent()), signals(salary(), rent())
    assert (told["savings_buffer"]["value"], told["savings_buffer"]["points"]) == (None, 2)
    assert risk["missing"] == [
        "kein Kontostand eines Girokontos: Tage im Minus unbekannt",
        "kein Kontostand: Rücklagen unbekannt",
    ]


def test_days_below_zero_follow_from_the_balance_and_the_bookings() -> None:
    """500 euros on the as-of date; before the salary of 2,500 euros on the first of June, the account was 2,000 below zero."""
    bookings = pl.concat([salary(months=14), rent(months=14, cents=-250_000, day=2)])
    told = signals(bookings, products=(giro(50_000),))
    assert told["days_below_zero"]["value"] == 0.0
    told = signals(bookings, products=(giro(-100_000),))
    days = (AS_OF_DAY - date(2025, 6, 1)).days + 1
    above = 13  # the first of every month, between salary and rent
    assert told["days_below_zero"]["value"] == pytest.approx((days - above) / days)


def test_the_buffer_is_what_could_be_spent_at_once() -> None:
    told = signals(
        salary(),
        rent(cents=-100_000),
        products=(giro(-50_000), ("geld", "CALL_MONEY", None, "Anna", 250_000), ("depot", "DEPOT", None, "Anna", 900_000)),
    )
    assert told["savings_buffer"]["value"] == 2.0
    assert told["savings_buffer"]["reason"] == "Guthaben für 2 Monate Ausgaben"


def test_an_account_that_is_connected_twice_counts_once() -> None:
    iban = "DE02120300000000202051"
    twice = (("giro", "CHECKING", iban, "Anna", 100_000), ("giro2", "CHECKING", iban, "Anna", 100_000))
    assert signals(salary(), rent(cents=-100_000), products=twice)["savings_buffer"]["value"] == 1.0


# Stress and instalment


def test_the_instalment_leaves_a_tenth_of_the_income_and_two_fifths_for_all_instalments() -> None:
    roomy = anna(salary(cents=200_000), rent(cents=-60_000))
    assert roomy["affordable_instalment"] == 200_000 * 4 // 10  # 1,200 euros would be left
    tight = anna(salary(cents=200_000), rent(cents=-150_000))
    assert tight["affordable_instalment"] == 200_000 * 9 // 10 - 150_000
    assert anna(salary(cents=200_000), rent(cents=-190_000))["affordable_instalment"] == 0


def test_existing_instalments_leave_less_room() -> None:
    loan = book(monthly(14, 5), -50_000, "BANKFINANCE_CREDITPAYMENT", counterparty_key="bank", channel="DIRECTDEBIT")
    told = anna(salary(cents=200_000), loan)
    assert (told["debt_service_cents"], told["affordable_instalment"]) == (50_000, 30_000)


def test_stress_lowers_the_income() -> None:
    told = anna(salary(cents=200_000), rent(cents=-60_000))
    assert [told[f"{name}_surplus"] for name in ("income_less_10", "income_less_20", "rate_plus_2")] == [
        120_000,
        100_000,
        140_000,
    ]
    assert told["score"] >= told["income_less_10_score"] >= told["income_less_20_score"]


def test_higher_rates_cost_two_hundredths_of_what_is_owed_a_year() -> None:
    loan = book(monthly(14, 5), -50_000, "BANKFINANCE_CREDITPAYMENT", counterparty_key="bank", channel="DIRECTDEBIT")
    own = anna(salary(cents=200_000), loan, products=(giro(0), ("kredit", "LOAN", None, "Anna", -1_200_000)))
    assert own["rate_plus_2_surplus"] == own["surplus"] - 2_000
    assert own["rate_plus_2_debt_service"] == pytest.approx((50_000 + 2_000) / 200_000)
