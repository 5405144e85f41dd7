"""How the assets are divided, by bucket of users and the pulls by slot of the day as well, and how old they may become."""

from datetime import timedelta

import dagster as dg
from pydantic import Field

from pipelines.fetching.slots import CRON, GAP, SLOT
from warehouse.lake.buckets import keys
from warehouse.settings import Settings

SETTINGS = Settings()
BUCKETS = dg.StaticPartitionsDefinition(keys(SETTINGS.buckets))
SLOTS = dg.TimeWindowPartitionsDefinition(
    start=SETTINGS.first_slot, fmt=SLOT, cron_schedule=CRON, timezone=SETTINGS.timezone, end_offset=1
)
PULLS = dg.MultiPartitionsDefinition({"slot": SLOTS, "bucket": BUCKETS})
ALL_AT_ONCE = dg.BackfillPolicy.single_run()


def done_after(hours: int) -> dg.FreshnessPolicy:
    """Fresh is what is no older than the time between two slots and so many hours. No cron policy, which would say the same:
    Dagster works out a thousand of its times whenever a process reads one, for every asset.
    """
    return dg.FreshnessPolicy.time_window(GAP + timedelta(hours=hours))


class Anew(dg.Config):
    """How much of a bucket is worked on."""

    everything: bool = Field(default=False, description="Work on all users, not only on those that have changed.")


def buckets_of(context: dg.AssetExecutionContext) -> list[int]:
    """The buckets that a run is for."""
    return sorted({int(str(_dimension(key, "bucket"))) for key in context.partition_keys})


def slots_of(context: dg.AssetExecutionContext) -> list[str]:
    """The slots that a run is for."""
    return sorted({str(_dimension(key, "slot")) for key in context.partition_keys})


def _dimension(key: str, name: str) -> str:
    return key.keys_by_dimension[name] if isinstance(key, dg.MultiPartitionKey) else key
