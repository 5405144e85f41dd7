"""Words in the texts of debits that show payment difficulties.

Patterns are for plain texts without blanks, since banks' line breaks insert and remove them, and allow for lost umlauts. Bookings
about health, faith or politics are never read.
"""

import polars as pl

from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text import canonical
from analytics.bank_text.channels import Channel

_AE, _OE, _UE = "(?:ae?)?", "(?:oe?)?", "(?:ue?)?"
_FEE = f"entgelt|geb{_UE}hr|kosten|spesen|preis|pauschale"
_BACK = f"r{_UE}cklast|lastschriftr{_UE}ck|r{_UE}ckgabe(?:der|einer|sepa|von)*lastschrift|nichteinl{_OE}s|nichtausgef{_UE}hrt"
RETURN = f"{_BACK}|retourenentgelt|retoureentgelt"
RETURN_FEE = f"(?:{_FEE}).*(?:{_BACK})|(?:{_BACK}).*(?:{_FEE})|retouren?entgelt"
REMINDER = f"mahngeb|mahnkosten|mahnentgelt|mahnspesen|mahnpauschale|verzugskosten|mahnung.*(?:{_FEE})|(?:{_FEE}).*mahnung"
REMINDER_CODE = "810"
SEIZURE = f"pf{_AE}ndung|pfuebaz|pfuebbeschl|gerichtsvollzieher|vollstreckung|drittschuldner|auskehrung"
NO_SEIZURE = f"verpf{_AE}ndung|testamentsvollstreck|kostenvorschuss|vollstreckungsschutz"
"""A pledged deposit, an executor of a will, and costs of a creditor who has others seized."""
COLLECTION = "inkasso|forderungsmanagement|forderungseinzug"
NO_COLLECTION = "beitragsinkasso|zentralinkasso|inkassostelle|mietinkasso|inkassoprov"
OVERDRAFT = f"sollz|dispozins|dispositionskredit|dispokredit|{_UE}berziehung"
CARD = "kreditkart|kartenabrechn|visaabr|visacard|mastercardabr|amexabr|mastercardabrechnung"
OBJECTION = "md01|md06|md07|sl01|widerspr|widerruf|aufkundenwunsch|durchkunde|keinmandat|nichtautorisiert"
"""Codes and words of a debit that was returned because the user objected, not because money was missing."""
ANY_WORD = "|".join((RETURN, "mahn", "verzugskosten", SEIZURE, COLLECTION, OVERDRAFT, CARD))
SENSITIVE_CATEGORIES = ("HEALTH_SERVICES", "HEALTH_CONSUMABLES", "HEALTH_OTHERS", "OTHER_DONATION")


def worded_debits(snapshot: Snapshot, window: AffordabilityWindow) -> pl.DataFrame:
    """The debits of the window that contain one of the words, with their plain `text`."""
    category, channel = pl.col("effective_category"), pl.col("channel")
    is_usual = pl.col("regular") & ~category.str.starts_with("BANKFINANCE_") & ~category.str.starts_with("OTHER_")
    payments = window.rows.filter(pl.col("amount_cents") < 0, channel != Channel.CARD, channel != Channel.CASH)
    debits = payments.filter(~is_usual, ~category.is_in(SENSITIVE_CATEGORIES))
    debit_texts = debits.with_columns(text=booking_texts(snapshot, debits["row"]))
    return debit_texts.filter(pl.col("text").str.contains(ANY_WORD) | (pl.col("gv_code") == REMINDER_CODE).fill_null(value=False))


def booking_texts(snapshot: Snapshot, rows: pl.Series) -> pl.Series:
    """Name, purpose and booking text of these rows of the bookings, in plain form without blanks."""
    texts = snapshot.bookings.select("counterparty_name", "purpose", "booking_text")[rows]
    return canonical.squeeze(texts.select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series())


def text_contains(pattern: str, exceptions: str = "") -> pl.Expr:
    """Whether `text` matches the pattern after the exceptions are removed from it."""
    text = pl.col("text").str.replace_all(exceptions, "") if exceptions else pl.col("text")
    return text.str.contains(pattern)
