"""The assets of bank data: what the banks delivered, and the ledger that it is merged into.

Flows are imported when a step runs, so that the code location loads fast and a run loads only what it needs.
"""

from datetime import UTC, datetime
from functools import partial

import dagster as dg

from pipelines.assets import metadata
from pipelines.assets.partitions import ALL_AT_ONCE, PULLS, Anew, buckets_of, done_after, slots_of
from pipelines.assets.resources import Context
from pipelines.fetching.slots import day_of
from warehouse.lake.buckets import key

GROUP = "bank_data"
OWNERS = ["team:operators"]
RETRY = dg.RetryPolicy(max_retries=3, delay=10, backoff=dg.Backoff.EXPONENTIAL)
pull_asset = partial(
    dg.asset,
    partitions_def=PULLS,
    backfill_policy=ALL_AT_ONCE,
    group_name=GROUP,
    owners=OWNERS,
    retry_policy=RETRY,
    freshness_policy=done_after(hours=1),
)


@pull_asset(
    kinds={"parquet"},
    pool="banks",
    description=(
        "What the banks said in a slot, as they said it. In the current slot the accesses that are due are refreshed by the "
        "workers; a slot of the past is only counted and compacted, no bank is asked."
    ),
)
def landing(context: dg.AssetExecutionContext, kontor: dg.ResourceParam[Context]) -> None:
    from pipelines.fetching import pulls
    from warehouse.lake.core_tables import LANDING

    context.add_asset_metadata({**metadata.files(LANDING), "sessions_at_once_per_provider": kontor.settings.bank_calls_at_once})
    for slot in slots_of(context):
        due_accesses = pulls.pull(
            kontor, slot, datetime.now(UTC), tell=lambda left: context.log.info("fetches are running: %s", left)
        )
        context.log.info("slot %s: %d accesses were due", slot, due_accesses)
        for bucket, counts in pulls.count_landed(kontor, slot, buckets_of(context)).items():
            partition = dg.MultiPartitionKey({"slot": slot, "bucket": key(bucket)})
            context.add_asset_metadata(
                {"fetches": counts.fetches, "dagster/row_count": counts.bookings}, partition_key=str(partition)
            )


@pull_asset(
    deps=[landing],
    kinds={"postgres"},
    description=(
        "The ledger in PostgreSQL with what has landed in a slot. Workers merge what they fetch at once, so this finds something "
        "to do only after a crash. With `everything` all that has landed is merged again, without asking a bank."
    ),
)
def ledger(context: dg.AssetExecutionContext, config: Anew) -> None:
    from pipelines.results import tasks
    from warehouse.postgres.tables import Transaction

    since = day_of(min(slots_of(context)))
    replays = tasks.run_on_buckets(tasks.replay_buckets, buckets_of(context), since=since, everything=config.everything)
    total = sum(replayed.changed for replayed in replays.values())
    context.add_asset_metadata({"bookings_changed": total, "bookings_looked_at": sum(r.bookings for r in replays.values())})
    context.add_asset_metadata(metadata.rows(Transaction))


ASSETS = [landing, ledger]
