"""Words in bookings that tell of payment difficulties, read from the texts of debits.

Patterns hold for plain texts without blanks, since banks' line breaks insert and eat them, and for umlauts that were lost. What
is told about somebody's health, faith or politics is never read.
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
"""A pledged deposit, a last will, and a creditor who has others seized."""
COLLECTION = "inkasso|forderungsmanagement|forderungseinzug"
NO_COLLECTION = "beitragsinkasso|zentralinkasso|inkassostelle|mietinkasso|inkassoprov"
OVERDRAFT = f"sollz|dispozins|dispositionskredit|dispokredit|{_UE}berziehung"
CARD = "kreditkart|kartenabrechn|visaabr|visacard|mastercardabr|amexabr|mastercardabrechnung"
OBJECTION = "md01|md06|md07|sl01|widerspr|widerruf|aufkundenwunsch|durchkunde|keinmandat|nichtautorisiert"
"""Codes and words by which somebody wants money back, not by which it was missing."""
ANY = "|".join((RETURN, "mahn", "verzugskosten", SEIZURE, COLLECTION, OVERDRAFT, CARD))
SENSITIVE = ("HEALTH_SERVICES", "HEALTH_CONSUMABLES", "HEALTH_OTHERS", "OTHER_DONATION")


def told(seen: Snapshot, view: AffordabilityWindow) -> pl.DataFrame:
    """The debits of the view that may say something, with what they say (`said`)."""
    category, channel = pl.col("effective_category"), pl.col("channel")
    usual = pl.col("regular") & ~category.str.starts_with("BANKFINANCE_") & ~category.str.starts_with("OTHER_")
    paid = view.rows.filter(pl.col("amount_cents") < 0, channel != Channel.CARD, channel != Channel.CASH)
    debits = paid.filter(~usual, ~category.is_in(SENSITIVE))
    spoken = debits.with_columns(said=said(seen, debits["row"]))
    return spoken.filter(pl.col("said").str.contains(ANY) | (pl.col("gv_code") == REMINDER_CODE).fill_null(value=False))


def said(seen: Snapshot, rows: pl.Series) -> pl.Series:
    """Name, purpose and booking text of these rows of the bookings, plain and without blanks."""
    texts = seen.bookings.select("counterparty_name", "purpose", "booking_text")[rows]
    return canonical.squeeze(texts.select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series())


def says(pattern: str, but: str = "") -> pl.Expr:
    """Whether a row says this, after forgetting what sounds like it and is something else."""
    heard = pl.col("said").str.replace_all(but, "") if but else pl.col("said")
    return heard.str.contains(pattern)
