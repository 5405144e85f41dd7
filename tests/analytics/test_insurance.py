"""Which insurance a payment is for, told by examples."""

import polars as pl
import pytest

from analytics import trees
from analytics.tagging.insurance import add_insurance
from tests.analytics.drawing import line, lines, quoted_words

PREMIUMS = """
Allianz Versicherungs-AG | Haftpflichtversicherung Vertrag 12/345 Beitrag 01.01.-31.12. | 62 | LIABILITY_PRIVATE
HUK-COBURG Haftpflicht-Unterstützungs-Kasse | Privathaftpflicht VS 123/456789 | 55 | LIABILITY_PRIVATE
HUK-COBURG Haftpflicht-Unterstützungs-Kasse | KFZ-VERSICHERUNG 12345 | 480 | VEHICLE_CAR
HUK-COBURG Haftpflicht-Unterstützungs-Kasse | VS-NR 987/654 B-AB 1234 | 480 | VEHICLE_CAR
LVM Versicherung | PHV Beitrag 2024 | 70 | LIABILITY_PRIVATE
DEVK | Hausratversicherung 4711 | 99 | HOME_CONTENTS
Mecklenburgische Versicherung | Hausrat Beitrag | 80 | HOME_CONTENTS
SV SparkassenVersicherung Gebäudeversicherung AG | Beitrag Vers.-Nr. 12 | 64 | OTHER_OTHER
Provinzial Rheinland | Wohngebäudeversicherung | 420 | HOME_BUILDING
SV SparkassenVersicherung | Gebäudevers. Elementar | 510 | HOME_BUILDING
R+V Allgemeine Versicherung | Glasversicherung | 30 | HOME_GLASS
Basler Versicherung | Elementarversicherung | 130 | HOME_ELEMENTAL
VHV Allgemeine | Bauleistungsversicherung | 310 | HOME_CONSTRUCTION
Zurich Versicherung | Photovoltaikversicherung | 95 | HOME_PHOTOVOLTAIC
Deutsche Kautionskasse AG | Mietkaution 2024 | 60 | HOME_RENTDEPOSIT
Gothaer Versicherung | Feuerrohbauversicherung | 120 | HOME_FIRE
Ergo Versicherung AG | Haus- und Wohnungsschutzbrief | 50 | HOME_ASSISTANCE
Axa Versicherung AG | Kraftfahrtversicherung K-XY 77 | 380 | VEHICLE_CAR
Verti Versicherung AG | Vollkasko Beitrag halbjährlich | 290 | VEHICLE_CAR
HUK24 AG | Beitrag 2024 | 410 | OTHER_OTHER
HUK24 AG | Krad Haftpflicht 123 | 90 | VEHICLE_MOTORCYCLE
HDI Versicherung AG | LKW Haftpflicht 123 Beitrag | 400 | VEHICLE_TRUCK
Volkswagen Autoversicherung AG | Vertrag 12 | 410 | VEHICLE_CAR
Mercedes-Benz Versicherung | Vertrag 12 | 410 | VEHICLE_CAR
AXA Versicherung AG | Vertragsnr. 4711123Kraftfahrtversicherung jährlich | 380 | VEHICLE_CAR
 | Kraftfahrt MZ-AH 12 4711 Beitrag 2024 | 380 | VEHICLE_CAR
ADAC Autoversicherung AG | Beitrag | 410 | VEHICLE_CAR
Kravag | Kfz-Haftpflicht und Teilkasko | 390 | VEHICLE_CAR
Itzehoer | Motorradversicherung | 110 | VEHICLE_MOTORCYCLE
DEVK | Versicherungskennzeichen Moped | 58 | VEHICLE_MOPED
RMV Versicherung | Wohnmobilversicherung | 340 | VEHICLE_CAMPER
Allianz | Anhängerversicherung | 25 | VEHICLE_TRAILER
Ammerländer Versicherung | Fahrradversicherung E-Bike | 89 | VEHICLE_BICYCLE
Ammerländer Versicherung VVaG | Versicherungsschein 12 monatlich | 7 | OTHER_OTHER
Wertgarantie AG Fahrrad | Folgebeitrag Vertrag 12 | 6 | VEHICLE_BICYCLE
Pantaenius Versicherung | Bootskasko | 330 | VEHICLE_WATERCRAFT
DEVK | Schutzbrief | 19 | VEHICLE_BREAKDOWN
CG Car-Garantie Versicherungs-AG | Garantieversicherung | 28 | VEHICLE_WARRANTY
Haftpflichtkasse VVaG | Hundehalterhaftpflicht | 75 | LIABILITY_DOG
Die Haftpflichtkasse VVaG | Vertrag 12 | 75 | OTHER_OTHER
Generali Versicherung AG | THV Hund 123 Beitrag | 75 | LIABILITY_DOG
 | HUK-COBURG Haftpflicht-Unterstützungs-Kasse Beitrag zur Unfall-Vers. 12 | 165 | INCAPACITY_ACCIDENT
 | HUK-COBURG Haftpflicht-Unterstützungs-Kasse Beitrag 12 | 165 | OTHER_OTHER
 | HUK-COBURG Haftpflicht-Unterstützungs-Kasse kraftfahrender Beamter Beitrag 12 | 165 | OTHER_OTHER
HUK-COBURG Haftpflicht-Unterstützungs-Kasse kraftfahrender Beamter | Kfz-Haftpflicht 12 | 165 | VEHICLE_CAR
 | HUK-COBURG Haftpflicht-Unterstützungs-Kasse Privathaftpflicht 12 | 65 | LIABILITY_PRIVATE
Uelzener Versicherung | Pferdehalterhaftpflicht | 110 | LIABILITY_HORSE
VGH | Haus- und Grundbesitzerhaftpflicht | 70 | LIABILITY_PROPERTYOWNER
Concordia Versicherung | Bauherrenhaftpflicht | 120 | LIABILITY_BUILDER
Alte Leipziger Versicherung | Gewässerschadenhaftpflicht Öltank | 60 | LIABILITY_WATERPOLLUTION
Exali | Berufshaftpflichtversicherung | 390 | LIABILITY_PROFESSIONAL
Signal Iduna | Betriebshaftpflicht | 310 | LIABILITY_BUSINESS
Gothaer | Jagdhaftpflicht | 50 | LIABILITY_HUNTING
Helden.de Versicherung | Drohnenhaftpflicht | 55 | LIABILITY_DRONE
Techniker Krankenkasse | Beitrag 08/2024 | 480 | HEALTH_STATUTORY
AOK Nordost | KV/PV Beitrag freiwillig | 310 | HEALTH_STATUTORY
 | KV/PV Beitrag freiwillig F123 | 310 | HEALTH_STATUTORY
BARMER | Beitraege Mitglied 123 | 260 | HEALTH_STATUTORY
BKK Firmus | Beitragskonto 99 | 250 | HEALTH_STATUTORY
Debeka Krankenversicherungsverein | Beitrag Krankenversicherung | 290 | HEALTH_PRIVATE
DKV Deutsche Krankenversicherung AG | KV-NR 123 | 390 | HEALTH_PRIVATE
DKV Deutsche Krankenversicherung AG | KV-NR 123 | 22 | HEALTH_SUPPLEMENTARY
Münchener Verein Krankenver | Folgebeitrag zum 01.01. | 22 | HEALTH_SUPPLEMENTARY
 | Pflegepflicht 123 Beitrag 01.01. | 65 | HEALTH_CAREMANDATORY
Barmenia | Zahnzusatzversicherung | 19 | HEALTH_DENTAL
Die Bayerische Zahn | Beitrag Vers.-Nr. 12 | 25 | HEALTH_DENTAL
ERGO | Zahn-Ersatz Sofort | 32 | HEALTH_DENTAL
Hallesche | Krankentagegeld | 25 | HEALTH_DAILYALLOWANCE
SDK | Krankenhaustagegeld | 14 | HEALTH_HOSPITALDAILY
Hansemerkur | stationäre Zusatzversicherung Chefarzt | 44 | HEALTH_HOSPITAL
Continentale | ambulante Zusatzversicherung | 18 | HEALTH_OUTPATIENT
Debeka | private Pflegepflichtversicherung | 38 | HEALTH_CAREMANDATORY
Allianz Private Krankenversicherungs-AG | Pflegetagegeld | 33 | HEALTH_CARESUPPLEMENTARY
Münchener Verein | Pflege-Bahr | 15 | HEALTH_CARESUPPLEMENTARY
Envivas Krankenversicherung | Krankenzusatzversicherung | 24 | HEALTH_SUPPLEMENTARY
HanseMerkur Reiseversicherung AG | Auslandsreisekrankenversicherung | 18 | TRAVEL_HEALTH
Barmenia | Auslandskrankenschutz | 12 | TRAVEL_HEALTH
ERGO Reiseversicherung | Reiserücktrittsversicherung | 49 | TRAVEL_CANCELLATION
Europ Assistance | Reisegepäck | 21 | TRAVEL_LUGGAGE
ERGO Reiseversicherung AG | Jahresreiseschutz | 79 | TRAVEL_PACKAGE
AWP P&C S.A. | Buchung 1234 | 39 | TRAVEL_PACKAGE
ARAG SE | Beitrag 2024 | 240 | SPECIAL_LEGAL
ROLAND Rechtsschutz-Versicherungs-AG | Vertrag 55 | 230 | SPECIAL_LEGAL
HUK-COBURG-Rechtsschutz | Verkehrsrechtsschutz | 80 | SPECIAL_LEGAL
Allianz | Privat-, Berufs- und Verkehrsrechtsschutz | 310 | SPECIAL_LEGAL
AGILA Haustierversicherung AG | Beitrag Bello | 29 | SPECIAL_PET
Petplan | Hunde-OP-Versicherung | 22 | SPECIAL_PET
Uelzener | Tierkrankenversicherung Katze | 34 | SPECIAL_PET
WERTGARANTIE AG | Beitrag 09/24 | 6 | SPECIAL_ELECTRONICS
Assona | Handyversicherung | 9 | SPECIAL_ELECTRONICS
AppleCare AIG | Police 123 | 9 | SPECIAL_ELECTRONICS
Cogitanda Versicherung | Cyberversicherung | 40 | SPECIAL_CYBER
Credit Life AG | Restschuldversicherung Vertrag | 12 | SPECIAL_CREDIT
BNP Paribas Cardif | Ratenschutz | 10 | SPECIAL_CREDIT
Mannheimer Versicherung | Musikinstrumentenversicherung | 60 | SPECIAL_VALUABLES
Hiscox | Veranstaltungsversicherung | 120 | SPECIAL_EVENT
DEVK | Riester-Rente | 90 | PROVISIONARY_RIESTER
Alte Leipziger | Basisrente | 250 | PROVISIONARY_BASIC
Swiss Life AG | Rürup Beitrag | 300 | PROVISIONARY_BASIC
Continentale Lebensversicherung AG | Rurup Vertrag 12 | 300 | PROVISIONARY_BASIC
Allianz Lebensversicherungs | Vertragsnr. 12 Riest | 100 | PROVISIONARY_RIESTER
Canada Life Assurance Europ | Folgebeitrag Fondsgebundene | 100 | PROVISIONARY_UNITLINKED
Versorgungswerk der Rechtsanwälte NRW | Beitrag Versorgungswerk 12 | 900 | PROVISIONARY_STATUTORY
Versorgungswerk der Zahnärztekammer Berlin | Beitrag 12 | 900 | PROVISIONARY_STATUTORY
Allianz Lebensversicherungs-AG | Privatrente 0815 | 100 | PROVISIONARY_PENSION
Volkswohl Bund | Fondsgebundene Rentenversicherung | 100 | PROVISIONARY_UNITLINKED
Nürnberger Lebensversicherung | Direktversicherung bAV | 120 | PROVISIONARY_OCCUPATIONAL
Bayerische Ärzteversorgung Versorgungswerk | Beitrag 3. Quartal | 990 | PROVISIONARY_STATUTORY
Deutsche Rentenversicherung Bund | freiwilliger Beitrag RV | 100 | PROVISIONARY_STATUTORY
Alte Leipziger | Berufsunfähigkeitsversicherung | 68 | INCAPACITY_OCCUPATIONAL
Nürnberger | SBU Vertrag 123 | 71 | INCAPACITY_OCCUPATIONAL
Allianz | BU-Versicherung | 55 | INCAPACITY_OCCUPATIONAL
DBV | Dienstunfähigkeitsversicherung | 60 | INCAPACITY_SERVICE
Continentale | Erwerbsunfähigkeit | 40 | INCAPACITY_EARNING
Canada Life | Schwere Krankheiten Vorsorge | 58 | INCAPACITY_CRITICALILLNESS
Die Bayerische | Grundfähigkeitsversicherung | 35 | INCAPACITY_BASICABILITY
Interrisk | Unfallversicherung Familie | 130 | INCAPACITY_ACCIDENT
VPV | Kinder-Unfall-Versicherung | 80 | INCAPACITY_ACCIDENT
Barmenia | Kinderinvaliditätsvorsorge | 25 | INCAPACITY_CHILD
Allianz Lebensversicherungs-AG | Leben/Unser Schreiben vom 03.04.2023 | 75 | LIFE_OTHER
Provinzial NordWest Lebensversicherung AG | Beitrag 123 | 50 | LIFE_OTHER
Cosmos Lebensversicherungs-AG | Risikolebensversicherung | 22 | LIFE_TERM
Hannoversche Leben | Risiko-LV | 18 | LIFE_TERM
 | RLV Vertrag 123 Beitrag 01/24 | 18 | LIFE_TERM
Debeka Lebensversicherungsverein | Kapitallebensversicherung | 80 | LIFE_ENDOWMENT
Heidelberger Leben | Fondspolice | 100 | LIFE_UNITLINKED
Ideal Lebensversicherung | Sterbegeldversicherung | 24 | LIFE_BURIAL
Ideal Versicherung | Bestattungsvorsorge | 30 | LIFE_BURIAL
Stuttgarter Lebensversicherung | Ausbildungsversicherung Emma | 50 | LIFE_EDUCATION
LVM | Hausrat + Haftpflicht | 140 | OTHER_BUNDLE
Württembergische Versicherung | Unfall/Hausrat/PHV | 260 | OTHER_BUNDLE
Signal Iduna | Sammelbeitrag 2024 | 330 | OTHER_BUNDLE
AXA | Gewerbeversicherung Inhalt | 430 | OTHER_COMMERCIAL
Allianz Versicherungs-AG | Vertrag AS-1234567 Beitrag | 90 | OTHER_OTHER
Neue Rheinische VVaG | Beitrag | 70 | OTHER_OTHER
Musterburger Assekuranz a.G. | Folgebeitrag | 65 | OTHER_OTHER
Sparkasse Musterstadt | Versicherungsbeitrag 2024 | 65 | OTHER_OTHER
Klaus Meyer | Hausratversicherung Überweisung | 65 | HOME_CONTENTS
 | Privathaftpflichtversicherung 2024 | 65 | LIABILITY_PRIVATE
Gemeinsam Leben Lebensvers a.G. | Beitr. | 45 | LIFE_OTHER
"""
NO_PREMIUMS = """
REWE Markt GmbH | EINKAUF 1234 | 30
ADAC e.V. | Mitgliedsbeitrag Plus 2024 | 94
ACE Auto Club Europa | Jahresbeitrag | 76
Künstlersozialkasse | Beitragskonto 123 | 210
KSK bei der Unfallversicherung Bund | Beitrag | 210
VBG Ihre gesetzliche Unfallversicherung | Beitragsbescheid Berufsgenossenschaft | 180
Deutsche Rentenversicherung Bund | Pflichtbeitrag 04/24 | 330
AOK Bayern | Sozialversicherungsbeiträge 04/24 Betriebsnummer 1234 | 890
Techniker Krankenkasse | Gesamtsozialversicherungsbeitrag | 700
Minijob-Zentrale | Haushaltsscheck Unfallversicherung | 50
Versicherungsmakler Krause | Honorar Beratung | 150
Kfz-Werkstatt Blitz | Unfallschaden Reparatur Versicherung | 900
Autohaus Sommer GmbH | Selbstbeteiligung Kasko | 300
Zahnarzt Dr. Beißer | Rechnung Zahnersatz | 400
Bundeskasse Weiden | Kfz-Steuer M-AB 123 | 120
Allianz Deutschland | Miete Wohnung 4.OG | 890
Debeka Bausparkasse AG | Bausparvertrag 1 | 100
Swiss Life AG | Einmalbeitrag Rentenversicherung 77 | 10000
AXA Lebensversicherung AG | Zuzahlung Fondspolice | 5000
Allianz Lebensversicherungs-AG | Annuität Baufinanzierung Darlehen 9 | 900
Barmer | Zuzahlung Krankenhaus | 100
Rechtsanwalt Streit | Unfall vom 3.4. Vorschuss | 300
Stadtwerke Musterstadt | Abschlag Strom | 80
RSV Musterstadt e.V. | Mitgliedsbeitrag 2024 | 60
Knappschaft-Bahn-See | Minijob Beiträge 01/24 | 40
Förderverein Gesamtschule | Klassenfahrt Anni Sievers | 120
Hallesche Verkehrs-AG | Deutschlandticket Abo 12 | 49
Allianz Global Investors | Fondssparplan 12 | 100
Versicherungsamt Musterstadt | Verwarnung RT-XP 12 | 30
AXA Lebensversicherung AG | Sonderzahlung Rentenversicherung 12 | 5000
Santander Leasing | KFZ Leasing Vertrag 12 Beitrag | 260
Anna Klein | danke fürs Versprechen | 20
Universe Games | Diverse Käufe | 20
Praxis am Markt | Krankengymnastik privat | 90
"""


