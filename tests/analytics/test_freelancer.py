"""What bookings are for the self-employed, told by examples."""

import polars as pl

from analytics import trees
from analytics.tagging.freelancer import add_freelancer
from tests.analytics.drawing import line, lines, quoted_words

BOOKINGS = """
BILLS_MOBILE | Telekom | Rechnung | -30 | TELECOMMUNICATIONS
BILLS_FIXEDINTERNET | Stadtnetz | Glasfaser | -40 | TELECOMMUNICATIONS
BILLS_TELECOMMUNICATIONS | Vodafone | Rechnung | -40 | TELECOMMUNICATIONS
BILLS_ELECTRICITY | Stadtwerke | Strom | -80 | PREMISES_OTHER
BILLS_HEATING | Gaswerk | Gas | -80 | PREMISES_OTHER
HOUSING_SERVICES | Gebäudereinigung | Mai | -80 | PREMISES_OTHER
HOUSING_RENT | Peter Vogel | Miete Mai | -900 | PRIVATE
HOUSING_RENT | Immo GmbH | Büromiete Mai | -600 | RENT_PREMISES
HOUSING_RENT | Hausverwaltung | Miete Praxisräume | -900 | RENT_PREMISES
SERVICES_OTHER | betahaus Coworking | Desk Mai | -250 | RENT_PREMISES
MOBILITY_FUEL | Aral | | -70 | VEHICLE_RUNNING
MOBILITY_SERVICES | Kfz-Werkstatt | Inspektion | -400 | VEHICLE_RUNNING
MOBILITY_PARKING | Parkhaus | | -6 | VEHICLE_RUNNING
MOBILITY_PUBLICTRANSPORT | DB Vertrieb | | -60 | TRAVEL_TRANSPORT
MOBILITY_TAXI | Taxi | | -20 | TRAVEL_TRANSPORT
TRAVEL_TRANSPORT | Eurowings | | -120 | TRAVEL_TRANSPORT
TRAVEL_ACCOMMODATION | Hotel | | -120 | TRAVEL_ACCOMMODATION
MOBILITY_VEHICLEACQUISITION | VW Leasing | Leasingrate | -300 | VEHICLE_LEASING
MOBILITY_VEHICLEACQUISITION | Autohaus | Kaufpreis | -15000 | FIXED_ASSETS
TAXES | Bundeskasse | Kfz-Steuer | -120 | VEHICLE_TAX_INSURANCE
TAXES | Finanzamt Köln | UST 1. Quartal | -900 | VAT_PAID
INCOME_OTHER | Finanzamt Köln | Umsatzsteuer Erstattung | 300 | VAT_REFUND
TAXES | Finanzamt Köln | EST Vorauszahlung | -900 | INCOME_TAX
TAXES | Gemeinde | Gewerbesteuer | -900 | TRADE_TAX
TAXES | Gemeinde | Grundsteuer | -90 | PRIVATE
TAXES | TK | Sozialversicherungsbeiträge 05/24 | -700 | PERSONNEL
TAXES | Künstlersozialkasse | Beitrag | -200 | SOCIAL_SECURITY
EDUCATION_TRAINING | Akademie | Seminar | -400 | TRAINING
SERVICES_FINANCIAL | Steuerberater | Rechnung | -300 | LEGAL_TAX_ADVICE
SERVICES_OFFLINE | Rechtsanwalt Recht | Kostennote | -300 | LEGAL_TAX_ADVICE
SERVICES_OFFLINE | Deutsche Post | | -15 | WORK_EQUIPMENT
SERVICES_OFFLINE | Übersetzungsbüro Wort | Auftrag 5 | -300 | EXTERNAL_SERVICES
SERVICES_OFFLINE | Textilreinigung | | -15 | PRIVATE
SERVICES_ONLINE | Hetzner | Server | -20 | IT_COSTS
SERVICES_ONLINE | Google Ads | | -200 | ADVERTISING
SERVICES_ONLINE | Parship | | -50 | PRIVATE
SHOPPING_OTHER | Büromarkt Tinte | Bürobedarf | -40 | WORK_EQUIPMENT
SHOPPING_OTHER | Amazon | Bestellung | -40 | PRIVATE
SHOPPING_ELECTRONICS | MediaMarkt | | -300 | LOW_VALUE_ASSETS
SHOPPING_ELECTRONICS | MediaMarkt | | -1800 | FIXED_ASSETS
SHOPPING_DIGITALCONTENT | Adobe | Lizenz | -60 | IT_COSTS
SHOPPING_DIGITALCONTENT | Steam | Games | -60 | PRIVATE
HOUSING_FURNISHING | Möbelhaus | Schreibtisch | -300 | LOW_VALUE_ASSETS
HOUSING_FURNISHING | Möbelhaus | Sofa | -800 | PRIVATE
RECREATION_ENTERTAINMENTFOOD | Ristorante | | -80 | PRIVATE
RECREATION_ENTERTAINMENTFOOD | Ristorante | Geschäftsessen Projekt Nord | -80 | ENTERTAINMENT
RECREATION_ENTERTAINMENTFOOD | Gasthaus Krone | Bewirtung Fa. Müller | -80 | ENTERTAINMENT
RECREATION_ENTERTAINMENTFOOD | Café Zeitlos | Kuchen | -12 | PRIVATE
RECREATION_PRINTED | Fachverlag | Abo | -30 | WORK_EQUIPMENT
BANKFINANCE_OTHER | | Kontoführung | -9 | FEES_CONTRIBUTIONS_INSURANCE
BANKFINANCE_OTHER | | Sollzinsen | -9 | INTEREST
BANKFINANCE_CREDITPAYMENT | Bank | Ratenkredit | -200 | PRIVATE
BANKFINANCE_CREDITPAYMENT | Bank | Darlehenszinsen | -80 | INTEREST
SERVICES_OTHER | IHK Köln | Beitrag 2024 | -180 | FEES_CONTRIBUTIONS_INSURANCE
SERVICES_OTHER | VBG | Berufsgenossenschaft | -180 | FEES_CONTRIBUTIONS_INSURANCE
HOUSING_SERVICES | Minijob-Zentrale | Beitrag | -90 | PERSONNEL
OTHER_SPENDING | Lena Roth | Aushilfslohn Mai | -450 | PERSONNEL
LIVING_GROCERIES | Metro Deutschland | Großhandel | -300 | GOODS_MATERIALS
OTHER_SPENDING | grenke AG | Leasing Kopierer | -90 | RENT_LEASING_MOVABLES
OTHER_SPENDING | Max Design | Honorar RE 12 | -900 | EXTERNAL_SERVICES
INCOME_OTHER | Agentur GmbH | Rechnung 2024-17 | 1900 | REVENUE
INCOME_OTHER | Stripe Payments | Payout | 900 | REVENUE
OTHER_INCOME | Lena Roth | Verkauf Laptop | 400 | REVENUE_ASSETSALE
INCOME_OTHER | Jobcenter | Bürgergeld | 500 | PRIVATE
INCOME_SALARY | Werk GmbH | Lohn | 2000 | PRIVATE
TRANSFER_INTERNAL | Anna Müller | | -500 | WITHDRAWAL
TRANSFER_OTHER | Anna Müller | | 500 | CONTRIBUTION
LIVING_GROCERIES | REWE | | -50 | PRIVATE
SHOPPING_CLOTHINGACCESSORIES | Modehaus | | -50 | PRIVATE
FAMILY_TOYS | Spielwaren | | -50 | PRIVATE
"""
INSURED = """
VEHICLE_CAR | VEHICLE_TAX_INSURANCE
LIABILITY_PROFESSIONAL | FEES_CONTRIBUTIONS_INSURANCE
OTHER_COMMERCIAL | FEES_CONTRIBUTIONS_INSURANCE
SPECIAL_CYBER | FEES_CONTRIBUTIONS_INSURANCE
HEALTH_STATUTORY | SOCIAL_SECURITY
HEALTH_PRIVATE | SOCIAL_SECURITY
PROVISIONARY_BASIC | SOCIAL_SECURITY
INCAPACITY_OCCUPATIONAL | SOCIAL_SECURITY
HOME_CONTENTS | PRIVATE
LIABILITY_PRIVATE | PRIVATE
"""


