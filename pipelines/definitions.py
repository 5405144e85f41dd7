"""The Dagster definitions of Kontor. Nothing is computed here: jobs and assets call flows."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import groupby

import dagster as dg

from pipelines.assets import analyses, bank_data, credit_risk, evaluation, retention, training, training_tenants
from pipelines.assets.partitions import BUCKETS
from pipelines.assets.resources import Context, ContextResource
from pipelines.fetching.slots import CRON, SLOT_FORMAT, SLOT_HOURS, slot_of
from warehouse.lake.buckets import bucket_of, key
from warehouse.settings import Settings

ZONE = Settings().timezone
FIRST, LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
HALF_AN_HOUR_LATER = CRON.replace("0 ", "30 ", 1)
NOTHING_CHANGED = dg.SkipReason("all results are those of the current revisions")
ROUTINE = retention.Routine(
    jobs=("housekeeping_job", "erasure_job", "pull_job", "analyses_job"),
    bucket_assets=[asset_key for asset in analyses.ASSETS for asset_key in asset.keys],
    pull_assets=[asset_key for asset in bank_data.ASSETS for asset_key in asset.keys],
)
UNFINISHED = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED)


@dg.op(
    description="Deletes what has expired: tokens, login counters, redirect sessions, accesses without sync, old webhook events."
)
def sweep(context: dg.OpExecutionContext, kontor: dg.ResourceParam[Context]) -> None:
    from pipelines import housekeeping

    swept = asdict(housekeeping.sweep(kontor.database, kontor.settings))
    swept |= asdict(housekeeping.sweep_lake(kontor.lake, kontor.settings, datetime.now(UTC)))
    context.add_output_metadata(swept)
    context.log.info("swept %s", ", ".join(f"{count} {name}" for name, count in swept.items()))


@dg.op(description="Announces consents that end in 30, 7 or 1 days or have ended to the webhooks of their tenants, each once.")
def announce_consents(context: dg.OpExecutionContext, kontor: dg.ResourceParam[Context]) -> None:
    from pipelines import consents

    announced = consents.announce_ends(kontor.database, datetime.now(UTC))
    context.add_output_metadata({"consents": announced})
    context.log.info("announced the ends of %d consents", announced)


@dg.op(
    description="Deletes old runs of Dagster with their events and logs, except those that show the present state of an asset."
)
def purge_runs(context: dg.OpExecutionContext, kontor: dg.ResourceParam[Context]) -> None:
    before = datetime.now(UTC) - timedelta(days=kontor.settings.dagster_retention_days)
    count = retention.purge_runs(context.instance, ROUTINE, before)
    context.add_output_metadata({"runs": count})
    context.log.info("purged %d runs from before %s", count, before.isoformat())


@dg.op(description="Shows how each bank did in the last seven days, on the page of the asset `bank_health`.")
def show_bank_health(context: dg.OpExecutionContext, kontor: dg.ResourceParam[Context]) -> None:
    from pipelines import operations

    now = datetime.now(UTC)
    rows = operations.read_health(kontor.database, kontor.settings, now)
    context.log_event(bank_data.health_event(rows, kontor.settings.zone, now))
    context.log.info("%d banks, %d of them paused", len(rows), sum(row.paused_at is not None for row in rows))


@dg.job(
    description="Removes what has ended, tells webhooks of consents that end, and shows the health of banks.",
    executor_def=dg.in_process_executor,
)
def housekeeping_job() -> None:
    sweep()
    announce_consents()
    show_bank_health()
    purge_runs()


@dg.op(description="Writes every file of the lake that holds something of an erased person again without it.")
def purge(context: dg.OpExecutionContext, kontor: dg.ResourceParam[Context]) -> None:
    from pipelines import erase

    receipts = erase.purge(kontor, datetime.now(UTC))
    removed = erase.removed_counts(receipts)
    context.add_output_metadata({"erased": len(receipts), **removed})
    context.log.info("purged %d tombstones, %s", len(receipts), ", ".join(f"{count} {name}" for name, count in removed.items()))


@dg.job(description="Removes from all files what was erased or deleted.", executor_def=dg.in_process_executor)
def erasure_job() -> None:
    purge()


pull_job = dg.define_asset_job(
    "pull_job",
    dg.AssetSelection.assets("landing", "ledger"),
    description="Refreshes the accesses that are due in a slot. Running it again in the same slot asks no bank again.",
    executor_def=dg.in_process_executor,
)
analyses_job = dg.define_asset_job(
    "analyses_job",
    dg.AssetSelection.groups("analyses"),
    description="""Brings bookings, tags, analyses and served results of some buckets up to date. What has not changed stays.

