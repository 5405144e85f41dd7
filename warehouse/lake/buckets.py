"""Buckets: ranges of user ids, the unit of work and of files. Ids are random, so all buckets have about the same size.

Their number is chosen once, when a lake is created. They are ranges so that PostgreSQL finds the users of a bucket by their key.
"""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

ID_BITS = 128
LAST = UUID(int=2**ID_BITS - 1)


class Range(NamedTuple):
    """The ids of a bucket, both ends included."""

    first: UUID
    last: UUID


def bucket_of(user: UUID, count: int) -> int:
    """The bucket of a user."""
    return user.int * count >> ID_BITS


def bounds(bucket: int, count: int) -> Range:
    """The ids of a bucket."""
    return Range(UUID(int=_first(bucket, count)), UUID(int=_first(bucket + 1, count) - 1))


def span(buckets: Collection[int], count: int) -> Range:
    """The ids from the first of these buckets to the last one."""
    return Range(bounds(min(buckets), count).first, bounds(max(buckets), count).last)


def key(bucket: int) -> str:
    """The name of a bucket in files and partitions."""
    return f"{bucket:03}"


def keys(count: int) -> list[str]:
    """The names of all buckets."""
    return [key(bucket) for bucket in range(count)]


def _first(bucket: int, count: int) -> int:
    return -(-(bucket << ID_BITS) // count)
