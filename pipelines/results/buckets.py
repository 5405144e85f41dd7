"""Tagging and analysing buckets: the results that the API would compute for one user, computed for many users at once.

Several small buckets are processed in one call, because the fixed cost of a call equals that of fifty thousand bookings.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from analytics.analyses import suite
from analytics.frames import AS_OF, CHOICES, PRODUCTS, UNREAD_COLUMNS
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from pipelines.results.export import STATE
from pipelines.results.tags import NO_OWN_TAGGERS, OwnTaggers, with_name_keys
from warehouse.errors import BackfillNeeded
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import ALL_USERS, LakeTable, UserRange
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

KNOWLEDGE, OWN_KNOWLEDGE = "knowledge", "own_knowledge"
"""The version that results of a bucket were computed by; and, where tenants have models of their own, their versions as JSON."""


NO_VERSIONS: Mapping[str, str] = {}


class Versions(NamedTuple):
    """The versions that decide results: of all tenants, and of those with a model of their own."""

    shared: str
    own: Mapping[str, str]

    @classmethod
    def of(cls, about: Mapping[str, str]) -> "Versions":
        """The versions in the metadata of a stored table."""
        return cls(about.get(KNOWLEDGE, ""), json.loads(about.get(OWN_KNOWLEDGE, "{}")))

    def about(self) -> dict[str, str]:
        """The metadata of a table that is stored with these versions."""
        return {KNOWLEDGE: self.shared, **({OWN_KNOWLEDGE: json.dumps(dict(sorted(self.own.items())))} if self.own else {})}

    def of_tenant(self, tenant: str) -> str:
        """The version of a tenant."""
        return self.own.get(tenant, self.shared)

    def of_users(self, users: pl.DataFrame) -> pl.Series:
        """The version for each user of a frame with the column `tenant`."""
        return users.select(pl.col("tenant").replace_strict(self.own, default=self.shared, return_dtype=pl.String)).to_series()


@dataclass(frozen=True)
class BucketTagging:
    """Counts of one tagged bucket. `again` counts bookings that had tags before, `moves` the changes from one category to
    another.
    """

    users: int
    changed: int
    bookings: int
    again: int = 0
    moves: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class BucketAnalysis:
    """Counts of one analysed bucket: all users, the users who were analysed now, and the rows of each table."""

    users: int
    changed: int
    rows: Mapping[str, int] = field(default_factory=dict)


class _DueTaggings(NamedTuple):
    """The number of users of a bucket, the users whose tags are outdated, their bookings, all stored tags, and those still
    current.
    """

    users: int
    changed: pl.DataFrame
    bookings: pl.DataFrame
    before: pl.DataFrame
    current: pl.DataFrame


class _DueAnalyses(NamedTuple):
    """The users of a bucket who can be analysed, those whose analyses are outdated, and the others."""

    users: pl.DataFrame
    changed: pl.DataFrame
    kept: pl.DataFrame


def unchanged_taggings(
    lake: Lake, buckets: Sequence[int], tagger: Tagger, own: OwnTaggers = NO_OWN_TAGGERS
) -> dict[int, BucketTagging]:
    """The buckets in which nothing must be tagged, found without reading rows."""
    versions = Versions(tagger.version, own.versions)
    same = [bucket for bucket in buckets if _stored_tagging_source(lake, bucket) == _tagging_source(lake, bucket, versions)]
    return {bucket: BucketTagging(lake.rows(USERS, bucket), 0, lake.rows(TRANSACTION_TAGS, bucket)) for bucket in same}


def tag_buckets(
    lake: Lake, buckets: Sequence[int], tagger: Tagger, own: OwnTaggers = NO_OWN_TAGGERS, *, everything: bool = False
) -> dict[int, BucketTagging]:
    """Updates the tags of buckets: of users whose revision has changed, or whose model or knowledge has."""
    versions = Versions(tagger.version, own.versions)
    due_taggings = {bucket: _due_taggings(lake, bucket, versions, everything=everything) for bucket in buckets}
    new_tags, begin, taggings = _tag_due(lake, due_taggings, tagger, own), 0, {}
    for bucket, (users, changed, bookings, before, current) in due_taggings.items():
        bucket_tags = new_tags[begin : begin + bookings.height]
        begin += bookings.height
        all_tags = _all_tags(current, bucket_tags)
        lake.write(TRANSACTION_TAGS, bucket, all_tags, _tagging_source(lake, bucket, versions))
        taggings[bucket] = BucketTagging(users, changed.height, all_tags.height, *_category_moves(before, bucket_tags))
    return taggings


def tag_in_pieces(
    lake: Lake,
    bucket: int,
    tagger: Tagger,
    own: OwnTaggers = NO_OWN_TAGGERS,
    *,
    max_bookings: int,
    everything: bool = False,
) -> BucketTagging:
    """The same for one bucket, one range of users after the other, so that its memory does not grow with the bucket."""
    versions, taggings = Versions(tagger.version, own.versions), []
    with lake.writing(TRANSACTION_TAGS, bucket) as writer:
        for users in lake.user_ranges(TRANSACTIONS, bucket, max_bookings):
            due = _due_taggings(lake, bucket, versions, everything=everything, users=users)
            new_tags = _tag_due(lake, {bucket: due}, tagger, own)
            bookings = writer.add(_all_tags(due.current, new_tags))
            taggings.append(BucketTagging(due.users, due.changed.height, bookings, *_category_moves(due.before, new_tags)))
        writer.finish(_tagging_source(lake, bucket, versions))
    return _sum_of(taggings)


def _sum_of(taggings: Sequence[BucketTagging]) -> BucketTagging:
    """The counts of a bucket from those of its pieces."""
    users, changed, bookings, again = (
        sum(getattr(tagging, name) for tagging in taggings) for name in ("users", "changed", "bookings", "again")
    )
    moves = sum((Counter(dict(tagging.moves)) for tagging in taggings), Counter[tuple[str, str]]())
    return BucketTagging(users, changed, bookings, again, dict(moves))


def _all_tags(current: pl.DataFrame, new_tags: pl.DataFrame) -> pl.DataFrame:
    """Tags that stay and new ones, sorted by user."""
    return pl.concat([current, new_tags.select(current.columns)]).sort("user", maintain_order=True)


def unchanged_analyses(
    lake: Lake, buckets: Sequence[int], version: str, own_versions: Mapping[str, str] = NO_VERSIONS
) -> dict[int, BucketAnalysis]:
    """The buckets in which nothing must be analysed, found without reading rows."""
    versions = Versions(version, own_versions)
    same = [bucket for bucket in buckets if lake.about(ANALYSED, bucket) == _analysis_source(lake, bucket, versions)]
    return {
        bucket: BucketAnalysis(
            lake.rows(ANALYSED, bucket), 0, {name: lake.rows(table, bucket) for name, table in ANALYSES.items()}
        )
        for bucket in same
    }


def analyse_buckets(
    lake: Lake,
    buckets: Sequence[int],
    version: str,
    own_versions: Mapping[str, str] = NO_VERSIONS,
    *,
    everything: bool = False,
) -> dict[int, BucketAnalysis]:
    """Updates the analyses of buckets: of users whose revision or day has changed, or whose version has.

    `ANALYSED` is written last: a user counts as analysed only once all other tables are written.
    """
    versions = Versions(version, own_versions)
    due_analyses = {bucket: _due_analyses(lake, bucket, versions, everything=everything) for bucket in sorted(buckets)}
    changed = pl.concat([bucket_due.changed for bucket_due in due_analyses.values()])
    frames = _analyse(lake, [bucket for bucket, bucket_due in due_analyses.items() if bucket_due.changed.height], changed)
    rows: dict[int, dict[str, int]] = {bucket: {} for bucket in due_analyses}
    for name, table in ANALYSES.items():
        for bucket, own in by_bucket(
            frames[name], {bucket: bucket_due.changed["user"] for bucket, bucket_due in due_analyses.items()}
        ):
            all_rows = _with_kept_rows(lake, table, bucket, due_analyses[bucket].kept, own)
            rows[bucket][name] = lake.write(table, bucket, all_rows, {}).rows
    for bucket, bucket_due in due_analyses.items():
        lake.write(ANALYSED, bucket, bucket_due.users, _analysis_source(lake, bucket, versions))
    return {
        bucket: BucketAnalysis(bucket_due.users.height, bucket_due.changed.height, rows[bucket])
        for bucket, bucket_due in due_analyses.items()
    }


def analyse_in_pieces(
    lake: Lake,
    bucket: int,
    version: str,
    own_versions: Mapping[str, str] = NO_VERSIONS,
    *,
    max_bookings: int,
    everything: bool = False,
) -> BucketAnalysis:
    """The same for one bucket, one range of users after the other, so that its memory does not grow with the bucket."""
    versions, changed, rows = Versions(version, own_versions), 0, dict.fromkeys(ANALYSES, 0)
    with ExitStack() as stack:
        writers = {name: stack.enter_context(lake.writing(table, bucket)) for name, table in ANALYSES.items()}
        analysed = stack.enter_context(lake.writing(ANALYSED, bucket))
        all_users = 0
        for users in lake.user_ranges(TRANSACTIONS, bucket, max_bookings):
            due = _due_analyses(lake, bucket, versions, everything=everything, users=users)
            frames = _analyse(lake, [bucket], due.changed, users)
            for name, table in ANALYSES.items():
                rows[name] += writers[name].add(_with_kept_rows(lake, table, bucket, due.kept, frames[name], users))
            all_users += analysed.add(due.users)
            changed += due.changed.height
        for writer in writers.values():
            writer.finish({})
        analysed.finish(_analysis_source(lake, bucket, versions))
    return BucketAnalysis(all_users, changed, rows)


def _due_analyses(lake: Lake, bucket: int, versions: Versions, *, everything: bool, users: UserRange = ALL_USERS) -> _DueAnalyses:
    analysable_users = _analysable_users(lake, bucket, users)
    all_users = analysable_users.select(ANALYSED.schema.names())
    current_users = _users_of_same_version(analysable_users, Versions.of(lake.about(ANALYSED, bucket)), versions)
    anew = everything or current_users.is_empty()
    before = ANALYSED.schema.to_frame() if anew else lake.read(ANALYSED, [bucket], users=users)
    columns = all_users.columns
    unchanged_users = current_users.select(columns).join(before, on=columns, how="semi", maintain_order="left")
    changed = all_users.join(unchanged_users, on="user", how="anti", maintain_order="left")
    return _DueAnalyses(all_users, changed, unchanged_users)


def _analysable_users(lake: Lake, bucket: int, users: UserRange) -> pl.DataFrame:
    """The users of a bucket (`USERS`) who have tags of their current revision and a day to analyse."""
    tagged = lake.read(TRANSACTION_TAGS, [bucket], ["user", "revision"], users).unique()
    dated_users = lake.read(USERS, [bucket], users=users).filter(pl.col("as_of").is_not_null())
    return dated_users.join(tagged, on=["user", "revision"], how="semi", maintain_order="left")


def _users_of_same_version(users: pl.DataFrame, stored: Versions, current: Versions) -> pl.DataFrame:
    """The users (`USERS`) whose stored results are of the version that is current for their tenant."""
    return users.filter(stored.of_users(users) == current.of_users(users))


def by_bucket(frame: pl.DataFrame, users: Mapping[int, pl.Series]) -> Iterator[tuple[int, pl.DataFrame]]:
    """Each bucket with the rows of its users, as a slice: rows are sorted by user, and a bucket is a range of user ids."""
    end = 0
    for bucket, of_bucket in users.items():
        begin, end = end, end if of_bucket.is_empty() else frame["user"].search_sorted(str(of_bucket.max()), "right")
        yield bucket, frame[begin:end]


def _analyse(
    lake: Lake, buckets: Sequence[int], changed: pl.DataFrame, users: UserRange = ALL_USERS
) -> Mapping[str, pl.DataFrame]:
    """The results of all analyses of these users."""
    if changed.is_empty():
        return suite.empty_frames()
    return suite.analyse(*_analysis_inputs(lake, buckets, changed, users), changed.select(AS_OF.names()))


def _analysis_inputs(
    lake: Lake, buckets: Sequence[int], changed: pl.DataFrame, users: UserRange
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tagged bookings and the products of some users of these buckets."""
    bookings, tags, owned = (
        lake.read(table, buckets, [name for name in table.schema if name not in UNREAD_COLUMNS], users).join(
            changed, on="user", how="semi", maintain_order="left"
        )
        for table in (TRANSACTIONS, TRANSACTION_TAGS, OWNED)
    )
    return bookings.join(tags.drop("user", "product"), on="id", how="inner", maintain_order="left"), owned


