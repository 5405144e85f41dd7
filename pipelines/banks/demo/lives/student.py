"""demo3: a student in Leipzig with a grant, help from the parents, a job at a bakery and a debit card."""

from datetime import date

from analytics.products import ProductCategory
from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import card, checking
from pipelines.banks.demo.plans import PaymentKind, Persona, Recurring, ScriptedHabit, Style

_OWNER, _BANK = "Lukas Klein", "12030000"
_GIRO = checking("Girokonto", _OWNER, _BANK, "1004477120", Style.DIRECT, 61_240, overdraft_limit_cents=50_000)
_CARD = card("Visa Debitkarte Guthaben", _OWNER, _BANK, "4930", "1180", category=ProductCategory.OTHER_CARD, opening_cents=30_000)

STUDENT = Persona(
    "demo3",
    "Leipzig",
    (_GIRO, _CARD),
    (
        Recurring(
            "giro",
            PaymentKind.BENEFIT,
            53_400,
            partners.STUDENT_GRANT,
            "BAfoeG Foerdernummer 3310-22417 {month}",
            31,
            earlier=True,
        ),
        Recurring("giro", PaymentKind.CREDIT, 20_000, partners.PARENTS, "Unterhalt Lukas", 1),
        Recurring(
            "giro", PaymentKind.SALARY, 26_000, partners.BACKSTUBE, "Lohn {month} Aushilfe", 15, earlier=True, spread_permille=180
        ),
        Recurring(
            "giro", PaymentKind.STANDING, -29_500, partners.LANDLORD_LEIPZIG, "Miete Zimmer 312 Haus B", 1, last=date(2025, 3, 31)
        ),
        Recurring("giro", PaymentKind.STANDING, -38_500, partners.FLATSHARE, "WG Miete Lukas", 1, first=date(2025, 4, 1)),
        Recurring(
            "giro",
            PaymentKind.TRANSFER,
            -27_220,
            partners.LANDLORD_LEIPZIG,
            "Semesterbeitrag 3754412",
            10,
            every=6,
            anchor=1,
            rise_permille=30,
        ),
        Recurring("giro", PaymentKind.DEBIT, -1_299, partners.CONGSTAR, "congstar Prepaid Rechnung {month}", 11),
        Recurring("giro", PaymentKind.DEBIT, -599, partners.SPOTIFY, "Spotify Student {month}", 21),
        Recurring("giro", PaymentKind.DEBIT, -12_437, partners.TK, "Studentische KV/PV 220188417 {month}", 15, rise_permille=35),
        Recurring("giro", PaymentKind.DEBIT, -1_990, partners.GYM, "McFIT Mitgliedsbeitrag {month}", 1, first=date(2024, 4, 1)),
        Recurring("giro", PaymentKind.STANDING, -5_500, None, "Aufladung Visa-Karte", 2),
        Recurring("card", PaymentKind.CREDIT, 5_500, None, "Aufladung", 2),
    ),
    (
        ScriptedHabit(
            "giro", ("PENNY 4410", "NETTO MARKEN-DISCOUNT", "LIDL SAGT DANKE", "ALDI NORD"), 2.2, 350, 3_900, twins=0.01
        ),
        ScriptedHabit("giro", ("MENSA AM PARK", "STUDENTENWERK LEIPZIG MENSA"), 2.5, 290, 620, twins=0.08),
        ScriptedHabit("giro", ("DOENER AM SUEDPLATZ", "BURGERMEISTER", "KNEIPE PUSCHKIN"), 1.2, 550, 2_600, sundays=True),
        ScriptedHabit("giro", ("ROSSMANN 3310",), 0.4, 300, 2_100),
        ScriptedHabit("card", ("STEAMGAMES.COM", "AMAZON.DE", "FLIXBUS"), 0.8, 499, 4_200, sundays=True, twins=0.02),
        ScriptedHabit("card", ("APPLE.COM/BILL",), 0.3, 99, 999, sundays=True, city="CORK", country="IE"),
        ScriptedHabit("giro", ("GA DKB LEIPZIG",), 0.2, 2_000, 6_000, kind=PaymentKind.CASH, sundays=True),
    ),
    (),
    (security.PUSH, security.APP),
    (security.PHONE_APP, security.OLD_PHONE),
)
