"""Affordability of users as JSON: the sums with what they consist of, the ratios, and the flags with what they rest on."""

import polars as pl

from analytics.analyses.suite import Frames
from analytics.frames import AFFORDABILITY_FLAGS, AFFORDABILITY_RATIOS
from pipelines.results.documents.json_text import amount, day, json_list, json_object, plain, quoted, rate, wire_name
from pipelines.results.documents.tags import TagWriter, item_texts

DOCUMENT = "affordability"
ITEM = "AFFORDABILITY_INFORMATION"
PARTS = ("income", "necessities", "luxuries")
KINDS = {"regular": True, "irregular": False}
LEFT = ("discretionary", "discretionary_for_irregular_luxuries", "savings", "gambling")
RENT = "most_recent_rental_payment"


def affordability(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and the affordability of those who have enough months."""
    known = _with_categories(frames["affordability"], frames["affordability_amounts"])
    rows = known.select("user", item=pl.lit(ITEM), apart=pl.lit(ITEM), details=json_object(_details()))
    return rows.select("user", writer.on_users("AFFORDABILITY", rows).alias(DOCUMENT))


def _with_categories(known: pl.DataFrame, amounts: pl.DataFrame) -> pl.DataFrame:
    """Each part, regular or not, as the text of its categories."""
    item = pl.col("category").replace_strict(item_texts("CATEGORIES", amounts["category"]), return_dtype=pl.String)
    element = json_object({"amount": amount("cents"), "tagTreeItem": item})
    texts = amounts.sort("user", "category").select("user", "part", "regular", element=element)
    for part in PARTS:
        for kind, regular in KINDS.items():
            own = texts.filter(pl.col("part") == part, pl.col("regular") == regular)
            listed = own.group_by("user").agg(json_list(pl.col("element")).alias(f"{part}_{kind}_items"))
            known = known.join(listed, on="user", how="left", maintain_order="left")
    return known


def _details() -> dict[str, pl.Expr]:
    spent = {"amount": amount("expenses"), "luxuries": _split("luxuries"), "necessities": _split("necessities")}
    return {
        **{wire_name(name): amount(name) for name in LEFT},
        **{wire_name(name): plain(name) for name in (*AFFORDABILITY_FLAGS, "credit_cards")},
        "financialLiteracy": quoted("financial_literacy"),
        **{wire_name(name): rate(name) for name in AFFORDABILITY_RATIOS},
        "expenses": json_object(spent),
        "income": _split("income"),
        wire_name(RENT): day(pl.when("rental_payments").then(RENT)),
        "evidence": json_object(_evidence()),
        "financialLiteracyReason": quoted("financial_literacy_reason"),
        "windowFirst": day("window_first"),
        "windowLast": day("window_last"),
        "months": plain("months"),
    }


def _split(part: str) -> pl.Expr:
    """What of a part is regular and what is not, by categories."""
    kinds = {
        kind: json_object(
            {"amount": amount(f"{part}_{kind}"), "amountsPerTagTreeItem": pl.col(f"{part}_{kind}_items").fill_null("[]")}
        )
        for kind in KINDS
    }
    return json_object({"amount": amount(part), **kinds})


def _evidence() -> dict[str, pl.Expr]:
    """Of each flag why it is raised or not; overdrafts are none, but count in financial literacy."""
    flags = {flag: {"reason": quoted(f"{flag}_reason")} for flag in (*AFFORDABILITY_FLAGS, "overdraft")}
    counted: dict[str, dict[str, pl.Expr]] = {"gambling": {}, "credit_cards": {}}
    return {
        wire_name(name): json_object({**why, "transactionIds": quoted(f"{name}_ids")}) for name, why in (flags | counted).items()
    }