def _with_kept_rows(
    lake: Lake, table: LakeTable, bucket: int, unchanged_users: pl.DataFrame, new: pl.DataFrame, users: UserRange = ALL_USERS
) -> pl.DataFrame:
    """The new rows together with the stored rows of unchanged users."""
    if unchanged_users.is_empty():
        return new
    old = lake.read(table, [bucket], users=users).join(unchanged_users, on="user", how="semi", maintain_order="left")
    return pl.concat([old, new]).sort("user", maintain_order=True)


def _analysis_source(lake: Lake, bucket: int, versions: Versions) -> dict[str, str]:
    """The metadata of analyses that are computed now: a bucket whose stored metadata are equal is up to date."""
    return {**versions.about(), **lake.about(USERS, bucket)}


def _due_taggings(lake: Lake, bucket: int, versions: Versions, *, everything: bool, users: UserRange = ALL_USERS) -> _DueTaggings:
    all_users, bookings = (lake.read(table, [bucket], users=users) for table in (USERS, TRANSACTIONS))
    before = _stored_tags(lake, bucket, users)
    users_with_bookings = all_users.join(bookings, on="user", how="semi", maintain_order="left")
    current_users = _users_of_same_version(users_with_bookings, Versions.of(_stored_tagging_source(lake, bucket)), versions)
    current = (
        before.clear() if everything else before.join(current_users, on=["user", "revision"], how="semi", maintain_order="left")
    )
    changed = users_with_bookings.join(current, on="user", how="anti", maintain_order="left")
    due_bookings = bookings.join(changed, on="user", how="semi", maintain_order="left")
    return _DueTaggings(all_users.height, changed, due_bookings, before, current)


