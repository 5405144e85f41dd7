"""Who stands behind a line: real spellings of statements and the partners they mean, and look-alikes that mean nobody."""

import random
from collections.abc import Iterable

import polars as pl

from analytics import knowledge
from analytics.bank_text import canonical
from analytics.frames import LINES
from analytics.tagging.partners import add_partners
from tests.analytics.drawing import quoted_words

CATALOGUE = knowledge.partners()
EMPTY = {name: "" for name, kind in LINES.items() if kind == pl.String}


def line(name: str = "", channel: str = "DIRECTDEBIT", **more: object) -> dict[str, object]:
    """A line as it is read: names in canonical form, and the name's key as the merchant unless another is given."""
    names = pl.Series([name])
    read = {"name": canonical.canonical(names)[0], "merchant": canonical.name_key(names)[0]}
    return {**EMPTY, "key": 1, "positive": False, "amount_bin": 2, "channel": channel, **read, **more}


def lines(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=LINES)


def partner(row: dict[str, object]) -> str:
    return str(add_partners(lines(row), CATALOGUE)["partner"][0])


CARD = {
    "REWE Markt GmbH": "REWE",
    "REWE SAGT DANKE. 43655361": "REWE",
    "Rewe Michael Weisbrod oHG": "REWE",
    "EDEKA CENTER MUELLER": "EDEKA",
    "E-Center Herkules": "EDEKA",
    "nah und gut Schmidt": "EDEKA",
    "ALDI SUED": "ALDI_SUED",
    "ALDI NORD SAGT DANKE": "ALDI_NORD",
    "LIDL DIENSTLEISTUNG": "LIDL",
    "Lidl sagt Danke": "LIDL",
    "Lidl.de Onlineshop": "LIDL_ONLINESHOP",
    "Kaufland Berlin-Wedding": "KAUFLAND",
    "NETTO MARKEN-DISCOU": "NETTO_MARKEN_DISCOUNT",
    "PENNY-MARKT 1234": "PENNY",
    "Penny": "PENNY",
    "Norma Sagt Danke": "NORMA",
    "HIT Handelsgruppe": "HIT_MARKT",
    "tegut... gute Lebensmittel": "TEGUT",
    "denn's Biomarkt GmbH": "DENNS_BIOMARKT",
    "Alnatura Super Natur Markt": "ALNATURA",
    "dm-drogerie markt": "DM",
    "DM FIL.1234": "DM",
    "ROSSMANN 4711": "ROSSMANN",
    "Dirk Rossmann GmbH": "ROSSMANN",
    "Mueller Drogeriemarkt": "MUELLER",
    "MUELLER": "MUELLER",
    "TEDI": "TEDI",
    "Action 1092": "ACTION",
    "Woolworth GmbH": "WOOLWORTH",
    "Getraenke Hoffmann GmbH": "GETRAENKE_HOFFMANN",
    "BackWerk Hbf": "BACKWERK",
    "BAECKER GOERTZ GMBH": "BAECKER_GOERTZ",
    "ARAL Station 123456789": "ARAL",
    "SHELL 4711": "SHELL",
    "JET Tankstelle": "JET",
    "JET": "JET",
    "star Tankstelle": "STAR",
    "TOTAL SERVICE STATION": "TOTALENERGIES",
    "Esso Station Meier": "ESSO",
    "IONITY GmbH": "IONITY",
    "EnBW mobility+": "ENBW_MOBILITY",
    "APCOA PARKING Deutschland": "APCOA",
    "EasyPark": "EASYPARK",
    "DB Vertrieb GmbH": "DEUTSCHE_BAHN",
    "BVG Fahrscheine": "BVG",
    "FREENOW": "FREENOW",
    "UBER *TRIP": "UBER",
    "LIME*RIDE": "LIME",
    "IKEA Deutschland": "IKEA",
    "IKEA Restaurant": "IKEA_RESTAURANT",
    "XXXLutz Moebelhaus": "XXXLUTZ",
    "POCO Einrichtungsmaerkte GmbH": "POCO",
    "OBI BAU U.HEIMWERKERMARKT": "OBI",
    "BAUHAUS GmbH & Co. KG": "BAUHAUS",
    "Hornbach Baumarkt AG": "HORNBACH",
    "Toom Baumarkt": "TOOM_BAUMARKT",
    "MEDIA MARKT": "MEDIAMARKT",
    "MediaMarkt Koeln": "MEDIAMARKT",
    "SATURN ELECTRO": "SATURN",
    "Apple Store R123": "APPLE",
    "APPLE.COM/BILL": "APPLE_SERVICES",
    "Google *Google Play Ap": "GOOGLE_PLAY",
    "STEAMGAMES.COM 4259522": "STEAM",
    "PlayStation Network": "PLAYSTATION",
    "H&M 0123": "H_M",
    "H + M HENNES + MAURITZ": "H_M",
    "C&A Mode GmbH & Co. KG": "C_A",
    "ZARA Deutschland": "ZARA",
    "P&C Duesseldorf": "PEEK_CLOPPENBURG",
    "TK MAXX 2210": "TK_MAXX",
    "Deichmann Schuhe": "DEICHMANN",
    "KiK Filiale 3221": "KIK",
    "Ernsting's family": "ERNSTINGS_FAMILY",
    "Decathlon Deutschland": "DECATHLON",
    "Parfuemerie Douglas": "DOUGLAS",
    "Fielmann AG": "FIELMANN",
    "Apollo-Optik Filiale 123": "APOLLO",
    "Shop-Apotheke B.V.": "SHOP_APOTHEKE",
    "McDonalds 1234": "MCDONALDS",
    "BURGER KING 4711": "BURGER_KING",
    "Starbucks Coffee": "STARBUCKS",
    "Lieferando.de": "LIEFERANDO",
    "Fressnapf XXL": "FRESSNAPF",
    "DEHNER GARTENCENTER": "DEHNER",
    "CINEMAXX": "CINEMAXX",
    "EVENTIM.DE": "CTS_EVENTIM",
    "Thalia Buchhandlung": "THALIA",
    "NETFLIX.COM": "NETFLIX",
    "Spotify P12AB34CD": "SPOTIFY",
    "DISNEYPLUS": "DISNEY_PLUS",
    "RYANAIR": "RYANAIR",
    "Deutsche Lufthansa AG": "LUFTHANSA",
    "Hotel at Booking.com": "BOOKING_COM",
    "AIRBNB * HMQ2": "AIRBNB",
    "Motel One Berlin": "MOTEL_ONE",
    "Europa-Park": "EUROPA_PARK",
    "TIPICO": "TIPICO",
    "AMZN Mktp DE*2K3L4": "AMAZON",
    "Deutsche Post Filiale": "DEUTSCHE_POST",
    "Bauhaus-Universitaet Weimar": "BAUHAUS_UNIVERSITAET_WEIMAR",
    "Thalia Theater": "THALIA_THEATER",
}
DEBIT = {
    "Telekom Deutschland GmbH": "TELEKOM",
    "congstar - eine Marke der Telekom Deutschland GmbH": "CONGSTAR",
    "Telefonica Germany GmbH + Co. OHG": "O2",
    "Vodafone GmbH": "VODAFONE",
    "Vodafone Kabel Deutschland GmbH": "VODAFONE",
    "1&1 Telecom GmbH": "1UND1",
    "1und1 Telecommunication SE": "1UND1",
    "Drillisch Online GmbH": "DRILLISCH",
    "PYUR": "PYUR",
    "E.ON Energie Deutschland GmbH": "E_ON",
    "Vattenfall Europe Sales GmbH": "VATTENFALL",
    "LichtBlick SE": "LICHTBLICK",
    "Stadtwerke Muenchen GmbH": "STADTWERKE_MUENCHEN",
    "SWM Versorgungs GmbH": "STADTWERKE_MUENCHEN",
    "Techem Energy Services GmbH": "TECHEM",
    "Rundfunk ARD, ZDF, DRadio": "RUNDFUNKBEITRAG",
    "Vonovia SE": "VONOVIA",
    "SAGA Siedlungs-Aktiengesellschaft": "SAGA",
    "Techniker Krankenkasse": "TK",
    "AOK Niedersachsen": "AOK_NIEDERSACHSEN",
    "AOK - Die Gesundheitskasse": "AOK",
    "BKK Musterwerk": "BKK",
    "HUK-COBURG Allgemeine Versicherung AG": "HUK_COBURG",
    "HUK24 AG": "HUK24",
    "R+V Allgemeine Versicherung AG": "R_V",
    "DKV Deutsche Krankenversicherung AG": "DKV",
    "ERGO Versicherung AG": "ERGO",
    "Zurich Deutscher Herold Lebensversicherung AG": "ZURICH",
    "ADAC e.V.": "ADAC",
    "ADAC Autoversicherung AG": "ADAC_VERSICHERUNG",
    "TARGOBANK AG": "TARGOBANK",
    "Santander Consumer Bank AG": "SANTANDER",
    "Bausparkasse Schwaebisch Hall AG": "SCHWAEBISCH_HALL",
    "Trade Republic Bank GmbH": "TRADE_REPUBLIC",
    "Volkswagen Leasing GmbH": "VOLKSWAGEN_LEASING",
    "FitX Deutschland GmbH": "FITX",
    "RSG Group GmbH": "RSG_GROUP",
    "Bundeskasse in Kiel": "BUNDESKASSE",
    "Unicef Deutschland": "UNICEF",
    "OTTO GmbH & Co KG": "OTTO",
    "eBay S.a.r.l.": "EBAY",
    "PVS Rhein-Ruhr GmbH": "PVS",
    "EOS Deutscher Inkasso-Dienst GmbH": "EOS",
    "Stiftung Warentest": "STIFTUNG_WARENTEST",
    "Sky": "SKY",
    "Hermes Germany GmbH": "HERMES",
}
TRANSFER = {
    "Finanzamt Muenchen": "FINANZAMT",
    "Deutsche Rentenversicherung Bund": "DEUTSCHE_RENTENVERSICHERUNG_BUND",
    "Bundesagentur fuer Arbeit - Familienkasse": "FAMILIENKASSE",
    "Bundesagentur fuer Arbeit": "BUNDESAGENTUR_FUER_ARBEIT",
    "Jobcenter Leipzig": "JOBCENTER",
    "Stadtkasse Bielefeld": "STADT_BIELEFELD",
    "Stadt Gelsenkirchen Stadtkasse": "STADT_GELSENKIRCHEN",
    "Stadtkasse Zell (Mosel)": "STADT_ZELL_MOSEL",
    "Gemeindekasse Salzweg": "GEMEINDE_SALZWEG",
    "Landeshauptstadt Saarbrücken": "STADT_SAARBRUECKEN",
    "Bundesstadt Bonn Kasse": "STADT_BONN",
    "LANDKREIS GOERLITZ KREISKAS SE": "LANDKREIS_GOERLITZ",
    "Kreiskasse Bernkastel-Wittlich": "LANDKREIS_BERNKASTEL_WITTLICH",
    "Verbandsgemeindekasse Daun": "VERBANDSGEMEINDE_DAUN",
    "Jugendamt Wolfsburg Beistandschaft": "STADT_WOLFSBURG",
    "Stadtkasse Musterhausen": "STADTKASSE",
    "Jobcenter Landkreis Goerlitz": "JOBCENTER",
    "Kasseler Sparkasse": "KASSELER_SPARKASSE",
    "VR-Bank in Suedoldenburg eG": "VR_BANK_IN_SUEDOLDENBURG",
    "Amt fuer Ausbildungsfoerderung": "AMT_FUER_AUSBILDUNGSFOERDERUNG",
    "Robert Bosch GmbH": "ROBERT_BOSCH",
    "LBV Baden-Wuerttemberg": "LBV_BADEN_WUERTTEMBERG",
    "Dirk Rossmann GmbH": "ROSSMANN",
}
NOBODY_BY_CARD = (
    "Baeckerei Aktion", "Baeckerei Mueller", "Cafe Apollo", "Star Kebap", "Real Doener", "Alex Barbershop", "Gasthof Post",
    "Kiosk am Bahnhof", "Metzgerei Otto", "Pizzeria Da Mango", "Hotel Adler", "Restaurant Olymp", "Eiscafe Venezia",
    "Lotto Schmidt", "Sonnen-Apotheke", "Bistro Metro", "Friseur Hammer", "Blumen Penny", "Taxi Schulz",
    "Tankstelle Schmitz", "Buchhandlung Engel", "Getraenkemarkt Huber", "Total Fitness", "Sky Bar", "Next Level Games",
    "Bolt Werkzeuge", "Cafe Saturn", "Optik Wagner", "Weingut Globus", "Praxis Dr. Douglas",
)  # fmt: skip
NOBODY_BY_TRANSFER = (
    "Familie Müller", "Max Star", "Herr Penny", "Erich Sixt", "Sixt Erich", "Zara Schmidt", "Otto Waalkes", "Thalia Meier",
    "Douglas Adams", "Norma Becker", "Peter Lidl", "Anna Aldi", "Mueller", "Müller GmbH", "Hausverwaltung Schmidt",
    "Eheleute Roller", "Kai Hawaii", "Frau Esprit", "Roland Kaiser", "Stefan Raab", "Jan Jet", "Michael Total",
    "Apollo Bauservice", "Sabine Saturn", "Bauhaus Immobilien GbR", "Wolfgang Amadeus", "Conrad Schulze", "Hugo Bossmann",
    "Adler Apotheke", "Star GmbH Maler", "Action Sport e.V.", "Sparverein Musterstadt", "Gemeindewerke Kleinstadt",
    "Kindergarten Sonnenschein", "Anton Hermes", "Christ Peter", "Real Estate Partner",
)  # fmt: skip


