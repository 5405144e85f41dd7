"""Which category the rules and the words of a line say, told by examples."""

from pathlib import Path

import polars as pl
import pytest

from analytics import trees
from analytics.knowledge.files import TABLES
from analytics.knowledge_checks import rules, sheets
from analytics.tagging.categories import add_lexicon_category, add_rule_category
from analytics.tagging.insurance import add_insurance
from analytics.tagging.rulebook import read_table
from tests.analytics.drawing import line, lines, quoted_words

EXAMPLES = Path(__file__).with_name("examples.csv")
BOOKINGS = """
Sparkasse KölnBonn | 05.06/14.12UHR GA NR00001234 | -200 | CASH | BANKFINANCE_ATMWITHDRAWAL
| BARGELDAUSZAHLUNG 04.05. 11:32 | -150 | CASH | BANKFINANCE_ATMWITHDRAWAL
EURONET ATM PRAG | VISA Debitkartenumsatz | -80 | CARD | BANKFINANCE_ATMWITHDRAWAL
Penny Markt | Bargeldauszahlung Kasse | -100 | CASH | BANKFINANCE_CASHWITHDRAWAL
| Barauszahlung Schalter | -1000 | CASH | BANKFINANCE_CASHWITHDRAWAL
Shell Station | Bargeldauszahlung | -50 | CASH | BANKFINANCE_CASHWITHDRAWAL
| SB-Einzahlung | 300 | CASH | BANKFINANCE_ATMDEPOSIT
| Bareinzahlung Filiale | 300 | CASH | BANKFINANCE_CASHDEPOSIT
| Kontoführungsentgelt Mai | -6.95 | FEE | BANKFINANCE_OTHER
| Abrechnung 31.03.2024 Entgelte | -12 | FEE | BANKFINANCE_OTHER
Commerzbank | Kontoführung 2. Quartal | -14.9 | DIRECTDEBIT | BANKFINANCE_OTHER
| Sollzinsen eingeräumte Überziehung | -22 | INTEREST | BANKFINANCE_OTHER
| Habenzinsen 2024 | 22 | INTEREST | INCOME_INVESTMENT
ING | Zinsgutschrift Extra-Konto | 31 | TRANSFER | INCOME_INVESTMENT
| Depotentgelt 1. Halbjahr | -25 | SECURITIES | BANKFINANCE_OTHER
| Verkauf ISIN IE00B4L5Y983 Stück 88 | 2541.69 | SECURITIES | TRANSFER_SECURITIES
| WP-Verkauf US0378331005 Order 288907180 | 834.65 | SECURITIES | TRANSFER_SECURITIES
| Kauf 10 Stk. DE0007164600 | -1400 | SECURITIES | BANKFINANCE_INVESTMENT
| Sparplan ETF LU0274208692 | -50 | SECURITIES | SAVINGS_SECURITIES
| Dividende SAP SE | 45 | SECURITIES | INCOME_INVESTMENT
Trade Republic | Savings plan execution | -50 | TRANSFER | SAVINGS_SECURITIES
Coinbase Ireland | Bitcoin Kauf | -200 | TRANSFER | BANKFINANCE_INVESTMENT
pro aurum | Goldmünzen Krügerrand | -1900 | TRANSFER | BANKFINANCE_INVESTMENT
Exporo AG | Crowdinvesting Projekt | -500 | TRANSFER | BANKFINANCE_INVESTMENT
Landesbank Berlin | Kreditkartenabrechnung 04/24 | -850 | DIRECTDEBIT | BANKFINANCE_TRANSFER
| VISA-ABRECHNUNG VOM 28.05. | -430 | CARDSETTLE | BANKFINANCE_TRANSFER
American Express Europe | Abrechnung Mai | -512 | DIRECTDEBIT | BANKFINANCE_TRANSFER
Kreditkarte | Jahresgebühr Kreditkarte | -59 | DIRECTDEBIT | BANKFINANCE_OTHER
| Umbuchung | -500 | INTERNAL | TRANSFER_OTHER
| Übertrag Sparen | -100 | INTERNAL | SAVINGS_ACCOUNT
Commerzbank AG | Darlehen 123 Baufinanzierung | -1100 | DIRECTDEBIT | HOUSING_FINANCING
Münchener Hypothekenbank | Zins und Tilgung Mai | -890 | DIRECTDEBIT | HOUSING_FINANCING
Interhyp | Annuitätenrate | -950 | DIRECTDEBIT | HOUSING_FINANCING
KfW | Rückzahlung Darlehen 124 Wohneigentum | -230 | DIRECTDEBIT | HOUSING_FINANCING
Bausparkasse Schwäbisch Hall | Bausparbeitrag | -150 | DIRECTDEBIT | SAVINGS_LIFEBUILDING
LBS Südwest | Regelsparbeitrag Vertrag 1 | -80 | DIRECTDEBIT | SAVINGS_LIFEBUILDING
Wüstenrot Bausparkasse | Bauspardarlehen Rate | -300 | DIRECTDEBIT | HOUSING_FINANCING
| Darlehensrate 12/60 | -210 | LOAN | BANKFINANCE_CREDITPAYMENT
| Leistungsrate Darlehen | -1400 | LOAN | BANKFINANCE_CREDITPAYMENT
Targobank | Ratenkredit 55 | -189 | DIRECTDEBIT | BANKFINANCE_CREDITPAYMENT
BMW Bank GmbH | Finanzierung Rate 12 | -299 | DIRECTDEBIT | BANKFINANCE_CREDITPAYMENT
TeamBank AG | easyCredit Rate | -150 | DIRECTDEBIT | BANKFINANCE_CREDITPAYMENT
BMW Leasing | Leasingrate 05 | -349 | DIRECTDEBIT | MOBILITY_VEHICLEACQUISITION
Michael Kurz | Rückzahlung Darlehen | -100 | TRANSFER | BANKFINANCE_CREDITPAYMENT
auxmoney | Auszahlung Kredit 9 | 5000 | TRANSFER | BANKFINANCE_CREDITINCOME
Santander Consumer | Kreditauszahlung | 12000 | TRANSFER | BANKFINANCE_CREDITINCOME
Familienkasse Bayern Nord | KG-Nr. 123FK456789 05/24 | 500 | TRANSFER | INCOME_STATE_FAMILY
Bundesagentur fuer Arbeit-Familienkasse | KG987654FK123456 | 250 | TRANSFER | INCOME_STATE_FAMILY
LBV NRW | Bezüge 05/24 incl. Kindergeld | 3900 | SALARY | INCOME_SALARY
Landesamt für Besoldung | Kindergeld KG123456FK654321 | 250 | PUBLIC | INCOME_STATE_FAMILY
Elterngeldstelle Landkreis | Elterngeld Plus | 620 | PUBLIC | INCOME_STATE_FAMILY
Techniker Krankenkasse | Mutterschaftsgeld | 390 | TRANSFER | INCOME_STATE_FAMILY
Studentenwerk München | BAfoeg 05.24 | 861 | PUBLIC | INCOME_STATE_EDUCATION
Konrad-Adenauer-Stiftung | Stipendium Juni | 300 | TRANSFER | INCOME_STATE_EDUCATION
Bundesagentur für Arbeit | ALG I Kd.Nr. 12 | 1240 | PUBLIC | INCOME_OTHER
Bundesagentur für Arbeit | Entgelt 05/24 | 2890 | SALARY | INCOME_SALARY
Jobcenter Berlin Mitte | Leistungen SGB II | 890 | PUBLIC | INCOME_OTHER
Stadt Köln Wohngeldstelle | Wohngeld 05 | 280 | PUBLIC | INCOME_OTHER
AOK Plus | Krankengeld 01.05.-31.05. | 1600 | TRANSFER | INCOME_OTHER
Deutsche Rentenversicherung Bund | RV-Rente | 1400 | SALARY | INCOME_PENSION
Deutsche Post AG Renten Service | Rentenzahlung 05/24 | 1180 | SALARY | INCOME_PENSION
Deutsche Rentenversicherung Bund | Gehalt Mai Personalnr. 5 | 3100 | SALARY | INCOME_SALARY
Siemens AG | Betriebsrente 05/2024 | 480 | SALARY | INCOME_PENSION
Versorgungswerk der Rechtsanwälte | Leistung Mai | 2100 | TRANSFER | INCOME_PENSION
BVV Pensionskasse | Rente | 210 | TRANSFER | INCOME_PENSION
Allianz Lebensversicherungs-AG | Rentenzahlung Vertrag 8 | 310 | TRANSFER | INCOME_PENSION
Allianz SE | Gehalt 05/2024 | 4100 | SALARY | INCOME_SALARY
Siemens AG | Entgeltabrechnung 05/24 | 3900 | TRANSFER | INCOME_SALARY
Gasthaus Krone | Aushilfslohn April | 520 | TRANSFER | INCOME_SALARY
Stadt Musterstadt | Bezuege 05.2024 | 2750 | PUBLIC | INCOME_SALARY
Zeitarbeit Flott GmbH | Lohn KW 20 | 640 | TRANSFER | INCOME_SALARY
Bundeswehr | Wehrsold | 1900 | TRANSFER | INCOME_SALARY
Müller Logistik | Weihnachtsgeld 2023 | 1200 | SALARY | INCOME_SALARY
Finanzamt Köln-Süd | Erstattung Einkommensteuer 2023 | 945 | TRANSFER | INCOME_OTHER
Finanzamt Dresden | UST 1. VJ Erstattung | 310 | PUBLIC | INCOME_OTHER
HUK-COBURG | Schaden 24-11-123 Regulierung | 1800 | TRANSFER | INCOME_OTHER
Debeka | Leistungsabrechnung Erstattung | 240 | TRANSFER | INCOME_OTHER
Barmer | Bonusprogramm 2023 | 60 | TRANSFER | INCOME_OTHER
VG WORT | Ausschüttung Hauptausschüttung | 610 | TRANSFER | INCOME_OTHER
Netzbetreiber Süd | Einspeisevergütung Mai | 88 | TRANSFER | INCOME_OTHER
Agentur Pixel GmbH | Honorar Mai RE 2024-05 | 1900 | TRANSFER | INCOME_OTHER
Kevin Brandt | Miete 05 und Nebenkosten | 720 | STANDINGORDER | INCOME_RENTAL
Café Blau GbR | Pacht Juni | 900 | STANDINGORDER | INCOME_RENTAL
Stefan Roth | Unterhalt Mia | 377 | STANDINGORDER | OTHER_INCOME
Oma Gerda | Taschengeld | 50 | STANDINGORDER | OTHER_INCOME
Lisa Blum | Kleinanzeigen Lampe | 35 | TRANSFER | OTHER_INCOME
Amtsgericht Nachlass | Erbschaft Tante Luise | 12000 | TRANSFER | OTHER_INCOME
Zalando SE | Rückerstattung Retoure 99 | 79 | TRANSFER | TRANSFER_REFUND
EnBW | Guthaben Jahresabrechnung 2023 | 140 | TRANSFER | TRANSFER_REFUND
Bäckerei Huber |  | 3.2 | CARD | TRANSFER_REFUND
Finanzamt Köln | Einkommensteuer 2023 Nachzahlung | -840 | TRANSFER | TAXES
Bundeskasse Halle | Kfz-Steuer für B AB 123 | -98 | DIRECTDEBIT | TAXES
Hauptzollamt Potsdam | B-XY 12 | -98 | DIRECTDEBIT | TAXES
Stadtkasse Neuss | Grundsteuer 2. Vj. | -120 | DIRECTDEBIT | TAXES
Stadt Ulm | Hundesteuer Bello | -96 | DIRECTDEBIT | TAXES
Kirchensteueramt München | Kirchensteuer | -210 | TRANSFER | TAXES
Gemeinde Aying | Gewerbesteuer VZ | -700 | TRANSFER | TAXES
Stadtkasse Neuss | Grundbesitzabgaben Müll Abwasser | -210 | DIRECTDEBIT | HOUSING_ANCILLARYCOSTS
Steuerkanzlei Zahlenwerk | Rechnung Steuererklärung 2023 | -480 | TRANSFER | SERVICES_FINANCIAL
Techniker Krankenkasse | Sozialversicherungsbeiträge 05/24 | -880 | DIRECTDEBIT | OTHER_SPENDING
Künstlersozialkasse | Beitrag Mai | -190 | DIRECTDEBIT | OTHER_SPENDING
Verwaltungs-Berufsgenossenschaft | Beitrag 2023 | -160 | DIRECTDEBIT | OTHER_SPENDING
Industrie- und Handelskammer | IHK Beitrag 2024 | -180 | DIRECTDEBIT | SERVICES_OTHER
Rundfunk ARD, ZDF, DRadio | 04.2024-06.2024 Beitragsnr. 1 | -55.08 | DIRECTDEBIT | BILLS_OTHER
Beitragsservice von ARD, ZDF | Rundfunkbeitrag | -55.08 | TRANSFER | BILLS_OTHER
Stadt Bonn | OGS Beitrag Max | -110 | DIRECTDEBIT | FAMILY_CHILDCARE
Evangelischer Kindergarten | Elternbeitrag und Essensgeld | -180 | STANDINGORDER | FAMILY_CHILDCARE
Kinderkrippe Zwergennest | Mai | -320 | DIRECTDEBIT | FAMILY_CHILDCARE
Catering Kids GmbH | Schulessen Nr. 55 | -62 | DIRECTDEBIT | FAMILY_OTHER
Nadine Krüger | Kindesunterhalt Mai | -420 | STANDINGORDER | FAMILY_SUPPORT
Goethe-Universität | Rückmeldung WS 24/25 Matrikelnummer 6 | -370 | TRANSFER | EDUCATION_ACADEMIC
Zentrale Bußgeldstelle | Bußgeld AZ 505 | -38 | TRANSFER | OTHER_SPENDING
Stadt Köln Ordnungsamt | Verwarnungsgeld Falschparken | -25 | TRANSFER | OTHER_SPENDING
Toll Collect | Maut Mai | -44 | DIRECTDEBIT | MOBILITY_OTHER
Fahrschule Rapid | Ausbildung Klasse B | -500 | TRANSFER | MOBILITY_OTHER
coeo Inkasso GmbH | Forderung Vodafone AZ 5 | -88 | TRANSFER | OTHER_SPENDING
Intrum Deutschland | Rate Aktenzeichen 8 | -30 | TRANSFER | OTHER_SPENDING
Obergerichtsvollzieherin Streng | DR II 12/24 Vollstreckung | -150 | TRANSFER | BANKFINANCE_OTHER
| Pfändungsgebühr | -25 | FEE | BANKFINANCE_OTHER
Gisela Bauer | Kaution Wohnung Lindenstr. | -1800 | TRANSFER | HOUSING_OTHER
Engel & Kollegen Immobilien | Maklerprovision | -4100 | TRANSFER | HOUSING_OTHER
Gisela Bauer | Miete Lindenstr. 4 inkl. NK | -780 | STANDINGORDER | HOUSING_RENT
Fam. Kramer | Kaltmiete + Nebenkosten | -640 | STANDINGORDER | HOUSING_RENT
LEG Wohnen NRW | Miete 05.2024 VE 123 | -590 | DIRECTDEBIT | HOUSING_RENT
Baugenossenschaft Süd eG | Mitgl. 55 Juni | -540 | DIRECTDEBIT | HOUSING_RENT
Studentenwerk Köln | Wohnheimmiete Zi 4 | -290 | DIRECTDEBIT | HOUSING_RENT
Sixt GmbH | Mietwagen 1234 | -210 | CARD | TRAVEL_TRANSPORT
Mieterverein Hamburg | Mitgliedsbeitrag | -90 | DIRECTDEBIT | SERVICES_OTHER
Hausverwaltung Adler | Hausgeld WE 7 | -310 | STANDINGORDER | HOUSING_ANCILLARYCOSTS
Eigentümergemeinschaft Parkweg 3 | Sonderumlage Dach | -900 | TRANSFER | HOUSING_ANCILLARYCOSTS
Berliner Wasserbetriebe | Wasser/Abwasser | -98 | DIRECTDEBIT | HOUSING_ANCILLARYCOSTS
Stadtreinigung Hamburg | Gebühren Q2 | -77 | DIRECTDEBIT | HOUSING_ANCILLARYCOSTS
Stadtwerke Bonn | Abschlag Strom | -70 | DIRECTDEBIT | BILLS_ELECTRICITY
Stadtwerke Bonn | Abschlag Gas | -120 | DIRECTDEBIT | BILLS_HEATING
Stadtwerke Bonn | Abschlag Fernwärme | -120 | DIRECTDEBIT | BILLS_HEATING
Stadtwerke Bonn | Strom/Gas Abschlag | -190 | DIRECTDEBIT | BILLS_OTHER
Stadtwerke Bonn | Vertragskonto 5 Abschlag | -190 | DIRECTDEBIT | BILLS_OTHER
Stadtwerke Bonn | Deutschlandticket 05/24 | -49 | DIRECTDEBIT | MOBILITY_PUBLICTRANSPORT
Stadtwerke Bonn Bäder | Hallenbad Dauerkarte | -80 | CARD | RECREATION_SPORTS
Stadtwerke Bonn | Glasfaser Internet | -45 | DIRECTDEBIT | BILLS_FIXEDINTERNET
LichtBlick SE | Ökostrom Abschlag | -66 | DIRECTDEBIT | BILLS_ELECTRICITY
E.ON Energie Deutschland | Abschlag Vertragskonto 2 | -88 | DIRECTDEBIT | BILLS_ELECTRICITY
Erdgas Südwest | Abschlag 5 | -130 | DIRECTDEBIT | BILLS_HEATING
Heizöl Müller | 1500 Liter | -1300 | TRANSFER | BILLS_HEATING
Telekom Deutschland GmbH | Mobilfunk 0171 RG 5 | -29 | DIRECTDEBIT | BILLS_MOBILE
Telekom Deutschland GmbH | Festnetz Internet Telefon | -45 | DIRECTDEBIT | BILLS_FIXEDINTERNET
Vodafone | Kabel Internet Rechnung | -40 | DIRECTDEBIT | BILLS_FIXEDINTERNET
o2 | Handyvertrag 5 | -20 | DIRECTDEBIT | BILLS_MOBILE
HVV | Abo Monatskarte Mai | -60 | DIRECTDEBIT | MOBILITY_PUBLICTRANSPORT
Volkswagen Leasing | Kfz Leasing | -289 | DIRECTDEBIT | MOBILITY_VEHICLEACQUISITION
Bikeleasing Service | Rate | -70 | DIRECTDEBIT | MOBILITY_BIKEACQUISITION
Deka Investment | VL Anlage | -40 | DIRECTDEBIT | SAVINGS_LIFEBUILDING
Union Investment | Sparplan UniGlobal | -100 | DIRECTDEBIT | SAVINGS_SECURITIES
Martin Frey | Tagesgeld sparen | -300 | STANDINGORDER | SAVINGS_ACCOUNT
Allianz Lebensversicherungs-AG | Einmalbeitrag Schatzbrief | -5000 | TRANSFER | SAVINGS_LIFEINSURANCE
UNICEF | Spende Nothilfe | -50 | TRANSFER | OTHER_DONATION
Lena Roth | Zum Geburtstag alles Liebe | -30 | TRANSFER | OTHER_SUPPORT
Max Roth | Taschengeld Juni | -25 | STANDINGORDER | OTHER_SUPPORT
Fleurop AG | Blumenstrauß Geburtstag | -45 | TRANSFER | RECREATION_GARDEN
PayPal | Guthaben PayPal Auszahlung | 90 | TRANSFER | TRANSFER_WALLET
Stadtbäckerei Junge//Rostock/DE |  | -6.4 | CARD | LIVING_GROCERIES
BACKEREI WAGNER |  | -6.4 | CARD | LIVING_GROCERIES
B?CKEREI WAGNER |  | -6.4 | CARD | LIVING_GROCERIES
Metzgerei Fleisch & Mehr |  | -22 | CARD | LIVING_GROCERIES
Türkischer Supermarkt Öz |  | -31 | CARD | LIVING_GROCERIES
Wochenmarkt Stand 4 |  | -12 | CARD | LIVING_GROCERIES
Getränke Paradies |  | -24 | CARD | LIVING_CONSUMABLES
Tabak Börse |  | -14 | CARD | LIVING_CONSUMABLES
Späti 24 |  | -7 | CARD | LIVING_CONSUMABLES
Sanitätshaus Müller |  | -44 | CARD | HEALTH_CONSUMABLES
Rats-Apotheke//Goslar/DE |  | -19 | CARD | HEALTH_CONSUMABLES
APOTHEKE AM RING |  | -11 | CARD | HEALTH_CONSUMABLES
Fielmann Augenoptik |  | -149 | CARD | HEALTH_CONSUMABLES
Dr. med. Anna Schmidt | RG 2024-5 | -64 | TRANSFER | HEALTH_SERVICES
Gemeinschaftspraxis Nord | Privatliquidation | -120 | TRANSFER | HEALTH_SERVICES
BFS health finance GmbH | Dr. Zahn Rechnung | -310 | TRANSFER | HEALTH_SERVICES
Tierarztpraxis Pfote | Rechnung Hund | -88 | TRANSFER | RECREATION_PETS
Fressnapf |  | -35 | CARD | RECREATION_PETS
Aral Tankstelle Weber |  | -65 | CARD | MOBILITY_FUEL
Autohof Strohofer |  | -72 | CARD | MOBILITY_FUEL
Autohaus Krüger Werkstatt | Inspektion 60.000 km | -540 | CARD | MOBILITY_SERVICES
Reifen Wolf |  | -380 | CARD | MOBILITY_SERVICES
Car Wash Deluxe |  | -14 | CARD | MOBILITY_SERVICES
Parkhaus am Dom |  | -6 | CARD | MOBILITY_PARKING
Contipark Tiefgarage |  | -9 | CARD | MOBILITY_PARKING
Taxi Meier |  | -22 | CARD | MOBILITY_TAXI
Hotel Restaurant Adler |  | -180 | CARD | TRAVEL_ACCOMMODATION
Pension Waldblick |  | -130 | CARD | TRAVEL_ACCOMMODATION
Ferienhaus Müller | Anzahlung | -300 | TRANSFER | TRAVEL_ACCOMMODATION
Eurowings |  | -159 | CARD | TRAVEL_TRANSPORT
Reisebüro Sonnenschein |  | -890 | CARD | TRAVEL_OTHER
Pizzeria Da Mario |  | -28 | CARD | RECREATION_ENTERTAINMENTFOOD
Eiscafe Venezia |  | -8 | CARD | RECREATION_ENTERTAINMENTFOOD
Gasthof zur Post |  | -55 | CARD | RECREATION_ENTERTAINMENTFOOD
Brauhaus am Markt |  | -34 | CARD | RECREATION_ENTERTAINMENTFOOD
Kantine Bosch |  | -6 | CARD | RECREATION_ENTERTAINMENTFOOD
Istanbul Kebap Haus |  | -9 | CARD | RECREATION_ENTERTAINMENTFOOD
Cafe Bäckerei Huth |  | -9 | CARD | LIVING_GROCERIES
Friseursalon Chic |  | -48 | CARD | SHOPPING_BEAUTY
HAIR & BEAUTY LOUNGE |  | -48 | CARD | SHOPPING_BEAUTY
Cut & Color Hairdesign |  | -52 | CARD | SHOPPING_BEAUTY
Thai Massage Orchidee |  | -60 | CARD | SHOPPING_BEAUTY
Schuh Meyer |  | -79 | CARD | SHOPPING_CLOTHINGACCESSORIES
Boutique Chérie |  | -69 | CARD | SHOPPING_CLOTHINGACCESSORIES
Goldschmiede Stein |  | -240 | CARD | SHOPPING_CLOTHINGACCESSORIES
Blumen Fischer |  | -18 | CARD | RECREATION_GARDEN
Gartencenter Kremer |  | -43 | CARD | RECREATION_GARDEN
Buchhandlung am Markt |  | -22 | CARD | RECREATION_PRINTED
Rhein-Zeitung | Abonnement | -41 | DIRECTDEBIT | RECREATION_PRINTED
Filmpalast |  | -19 | CARD | RECREATION_CULTURAL
Stadttheater | Abo Saison | -140 | DIRECTDEBIT | RECREATION_CULTURAL
FC Eintracht 1920 e.V. | Mitgliedsbeitrag | -96 | DIRECTDEBIT | RECREATION_SPORTS
FitnessKing GmbH | Beitrag | -24.9 | DIRECTDEBIT | RECREATION_SPORTS
Yoga Loft |  | -90 | CARD | RECREATION_SPORTS
Lotto Hessen | Spielteilnahme | -12 | DIRECTDEBIT | RECREATION_OTHER
Merkur Spielothek |  | -50 | CARD | RECREATION_OTHER
Spielwaren Krömer |  | -34 | CARD | FAMILY_TOYS
Küchenstudio Genuss | Anzahlung Küche | -4000 | TRANSFER | HOUSING_FURNISHING
Baumarkt Bolle |  | -39 | CARD | HOUSING_FURNISHING
Tischlerei Holzwurm | Rechnung | -900 | TRANSFER | HOUSING_SERVICES
Elektrotechnik Blitz | Rechnung 5 | -300 | TRANSFER | HOUSING_SERVICES
Dachdecker Ziegel GmbH | RE 9 | -2500 | TRANSFER | HOUSING_SERVICES
Waschsalon Schaum |  | -8 | CARD | SERVICES_OFFLINE
Kanzlei Dr. Recht | Vorschuss | -500 | TRANSFER | SERVICES_OFFLINE
DHL Paketshop |  | -6.99 | CARD | SERVICES_OFFLINE
IG Metall | Beitrag Mai | -32 | DIRECTDEBIT | SERVICES_OTHER
Schützenverein Hubertus | Mitgliedsbeitrag | -60 | DIRECTDEBIT | SERVICES_OTHER
Netflix International B.V. |  | -17.99 | CARD | RECREATION_ONLINE
STRATO AG | Hosting Paket | -9 | DIRECTDEBIT | SERVICES_ONLINE
Musikschule Fröhlich | Unterricht Mai | -65 | STANDINGORDER | FAMILY_CHILDACTIVITIES
VHS Leipzig | Kurs 12 | -80 | DIRECTDEBIT | EDUCATION_TRAINING
Schülerhilfe | Nachhilfe | -110 | DIRECTDEBIT | EDUCATION_OTHER
Anna Weber |  | -40 | TRANSFER | BANKFINANCE_TRANSFER
Jonas Beck | Danke für gestern | 20 | TRANSFER | OTHER_INCOME
"""


