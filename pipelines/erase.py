"""Erasure of a person: one transaction writes a tombstone and deletes all rows, then every file is rewritten without them.

From the tombstone on, no response contains anything of the person. Tombstones are also kept in the lake, so that a database
which is restored from an older backup is erased again before anything else happens.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

import polars as pl
import structlog

from pipelines import training
from pipelines.context import Context
from warehouse.lake.buckets import Range, bucket_of
from warehouse.lake.erasure import rewrite_without
from warehouse.lake.tables import (
    ANALYSED,
    ANALYSES,
    CATEGORY_CHOICES,
    CATEGORY_RULES,
    PRODUCTS,
    TABLES,
    TOMBSTONES,
    TRANSACTION_TAGS,
    TRANSACTIONS,
    USERS,
)
from warehouse.postgres.database import Owner
from warehouse.stores import accesses, results, revisions, tombstones, users

log = structlog.get_logger("erase")
USER_TABLES = tuple(table for table in TABLES if "user" in table.schema and table is not TOMBSTONES)
VOUCHED_TABLES = (
    (USERS, (TRANSACTIONS, PRODUCTS, CATEGORY_CHOICES, CATEGORY_RULES, USERS)),
    (TRANSACTION_TAGS, (TRANSACTION_TAGS,)),
    (ANALYSED, (*ANALYSES.values(), ANALYSED)),
)
"""The tables with the revision of each user, each with the tables that were written for the same revision."""


@dataclass(frozen=True)
class Receipt:
    """The removed rows of one person by lake table, and when they were removed."""

    id: str
    kind: str
    erased_at: str
    purged_at: str
    lake: dict[str, int]


def erase_user(context: Context, tenant_id: UUID, user_id: UUID) -> None:
    """Erases a user: writes the tombstone and deletes every row. `purge` rewrites the files."""
    with context.database.operating() as operator:
        owner = Owner(operator.session, tenant_id, user_id)
        users.lock(owner, user_id)
        tombstones.add(owner, tombstones.USER, user_id, user_id)
        _delete(owner, user_id)
    log.info("erased", user=str(user_id))


def purge(context: Context, now: datetime) -> list[Receipt]:
    """Removes the rows of all new tombstones from the lake; returns a receipt for each.

    Users who were restored in PostgreSQL although the lake holds their tombstone are erased again first.
    """
    _bury_again(context)
    with context.database.operating() as operator:
        open_tombstones = [
            (stone.id, stone.kind, stone.user_id, stone.erased_at) for stone in tombstones.unpurged_tombstones(operator)
        ]
    if not open_tombstones:
        return []
    _keep_tombstones(context)
    receipts = []
    for id_, kind, user_id, erased_at in open_tombstones:
        bucket = bucket_of(user_id, context.settings.buckets)
        with context.database.locking_buckets([bucket]):
            tables = [table for table in USER_TABLES if kind in table.schema]
            removed = {table.name: rewrite_without(context.lake, table, kind, [str(id_)], [bucket]) for table in tables}
            if kind == tombstones.ACCESS:
                removed |= _remove_older(context, user_id, bucket)
        removed["training_feedback"] = training.forget(context.settings.home, [str(id_)], kind)
        receipt = Receipt(str(id_), kind, erased_at.isoformat(), now.isoformat(), removed)
        with context.database.operating() as operator:
            tombstones.record_receipt(operator, id_, asdict(receipt), now)
        receipts.append(receipt)
        log.info("purged", kind=kind, rows=sum(removed.values()))
    return receipts


def _remove_older(context: Context, user_id: UUID, bucket: int) -> dict[str, int]:
    """Removes all results of a user that are older than the user's last change.

    Results do not tell accesses apart, and for a user without accesses no run would replace them. Results that are still valid
    come back with the next run.
    """
    user = str(user_id)
    with context.database.operating() as operator:
        now = revisions.between(operator, Range(user_id, user_id)).select("user", "revision")
        if results.states(operator, TRANSACTION_TAGS.name, Range(user_id, user_id)).join(now, on="revision", how="anti").height:
            results.drop(operator, [user_id])
    removed: dict[str, int] = {}
    for voucher, tables in VOUCHED_TABLES:
        if not context.lake.read(voucher, [bucket], now.columns).filter(user=user).unique().equals(now):
            removed |= {table.name: rewrite_without(context.lake, table, "user", [user], [bucket]) for table in tables}
    return removed


def _delete(owner: Owner, user_id: UUID) -> None:
    accesses.remove(owner, accesses.lock_all(owner))
    users.remove(owner, user_id)


def _keep_tombstones(context: Context) -> None:
    """Writes all tombstones to the lake."""
    with context.database.operating() as operator:
        rows = [
            (str(stone.id), stone.kind, str(stone.user_id), str(stone.tenant_id)) for stone in tombstones.all_tombstones(operator)
        ]
    lake_tombstones = context.lake.read(TOMBSTONES)
    frame = pl.concat([lake_tombstones, pl.DataFrame(rows, TOMBSTONES.schema, orient="row")]).unique("id").sort("id")
    context.lake.write(TOMBSTONES, 0, frame, {})


def _bury_again(context: Context) -> None:
    """Restores tombstones that only the lake holds, and erases their users or accesses again."""
    lake_tombstones = context.lake.read(TOMBSTONES)
    with context.database.operating() as operator:
        standing_ids = {str(stone.id) for stone in tombstones.all_tombstones(operator)}
        for id_, kind, user, tenant in lake_tombstones.filter(~pl.col("id").is_in(standing_ids)).iter_rows():
            owner = Owner(operator.session, UUID(tenant), UUID(user))
            tombstones.add(owner, kind, UUID(id_), UUID(user))
            if kind == tombstones.USER:
                _delete(owner, UUID(user))
            else:
                accesses.remove(owner, [access for access in accesses.lock_all(owner) if access.id == UUID(id_)])