def _stored_tags(lake: Lake, bucket: int, users: UserRange) -> pl.DataFrame:
    """The tags of a bucket. Tags with the columns of an older version count as none, so that all bookings are tagged again."""
    try:
        return lake.read(TRANSACTION_TAGS, [bucket], users=users)
    except BackfillNeeded:
        return TRANSACTION_TAGS.schema.to_frame()


def _tag_due(lake: Lake, due: Mapping[int, _DueTaggings], tagger: Tagger, own: OwnTaggers) -> pl.DataFrame:
    """The tags of all due bookings, in the order of the buckets, with the revision of their user.

    Users whose tenant has a model of its own are tagged apart from the others.
    """
    users = pl.concat([bucket_due.changed for bucket_due in due.values()])
    buckets = [bucket for bucket, bucket_due in due.items() if bucket_due.changed.height]
    bookings = pl.concat([bucket_due.bookings for bucket_due in due.values()])
    products = lake.read(OWNED, buckets).select(PRODUCTS.names()).join(users, on="user", how="semi")
    choices = lake.read(CATEGORY_CHOICES, buckets).select(CHOICES.names())
    rules = with_name_keys(lake.read(CATEGORY_RULES, buckets))

    def tags_of(part: pl.DataFrame, part_tagger: Tagger) -> pl.DataFrame:
        rows = (bookings, products)
        if part.height < users.height:
            rows = (bookings.join(part, on="user", how="semi", maintain_order="left"), products.join(part, on="user", how="semi"))
        return tag.tag_bookings(*rows, choices, rules, part_tagger)

    is_own = pl.col("tenant").is_in(list(own.models))
    tags = tags_of(users.filter(~is_own), tagger)
    for tenant in users.filter(is_own)["tenant"].unique().sort():
        tags = pl.concat([tags, tags_of(users.filter(tenant=tenant), own.tagger(tenant))])
    ordered_tags = bookings.select("id").join(tags, on="id", maintain_order="left") if own.models else tags
    return ordered_tags.join(users.select("user", "revision"), on="user", how="left", maintain_order="left")


def _category_moves(before: pl.DataFrame, new: pl.DataFrame) -> tuple[int, dict[tuple[str, str], int]]:
    """The number of bookings that had tags before, and how often a category was replaced by which other."""
    both = new.select("id", "category").join(before.select("id", "category"), on="id", suffix="_before")
    moved = both.filter(pl.col("category") != pl.col("category_before")).group_by("category_before", "category").len()
    return both.height, {(then, now): count for then, now, count in moved.iter_rows()}


def _tagging_source(lake: Lake, bucket: int, versions: Versions) -> dict[str, str]:
    """The metadata of tags that are computed now: a bucket whose stored metadata are equal is up to date."""
    return {**versions.about(), STATE: lake.about(USERS, bucket).get(STATE, "")}


def _stored_tagging_source(lake: Lake, bucket: int) -> dict[str, str]:
    """The metadata of the stored tags of a bucket."""
    return lake.about(TRANSACTION_TAGS, bucket)