def table(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("|")] for row in text.strip().splitlines()]


def tagged_lines(rows: list[list[str]]) -> pl.DataFrame:
    drawn = [line(row[0], row[1], -float(row[2]), "DIRECTDEBIT") for row in rows]
    return add_insurance(lines(*drawn))


def test_a_premium_gets_the_product_that_its_words_or_its_company_name() -> None:
    rows = table(PREMIUMS)
    found = tagged_lines(rows)["insurance"].to_list()
    assert [(row, item) for row, item in zip(rows, found, strict=True) if row[3] != item] == []


def test_what_only_sounds_like_insurance_is_none() -> None:
    rows = table(NO_PREMIUMS)
    found = tagged_lines(rows)["insurance"].to_list()
    assert [(row, item) for row, item in zip(rows, found, strict=True) if item != "UNRELATED_OTHER"] == []


HOUSING_COMPANIES = (
    "LEG Wohnen NRW GmbH",
    "Vonovia SE",
    "SAGA Siedlungs-AG Hamburg",
    "Gewobag Wohnungsbau-AG Berlin",
    "Allianz Immobilien GmbH",
    "Provinzial Wohnungsbaugesellschaft mbH",
)


@pytest.mark.parametrize("company", HOUSING_COMPANIES)
@pytest.mark.parametrize("purpose", ["Kaltmiete 05.2026 WE 12", "Miete Mai", "Mietvertrag 4711 Nebenkosten"])
def test_nobody_is_told_that_rent_goes_to_an_insurer(company: str, purpose: str) -> None:
    tagged = add_insurance(lines(line(company, purpose, -640.0, "STANDINGORDER")))
    assert tagged["insurance"].to_list() == ["UNRELATED_OTHER"]
    assert "Versicher" not in (tagged["insurance_reason"][0] or "")


