"""Everything that Dagster knows of Kontor. Nothing is computed here: jobs and assets call the flows beside this file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime

import dagster as dg

from pipelines import housekeeping, refresh
from pipelines.house import House
from pipelines.slots import CRON, slot_of
from warehouse.settings import Settings

ZONE = Settings().timezone


class HouseResource(dg.ConfigurableResource[House]):
    """What flows work with, by the settings in the environment."""

    @contextmanager
    def yield_for_execution(self, _context: dg.InitResourceContext) -> Iterator[House]:
        house = House.of(Settings())
        try:
            yield house
        finally:
            house.database.close()


@dg.op(
    description="Deletes what has expired: tokens, login counters, redirect sessions, accesses without sync, old webhook events."
)
def sweep(context: dg.OpExecutionContext, house: dg.ResourceParam[House]) -> None:
    swept = asdict(housekeeping.sweep(house.database, house.settings))
    context.add_output_metadata(swept)
    context.log.info("swept %s", ", ".join(f"{count} {name}" for name, count in swept.items()))


@dg.op(description="Puts down a fetch for every access that is due in this slot; workers carry them out.")
def enqueue_due(context: dg.OpExecutionContext, house: dg.ResourceParam[House]) -> None:
    now = datetime.now(UTC)
    count = refresh.enqueue_due(house, now)
    context.add_output_metadata({"accesses": count, "slot": slot_of(now, house.settings.zone).isoformat()})
    context.log.info("put down %d fetches", count)


@dg.job(description="Removes what has ended, so that tables stay small.", executor_def=dg.in_process_executor)
def housekeeping_job() -> None:
    sweep()


@dg.job(
    description="Refreshes accesses with sync. Running it again in the same slot adds nothing.",
    executor_def=dg.in_process_executor,
)
def refresh_job() -> None:
    enqueue_due()


def _schedule(name: str, job: dg.JobDefinition, cron: str) -> dg.ScheduleDefinition:
    running = dg.DefaultScheduleStatus.RUNNING
    return dg.ScheduleDefinition(name=name, job=job, cron_schedule=cron, execution_timezone=ZONE, default_status=running)


defs = dg.Definitions(
    jobs=[housekeeping_job, refresh_job],
    schedules=[
        _schedule("housekeeping_hourly", housekeeping_job, "17 * * * *"),
        _schedule("refresh_four_times_a_day", refresh_job, CRON),
    ],
    resources={"house": HouseResource()},
)
