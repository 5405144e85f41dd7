"""What kind of stream a booking belongs to, where its category alone does not say it: words of the booking decide.

A kind is finer than a category (child benefit and parental benefit share one) and only as fine as the rules about events and
stages need. Health, religion, unions and parties have no kind: they are never evidence.
"""

from typing import NamedTuple

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.knowledge import partners

FOLDED = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}
SMALL_RENT = 15_000
"""A garage costs less than this; rent with a parking space costs more."""
BOARD_MONEY = 30_000
"""What a grown-up child pays at home is at most this."""
WAGES = ("SALARY", "TRAINING_PAY")


class Reading(NamedTuple):
    """In this category a booking whose text has one of these words is of this kind. `glued` looks at the text without blanks,
    since banks wrap lines anywhere; `words` at whole words, for those too short to be safe inside others.
    """

    category: str
    kind: str
    glued: str = ""
    words: str = ""


READINGS = (
    Reading("INCOME_SALARY", "TRAINING_PAY", "ausbildung|azubi|auszubild"),
    Reading("INCOME_SALARY", "SALARY"),
    Reading("INCOME_PENSION", "SURVIVOR_PENSION", "witwe|hinterblieben|waisen"),
    Reading("INCOME_PENSION", "PENSION"),
    Reading("INCOME_STATE_FAMILY", "PARENTAL_BENEFIT", "elterngeld", "beeg"),
    Reading("INCOME_STATE_FAMILY", "MAINTENANCE_ADVANCE", "unterhaltsvorsch|uhvorsch|jugendamt", "uvg"),
    Reading("INCOME_STATE_FAMILY", "CHILD_SUPPLEMENT", "kinderzuschlag", "kiz"),
    Reading("INCOME_STATE_FAMILY", "CHILD_BENEFIT"),
    Reading("INCOME_STATE_EDUCATION", "TRAINING_AID", "berufsausbildungsbeihilfe|beihilfeausbildung", "bab"),
    Reading("INCOME_STATE_EDUCATION", "STUDENT_AID", "bafoeg|bafog|ausbildungsfoerd|ausbildungsford"),
    Reading("INCOME_STATE_EDUCATION", "SCHOLARSHIP", "stipend|foerderwerk|studienstift"),
    Reading("INCOME_OTHER", "", "wohngeld|kurzarbeit|mietzuschuss|gruendungszuschuss"),
    Reading(
        "INCOME_OTHER",
        "UNEMPLOYMENT_BENEFIT",
        "arbeitslosengeld|buergergeld|burgergeld|jobcenter|agenturf.{0,2}rarbeit",
        "alg|alg1|alg2|algii|sgb ii|sgb iii",
    ),
    Reading("INCOME_RENTAL", "RENTAL"),
    Reading("HOUSING_OTHER", "BOARD", "kostgeld|beitragwohnen|wohnanteil|haushaltsgeld|haushaltskasse"),
    Reading("HOUSING_OTHER", "NOTARY", "notar|beurkund|grundbuch|grundschuld|immobilienkauf|urkunde"),
    Reading("HOUSING_FINANCING", "MORTGAGE"),
    Reading(
        "HOUSING_ANCILLARYCOSTS", "OWNERS_CHARGE", "hausgeld|eigentuemergem|eigentumergem|schornstein|abwasser|grundbesitz", "weg"
    ),
    Reading("TAXES", "", "kfzsteuernachzahl|steuerbescheid|einkommensteuer"),
    Reading("TAXES", "VEHICLE_TAX", "kfzst|kraftfahrzeugst|kraftst"),
    Reading("TAXES", "TRANSFER_TAX", "grunderwerb", "grest"),
    Reading("TAXES", "PROPERTY_TAX", "grundsteuer|grundbesitz", "grst"),
    Reading("EDUCATION_ACADEMIC", "SEMESTER_FEE", "semester|rueckmeld|ruckmeld|immatrikul|matrik|studienbeitrag"),
    Reading("FAMILY_CHILDCARE", "SCHOOL_CARE", "ganztag|schule|schulk|nachmittag", "hort|kinderhort|schulhort|ogs"),
    Reading("FAMILY_CHILDCARE", "CHILDCARE"),
    Reading("FAMILY_CHILDNECESSITIES", "CHILD_NECESSITIES"),
    Reading("FAMILY_TOYS", "FOR_CHILDREN"),
    Reading("FAMILY_OTHER", "FOR_CHILDREN"),
    Reading("FAMILY_CHILDACTIVITIES", "FOR_CHILDREN"),
    Reading("FAMILY_SUPPORT", "MAINTENANCE_PAID"),
    Reading("OTHER_INCOME", "CHILD_MAINTENANCE", "kindesunterhalt"),
    Reading("OTHER_INCOME", "MAINTENANCE_RECEIVED", "ehegattenunterhalt|trennungsunterhalt|unterhaltszahlung", "unterhalt"),
    Reading("BANKFINANCE_CREDITPAYMENT", "STATE_LOAN", "bafoeg|bafog|bundesverwaltungsamt|ausbildungsdarlehen"),
    Reading(
        "BANKFINANCE_CREDITPAYMENT",
        "INSTALMENT_PURCHASE",
        "ratenkauf|ratepay|klarna|riverty|ratenzahlung|teilzahlung|kundenkonto|einkauf|0%|0finanzierung|versand",
    ),
    Reading("BANKFINANCE_CREDITPAYMENT", "LOAN"),
    Reading("BANKFINANCE_CREDITINCOME", "PAYOUT"),
    Reading("SAVINGS_SECURITIES", "SECURITIES_PLAN"),
    Reading("SAVINGS_ACCOUNT", "SAVINGS_PLAN"),
    Reading("SAVINGS_LIFEBUILDING", "SAVINGS_PLAN"),
    Reading("SAVINGS_OTHER", "SAVINGS_PLAN"),
    Reading("MOBILITY_VEHICLEACQUISITION", "VEHICLE_ACQUISITION"),
    Reading("INSURANCE_VEHICLE", "VEHICLE_INSURANCE"),
    Reading("INSURANCE_HOME", "HOME_INSURANCE"),
    Reading("BANKFINANCE_OTHER", "SEIZURE", "pfaend|pfand|pfueb|gerichtsvollz|vollstreck|drittschuldner|auskehrung"),
    Reading("OTHER_SPENDING", "SEIZURE", "pfaend|pfand|pfueb|gerichtsvollz|vollstreck|drittschuldner|auskehrung"),
    Reading("OTHER_SPENDING", "COLLECTION", "inkasso"),
)
WORDED = {
    category: [reading for reading in READINGS if reading.category == category]
    for category in {reading.category for reading in READINGS if reading.glued or reading.words}
}
"""The readings of categories in which words decide."""
UNWORDED = {reading.category: reading.kind for reading in reversed(READINGS) if reading.category not in WORDED}
"""The kinds of the others."""
RENT = "HOUSING_RENT"
CATEGORIES = tuple(sorted({RENT, *(reading.category for reading in READINGS)}))