def table(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("|")] for row in text.strip().splitlines()]


def told(drawn: pl.DataFrame) -> pl.DataFrame:
    """The lines with what insurance, rules and words say, and `category` and `by`: the first of them that says something."""
    subcategories = trees.insurance_types_frame().select(insurance="system_name", premium="subcategory")
    found = add_lexicon_category(add_rule_category(add_insurance(drawn))).join(
        subcategories, on="insurance", how="left", maintain_order="left"
    )
    premium = pl.when(pl.col("insurance") != "UNRELATED_OTHER").then("premium")
    by = (
        pl.when(premium.is_not_null())
        .then(pl.lit("insurance"))
        .when(pl.col("rule_category").is_not_null())
        .then(pl.lit("rule"))
        .when(pl.col("lexicon_category").is_not_null())
        .then(pl.lit("lexicon"))
    )
    return found.with_columns(category=pl.coalesce(premium, "rule_category", "lexicon_category"), by=by)


@pytest.fixture(scope="module")
def booked() -> pl.DataFrame:
    return told(lines(*(line(name, purpose, float(amount), channel) for name, purpose, amount, channel, _ in table(BOOKINGS))))


def examples() -> pl.DataFrame:
    rows = read_table(EXAMPLES)
    drawn = [
        line(row["name"], row["purpose"], float(row["amount"]), row["channel"], purpose_code=row["code"])
        for row in rows.iter_rows(named=True)
    ]
    return told(lines(*drawn)).with_columns(expected=rows["category"], expected_by=rows["by"])


