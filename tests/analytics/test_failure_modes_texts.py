"""Where banks' texts and partners are known to mislead, by name: each mode a life in raw bookings, read on the whole real way."""

from datetime import date

import polars as pl
import pytest

from tests.analytics.lives import months
from tests.analytics.statements import CARD, CLOSING, INTO, OUT, Book, debits, everyday, lines, wage, weekly

BOOK = Book()
YEAR_OF = ("2025-07", "2026-06")


SUPERMARKET = BOOK.life(
    lines(
        CARD,
        weekly(date(2026, 6, 27), 70),
        [-(3_500 + at * 733 % 6_100) / 100 for at in range(70)],
        "REWE Markt GmbH 4711//Koeln/DE",
        "{:%Y-%m-%d}T10:12 Debitk.4 2028-12",
    ),
    lines(
        CARD, weekly(date(2026, 6, 26), 52), [-20.0, -25.0, -22.5, -20.0] * 13, "BAECKEREI KAMPS//KOELN/DE", "Debitk.4 2028-12"
    ),
)


def test_the_supermarket_on_the_same_weekday_is_no_contract() -> None:
    told = BOOK.told(SUPERMARKET)
    assert told.category("REWE") == {"LIVING_GROCERIES"}
    assert told.contracts.is_empty()
    assert told.expected("LIVING_GROCERIES", "2026_M07")["fixed"] == 0


TOWN = "Stadtwerke Musterstadt GmbH"
STADTWERKE = BOOK.life(
    debits(months("2025-01", "2026-06", 1), -78.0, TOWN, "Abschlag Strom {:%m.%Y} Vertragskonto 800123456", mandate="SW001"),
    debits(
        months("2025-01", "2026-06", 15), -112.0, TOWN, "Abschlag Fernwaerme {:%m.%Y} Vertragskonto 800123457", mandate="SW002"
    ),
    debits(months("2025-03", "2026-06", 5), -58.0, TOWN, "Deutschlandticket Abo {:%m/%Y} Kundennr. 99812", mandate="SW003"),
    lines(CARD, [date(2026, 3, 7), date(2026, 4, 18), date(2026, 6, 6)], -7.5, "Stadtwerke Musterstadt Hallenbad", "Debitk.4"),
    lines(
        CARD,
        [date(2026, 2, 3), date(2026, 2, 19), date(2026, 5, 12)],
        [-3.0, -6.5, -2.0],
        "Stadtwerke Musterstadt Parkhaus",
        "Deb",
    ),
)


def test_stadtwerke_with_power_heat_bus_pass_pool_and_parking_are_three_contracts() -> None:
    told = BOOK.told(STADTWERKE)
    assert dict(told.contracts.select("category", "amount_latest").rows()) == {
        "BILLS_ELECTRICITY": -7_800,
        "BILLS_HEATING": -11_200,
        "MOBILITY_PUBLICTRANSPORT": -5_800,
    }
    assert set(told.contracts["period"]) == {"MONTH_ONE"}
    assert told.category("Parkhaus") == {"MOBILITY_PARKING"}
    assert told.category("Hallenbad") == {"RECREATION_SPORTS"}


TELEKOM = BOOK.life(
    debits(
        months(*YEAR_OF, 12),
        [-94.85] * 8 + [-97.35, -94.85, -94.85, -94.85],
        "Telekom Deutschland GmbH",
        "Festnetz Vertragskonto 2712345678 RG 6612345{n:03} Mobilfunk 01701234567 Geraeterate 12/24 {:%d.%m.%y}",
    )
)


def test_telekom_with_fixed_line_mobile_and_device_in_one_debit_is_one_contract() -> None:
    contract = BOOK.told(TELEKOM).contract()
    assert (contract["category"], contract["partner"]) == ("BILLS_TELECOMMUNICATIONS", "TELEKOM")
    assert (contract["period"], contract["status"], contract["regular_count"]) == ("MONTH_ONE", "ACTIVE", 12)


INSURER = BOOK.life(
    *(
        debits(days, euros, "Allianz Versicherungs-AG", f"{what} Beitrag {{:%m.%Y}}", mandate="ALZ-0815-1")
        for days, euros, what in (
            (
                [date(2024, 1, 2), date(2025, 1, 2), date(2026, 1, 2)],
                -412.80,
                "KFZ-Versicherung K-AM 471 Vers.-Nr. AS-9123456789",
            ),
            ([date(2024, 4, 2), date(2025, 4, 1), date(2026, 4, 1)], -89.20, "Hausratversicherung Vers.-Nr. AS-9123456790"),
            ([date(2024, 7, 1), date(2025, 7, 1)], -64.90, "Privathaftpflicht Vers.-Nr. AS-9123456791"),
            (months("2025-01", "2026-06", 2), -23.75, "Rechtsschutzversicherung Vers.-Nr. AS-9123456792"),
            (months("2025-01", "2026-06", 2), -31.40, "Unfallversicherung Vers.-Nr. AS-9123456793"),
        )
    )
)


