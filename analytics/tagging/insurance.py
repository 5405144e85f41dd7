"""The insurance product of a line: whether it is a premium at all, and which product the words, the company or the partner
name.

The file has three kinds of rules. `UNRELATED_OTHER` says what is no insurance although it sounds like one; `GATE` says that a
line has to do with insurance; all others name a product and count only behind the gate. A gate of the priority of words for
products is a company whose name begins with such a word. Only payments out are premiums: what an insurer pays is a claim.
"""

import polars as pl

from analytics import trees
from analytics.frames import beside
from analytics.tagging.rule_matching import Words, because, first, judge
from analytics.tagging.rulebooks import books

UNRELATED, GATE, BUNDLE, UNKNOWN = "UNRELATED_OTHER", "GATE", "OTHER_BUNDLE", "OTHER_OTHER"
KEYWORDS = 10
"""Rules of this priority are words for one product; two divisions among them are two policies in one premium."""
NO_PREMIUM, NO_WORDS, SEVERAL, BY_PARTNER, BY_PLATE, BY_INSURER = 0.99, 0.97, 0.9, 0.88, 0.82, 0.9
PLATE = r"(?:^| )[a-z]{1,3} [a-z]{1,2} ?0[he]?(?: |$)"
NUMBERED = r"\b(?:(?:nr|vn)(?: [a-z]{1,2})?|no|id|kd|rg|az|vom|bis|vj|hj|per|dt)(?: 0)+\b"
"""Short words before numbers that are no number plates; numbers of policies may begin with letters."""
COMPOSITE = ("VEHICLE_CAR", "HOME_BUILDING", "HOME_CONTENTS", "LIABILITY_PRIVATE")
"""Products that a company sells beside all others of damage insurance: who collects does not tell which it is. Life and health
insurers are companies of their own by law, and specialists sell one thing."""


def insurance(lines: pl.DataFrame, words: Words | None = None) -> pl.DataFrame:
    """The lines with `insurance`, `insurance_confidence`, `insurance_source` and `insurance_reason`."""
    judged = judge(lines, books()["insurance"], words)
    hits = judged.hits.filter(~lines["positive"][judged.hits["line"]])
    excluded = first(hits.filter(pl.col("item") == UNRELATED), -pl.col("confidence"))
    gates = first(hits.filter(pl.col("item") == GATE), -pl.col("confidence")).join(excluded, on="line", how="anti")
    named = hits.filter(~pl.col("item").is_in([UNRELATED, GATE])).join(gates, on="line", how="semi")
    products = _products(_without_company(named, hits))
    rest = _by_partner(lines, gates.join(products, on="line", how="anti"))
    decided = pl.concat([excluded.select(products.columns), products, rest.select(products.columns)])
    source = pl.when(pl.col("rule") < 0).then(pl.lit("PARTNER")).otherwise(pl.lit("RULE"))
    found = decided.select("line", "item", "confidence", source=source, reason=because(decided, judged.words))
    return _filled(lines, found)


def _without_company(named: pl.DataFrame, hits: pl.DataFrame) -> pl.DataFrame:
    """The hits without words that are only the beginning of a company's name: its gate has the priority of words for products."""
    companies = hits.filter(pl.col("item") == GATE, pl.col("priority") == KEYWORDS)
    return named.join(companies, on=["line", "start"], how="anti")


def _products(hits: pl.DataFrame) -> pl.DataFrame:
    """One product for each line: that of the best rules, the longest word first; a bundle if these speak of two divisions."""
    divisions = trees.insurance_types_frame().select(item="system_name", division="parent")
    ranked = hits.join(divisions, on="item", how="left", maintain_order="left")
    leading = ranked.filter(pl.col("priority") == pl.col("priority").min().over("line"))
    told = leading.filter(pl.col("letters") == pl.col("letters").max().over("line", "start"))
    ordered = told.sort("line", -pl.col("letters"), -pl.col("confidence"), "rule", maintain_order=True)
    best = ordered.unique("line", keep="first", maintain_order=True)
    others = ordered.join(best.select("line", best="division"), on="line").filter(
        pl.col("division") != pl.col("best"), pl.col("priority") == KEYWORDS
    )
    second = others.unique("line", keep="first", maintain_order=True).select("line", start_next="start", end_next="end")
    several = pl.col("start_next").is_not_null()
    return best.join(second, on="line", how="left", maintain_order="left").select(
        "line",
        "rule",
        "start",
        "end",
        "field",
        item=pl.when(several).then(pl.lit(BUNDLE)).otherwise("item"),
        confidence=pl.when(several).then(SEVERAL).otherwise("confidence"),
        reason=pl.when(several).then(pl.lit("Mehrere Sparten")).otherwise("reason"),
        start_too=pl.coalesce("start_next", "start_too"),
        end_too=pl.coalesce("end_next", "end_too"),
    )


def _by_partner(lines: pl.DataFrame, gates: pl.DataFrame) -> pl.DataFrame:
    """What no word names: a number plate, the product that a specialist sells, else only that it is insurance."""
    known = lines.select(
        purpose=pl.col("purpose"),
        default=pl.col("partner_insurance").fill_null("") if "partner_insurance" in lines.columns else pl.lit(""),
    )[gates["line"]]
    plate = known["purpose"].str.replace_all(NUMBERED, " ").str.contains(PLATE)
    default = known["default"]
    sold = ~default.is_in(["", UNRELATED, UNKNOWN, *COMPOSITE])
    return gates.with_columns(
        item=pl.when(plate).then(pl.lit("VEHICLE_CAR")).when(sold).then(default).otherwise(pl.lit(UNKNOWN)),
        confidence=pl.when(plate).then(BY_PLATE).when(sold).then(BY_PARTNER).otherwise(pl.col("confidence") * BY_INSURER),
        reason=pl.when(plate)
        .then(pl.lit("Versicherung mit Kennzeichen"))
        .when(sold)
        .then(pl.lit("Versicherer mit vor allem diesem Produkt"))
        .otherwise(pl.lit("Versicherung ohne erkennbare Sparte")),
        rule=pl.when(~plate & sold).then(-1).otherwise("rule").cast(pl.Int32),
    )


def _filled(lines: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """The lines with what was found; the others are no premiums."""
    joined = beside(lines, found)
    incoming = pl.lit(lines["positive"])
    silent = pl.when(incoming).then(pl.lit("Zahlungseingang, kein Beitrag")).otherwise(pl.lit("keine Versicherung erkannt"))
    return joined.with_columns(
        insurance=pl.col("item").fill_null(UNRELATED),
        insurance_confidence=pl.coalesce("confidence", pl.when(incoming).then(NO_PREMIUM).otherwise(NO_WORDS)),
        insurance_source=pl.col("source").fill_null("RULE"),
        insurance_reason=pl.coalesce("reason", silent),
    ).drop("item", "confidence", "source", "reason")
