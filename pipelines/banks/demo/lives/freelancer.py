"""demo5: a freelance designer in Berlin with a business and a private account, money for tax and clients in three currencies."""

from datetime import date

from pipelines.banks.base import Balance
from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import call_money, card, checking, multicurrency
from pipelines.banks.demo.plans import (
    Counterparty,
    PaymentKind,
    Persona,
    Recurring,
    ScriptedHabit,
    Settlement,
    Style,
    own_transfer,
)

_OWNER, _BANK = "Samira Haddad", "43060967"
_BUSINESS = checking(
    "Geschaeftskonto",
    "Studio Haddad",
    _BANK,
    "1204417700",
    Style.COOPERATIVE,
    612_400,
    short="business",
    overdraft_limit_cents=300_000,
)
_GIRO = checking("Privatkonto", _OWNER, _BANK, "1204417701", Style.COOPERATIVE, 118_330, overdraft_limit_cents=150_000)
_TAX = call_money("Steuerruecklage", _OWNER, _BANK, "1204417702", Style.COOPERATIVE, 840_000, short="tax")
_MULTI = multicurrency(
    "Waehrungskonto",
    "Studio Haddad",
    _BANK,
    "1204417709",
    Style.COOPERATIVE,
    52_000,
    (Balance("USD", 220_000), Balance("CHF", 84_000)),
)
_CARD = card("Mastercard Business", "Studio Haddad", _BANK, "5232", "4408", limit_cents=400_000)
_CLIENT_US = Counterparty("Bluebird Apps Inc.", None, "CHASUS33XXX")
_CLIENT_CH = Counterparty("Alpenblick Design AG", "CH9300762011623852957", "ZKBKCHZZ80A")

FREELANCER = Persona(
    "demo5",
    "Berlin",
    (_BUSINESS, _GIRO, _TAX, _MULTI, _CARD),
    (
        Recurring(
            "business",
            PaymentKind.CREDIT,
            218_000,
            partners.CLIENT_AGENCY,
            "RE {month}-01 Gestaltung Kampagne",
            12,
            spread_permille=350,
        ),
        Recurring(
            "business",
            PaymentKind.CREDIT,
            142_800,
            partners.CLIENT_PUBLISHER,
            "Honorar {month} Rechnung 0417",
            21,
            spread_permille=300,
        ),
        Recurring(
            "business",
            PaymentKind.CREDIT,
            297_500,
            partners.CLIENT_STARTUP,
            "Rechnung {month}-07 Marke und Website",
            6,
            every=3,
            anchor=2,
            spread_permille=450,
        ),
        Recurring(
            "business", PaymentKind.STANDING, -29_900, partners.COWORKING, "Coworking Fixdesk {month}", 1, rise_permille=30
        ),
        Recurring(
            "business",
            PaymentKind.TRANSFER,
            -76_000,
            partners.TAX_OFFICE,
            "USt-VA {month} St.-Nr. 34/311/00417",
            10,
            spread_permille=300,
        ),
        Recurring("business", PaymentKind.DEBIT, -5_236, partners.TELEKOM, "Business Mobil RG {month} Kundenkonto 3300417", 18),
        Recurring("business", PaymentKind.DEBIT, -2_380, partners.ERGO, "Berufshaftpflicht SV 4410.22 Beitrag {month}", 1),
        Recurring("business", PaymentKind.FEE, -1_250, None, "Kontofuehrung und Buchungsposten {month}", 31, earlier=True),
        Recurring(
            "tax",
            PaymentKind.TRANSFER,
            -212_000,
            partners.TAX_OFFICE,
            "ESt-Vorauszahlung St.-Nr. 34/311/00417",
            10,
            every=3,
            anchor=3,
        ),
        Recurring("tax", PaymentKind.INTEREST, 1_610, None, "Zinsen {month}", 31, every=3, anchor=3, earlier=True),
        Recurring(
            "giro", PaymentKind.STANDING, -92_000, partners.LANDLORD_BERLIN, "Miete Haddad Weserstr. 14 VH 3", 3, rise_permille=20
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -31_240, partners.TK, "Beitrag KV/PV freiwillig 110447220 {month}", 15, rise_permille=40
        ),
        Recurring("giro", PaymentKind.DEBIT, -7_300, partners.VATTENFALL, "Abschlag Strom Vertragskonto 811400227", 15),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -5_508,
            partners.BROADCASTING,
            "Rundfunkbeitrag 3 Monate Beitragsnr. 330 441 200",
            15,
            every=3,
            anchor=2,
        ),
        Recurring("giro", PaymentKind.DEBIT, -3_499, partners.O2, "o2 my Home Kundennr. 8814420 {month}", 8),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -1_099,
            partners.PAYPAL,
            "PP.2201.PP . Spotify AB, Ihr Einkauf bei Spotify AB",
            12,
            ultimate="Spotify AB",
        ),
        Recurring(
            "giro",
            PaymentKind.DEBIT,
            -12_000,
            partners.ALLIANZ_LIFE,
            "Basisrente Vers.-Nr. 3/9917/44 Beitrag {month}",
            1,
            first=date(2024, 7, 1),
        ),
        Recurring(
            "multi",
            PaymentKind.CREDIT,
            180_000,
            _CLIENT_US,
            "INV {month} UI design",
            20,
            every=2,
            anchor=1,
            spread_permille=200,
            currency="USD",
        ),
        Recurring(
            "multi", PaymentKind.TRANSFER, -160_000, _CLIENT_US, "Currency sale {month}", 27, every=2, anchor=1, currency="USD"
        ),
        Recurring(
            "multi",
            PaymentKind.CREDIT,
            95_000,
            _CLIENT_CH,
            "Rechnung {month} Illustration",
            14,
            every=6,
            anchor=4,
            currency="CHF",
        ),
        Recurring("multi", PaymentKind.FEE, -500, None, "Fuehrung Waehrungskonto {month}", 31, every=3, anchor=3, earlier=True),
        *own_transfer(_BUSINESS, _GIRO, 225_000, 2, "Privatentnahme"),
        *own_transfer(_BUSINESS, _TAX, 72_000, 15, "Steuerruecklage"),
    ),
    (
        ScriptedHabit("giro", ("REWE SAGT DANKE. 41007", "EDEKA NEUKOELLN", "BIO COMPANY", "DENNS BIOMARKT"), 3.0, 600, 6_800),
        ScriptedHabit("giro", ("CAFE LEUCHTSTOFF", "SPAETI AM ECK", "HANS IM GLUECK"), 2.0, 350, 3_600, sundays=True),
        ScriptedHabit("giro", ("DM FIL.0811", "THALIA BERLIN"), 0.6, 500, 4_200),
        ScriptedHabit("giro", ("GLS GAA KREUZBERG",), 0.4, 3_000, 12_000, kind=PaymentKind.CASH, sundays=True),
        ScriptedHabit(
            "card",
            ("ADOBE SYSTEMS", "FIGMA INC", "GITHUB INC"),
            0.7,
            1_200,
            6_400,
            sundays=True,
            city="SAN JOSE",
            country="US",
            foreign_currency="USD",
        ),
        ScriptedHabit("card", ("DB VERTRIEB GMBH", "MIETWAGEN SIXT"), 0.4, 2_900, 18_900, sundays=True),
        ScriptedHabit("card", ("GRAVIS BERLIN", "MODULOR GMBH"), 0.3, 1_500, 24_000, twins=0.05),
    ),
    (Settlement("card", "business", 8),),
    (security.PUSH, security.APP, security.OPTICAL),
    (security.PHONE_APP, security.TABLET, security.SECOND_GENERATOR),
)