def table(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("|")] for row in text.strip().splitlines()]


def tagged_lines() -> pl.DataFrame:
    drawn = [
        line(name, purpose, float(amount), category=category, insurance="")
        for category, name, purpose, amount, _ in table(BOOKINGS)
    ]
    return add_freelancer(lines(*drawn))


def test_categories_and_words_say_the_item() -> None:
    rows = table(BOOKINGS)
    found = tagged_lines()["freelancer"].to_list()
    assert [(row, item) for row, item in zip(rows, found, strict=True) if row[4] != item] == []


def test_the_insurance_product_says_it_for_premiums() -> None:
    subs = dict(trees.insurance_types_frame().select("system_name", "subcategory").iter_rows())
    rows = table(INSURED)
    drawn = [line("Versicherung", "Beitrag", -90.0, category=subs[product], insurance=product) for product, _ in rows]
    assert add_freelancer(lines(*drawn))["freelancer"].to_list() == [item for _, item in rows]


def test_every_category_has_an_item() -> None:
    drawn = [
        line("", "", 50.0 if item.sign == "+" else -50.0, category=item.system_name)
        for item in trees.tree("CATEGORIES").assignable
    ]
    found = add_freelancer(lines(*drawn))
    items = {item.system_name for item in trees.tree("FREELANCER_CATEGORIES").assignable}
    assert set(found["freelancer"]) <= items
    assert found["freelancer_reason"].null_count() == 0


def test_quoted_words_stand_in_the_line() -> None:
    for row in tagged_lines().iter_rows(named=True):
        for word in quoted_words(row["freelancer_reason"]):
            assert word in f"{row['name']} {row['purpose']}"
