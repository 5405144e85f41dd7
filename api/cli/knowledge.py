"""`kontor knowledge`: the tables that tagging rests on."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.desk import Json, console, show_once

commands = typer.Typer(help="The tables that tagging rests on.", no_args_is_help=True)
Folder = Annotated[Path | None, typer.Option(help="Check the tables of this folder instead of those that this version carries.")]


@commands.callback()
def group() -> None:
    """The tables that tagging rests on."""


@commands.command()
def check(folder: Folder = None, as_json: Json = False) -> None:
    """Say what is wrong in the tables, with file, line and column; exit code 1 if anything is."""
    from analytics import knowledge, knowledge_checks  # the other commands need none of their libraries

    found = knowledge_checks.problems(folder or knowledge.FOLDER)
    if as_json or not found:
        facts = {"version": knowledge.version(folder or knowledge.FOLDER), "problems": found}
        show_once(facts, as_json, "The tables are in order.")
    for problem in () if as_json else found:
        console.print(problem, highlight=False, soft_wrap=True, markup=False)
    if found:
        raise typer.Exit(1)


@commands.command()
def measure(
    users: Annotated[int | None, typer.Option(help="How many people are simulated.", min=10)] = None, as_json: Json = False
) -> None:
    """Measure how often rules, words and partners are right, and keep it as their confidence (`measured.csv`)."""
    from dataclasses import replace

    from analytics.knowledge.files import MEASURED
    from analytics.tagging.tag import Tagger
    from models import registry
    from models.evaluation import rule_precision

    world = replace(rule_precision.PRECISION_WORLD, users=users) if users else rule_precision.PRECISION_WORLD
    with console.status("Simulating and tagging …"):
        found = rule_precision.measure(Tagger(registry.shipped()), world)
    found.write_csv(MEASURED)
    show_once({"deciders": found.height, "file": str(MEASURED)}, as_json, "The confidences are those that were measured.")
