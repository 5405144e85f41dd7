"""Checks that decide whether the bookings, tags and analyses of some buckets may be published.

Buckets are read one after the other, so that memory does not grow with their number.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from analytics import trees
from analytics.analyses.snapshot import visible_bookings
from warehouse.lake import tables
from warehouse.lake.buckets import span
from warehouse.lake.lake import Lake
from warehouse.postgres import watched
from warehouse.postgres.database import Database
from warehouse.stores import results

ADDING_UP = (
    "contracts",
    "contract_bookings",
    "cashflow",
    "disposable_money",
    "affordability",
    "credit_risk",
    "credit_risk_signals",
)
TREES = ("CATEGORIES", "BUSINESS_PARTNERS")
MAX_DRIFT_SHARE = 0.1
"""The largest share of bookings that may change their category in one run without a warning."""

MIN_SURE_CONFIDENCE = 0.6
"""Below this confidence the category of a booking counts as unsure."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check. `facts` are counts."""

    name: str
    passed: bool
    facts: Mapping[str, Any] = field(default_factory=dict)


def check_transactions(database: Database, lake: Lake, buckets: Sequence[int], count: int, name: str) -> list[CheckResult]:
    """Checks exported bookings: each is there once, belongs to a user of its bucket, and is not older than the published
    results.
    """
    users = lake.read(tables.USERS, buckets)
    bookings, twice, strangers = _sums(_count_bookings(lake, bucket) for bucket in buckets)
    with database.surveying() as operator:
        published = results.states(operator, name, span(buckets, count))
    older = users.join(published, on="user", suffix="_published").filter(pl.col("revision") < pl.col("revision_published")).height
    return [
        CheckResult("unique", twice == 0, {"bookings": bookings, "twice": twice}),
        CheckResult("of_known_users", strangers == 0, {"strangers": strangers}),
        CheckResult("revision_monotone", older == 0, {"users": users.height, "older": older}),
    ]


def check_tags(lake: Lake, buckets: Sequence[int], again: int, moved: int) -> list[CheckResult]:
    """Checks tags: every booking has them, categories fit the sign of the amount, and few bookings changed their category."""
    bookings, untagged, wrong = _sums(_count_tags(lake, bucket) for bucket in buckets)
    drift = moved / again if again else 0.0
    return [
        CheckResult("complete", untagged == 0, {"bookings": bookings, "without": untagged}),
        CheckResult("sign_rule", wrong == 0, {"wrong": wrong}),
        CheckResult(
            "drift",
            drift <= MAX_DRIFT_SHARE,
            {"share": round(drift, 4), "most": MAX_DRIFT_SHARE, "tagged_again": again, "moved": moved},
        ),
    ]


def store_certainty(database: Database, lake: Lake, buckets: Sequence[int]) -> None:
    """Stores how many bookings of each bucket have an unsure category, which tells whether the model still fits."""
    states = {}
    for bucket in buckets:
        confidence = lake.read(tables.TRANSACTION_TAGS, [bucket], ["category_confidence"])["category_confidence"]
        states[bucket] = (confidence.len(), int((confidence < MIN_SURE_CONFIDENCE).sum()))
    with database.operating() as operator:
        watched.put_tag_states(operator, states)


def check_analyses(lake: Lake, buckets: Sequence[int]) -> dict[str, CheckResult]:
    """Checks by analysis whether figures that must add up do so to the cent."""
    wrong_sums: Counter[str] = Counter()
    for bucket in buckets:
        wrong_sums.update(dict(_wrong_sums(lake, bucket)))
    return {name: CheckResult("adds_up", wrong == 0, {"wrong": wrong}) for name, wrong in wrong_sums.items()}


def _sums(counts: Iterable[tuple[int, int, int]]) -> tuple[int, int, int]:
    """The counts of all buckets, added up."""
    columns = zip((0, 0, 0), *counts, strict=True)
    first, second, third = (sum(column) for column in columns)
    return first, second, third


def _count_bookings(lake: Lake, bucket: int) -> tuple[int, int, int]:
    """The bookings of a bucket, those that are there twice, and those of users whom the bucket does not have."""
    bookings = lake.read(tables.TRANSACTIONS, [bucket], ["id", "user"])
    users = lake.read(tables.USERS, [bucket], ["user"])
    return bookings.height, bookings.height - bookings["id"].n_unique(), bookings.join(users, on="user", how="anti").height


