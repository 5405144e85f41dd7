"""demo6: a couple in Hamburg with a joint account for the flat and an account of her own, at a direct bank."""

from datetime import date

from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import call_money, card, checking
from pipelines.banks.demo.plans import (
    Counterparty,
    PaymentKind,
    Persona,
    Recurring,
    ScriptedHabit,
    Settlement,
    Style,
    iban,
    own_transfer,
)

_BANK = "50010517"
_GIRO = checking("Girokonto", "Anna Berger", _BANK, "5414400120", Style.DIRECT, 302_815, overdraft_limit_cents=150_000)
_JOINT = checking(
    "Gemeinschaftskonto", "Anna Berger und Jonas Petersen", _BANK, "5414400127", Style.DIRECT, 96_400, short="joint"
)
_CALL = call_money("Extra-Konto", "Anna Berger", _BANK, "5414400134", Style.DIRECT, 640_000)
_CARD = card("Visa Card", "Anna Berger", _BANK, "4546", "0917", limit_cents=200_000)
_JONAS = Counterparty("Jonas Petersen", iban("20050550", "1271440812"), "HASPDEHHXXX")

COUPLE = Persona(
    "demo6",
    "Hamburg",
    (_GIRO, _JOINT, _CALL, _CARD),
    (
        Recurring(
            "giro", PaymentKind.SALARY, 287_410, partners.SOFTWARE, "Gehalt {month} 00417", 29, earlier=True, rise_permille=35
        ),
        Recurring(
            "giro",
            PaymentKind.SALARY,
            200_000,
            partners.SOFTWARE,
            "Bonus Geschaeftsjahr {month}",
            29,
            every=12,
            anchor=3,
            earlier=True,
            spread_permille=250,
        ),
        Recurring("joint", PaymentKind.CREDIT, 125_000, _JONAS, "Haushalt Jonas", 1),
        Recurring(
            "joint",
            PaymentKind.STANDING,
            -142_000,
            partners.LANDLORD_HAMBURG,
            "Miete Eppendorfer Weg 88 Wohnung 7",
            3,
            rise_permille=22,
        ),
        Recurring(
            "joint", PaymentKind.DEBIT, -9_600, partners.LICHTBLICK, "Abschlag Strom Kundennr. 2204-4471", 6, rise_permille=15
        ),
        Recurring(
            "joint",
            PaymentKind.DEBIT,
            -5_508,
            partners.BROADCASTING,
            "Rundfunkbeitrag 3 Monate Beitragsnr. 447 120 088",
            15,
            every=3,
            anchor=1,
        ),
        Recurring("joint", PaymentKind.DEBIT, -4_495, partners.TELEKOM, "Festnetz Vertragskonto 7712004411 RG {month}", 13),
        Recurring("joint", PaymentKind.DEBIT, -1_799, partners.NETFLIX, "NETFLIX.COM Monatsbeitrag {month}", 19),
        Recurring(
            "joint",
            PaymentKind.DEBIT,
            -8_410,
            partners.HUK24,
            "Hausrat und Haftpflicht 310/447120 Jahresbeitrag",
            1,
            every=12,
            anchor=6,
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -1_999, partners.VODAFONE, "Mobilfunk Kundennr. 330117 {month}", 25, spread_permille=60
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -5_900, partners.RAILWAY, "Deutschlandticket Abo 8812 {month}", 2, first=date(2025, 1, 1)
        ),
        Recurring(
            "giro", PaymentKind.DEBIT, -4_900, partners.RAILWAY, "Deutschlandticket Abo 8812 {month}", 2, last=date(2024, 12, 31)
        ),
        Recurring("giro", PaymentKind.DEBIT, -3_900, partners.GYM, "Gold's Gym Mitgliedsbeitrag {month}", 1),
        Recurring("giro", PaymentKind.DEBIT, -6_120, partners.ALLIANZ_LIFE, "BU-Schutz Vers.-Nr. 5/8817/20 Beitrag {month}", 1),
        Recurring("giro", PaymentKind.STANDING, -2_000, partners.DONATION, "Spende", 5),
        Recurring(
            "call",
            PaymentKind.INTEREST,
            2_240,
            None,
            "Zinsgutschrift {month}",
            31,
            every=3,
            anchor=3,
            earlier=True,
            step_cents=60,
        ),
        *own_transfer(_GIRO, _JOINT, 125_000, 1, "Haushalt Anna"),
        *own_transfer(_GIRO, _CALL, 90_000, 4, "Sparen Reise"),
    ),
    (
        ScriptedHabit("joint", ("EDEKA NIEMERSZEIN", "REWE HAMBURG", "LIDL HAMBURG", "ALNATURA"), 3.6, 700, 8_200, twins=0.005),
        ScriptedHabit("joint", ("BUDNI 0221", "DM HAMBURG"), 0.9, 450, 4_100),
        ScriptedHabit("joint", ("BLOCK HOUSE", "RESTAURANT ELBE", "L OSTERIA"), 0.7, 2_200, 9_500, sundays=True),
        ScriptedHabit("joint", ("IKEA ALTONA", "HORNBACH"), 0.25, 1_500, 18_000),
        ScriptedHabit("giro", ("KAFFEEROESTEREI ELBGOLD", "BACKWERK"), 1.6, 290, 980, sundays=True, twins=0.05),
        ScriptedHabit(
            "giro",
            ("Zalando SE", "ASOS", "Eventim"),
            0.4,
            1_900,
            9_900,
            kind=PaymentKind.DEBIT,
            payer=partners.PAYPAL,
            sundays=True,
        ),
        ScriptedHabit("giro", ("ING GAA HAMBURG",), 0.3, 5_000, 10_000, kind=PaymentKind.CASH, sundays=True),
        ScriptedHabit(
            "card", ("BOOKING.COM", "LUFTHANSA", "AIRBNB"), 0.35, 4_900, 32_000, sundays=True, city="AMSTERDAM", country="NL"
        ),
        ScriptedHabit("card", ("AMAZON.DE*X11", "ABOUT YOU"), 0.6, 900, 7_400, sundays=True, twins=0.02),
    ),
    (Settlement("card", "giro", 10),),
    (security.PUSH, security.PHOTO, security.APP, security.PAGE),
    (security.PHONE_APP, security.PHONE),
)
