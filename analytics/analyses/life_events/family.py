"""Events of families: children and, only on request, marriage."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence, bookings_until
from analytics.analyses.life_events.guards import MIN_ACTIVITY_BOOKINGS, YEAR_DAYS, bookings_before, events
from analytics.analyses.life_events.words import folded_text
from analytics.frames import NO_LIFE_EVENTS

CHILD_BENEFIT_CENTS = {2019: 20_400, 2021: 21_900, 2023: 25_000, 2025: 25_500, 2026: 25_900}
"""Child benefit for one child and month, by the first year of its rate."""
MIN_BENEFIT_OVER_DAYS = 62
YOUNG_KINDS = ("TRAINING_PAY", "TRAINING_AID", "STUDENT_AID", "SEMESTER_FEE", "BOARD")
"""Kinds of bookings of people who learn, or live with their parents."""
PARENT_KINDS = (
    "PARENTAL_BENEFIT", "MAINTENANCE_ADVANCE", "CHILD_SUPPLEMENT", "CHILD_MAINTENANCE", "MAINTENANCE_PAID", "CHILDCARE",
    "SCHOOL_CARE", "CHILD_NECESSITIES", "FOR_CHILDREN",
)  # fmt: skip
"""Kinds of bookings of parents."""
MAX_ONE_CHILD_FACTOR = 1.2
WEDDING_WORDS = {
    "office": "standesamt|eheschliessung",
    "rings": "trauring|brautmode|juwelier|brautkleid",
    "feast": "hochzeit|brautpaar",
}
WEDDING_CATEGORIES = ("SHOPPING_CLOTHINGACCESSORIES", "RECREATION_ENTERTAINMENTFOOD", "SERVICES_OFFLINE", "OTHER_SPENDING")
MAX_WEDDING_DAYS = 120


def family(evidence: EventEvidence) -> list[pl.DataFrame]:
    """The events of this group except marriage."""
    return _child_events(evidence)


def children(evidence: EventEvidence) -> pl.DataFrame:
    """The child benefit by month, with the number of `children` it is paid for, which is `sure` once another payment followed.

    The number is the median of this payment, the one before and the one after, so that neither back-pay nor a part changes it.
    """
    rate = pl.lit(0)
    for year, cents in CHILD_BENEFIT_CENTS.items():
        rate = pl.when(pl.col("booked_on").dt.year() >= year).then(cents).otherwise(rate)
    rows = evidence.rows.filter(pl.col("kind") == "CHILD_BENEFIT", pl.col("amount_cents") > 0).join(
        own_benefit_receivers(evidence), on="user", how="anti", maintain_order="left"
    )
    monthly = rows.group_by("user", month=pl.col("booked_on").dt.truncate("1mo")).agg(
        pl.col("booked_on", "id").sort_by("booked_on", "id").first(), pl.col("amount_cents").sum()
    )
    shares = monthly.sort("user", "month").with_columns(shares=(pl.col("amount_cents") / rate).round().cast(pl.Int64), rate=rate)
    shares = shares.filter(pl.col("shares") >= 1)
    before, after = (pl.col("shares").shift(by).over("user") for by in (1, -1))
    lower, higher = pl.min_horizontal("shares", before), pl.max_horizontal("shares", before)
    middle = (
        pl.when(before.is_null())
        .then(pl.min_horizontal("shares", after))
        .otherwise(pl.max_horizontal(lower, pl.min_horizontal(higher, after)))
    )
    return shares.with_columns(
        children=pl.when(after.is_null()).then(pl.coalesce(before, "shares")).otherwise(middle), sure=after.is_not_null()
    )


def own_benefit_receivers(evidence: EventEvidence) -> pl.DataFrame:
    """The users (`user`) who receive child benefit for themselves: they learn or pay board at home, get the benefit of one child,
    and spend nothing on one.
    """
    if "CHILD_BENEFIT" not in evidence.booked_kinds:
        return evidence.histories.select("user").clear()
    benefits = evidence.rows.filter(pl.col("kind") == "CHILD_BENEFIT", pl.col("amount_cents") > 0)
    usual = benefits.group_by("user").agg(usual=pl.col("amount_cents").median())
    of_one_child = usual.filter(pl.col("usual") <= max(CHILD_BENEFIT_CENTS.values()) * MAX_ONE_CHILD_FACTOR)
    kinds = evidence.rows.select("user", "kind").unique()
    young_users = kinds.filter(pl.col("kind").is_in(YOUNG_KINDS))
    parents = kinds.filter(pl.col("kind").is_in(PARENT_KINDS))
    receivers = of_one_child.join(young_users, on="user", how="semi").join(parents, on="user", how="anti")
    return receivers.select("user").sort("user")


def _child_events(evidence: EventEvidence) -> list[pl.DataFrame]:
    """The events by the number of children for whom benefit is paid: the first child, more, and fewer."""
    if "CHILD_BENEFIT" not in evidence.booked_kinds:
        return []
    benefit = children(evidence)
    if benefit.is_empty():
        return []
    payments = benefit.with_columns(
        before=pl.col("children").shift(1).over("user"),
        earlier=pl.col("booked_on").shift(1).over("user"),
        earlier_id=pl.col("id").shift(1).over("user"),
        confirmed=pl.col("booked_on").shift(-1).over("user"),
        name=pl.lit(""),
        latest=pl.col("amount_cents"),
    )
    payments = payments.join(evidence.histories, on="user", maintain_order="left")
    has_year_of_history = (pl.col("booked_on") - pl.col("start")).dt.total_days() >= YEAR_DAYS
    first_benefits = payments.filter(pl.col("before").is_null(), has_year_of_history, "sure")
    first_benefits = first_benefits.filter(
        bookings_before(evidence, first_benefits, pl.col("booked_on")) >= MIN_ACTIVITY_BOOKINGS
    )
    more = payments.filter("sure", pl.col("children") > pl.col("before"))
    fewer = payments.filter("sure", pl.col("children") < pl.col("before"))
    last = payments.unique("user", keep="last", maintain_order=True)
    ended_benefits = last.filter((pl.col("as_of") - pl.col("booked_on")).dt.total_days() > MIN_BENEFIT_OVER_DAYS)
    total, bookings_then = bookings_until(evidence, ended_benefits, pl.col("as_of"), pl.col("booked_on").dt.offset_by("31d"))
    ended_benefits = ended_benefits.filter(total - bookings_then >= MIN_ACTIVITY_BOOKINGS)
    own_id, earlier_id, sure = pl.concat_list("id"), pl.concat_list("earlier_id"), pl.lit(0.9)
    day, confirmed = pl.col("booked_on"), pl.col("confirmed")
    given_up_since = day.dt.offset_by(f"{MIN_BENEFIT_OVER_DAYS + 1}d")
    return [
        events(first_benefits, "CHILD_FIRST", day, "Erstes Kindergeld", own_id, sure, known_since=confirmed),
        events(more, "CHILD_NEXT", day, "Kindergeld für ein weiteres Kind", own_id, sure, known_since=confirmed),
        events(
            fewer,
            "CHILDBENEFIT_END",
            pl.col("earlier"),
            "Kindergeld für ein Kind endet",
            earlier_id,
            sure,
            known_since=confirmed,
        ),
        events(ended_benefits, "CHILDBENEFIT_END", day, "Letztes Kindergeld", own_id, sure, known_since=given_up_since),
    ]


def marriages(bookings: pl.DataFrame) -> pl.DataFrame:
    """An event for two different signs of a wedding within four months, on the later day."""
    rows = bookings.filter(pl.col("effective_category").is_in(WEDDING_CATEGORIES), pl.col("amount_cents") < 0)
    rows = rows.select("user", "id", "booked_on", latest="amount_cents", text=folded_text())
    sign = pl.coalesce(pl.when(pl.col("text").str.contains(words)).then(pl.lit(name)) for name, words in WEDDING_WORDS.items())
    signs = rows.with_columns(sign=sign).drop_nulls("sign").drop("text")
    pairs = signs.join(signs, on="user", suffix="_other")
    gap = (pl.col("booked_on") - pl.col("booked_on_other")).dt.total_days()
    close_pairs = pairs.filter(pl.col("sign") != pl.col("sign_other"), gap.is_between(0, MAX_WEDDING_DAYS))
    last = close_pairs.sort("user", "booked_on", "id", "id_other").unique("user", keep="last", maintain_order=True)
    if last.is_empty():
        return NO_LIFE_EVENTS
    booking_ids = pl.concat_list("id_other", "id")
    return events(
        last.with_columns(name=pl.lit("")), "MARRIAGE", pl.col("booked_on"), "Hochzeit erkennbar", booking_ids, pl.lit(0.75)
    )