def category(*rows: dict[str, object]) -> list[str]:
    return told(lines(*rows))["category"].to_list()


def test_rules_and_words_say_the_category(booked: pl.DataFrame) -> None:
    found = booked["category"].to_list()
    assert [(row, item) for row, item in zip(table(BOOKINGS), found, strict=True) if row[4] != item] == []


def test_the_table_is_as_long_as_promised() -> None:
    assert len(table(BOOKINGS)) >= 200


def test_examples_come_out_as_they_should() -> None:
    ours = examples().filter(pl.col("expected_by").is_in(["rule", "lexicon", "insurance"]))
    wrong = ours.filter((pl.col("category") != pl.col("expected")) | (pl.col("by") != pl.col("expected_by")))
    assert wrong.select("name", "purpose", "expected", "category", "by").rows() == []


def test_every_category_has_examples_and_there_are_many() -> None:
    assert read_table(EXAMPLES).height >= 350
    assert list(rules.examples(sheets.read_sheet(EXAMPLES))) == []


def test_the_sign_rule_is_never_broken(booked: pl.DataFrame) -> None:
    signs = trees.categories_frame().select(category="system_name", sign="sign")
    both = pl.concat([booked.select("positive", "category"), examples().select("positive", "category")]).drop_nulls()
    broken = both.join(signs, on="category").filter(
        pl.col("sign") == pl.when("positive").then(pl.lit("-")).otherwise(pl.lit("+"))
    )
    assert broken.rows() == []