def test_the_tables_are_as_long_as_promised() -> None:
    assert len(table(PREMIUMS)) + len(table(NO_PREMIUMS)) >= 120


def test_what_an_insurer_pays_is_no_premium() -> None:
    claim = line("Allianz Versicherungs-AG", "Schaden 123 Hausrat", 500.0)
    assert add_insurance(lines(claim))["insurance"].to_list() == ["UNRELATED_OTHER"]


def test_the_partner_says_it_where_no_word_does() -> None:
    silent = line("Vertrag 4711", "", -30.0, "DIRECTDEBIT", flag_insurer=True, partner_insurance="SPECIAL_PET")
    worded = line("Vertrag 4711", "Hausrat", -30.0, "DIRECTDEBIT", flag_insurer=True, partner_insurance="SPECIAL_PET")
    unknown = line("Vertrag 4711", "", -30.0, "DIRECTDEBIT", flag_insurer=True, partner_insurance="")
    found = add_insurance(lines(silent, worded, unknown))
    assert found["insurance"].to_list() == ["SPECIAL_PET", "HOME_CONTENTS", "OTHER_OTHER"]
    assert found["insurance_source"].to_list() == ["PARTNER", "RULE", "RULE"]


def test_what_a_company_mostly_sells_beside_other_damage_insurance_is_not_taken_for_granted() -> None:
    sold = ("VEHICLE_CAR", "LIABILITY_PRIVATE", "HOME_BUILDING", "VEHICLE_WARRANTY")
    drawn = [line("Vertrag 12", "", -30.0, "DIRECTDEBIT", flag_insurer=True, partner_insurance=item) for item in sold]
    assert add_insurance(lines(*drawn))["insurance"].to_list() == [
        "OTHER_OTHER",
        "OTHER_OTHER",
        "OTHER_OTHER",
        "VEHICLE_WARRANTY",
    ]


