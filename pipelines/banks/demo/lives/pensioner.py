"""demo4: a pensioner in Hanover with a state and a company pension, a savings account and a fixed deposit."""

from analytics.products import ProductCategory
from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import account, checking
from pipelines.banks.demo.plans import PaymentKind, Persona, Recurring, ScriptedHabit, Style, own_transfer

_OWNER, _BANK = "Renate Vogt", "25050180"
_GIRO = checking("Girokonto Komfort", _OWNER, _BANK, "910024417", Style.SAVINGS_BANK, 281_900, overdraft_limit_cents=150_000)
_SAVINGS = account("saving", ProductCategory.SAVINGS, "Sparkonto", _OWNER, _BANK, "3910024417", Style.SAVINGS_BANK, 1_822_044)
_FIXED = account(
    "fixed", ProductCategory.FIXED_DEPOSIT, "Festgeld 12 Monate", _OWNER, _BANK, "5910024417", Style.SAVINGS_BANK, 2_500_000
)

PENSIONER = Persona(
    "demo4",
    "Hannover",
    (_GIRO, _SAVINGS, _FIXED),
    (
        Recurring(
            "giro",
            PaymentKind.PENSION,
            148_612,
            partners.PENSION,
            "Rente 53 110447 V 512 {month}",
            31,
            earlier=True,
            rise_permille=38,
        ),
        Recurring(
            "giro", PaymentKind.PENSION, 31_240, partners.COMPANY_PENSION, "Betriebsrente {month} Nr. 99120", 31, earlier=True
        ),
        Recurring(
            "giro",
            PaymentKind.STANDING,
            -61_000,
            partners.LANDLORD_HAMBURG,
            "Nutzungsgebuehr Wohnung 2.OG links",
            1,
            rise_permille=15,
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -4_900, partners.LICHTBLICK, "Abschlag Strom Kundennr. 4410-8812", 5, rise_permille=20
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -5_508,
            partners.BROADCASTING,
            "Rundfunkbeitrag 3 Monate Beitragsnr. 101 117 203",
            15,
            every=3,
            anchor=3,
        ),
        Recurring("giro", PaymentKind.DEBIT, -2_995, partners.TELEKOM, "Festnetz Vertragskonto 2200117712 RG {month}", 10),
        Recurring("giro", PaymentKind.DEBIT, -4_790, partners.NEWSPAPER, "Abonnement Tageszeitung {month}", 4, rise_permille=50),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -3_120,
            partners.DEVK,
            "Unfallversicherung 60plus VN 22 417 003 Beitrag",
            1,
            every=3,
            anchor=2,
        ),
        Recurring("giro", PaymentKind.DEBIT, -5_940, partners.DEVK, "Hausrat VN 22 417 004 Jahresbeitrag", 1, every=12, anchor=9),
        Recurring("giro", PaymentKind.DEBIT, -1_885, partners.ERGO, "Sterbegeld LV 8812-44 Beitrag {month}", 1),
        Recurring(
            "giro", PaymentKind.DEBIT, -2_750, partners.DEBEKA, "Zahnzusatz 3310 447 812 Beitrag {month}", 1, rise_permille=30
        ),
        Recurring("giro", PaymentKind.STANDING, -2_500, partners.DONATION, "Spende Frau Vogt", 20),
        Recurring("giro", PaymentKind.STANDING, -5_000, partners.PARENTS, "Taschengeld Enkel", 1),
        Recurring("giro", PaymentKind.FEE, -795, None, "Kontofuehrung {month}", 31, earlier=True),
        Recurring(
            "saving", PaymentKind.INTEREST, 9_110, None, "Zinsen {month}", 31, every=12, anchor=12, earlier=True, step_cents=15
        ),
        Recurring("fixed", PaymentKind.INTEREST, 62_500, None, "Zinsen Festgeld 2,50 % Prolongation", 15, every=12, anchor=9),
        *own_transfer(_GIRO, _SAVINGS, 12_500, 3, "Sparen"),
    ),
    (
        ScriptedHabit("giro", ("EDEKA CENTER HANNOVER", "REWE SAGT DANKE. 2210", "ALDI NORD"), 2.4, 700, 5_200),
        ScriptedHabit("giro", ("BAECKEREI GOEING", "BLUMEN LINDE"), 1.0, 320, 1_900),
        ScriptedHabit("giro", ("APOTHEKE AM MARKT", "SANITAETSHAUS KIND"), 0.5, 500, 4_900),
        ScriptedHabit("giro", ("SPK GA 1102",), 0.6, 10_000, 25_000, kind=PaymentKind.CASH),
        ScriptedHabit("giro", ("CAFE KROEPCKE",), 0.7, 480, 2_100, sundays=True, twins=0.03),
    ),
    (),
    (security.MANUAL, security.LISTED),
    (security.SECOND_GENERATOR, security.LIST),
)
