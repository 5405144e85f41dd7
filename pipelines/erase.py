"""Erasure of a person: one transaction writes a tombstone and deletes all rows, then every file is rewritten without them.

From the tombstone on, no response contains anything of the person. The receipt lists every place that was looked at: the rows of
the database, the tables of the lake with what killed writers left in them, and the training set.
"""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

import structlog

from pipelines import tombstones as burials
from pipelines import training
from pipelines.context import Context
from warehouse.errors import ErasureIncomplete
from warehouse.lake.buckets import Range, bucket_of
from warehouse.lake.erasure import ErasureCounts, former_tables, rewrite_without
from warehouse.lake.lake import BUCKET_COUNT_FILE, Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.shares import SHARES_FOLDER, TENANT_FILE, shares
from warehouse.lake.storage import Storage
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
from warehouse.runtime import files
from warehouse.settings import Settings
from warehouse.stores import results, revisions, tombstones, users

log = structlog.get_logger("erase")
USER_TABLES = tuple(table for table in TABLES if "user" in table.schema and table is not TOMBSTONES)
VOUCHED_TABLES = (
    (USERS, (USERS, TRANSACTIONS, PRODUCTS, CATEGORY_CHOICES, CATEGORY_RULES)),
    (TRANSACTION_TAGS, (TRANSACTION_TAGS,)),
    (ANALYSED, (*ANALYSES.values(), ANALYSED)),
)
"""The tables with the revision of each user, each with the tables that were written for the same revision. A user is removed from
the table of users first: as long as the user is there, the export takes the other rows of the user for complete."""
DATABASE, LAKE, HOME, TRAINING = "postgresql", "lake", "home", "models/training"
KEPT_ENTRIES = {
    LAKE: {
        TOMBSTONES.name: "ids of what was erased",
        BUCKET_COUNT_FILE: "the number of buckets",
    },
    HOME: {
        "cache": "compiled code",
        "dagster": "runs and their logs: counts and numbers of buckets",
        "dagster-password": "the login of the Dagster UI",
        "dagster-token": "the login of the Dagster UI",
        "demo-bank": "the memory of the simulated bank",
        "demo.json": "the logins of the demo",
        "keys.json": "the vault keys",
        "labelled": "lines that operators have labelled: whose they are is not known, so that operators erase them",
        "logs": "ids and counts, never personal data",
        "metrics": "counts",
        "models": "models and reports: sums over many lines, no line itself; the lines are in models/training",
        "postgres": "the database, whose tables are looked at one by one",
    },
}
"""What is kept in the lake and in the data directory, each with what it has instead of rows of a person."""


@dataclass(frozen=True)
class Place:
    """What was looked at in one place, and what was removed.

    In the database these are the rows of the person. In folders, `looked_at` counts files and `removed` rows; `leftovers` are the
    files of killed writers that were removed as a whole.
    """

    looked_at: int
    removed: int
    leftovers: int = 0


@dataclass(frozen=True)
class Receipt:
    """The places that were looked at for one tombstone, and when. `unknown` are files and folders that Kontor has not made."""

    id: str
    kind: str
    erased_at: str
    purged_at: str
    places: dict[str, Place]
    unknown: list[str]


def erase_user(context: Context, tenant_id: UUID, user_id: UUID) -> None:
    """Erases a user: writes the tombstone and deletes every row. `purge` rewrites the files."""
    with context.database.operating() as operator:
        owner = Owner(operator.session, tenant_id, user_id)
        users.lock(owner, user_id)
        burials.bury_user(owner, user_id)
    log.info("erased", user=str(user_id))


def purge(context: Context, now: datetime) -> list[Receipt]:
    """Removes the rows of all new tombstones from the files; returns a receipt for each.

    Users who were restored although the lake or the file has their tombstone are erased again first.
    """
    burials.sync(context.database, context.lake, context.settings)
    with context.database.operating() as operator:
        open_tombstones = [
            (stone.id, stone.kind, stone.user_id, stone.erased_at, tombstones.deleted_rows(stone))
            for stone in tombstones.unpurged_tombstones(operator)
        ]
    receipts = []
    for id_, kind, user_id, erased_at, deleted_rows in open_tombstones:
        places = _look_at_database(context, kind, id_, deleted_rows) | _purge_files(context, kind, id_, user_id)
        unknown = unknown_entries(context.lake, context.settings)
        receipt = Receipt(str(id_), kind, erased_at.isoformat(), now.isoformat(), places, unknown)
        with context.database.operating() as operator:
            tombstones.record_receipt(operator, id_, asdict(receipt), now)
        receipts.append(receipt)
        log.info("purged", kind=kind, places=len(places), unknown=len(unknown), **removed_counts([receipt]))
    return receipts


def removed_counts(receipts: Iterable[Receipt]) -> dict[str, int]:
    """How many rows and how many files of killed writers were removed."""
    places = [place for receipt in receipts for place in receipt.places.values()]
    return {"rows": sum(place.removed for place in places), "leftovers": sum(place.leftovers for place in places)}


def kept_places() -> dict[str, str]:
    """The places that an erasure leaves as they are, with what they have instead of data of persons."""
    kept_tables = {f"{DATABASE} {name}": content for name, content in tombstones.KEPT_TABLES.items()}
    kept_files = {f"{LAKE} {name}": content for name, content in KEPT_ENTRIES[LAKE].items()}
    return kept_tables | kept_files | KEPT_ENTRIES[HOME]


