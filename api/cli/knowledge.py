"""`kontor knowledge`: the tables behind tagging."""

import os
from pathlib import Path
from typing import Annotated

import typer

from analytics import own_tables
from api.cli.installation import Json, console, show_once
from warehouse.errors import Invalid

MAX_SHOWN = 5
commands = typer.Typer(help="The tables behind tagging.", no_args_is_help=True)
Own = Annotated[Path | None, typer.Option(help="Folder with own rows. Default: KONTOR_KNOWLEDGE.")]
Folder = Annotated[Path | None, typer.Option(help="Check the tables in this folder instead of the built-in ones.")]


@commands.callback()
def group() -> None:
    """The tables behind tagging."""


@commands.command()
def check(folder: Folder = None, own: Own = None, as_json: Json = False) -> None:
    """Check the tables and own rows. Prints problems with file, line and column, and exits with code 1 if there are any."""
    if own is not None:
        os.environ[own_tables.SETTING] = str(own)
    from analytics import knowledge, knowledge_checks  # loads libraries that no other command needs

    problems = own_problems() or knowledge_checks.problems(folder or knowledge.FOLDER)
    if as_json or not problems:
        facts = {"version": "" if problems else knowledge.version(folder or knowledge.FOLDER), "problems": problems}
        show_once(facts, as_json, "The tables have no problems.")
    for problem in () if as_json else problems:
        console.print(problem, highlight=False, soft_wrap=True, markup=False)
    if problems:
        raise typer.Exit(1)


def require_own_tables() -> None:
    """Raises `Invalid` if own rows have problems, before a service would begin to tag with them."""
    if problems := own_problems():
        raise Invalid(f"own knowledge: {'; '.join(problems[:MAX_SHOWN])}; see kontor knowledge check")


def own_problems() -> list[str]:
    """The problems of own rows; none without them."""
    folder = own_tables.own_folder()
    if folder is None:
        return []
    from analytics import knowledge_checks

    return knowledge_checks.own_problems(folder)


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