def partners_of(spellings: Iterable[str], channel: str) -> dict[str, str]:
    """The partner of each spelling."""
    found = add_partners(lines(*(line(spelling, channel) for spelling in spellings)), CATALOGUE)
    return dict(zip(spellings, found["partner"], strict=True))


def test_card_payments_are_known_by_their_merchant() -> None:
    assert partners_of(CARD, "CARD") == CARD


def test_debits_are_known_by_their_name() -> None:
    assert partners_of(DEBIT, "DIRECTDEBIT") == DEBIT


def test_transfers_are_known_by_their_name() -> None:
    assert partners_of(TRANSFER, "TRANSFER") == TRANSFER


def test_small_shops_are_not_taken_for_a_brand() -> None:
    assert partners_of(NOBODY_BY_CARD, "CARD") == dict.fromkeys(NOBODY_BY_CARD, "UNKNOWN")


def test_a_payment_service_glues_and_cuts_the_name_of_a_shop() -> None:
    assert partner(line("PayPal Europe S.a.r.l.", merchant="zooplusse", via="PAYPAL")) == "ZOOPLUS"
    assert partner(line("PayPal Europe S.a.r.l.", merchant="zooplusse")) == "UNKNOWN"
    assert partner(line("PayPal Europe S.a.r.l.", merchant="zoohandlung", via="PAYPAL")) == "UNKNOWN"