def test_quoted_words_stand_in_the_line(booked: pl.DataFrame) -> None:
    for row in booked.iter_rows(named=True):
        for word in quoted_words(f"{row['rule_reason']} {row['lexicon_reason']}"):
            assert word in f"{row['name']} {row['purpose']}", word


def test_removing_the_quoted_words_takes_the_reason_away() -> None:
    drawn = [
        line(name, purpose, float(amount), channel) for name, purpose, amount, channel, _ in table(BOOKINGS) if channel == "CARD"
    ]
    before = told(lines(*drawn))
    words = [quoted_words(reason or "") for reason in before["lexicon_reason"]]
    without = [
        {
            **row,
            "name": _without(row["name"], gone),
            "merchant": _without(row["name"], gone),
            "purpose": _without(row["purpose"], gone),
        }
        for row, gone in zip(drawn, words, strict=True)
    ]
    after = told(lines(*without))
    same = after.filter(after["lexicon_reason"] == before["lexicon_reason"])
    assert same.height == 0


def _without(text: str, words: list[str] | None) -> str:
    for word in words or ():
        text = text.replace(word, "")
    return " ".join(text.split())


def test_words_in_what_people_write_count_less_than_in_a_merchants_name() -> None:
    by_hand = line("Max Huber", "Pizza gestern", -12.0, "TRANSFER")
    at_the_till = line("Pizza Huber", "", -12.0, "CARD")
    found = told(lines(by_hand, at_the_till))["lexicon_confidence"].to_list()
    assert found[0] < 0.75 < found[1]