After [another model](/assets/categoriser) was put into use, everything has: *Materialize all…* → *All* → *Launch backfill* tags
all users again in one run. `everything: true` in the config does so even where nothing has changed. The page of
[transaction_tags](/assets/transaction_tags?view=partitions) tells, at the fullest bucket, which category became which one.""",
    executor_def=dg.in_process_executor,
)


@dg.schedule(job=pull_job, cron_schedule=CRON, execution_timezone=ZONE, default_status=dg.DefaultScheduleStatus.RUNNING)
def pull_four_times_a_day(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    slot = slot_of(context.scheduled_execution_time, Settings().zone).strftime(SLOT_FORMAT)
    first, last = (f"{bucket}|{slot}" for bucket in (BUCKETS.get_first_partition_key(), BUCKETS.get_last_partition_key()))
    return _range_request(f"pull-{slot}", str(first), str(last))


@dg.schedule(
    job=analyses_job, cron_schedule=HALF_AN_HOUR_LATER, execution_timezone=ZONE, default_status=dg.DefaultScheduleStatus.RUNNING
)
def analyses_after_pulls(
    context: dg.ScheduleEvaluationContext, kontor: dg.ResourceParam[Context]
) -> Sequence[dg.RunRequest] | dg.SkipReason:
    """Asks for the buckets that have changed, also those whose results are there already because a worker has made them with the
    data: their files in the lake are older. Once a day it looks at one bucket even if nothing has changed, so that
    assets of an idle installation count as fresh: the way from the ledger to the served results is known to work.
    """
    if _is_running(context.instance):
        return dg.SkipReason("a run is on its way")
    is_first_of_day = slot_of(context.scheduled_execution_time, kontor.settings.zone).hour == min(SLOT_HOURS)
    changed = sorted({*_stale_buckets(kontor), *_unexported_buckets(kontor)})
    return _bucket_requests(_buckets_to_look_at(changed, is_first_of_day=is_first_of_day)) or NOTHING_CHANGED


def _buckets_to_look_at(buckets: Sequence[int], *, is_first_of_day: bool) -> Sequence[int]:
    """The changed buckets; if there are none, the first one for the first slot of a day."""
    return buckets or ([0] if is_first_of_day else [])


@dg.sensor(job=analyses_job, minimum_interval_seconds=30, default_status=dg.DefaultSensorStatus.RUNNING)
def changed_buckets(context: dg.SensorEvaluationContext, kontor: dg.ResourceParam[Context]) -> dg.SensorResult | dg.SkipReason:
    """Asks for the buckets with users whose results are not those of their revision, and only for them, unless a run is on its
    way.
    """
    if _is_running(context.instance):
        return dg.SkipReason("a run is on its way")
    requests = _bucket_requests(_stale_buckets(kontor))
    return dg.SensorResult(requests) if requests else NOTHING_CHANGED


def _stale_buckets(kontor: Context) -> list[int]:
    """The buckets with users whose results are not those of their revision."""
    from pipelines import shared_models
    from pipelines.results import live, tags  # load the taggers, which the code location does not need
    from warehouse.stores import results

    shared_models.take_up(kontor.database, kontor.settings.home)
    base_url = kontor.settings.base_url
    versions = live.version(base_url), live.own_versions(base_url, tags.own_taggers())
    with kontor.database.surveying() as operator:
        stale_users = results.users_with_stale_result(operator, live.NAMES[0], *versions)
    return sorted({bucket_of(user, kontor.settings.buckets) for user in stale_users})


def _unexported_buckets(kontor: Context) -> list[int]:
    """The buckets whose files in the lake are not those of the ledger."""
    from pipelines.results import export

    buckets = range(kontor.settings.buckets)
    unchanged = export.unchanged_buckets(kontor.database, kontor.lake, buckets, len(buckets))
    return [bucket for bucket in buckets if bucket not in unchanged]


def _bucket_requests(buckets: Sequence[int]) -> list[dg.RunRequest]:
    """One run for each unbroken range of buckets: a run of Dagster covers one range of partitions."""
    ranges = [
        [bucket for _, bucket in members] for _, members in groupby(enumerate(sorted(buckets)), lambda item: item[1] - item[0])
    ]
    return [_range_request(None, key(members[0]), key(members[-1])) for members in ranges]


def _is_running(instance: dg.DagsterInstance) -> bool:
    """Whether a run of the analyses has not ended: two at once would do the same work."""
    return bool(instance.get_runs_count(dg.RunsFilter(job_name=analyses_job.name, statuses=list(UNFINISHED))))


def _range_request(name: str | None, first: str, last: str) -> dg.RunRequest:
    """A request for one run over a range of partitions."""
    return dg.RunRequest(run_key=name, tags={FIRST: first, LAST: last})


def _schedule(name: str, job: dg.JobDefinition, cron: str) -> dg.ScheduleDefinition:
    running = dg.DefaultScheduleStatus.RUNNING
    return dg.ScheduleDefinition(name=name, job=job, cron_schedule=cron, execution_timezone=ZONE, default_status=running)


defs = dg.Definitions(
    assets=[
        *bank_data.ASSETS,
        bank_data.BANK_HEALTH,
        *analyses.ASSETS,
        *training.ASSETS,
        *evaluation.ASSETS,
        *credit_risk.ASSETS,
        *training_tenants.ASSETS,
    ],
    jobs=[housekeeping_job, erasure_job, pull_job, analyses_job, *training.JOBS, *training_tenants.JOBS],
    executor=dg.in_process_executor,
    schedules=[
        _schedule("housekeeping_hourly", housekeeping_job, "17 * * * *"),
        _schedule("erasure_hourly", erasure_job, "47 * * * *"),
        pull_four_times_a_day,
        analyses_after_pulls,
    ],
    sensors=[changed_buckets],
    resources={"kontor": ContextResource()},
)
