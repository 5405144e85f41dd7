"""Payment services between a shop and its customer: whose name the bank prints, and where the shop stands then."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Intermediary:
    """A payment service. `prefixes` stand before the shop on a card line, `debits` and `refunds` are purposes elsewhere."""

    legal: str
    prefixes: tuple[str, ...]
    debits: tuple[str, ...]
    refunds: tuple[str, ...] = ("{digits:10} Erstattung {party}",)
    creditor_id: str | None = None
    iban: str | None = None
    bic: str | None = None


_ORDER = ("{party} {digits:9}[ {text}]", "Ihr Einkauf bei {party} {digits:9}", "{party}/{digits:8}[ {text}]")
INTERMEDIARIES: dict[str, Intermediary] = {
    "PAYPAL": Intermediary(
        "PayPal Europe S.a.r.l. et Cie S.C.A",
        ("PAYPAL *",),
        (
            "PP.{digits:4}.PP . {party}, Ihr Einkauf bei {party}",
            "{digits:13} . {party}, Ihr Einkauf bei {party}",
            "{digits:13}/. {party}, Ihr Einkauf bei {party}, Artikel-{digits:12}",
            "{digits:13}/PP.{digits:4}.PP/. {party}, Ihr Einkauf bei {party}",
            "{digits:13} PP.{digits:4}.PP . {party}, Ihr Einkauf bei {party} AWV-MELDEPFLICHT BEACHTEN",
        ),
        ("{digits:13}/. {party}, Rückzahlung von {party}", "PP.{digits:4}.PP . {party}, Ihre Rückzahlung"),
        creditor_id="LU96ZZZ0000000000000000058",
        iban="LU89751000135104200E",
        bic="PPLXLUL2",
    ),
    "KLARNA": Intermediary(
        "Klarna Bank AB (publ)",
        ("KLARNA*", "Klarna*"),
        (
            "{party} {digits:10} Klarna",
            "Einkauf bei {party} {code:8}",
            "Klarna*{party} Ref {code:10}",
            "{code:16} {party} via Klarna",
        ),
        ("Klarna Erstattung {party} {digits:8}",),
    ),
    "RIVERTY": Intermediary(
        "Riverty GmbH", ("RIVERTY*",), ("Rechnung {digits:9} {party}", "{party} Kauf auf Rechnung {digits:8}")
    ),
    "RATEPAY": Intermediary("Ratepay GmbH", ("RATEPAY*",), ("{code:10} {party} Ratenzahlung[ {text}]", *_ORDER[:2])),
    "UNZER": Intermediary("Unzer E-Com GmbH", ("UNZER*",), ("{party} Bestellung {digits:7}", "{code:12} bei {party}")),
    "MOLLIE": Intermediary("Mollie B.V.", ("MOLLIE*",), ("{party} via Mollie {digits:8}", "{code:10} {party} via mollie")),
    "ADYEN": Intermediary(
        "Adyen N.V.",
        ("ADYEN*", ""),
        ("{party}[/{street}][/{city}/DE] {day:iso}T{time:hms} Folgenr.000 Verfalld.2029-12", "{party} {code:16}"),
    ),
    "STRIPE": Intermediary("Stripe Payments Europe Ltd", ("STRIPE* ", ""), ("{party} via Stripe {code:8}", "{party} {code:12}")),
    "SUMUP": Intermediary(
        "SumUp Payments Limited", ("SUMUP *", "SumUp  *"), ("SUMUP *{party} {digits:6}", "{party} {day:dm} SumUp")
    ),
    "ZETTLE": Intermediary("Zettle by PayPal", ("ZETTLE_*", "Zettle_*"), ("ZETTLE_*{party} {digits:6}",)),
    "PAYONE": Intermediary("PAYONE GmbH", ("PAYONE*", ""), _ORDER),
    "VR_PAYMENT": Intermediary("VR Payment GmbH", ("VRPAY*", ""), _ORDER),
    "COMPUTOP": Intermediary("Computop Paygate GmbH", ("COMPUTOP*", ""), _ORDER),
    "NEXI": Intermediary("Nexi Germany GmbH", ("NEXI*", ""), _ORDER),
    "AMAZON_PAY": Intermediary(
        "Amazon Payments Europe S.C.A.", ("AMZ*", "AMZN*"), ("{digits:3}-{digits:7}-{digits:7} {party} {code:14}",)
    ),
    "SQUARE": Intermediary("Squareup Europe Ltd", ("SQ *",), ("SQ *{party} {digits:6}",)),
}
UNLISTED = Intermediary("Payment Services Europe Ltd", ("PAY*",), _ORDER)
"""For services that this table does not have."""
