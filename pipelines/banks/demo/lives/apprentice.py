"""demo8: an apprentice in Munich who lives with the parents, saves for a driving licence and gets capital-forming benefits."""

from datetime import date

from analytics.products import ProductCategory
from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import account, checking
from pipelines.banks.demo.plans import PaymentKind, Persona, Recurring, ScriptedHabit, Style, own_transfer

_OWNER, _BANK = "Leonie Huber", "70150000"
_GIRO = checking("Girokonto Start", _OWNER, _BANK, "1004471188", Style.SAVINGS_BANK, 81_480)
_SAVINGS = account("saving", ProductCategory.SAVINGS, "PrivatSparen", _OWNER, _BANK, "3004471188", Style.SAVINGS_BANK, 34_000)

APPRENTICE = Persona(
    "demo8",
    "Muenchen",
    (_GIRO, _SAVINGS),
    (
        Recurring(
            "giro",
            PaymentKind.SALARY,
            76_210,
            partners.HANDEL,
            "Ausbildungsverguetung {month}",
            30,
            earlier=True,
            last=date(2024, 8, 31),
        ),
        Recurring(
            "giro",
            PaymentKind.SALARY,
            84_400,
            partners.HANDEL,
            "Ausbildungsverguetung {month} 2. Jahr",
            30,
            earlier=True,
            first=date(2024, 9, 1),
            last=date(2025, 8, 31),
        ),
        Recurring(
            "giro",
            PaymentKind.SALARY,
            93_150,
            partners.HANDEL,
            "Ausbildungsverguetung {month} 3. Jahr",
            30,
            earlier=True,
            first=date(2025, 9, 1),
        ),
        Recurring("giro", PaymentKind.BENEFIT, 25_000, partners.FAMILY_BENEFITS, "Kindergeld KG417FK220884 {month}", 12),
        Recurring("giro", PaymentKind.STANDING, -20_000, partners.PARENTS, "Kostgeld Leonie", 1),
        Recurring("giro", PaymentKind.DEBIT, -1_499, partners.CONGSTAR, "congstar Mobilfunk Rechnung {month}", 17),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -1_099,
            partners.PAYPAL,
            "PP.8817.PP . Spotify AB, Ihr Einkauf bei Spotify AB",
            24,
            ultimate="Spotify AB",
        ),
        Recurring("giro", PaymentKind.DEBIT, -3_800, partners.STADTWERKE, "MVG Ausbildungsticket Abo 4417 {month}", 1),
        Recurring("giro", PaymentKind.DEBIT, -4_000, partners.FUND_SAVINGS, "VL-Fondssparen Depot 2204417 {month}", 15),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -38_400,
            partners.HUK24,
            "Kfz M-LH 2208 VS 990/117204",
            1,
            every=6,
            anchor=1,
            first=date(2025, 6, 1),
        ),
        Recurring("giro", PaymentKind.DEBIT, -1_990, partners.SPORTS_CLUB, "Beitrag {month} Huber Leonie", 5),
        Recurring(
            "saving", PaymentKind.INTEREST, 420, None, "Zinsen {month}", 31, every=12, anchor=12, earlier=True, step_cents=30
        ),
        *own_transfer(_GIRO, _SAVINGS, 30_000, 2, "Fuehrerschein"),
    ),
    (
        ScriptedHabit("giro", ("EDEKA GIESING", "LIDL MUENCHEN", "REWE TO GO"), 1.6, 280, 2_200, twins=0.02),
        ScriptedHabit("giro", ("MCDONALDS 0417", "SUBWAY", "DEAN & DAVID"), 1.4, 650, 2_100, sundays=True),
        ScriptedHabit("giro", ("H&M MUENCHEN", "SNIPES", "DOUGLAS"), 0.5, 990, 7_900),
        ScriptedHabit("giro", ("MATHAESER FILMPALAST", "CLUB PACHA"), 0.4, 900, 3_800, sundays=True),
        ScriptedHabit("giro", ("SSKM GA 0417",), 0.4, 2_000, 6_000, kind=PaymentKind.CASH, sundays=True),
        ScriptedHabit(
            "giro", ("SHEIN", "Zalando SE", "Steam"), 0.4, 899, 5_900, kind=PaymentKind.DEBIT, payer=partners.PAYPAL, sundays=True
        ),
    ),
    (),
    (security.MANUAL, security.PUSH),
    (security.GENERATOR, security.PHONE_APP),
)
