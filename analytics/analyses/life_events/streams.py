"""Events that are nothing but the start or the end of a contract of some kind, as one table."""

import polars as pl

from analytics.analyses.life_events.guards import events

STREAMS = pl.DataFrame(
    [
        ("UNEMPLOYMENT_BENEFIT", "Arbeitslosengeld oder Bürgergeld", "UNEMPLOYMENT_START", "UNEMPLOYMENT_END", 1),
        ("PARENTAL_BENEFIT", "Elterngeld", "PARENTALLEAVE_START", "PARENTALLEAVE_END", 1),
        ("MORTGAGE", "Rate eines Immobiliendarlehens", "HOMEFINANCING_START", "HOMEFINANCING_END", 0),
        ("CHILDCARE", "Beitrag zur Kinderbetreuung", "CHILDCARE_START", "CHILDCARE_END", 0),
        ("SCHOOL_CARE", "Beitrag zur Kinderbetreuung", "CHILDCARE_START", "CHILDCARE_END", 0),
        ("MAINTENANCE_PAID", "Gezahlter Unterhalt", "MAINTENANCE_START", "MAINTENANCE_END", 0),
        ("MAINTENANCE_RECEIVED", "Erhaltener Unterhalt", "MAINTENANCE_START", "MAINTENANCE_END", 0),
        ("CHILD_MAINTENANCE", "Erhaltener Unterhalt", "MAINTENANCE_START", "MAINTENANCE_END", 0),
        ("LOAN", "Kreditrate", None, "LOAN_END", 0),
        ("SAVINGS_PLAN", "Sparvertrag", "SAVINGS_START", "SAVINGS_END", 0),
        ("SECURITIES_PLAN", "Wertpapiersparplan", "INVESTMENT_START", "SAVINGS_END", 0),
    ],
    ["kind", "what", "begins", "ends", "periods"],
    orient="row",
)
"""Kind, its words, the events of its start and end, and how many periods after the last payment the end lies."""


def streams(runs: pl.DataFrame) -> list[pl.DataFrame]:
    """The starts of new contracts and the ends of those that are over."""
    known = runs.join(STREAMS, on="kind", maintain_order="left")
    new, over = known.filter("new", pl.col("begins").is_not_null()), known.filter("over")
    ending = pl.col("last") + pl.duration(days=pl.col("length") * pl.col("periods"))
    return [
        events(new, pl.col("begins"), pl.col("first"), pl.format("{} beginnt", "what"), pl.col("opening")),
        events(over, pl.col("ends"), ending, pl.format("{} endet", "what"), pl.col("closing")),
    ]
