"""`kontor backfill`: doing the work of buckets again, from what has landed or from the ledger on."""

import os
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from api.cli.desk import Json, console, read_settings, say, show
from warehouse.errors import Invalid
from warehouse.postgres import embedded, migrate


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("backfill")(backfill)


def backfill(
    asset: Annotated[
        str,
        typer.Option(help="From which asset on: ledger, transactions, transaction_tags or served_results.", show_default=False),
    ],
    buckets: Annotated[str, typer.Option(help="Which buckets: all, or such as 3,7,20-29.")] = "all",
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="For the ledger: what has landed from this day on.")
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Only this asset, and not what follows from it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Work on buckets again, all users of them. The plan is shown first. No bank is asked."""
    from pipelines.context import Context
    from pipelines.results import backfill as flow  # loads the taggers, which no other command needs

    settings = read_settings()
    wanted, assets = _buckets(buckets, settings.buckets), flow.steps_from(asset, only=only)
    day = since.date() if since else None
    with embedded.addresses(settings) as where:
        migrate.require_tables(where.service)
        os.environ["KONTOR_DATABASE_URL"] = where.service  # for the processes of the engine
        house = Context.of(settings.model_copy(update={"database_url": where.service}))
        try:
            planned = flow.plan(house, assets, wanted, day)
        finally:
            house.database.close()
        show([asdict(step) for step in planned], as_json, "Planned")
        if dry_run:
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, disable=as_json) as progress:
            task = progress.add_task("Buckets", total=len(wanted) * len(assets))
            for done, (name, changed) in enumerate(
                flow.run(assets, wanted, day, lambda _done, _whole: progress.advance(task)), 1
            ):
                progress.update(task, completed=done * len(wanted), description=name)
                if not as_json:
                    progress.console.print(f"{name}: {changed} changed", highlight=False)
    say(f"{len(wanted)} buckets are up to date.", as_json)


def _buckets(text: str, count: int) -> list[int]:
    """`all`, or numbers and ranges of them."""
    if text == "all":
        return list(range(count))
    try:
        ends = [part.split("-") for part in text.split(",")]
        found = sorted({bucket for end in ends for bucket in range(int(end[0]), int(end[-1]) + 1) if len(end) <= 2})
    except ValueError as error:
        raise Invalid(f"{text!r} names no buckets: write all, or such as 3,7,20-29") from error
    if not found or found[-1] >= count:
        raise Invalid(f"{text!r} names no buckets: there are 0 to {count - 1}")
    return found
