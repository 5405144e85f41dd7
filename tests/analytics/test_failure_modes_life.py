"""Where wages, housing, families and own money are known to be misread, by name: each mode a life in raw bookings, read on the
whole real way.
"""

from datetime import date

import polars as pl
import pytest

from tests.analytics.lives import months
from tests.analytics.statements import (
    GIRO,
    INTO,
    ORDER,
    OUT,
    PAY,
    PUBLIC,
    Book,
    debits,
    everyday,
    iban,
    lines,
    wage,
)

BOOK = Book()
ALWAYS = ("2024-01", "2026-06")
ALIVE = everyday()


def employment(happened: dict[str, date]) -> set[str]:
    """The events that tell of wages."""
    return {item for item in happened if item.startswith(("EMPLOYMENT", "SALARY", "UNEMPLOYMENT"))}


ENTITIES = BOOK.life(
    ALIVE,
    wage(*ALWAYS, 2_100.0, "Klinikum Nord gGmbH", 27),
    wage(*ALWAYS, 650.0, "Klinikum Nord Service GmbH", 28),
)
RENAMED = BOOK.life(
    ALIVE,
    wage("2024-01", "2025-06", 2_712.44, "Bauer Logistik GmbH"),
    wage("2025-07", "2026-06", 2_712.44, "Bauer Logistik Services GmbH & Co. KG"),
)


def test_a_wage_from_two_legal_entities_is_one_life_at_work() -> None:
    result = BOOK.told(ENTITIES)
    assert result.category("Klinikum") == {"INCOME_SALARY"}
    assert result.cents("INCOME", "2026_M05") == 275_000
    assert employment(result.happened) == set()
    assert "LABOURMARKET_EMPLOYED" in result.stages
    assert result.disposable["salary_latest"] == 210_000
    assert result.expected("INCOME_SALARY", "2026_M07")["fixed"] == 275_000


def test_a_wage_that_another_legal_entity_pays_from_now_on_does_not_end() -> None:
    result = BOOK.told(RENAMED)
    assert employment(result.happened) == set()
    assert "LABOURMARKET_EMPLOYED" in result.stages
    assert result.disposable["salary_latest"] == 271_244


BOTH = months(*ALWAYS, 28)
ALTERNATING = BOOK.life(
    ALIVE,
    lines(PAY, BOTH[::2], 2_450.17, "Rheinwerk Logistik GmbH", "LOHN / GEHALT {:%m/%Y} Personalnr. 004711"),
    lines(PAY, BOTH[1::2], 2_450.17, "Rheinwerk Verwaltung GmbH", "LOHN / GEHALT {:%m/%Y} Personalnr. 004711"),
)


@pytest.mark.xfail(
    strict=True, reason="two entities that pay in turn are two wages every second month; the latest is that of May"
)
def test_a_wage_that_two_legal_entities_pay_in_turn_comes_every_month() -> None:
    result = BOOK.told(ALTERNATING)
    assert employment(result.happened) == set()
    assert (result.disposable["date_salary_latest"], result.disposable["days_until_salary"]) == (date(2026, 6, 28), 28)


ADVANCE = BOOK.life(
    ALIVE,
    lines(PAY, months("2024-01", "2026-06", 14), 500.0, "Dachdeckerei Schulz GmbH", "Abschlag Lohn {:%m/%Y}"),
    lines(PAY, months("2024-01", "2026-06", 29), 1_712.3, "Dachdeckerei Schulz GmbH", "Lohn {:%m/%Y} Restzahlung"),
)
ADVANCED_ONCE = BOOK.life(
    ALIVE,
    wage(*ALWAYS, [2_450.17] * 26 + [1_450.17] + [2_450.17] * 3),
    lines(INTO, date(2026, 3, 12), 1_000.0, "Rheinwerk Logistik GmbH", "Lohnvorschuss Maerz 2026"),
)


def test_a_wage_advance_every_month_is_part_of_the_wage() -> None:
    result = BOOK.told(ADVANCE)
    assert result.category("Dachdeckerei") == {"INCOME_SALARY"}
    assert employment(result.happened) == set()
    assert result.cents("INCOME", "2026_M05") == 221_230
    assert result.disposable["salary_latest"] == 171_230
    assert result.expected("INCOME_SALARY", "2026_M07")["cents"] == 221_230


def test_a_wage_advance_once_neither_raises_nor_lowers_the_wage() -> None:
    result = BOOK.told(ADVANCED_ONCE)
    assert employment(result.happened) == set()
    assert result.contract(category="INCOME_SALARY")["amount_next"] == 245_017
    assert result.cents("INCOME", "2026_M03") == 245_017