def test_a_payment_service_names_the_shop_in_its_purpose() -> None:
    service = {"via": "FIRST_DATA", "merchant": "ec"}
    assert partner(line("First Data GmbH", purpose="ec 0 0oc0 schuhhaus werdich freib", **service)) == "WERDICH"


def test_people_and_small_firms_are_not_taken_for_a_brand() -> None:
    assert partners_of(NOBODY_BY_TRANSFER, "TRANSFER") == dict.fromkeys(NOBODY_BY_TRANSFER, "UNKNOWN")


def test_a_creditor_id_decides_whatever_the_name_says() -> None:
    found = add_partners(lines(line("Abbuchung", creditor_id="DE5100000031158")), CATALOGUE).row(0, named=True)
    assert (found["partner"], found["partner_confidence"], found["partner_source"]) == ("TK", 0.99, "PARTNER")
    assert found["partner_reason"] == "Gläubiger-ID von TK"


def test_a_brand_of_the_creditors_group_is_told_by_the_line() -> None:
    telekom = {"creditor_id": "DE9300000078611"}
    assert partner(line("Telekom Deutschland GmbH", **telekom)) == "TELEKOM"
    assert partner(line("congstar", **telekom)) == "CONGSTAR"
    assert partner(line("Telekom Deutschland GmbH", purpose="congstar allnet flat", **telekom)) == "CONGSTAR"
    assert partner(line("RSG Group GmbH", purpose="mcfit mitgliedsbeitrag")) == "MCFIT"