def _count_tags(lake: Lake, bucket: int) -> tuple[int, int, int]:
    """The bookings of a bucket, those without tags and tags without booking, and those whose category has the wrong sign."""
    bookings = lake.read(tables.TRANSACTIONS, [bucket], ["id", "amount_cents"])
    tags = lake.read(tables.TRANSACTION_TAGS, [bucket], ["id", "category", "category_source"])
    tagged_bookings = bookings.hstack(tags.drop("id")) if bookings["id"].equals(tags["id"]) else bookings.join(tags, on="id")
    return bookings.height, bookings.height + tags.height - 2 * tagged_bookings.height, _count_wrong_signs(tagged_bookings)


def _wrong_sums(lake: Lake, bucket: int) -> Iterator[tuple[str, int]]:
    """Each analysis whose figures must add up, with the number of those in a bucket that do not."""
    read = {name: lake.read(tables.ANALYSES[name], [bucket]) for name in ADDING_UP}
    totals = read["contracts"].select(
        "user", contract="id", cents=pl.col("amount_total_regular") + pl.col("amount_total_non_regular")
    )
    yield "contracts", _count_differing_sums(totals, read["contract_bookings"].select("user", "contract", cents="amount_cents"))
    months = read["cashflow"].filter(pl.col("kind") == "M")
    booked = _booked_cents(lake, bucket)
    yield "cashflow", sum(_count_differing_sums(months.filter(tree=tree).select("user", "cents"), booked) for tree in TREES)
    left = read["disposable_money"].select(
        off=pl.col("expected_left") - pl.sum_horizontal("salary_latest", "cashflow", "expected_fixed", "expected_flex")
    )
    yield "disposable_money", left.filter(pl.col("off") != 0).height
    saved = pl.col("income") - pl.col("expenses")
    rest = pl.col("discretionary_for_irregular_luxuries") - pl.col("luxuries_irregular")
    wrong = (saved != rest) | (saved != pl.col("discretionary") - pl.col("luxuries"))
    yield "affordability", read["affordability"].filter(wrong).height
    scores = read["credit_risk"].select("user", cents="score")
    yield "credit_risk", _count_differing_sums(scores, read["credit_risk_signals"].select("user", cents="points"))


def _booked_cents(lake: Lake, bucket: int) -> pl.DataFrame:
    """The amounts of the analysed users of a bucket that count in analyses."""
    bookings = lake.read(tables.TRANSACTIONS, [bucket], ["user", "booked_on", "amount_cents", "currency", "pending"])
    as_of = lake.read(tables.ANALYSED, [bucket], ["user", "as_of"])
    return visible_bookings(bookings, as_of).select("user", cents="amount_cents")


def _count_differing_sums(totals: pl.DataFrame, parts: pl.DataFrame) -> int:
    """The number of groups whose parts do not add up to their total. Both frames have `cents`; all other columns of `totals` are
    the keys.
    """
    about = [name for name in totals.columns if name != "cents"]
    sums = [frame.group_by(about).agg(pl.sum("cents")).filter(pl.col("cents") != 0) for frame in (totals, parts)]
    both = sums[0].join(sums[1], on=about, how="full", suffix="_parts").fill_null(0)
    return both.filter(pl.col("cents") != pl.col("cents_parts")).height


def _count_wrong_signs(tagged_bookings: pl.DataFrame) -> int:
    """The number of bookings whose category does not allow their sign. Categories chosen by users are exempt: a bank may change
    the amount later.
    """
    kinds = (
        tagged_bookings.filter(pl.col("category_source") != "USER").group_by("category", sign=pl.col("amount_cents").sign()).len()
    )
    accepted = trees.categories_frame().select(category="system_name", accepts="accepts")
    wrong = (
        pl.col("accepts").is_null()
        | ((pl.col("accepts") == "+") & (pl.col("sign") < 0))
        | ((pl.col("accepts") == "-") & (pl.col("sign") > 0))
    )
    return int(kinds.join(accepted, on="category", how="left").filter(wrong)["len"].sum())