def test_a_surname_that_is_a_trade_says_nothing_between_people() -> None:
    people = [line(name, "", -20.0, "TRANSFER") for name in ("Hans Metzger", "Peter Blumenthal", "Anna Maria Bäcker")]
    assert set(category(*people)) == {"BANKFINANCE_TRANSFER"}
    assert category(line("Metzger Hans", "", -20.0, "CARD"), line("Malermeister Peter Klecks", "", -200.0)) == [
        "LIVING_GROCERIES",
        "HOUSING_SERVICES",
    ]


def test_a_word_for_something_else_makes_doubt() -> None:
    clear, doubtful = told(lines(line("Apotheke", "", -9.0, "CARD"), line("Apotheke Tankstelle", "", -9.0, "CARD")))[
        "lexicon_confidence"
    ]
    assert doubtful < clear


def test_the_words_of_a_refund_say_what_the_purchase_was() -> None:
    found = told(lines(line("Schuhhaus Meyer", "", 79.0, "CARD")))
    assert found["rule_category"].to_list() == ["TRANSFER_REFUND"]
    assert found["lexicon_category"].to_list() == [None]
    assert found["expense_category"].to_list() == ["SHOPPING_CLOTHINGACCESSORIES"]


def test_the_merchant_behind_a_payment_service_counts_and_not_the_service() -> None:
    through = line("PayPal Europe", "Ihr Einkauf bei Apotheke", -9.0, "DIRECTDEBIT", via="PAYPAL", merchant="adler apotheke")
    assert category(through) == ["HEALTH_CONSUMABLES"]


