"""The kinds of bookings: by category, and by words of the booking where the category alone does not decide.

A kind is finer than a category (child benefit and parental benefit share one) and only as fine as the rules about events and
stages need. Health, religion, unions and parties have no kind: they are never evidence.
"""

from functools import cache
from typing import NamedTuple

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.frames import collected
from analytics.knowledge import partners
from analytics.native.dense_ids import Numbering

UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}
MAX_PARKING_CENTS = 15_000
"""A garage costs less; rent with a parking space costs more."""
MAX_BOARD_CENTS = 30_000
"""A grown-up child pays at most this at home."""
WAGE_KINDS = ("SALARY", "TRAINING_PAY")


SCHOOL_CARE_STEMS, SCHOOL_CARE_WORDS = (
    "ganztag|schulk|schulgeld|mittagsbetreuung",
    "hort|kinderhort|schulhort|hortbeitrag|hortgebuehr|hortplatz|ogs|ogts",
)
CHILDCARE_STEMS = "kindergarten|kindertages|kitabeitrag|kitageb|elternbeitrag|kinderkrippe|kindertagespflege"
"""Words for care, which many towns collect themselves, so that the payee and often the category do not show it."""


class Reading(NamedTuple):
    """In this category a booking whose text has one of these words is of this kind. `glued` is searched in the text without
    blanks, since banks wrap lines anywhere; `words` as whole words, because they are too short to be safe inside others.
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
    Reading("INCOME_STATE_FAMILY", "MATERNITY_BENEFIT", "mutterschaft|mutterschutz"),
    Reading("INCOME_STATE_FAMILY", "MAINTENANCE_ADVANCE", "unterhaltsvorsch|uhvorsch|jugendamt", "uvg"),
    Reading("INCOME_STATE_FAMILY", "CHILD_SUPPLEMENT", "kinderzuschlag", "kiz"),
    Reading("INCOME_STATE_FAMILY", "CHILD_BENEFIT"),
    Reading("INCOME_STATE_EDUCATION", "TRAINING_AID", "berufsausbildungsbeihilfe|beihilfeausbildung", "bab"),
    Reading("INCOME_STATE_EDUCATION", "STUDENT_AID", "bafoeg|bafog|ausbildungsfoerd|ausbildungsford"),
    Reading("INCOME_STATE_EDUCATION", "SCHOLARSHIP", "stipend|foerderwerk|studienstift"),
    Reading("INCOME_OTHER", "MATERNITY_BENEFIT", "mutterschaft|mutterschutz"),
    Reading("INCOME_OTHER", "", "wohngeld|kurzarbeit|mietzuschuss|gruendungszuschuss"),
    Reading("INCOME_OTHER", "VEHICLE_TAX", "kfzsteuer|kfzst|kraftfahrzeugst"),
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
    *(
        reading
        for category in ("TAXES", "HOUSING_ANCILLARYCOSTS", "BILLS_OTHER", "OTHER_SPENDING", "EDUCATION_OTHER")
        for reading in (
            Reading(category, "SCHOOL_CARE", SCHOOL_CARE_STEMS, SCHOOL_CARE_WORDS),
            Reading(category, "CHILDCARE", CHILDCARE_STEMS),
        )
    ),
    Reading("TAXES", "", "kfzsteuernachzahl|steuerbescheid|einkommensteuer"),
    Reading("TAXES", "VEHICLE_TAX", "kfzst|kraftfahrzeugst|kraftst"),
    Reading("TAXES", "TRANSFER_TAX", "grunderwerb", "grest"),
    Reading("TAXES", "PROPERTY_TAX", "grundsteuer|grundbesitz", "grst"),
    Reading("EDUCATION_ACADEMIC", "", "semesterkarte|hochschulsport|unisport", "zhs"),
    Reading(
        "EDUCATION_ACADEMIC",
        "SEMESTER_FEE",
        "semester|sembeitrag|sozialbeitrag|rueckmeld|ruckmeld|immatrikul|matrik|studienbeitrag",
        "wise|sose",
    ),
    Reading("FAMILY_CHILDCARE", "", "betreuteswohnen|servicewohnen|betreuungspauschale|senioren|pflegedienst"),
    Reading("FAMILY_CHILDCARE", "SCHOOL_CARE", f"{SCHOOL_CARE_STEMS}|schule|nachmittag", SCHOOL_CARE_WORDS),
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
    Reading(
        "MOBILITY_VEHICLEACQUISITION",
        "",
        "fahrrad|jobrad|dienstrad|lastenrad|leasingrad|bikeleasing|pedelec",
        "velo|bike|ebike|rad",
    ),
    Reading("MOBILITY_VEHICLEACQUISITION", "VEHICLE_ACQUISITION"),
    Reading("INSURANCE_VEHICLE", "VEHICLE_INSURANCE"),
    Reading("INSURANCE_HOME", "HOME_INSURANCE"),
    Reading("BANKFINANCE_OTHER", "SEIZURE", "pfaend|pfand|pfueb|gerichtsvollz|vollstreck|drittschuldner|auskehrung"),
    Reading("OTHER_SPENDING", "SEIZURE", "pfaend|pfand|pfueb|gerichtsvollz|vollstreck|drittschuldner|auskehrung"),
    Reading("OTHER_SPENDING", "COLLECTION", "inkasso"),
    Reading("TRANSFER_REVERSAL", "", "widerspr|widerruf|aufkundenwunsch|nichtautorisiert|keinmandat", "md01|md06|md07|sl01"),
    Reading(
        "TRANSFER_REVERSAL",
        "RETURNED_DEBIT",
        "ruecklast|rucklast|rcklast|mangelsdeckung|deckungnicht|unterdeckung|nichteinl|rueckgabelast|rckgabelast"
        "|lastschriftrueck|rueckgabemang|nichteingel",
    ),
)
READINGS_BY_CATEGORY = {
    category: [reading for reading in READINGS if reading.category == category]
    for category in {reading.category for reading in READINGS if reading.glued or reading.words}
}
"""The readings of the categories in which words decide."""
KINDS_BY_CATEGORY = {
    reading.category: reading.kind for reading in reversed(READINGS) if reading.category not in READINGS_BY_CATEGORY
}
"""The kinds of the other categories."""
RENT_CATEGORY = "HOUSING_RENT"
CATEGORIES = tuple(sorted({RENT_CATEGORY, *(reading.category for reading in READINGS)}))


def fold_umlauts(text: pl.Expr) -> pl.Expr:
    """The text in lower case without umlauts."""
    return text.str.to_lowercase().str.replace_many(list(UMLAUTS), list(UMLAUTS.values()))


def read_kinds(rows: pl.DataFrame, surnames: pl.DataFrame) -> pl.DataFrame:
    """The rows with their `kind`, empty where there is none; `surnames` are those of the owners, by user and product.

    Each text is read once. The key of a line is no key of its text: it leaves out numbers and references, in which words can
    hide, so that the kind of a booking would depend on which other booking came first.
    """
    category = pl.col("effective_category")
    kind = rows.select(category.replace_strict(KINDS_BY_CATEGORY, default="", return_dtype=pl.String)).to_series().alias("kind")
    worded_rows = rows["effective_category"].is_in(list(READINGS_BY_CATEGORY)).arg_true()
    worded_lines = rows[["effective_category", "counterparty_name", "purpose"]][worded_rows]
    number, first = Numbering().of(worded_lines.select(pl.struct(pl.all()).hash()).to_series().to_numpy())
    texts = (
        worded_lines[first]
        .select(category, place=pl.int_range(pl.len()), text=folded_text())
        .with_columns(glued=_without_blanks())
    )
    parts = [
        part.lazy().select("place", kind=_kind_of_category(part.item(0, "effective_category")))
        for part in texts.partition_by("effective_category")
    ]
    no_kinds = texts.lazy().select("place", kind=pl.lit("")).head(0)
    kinds = collected(pl.concat([no_kinds, *parts]).sort("place"))["kind"]
    with_kinds = rows.with_columns(kind.scatter(worded_rows, kinds[number]))
    return _with_rents(with_kinds, surnames).with_columns(kind=_kind_by_tags())


@cache
def _kind_of_category(category: str) -> pl.Expr:
    """The kind of a line of this category: every word is searched only where it can decide."""
    kind: pl.Expr = pl.lit("")
    for reading in reversed(READINGS_BY_CATEGORY[category]):
        kind = pl.when(_matches(reading)).then(pl.lit(reading.kind)).otherwise(kind)
    return kind


def _with_rents(rows: pl.DataFrame, surnames: pl.DataFrame) -> pl.DataFrame:
    """The rows with the kinds of rents, by amount, words and the owner's name."""
    rent_rows = (rows["effective_category"] == RENT_CATEGORY).arg_true()
    if rent_rows.is_empty():
        return rows
    rents = rows[rent_rows].join(surnames, on=["user", "product"], how="left", maintain_order="left")
    rents = rents.with_columns(pl.col("surname").fill_null(""), text=folded_text()).with_columns(glued=_without_blanks())
    return rows.with_columns(rows["kind"].scatter(rent_rows, rents.select(_rent_kind()).to_series()))