def test_behind_a_payment_service_stands_the_merchant() -> None:
    paypal = {"via": "PAYPAL", "creditor_id": "LU960000000000000000058"}
    assert partner(line("PayPal Europe S.a.r.l.", merchant="spotify", **paypal)) == "SPOTIFY"
    assert partner(line("PayPal Europe S.a.r.l.", merchant="cafe schmidt", **paypal)) == "UNKNOWN"
    assert partner(line("PayPal Europe S.a.r.l.", merchant="", **paypal)) == "PAYPAL"
    assert partner(line("PayPal Europe S.a.r.l.", via="PAYPAL")) == "PAYPAL"
    assert partner(line("", via="SUMUP", channel="CARD")) == "SUMUP"


def test_a_bank_that_only_settled_the_card_is_not_the_partner() -> None:
    assert partner(line("Commerzbank", "CARD", merchant="rewe")) == "REWE"
    assert partner(line("Commerzbank", "CARD", merchant="cafe schmidt")) == "UNKNOWN"
    assert partner(line("Commerzbank", "FEE")) == "COMMERZBANK"


def test_a_brand_in_the_purpose_counts_only_where_companies_write() -> None:
    assert partner(line("Zahlung", purpose="netflix abo monat")) == "NETFLIX"
    assert partner(line("Anna Meier", "TRANSFER", purpose="netflix abo monat")) == "UNKNOWN"
    assert partner(line("Zahlung", purpose="action im januar")) == "UNKNOWN"


