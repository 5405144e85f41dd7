"""Tagging and analysing buckets: what the API would compute for each user, computed for all at once.

Several small buckets are worked on together: a call costs as much as fifty thousand bookings, however few it has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from analytics.analyses import suite
from analytics.frames import AS_OF, CHOICES, PRODUCTS, UNREAD_COLUMNS
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from pipelines.results.export import STATE
from pipelines.results.tags import compared
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.tables import (
    ANALYSED,
    ANALYSES,
    CATEGORY_CHOICES,
    CATEGORY_RULES,
    TRANSACTION_TAGS,
    TRANSACTIONS,
    USERS,
)
from warehouse.lake.tables import PRODUCTS as OWNED

KNOWLEDGE = "knowledge"


@dataclass(frozen=True)
class BucketTagging:
    """What tagging a bucket did. `again` are bookings that had tags before, `moves` how often which category became which."""

    users: int
    changed: int
    bookings: int
    again: int = 0
    moves: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class BucketAnalysis:
    """What analysing a bucket did: how many users there are, how many of them were analysed, and the rows of each table."""

    users: int
    changed: int
    rows: Mapping[str, int] = field(default_factory=dict)


class _Untagged(NamedTuple):
    """Of a bucket: how many users it has, those whose tags are not of now with their bookings, all tags, and those of now."""

    users: int
    changed: pl.DataFrame
    bookings: pl.DataFrame
    before: pl.DataFrame
    current: pl.DataFrame


class _Unanalysed(NamedTuple):
    """Of a bucket: whom to analyse, those whose analyses are not of now, and the others."""

    users: pl.DataFrame
    changed: pl.DataFrame
    kept: pl.DataFrame


def tags_unchanged(lake: Lake, buckets: Sequence[int], brain: Tagger) -> dict[int, BucketTagging]:
    """The buckets for which there is nothing to tag, found without reading rows."""
    same = [bucket for bucket in buckets if _about(lake, bucket) == _made_from(lake, bucket, brain)]
    return {bucket: BucketTagging(lake.rows(USERS, bucket), 0, lake.rows(TRANSACTION_TAGS, bucket)) for bucket in same}


def tag_buckets(lake: Lake, buckets: Sequence[int], brain: Tagger, *, everything: bool = False) -> dict[int, BucketTagging]:
    """Brings the tags of buckets to their bookings: those of users whose revision has changed, or all with other knowledge."""
    due = {bucket: _untagged(lake, bucket, brain, everything=everything) for bucket in buckets}
    new, begin, done = _tagged(lake, due, brain), 0, {}
    for bucket, (users, changed, bookings, before, current) in due.items():
        own = new[begin : begin + bookings.height]
        begin += bookings.height
        whole = pl.concat([current, own.select(current.columns)]).sort("user", maintain_order=True)
        lake.write(TRANSACTION_TAGS, bucket, whole, _made_from(lake, bucket, brain))
        done[bucket] = BucketTagging(users, changed.height, whole.height, *_moves(before, own))
    return done


def analyses_unchanged(lake: Lake, buckets: Sequence[int], version: str) -> dict[int, BucketAnalysis]:
    """The buckets for which there is nothing to analyse, found without reading rows."""
    same = [bucket for bucket in buckets if lake.about(ANALYSED, bucket) == _analysed_from(lake, bucket, version)]
    return {
        bucket: BucketAnalysis(
            lake.rows(ANALYSED, bucket), 0, {name: lake.rows(table, bucket) for name, table in ANALYSES.items()}
        )
        for bucket in same
    }


def analyse_buckets(lake: Lake, buckets: Sequence[int], version: str, *, everything: bool = False) -> dict[int, BucketAnalysis]:
    """Brings the analyses of buckets to their tags and days: those of users of whom something has changed, or all with another
    version. The table of who was analysed is written last: it vouches for the others.
    """
    due = {bucket: _unanalysed(lake, bucket, version, everything=everything) for bucket in sorted(buckets)}
    changed = pl.concat([left.changed for left in due.values()])
    given = _seen(lake, [bucket for bucket, left in due.items() if left.changed.height], changed)
    found = suite.analyse(*given, changed.select(AS_OF.names())) if changed.height else suite.empty_frames()
    rows: dict[int, dict[str, int]] = {bucket: {} for bucket in due}
    for name, table in ANALYSES.items():
        for bucket, own in by_bucket(found[name], {bucket: left.changed["user"] for bucket, left in due.items()}):
            rows[bucket][name] = _replace(lake, table, bucket, due[bucket].kept, own)
    for bucket, left in due.items():
        lake.write(ANALYSED, bucket, left.users, _analysed_from(lake, bucket, version))
    return {bucket: BucketAnalysis(left.users.height, left.changed.height, rows[bucket]) for bucket, left in due.items()}


def _unanalysed(lake: Lake, bucket: int, version: str, *, everything: bool) -> _Unanalysed:
    users = _to_analyse(lake, bucket)
    anew = everything or lake.about(ANALYSED, bucket).get(KNOWLEDGE) != version
    before = ANALYSED.schema.to_frame() if anew else lake.read(ANALYSED, [bucket])
    kept = users.join(before, on=ANALYSED.schema.names(), how="semi", maintain_order="left")
    return _Unanalysed(users, users.join(kept, on="user", how="anti", maintain_order="left"), kept)


def _to_analyse(lake: Lake, bucket: int) -> pl.DataFrame:
    """The users of a bucket who have tags of their current revision, and a day (the columns of `ANALYSED`)."""
    tagged = lake.read(TRANSACTION_TAGS, [bucket], ["user", "revision"]).unique()
    users = lake.read(USERS, [bucket]).filter(pl.col("as_of").is_not_null())
    return users.join(tagged, on=["user", "revision"], how="semi", maintain_order="left").select(ANALYSED.schema.names())


def by_bucket(frame: pl.DataFrame, users: Mapping[int, pl.Series]) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of the users of each bucket. They lie by user, and buckets are ranges of users, so that each has a slice."""
    end = 0
    for bucket, of_bucket in users.items():
        begin, end = end, end if of_bucket.is_empty() else frame["user"].search_sorted(str(of_bucket.max()), "right")
        yield bucket, frame[begin:end]


