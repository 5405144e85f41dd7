"""demo7: an investor in Munich with two depots, a let flat, a fixed deposit and a product that fits no category."""

from decimal import Decimal

from analytics.products import ProductCategory
from pipelines.banks.base import FetchedPosition
from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import account, card, checking, depot
from pipelines.banks.demo.plans import PaymentKind, Persona, Recurring, ScriptedHabit, Security, Settlement, Style

_OWNER, _BANK = "Dr. Martin Seidel", "20041133"


def _share(name: str, isin: str, wkn: str, quantity: str, price: str, monthly: int = 0, venue: str = "Xetra") -> Security:
    return Security(
        FetchedPosition(name, Decimal(quantity), True, isin, wkn, Decimal(price), currency="EUR", venue=venue), monthly
    )


_GIRO = checking("Girokonto", _OWNER, _BANK, "887104400", Style.DIRECT, 914_200, overdraft_limit_cents=1_000_000)
_FIXED = account(
    "fixed", ProductCategory.FIXED_DEPOSIT, "Festgeld 24 Monate", _OWNER, _BANK, "887104455", Style.DIRECT, 5_000_000
)
_GOLD = account("gold", ProductCategory.OTHER_PRODUCT, "Goldkonto", _OWNER, _BANK, "887104466", Style.DIRECT, 1_250_000)
_CARD = card("Visa Gold", _OWNER, _BANK, "4023", "6612", limit_cents=1_000_000)
_SHARES = depot(
    "Depot Aktien",
    _OWNER,
    _BANK,
    "887104411",
    (
        _share("Siemens AG", "DE0007236101", "723610", "85", "141.20"),
        _share("Allianz SE", "DE0008404005", "840400", "60", "228.45"),
        _share("Deutsche Telekom AG", "DE0005557508", "555750", "420", "22.18"),
        _share("Muenchener Rueck AG", "DE0008430026", "843002", "22", "384.10"),
        Security(
            FetchedPosition(
                "Apple Inc.",
                Decimal(40),
                True,
                "US0378331005",
                "865985",
                Decimal("178.50"),
                currency="USD",
                exchange_rate=Decimal("1.0842"),
                venue="NASDAQ",
            )
        ),
        Security(
            FetchedPosition(
                "Bundesrepublik Deutschland 2,30 % 2033",
                Decimal(20_000),
                False,
                "DE000BU2Z007",
                "BU2Z00",
                Decimal("99.150"),
                currency="EUR",
                venue="Frankfurt",
            )
        ),
    ),
)
_FUNDS = depot(
    "Depot ETF-Sparplan",
    _OWNER,
    _BANK,
    "887104422",
    (
        _share("Vanguard FTSE All-World UCITS ETF", "IE00B3RBWM25", "A1JX52", "310.00", "101.35", monthly=5),
        _share("iShares Core MSCI World UCITS ETF", "IE00B4L5Y983", "A0RPWH", "220.00", "78.42", monthly=4),
        _share("Xtrackers MSCI Emerging Markets UCITS ETF", "IE00BTJRMP35", "A12GVR", "150.00", "46.80"),
    ),
    short="funds",
)

