"""The partitions of assets, by bucket of users and for pulls also by slot of the day, and their freshness."""

from datetime import timedelta

import dagster as dg
from pydantic import Field

from pipelines.fetching.slots import CRON, SLOT_FORMAT, SLOT_GAP
from warehouse.lake.buckets import keys
from warehouse.settings import Settings

SETTINGS = Settings()
BUCKETS = dg.StaticPartitionsDefinition(keys(SETTINGS.buckets))
SLOTS = dg.TimeWindowPartitionsDefinition(
    start=SETTINGS.first_slot, fmt=SLOT_FORMAT, cron_schedule=CRON, timezone=SETTINGS.timezone, end_offset=1
)
PULLS = dg.MultiPartitionsDefinition({"slot": SLOTS, "bucket": BUCKETS})
ALL_AT_ONCE = dg.BackfillPolicy.single_run()


def done_after(hours: int) -> dg.FreshnessPolicy:
    """A policy by which an asset is fresh for the time between two slots plus `hours`. A cron policy would say the same, but
    Dagster computes a thousand of its times in every process and for every asset.
    """
    return dg.FreshnessPolicy.time_window(SLOT_GAP + timedelta(hours=hours))


def done_within_a_day() -> dg.FreshnessPolicy:
    """A policy by which an asset of buckets is fresh for a day and two hours: only changed buckets are worked on, and something
    is looked at every day.
    """
    return dg.FreshnessPolicy.time_window(timedelta(hours=26))


class Anew(dg.Config):
    """How much of a bucket is worked on."""

    everything: bool = Field(default=False, description="Work on all users, not only on those that have changed.")


def buckets_of(context: dg.AssetExecutionContext) -> list[int]:
    """The buckets of a run."""
    return sorted({int(str(_dimension(key, "bucket"))) for key in context.partition_keys})


def slots_of(context: dg.AssetExecutionContext) -> list[str]:
    """The slots of a run."""
    return sorted({str(_dimension(key, "slot")) for key in context.partition_keys})


def _dimension(key: str, name: str) -> str:
    return key.keys_by_dimension[name] if isinstance(key, dg.MultiPartitionKey) else key
