"""The customer behind the special user ids: one account, and nothing that would distract from the fault."""

from pipelines.banks.demo import partners, security
from pipelines.banks.demo.accounts import checking
from pipelines.banks.demo.plans import Habit, Kind, Life, Recurring, Style, seed


def plain(user_id: str) -> Life:
    """A life with one account, whose PIN is the user id."""
    number = f"{seed(user_id) % 10**9:09d}"
    return Life(
        user_id,
        "Frankfurt",
        (checking("Girokonto", "Toni Test", "50050201", number, Style.SAVINGS_BANK, 150_000, overdraft_limit_cents=100_000),),
        (
            Recurring("giro", Kind.SALARY, 210_000, partners.HANDEL, "Lohn/Gehalt {month}", 28, earlier=True),
            Recurring("giro", Kind.STANDING, -90_000, partners.LANDLORD_BERLIN, "Miete {month}", 1),
            Recurring("giro", Kind.DEBIT, -7_900, partners.VATTENFALL, "Abschlag Strom Vertragskonto 700311", 15),
            Recurring("giro", Kind.DEBIT, -1_399, partners.NETFLIX, "NETFLIX.COM Monatsbeitrag {month}", 9),
        ),
        (Habit("giro", ("REWE SAGT DANKE. 40021", "LIDL DIENSTLEISTUNG"), 3.0, 900, 9_500),),
        methods=(security.MANUAL, security.OPTICAL, security.PUSH, security.APP, security.PHOTO),
        media=(security.GENERATOR, security.SECODER, security.PHONE, security.TABLET, security.PHONE_APP),
        pin=user_id,
    )
