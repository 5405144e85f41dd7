"""`kontor knowledge`: the tables behind tagging."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.installation import Json, console, show_once

commands = typer.Typer(help="The tables behind tagging.", no_args_is_help=True)
Folder = Annotated[Path | None, typer.Option(help="Check the tables in this folder instead of the built-in ones.")]


@commands.callback()
def group() -> None:
    """The tables behind tagging."""


@commands.command()
def check(folder: Folder = None, as_json: Json = False) -> None:
    """Check the tables. Prints problems with file, line and column, and exits with code 1 if there are any."""
    from analytics import knowledge, knowledge_checks  # loads libraries that no other command needs

    problems = knowledge_checks.problems(folder or knowledge.FOLDER)
    if as_json or not problems:
        facts = {"version": knowledge.version(folder or knowledge.FOLDER), "problems": problems}
        show_once(facts, as_json, "The tables have no problems.")
    for problem in () if as_json else problems:
        console.print(problem, highlight=False, soft_wrap=True, markup=False)
    if problems:
        raise typer.Exit(1)


@commands.command()
def measure(
    users: Annotated[int | None, typer.Option(help="Number of people to simulate.", min=10)] = None, as_json: Json = False
) -> None:
    """Measure the precision of rules, words and partners, and store it as their confidence (`measured.csv`)."""
    from dataclasses import replace

    from analytics.knowledge.files import MEASURED
    from analytics.tagging.tag import Tagger
    from models import registry
    from models.evaluation import rule_precision

    world = replace(rule_precision.PRECISION_WORLD, users=users) if users else rule_precision.PRECISION_WORLD
    with console.status("Simulating and tagging …"):
        confidences = rule_precision.measure(Tagger(registry.shipped()), world)
    confidences.write_csv(MEASURED)
    show_once({"deciders": confidences.height, "file": str(MEASURED)}, as_json, "The measured confidences were stored.")
