"""Events of families: children, and, only if asked for, marriage."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence, until
from analytics.analyses.life_events.guards import ALIVE, YEAR, alive_before, events
from analytics.analyses.life_events.words import plain
from analytics.frames import LIFE_EVENTS

CHILD_BENEFIT_CENTS = {2019: 20_400, 2021: 21_900, 2023: 25_000, 2025: 25_500, 2026: 25_900}
"""Child benefit for one child and month, from this year on."""
BENEFIT_OVER_DAYS = 62
WEDDING = {
    "office": "standesamt|eheschliessung",
    "rings": "trauring|brautmode|juwelier|brautkleid",
    "feast": "hochzeit|brautpaar",
}
WEDDING_CATEGORIES = ("SHOPPING_CLOTHINGACCESSORIES", "RECREATION_ENTERTAINMENTFOOD", "SERVICES_OFFLINE", "OTHER_SPENDING")
WEDDING_DAYS, WEDDING_SIGNS = 120, 2


def family(base: EventEvidence) -> list[pl.DataFrame]:
    """The events of this group, but for marriage."""
    return _children(base)


def children(base: EventEvidence) -> pl.DataFrame:
    """The payments of child benefit, a month in one row, with `children`: for how many it is, `sure` once another followed.

    It is the middle of what this payment, the one before and the one after say, so that neither back-pay nor a part counts.
    """
    rate = pl.lit(0)
    for year, cents in CHILD_BENEFIT_CENTS.items():
        rate = pl.when(pl.col("booked_on").dt.year() >= year).then(cents).otherwise(rate)
    rows = base.rows.filter(pl.col("kind") == "CHILD_BENEFIT", pl.col("amount_cents") > 0)
    monthly = rows.group_by("user", month=pl.col("booked_on").dt.truncate("1mo")).agg(
        pl.col("booked_on", "id").sort_by("booked_on", "id").first(), pl.col("amount_cents").sum()
    )
    shares = monthly.sort("user", "month").with_columns(shares=(pl.col("amount_cents") / rate).round().cast(pl.Int64), rate=rate)
    shares = shares.filter(pl.col("shares") >= 1)
    before, after = (pl.col("shares").shift(by).over("user") for by in (1, -1))
    low, high = pl.min_horizontal("shares", before), pl.max_horizontal("shares", before)
    middle = (
        pl.when(before.is_null())
        .then(pl.min_horizontal("shares", after))
        .otherwise(pl.max_horizontal(low, pl.min_horizontal(high, after)))
    )
    return shares.with_columns(
        children=pl.when(after.is_null()).then(pl.coalesce(before, "shares")).otherwise(middle), sure=after.is_not_null()
    )


def _children(base: EventEvidence) -> list[pl.DataFrame]:
    """By the number of children for whom benefit is paid: the first one, more, and fewer."""
    if "CHILD_BENEFIT" not in base.booked_kinds:
        return []
    benefit = children(base)
    if benefit.is_empty():
        return []
    paid = benefit.with_columns(
        before=pl.col("children").shift(1).over("user"),
        earlier=pl.col("booked_on").shift(1).over("user"),
        earlier_id=pl.col("id").shift(1).over("user"),
        name=pl.lit(""),
        latest=pl.col("amount_cents"),
    )
    paid = paid.join(base.histories, on="user", maintain_order="left")
    known = (pl.col("booked_on") - pl.col("start")).dt.total_days() >= YEAR
    begun = paid.filter(pl.col("before").is_null(), known, "sure")
    begun = begun.filter(alive_before(base, begun, pl.col("booked_on")) >= ALIVE)
    more = paid.filter("sure", pl.col("children") > pl.col("before"))
    fewer = paid.filter("sure", pl.col("children") < pl.col("before"))
    last = paid.unique("user", keep="last", maintain_order=True)
    over = last.filter((pl.col("as_of") - pl.col("booked_on")).dt.total_days() > BENEFIT_OVER_DAYS)
    total, then = until(base, over, pl.col("as_of"), pl.col("booked_on").dt.offset_by("31d"))
    over = over.filter(total - then >= ALIVE)
    own, before, sure = pl.concat_list("id"), pl.concat_list("earlier_id"), pl.lit(0.9)
    return [
        events(begun, "CHILD_FIRST", pl.col("booked_on"), "Erstes Kindergeld", own, sure),
        events(more, "CHILD_NEXT", pl.col("booked_on"), "Kindergeld für ein weiteres Kind", own, sure),
        events(fewer, "CHILDBENEFIT_END", pl.col("earlier"), "Kindergeld für ein Kind endet", before, sure),
        events(over, "CHILDBENEFIT_END", pl.col("booked_on"), "Letztes Kindergeld", own, sure),
    ]


def marriages(bookings: pl.DataFrame) -> pl.DataFrame:
    """Two different signs of a wedding within four months, on the later day."""
    rows = bookings.filter(pl.col("effective_category").is_in(WEDDING_CATEGORIES), pl.col("amount_cents") < 0)
    rows = rows.select("user", "id", "booked_on", latest="amount_cents", text=plain())
    sign = pl.coalesce(pl.when(pl.col("text").str.contains(words)).then(pl.lit(name)) for name, words in WEDDING.items())
    signs = rows.with_columns(sign=sign).drop_nulls("sign").drop("text")
    pairs = signs.join(signs, on="user", suffix="_other")
    gap = (pl.col("booked_on") - pl.col("booked_on_other")).dt.total_days()
    found = pairs.filter(pl.col("sign") != pl.col("sign_other"), gap.is_between(0, WEDDING_DAYS))
    last = found.sort("user", "booked_on", "id", "id_other").unique("user", keep="last", maintain_order=True)
    if last.is_empty():
        return LIFE_EVENTS.to_frame()
    bookings_of = pl.concat_list("id_other", "id")
    return events(
        last.with_columns(name=pl.lit("")), "MARRIAGE", pl.col("booked_on"), "Hochzeit erkennbar", bookings_of, pl.lit(0.75)
    )
