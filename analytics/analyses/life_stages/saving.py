"""The stages of saving: the share of income put aside, and whether a contract or a standing order does it."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.savers import MIN_SAVING_RATE, Savers, lives_on_savings
from analytics.frames import collected

MIN_INTENSIVE_RATE = 0.15


def saving_stages(evidence: EventEvidence, user_savers: Savers) -> pl.DataFrame:
    """The saving stage of each user with income.

    Who saves regularly is a regular saver even if the money is spent in the end, unless savings melt away.
    """
    plans = user_savers.regular.lazy().with_columns(plan=pl.lit(value=True))
    with_income = user_savers.amounts.lazy().filter(pl.col("income") > 0)
    savers = with_income.join(plans, on="user", how="left").join(evidence.histories.lazy(), on="user")
    rate = pl.col("put_aside") / pl.col("income")
    item = (
        pl.when(lives_on_savings())
        .then(pl.lit("SAVINGS_DISSAVING"))
        .when(rate < MIN_SAVING_RATE, pl.col("plan").is_null())
        .then(pl.lit("SAVINGS_NONE"))
        .when(pl.col("plan").is_null())
        .then(pl.lit("SAVINGS_OCCASIONAL"))
        .when(rate < MIN_INTENSIVE_RATE)
        .then(pl.lit("SAVINGS_REGULAR"))
        .otherwise(pl.lit("SAVINGS_INTENSIVE"))
    )
    share = (rate.abs() * 100).round(1).cast(pl.String).str.replace(".", ",", literal=True)
    regularly = pl.when(pl.col("plan").is_not_null()).then(pl.lit("; ein Vertrag oder Dauerauftrag spart")).otherwise(pl.lit(""))
    stages = savers.select(
        "user",
        "bookings",
        item=item,
        since=pl.coalesce("since", "start"),
        confidence=pl.lit(0.85),
        reason=pl.when(rate < 0)
        .then(pl.format("in {} Monaten {} % des Einkommens vom Ersparten entnommen{}", "months", share, regularly))
        .otherwise(pl.format("{} % des Einkommens von {} Monaten zurückgelegt{}", share, "months", regularly)),
    )
    return collected(stages)
