"""Materialising everything there is, once, as `kontor up` does it for the demo: `python -m pipelines.assets.materialise`."""

import sys
from datetime import UTC, datetime

import dagster as dg

from pipelines.assets.partitions import BUCKETS
from pipelines.definitions import FIRST, LAST, ZONE, defs
from pipelines.slots import SLOT, slot_of
from warehouse.settings import Settings


def materialise(instance: dg.DagsterInstance, now: datetime) -> bool:
    """Runs the pull of the current slot, and then the analyses of all buckets."""
    slot = slot_of(now, Settings(timezone=ZONE).zone).strftime(SLOT)
    first, last = str(BUCKETS.get_first_partition_key()), str(BUCKETS.get_last_partition_key())
    ranges = {"pull_job": (f"{first}|{slot}", f"{last}|{slot}"), "analyses_job": (first, last)}
    return all(
        defs.resolve_job_def(job)
        .execute_in_process(instance=instance, tags={FIRST: start, LAST: end}, raise_on_error=False)
        .success
        for job, (start, end) in ranges.items()
    )


if __name__ == "__main__":
    with dg.DagsterInstance.get() as found:
        sys.exit(0 if materialise(found, datetime.now(UTC)) else 1)