INVESTOR = Persona(
    "demo7",
    "Muenchen",
    (_GIRO, _SHARES, _FUNDS, _FIXED, _CARD, _GOLD),
    (
        Recurring(
            "giro", PaymentKind.SALARY, 618_900, partners.HANDEL, "Gehalt {month} 1180044", 26, earlier=True, rise_permille=20
        ),
        Recurring("giro", PaymentKind.CREDIT, 98_000, partners.TENANT, "Miete Wohnung Lindwurmstr. 12", 2),
        Recurring(
            "giro",
            PaymentKind.CREDIT,
            21_400,
            None,
            "Dividende Deutsche Telekom AG ISIN DE0005557508",
            15,
            every=12,
            anchor=4,
            rise_permille=60,
        ),
        Recurring(
            "giro",
            PaymentKind.CREDIT,
            61_300,
            None,
            "Dividende Allianz SE ISIN DE0008404005",
            12,
            every=12,
            anchor=5,
            rise_permille=80,
        ),
        Recurring("giro", PaymentKind.CREDIT, 46_000, None, "Kupon Bund 2,30 % ISIN DE000BU2Z007", 15, every=12, anchor=2),
        Recurring(
            "giro",
            PaymentKind.SECURITIES,
            -50_700,
            None,
            "Sparplan Vanguard FTSE All-World ISIN IE00B3RBWM25 {month}",
            7,
            rise_permille=35,
        ),
        Recurring(
            "giro",
            PaymentKind.SECURITIES,
            -31_400,
            None,
            "Sparplan iShares Core MSCI World ISIN IE00B4L5Y983 {month}",
            7,
            rise_permille=35,
        ),
        Recurring(
            "giro", PaymentKind.STANDING, -168_000, partners.LANDLORD_BERLIN, "Miete Penthouse Isarufer", 1, rise_permille=20
        ),
        Recurring("giro", PaymentKind.DEBIT, -42_500, partners.CAR_FINANCE, "Leasingrate Vertrag 77-1204417 {month}", 1),
        Recurring("giro", PaymentKind.DEBIT, -12_400, partners.STADTWERKE, "Abschlag Strom Waerme Vertragskonto 50011744", 4),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -68_410,
            partners.DEBEKA,
            "Krankenversicherung 44 120 881 Beitrag {month}",
            1,
            rise_permille=60,
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -98_240,
            partners.ALLIANZ,
            "Kfz AS-4410002217 Jahresbeitrag",
            2,
            every=12,
            anchor=1,
            rise_permille=40,
        ),
        Recurring("giro", PaymentKind.DEBIT, -9_440, partners.ADAC, "ADAC Plus Mitgliedschaft", 3, every=12, anchor=8),
        Recurring("giro", PaymentKind.DEBIT, -5_995, partners.TELEKOM, "Magenta Mobil und Zuhause 330041 RG {month}", 14),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -5_508,
            partners.BROADCASTING,
            "Rundfunkbeitrag 3 Monate Beitragsnr. 900 441 027",
            15,
            every=3,
            anchor=2,
        ),
        Recurring(
            "giro",
            PaymentKind.TRANSFER,
            -214_000,
            partners.TAX_OFFICE,
            "ESt-Vorauszahlung St.-Nr. 147/882/10044",
            10,
            every=3,
            anchor=3,
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -22_500, partners.ALLIANZ_LIFE, "Fondsgebundene Rente Vers.-Nr. 1/7714/09 {month}", 1
        ),
        Recurring("fixed", PaymentKind.INTEREST, 162_500, None, "Zinsen Festgeld 3,25 %", 1, every=12, anchor=10),
        Recurring("gold", PaymentKind.FEE, -1_200, None, "Verwahrentgelt {month}", 31, every=3, anchor=3, earlier=True),
    ),
    (
        ScriptedHabit("giro", ("EDEKA SIMMEL", "REWE MUENCHEN", "DALLMAYR", "BASIC BIO"), 2.4, 900, 9_800),
        ScriptedHabit("giro", ("SHELL 1247", "ARAL STATION 4410"), 0.7, 5_500, 11_500, sundays=True),
        ScriptedHabit("giro", ("GAA COMDIRECT COMMERZBANK",), 0.3, 10_000, 30_000, kind=PaymentKind.CASH, sundays=True),
        ScriptedHabit("card", ("TANTRIS", "BRENNER GRILL", "KAEFER"), 1.0, 3_800, 21_000, sundays=True),
        ScriptedHabit("card", ("LUFTHANSA", "HOTEL SACHER"), 0.25, 14_000, 68_000, sundays=True, city="WIEN", country="AT"),
        ScriptedHabit(
            "card",
            ("THE WALL STREET JOURNAL", "NYT DIGITAL"),
            0.25,
            900,
            3_900,
            sundays=True,
            city="NEW YORK",
            country="US",
            foreign_currency="USD",
        ),
        ScriptedHabit("card", ("BREUNINGER", "APPLE STORE R045"), 0.4, 2_900, 42_000, twins=0.04),
    ),
    (Settlement("card", "giro", 3),),
    (security.PHOTO, security.PUSH, security.MANUAL),
    (security.PHONE, security.SECODER, security.TABLET),
)
