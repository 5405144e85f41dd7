"""Whether the results of some buckets may be published: what must hold of bookings, tags and analyses, whoever made them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from analytics import trees
from analytics.analyses.snapshot import visible_bookings
from warehouse.lake import tables
from warehouse.lake.buckets import span
from warehouse.lake.lake import Lake
from warehouse.postgres.database import Database
from warehouse.stores import results

ADDING_UP = ("contracts", "contract_bookings", "cashflow", "disposable_money", "affordability")
TREES = ("CATEGORIES", "BUSINESS_PARTNERS")
MOST_DRIFT = 0.1
"""So large a share of bookings may change its category in one run before somebody should look."""


@dataclass(frozen=True)
class CheckResult:
    """What a check found. `facts` are counts."""

    name: str
    passed: bool
    facts: Mapping[str, Any] = field(default_factory=dict)


def of_transactions(database: Database, lake: Lake, buckets: Sequence[int], count: int, name: str) -> list[CheckResult]:
    """Of what was exported: each booking once, of a user of this bucket, and no user older than what is published."""
    bookings = lake.read(tables.TRANSACTIONS, buckets, ["id", "user"])
    users = lake.read(tables.USERS, buckets)
    twice = bookings.height - bookings["id"].n_unique()
    strangers = bookings.join(users, on="user", how="anti").height
    with database.surveying() as operator:
        published = results.states(operator, name, span(buckets, count))
    older = users.join(published, on="user", suffix="_published").filter(pl.col("revision") < pl.col("revision_published")).height
    return [
        CheckResult("unique", twice == 0, {"bookings": bookings.height, "twice": twice}),
        CheckResult("of_known_users", strangers == 0, {"strangers": strangers}),
        CheckResult("revision_monotone", older == 0, {"users": users.height, "older": older}),
    ]


def of_tags(lake: Lake, buckets: Sequence[int], again: int, moved: int) -> list[CheckResult]:
    """Of tags: every booking has them, categories fit the sign of the amount, and of those tagged again not too many moved."""
    bookings = lake.read(tables.TRANSACTIONS, buckets, ["id", "amount_cents"])
    tags = lake.read(tables.TRANSACTION_TAGS, buckets, ["id", "category", "category_source"])
    told = bookings.hstack(tags.drop("id")) if bookings["id"].equals(tags["id"]) else bookings.join(tags, on="id")
    untagged = bookings.height + tags.height - 2 * told.height
    drift, wrong = moved / again if again else 0.0, _against_the_sign(told)
    return [
        CheckResult("complete", untagged == 0, {"bookings": bookings.height, "without": untagged}),
        CheckResult("sign_rule", wrong == 0, {"wrong": wrong}),
        CheckResult(
            "drift", drift <= MOST_DRIFT, {"share": round(drift, 4), "most": MOST_DRIFT, "tagged_again": again, "moved": moved}
        ),
    ]


def of_analyses(lake: Lake, buckets: Sequence[int]) -> dict[str, CheckResult]:
    """Of analyses, by their names: what adds up to something else does so to the cent."""
    return {name: CheckResult("adds_up", wrong == 0, {"wrong": wrong}) for name, wrong in _sums(lake, buckets)}


def _sums(lake: Lake, buckets: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Each analysis whose figures add up to others, and how often they do not."""
    read = {name: lake.read(tables.ANALYSES[name], buckets) for name in ADDING_UP}
    totals = read["contracts"].select(
        "user", contract="id", cents=pl.col("amount_total_regular") + pl.col("amount_total_non_regular")
    )
    yield "contracts", _differing(totals, read["contract_bookings"].select("user", "contract", cents="amount_cents"))
    months = read["cashflow"].filter(pl.col("kind") == "M")
    booked = _booked(lake, buckets)
    yield "cashflow", sum(_differing(months.filter(tree=tree).select("user", "cents"), booked) for tree in TREES)
    left = read["disposable_money"].select(
        off=pl.col("expected_left") - pl.sum_horizontal("salary_latest", "cashflow", "expected_fixed", "expected_flex")
    )
    yield "disposable_money", left.filter(pl.col("off") != 0).height
    saved = pl.col("income") - pl.col("expenses")
    rest = pl.col("discretionary_for_irregular_luxuries") - pl.col("luxuries_irregular")
    wrong = (saved != rest) | (saved != pl.col("discretionary") - pl.col("luxuries"))
    yield "affordability", read["affordability"].filter(wrong).height


def _booked(lake: Lake, buckets: Sequence[int]) -> pl.DataFrame:
    """What counts of the bookings of those who were analysed."""
    bookings = lake.read(tables.TRANSACTIONS, buckets, ["user", "booked_on", "amount_cents", "currency", "pending"])
    as_of = lake.read(tables.ANALYSED, buckets, ["user", "as_of"])
    return visible_bookings(bookings, as_of).select("user", cents="amount_cents")


def _differing(said: pl.DataFrame, parts: pl.DataFrame) -> int:
    """How many sums of parts are not what was said. Both have cents, and what they are about."""
    about = [name for name in said.columns if name != "cents"]
    sums = [frame.group_by(about).agg(pl.sum("cents")).filter(pl.col("cents") != 0) for frame in (said, parts)]
    both = sums[0].join(sums[1], on=about, how="full", suffix="_parts").fill_null(0)
    return both.filter(pl.col("cents") != pl.col("cents_parts")).height


def _against_the_sign(told: pl.DataFrame) -> int:
    """How many bookings have a category that their sign forbids; what a user chose stays, also if the bank changes the amount."""
    kinds = told.filter(pl.col("category_source") != "USER").group_by("category", sign=pl.col("amount_cents").sign()).len()
    accepted = trees.categories_frame().select(category="system_name", accepts="accepts")
    wrong = (
        pl.col("accepts").is_null()
        | ((pl.col("accepts") == "+") & (pl.col("sign") < 0))
        | ((pl.col("accepts") == "-") & (pl.col("sign") > 0))
    )
    return int(kinds.join(accepted, on="category", how="left").filter(wrong)["len"].sum())