PENSION = BOOK.life(
    ALIVE,
    lines(PAY, months(*ALWAYS, 30), 1_487.2, "Deutsche Rentenversicherung Bund", "RV-RENTE {:%m.%Y} VERS.NR. 53120347M012"),
)


def test_a_pension_under_gvc_153_is_a_pension() -> None:
    result = BOOK.told(PENSION)
    assert result.category("Rentenversicherung") == {"INCOME_PENSION"}
    assert result.contract(category="INCOME_PENSION")["status"] == "ACTIVE"
    assert "LABOURMARKET_RETIRED" in result.stages
    assert result.frames["disposable_money"].is_empty()
    assert set(result.tagged["insurance"]) == {"UNRELATED_OTHER"}


ALLIANZ = BOOK.life(
    ALIVE,
    lines(PAY, months(*ALWAYS, 28), 3_912.6, "Allianz Deutschland AG", "GEHALT {:%m/%Y} PERS.NR. 771234"),
    debits(months(*ALWAYS, 2), -41.3, "Allianz Versicherungs-AG", "KFZ-Versicherung K-AM 471 Vers.-Nr. AS-9123456789"),
)
SPARKASSE = BOOK.life(
    ALIVE, lines(PAY, months(*ALWAYS, 15), 3_105.9, "Sparkasse KoelnBonn", "Bezuege {:%m/%Y} Personalnummer 0815")
)


@pytest.mark.parametrize(("user", "name"), [(ALLIANZ, "Allianz Deutschland"), (SPARKASSE, "Sparkasse")])
def test_an_employer_named_like_a_bank_or_insurer_pays_a_salary(user: str, name: str) -> None:
    result = BOOK.told(user)
    assert result.category(name) == {"INCOME_SALARY"}
    assert result.contract(category="INCOME_SALARY")["insurance"] == "UNRELATED_OTHER"
    assert "LABOURMARKET_EMPLOYED" in result.stages


def test_an_employee_of_an_insurer_still_has_a_policy_there() -> None:
    assert BOOK.told(ALLIANZ).contract(insurance="VEHICLE_CAR")["amount_total_regular"] == 30 * -4_130


LANDLADY = BOOK.life(ALIVE, lines(ORDER, months(*ALWAYS, 1), -690.0, "Hildegard Schneider", "Miete Kaiserstr. 12 EG links"))
AUNT = BOOK.life(ALIVE, lines(ORDER, months(*ALWAYS, 3), -450.0, "Renate Muster", "Miete {:%m.%Y}"))
PARKED = BOOK.life(
    ALIVE, lines(ORDER, months(*ALWAYS, 1), -815.0, "Wohnbau Rheinland eG", "Miete Whg 12 inkl. Stellplatz Tiefgarage 14")
)


@pytest.mark.parametrize(("user", "cents"), [(LANDLADY, -69_000), (AUNT, -45_000)])
def test_a_landlord_who_is_a_private_person_or_relative_is_paid_rent(user: str, cents: int) -> None:
    result = BOOK.told(user)
    contract = result.contract()
    assert (contract["category"], contract["amount_latest"], contract["status"]) == ("HOUSING_RENT", cents, "ACTIVE")
    assert "HOUSING_TENANT" in result.stages
    assert result.afford["rental_payments"]


def test_a_rent_incl_parking_is_rent() -> None:
    result = BOOK.told(PARKED)
    assert result.category("Stellplatz") == {"HOUSING_RENT"}
    assert result.contract()["period"] == "MONTH_ONE"
    assert result.cents("MOBILITY_PARKING", "TOTAL_TOTAL") == 0


EARLY = [*months("2024-07", "2025-05", 1), date(2025, 5, 30), *months("2025-07", "2025-08", 1), date(2025, 8, 29)]
EARLY += [*months("2025-10", "2026-06", 1)]
TWICE_IN_MAY = BOOK.life(everyday(date(2024, 7, 1)), lines(ORDER, EARLY, -720.0, "Wohnbau Rheinland eG", "Miete Whg 12"))


def test_a_rent_paid_on_the_30th_then_1st_is_one_rent_without_a_gap() -> None:
    result = BOOK.told(TWICE_IN_MAY)
    contract = result.contract()
    assert (contract["period"], contract["regular_count"], contract["status"]) == ("MONTH_ONE", 24, "ACTIVE")
    assert (contract["amount_total_non_regular"], contract["date_next"]) == (0, date(2026, 7, 1))
    assert result.happened == {}
    assert result.cents("HOUSING_RENT", "2025_M05") == -144_000


