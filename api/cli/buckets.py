"""`kontor buckets`: the parts into which users are divided."""

from typing import Annotated

import typer
from rich.progress import Progress

from api.cli.installation import Json, console, open_installation, say
from warehouse.lake.lake import MAX_BUCKETS, Lake

commands = typer.Typer(help="The parts into which users are divided.", no_args_is_help=True)


@commands.callback()
def _group() -> None:
    """Keeps `split` a command of its own name, although it is the only one."""


@commands.command()
def split(
    into: Annotated[
        int, typer.Option(min=2, max=MAX_BUCKETS, help="New number: a multiple of the present one.", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """Split every bucket of the lake into several, while nothing else runs. If it is killed, run it again: nothing is lost."""
    from pipelines.results import splitting  # loads the tables of all analyses, which most commands do without

    with open_installation() as installation, Progress(console=console, disable=as_json) as progress:
        task = progress.add_task("Buckets")
        for state in splitting.split_buckets(installation.database, Lake(installation.settings.lake_path), into):
            progress.update(task, total=state.before, completed=state.before - state.remaining)
    say(f"The lake has {into} buckets. Set KONTOR_BUCKETS={into} for all programs, then start them.", as_json)
