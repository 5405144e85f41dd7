"""demo2: a family near Stuttgart with two children, a house, a loan on it and a home-savings contract."""

from datetime import date
from decimal import Decimal

from analytics.products import ProductCategory
from pipelines.banks.base import HomeSavings
from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import account, checking, home_savings
from pipelines.banks.demo.plans import PaymentKind, Persona, Recurring, ScriptedHabit, Style, own_transfer

_OWNER, _BANK = "Claudia und Jens Hoffmann", "60090100"
_GIRO = checking("VR-Familienkonto", _OWNER, _BANK, "300412008", Style.COOPERATIVE, 342_110, overdraft_limit_cents=500_000)
_LOAN = account("loan", ProductCategory.LOAN, "Baufinanzierung", _OWNER, _BANK, "600412018", Style.COOPERATIVE, -28_640_000)
_SAVINGS = account(
    "saving", ProductCategory.SAVINGS, "Sparbuch Mia", "Mia Hoffmann", _BANK, "400412023", Style.COOPERATIVE, 148_000
)
_HOME = home_savings(
    "Bausparvertrag FuchsBau",
    _OWNER,
    _BANK,
    "700412035",
    1_240_000,
    HomeSavings(
        contract_number="4711-0815-22",
        contract_type="FuchsBau Komfort",
        contract_status="Ansparphase",
        contract_on=date(2019, 4, 1),
        contract_sum_cents=5_000_000,
        rating=Decimal("8.41"),
        saving_rate=Decimal("0.25"),
        debt_rate=Decimal("2.35"),
        saving_progress=Decimal(0),
        in_saving_phase=True,
    ),
)
_RATE_CENTS = 124_500

