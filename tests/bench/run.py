"""`make bench`: measures the house against a bare FastAPI route, in alternating short slices of one run.

Servers and database run at the same time on one core and the load on another. Every round gives each case one slice, so that
what slows the machine slows them alike, and gives one ratio for each case. Long lists come first, while the API is fresh; work
of flows comes last, since it fills the database.
"""

import analytics  # noqa: F401, I001  before Polars

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import typer
import uvloop
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.bench import analyses, ending, house, lists, machine, report, seeding, tagging, work
from tests.bench.cases import BARE, CASES, CHECKED, READY, Seed
from tests.bench.house import Started
from tests.bench.load import Target, run_slice
from warehouse.errors import KontorError

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results.json"
STEADY = 0.1  # how much the bare route may vary on a machine that does nothing else
console = Console()
T = TypeVar("T")


@dataclass(frozen=True)
class Measured:
    """What all parts of a run gave, round by round."""

    rates: dict[str, list[float]]
    lists: list[lists.Measured]
    work: list[work.Measured]
    tagging: tagging.Measured
    analyses: analyses.Measured


def main(
    slices: Annotated[int, typer.Option(min=2, help="Rounds; each gives every case one slice.")] = 12,
    seconds: Annotated[float, typer.Option(min=0.05, help="Length of a slice.")] = 0.7,
    connections: Annotated[int, typer.Option(min=1, help="Connections that ask at the same time.")] = 16,
    date: Annotated[datetime | None, typer.Option(help="Date that the results carry; default: now.")] = None,
) -> None:
    """Measure the API as ratios to a bare FastAPI route, and flows as ratios to reading what is stored."""
    cores, fixed_addresses = machine.two_cores(), machine.fix_addresses()
    if cores is None:
        console.print("[yellow]Servers and load share their cores: there is one only, or none can be chosen here.[/]")
    if not fixed_addresses:
        console.print("[yellow]Servers lie at random addresses here: ratios differ more between runs than within one.[/]")
    try:
        with ending.interrupts():
            measured = _measure(cores, slices, seconds, connections)
    except KontorError as error:
        Console(stderr=True).print(f"[bold red]No result[/]: {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("Stopped; no result.")
        sys.exit(130)
    facts = {
        "date": (date or datetime.now(UTC)).isoformat(timespec="seconds"),
        "machine": machine.facts(cores, fixed_addresses),
        "protocol": {"slices": slices, "seconds": seconds, "connections": connections},
    }
    _report(measured, facts)


def _measure(cores: machine.Cores | None, slices: int, seconds: float, connections: int) -> Measured:
    """All parts, one after the other; tagging and analyses first, with all cores and no server beside them."""
    tagged = _beside_others(tagging.measure, tagging.STEPS)
    analysed = _beside_others(analyses.measure, analyses.STEPS)
    if cores is not None:
        machine.bind(cores.servers)
    with ExitStack() as opened:
        with console.status("Starting database, API and bare route …"):
            started = opened.enter_context(house.running())
        if cores is not None:
            machine.bind(cores.load)  # what runs already stays where it was started
        with console.status("Fetching what is read …"), seeding.flows(started.settings) as flows:
            seed, customer = seeding.fill(flows)
            seeding.settle(started.owner_address)
        # Drawn between slices only: a thread that draws during one would take time from the load.
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        progress = opened.enter_context(Progress(*columns, console=console, transient=True, auto_refresh=False))
        task = progress.add_task("", total=lists.STEPS + (slices + 1) * (len(CASES) + 1) + work.STEPS)

        def tell(description: str) -> None:
            progress.update(task, description=description, advance=1, refresh=True)

        found = uvloop.run(lists.measure(started, seed, tell))
        rates = uvloop.run(_rounds(_targets(started, seed), slices, seconds, connections, tell))
        return Measured(rates, found, work.measure(started.settings, customer, tell), tagged, analysed)


def _beside_others(measure: Callable[[Callable[[str], None]], T], steps: int) -> T:
    """Tagging or analyses, beside what others use for it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=steps)
        return measure(lambda description: progress.update(task, description=description, advance=1, refresh=True))


def _targets(started: Started, seed: Seed) -> list[Target]:
    """The cases with their requests made ready; the bare route is the first of each round."""
    return [Target(case.name, started.ports[case.server], case.request(seed), case.status) for case in (BARE, *CASES)]


async def _rounds(
    targets: list[Target], slices: int, seconds: float, connections: int, tell: Callable[[str], None]
) -> dict[str, list[float]]:
    """The rates of each target. A first round only fills pools and caches and is not counted."""
    rates: dict[str, list[float]] = {target.name: [] for target in targets}
    with ending.cancels():
        for number in range(slices + 1):
            for target in targets:
                tell(target.name if number else f"warm-up: {target.name}")
                rate = await run_slice(target, seconds, connections)
                if number:
                    rates[target.name].append(rate)
    return rates


def _report(measured: Measured, facts: Mapping[str, object]) -> None:
    """Writes and shows the results."""
    bare_spread = report.spread(measured.rates[BARE.name])
    results = report.Results(
        cases=report.summarise_requests(measured.rates, BARE.name),
        ready=report.summarise_requests({case.name: measured.rates[case.name] for case in (CHECKED, *READY)}, CHECKED.name),
        lists=report.summarise_lists(measured.lists),
        work=report.summarise_work(measured.work),
        tagging=report.summarise_tagging(measured.tagging),
        tagged=report.summarise_tagged(measured.tagging),
        analyses=report.summarise_analyses(measured.analyses),
        analysed=measured.analyses.facts,
    )
    report.write(RESULTS, results, {**facts, "bare_spread": bare_spread})
    for table in report.tables(results):
        console.print(table)
    if bare_spread > STEADY:
        console.print(f"[yellow]Other programs were busy (the bare route varied by {bare_spread:.0%}): measure again.[/]")
    console.print(f"Written to {RESULTS.relative_to(RESULTS.parents[1])}", highlight=False)


if __name__ == "__main__":
    typer.run(main)
