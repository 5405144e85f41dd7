"""The insurance type of a line: whether it is a premium, and which product the words, the company or the partner name.

`insurance.csv` has three kinds of rules. `UNRELATED_OTHER` excludes lines that only sound like insurance; `GATE` marks lines that
have to do with insurance; all others name a product and count only on lines with a gate. A gate with the priority of words for
products is a company whose name begins with such a word. Only outgoing payments are premiums: what an insurer pays is a claim.
"""

import polars as pl

from analytics import trees
from analytics.frames import add_columns_by_row
from analytics.tagging.rule_matching import LineWords, first_hits, match_rules, quoted_reasons
from analytics.tagging.rulebooks import rulebooks

UNRELATED, GATE, BUNDLE, UNKNOWN = "UNRELATED_OTHER", "GATE", "OTHER_BUNDLE", "OTHER_OTHER"
PRODUCT_WORD_PRIORITY = 10
"""Rules of this priority are words for one product; two divisions among them are two policies in one premium."""
INCOMING_CONFIDENCE, NO_WORDS_CONFIDENCE = 0.99, 0.97
"""Of `UNRELATED_OTHER`, on credits and on payments without any word of insurance."""
BUNDLE_CONFIDENCE, PARTNER_CONFIDENCE, PLATE_CONFIDENCE = 0.9, 0.88, 0.82
UNKNOWN_PRODUCT_FACTOR = 0.9
PLATE = r"(?:^| )[a-z]{1,3} [a-z]{1,2} ?0[he]?(?: |$)"
NUMBER_PREFIXES = r"\b(?:(?:nr|vn)(?: [a-z]{1,2})?|no|id|kd|rg|az|vom|bis|vj|hj|per|dt)(?: 0)+\b"
"""Short words before numbers, which are not number plates; policy numbers may begin with letters."""
COMPOSITE_PRODUCTS = ("VEHICLE_CAR", "HOME_BUILDING", "HOME_CONTENTS", "LIABILITY_PRIVATE")
"""Products of companies that sell all kinds of damage insurance: the company does not reveal which of them was paid. Life and
health insurers are separate companies by law, and specialists sell one product."""


def add_insurance(lines: pl.DataFrame, words: LineWords | None = None) -> pl.DataFrame:
    """The lines with `insurance`, `insurance_confidence`, `insurance_source` and `insurance_reason`."""
    matches = match_rules(lines, rulebooks()["insurance"], words)
    hits = matches.hits.filter(~lines["positive"][matches.hits["line"]])
    exclusions = first_hits(hits.filter(pl.col("item") == UNRELATED), -pl.col("confidence"))
    gates = first_hits(hits.filter(pl.col("item") == GATE), -pl.col("confidence")).join(exclusions, on="line", how="anti")
    product_hits = hits.filter(~pl.col("item").is_in([UNRELATED, GATE])).join(gates, on="line", how="semi")
    products = _products(_without_company_words(product_hits, hits))
    unnamed_products = _products_without_words(lines, gates.join(products, on="line", how="anti"))
    best = pl.concat([exclusions.select(products.columns), products, unnamed_products.select(products.columns)])
    answers = best.select(
        "line",
        insurance="item",
        insurance_confidence="confidence",
        insurance_source=pl.when(pl.col("rule") < 0).then(pl.lit("PARTNER")).otherwise(pl.lit("RULE")),
        insurance_reason=quoted_reasons(best, matches.words),
    )
    return _with_fallback(add_columns_by_row(lines, answers))


def _without_company_words(product_hits: pl.DataFrame, hits: pl.DataFrame) -> pl.DataFrame:
    """The product hits without words that begin a company's name, whose gate has the priority of words for products."""
    companies = hits.filter(pl.col("item") == GATE, pl.col("priority") == PRODUCT_WORD_PRIORITY)
    return product_hits.join(companies, on=["line", "start"], how="anti")


def _products(hits: pl.DataFrame) -> pl.DataFrame:
    """One product for each line: that of the best rules, the longest word first; a bundle if their words name two divisions."""
    divisions = trees.insurance_types_frame().select(item="system_name", division="parent")
    product_hits = hits.join(divisions, on="item", how="left", maintain_order="left")
    leading = product_hits.filter(pl.col("priority") == pl.col("priority").min().over("line"))
    longest = leading.filter(pl.col("letters") == pl.col("letters").max().over("line", "start"))
    ordered_hits = longest.sort("line", -pl.col("letters"), -pl.col("confidence"), "rule", maintain_order=True)
    best = ordered_hits.unique("line", keep="first", maintain_order=True)
    others = ordered_hits.join(best.select("line", best="division"), on="line").filter(
        pl.col("division") != pl.col("best"), pl.col("priority") == PRODUCT_WORD_PRIORITY
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
        confidence=pl.when(several).then(BUNDLE_CONFIDENCE).otherwise("confidence"),
        reason=pl.when(several).then(pl.lit("Mehrere Sparten")).otherwise("reason"),
        start_too=pl.coalesce("start_next", "start_too"),
        end_too=pl.coalesce("end_next", "end_too"),
    )


def _products_without_words(lines: pl.DataFrame, gates: pl.DataFrame) -> pl.DataFrame:
    """The product of lines in which no word names one: by number plate, by the specialist that sells it, else unknown."""
    gate_lines = lines.select(
        purpose=pl.col("purpose"),
        default=pl.col("partner_insurance").fill_null("") if "partner_insurance" in lines.columns else pl.lit(""),
    )[gates["line"]]
    plate = gate_lines["purpose"].str.replace_all(NUMBER_PREFIXES, " ").str.contains(PLATE)
    default = gate_lines["default"]
    special = ~default.is_in(["", UNRELATED, UNKNOWN, *COMPOSITE_PRODUCTS])
    return gates.with_columns(
        item=pl.when(plate).then(pl.lit("VEHICLE_CAR")).when(special).then(default).otherwise(pl.lit(UNKNOWN)),
        confidence=pl.when(plate)
        .then(PLATE_CONFIDENCE)
        .when(special)
        .then(PARTNER_CONFIDENCE)
        .otherwise(pl.col("confidence") * UNKNOWN_PRODUCT_FACTOR),
        reason=pl.when(plate)
        .then(pl.lit("Versicherung mit Kennzeichen"))
        .when(special)
        .then(pl.lit("Versicherer mit vor allem diesem Produkt"))
        .otherwise(pl.lit("Versicherung ohne erkennbare Sparte")),
        rule=pl.when(~plate & special).then(-1).otherwise("rule").cast(pl.Int32),
    )


def _with_fallback(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines, of which those without an answer are no premiums."""
    incoming = pl.col("positive")
    reason = pl.when(incoming).then(pl.lit("Zahlungseingang, kein Beitrag")).otherwise(pl.lit("keine Versicherung erkannt"))
    confidence = pl.when(incoming).then(INCOMING_CONFIDENCE).otherwise(NO_WORDS_CONFIDENCE)
    return lines.with_columns(
        pl.col("insurance").fill_null(UNRELATED),
        pl.coalesce("insurance_confidence", confidence),
        pl.col("insurance_source").fill_null("RULE"),
        pl.coalesce("insurance_reason", reason),
    )