FAMILY = Persona(
    "demo2",
    "Filderstadt",
    (_GIRO, _LOAN, _HOME, _SAVINGS),
    (
        Recurring(
            "giro",
            PaymentKind.SALARY,
            321_240,
            partners.KLINIKUM,
            "Bezuege {month} Pers.-Nr. 20881",
            25,
            earlier=True,
            rise_permille=25,
        ),
        Recurring(
            "giro",
            PaymentKind.SALARY,
            128_215,
            partners.SCHULAMT,
            "Bezuege LBV {month} 3310042",
            31,
            earlier=True,
            rise_permille=20,
        ),
        Recurring(
            "giro",
            PaymentKind.BENEFIT,
            50_000,
            partners.FAMILY_BENEFITS,
            "Kindergeld KG128FK447120 {month}",
            9,
            last=date(2024, 12, 31),
        ),
        Recurring(
            "giro",
            PaymentKind.BENEFIT,
            51_000,
            partners.FAMILY_BENEFITS,
            "Kindergeld KG128FK447120 {month}",
            9,
            first=date(2025, 1, 1),
        ),
        Recurring("giro", PaymentKind.INSTALMENT, -_RATE_CENTS, None, "Annuitaet Darlehen 600412018 {month}", 30),
        Recurring("loan", PaymentKind.INSTALMENT, _RATE_CENTS, None, "Annuitaet {month}", 30),
        Recurring("loan", PaymentKind.INTEREST, -64_440, None, "Darlehenszinsen 2,70 % p.a. {month}", 30, step_cents=138),
        Recurring(
            "home",
            PaymentKind.INTEREST,
            3_400,
            None,
            "Guthabenzinsen {month}",
            31,
            every=12,
            anchor=12,
            earlier=True,
            step_cents=45,
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -16_800, partners.EON, "Abschlag Strom und Gas Vertrag 222 418 007", 3, rise_permille=25
        ),
        Recurring(
            "giro",
            PaymentKind.CREDIT,
            18_440,
            partners.EON,
            "Guthaben Jahresabrechnung Vertrag 222 418 007",
            20,
            every=12,
            anchor=4,
            spread_permille=500,
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -14_210,
            partners.CITY_CASHIER,
            "Grundsteuer Buchungszeichen 5.0112.004711.8",
            15,
            every=3,
            anchor=2,
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -4_780,
            partners.CITY_CASHIER,
            "Abfall und Abwasser Buchungszeichen 7.0231.99",
            1,
            every=3,
            anchor=1,
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -5_508,
            partners.BROADCASTING,
            "Rundfunkbeitrag 3 Monate Beitragsnr. 218 004 417",
            15,
            every=3,
            anchor=1,
        ),
        Recurring("giro", PaymentKind.DEBIT, -4_999, partners.VODAFONE, "Kabel Internet Kundennr. 117008812 RG {month}", 6),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -4_498,
            partners.O2,
            "o2 Mobilfunk 2 Karten Kundennr. 6001884 {month}",
            22,
            spread_permille=80,
        ),
        Recurring(
            "giro", PaymentKind.STANDING, -32_500, partners.CHILDCARE, "Elternbeitrag Emil Hoffmann", 1, last=date(2025, 8, 31)
        ),
        Recurring("giro", PaymentKind.STANDING, -6_200, partners.MUSIC_SCHOOL, "Unterricht Klavier Mia Hoffmann", 5),
        Recurring("giro", PaymentKind.DEBIT, -10_800, partners.SPORTS_CLUB, "Familienbeitrag Halbjahr", 10, every=6, anchor=1),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -31_140,
            partners.ALLIANZ,
            "Wohngebaeude AS-9912004417 Jahresbeitrag",
            2,
            every=12,
            anchor=1,
            rise_permille=45,
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -42_180,
            partners.HUK,
            "Kfz-Versicherung S-HM 4410 VS 771/208814",
            2,
            every=6,
            anchor=1,
            rise_permille=35,
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -9_240, partners.HUK, "Privathaftpflicht Familie VS 771/208815", 2, every=12, anchor=1
        ),
        Recurring("giro", PaymentKind.DEBIT, -4_870, partners.ALLIANZ_LIFE, "Risikoleben Vers.-Nr. 7/4410/02 Beitrag {month}", 1),
        Recurring("giro", PaymentKind.DEBIT, -14_600, partners.VEHICLE_TAX, "KFZ-Steuer S-HM 4410", 17, every=12, anchor=5),
        Recurring("giro", PaymentKind.DEBIT, -1_799, partners.NETFLIX, "NETFLIX.COM Monatsbeitrag {month}", 14),
        Recurring("giro", PaymentKind.STANDING, -3_000, partners.DONATION, "Spende", 15),
        Recurring(
            "giro",
            PaymentKind.CREDIT,
            71_200,
            partners.TAX_OFFICE,
            "Steuererstattung ESt Vorjahr",
            18,
            every=12,
            anchor=7,
            spread_permille=400,
        ),
        *own_transfer(_GIRO, _HOME, 40_000, 3, "Bausparen 4711-0815-22"),
        *own_transfer(_GIRO, _SAVINGS, 12_500, 3, "Sparen Mia"),
    ),
    (
        ScriptedHabit("giro", ("EDEKA MUELLER", "LIDL VERTRIEBS GMBH", "KAUFLAND FILDERSTADT", "ALDI SUED"), 4.2, 1_400, 17_500),
        ScriptedHabit("giro", ("BAECKEREI TREIBER", "METZGEREI KRAUTER"), 2.0, 380, 2_900),
        ScriptedHabit("giro", ("DM DROGERIEMARKT", "MUELLER HANDELS GMBH"), 1.0, 600, 6_200),
        ScriptedHabit("giro", ("ARAL STATION 28133", "JET TANKSTELLE"), 1.1, 3_800, 9_200, sundays=True),
        ScriptedHabit("giro", ("OBI BAUMARKT", "HORNBACH", "IKEA SINDELFINGEN"), 0.45, 900, 21_000),
        ScriptedHabit("giro", ("H&M", "DECATHLON", "SMYTHS TOYS"), 0.6, 1_200, 11_000),
        ScriptedHabit("giro", ("VR-BANK GAA 0221",), 0.4, 5_000, 20_000, kind=PaymentKind.CASH, sundays=True),
        ScriptedHabit(
            "giro",
            ("Otto GmbH", "Tchibo GmbH", "JAKO-O"),
            0.5,
            1_900,
            14_500,
            kind=PaymentKind.DEBIT,
            payer=partners.PAYPAL,
            sundays=True,
        ),
        ScriptedHabit("giro", ("PIZZERIA ROMA", "L OSTERIA", "MCDONALDS 1022"), 0.6, 1_900, 8_900, sundays=True),
    ),
    (),
    (security.MANUAL, security.OPTICAL, security.PUSH, security.PAGE),
    (security.GENERATOR, security.SECODER, security.PHONE),
)