def test_an_insurer_with_five_policies_under_one_mandate_has_five_contracts() -> None:
    found = BOOK.told(INSURER).contracts
    assert sorted(found.select("insurance", "period", "amount_latest").rows()) == [
        ("HOME_CONTENTS", "YEAR_ONE", -8_920),
        ("INCAPACITY_ACCIDENT", "MONTH_ONE", -3_140),
        ("LIABILITY_PRIVATE", "YEAR_ONE", -6_490),
        ("SPECIAL_LEGAL", "MONTH_ONE", -2_375),
        ("VEHICLE_CAR", "YEAR_ONE", -41_280),
    ]


WORDLESS = BOOK.life(
    *(
        debits(
            months(*YEAR_OF, 2), euros, "Allianz Versicherungs-AG", f"Vers.-Nr. AS-912345678{n} Beitrag {{:%m.%Y}}", mandate="A1"
        )
        for n, euros in enumerate((-23.75, -31.4, -12.1, -55.0, -24.2))
    )
)


def test_an_insurer_with_five_policies_of_which_only_the_numbers_are_told_has_five_contracts() -> None:
    found = BOOK.told(WORDLESS).contracts
    assert sorted(found["amount_latest"]) == [-5_500, -3_140, -2_420, -2_375, -1_210]
    assert set(found["insurance"]) == {"OTHER_OTHER"}


ROTATING = BOOK.life(
    debits(months(*YEAR_OF, 3), -29.99, "FitX Deutschland GmbH", "Mitgliedsbeitrag {:%m/%Y} Mitglied 123456", mandate="FX{n:06}")
)


def test_rotating_mandates_are_one_contract() -> None:
    contract = BOOK.told(ROTATING).contract()
    assert (contract["category"], contract["period"], contract["regular_count"]) == ("RECREATION_SPORTS", "MONTH_ONE", 12)


PAYPAL = "PayPal Europe S.a.r.l. et Cie S.C.A"
PAYPAL_BOUGHT = [date(2025, 9, 3), date(2025, 11, 28), date(2026, 1, 9), date(2026, 3, 22), date(2026, 6, 11)]
PAYPAL_LIFE = BOOK.life(
    debits(months(*YEAR_OF, 8), -10.99, PAYPAL, "1034567890{n:03} PP.5678.PP . SPOTIFY, Ihr Einkauf bei SPOTIFY", mandate="PP1"),
    debits(months(*YEAR_OF, 17), -13.99, PAYPAL, "1034567891{n:03} PP.5678.PP . NETFLIX, Ihr Einkauf bei NETFLIX", mandate="PP1"),
    debits(
        PAYPAL_BOUGHT,
        [-48.9, -139.0, -23.5, -71.2, -15.0],
        PAYPAL,
        "1034567892{n:03} PP.5678.PP . ZALANDO SE, Ihr Einkauf bei ZALANDO SE",
        mandate="PP1",
    ),
    debits(PAYPAL_BOUGHT[1:4], [-12.0, -88.0, -5.5], PAYPAL, "103{n:03} PP.5678.PP . EBAY, Ihr Einkauf bei EBAY", mandate="PP1"),
)


def test_paypal_subscriptions_are_contracts_and_purchases_are_not() -> None:
    told = BOOK.told(PAYPAL_LIFE)
    assert sorted(told.contracts.select("partner", "amount_latest").rows()) == [("NETFLIX", -1_399), ("SPOTIFY", -1_099)]
    assert told.category("ZALANDO") == {"SHOPPING_CLOTHINGACCESSORIES"}


PRIME = BOOK.life(
    debits(
        months(*YEAR_OF, 6),
        -8.99,
        "AMAZON EU S.A R.L., NIEDERLASSUNG DEUTSCHLAND",
        "D01-12345{n:02} Amazon Prime DE",
        mandate="AMZ1",
    ),
    debits(
        [date(2025, 8, 4), date(2025, 8, 19), date(2025, 10, 6), date(2025, 12, 8), date(2026, 2, 20), date(2026, 5, 30)],
        [-24.98, -102.4, -8.99, -61.0, -17.49, -33.2],
        "AMAZON PAYMENTS EUROPE S.C.A.",
        "302-123456{n}-7654321 AMZN Mktp DE",
        mandate="AMZ2",
    ),
)


