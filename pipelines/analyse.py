"""Tagging a bucket, and publishing its tags: what the API would compute for each user, computed for all at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

import polars as pl

from analytics import tagging
from analytics.frames import CHOICES, PRODUCTS
from analytics.tagging import Brain
from pipelines.tags import NAME, compared, encoded
from warehouse import lake_tables, results
from warehouse.buckets import bounds
from warehouse.database import Database
from warehouse.errors import NotFound
from warehouse.lake import Lake

KNOWLEDGE = "knowledge"
AT_ONCE = 500
"""Users whose results go to PostgreSQL in one statement."""


@dataclass(frozen=True)
class Tagged:
    """What tagging a bucket did. `before` and `after` count the categories of those users that were tagged again."""

    users: int
    changed: int
    bookings: int
    before: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """What publishing a bucket did."""

    users: int
    changed: int


def tag_bucket(lake: Lake, bucket: int, brain: Brain, *, everything: bool = False) -> Tagged:
    """Brings the tags of a bucket to its bookings: those of users whose revision has changed, or all with other knowledge."""
    booked = lake.read(lake_tables.TRANSACTIONS, [bucket], ["user"]).unique()
    users = lake.read(lake_tables.USERS, [bucket]).join(booked, on="user", how="semi", maintain_order="left")
    before = _before(lake, bucket, brain, everything=everything)
    current = before.join(users, on=["user", "revision"], how="semi")
    changed = users.join(current.select("user").unique(), on="user", how="anti")
    if changed.is_empty() and current.height == before.height and _knowledge(lake, bucket) == brain.version:
        return Tagged(users.height, 0, current.height)
    bookings = lake.read(lake_tables.TRANSACTIONS, [bucket]).join(changed, on="user", how="semi", maintain_order="left")
    tagged = tagging.tag(
        bookings,
        lake.read(lake_tables.PRODUCTS, [bucket]).select(PRODUCTS.names()).join(changed, on="user", how="semi"),
        lake.read(lake_tables.CATEGORY_CHOICES, [bucket]).select(CHOICES.names()),
        compared(lake.read(lake_tables.CATEGORY_RULES, [bucket])),
        brain,
    )
    new = tagged.join(users.select("user", "revision"), on="user", how="left", maintain_order="left")
    whole = pl.concat([current, new.select(current.columns)]).sort("user", maintain_order=True)
    counted = _counts(lake, bucket, new)
    lake.write(lake_tables.TRANSACTION_TAGS, bucket, whole, {KNOWLEDGE: brain.version})
    return Tagged(users.height, changed.height, whole.height, *counted)


def publish_bucket(database: Database, lake: Lake, bucket: int, count: int) -> Published:
    """Makes the tags of a bucket those that the API serves: of all its users in one transaction, or of none."""
    knowledge = _knowledge(lake, bucket)
    tagged = lake.read(lake_tables.TRANSACTION_TAGS, [bucket])
    states = tagged.select("user", "revision").unique("user", maintain_order=True).with_columns(knowledge=pl.lit(knowledge))
    with database.operating() as operator:
        published = results.states(operator, NAME, bounds(bucket, count))
        changed = states.join(published, on=["user", "revision", "knowledge"], how="anti", maintain_order="left")
        of_users = tagged.join(changed.select("user"), on="user", how="semi", maintain_order="left")
        new = list(_new(of_users))
        written = sum(results.put(operator, NAME, knowledge, new[at : at + AT_ONCE]) for at in range(0, len(new), AT_ONCE))
    return Published(states.height, written)


def _new(tagged: pl.DataFrame) -> Iterator[results.New]:
    for (user, revision), of_user in tagged.group_by("user", "revision", maintain_order=True):
        yield results.New(UUID(str(user)), int(str(revision)), encoded(of_user))


def _counts(lake: Lake, bucket: int, new: pl.DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    """How often each category was given to bookings that were there before, then and now."""
    old = lake.read(lake_tables.TRANSACTION_TAGS, [bucket], ["id", "category"])
    both = new.select("id", "category").join(old, on="id", suffix="_before")
    then, now = (both[name].value_counts() for name in ("category_before", "category"))
    return dict(then.iter_rows()), dict(now.iter_rows())


def _before(lake: Lake, bucket: int, brain: Brain, *, everything: bool) -> pl.DataFrame:
    """The tags that are there and made with the same knowledge."""
    if everything or _knowledge(lake, bucket) != brain.version:
        return lake_tables.TRANSACTION_TAGS.schema.to_frame()
    return lake.read(lake_tables.TRANSACTION_TAGS, [bucket])


def _knowledge(lake: Lake, bucket: int) -> str:
    try:
        return lake.about(lake_tables.TRANSACTION_TAGS, bucket).get(KNOWLEDGE, "")
    except NotFound:
        return ""
