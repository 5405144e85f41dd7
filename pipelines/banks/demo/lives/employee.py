"""demo1: an employee who lives alone in a rented flat in Cologne, saves a little and has a small depot."""

from decimal import Decimal

from pipelines.banks.base import FetchedPosition
from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import call_money, card, checking, depot
from pipelines.banks.demo.plans import PaymentKind, Persona, Recurring, ScriptedHabit, Security, Settlement, Style, own_transfer

_OWNER, _BANK = "Erika Muster", "37050198"
_GIRO = checking("Girokonto", _OWNER, _BANK, "1029384756", Style.SAVINGS_BANK, 184_512, overdraft_limit_cents=200_000)
_CALL = call_money("Tagesgeld", _OWNER, _BANK, "6029384756", Style.SAVINGS_BANK, 912_000)
_CARD = card("Visa Classic", _OWNER, _BANK, "4152", "7731", limit_cents=250_000)
_DEPOT = depot(
    "Depot",
    _OWNER,
    _BANK,
    "7029384756",
    (
        Security(
            FetchedPosition(
                "iShares Core MSCI World UCITS ETF",
                Decimal("42.00"),
                True,
                "IE00B4L5Y983",
                "A0RPWH",
                Decimal("78.42"),
                currency="EUR",
                venue="Xetra",
            ),
            monthly=1,
        ),
        Security(
            FetchedPosition(
                "SAP SE", Decimal(12), True, "DE0007164600", "716460", Decimal("128.30"), currency="EUR", venue="Xetra"
            )
        ),
        Security(
            FetchedPosition(
                "Deka-Global Champions CF",
                Decimal("8.417"),
                True,
                "DE000DK0ECU8",
                "DK0ECU",
                Decimal("241.17"),
                currency="EUR",
                venue="KVG",
            )
        ),
    ),
)

EMPLOYEE = Persona(
    "demo1",
    "Koeln",
    (_GIRO, _CALL, _CARD, _DEPOT),
    (
        Recurring(
            "giro",
            PaymentKind.SALARY,
            254_380,
            partners.NORDLICHT,
            "Lohn/Gehalt {month} Personalnummer 4711",
            27,
            earlier=True,
            rise_permille=28,
        ),
        Recurring(
            "giro",
            PaymentKind.SALARY,
            152_600,
            partners.NORDLICHT,
            "Weihnachtsgeld {month}",
            27,
            every=12,
            anchor=11,
            earlier=True,
        ),
        Recurring(
            "giro",
            PaymentKind.STANDING,
            -82_000,
            partners.LANDLORD_COLOGNE,
            "Miete Wohnung 14 Aachener Str. 210",
            1,
            rise_permille=18,
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -6_400, partners.VATTENFALL, "Abschlag Strom Vertragskonto 802114733", 15, rise_permille=30
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -5_508,
            partners.BROADCASTING,
            "Rundfunkbeitrag 3 Monate Beitragsnr. 512 884 091",
            15,
            every=3,
            anchor=2,
        ),
        Recurring("giro", PaymentKind.DEBIT, -3_995, partners.TELEKOM, "Festnetz Vertragskonto 4419920311 RG {month}", 12),
        Recurring(
            "giro", PaymentKind.DEBIT, -1_500, partners.CONGSTAR, "congstar Mobilfunk Rechnung {month}", 20, spread_permille=150
        ),
        Recurring("giro", PaymentKind.DEBIT, -1_399, partners.NETFLIX, "NETFLIX.COM Monatsbeitrag {month}", 8),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -1_099,
            partners.PAYPAL,
            "PP.4417.PP . Spotify AB, Ihr Einkauf bei Spotify AB",
            18,
            ultimate="Spotify AB",
        ),
        Recurring("giro", PaymentKind.DEBIT, -2_490, partners.GYM, "Mitgliedsbeitrag {month} Mitglied 77120", 1),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -6_390,
            partners.HUK,
            "Privathaftpflicht VS-Nr. 290/114477-P Beitrag",
            2,
            every=12,
            anchor=1,
            rise_permille=20,
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -7_812,
            partners.HUK,
            "Hausrat VS-Nr. 290/114478-H Beitrag",
            2,
            every=12,
            anchor=3,
            rise_permille=20,
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -5_231, partners.ALLIANZ_LIFE, "Berufsunfaehigkeit Vers.-Nr. 8/2214/77 Beitrag {month}", 1
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -4_900,
            partners.TRANSIT_COLOGNE,
            "Deutschlandticket {month} Abo 301188",
            3,
            rise_permille=90,
        ),
        Recurring(
            "giro", PaymentKind.SECURITIES, -8_200, partners.FUND_SAVINGS, "Sparplan ISIN IE00B4L5Y983 Ausfuehrung {month}", 6
        ),
        Recurring("giro", PaymentKind.FEE, -490, None, "Kontofuehrung {month}", 31, earlier=True),
        Recurring(
            "call",
            PaymentKind.INTEREST,
            2_120,
            None,
            "Zinsen Tagesgeld {month}",
            31,
            every=3,
            anchor=3,
            earlier=True,
            step_cents=20,
        ),
        *own_transfer(_GIRO, _CALL, 55_000, 2, "Sparen"),
    ),
    (
        ScriptedHabit(
            "giro", ("REWE SAGT DANKE. 43112", "ALDI SUED", "LIDL DIENSTLEISTUNG", "EDEKA CENTER ENGELS"), 2.6, 680, 7_400
        ),
        ScriptedHabit("giro", ("BAECKEREI MERZENICH", "KAMPS GMBH"), 1.5, 240, 1_150, sundays=True, twins=0.02),
        ScriptedHabit("giro", ("DM FIL.1432", "ROSSMANN 2214"), 0.6, 450, 3_900),
        ScriptedHabit("giro", ("L OSTERIA KOELN", "BRAUHAUS PEGEL", "BURGER KING 11042"), 0.8, 950, 4_800, sundays=True),
        ScriptedHabit(
            "giro", ("Geldautomat Ehrenfeld", "GA NR00002123"), 0.35, 5_000, 15_000, kind=PaymentKind.CASH, sundays=True
        ),
        ScriptedHabit(
            "giro",
            ("Zalando SE", "Deutsche Bahn AG", "Eventim"),
            0.3,
            1_900,
            11_900,
            kind=PaymentKind.DEBIT,
            payer=partners.PAYPAL,
            sundays=True,
        ),
        ScriptedHabit(
            "card",
            ("AMZN MKTP DE*2K4LM81X3", "AMAZON.DE*RT5XK9", "ZALANDO PAYMENTS"),
            0.9,
            890,
            8_900,
            sundays=True,
            twins=0.03,
            city="LUXEMBOURG",
            country="LU",
        ),
        ScriptedHabit("card", ("DB VERTRIEB GMBH", "BOOKING.COM"), 0.2, 2_990, 19_000, sundays=True),
        ScriptedHabit(
            "card",
            ("OPENAI *CHATGPT", "GITHUB INC"),
            0.2,
            900,
            2_300,
            sundays=True,
            city="SAN FRANCISCO",
            country="US",
            foreign_currency="USD",
        ),
    ),
    (Settlement("card", "giro", 5),),
    (security.MANUAL, security.PUSH),
    (security.GENERATOR, security.PHONE_APP),
)