def folded(text: pl.Expr) -> pl.Expr:
    """The text in small letters without umlauts."""
    return text.str.to_lowercase().str.replace_many(list(FOLDED), list(FOLDED.values()))


def read(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with their `kind`, empty where there is none.

    `key` says which bookings have the same words, so that each line is read once; `surname` is that of the account's owner.
    """
    if rows["key"].null_count():
        rows = rows.with_columns(pl.col("key").fill_null(pl.struct("counterparty_name", "purpose").hash()))
    of, category = ["effective_category", "key"], pl.col("effective_category")
    worded = rows.select(*of, "counterparty_name", "purpose").filter(category.is_in(list(WORDED))).unique(of, maintain_order=True)
    texts = worded.select(*of, text=plain()).with_columns(glued=_glued())
    parts = [_read_category(part) for part in texts.partition_by("effective_category")]
    kinds = pl.concat([texts.select(*of, kind=pl.lit("")).clear(), *parts])
    plainly = category.replace_strict(UNWORDED, default="", return_dtype=pl.String)
    found = rows.join(kinds, on=of, how="left", maintain_order="left").with_columns(kind=pl.coalesce("kind", plainly))
    return _with_rents(found).with_columns(kind=_by_facts()).drop("surname", "key")


def _read_category(lines: pl.DataFrame) -> pl.DataFrame:
    """One category at a time, so that every word is looked for only where it can decide."""
    kind: pl.Expr = pl.lit("")
    for reading in reversed(WORDED[lines.item(0, "effective_category")]):
        kind = pl.when(_says(reading)).then(pl.lit(reading.kind)).otherwise(kind)
    return lines.select("effective_category", "key", kind=kind)


def _with_rents(rows: pl.DataFrame) -> pl.DataFrame:
    """Rents with the kind that amount, words and the owner's name tell."""
    places = (rows["effective_category"] == RENT).arg_true()
    if places.is_empty():
        return rows
    homes = rows[places].with_columns(text=plain()).with_columns(glued=_glued())
    return rows.with_columns(rows["kind"].scatter(places, homes.select(_rent()).to_series()))


def plain() -> pl.Expr:
    """Name and purpose of a booking in small letters without umlauts."""
    return folded(pl.concat_str(pl.col("counterparty_name", "purpose").fill_null(""), separator=" "))


def _glued() -> pl.Expr:
    return pl.col("text").str.replace_all(r"[^a-z0-9?%]+", "")


def _says(reading: Reading) -> pl.Expr:
    if not reading.glued and not reading.words:
        return pl.lit(True)
    parts = reading.glued.split("|")
    literal = all(part.replace("%", "").isalnum() for part in parts)
    glued = pl.col("glued").str.contains_any(parts) if literal else pl.col("glued").str.contains(reading.glued)
    said = glued if reading.glued else pl.lit(False)
    return said | pl.col("text").str.contains(rf"\b(?:{reading.words})\b") if reading.words else said


def _rent() -> pl.Expr:
    amount = pl.col("amount_cents").abs()
    home = (amount <= BOARD_MONEY) & (pl.col("surname") != "") & pl.col("text").str.contains(pl.col("surname"), literal=True)
    parking = (amount < SMALL_RENT) & pl.col("glued").str.contains("stellpl|garage|parkpl")
    premises = (pl.col("freelancer") == "RENT_PREMISES") | pl.col("glued").str.contains("coworking|gewerbe|bueromiete|ladenlokal")
    return (
        pl.when(parking)
        .then(pl.lit("PARKING"))
        .when(premises)
        .then(pl.lit("PREMISES"))
        .when(home | pl.col("glued").str.contains("kostgeld"))
        .then(pl.lit("BOARD"))
        .otherwise(pl.lit("RENT"))
    )


def _by_facts() -> pl.Expr:
    """What is told better by a tag than by words."""
    collectors = partners().frame.filter("inkasso")["partner"].implode()
    return (
        pl.when(pl.col("channel") == Channel.DD_RETURN)
        .then(pl.lit("RETURNED_DEBIT"))
        .when((pl.col("amount_cents") < 0) & pl.col("partner").is_in(collectors))
        .then(pl.lit("COLLECTION"))
        .when((pl.col("kind") == "") & (pl.col("freelancer") == "REVENUE") & (pl.col("amount_cents") > 0))
        .then(pl.lit("REVENUE"))
        .otherwise("kind")
    )
