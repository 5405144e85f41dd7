"""Tagging a bucket, and publishing its tags: what the API would compute for each user, computed for all at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import polars as pl

from analytics import tagging
from analytics.frames import CHOICES, PRODUCTS
from analytics.tagging import Brain
from pipelines.tags import NAME, compared, encoded
from warehouse import results
from warehouse.buckets import Range, bounds, bucket_of, span
from warehouse.database import Database, Owner
from warehouse.lake import Lake
from warehouse.lake_tables import CATEGORY_CHOICES, CATEGORY_RULES, TRANSACTION_TAGS, TRANSACTIONS, USERS
from warehouse.lake_tables import PRODUCTS as OWNED

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


def tags_unchanged(lake: Lake, buckets: Sequence[int], brain: Brain) -> dict[int, Tagged]:
    """The buckets for which there is nothing to tag, found without reading rows."""
    same = [bucket for bucket in buckets if _about(lake, bucket) == _made_from(lake, bucket, brain)]
    return {bucket: Tagged(lake.rows(USERS, bucket), 0, lake.rows(TRANSACTION_TAGS, bucket)) for bucket in same}


def tag_bucket(lake: Lake, bucket: int, brain: Brain, *, everything: bool = False) -> Tagged:
    """Brings the tags of a bucket to its bookings: those of users whose revision has changed, or all with other knowledge."""
    users, bookings, before = (lake.read(table, [bucket]) for table in (USERS, TRANSACTIONS, TRANSACTION_TAGS))
    booked = users.join(bookings, on="user", how="semi", maintain_order="left")
    same_knowledge = not everything and _about(lake, bucket).get(KNOWLEDGE) == brain.version
    current = (
        before.join(booked, on=["user", "revision"], how="semi", maintain_order="left") if same_knowledge else before.clear()
    )
    changed = booked.join(current, on="user", how="anti", maintain_order="left")
    new = _tagged(lake, bucket, bookings.join(changed, on="user", how="semi", maintain_order="left"), changed, brain)
    whole = pl.concat([current, new.select(current.columns)]).sort("user", maintain_order=True)
    lake.write(TRANSACTION_TAGS, bucket, whole, _made_from(lake, bucket, brain))
    return Tagged(users.height, changed.height, whole.height, *_counts(before, new))


def results_unchanged(database: Database, lake: Lake, buckets: Sequence[int], count: int) -> dict[int, Published]:
    """The buckets for which there is nothing to publish, found with one look at all of them."""
    knowledge = {about[KNOWLEDGE] for bucket in buckets if (about := _about(lake, bucket))}
    if len(knowledge) > 1:  # a backfill is on its way
        return {}
    users = lake.read(TRANSACTION_TAGS, buckets, ["user", "revision"]).unique()
    with database.operating() as operator:
        unpublished = _unpublished(operator, users, "".join(knowledge), span(buckets, count))
    changed = {bucket_of(UUID(user), count) for user in unpublished["user"]}
    return {bucket: Published(lake.rows(USERS, bucket), 0) for bucket in buckets if bucket not in changed}


def publish_bucket(database: Database, lake: Lake, bucket: int, count: int) -> Published:
    """Makes the tags of a bucket those that the API serves: of all its users in one transaction, or of none."""
    tagged, knowledge = lake.read(TRANSACTION_TAGS, [bucket]), _about(lake, bucket).get(KNOWLEDGE, "")
    users = tagged.select("user", "revision").unique("user", maintain_order=True)
    with database.operating() as operator:
        changed = _unpublished(operator, users, knowledge, bounds(bucket, count))
        new = list(_new(tagged.join(changed, on="user", how="semi", maintain_order="left")))
        written = sum(results.put(operator, NAME, knowledge, new[at : at + AT_ONCE]) for at in range(0, len(new), AT_ONCE))
    return Published(lake.rows(USERS, bucket), written)


def _unpublished(operator: Owner, users: pl.DataFrame, knowledge: str, ids: Range) -> pl.DataFrame:
    """Of users with the revisions of their tags, those of whom something else is served."""
    served = results.states(operator, NAME, ids).filter(knowledge=knowledge)
    return users.join(served, on=["user", "revision"], how="anti", maintain_order="left")


def _tagged(lake: Lake, bucket: int, bookings: pl.DataFrame, users: pl.DataFrame, brain: Brain) -> pl.DataFrame:
    """The tags of some users of a bucket, with the revision that they are made from."""
    tagged = tagging.tag(
        bookings,
        lake.read(OWNED, [bucket]).select(PRODUCTS.names()).join(users, on="user", how="semi"),
        lake.read(CATEGORY_CHOICES, [bucket]).select(CHOICES.names()),
        compared(lake.read(CATEGORY_RULES, [bucket])),
        brain,
    )
    return tagged.join(users.select("user", "revision"), on="user", how="left", maintain_order="left")


def _new(tagged: pl.DataFrame) -> Iterator[results.New]:
    for (user, revision), of_user in tagged.group_by("user", "revision", maintain_order=True):
        yield results.New(UUID(str(user)), int(str(revision)), encoded(of_user))


def _counts(before: pl.DataFrame, new: pl.DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    """How often each category was given to bookings that were there before, then and now."""
    both = new.select("id", "category").join(before.select("id", "category"), on="id", suffix="_before")
    then, now = (both[name].value_counts() for name in ("category_before", "category"))
    return dict(then.iter_rows()), dict(now.iter_rows())


def _made_from(lake: Lake, bucket: int, brain: Brain) -> dict[str, str]:
    """What tags made now would say about themselves."""
    return {KNOWLEDGE: brain.version, **lake.about(USERS, bucket)}


def _about(lake: Lake, bucket: int) -> dict[str, str]:
    """What the tags of a bucket were made from."""
    return lake.about(TRANSACTION_TAGS, bucket)
