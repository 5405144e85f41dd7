"""Whether the results of some buckets may be published: what must hold of bookings and tags, whoever made them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from analytics import trees
from warehouse import lake_tables, results
from warehouse.buckets import span
from warehouse.database import Database
from warehouse.lake import Lake

MOST_DRIFT = 0.1
"""So large a share of bookings may change its category in one run before somebody should look."""


@dataclass(frozen=True)
class Finding:
    """What a check found. `facts` are counts."""

    name: str
    passed: bool
    facts: Mapping[str, Any] = field(default_factory=dict)


def of_transactions(database: Database, lake: Lake, buckets: Sequence[int], count: int, name: str) -> list[Finding]:
    """Of what was exported: each booking once, of a user of this bucket, and no user older than what is published."""
    bookings = lake.read(lake_tables.TRANSACTIONS, buckets, ["id", "user"])
    users = lake.read(lake_tables.USERS, buckets)
    twice = bookings.height - bookings["id"].n_unique()
    strangers = bookings.join(users, on="user", how="anti").height
    with database.surveying() as operator:
        published = results.states(operator, name, span(buckets, count))
    older = users.join(published, on="user", suffix="_published").filter(pl.col("revision") < pl.col("revision_published")).height
    return [
        Finding("unique", twice == 0, {"bookings": bookings.height, "twice": twice}),
        Finding("of_known_users", strangers == 0, {"strangers": strangers}),
        Finding("revision_monotone", older == 0, {"users": users.height, "older": older}),
    ]


def of_tags(lake: Lake, buckets: Sequence[int], before: Mapping[str, int], after: Mapping[str, int]) -> list[Finding]:
    """Of tags: every booking has them, categories fit the sign of the amount, and not too many have changed."""
    bookings = lake.read(lake_tables.TRANSACTIONS, buckets, ["id", "amount_cents"])
    tags = lake.read(lake_tables.TRANSACTION_TAGS, buckets, ["id", "category", "category_source"])
    told = bookings.hstack(tags.drop("id")) if bookings["id"].equals(tags["id"]) else bookings.join(tags, on="id")
    untagged = bookings.height + tags.height - 2 * told.height
    drift, wrong = moved(before, after), _against_the_sign(told)
    return [
        Finding("complete", untagged == 0, {"bookings": bookings.height, "without": untagged}),
        Finding("sign_rule", wrong == 0, {"wrong": wrong}),
        Finding("drift", drift <= MOST_DRIFT, {"share": round(drift, 4), "most": MOST_DRIFT}),
    ]


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


def moved(before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """The share of bookings that would have to change their category to get from one to the other; 0 if there was nothing."""
    whole, now = sum(before.values()), sum(after.values())
    if not whole or not now:
        return 0.0
    return sum(abs(before.get(name, 0) / whole - after.get(name, 0) / now) for name in {*before, *after}) / 2