def _seen(lake: Lake, buckets: Sequence[int], users: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tagged bookings of some users of these buckets, and their products."""
    bookings, tags, owned = (
        lake.read(table, buckets, [name for name in table.schema if name not in UNREAD_COLUMNS]).join(
            users, on="user", how="semi", maintain_order="left"
        )
        for table in (TRANSACTIONS, TRANSACTION_TAGS, OWNED)
    )
    return bookings.join(tags.drop("user", "product"), on="id", how="inner", maintain_order="left"), owned


def _replace(lake: Lake, table: LakeTable, bucket: int, kept: pl.DataFrame, new: pl.DataFrame) -> int:
    """Writes the rows of users who were analysed beside those of users who were not; answers how many there are."""
    if not kept.is_empty():
        old = lake.read(table, [bucket]).join(kept, on="user", how="semi", maintain_order="left")
        new = pl.concat([old, new]).sort("user", maintain_order=True)
    return lake.write(table, bucket, new, {}).rows


def _analysed_from(lake: Lake, bucket: int, version: str) -> dict[str, str]:
    """What analyses made now would say about themselves."""
    return {KNOWLEDGE: version, **lake.about(USERS, bucket)}


def _untagged(lake: Lake, bucket: int, brain: Tagger, *, everything: bool) -> _Untagged:
    users, bookings, before = (lake.read(table, [bucket]) for table in (USERS, TRANSACTIONS, TRANSACTION_TAGS))
    booked = users.join(bookings, on="user", how="semi", maintain_order="left")
    same_knowledge = not everything and _about(lake, bucket).get(KNOWLEDGE) == brain.version
    current = (
        before.join(booked, on=["user", "revision"], how="semi", maintain_order="left") if same_knowledge else before.clear()
    )
    changed = booked.join(current, on="user", how="anti", maintain_order="left")
    theirs = bookings.join(changed, on="user", how="semi", maintain_order="left")
    return _Untagged(users.height, changed, theirs, before, current)


def _tagged(lake: Lake, due: Mapping[int, _Untagged], brain: Tagger) -> pl.DataFrame:
    """The tags of the bookings that are due, one bucket's after the other's, with the revision that they are made from."""
    users = pl.concat([left.changed for left in due.values()])
    buckets = [bucket for bucket, left in due.items() if left.changed.height]
    tagged = tag.tag(
        pl.concat([left.bookings for left in due.values()]),
        lake.read(OWNED, buckets).select(PRODUCTS.names()).join(users, on="user", how="semi"),
        lake.read(CATEGORY_CHOICES, buckets).select(CHOICES.names()),
        compared(lake.read(CATEGORY_RULES, buckets)),
        brain,
    )
    return tagged.join(users.select("user", "revision"), on="user", how="left", maintain_order="left")


def _moves(before: pl.DataFrame, new: pl.DataFrame) -> tuple[int, dict[tuple[str, str], int]]:
    """How many bookings were tagged before as well, and how often which category became which one."""
    both = new.select("id", "category").join(before.select("id", "category"), on="id", suffix="_before")
    moved = both.filter(pl.col("category") != pl.col("category_before")).group_by("category_before", "category").len()
    return both.height, {(then, now): count for then, now, count in moved.iter_rows()}


def _made_from(lake: Lake, bucket: int, brain: Tagger) -> dict[str, str]:
    """What tags made now would say about themselves."""
    return {KNOWLEDGE: brain.version, STATE: lake.about(USERS, bucket).get(STATE, "")}


def _about(lake: Lake, bucket: int) -> dict[str, str]:
    """What the tags of a bucket were made from."""
    return lake.about(TRANSACTION_TAGS, bucket)
