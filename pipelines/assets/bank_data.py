"""The assets of bank data: what the banks delivered, and the ledger that it is merged into.

Flows are imported when a step runs, so that the code location loads fast and a run loads only what it needs.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any

import dagster as dg

from pipelines.assets import metadata
from pipelines.assets.partitions import ALL_AT_ONCE, PULLS, Anew, buckets_of, done_after, slots_of
from pipelines.assets.resources import Context
from pipelines.fetching.slots import day_of
from warehouse.lake.buckets import key

if TYPE_CHECKING:
    from pipelines.operations import BankHealth

GROUP = "bank_data"
OWNERS = ["team:operators"]
RETRY = dg.RetryPolicy(max_retries=3, delay=10, backoff=dg.Backoff.EXPONENTIAL)
Results = Iterator[dg.MaterializeResult[None]]
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
    check_specs=[
        dg.AssetCheckSpec(
            "share_fetched",
            asset="landing",
            description="Of the accesses that the slot has tried, nearly all have data of the slot. A warning.",
        )
    ],
    description=(
        "What the banks said in a slot, as they said it. In the current slot the accesses that are due are refreshed by the "
        "workers; a slot of the past is only counted and compacted, no bank is asked."
    ),
)
def landing(context: dg.AssetExecutionContext, kontor: dg.ResourceParam[Context]) -> Results:
    from pipelines.fetching import pulls
    from warehouse.lake.core_tables import LANDING

    context.add_asset_metadata({**metadata.files(LANDING), "sessions_at_once_per_provider": kontor.settings.bank_calls_at_once})
    for slot in slots_of(context):
        try:
            due_accesses = pulls.pull(
                kontor, slot, datetime.now(UTC), tell=lambda unended: context.log.info("fetches are running: %s", unended)
            )
        except pulls.PullStandsStill as error:  # a retry would wait for the same worker
            raise dg.Failure(str(error), allow_retries=False) from error
        context.log.info("slot %s: %d accesses were due", slot, due_accesses)
        for bucket, counts in pulls.count_landed(kontor, slot, buckets_of(context)).items():
            partition = dg.MultiPartitionKey({"slot": slot, "bucket": key(bucket)})
            context.add_asset_metadata(
                {"fetches": counts.fetches, "dagster/row_count": counts.bookings}, partition_key=str(partition)
            )
    slot_state = pulls.slot_counts(kontor, max(slots_of(context)))
    share = slot_state.fetched / slot_state.accesses if slot_state.accesses else 1.0
    facts = {"accesses": slot_state.accesses, "fetched": slot_state.fetched, "running": slot_state.unended, "share": share}
    yield _with_warning("landing", "share_fetched", passed=share >= pulls.MIN_FETCHED_SHARE, facts=facts)


@pull_asset(
    deps=[landing],
    kinds={"postgres"},
    check_specs=[
        dg.AssetCheckSpec(
            "age_of_data",
            asset="ledger",
            description="Of the accesses that are fetched without their customers, few have data older than a day. A warning.",
        )
    ],
    description=(
        "The ledger in PostgreSQL with what has landed in a slot. Workers merge what they fetch at once, so this finds something "
        "to do only after a crash. With `everything` all that has landed is merged again, without asking a bank."
    ),
)
def ledger(context: dg.AssetExecutionContext, config: Anew, kontor: dg.ResourceParam[Context]) -> Results:
    from pipelines.fetching import pulls
    from pipelines.results import tasks
    from warehouse.postgres.tables import Transaction

    since = day_of(min(slots_of(context)))
    replays = tasks.run_on_buckets(tasks.replay_buckets, buckets_of(context), since=since, everything=config.everything)
    total = sum(replayed.changed for replayed in replays.values())
    context.add_asset_metadata({"bookings_changed": total, "bookings_looked_at": sum(r.bookings for r in replays.values())})
    context.add_asset_metadata(metadata.rows(Transaction))
    now = datetime.now(UTC)
    age = pulls.data_age(kontor, now)
    share = age.outdated / age.accesses if age.accesses else 0.0
    oldest_hours = (now - age.oldest_at) / timedelta(hours=1) if age.oldest_at else 0.0
    facts = {"accesses": age.accesses, "outdated": age.outdated, "share": share, "oldest_hours": oldest_hours}
    yield _with_warning("ledger", "age_of_data", passed=share <= pulls.MAX_OUTDATED_SHARE, facts=facts)


def _with_warning(asset: str, check: str, *, passed: bool, facts: Mapping[str, float]) -> dg.MaterializeResult[None]:
    """The materialisation of an asset with the result of its check, which warns and holds nothing up."""
    result = dg.AssetCheckResult(
        asset_key=asset, check_name=check, passed=passed, severity=dg.AssetCheckSeverity.WARN, metadata=dict(facts)
    )
    return dg.MaterializeResult(asset_key=asset, check_results=[result])


BANK_HEALTH = dg.AssetSpec(
    "bank_health",
    group_name=GROUP,
    owners=OWNERS,
    kinds={"postgres"},
    description=(
        "How each bank did in the last seven days: sessions, faults by kind, duration, last contact, the share of sessions in "
        "which it wanted a confirmation, and whether it is paused because it fails for everybody. `housekeeping_job` writes it "
        "every hour; `kontor providers health` shows it at any time."
    ),
)


def health_event(rows: Sequence["BankHealth"], zone: tzinfo, now: datetime) -> dg.AssetMaterialization:
    """The health of banks as an event of its asset."""
    from pipelines import operations

    texts = [operations.shown_health(row, zone) for row in rows]
    paused_banks = [row["bank"] for row in texts if row["next attempt"]]
    summary = f"**Paused: {', '.join(paused_banks)}**" if paused_banks else "No bank is paused."
    return dg.AssetMaterialization(
        BANK_HEALTH.key,
        metadata={
            "summary": dg.MetadataValue.md(
                f"{summary} {len(rows)} banks were asked. As of {now.astimezone(zone):%Y-%m-%d %H:%M}."
            ),
            "banks": metadata.records(list[dict[str, Any]](texts)),
            "paused": len(paused_banks),
            "sessions": sum(row.sessions for row in rows),
            "sessions_with_fault": sum(sum(row.faults.values()) for row in rows),
        },
    )


ASSETS = [landing, ledger]