def test_line_breaks_inside_a_name_do_no_harm() -> None:
    assert partner(line("hel lofresh")) == "HELLOFRESH"
    assert partner(line("mediamarkt")) == partner(line("media markt")) == partner(line("med iamarkt")) == "MEDIAMARKT"
    assert partner(line("PayPal Europe", merchant="eb ay", via="PAYPAL")) == "EBAY"


def test_a_slip_of_the_pen_or_a_cut_is_forgiven() -> None:
    assert partner(line("Techniker Krankenkase")) == "TK"
    assert partner(line("Deutsche Rentenversicherun", "TRANSFER")) == "DEUTSCHE_RENTENVERSICHERUNG"
    assert partner(line("Gemeindewerke Kleinstadt")) == "UNKNOWN"


def test_a_bank_or_utility_of_an_unknown_town_is_at_least_one_of_its_family() -> None:
    assert partner(line("Stadtwerke Kleinstadt")) == "STADTWERKE"
    assert partner(line("Sparkasse Musterstadt", "TRANSFER")) == "SPARKASSE"
    assert partner(line("Stadtwerke Bielefeld")) == "STADTWERKE_BIELEFELD"


def test_the_ultimate_party_is_asked_last() -> None:
    found = add_partners(lines(line("Zahlung", ultimate="vodafone gmbh")), CATALOGUE).row(0, named=True)
    assert (found["partner"], found["partner_reason"]) == ("VODAFONE", "abweichender Name »Vodafone« = Vodafone")


def test_what_a_reason_quotes_stands_in_the_line() -> None:
    rows = lines(*(line(name, "CARD") for name in CARD), *(line(name) for name in DEBIT))
    found = add_partners(rows, CATALOGUE)
    words = {(name, word) for name, reason in found.select("name", "partner_reason").rows() for word in quoted_words(reason)}
    assert len(words) > 100
    assert {(name, word) for name, word in words if word not in name} == set()


def test_other_lines_do_not_change_the_partner_of_a_line() -> None:
    rows = [line(name, "CARD") for name in (*CARD, *NOBODY_BY_CARD)] + [line(name) for name in DEBIT]
    shuffled = random.Random(4).sample(range(len(rows)), len(rows))
    together = add_partners(lines(*rows), CATALOGUE)
    assert add_partners(lines(*(rows[number] for number in shuffled)), CATALOGUE).equals(together[shuffled])
    assert add_partners(lines(rows[7]), CATALOGUE).equals(together[7:8])
    assert add_partners(lines(), CATALOGUE).is_empty()


def test_with_fewer_partners_the_others_are_unknown() -> None:
    small = CATALOGUE.reduced({"REWE", "TK"})
    rows = lines(line("REWE Markt GmbH"), line("Vodafone GmbH"), line("x", creditor_id="DE9300000078611"))
    assert add_partners(rows, small)["partner"].to_list() == ["REWE", "UNKNOWN", "UNKNOWN"]
    assert add_partners(rows, CATALOGUE.reduced(lambda name: False))["partner"].unique().to_list() == ["UNKNOWN"]