MOVING = [
    *ALIVE,
    *wage(*ALWAYS),
    *lines(ORDER, months("2024-01", "2026-04", 1), -690.0, "Hildegard Schneider", "Miete Kaiserstr. 12 EG links"),
    *lines(ORDER, months("2026-04", "2026-06", 2), -880.0, "Wohnbau Rheinland eG", "Miete Whg 12 {:%m.%Y}"),
]
DEPOSIT = lines(OUT, date(2026, 3, 20), -2_640.0, "Wohnbau Rheinland eG", "Mietkaution Whg 12")


@pytest.mark.parametrize("user", [BOOK.life(MOVING), BOOK.life(MOVING, DEPOSIT)])
def test_a_double_rent_on_moving_is_one_move(user: str) -> None:
    result = BOOK.told(user)
    assert {item for item in result.happened if item.startswith("TENANCY")} == {"TENANCY_CHANGE"}
    assert result.happened["TENANCY_CHANGE"] == date(2026, 4, 2)
    assert result.contract(category="HOUSING_RENT", status="ACTIVE")["amount_next"] == -88_000
    assert "LIFEEVENT_NEWAPARTMENT" in result.triggers


HOUSE = "Vonovia SE"
WITHIN = BOOK.life(
    ALIVE,
    wage(*ALWAYS),
    debits(months("2024-01", "2026-04", 3), -640.0, HOUSE, "Miete 1-1234/0815 {:%m.%Y}", mandate="V1"),
    debits(months("2026-04", "2026-06", 3), -910.0, HOUSE, "Miete 1-9876/0042 {:%m.%Y}", mandate="V2"),
)


def test_a_double_rent_on_moving_within_the_houses_of_one_landlord_is_one_move() -> None:
    result = BOOK.told(WITHIN)
    assert {item for item in result.happened if item.startswith("TENANCY")} == {"TENANCY_CHANGE"}
    assert "LIFEEVENT_NEWAPARTMENT" in result.triggers


CIVIL_SERVANT = BOOK.life(
    ALIVE,
    lines(
        PAY,
        months(*ALWAYS, 30),
        4_218.33,
        "Landesamt fuer Besoldung und Versorgung NRW",
        "BEZUEGE {:%m/%Y} INKL. FAMILIENZUSCHLAG UND KINDERGELD PERS.NR. 12345678",
    ),
)


def test_child_benefit_inside_civil_service_pay_is_pay() -> None:
    result = BOOK.told(CIVIL_SERVANT)
    assert result.category("BEZUEGE") == {"INCOME_SALARY"}
    assert result.contract()["amount_latest"] == 421_833
    assert "LABOURMARKET_EMPLOYED" in result.stages
    assert result.happened == {}


BENEFIT = "KG123456FK123456 {:%m%y} KINDERGELD"
BIRTH = BOOK.life(
    ALIVE,
    wage(*ALWAYS),
    lines(
        PUBLIC,
        [date(2025, 9, 10), *months("2025-10", "2025-12", 8)],
        [765.0, 255.0, 255.0, 255.0],
        "Familienkasse NRW West",
        BENEFIT,
    ),
    lines(PUBLIC, months("2026-01", "2026-06", 8), 259.0, "Familienkasse NRW West", BENEFIT),
)
ARREARS = BOOK.life(ALIVE, wage(*ALWAYS, [2_450.17] * 24 + [3_980.55] + [2_450.17] * 5))


def test_back_pay_of_child_benefit_is_one_child() -> None:
    result = BOOK.told(BIRTH)
    assert result.happened == {"CHILD_FIRST": date(2025, 9, 10)}
    assert result.contract(category="INCOME_STATE_FAMILY")["amount_next"] == 25_900


def test_back_pay_of_wages_is_no_rise() -> None:
    result = BOOK.told(ARREARS)
    assert employment(result.happened) == set()
    assert result.contract(category="INCOME_SALARY")["amount_next"] == 245_017


TAX_REFUND = BOOK.life(
    ALIVE,
    wage(*ALWAYS),
    lines(
        INTO,
        [date(2024, 8, 14), date(2025, 8, 13), date(2026, 6, 10)],
        [1_123.0, 987.0, 1_311.5],
        "Finanzamt Koeln-Mitte",
        "ERSTATTUNG STNR 215/5123/0815 EINK.ST 2025",
    ),
)


