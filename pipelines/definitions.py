"""Everything that Dagster knows of Kontor. Nothing is computed here: jobs and assets call the flows beside this file."""

from dataclasses import asdict

import dagster as dg

from pipelines import housekeeping
from warehouse.database import Database
from warehouse.settings import Settings


class DatabaseResource(dg.ConfigurableResource[Database]):
    """PostgreSQL, at the address in the environment."""

    def create_resource(self, _context: dg.InitResourceContext) -> Database:
        settings = Settings()
        if settings.database_url is None:
            raise dg.DagsterInvariantViolationError("no database: start Dagster with 'kontor up', or set KONTOR_DATABASE_URL")
        return Database(settings.database_url, pool=2, wait_seconds=settings.database_wait_seconds)


@dg.op(description="Deletes expired tokens, login counters whose window has ended, and old webhook events.")
def sweep(context: dg.OpExecutionContext, database: dg.ResourceParam[Database]) -> None:
    swept = asdict(housekeeping.sweep(database, Settings()))
    context.add_output_metadata(swept)
    context.log.info("swept %s", ", ".join(f"{count} {name}" for name, count in swept.items()))


@dg.job(description="Removes what has ended, so that tables stay small.", executor_def=dg.in_process_executor)
def housekeeping_job() -> None:
    sweep()


hourly = dg.ScheduleDefinition(
    name="housekeeping_hourly",
    job=housekeeping_job,
    cron_schedule="17 * * * *",
    execution_timezone="Europe/Berlin",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)

defs = dg.Definitions(jobs=[housekeeping_job], schedules=[hourly], resources={"database": DatabaseResource()})