@cache
def folded_text() -> pl.Expr:
    """Name and purpose of a booking in lower case without umlauts."""
    return fold_umlauts(pl.concat_str(pl.col("counterparty_name", "purpose").fill_null(""), separator=" "))


@cache
def _without_blanks() -> pl.Expr:
    return pl.col("text").str.replace_all(r"[^a-z0-9?%]+", "")


def _matches(reading: Reading) -> pl.Expr:
    if not reading.glued and not reading.words:
        return pl.lit(True)
    parts = reading.glued.split("|")
    literal = all(part.replace("%", "").isalnum() for part in parts)
    glued = pl.col("glued").str.contains_any(parts) if literal else pl.col("glued").str.contains(reading.glued)
    in_glued_text = glued if reading.glued else pl.lit(False)
    return in_glued_text | pl.col("text").str.contains(rf"\b(?:{reading.words})\b") if reading.words else in_glued_text


def _rent_kind() -> pl.Expr:
    amount = pl.col("amount_cents").abs()
    home = (amount <= MAX_BOARD_CENTS) & (pl.col("surname") != "") & pl.col("text").str.contains(pl.col("surname"), literal=True)
    parking = (amount < MAX_PARKING_CENTS) & pl.col("glued").str.contains("stellpl|garage|parkpl")
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


@cache
def _kind_by_tags() -> pl.Expr:
    """The kind, where a tag decides better than words."""
    collectors = partners().frame.filter("inkasso")["partner"].implode()
    return (
        pl.when(pl.col("channel") == Channel.DD_RETURN)
        .then(pl.lit("RETURNED_DEBIT"))
        .when((pl.col("kind") == "RETURNED_DEBIT") & (pl.col("amount_cents") <= 0))
        .then(pl.lit(""))
        .when((pl.col("amount_cents") < 0) & pl.col("partner").is_in(collectors))
        .then(pl.lit("COLLECTION"))
        .when((pl.col("kind") == "") & (pl.col("freelancer") == "REVENUE") & (pl.col("amount_cents") > 0))
        .then(pl.lit("REVENUE"))
        .otherwise("kind")
    )