@pytest.mark.parametrize("name", ["Bäckerei Kühn", "BAECKEREI KUEHN", "BACKEREI KUHN", "B?CKEREI K?HN", "Bckerei Khn"])
def test_lost_umlauts_do_not_matter(name: str) -> None:
    assert category(line(name, "", -5.0, "CARD")) == ["LIVING_GROCERIES"]


def test_words_cut_by_a_line_break_are_found() -> None:
    assert category(line("Familie Roth", "Kindesun terhalt Mai", -300.0)) == ["FAMILY_SUPPORT"]
    assert category(line("Agentur für Arbeit", "Arbeitslo sengeld", 900.0)) == ["INCOME_OTHER"]


def test_one_utility_sells_many_things() -> None:
    purposes = ["Abschlag Strom", "Abschlag Gas", "Wasser", "Deutschlandticket", "Vertragskonto 12", "Glasfaser"]
    found = category(*(line("Stadtwerke Musterstadt", purpose, -60.0, "DIRECTDEBIT") for purpose in purposes))
    assert found == [
        "BILLS_ELECTRICITY",
        "BILLS_HEATING",
        "HOUSING_ANCILLARYCOSTS",
        "MOBILITY_PUBLICTRANSPORT",
        "BILLS_OTHER",
        "BILLS_FIXEDINTERNET",
    ]


