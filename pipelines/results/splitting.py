"""More buckets for a lake that has outgrown them: `kontor buckets split`. Nothing is asked of banks, and nothing computed again.

The lake is afterwards what it would be if it had been begun with the new number of buckets.
"""

from collections.abc import Generator, Mapping
from uuid import UUID

import polars as pl

from pipelines.erase import USER_TABLES
from pipelines.results import export
from warehouse.errors import Busy
from warehouse.lake import splitting
from warehouse.lake.buckets import bucket_of
from warehouse.lake.erasure import former_tables
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.shares import shares
from warehouse.lake.splitting import Split
from warehouse.lake.tables import TABLES, USERS
from warehouse.postgres import server_state
from warehouse.postgres.database import Database


def split_buckets(database: Database, lake: Lake, count: int) -> Generator[Split, None, None]:
    """Splits the buckets of the lake until there are `count`, or goes on with a split that was killed; yields the state before
    each bucket, and the last one. Raises `Busy` while another process of Kontor uses the database: it would write by the old
    number.
    """
    with database.operating() as operator:
        others = server_state.count_others(operator)
    if others:
        raise Busy(f"{others} connections of other processes of Kontor are open: stop them all first")
    split = splitting.begin(lake, count)
    with database.locking_buckets(range(count)):
        while split.remaining:
            yield split
            for own_lake in (lake, *shares(lake).values()):
                _split_bucket(own_lake, split, split.remaining - 1)
            split = splitting.advance(lake, split)
        splitting.end(lake, split)
    yield split


def _split_bucket(lake: Lake, split: Split, bucket: int) -> None:
    """Splits the files of a bucket; the table of users last, since it says what the metadata of the others mean."""
    users = _users(lake, split, bucket)
    before = lake.about(USERS, bucket)
    states = {
        target: {**before, **export.state_of(users.get(target, USERS.schema.to_frame()))} for target in split.targets(bucket)
    }
    for table in (*_tables(lake), USERS):
        if table.landing:
            splitting.split_landing(lake, split, table, bucket)
            continue
        about = lake.about(table, bucket)
        abouts = {target: _about(about, before, states[target]) for target in split.targets(bucket)}
        splitting.split_file(lake, split, table, bucket, users, abouts)


def _tables(lake: Lake) -> list[LakeTable]:
    """All tables with rows of users, also those of an older version, but the table of users itself."""
    return [*(table for table in USER_TABLES if table is not USERS), *former_tables(lake, TABLES)]


def _users(lake: Lake, split: Split, bucket: int) -> dict[int, pl.DataFrame]:
    """The users of each new bucket of an old one that has some."""
    users: pl.DataFrame = lake.read(USERS, [bucket])
    targets = pl.Series([bucket_of(UUID(user), split.after) for user in users["user"]], dtype=pl.Int64)
    return {target: part for target in split.targets(bucket) if (part := users.filter(targets == target)).height}


def _about(about: Mapping[str, str], before: Mapping[str, str], state: Mapping[str, str]) -> dict[str, str]:
    """The metadata of a new file: where they repeated those of the users, they repeat those of the new bucket."""
    return {key: state[key] if key in before and before[key] == value else value for key, value in about.items()}