def test_amazon_prime_is_a_contract_and_an_order_is_not() -> None:
    told = BOOK.told(PRIME)
    contract = told.contract()
    assert (contract["category"], contract["amount_latest"], contract["regular_count"]) == ("RECREATION_ONLINE", -899, 12)
    assert contract["amount_total_non_regular"] == 0
    assert told.category("Mktp") == {"SHOPPING_OTHER"}


FRIDAYS = weekly(date(2026, 6, 26), 40)
FRIENDS = BOOK.life(
    lines(OUT, FRIDAYS, -15.0, "Jonas Weber", "Danke fuer gestern"), lines(INTO, FRIDAYS, 15.0, "Miriam Krause", "Kochabend")
)
PLAYERS = BOOK.life(lines(OUT, FRIDAYS, -15.0, "Jonas Weber", "Fussball Freitag"))


@pytest.mark.parametrize("user", [FRIENDS, PLAYERS])
def test_the_same_amount_every_friday_between_friends_is_no_contract(user: str) -> None:
    told = BOOK.told(user)
    assert told.contracts.is_empty()
    assert told.happened == {}


NEGATIVE = BOOK.life(
    everyday(date(2021, 1, 4), date(2022, 6, 30)),
    wage("2021-01", "2022-06"),
    lines(
        CLOSING,
        [date(2021, 9, 30), date(2021, 12, 31), date(2022, 3, 31), date(2022, 6, 30)],
        [-31.25, -33.1, -29.75, -30.4],
        None,
        "Abrechnung {:%d.%m.%Y} Verwahrentgelt 0,50 % p.a. fuer Guthaben ueber 25.000 EUR",
    ),
    as_of=date(2022, 6, 30),
)


def test_negative_interest_is_a_cost_and_neither_income_nor_overdraft() -> None:
    told = BOOK.told(NEGATIVE)
    (category,) = told.category("Verwahrentgelt")
    assert category in {"SERVICES_FINANCIAL", "BANKFINANCE_OTHER"}
    assert told.cents(category, "2022_Q2") == -3_040
    assert told.cents("INCOME", "2022_M06") == 245_017
    assert told.afford["overdraft_ids"] == []


FOREIGN = BOOK.life(
    everyday(date(2026, 1, 2)),
    lines(CARD, date(2026, 5, 9), -21.06, "COOP-4711 BASEL", "Original 20,00 CHF 1 Euro=0,9497 CHF Zahl.System VISA Debit"),
    lines(CARD, [date(2026, 5, 10), date(2026, 5, 11)], [-3_000.0, -80.0], "HOTEL BELLEVUE BERN", "Debitk.4", currency="CHF"),
    lines(INTO, date(2026, 5, 12), 5_000.0, "Muster AG Zuerich", "Honorar", currency="CHF"),
)


def test_foreign_currency_lines_are_not_added_to_euros() -> None:
    told = BOOK.told(FOREIGN)
    euros = told.tagged.filter(pl.col("currency") == "EUR", pl.col("booked_on").dt.strftime("%Y-%m") == "2026-05")
    assert told.cents("NET", "2026_M05") == euros["amount_cents"].sum()
    assert told.cents("INCOME", "2026_M05") == 0
    assert told.category("COOP") == {"LIVING_GROCERIES"}
    assert told.happened == {}


N26 = {"booking_text": "MasterCard Payment"}
EMPTY = BOOK.life(
    lines(N26, [date(2026, 5, 2), date(2026, 5, 20)], [-31.2, -18.9], "REWE", "", counterparty_iban=None),
    lines(N26, months(*YEAR_OF, 11), -13.99, "NETFLIX.COM", "", counterparty_iban=None),
    lines(N26, [date(2026, 5, 3), date(2026, 6, 1)], [-62.0, -55.4], "Aral Station 123", "", counterparty_iban=None),
    lines(
        {"booking_text": "Kartenzahlung"},
        [date(2026, 5, 5), date(2026, 6, 4)],
        [-12.7, -23.1],
        "ROSSMANN.3456/Berlin",
        "",
        counterparty_iban=None,
    ),
)


def test_an_empty_purpose_of_n26_or_a_dkb_card_leaves_the_name_to_tell() -> None:
    told = BOOK.told(EMPTY)
    assert told.category("REWE") == {"LIVING_GROCERIES"}
    assert told.category("Aral") == {"MOBILITY_FUEL"}
    assert told.category("ROSSMANN") == {"LIVING_DRUGSTORE"}
    contract = told.contract()
    assert (contract["partner"], contract["period"], contract["regular_count"]) == ("NETFLIX", "MONTH_ONE", 12)
