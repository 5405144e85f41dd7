"""`python -m pipelines.materialise`: materialises all assets once, as `kontor up` does for the demo."""

import sys
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from pipelines.assets.partitions import BUCKETS, SLOTS
from pipelines.definitions import FIRST, LAST, ZONE, defs
from pipelines.fetching.slots import SLOT_FORMAT, slot_of
from warehouse.settings import Settings

PROMOTION = {"categoriser": {"config": {"version": "active", "by": "kontor up", "why": "the first start"}}}


def materialise(instance: dg.DagsterInstance, now: datetime) -> bool:
    """Records the model in use, then runs all pulls up to the current slot and the analyses of all buckets; whether all
    succeeded.
    """
    slot = slot_of(now, Settings(timezone=ZONE).zone).strftime(SLOT_FORMAT)
    first, last = str(BUCKETS.get_first_partition_key()), str(BUCKETS.get_last_partition_key())
    ranges = {"pull_job": (f"{first}|{SLOTS.get_first_partition_key()}", f"{last}|{slot}"), "analyses_job": (first, last)}
    has_model = _run(instance, "promote_job", run_config={"ops": PROMOTION})
    return has_model and all(_run(instance, job, tags={FIRST: start, LAST: end}) for job, (start, end) in ranges.items())


def _run(instance: dg.DagsterInstance, job: str, **options: Any) -> bool:
    return defs.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False, **options).success


if __name__ == "__main__":
    with dg.DagsterInstance.get() as found:
        sys.exit(0 if materialise(found, datetime.now(UTC)) else 1)
