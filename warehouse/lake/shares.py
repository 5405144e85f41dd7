"""Folders of the lake for the programs of one tenant: `shared/<tenant>/transactions/bucket=017/part.parquet`.

The files of the lake have the users of all tenants, so that no right on a folder could tell these apart. A share is a lake of its
own with the rows of one tenant's users, in the same tables and buckets, without the replies of banks. It is a copy: whoever
erases rows from the lake erases them here too, and everything else comes with the next refresh.
"""

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from warehouse.errors import NotFound
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.tables import ANALYSED, TABLES, TOMBSTONES, TRANSACTION_TAGS, USERS

SHARES_FOLDER = "shared"
TENANT_FILE = "tenant.txt"
"""Holds the name of the tenant. It is removed last, so that a share of which anything is left is one."""
SOURCE = "source"
"""Key in the metadata of a share's table of users: a digest of what its bucket was copied from."""
SHARED_TABLES = (
    *(table for table in TABLES if "user" in table.schema and not table.landing and table not in (USERS, TOMBSTONES)),
    USERS,
)
"""The table of users comes last: what it was copied from, all others were."""


def shares(lake: Lake) -> dict[str, Lake]:
    """The shares of a lake by the id of their tenant."""
    try:
        tenants = lake.folder(SHARES_FOLDER).storage.entries()
    except FileNotFoundError:
        return {}
    candidates = {tenant: share_of(lake, tenant) for tenant in tenants}
    return {tenant: share for tenant, share in candidates.items() if share.storage.read_text(TENANT_FILE) is not None}


def share_of(lake: Lake, tenant: str) -> Lake:
    """Where the share of a tenant lies, whether there is one or not."""
    return lake.folder(f"{SHARES_FOLDER}/{tenant}")


def begin(lake: Lake, tenant: str, name: str) -> Lake:
    """The share of a tenant, new or there before. `refresh` fills it."""
    share = share_of(lake, tenant)
    share.storage.prepare()
    share.storage.put(TENANT_FILE, name.encode())
    return share


def end(lake: Lake, tenant: str) -> None:
    """Removes the share of a tenant. The caller holds the locks of all buckets.

    The table of users goes first: if the removal is killed, the next refresh fills the whole share again.
    """
    share = share_of(lake, tenant)
    if share.storage.read_text(TENANT_FILE) is None:
        raise NotFound("nothing of the lake is shared with this tenant")
    share.storage.remove(*share.storage.find_all(USERS.name))
    share.storage.remove(*(path for path in share.storage.find_all("") if path != TENANT_FILE))
    share.storage.remove(TENANT_FILE)


def outdated(lake: Lake, bucket: int, of_tenants: Mapping[str, Lake]) -> dict[str, Lake]:
    """Of these shares those whose bucket was not copied from what the lake has now, found without reading rows."""
    if not of_tenants or not (source := _source(lake, bucket)):
        return {}
    return {tenant: share for tenant, share in of_tenants.items() if share.about(USERS, bucket).get(SOURCE) != source}


def refresh(lake: Lake, bucket: int, of_tenants: Mapping[str, Lake], max_rows: int) -> None:
    """Copies a bucket into those of these shares that lack what the lake has now. About `max_rows` rows of a table are in memory
    at once. The caller holds the lock of the bucket.
    """
    targets = outdated(lake, bucket, of_tenants)
    if not targets:
        return
    about = {SOURCE: _source(lake, bucket)}
    for table in SHARED_TABLES:
        _copy(lake, table, bucket, targets, about if table is USERS else {}, max_rows)


def _copy(
    lake: Lake, table: LakeTable, bucket: int, targets: Mapping[str, Lake], about: Mapping[str, str], max_rows: int
) -> None:
    """Copies the rows of each tenant into its share. One without rows has a file too, so that readers find every table."""
    users = lake.read(USERS, [bucket], ["user", "tenant"])
    with ExitStack() as stack:
        writers = {tenant: stack.enter_context(share.writing(table, bucket)) for tenant, share in targets.items()}
        for ids in lake.user_ranges(table, bucket, max_rows):
            rows = lake.read(table, [bucket], users=ids)
            for tenant, writer in writers.items():
                writer.add(rows.join(users.filter(tenant=tenant), on="user", how="semi", maintain_order="left"))
        for writer in writers.values():
            writer.finish(about)


def _source(lake: Lake, bucket: int) -> str:
    """A digest of the revisions and versions of a bucket, and of the columns of its tables; empty where nobody was exported."""
    if not lake.about(USERS, bucket):
        return ""
    states: list[Any] = [sorted(lake.about(table, bucket).items()) for table in (USERS, TRANSACTION_TAGS, ANALYSED)]
    columns = [(table.name, list(table.schema.items())) for table in SHARED_TABLES]
    return hashlib.sha256(repr((states, columns)).encode()).hexdigest()
