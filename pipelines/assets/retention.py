"""How long Dagster keeps runs with their events and logs: what shows the present state of an asset stays, and every training."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

import dagster as dg

BATCH_RUNS = 200
MAX_PURGED_RUNS = 1000
"""In one go, so that the first purge of an old installation does not take hours; the next one continues."""
FINISHED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)


@dataclass(frozen=True)
class Routine:
    """What runs by itself all the time: jobs by name, the assets of buckets, and those of pulls."""

    jobs: Collection[str]
    bucket_assets: Collection[dg.AssetKey]
    pull_assets: Collection[dg.AssetKey]

    def covers(self, run: dg.DagsterRun) -> bool:
        """Whether a run did nothing else than routine."""
        assets = run.asset_selection or set()  # empty for a job as a whole
        return run.job_name in self.jobs or (bool(assets) and assets <= {*self.bucket_assets, *self.pull_assets})


def purge_runs(instance: dg.DagsterInstance, routine: Routine, before: datetime) -> int:
    """Deletes finished runs of routine from before a moment with all their events and logs; returns how many.

    Kept are all others (trainings and evaluations, whose figures are compared over years), the runs that have last materialised
    some bucket, and the last ones of pulls.
    """
    current_runs = set(_current_runs(instance, routine))
    outdated_runs = [
        run.run_id for run in _finished_runs(instance, before) if routine.covers(run) and run.run_id not in current_runs
    ]
    for run_id in outdated_runs[-MAX_PURGED_RUNS:]:  # they are in order, the oldest last
        instance.delete_run(run_id)
        instance.compute_log_manager.delete_logs(prefix=[run_id])
    return min(len(outdated_runs), MAX_PURGED_RUNS)


def _finished_runs(instance: dg.DagsterInstance, before: datetime) -> Iterator[dg.DagsterRun]:
    """The finished runs from before a moment, the newest first."""
    condition = dg.RunsFilter(statuses=list(FINISHED), created_before=before)
    cursor = None
    while runs := instance.get_runs(condition, cursor=cursor, limit=BATCH_RUNS):
        yield from runs
        cursor = runs[-1].run_id


def _current_runs(instance: dg.DagsterInstance, routine: Routine) -> Iterator[str]:
    """The runs that have last materialised a bucket of an asset, and the last runs of pulls, whose slots are partitions too."""
    for asset in routine.bucket_assets:
        latest = instance.event_log_storage.get_latest_storage_id_by_partition(asset, dg.DagsterEventType.ASSET_MATERIALIZATION)
        if latest:
            condition = dg.AssetRecordsFilter(asset_key=asset, storage_ids=list(latest.values()))
            yield from (record.run_id for record in instance.fetch_materializations(condition, limit=len(latest)).records)
    for asset in routine.pull_assets:
        event = instance.get_latest_materialization_event(asset)
        if event is not None:
            yield event.run_id
