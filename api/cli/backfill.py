"""`kontor backfill`, which recomputes buckets from landed data or from the ledger on, and `kontor buckets`, which makes more."""

import os
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from api.cli.installation import Json, console, open_installation, read_settings, say, show
from warehouse.errors import Invalid
from warehouse.postgres import embedded, migrate

commands = typer.Typer(help="The parts into which users are divided.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("backfill")(backfill)


def backfill(
    asset: Annotated[
        str,
        typer.Option(
            help="First asset to recompute: ledger, transactions, transaction_tags, analyses or served_results.",
            show_default=False,
        ),
    ],
    buckets: Annotated[str, typer.Option(help="Buckets to recompute: all, or a list like 3,7,20-29.")] = "all",
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Only what landed on this day or later, and users who have changed."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Only accesses of which something landed until this day."),
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Recompute only this asset, not the ones that depend on it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan without running it.")] = False,
    as_json: Json = False,
) -> None:
    """Recompute all users of some buckets, or what landed in a period. Prints the plan first. Sends no requests to banks."""
    from pipelines.context import Context
    from pipelines.results import backfill as flow  # loads the taggers, which no other command needs

    settings = read_settings()
    requested_buckets, assets = _buckets(buckets, settings.buckets), flow.steps_from(asset, only=only)
    period = flow.LandingPeriod(since.date() if since else None, until.date() if until else None)
    if period.since and period.until and period.until < period.since:
        raise Invalid(f"--until {period.until} is before --since {period.since}")
    with embedded.addresses(settings) as addresses:
        migrate.require_tables(addresses.service)
        os.environ["KONTOR_DATABASE_URL"] = addresses.service  # for the processes of the engine
        context = Context.of(settings.model_copy(update={"database_url": addresses.service}))
        try:
            numbers = flow.buckets_with_landings(context, requested_buckets, period)
            steps = flow.plan(context, assets, numbers, period)
        finally:
            context.database.close()
        show([asdict(step) for step in steps], as_json, "Planned")
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
            task = progress.add_task("Buckets", total=len(numbers) * len(assets))
            results = flow.run(assets, numbers, period, lambda _completed, _total: progress.advance(task))
            for position, (name, changes) in enumerate(results, 1):
                progress.update(task, completed=position * len(numbers), description=name)
                if not as_json:
                    progress.console.print(f"{name}: {changes} changed", highlight=False)
    say(f"{len(numbers)} buckets are up to date.", as_json)


@commands.callback()
def _group() -> None:
    """Keeps `split` a command of its own name, although it is the only one."""


@commands.command()
def split(
    into: Annotated[int, typer.Option(min=2, help="New number: a multiple of the present one.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Split every bucket of the lake into several, while nothing else runs. If it is killed, run it again: nothing is lost."""
    from pipelines.results import splitting  # loads the tables of all analyses, which most commands do without
    from warehouse.lake.lake import Lake

    with open_installation() as installation, Progress(console=console, disable=as_json) as progress:
        task = progress.add_task("Buckets")
        for state in splitting.split_buckets(installation.database, Lake(installation.settings.lake_path), into):
            progress.update(task, total=state.before, completed=state.before - state.remaining)
    say(f"The lake has {into} buckets. Set KONTOR_BUCKETS={into} for all programs, then start them.", as_json)


def _buckets(text: str, count: int) -> list[int]:
    """The numbers of the buckets that a text names: `all`, or numbers and ranges."""
    if text == "all":
        return list(range(count))
    try:
        ends = [part.split("-") for part in text.split(",")]
        numbers = sorted({bucket for end in ends for bucket in range(int(end[0]), int(end[-1]) + 1) if len(end) <= 2})
    except ValueError as error:
        raise Invalid(f"{text!r} names no buckets: use all, or a list like 3,7,20-29") from error
    if not numbers or numbers[-1] >= count:
        raise Invalid(f"{text!r} names no buckets: they are numbered from 0 to {count - 1}")
    return numbers