def test_a_tax_refund_is_income_but_no_salary() -> None:
    result = BOOK.told(TAX_REFUND)
    assert result.category("Finanzamt") == {"INCOME_OTHER"}
    assert result.contract(category="INCOME_SALARY")["regular_count"] == 30
    assert result.disposable["salary_latest"] == 245_017
    assert result.cents("INCOME", "2026_M06") == 245_017 + 131_150
    assert employment(result.happened) == set()


PAY_OUT = BOOK.life(
    ALIVE,
    wage(*ALWAYS),
    lines(INTO, date(2026, 5, 12), 15_000.0, "Santander Consumer Bank AG", "Kreditauszahlung Darlehen 1234567890"),
)
BONUS = BOOK.life(ALIVE, wage(*ALWAYS), lines(PAY, date(2026, 5, 12), 15_000.0, "Rheinwerk Logistik GmbH", "Bonus 2025"))


def test_a_credit_pay_out_is_no_large_income() -> None:
    result = BOOK.told(PAY_OUT)
    assert result.category("Santander") == {"BANKFINANCE_CREDITINCOME"}
    assert result.cents("INCOME", "2026_M05") == 245_017
    assert result.happened == {"LOAN_START": date(2026, 5, 12)}
    assert "FINANCIAL_LARGEINCOME" not in result.triggers


def test_a_large_income_is_one() -> None:
    result = BOOK.told(BONUS)
    assert result.cents("INCOME", "2026_M05") == 245_017 + 1_500_000
    assert result.happened["LARGEINCOME"] == date(2026, 5, 12)
    assert "FINANCIAL_LARGEINCOME" in result.triggers


SHOP = "Zalando Payments GmbH"
REFUND = BOOK.life(
    ALIVE,
    wage(*ALWAYS),
    debits([date(2026, 5, 4), date(2026, 5, 6)], [-89.9, -59.95], SHOP, "10108123456{n} Zalando Bestellung", mandate="ZAL{n}"),
    lines(INTO, date(2026, 5, 20), 149.85, SHOP, "Erstattung Zalando Retoure 10108123456"),
)


def test_a_refund_larger_than_the_purchase_is_no_income() -> None:
    result = BOOK.told(REFUND)
    back = result.tagged.filter(amount_cents=14_985).row(0, named=True)
    assert (back["category"], back["effective_category"]) == ("TRANSFER_REFUND", "SHOPPING_CLOTHINGACCESSORIES")
    assert result.cents("INCOME", "2026_M05") == 245_017
    assert result.cents("SHOPPING_CLOTHINGACCESSORIES", "2026_M05") == 0
    assert result.afford["luxuries"] == 0


COUPLES = ("Anna Muster und Ben Muster", "Anna und Ben Muster", "Muster Anna, Muster Ben", "Anna Muster / Ben Muster")
COUPLE = {
    couple: BOOK.life(
        ALIVE,
        lines(INTO, months(*ALWAYS, 2), 900.0, "Ben Muster", "Haushaltskonto Anteil Ben"),
        lines(OUT, [date(2026, 4, 8), date(2026, 5, 21)], [-120.0, -64.5], "Ben Muster", "Auslagen Urlaub"),
        lines(ORDER, months(*ALWAYS, 4), -780.0, "Wohnbau Rheinland eG", "Miete Whg 12 {:%m.%Y}"),
        products=[(*GIRO[:3], couple)],
    )
    for couple in COUPLES
}


@pytest.mark.parametrize("couple", COUPLES)
def test_a_joint_account_with_partners_transfers_keeps_them_in_view(couple: str) -> None:
    result = BOOK.told(COUPLE[couple])
    ours = result.tagged.filter(counterparty_name="Ben Muster")
    assert not ours["category"].str.starts_with("TRANSFER_").any()
    assert "INCOME_SALARY" not in set(ours["category"])
    assert result.cents("INCOME", "2026_M05") == 90_000
    assert employment(result.happened) == set()


MIDDLE_NAME = BOOK.life(
    ALIVE,
    wage(*ALWAYS),
    lines(ORDER, months(*ALWAYS, 30), -300.0, "Anna Maria Muster", "Uebertrag"),
    lines(INTO, date(2026, 5, 14), 750.0, "MUSTER, ANNA MARIA", "Uebertrag", counterparty_iban=iban("Anna Maria Muster")),
)


def test_an_own_name_with_a_middle_name_is_an_own_account() -> None:
    result = BOOK.told(MIDDLE_NAME)
    own = result.tagged.filter(pl.col("purpose") == "Uebertrag")
    assert own["category"].str.starts_with("TRANSFER_").all()
    assert result.cents("INCOME", "2026_M05") == 245_017
    assert result.contracts["category"].to_list() == ["INCOME_SALARY"]
