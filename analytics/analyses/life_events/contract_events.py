"""Events that are simply the start or the end of a contract of some kind, as one table."""

import polars as pl

from analytics.analyses.life_events.guards import events

CONTRACT_EVENTS = pl.DataFrame(
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
        ("INSTALMENT_PURCHASE", "Ratenkauf", "LOAN_START", "LOAN_END", 0),
        ("SAVINGS_PLAN", "Sparvertrag", "SAVINGS_START", "SAVINGS_END", 0),
        ("SECURITIES_PLAN", "Wertpapiersparplan", "INVESTMENT_START", "SAVINGS_END", 0),
        ("OWN_SAVINGS_PLAN", "Regelmäßiges Sparen auf ein eigenes Konto", "SAVINGS_START", "SAVINGS_END", 0),
        ("OWN_SECURITIES_PLAN", "Regelmäßiges Sparen in ein eigenes Depot", "INVESTMENT_START", "SAVINGS_END", 0),
    ],
    ["kind", "description", "begins", "ends", "periods"],
    orient="row",
)
"""Each kind, its description, the events of its start and end, and the number of periods from the last payment to the end."""

MIN_INSTALMENTS = 3
"""A purchase in fewer instalments is no loan."""


def contract_events(runs: pl.DataFrame) -> list[pl.DataFrame]:
    """The events of new contracts and of those that are over."""
    is_short_purchase = (pl.col("kind") == "INSTALMENT_PURCHASE") & (pl.col("count") < MIN_INSTALMENTS)
    runs_with_events = runs.filter(~is_short_purchase).join(CONTRACT_EVENTS, on="kind", maintain_order="left")
    name = pl.when(pl.col("kind").str.starts_with("OWN_")).then(pl.lit("")).otherwise("name")  # it is the user's own
    runs_with_events = runs_with_events.with_columns(name=name)
    new_runs, ended_runs = runs_with_events.filter("new", pl.col("begins").is_not_null()), runs_with_events.filter("over")
    ending = pl.col("last") + pl.duration(days=pl.col("length") * pl.col("periods"))
    return [
        events(
            new_runs,
            pl.col("begins"),
            pl.col("first"),
            pl.format("{} beginnt", "description"),
            pl.col("opening"),
            known_since=pl.col("recognised"),
        ),
        events(
            ended_runs,
            pl.col("ends"),
            ending,
            pl.format("{} endet", "description"),
            pl.col("closing"),
            known_since=pl.col("ended_since"),
        ),
    ]
