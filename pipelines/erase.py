"""Erasing a person: a tombstone and the end of all rows in one transaction, then every file is written again without them.

From the moment of the tombstone on nothing of the person is in any answer. Tombstones also lie in the lake, so that a database
which was restored from an older backup is erased again before anything else is done with it.
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
OF_PEOPLE = tuple(table for table in TABLES if "user" in table.schema and table is not TOMBSTONES)
VOUCHED = (
    (USERS, (TRANSACTIONS, PRODUCTS, CATEGORY_CHOICES, CATEGORY_RULES, USERS)),
    (TRANSACTION_TAGS, (TRANSACTION_TAGS,)),
    (ANALYSED, (*ANALYSES.values(), ANALYSED)),
)
"""The tables that say from which revision of a user they were made, each with those for which it says so."""


@dataclass(frozen=True)
class Receipt:
    """What was removed of one person: rows by table of the lake, and when."""

    id: str
    kind: str
    erased_at: str
    purged_at: str
    lake: dict[str, int]


def erase_user(house: Context, tenant_id: UUID, user_id: UUID) -> None:
    """Ends a user for good: puts down the tombstone, and deletes every row. The files follow with `purge`."""
    with house.database.operating() as operator:
        owner = Owner(operator.session, tenant_id, user_id)
        users.lock(owner, user_id)
        tombstones.add(owner, tombstones.USER, user_id, user_id)
        _delete(owner, user_id)
    log.info("erased", user=str(user_id))


def purge(house: Context, now: datetime) -> list[Receipt]:
    """Removes from the lake what has a tombstone, for all that were not looked at yet; answers what was removed.

    Whoever is restored in PostgreSQL although a tombstone lies in the lake is erased again first.
    """
    _bury_again(house)
    with house.database.operating() as operator:
        open_ones = [(stone.id, stone.kind, stone.user_id, stone.erased_at) for stone in tombstones.unpurged_tombstones(operator)]
    if not open_ones:
        return []
    _keep(house)
    receipts = []
    for id_, kind, user_id, erased_at in open_ones:
        bucket = bucket_of(user_id, house.settings.buckets)
        with house.database.locking_buckets([bucket]):
            tables = [table for table in OF_PEOPLE if kind in table.schema]
            removed = {table.name: rewrite_without(house.lake, table, kind, [str(id_)], [bucket]) for table in tables}
            if kind == tombstones.ACCESS:
                removed |= _remove_older(house, user_id, bucket)
        removed["training_feedback"] = training.forget(house.settings.home, [str(id_)], kind)
        receipt = Receipt(str(id_), kind, erased_at.isoformat(), now.isoformat(), removed)
        with house.database.operating() as operator:
            tombstones.record_receipt(operator, id_, asdict(receipt), now)
        receipts.append(receipt)
        log.info("purged", kind=kind, rows=sum(removed.values()))
    return receipts


def _remove_older(house: Context, user_id: UUID, bucket: int) -> dict[str, int]:
    """Removes what follows from the bookings of a user, unless it was made since the user's last change.

    Nothing there tells one access from another, and a user who has none left makes no work that would write it again. What is
    still the user's own comes back with the next run.
    """
    user = str(user_id)
    with house.database.operating() as operator:
        now = revisions.between(operator, Range(user_id, user_id)).select("user", "revision")
        if results.states(operator, TRANSACTION_TAGS.name, Range(user_id, user_id)).join(now, on="revision", how="anti").height:
            results.drop(operator, [user_id])
    removed: dict[str, int] = {}
    for voucher, tables in VOUCHED:
        if not house.lake.read(voucher, [bucket], now.columns).filter(user=user).unique().equals(now):
            removed |= {table.name: rewrite_without(house.lake, table, "user", [user], [bucket]) for table in tables}
    return removed


def _delete(owner: Owner, user_id: UUID) -> None:
    accesses.remove(owner, accesses.lock_all(owner))
    users.remove(owner, user_id)


def _keep(house: Context) -> None:
    """Writes all tombstones into the lake."""
    with house.database.operating() as operator:
        rows = [
            (str(stone.id), stone.kind, str(stone.user_id), str(stone.tenant_id)) for stone in tombstones.all_tombstones(operator)
        ]
    known = house.lake.read(TOMBSTONES)
    frame = pl.concat([known, pl.DataFrame(rows, TOMBSTONES.schema, orient="row")]).unique("id").sort("id")
    house.lake.write(TOMBSTONES, 0, frame, {})


def _bury_again(house: Context) -> None:
    """Puts down the tombstones of the lake that the database does not know, and erases who has come back."""
    kept = house.lake.read(TOMBSTONES)
    with house.database.operating() as operator:
        known = {str(stone.id) for stone in tombstones.all_tombstones(operator)}
        for id_, kind, user, tenant in kept.filter(~pl.col("id").is_in(known)).iter_rows():
            owner = Owner(operator.session, UUID(tenant), UUID(user))
            tombstones.add(owner, kind, UUID(id_), UUID(user))
            if kind == tombstones.USER:
                _delete(owner, UUID(user))
            else:
                accesses.remove(owner, [access for access in accesses.lock_all(owner) if access.id == UUID(id_)])