def unknown_entries(lake: Lake, settings: Settings) -> list[str]:
    """The files and folders of the lake and the data directory of which nobody knows what they have: look at them yourself."""
    home_names = KEPT_ENTRIES[HOME].keys() | _own_home_names(settings)
    home = Storage.of(str(settings.home))
    return [
        *_unknown_in_lake(lake, LAKE, {*KEPT_ENTRIES[LAKE], SHARES_FOLDER}),
        *_unknown_shares(lake),
        *(name for name in _without_unfinished(home.entries()) if name not in home_names),
    ]


def _unknown_in_lake(lake: Lake, where: str, other_names: Collection[str]) -> list[str]:
    tables = (*USER_TABLES, *former_tables(lake, TABLES))
    names = {table.name for table in tables}.union(other_names)
    return [f"{where}/{name}" for name in _without_unfinished(lake.storage.entries()) if name not in names]


def _unknown_shares(lake: Lake) -> list[str]:
    """What lies among the copies for tenants and is none of them, or in one of them and is none of its tables."""
    if SHARES_FOLDER not in lake.storage.entries():
        return []
    where, own = f"{LAKE}/{SHARES_FOLDER}", shares(lake)
    folders = _without_unfinished(lake.folder(SHARES_FOLDER).storage.entries())
    return [
        *(f"{where}/{name}" for name in folders if name not in own),
        *(entry for name, share in own.items() for entry in _unknown_in_lake(share, f"{where}/{name}", {TENANT_FILE})),
    ]


def _own_home_names(settings: Settings) -> set[str]:
    """The names in the data directory that settings decide."""
    paths = (settings.lake_path, str(settings.keys_path), str(settings.tombstones_path))
    return {path.removeprefix(f"{settings.home}/").split("/")[0] for path in paths if path.startswith(f"{settings.home}/")}


def _without_unfinished(names: Iterable[str]) -> list[str]:
    """Without what is being written at the top of a folder, where nobody writes data of persons."""
    return [name for name in names if not name.startswith(files.UNFINISHED_PREFIX)]


def _look_at_database(context: Context, kind: str, id_: UUID, deleted_rows: dict[str, int]) -> dict[str, Place]:
    """The tables of the database with the rows that were deleted. Raises if there are rows still."""
    with context.database.operating() as operator:
        remaining_rows = tombstones.count_rows(operator, kind, id_)
    if any(remaining_rows.values()):
        raise ErasureIncomplete(f"rows of {kind} {id_}: {', '.join(name for name, rows in remaining_rows.items() if rows)}")
    return {f"{DATABASE} {name}": Place(deleted_rows.get(name, 0), deleted_rows.get(name, 0)) for name in sorted(remaining_rows)}


def _purge_files(context: Context, kind: str, id_: UUID, user_id: UUID) -> dict[str, Place]:
    """The folders, after the rows of a tombstone and the leftovers of killed writers were removed from them."""
    bucket = bucket_of(user_id, context.settings.buckets)
    places: dict[str, Place] = {}
    with context.database.locking_buckets([bucket]):
        for where, lake in _lakes(context.lake).items():
            counts = {table.name: _rewrite(lake, table, kind, [id_], bucket) for table in USER_TABLES if kind in table.schema}
            if kind == tombstones.ACCESS:
                counts |= _remove_older(context, lake, user_id, bucket)
            for table in former_tables(lake, TABLES):  # no run will ever replace their rows
                counts[table.name] = _rewrite(lake, table, tombstones.USER, [user_id], bucket)
            places |= {f"{where} {name}": _place(count) for name, count in counts.items()}
    return places | {TRAINING: _place(training.forget(context.settings.home, [str(id_)], kind))}


def _lakes(lake: Lake) -> dict[str, Lake]:
    """The lake and its copies for tenants, each with the name of its place."""
    return {LAKE: lake, **{f"{LAKE}/{SHARES_FOLDER}/{tenant}": share for tenant, share in shares(lake).items()}}


def _rewrite(lake: Lake, table: LakeTable, kind: str, ids: list[UUID], bucket: int) -> ErasureCounts:
    return rewrite_without(lake, table, kind, [str(id_) for id_ in ids], [bucket])


def _place(counts: ErasureCounts) -> Place:
    return Place(counts.files, counts.rows, counts.leftovers)


def _remove_older(context: Context, lake: Lake, user_id: UUID, bucket: int) -> dict[str, ErasureCounts]:
    """Removes all results of a user that are older than the user's last change, and the leftovers of killed writers beside them.

    Results do not tell accesses apart, and for a user without accesses no run would replace them. Results that are still valid
    come back with the next run.
    """
    with context.database.operating() as operator:
        now = revisions.between(operator, Range(user_id, user_id)).select("user", "revision")
        if results.states(operator, TRANSACTION_TAGS.name, Range(user_id, user_id)).join(now, on="revision", how="anti").height:
            results.drop(operator, [user_id])
    counts: dict[str, ErasureCounts] = {}
    for voucher, tables in VOUCHED_TABLES:
        is_current = lake.read(voucher, [bucket], now.columns).filter(user=str(user_id)).unique().equals(now)
        older = [] if is_current else [user_id]
        counts |= {table.name: _rewrite(lake, table, tombstones.USER, older, bucket) for table in tables}
    return counts
