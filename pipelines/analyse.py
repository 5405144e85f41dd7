"""Tagging and analysing a bucket: what the API would compute for each user, computed for all at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from analytics import suite, tagging
from analytics.frames import AS_OF, CHOICES, PRODUCTS
from analytics.tagging import Brain
from pipelines.export import STATE
from pipelines.tags import compared
from warehouse.lake import Lake
from warehouse.lake_tables import ANALYSED, ANALYSES, CATEGORY_CHOICES, CATEGORY_RULES, TRANSACTION_TAGS, TRANSACTIONS, USERS
from warehouse.lake_tables import PRODUCTS as OWNED
from warehouse.parquet import Table

KNOWLEDGE = "knowledge"


@dataclass(frozen=True)
class Tagged:
    """What tagging a bucket did. `before` and `after` count the categories of those users that were tagged again."""

    users: int
    changed: int
    bookings: int
    before: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Analysed:
    """What analysing a bucket did: how many users there are, how many of them were analysed, and the rows of each table."""

    users: int
    changed: int
    rows: Mapping[str, int] = field(default_factory=dict)


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


def analyses_unchanged(lake: Lake, buckets: Sequence[int], version: str) -> dict[int, Analysed]:
    """The buckets for which there is nothing to analyse, found without reading rows."""
    same = [bucket for bucket in buckets if lake.about(ANALYSED, bucket) == _analysed_from(lake, bucket, version)]
    return {
        bucket: Analysed(lake.rows(ANALYSED, bucket), 0, {name: lake.rows(table, bucket) for name, table in ANALYSES.items()})
        for bucket in same
    }


def analyse_bucket(lake: Lake, bucket: int, version: str, *, everything: bool = False) -> Analysed:
    """Brings the analyses of a bucket to its tags and days: those of users of whom something has changed, or all with another
    version. The table of who was analysed is written last: it vouches for the others.
    """
    users = _to_analyse(lake, bucket)
    anew = everything or lake.about(ANALYSED, bucket).get(KNOWLEDGE) != version
    before = ANALYSED.schema.to_frame() if anew else lake.read(ANALYSED, [bucket])
    kept = users.join(before, on=ANALYSED.schema.names(), how="semi", maintain_order="left")
    changed = users.join(kept, on="user", how="anti", maintain_order="left")
    found = suite.analysed(*_seen(lake, bucket, changed), changed.select(AS_OF.names())) if changed.height else suite.nothing()
    rows = {name: _replace(lake, table, bucket, kept, found[name]) for name, table in ANALYSES.items()}
    lake.write(ANALYSED, bucket, users, _analysed_from(lake, bucket, version))
    return Analysed(users.height, changed.height, rows)


def _to_analyse(lake: Lake, bucket: int) -> pl.DataFrame:
    """The users of a bucket who have tags of their current revision, and a day (the columns of `ANALYSED`)."""
    tagged = lake.read(TRANSACTION_TAGS, [bucket], ["user", "revision"]).unique()
    users = lake.read(USERS, [bucket]).filter(pl.col("as_of").is_not_null())
    return users.join(tagged, on=["user", "revision"], how="semi", maintain_order="left").select(ANALYSED.schema.names())


def _seen(lake: Lake, bucket: int, users: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tagged bookings of some users of a bucket, and their products."""
    bookings, tags, owned = (
        lake.read(table, [bucket]).join(users, on="user", how="semi", maintain_order="left")
        for table in (TRANSACTIONS, TRANSACTION_TAGS, OWNED)
    )
    return bookings.join(tags.drop("user", "product"), on="id", how="inner", maintain_order="left"), owned


def _replace(lake: Lake, table: Table, bucket: int, kept: pl.DataFrame, new: pl.DataFrame) -> int:
    """Writes the rows of users who were analysed beside those of users who were not; answers how many there are."""
    if not kept.is_empty():
        old = lake.read(table, [bucket]).join(kept, on="user", how="semi", maintain_order="left")
        new = pl.concat([old, new]).sort("user", maintain_order=True)
    return lake.write(table, bucket, new, {}).rows


def _analysed_from(lake: Lake, bucket: int, version: str) -> dict[str, str]:
    """What analyses made now would say about themselves."""
    return {KNOWLEDGE: version, **lake.about(USERS, bucket)}


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


def _counts(before: pl.DataFrame, new: pl.DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    """How often each category was given to bookings that were there before, then and now."""
    both = new.select("id", "category").join(before.select("id", "category"), on="id", suffix="_before")
    then, now = (both[name].value_counts() for name in ("category_before", "category"))
    return dict(then.iter_rows()), dict(now.iter_rows())


def _made_from(lake: Lake, bucket: int, brain: Brain) -> dict[str, str]:
    """What tags made now would say about themselves."""
    return {KNOWLEDGE: brain.version, STATE: lake.about(USERS, bucket).get(STATE, "")}


def _about(lake: Lake, bucket: int) -> dict[str, str]:
    """What the tags of a bucket were made from."""
    return lake.about(TRANSACTION_TAGS, bucket)