def test_flags_of_partners_decide_where_words_do_not() -> None:
    lender = line("Muster Finanz", "Vertrag 12 Rate 3", -150.0, "DIRECTDEBIT", flag_lender=True)
    payout = line("Muster Finanz", "Vertrag 12", 5000.0, flag_lender=True)
    collector = line("Kanzlei Streng", "AZ 123", -50.0, flag_inkasso=True)
    claim = line("Muster Leben", "Vertrag 12", 500.0, flag_insurer=True)
    rows = [
        {f"flag_{flag}": False for flag in ("lender", "inkasso", "insurer")} | row for row in (lender, payout, collector, claim)
    ]
    assert category(*rows) == ["BANKFINANCE_CREDITPAYMENT", "BANKFINANCE_CREDITINCOME", "OTHER_SPENDING", "INCOME_OTHER"]


def test_the_order_of_lines_changes_nothing(booked: pl.DataFrame) -> None:
    bare = booked.select(lines(line()).columns)
    shuffled = told(bare.sample(fraction=1, shuffle=True, seed=3)).sort("key")
    assert shuffled.equals(booked.sort("key"))


@pytest.mark.parametrize("file", ["rules", "lexicon", "insurance", "freelancer", "groups", "saving_banks"])
def test_the_files_are_in_order(file: str) -> None:
    assert list(getattr(rules, file)(sheets.read_sheet(TABLES / f"{file}.csv"))) == []


def test_a_wrong_rule_is_told_with_its_place() -> None:
    row = {
        "id": "Rent!",
        "priority": "x",
        "item": "HOUSING",
        "confidence": "95",
        "sign": "+",
        "words": "Miete|@none|13 raten",
        "reason": "",
    }
    sheet = sheets.Sheet("rules.csv", tuple(row), [(2, row)], [])
    found = list(rules.rules(sheet))
    assert {problem.split(":")[0] + ":" + problem.split(":")[1].split(" ")[1] for problem in found} == {
        f"rules.csv:{column}" for column in ("id", "priority", "item", "confidence", "words", "sign")
    }


def test_no_lines_no_categories() -> None:
    assert told(lines(line()).clear()).height == 0
