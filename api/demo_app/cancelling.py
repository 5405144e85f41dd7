"""How contracts are ended in Germany, by their category: a hint for customers, no legal advice."""

from api.schemas.languages import Text

MONTHLY = Text(
    "Nach der Mindestlaufzeit monatlich kündbar (§ 309 Nr. 9 BGB).", "After the minimum term, a month's notice (§ 309 BGB)."
)
TELECOMMUNICATION = Text(
    "Nach der Mindestlaufzeit mit einem Monat Frist kündbar (§ 56 TKG).", "After the minimum term, a month's notice (§ 56 TKG)."
)
INSURANCE = Text(
    "Meist drei Monate vor Ende des Versicherungsjahres kündbar, und nach jeder Erhöhung.",
    "Usually three months before the insurance year ends, and after any rise in price.",
)
HINTS = {
    "HOUSING_RENT": Text(
        "Drei Monate Frist, Kündigung bis zum dritten Werktag des Monats (§ 573c BGB).",
        "Three months' notice, given by the third working day of a month (§ 573c BGB).",
    ),
    "HOUSING_FINANCING": Text(
        "Zehn Jahre nach Auszahlung mit sechs Monaten Frist kündbar (§ 489 BGB).",
        "Six months' notice once ten years have passed since the payout (§ 489 BGB).",
    ),
    "BILLS_ELECTRICITY": Text(
        "Grundversorgung: zwei Wochen Frist. Sondervertrag: nach der Laufzeit ein Monat.",
        "Basic supply: two weeks' notice. Other tariffs: a month after the term.",
    ),
    "BILLS_HEATING": Text(
        "Grundversorgung: zwei Wochen Frist. Sondervertrag: nach der Laufzeit ein Monat.",
        "Basic supply: two weeks' notice. Other tariffs: a month after the term.",
    ),
    "BILLS_FIXEDINTERNET": TELECOMMUNICATION,
    "BILLS_MOBILE": TELECOMMUNICATION,
    "BILLS_TELECOMMUNICATIONS": TELECOMMUNICATION,
    "INSURANCE_VEHICLE": Text(
        "Meist bis 30. November zum Jahresende kündbar.", "Usually by 30 November for the end of the year."
    ),
    "INSURANCE_HEALTH": Text(
        "Gesetzlich versichert: nach zwölf Monaten Wechsel mit zwei Monaten Frist.",
        "Public health insurance: after twelve months, two months' notice.",
    ),
    "BANKFINANCE_CREDITPAYMENT": Text(
        "Jederzeit vorzeitig ablösbar, höchstens 1 % Entschädigung (§ 502 BGB).",
        "Can be repaid early at any time, for at most 1% of the rest (§ 502 BGB).",
    ),
    "MOBILITY_PUBLICTRANSPORT": Text(
        "Deutschlandticket und viele Abos: bis zum 10. zum Monatsende kündbar.",
        "Deutschlandticket and many passes: by the 10th for the end of the month.",
    ),
    "FAMILY_CHILDCARE": Text(
        "Frist nach der Satzung der Kita, meist drei Monate.", "As the day-care centre's rules say, usually three months."
    ),
    **dict.fromkeys(("RECREATION_ONLINE", "RECREATION_SPORTS", "RECREATION_PRINTED", "SERVICES_ONLINE"), MONTHLY),
}
BROADCASTING = "RUNDFUNK"
NOT_CANCELLABLE = Text("Gesetzlicher Beitrag, nicht kündbar.", "A fee by law, it cannot be cancelled.")


def cancelling(category: str, partner: str, name: str, amount_cents: int) -> Text | None:
    """How a contract of a category with a partner can be ended; None for income and where nothing certain can be said."""
    if amount_cents >= 0:
        return None
    if BROADCASTING in partner or name.upper().startswith(BROADCASTING):
        return NOT_CANCELLABLE
    if category.startswith("INSURANCE_"):
        return HINTS.get(category, INSURANCE)
    return HINTS.get(category)
