"""The customer behind the special user ids: one account, and nothing that would distract from the fault."""

from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import checking
from pipelines.banks.demo.plans import PaymentKind, Persona, Recurring, ScriptedHabit, Style, seed


def plain(user_id: str) -> Persona:
    """A life with one account, whose PIN is the user id."""
    number = f"{seed(user_id) % 10**9:09d}"
    return Persona(
        user_id,
        "Frankfurt",
        (checking("Girokonto", "Toni Test", "50050201", number, Style.SAVINGS_BANK, 150_000, overdraft_limit_cents=100_000),),
        (
            Recurring("giro", PaymentKind.SALARY, 210_000, partners.HANDEL, "Lohn/Gehalt {month}", 28, earlier=True),
            Recurring("giro", PaymentKind.STANDING, -90_000, partners.LANDLORD_BERLIN, "Miete {month}", 1),
            Recurring("giro", PaymentKind.DEBIT, -7_900, partners.VATTENFALL, "Abschlag Strom Vertragskonto 700311", 15),
            Recurring("giro", PaymentKind.DEBIT, -1_399, partners.NETFLIX, "NETFLIX.COM Monatsbeitrag {month}", 9),
        ),
        (ScriptedHabit("giro", ("REWE SAGT DANKE. 40021", "LIDL DIENSTLEISTUNG"), 3.0, 900, 9_500),),
        methods=(security.MANUAL, security.OPTICAL, security.PUSH, security.APP, security.PHOTO),
        media=(security.GENERATOR, security.SECODER, security.PHONE, security.TABLET, security.PHONE_APP),
        pin=user_id,
    )
