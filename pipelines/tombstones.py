"""Tombstones and their copies: whoever was erased stays erased, whichever part of the data comes from an older backup.

API and worker call `sync` before they start, so that nobody is served from a restored database who was erased after its backup.
"""

from uuid import UUID

import polars as pl
import structlog

from warehouse.lake import tombstones as tombstone_copies
from warehouse.lake.core_tables import TOMBSTONES
from warehouse.lake.lake import Lake
from warehouse.postgres.database import Database, Owner
from warehouse.settings import Settings
from warehouse.stores import accesses, tombstones, users

log = structlog.get_logger("erase")


def sync(database: Database, lake: Lake, settings: Settings) -> int:
    """Gives database, lake and file the tombstones that they lack; returns how many the database lacked.

    For each of these the rows are deleted again in the same transaction. The files follow with `erase.purge`.
    """
    with database.operating() as operator:
        tombstones.lock_copies(operator)
        standing_ids = _originals(operator)["id"]
        copies = tombstone_copies.read(lake, settings.tombstones_path)
        missing = copies.filter(~pl.col("id").is_in(standing_ids.implode()))
        for id_, kind, user, tenant in missing.iter_rows():
            _delete_again(Owner(operator.session, UUID(tenant), UUID(user)), kind, UUID(id_), UUID(user))
        tombstone_copies.add(lake, settings.tombstones_path, _originals(operator))
    if missing.height:
        log.warning("erased_again", tombstones=missing.height)
    return missing.height


def bury_user(owner: Owner, user_id: UUID) -> None:
    """Writes the tombstone of a user and deletes all rows, which it counts."""
    rows = tombstones.count_rows(owner, tombstones.USER, user_id)
    tombstones.add(owner, tombstones.USER, user_id, user_id)
    tombstones.record_rows(owner, user_id, rows)
    accesses.remove(owner, accesses.lock_all(owner))
    users.remove(owner, user_id)


def _originals(owner: Owner) -> pl.DataFrame:
    """The tombstones of the database (`TOMBSTONES`)."""
    return pl.DataFrame(tombstones.rows(owner), TOMBSTONES.schema, orient="row")


def _delete_again(owner: Owner, kind: str, id_: UUID, user_id: UUID) -> None:
    if kind == tombstones.USER:
        bury_user(owner, user_id)
        return
    tombstones.add(owner, kind, id_, user_id)
    accesses.remove(owner, [access for access in accesses.lock_all(owner) if access.id == id_])