def test_every_health_fund_premium_is_statutory_unless_the_text_says_else() -> None:
    plain = line("Kasse 12", "Beitrag 01/24", -190.0, "DIRECTDEBIT", flag_krankenkasse=True)
    dental = line("Kasse 12", "Zahnzusatz Partnertarif", -19.0, "DIRECTDEBIT", flag_krankenkasse=True)
    assert add_insurance(lines(plain, dental))["insurance"].to_list() == ["HEALTH_STATUTORY", "HEALTH_DENTAL"]


def test_products_are_items_of_the_tree() -> None:
    found = set(tagged_lines(table(PREMIUMS))["insurance"])
    assert found <= {item.system_name for item in trees.tree("INSURANCE_TYPES").assignable}


def test_quoted_words_stand_in_the_line() -> None:
    found = tagged_lines(table(PREMIUMS) + table(NO_PREMIUMS))
    for row in found.iter_rows(named=True):
        for word in quoted_words(row["insurance_reason"]):
            assert word in f"{row['name']} {row['purpose']}", row["insurance_reason"]


def test_removing_the_words_that_decided_changes_the_result() -> None:
    rows = [row for row in table(PREMIUMS) if row[3].split("_")[0] == "HOME"]
    found = tagged_lines(rows)
    words = [" ".join(quoted_words(reason)) for reason in found["insurance_reason"]]
    without = found.select(*lines(line()).columns).with_columns(
        purpose=pl.Series([text.replace(word, "") for text, word in zip(found["purpose"], words, strict=True)])
    )
    again = add_insurance(without)["insurance"]
    assert (again != found["insurance"]).sum() >= len(rows) - 3  # a name may say it too


def test_words_are_found_where_a_line_break_cut_them() -> None:
    cut = line("Allianz", "Haftpflicht versicherung", -60.0, "DIRECTDEBIT")
    torn = line("Allianz", "Beitrag Wohngeb audeversicherung 123", -60.0, "DIRECTDEBIT")
    assert add_insurance(lines(cut, torn))["insurance"].to_list() == ["LIABILITY_PRIVATE", "HOME_BUILDING"]


@pytest.mark.parametrize("column", ["insurance", "insurance_confidence", "insurance_source", "insurance_reason"])
def test_every_line_has_every_part_of_the_tag(column: str) -> None:
    assert tagged_lines(table(PREMIUMS) + table(NO_PREMIUMS))[column].null_count() == 0


def test_nothing_goes_in_nothing_comes_out() -> None:
    assert add_insurance(lines(line()).clear()).height == 0
