"""`make bench`: measures the house against a bare FastAPI route, in alternating short slices of one run.

All servers run at the same time on one core and the load on another. Every round gives each case one slice, so that what
slows the machine slows them alike, and gives one ratio for each case.
"""

import asyncio
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.bench import ending, house, machine, report
from tests.bench.cases import BARE, CASES
from tests.bench.house import House
from tests.bench.load import Target, run_slice
from warehouse.errors import KontorError

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results.json"
STEADY = 0.1  # how much the bare route may vary on a machine that does nothing else
console = Console()


def main(
    slices: Annotated[int, typer.Option(min=2, help="Rounds; each gives every case one slice.")] = 15,
    seconds: Annotated[float, typer.Option(min=0.05, help="Length of a slice.")] = 0.7,
    connections: Annotated[int, typer.Option(min=1, help="Connections that ask at the same time.")] = 16,
    date: Annotated[datetime | None, typer.Option(help="Date that the results carry; default: now.")] = None,
) -> None:
    """Measure the API as ratios to a bare FastAPI route."""
    cores, fixed_addresses = machine.two_cores(), machine.fix_addresses()
    if cores is None:
        console.print("[yellow]Servers and load share their cores: there is one only, or none can be chosen here.[/]")
    if not fixed_addresses:
        console.print("[yellow]Servers lie at random addresses here: ratios differ more between runs than within one.[/]")
    try:
        with ending.interrupts():
            rates = _measure(cores, slices, seconds, connections)
    except KontorError as error:
        Console(stderr=True).print(f"[bold red]No result[/]: {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("Stopped; no result.")
        sys.exit(130)
    results = [report.summarise(name, values, rates[BARE.name]) for name, values in rates.items()]
    bare_spread = report.spread(rates[BARE.name])
    facts = {
        "date": (date or datetime.now(UTC)).isoformat(timespec="seconds"),
        "machine": machine.facts(cores, fixed_addresses),
        "protocol": {"slices": slices, "seconds": seconds, "connections": connections},
        "bare_spread": bare_spread,
    }
    report.write(RESULTS, results, facts)
    console.print(report.table(results))
    if bare_spread > STEADY:
        console.print(f"[yellow]Other programs were busy (the bare route varied by {bare_spread:.0%}): measure again.[/]")
    console.print(f"Written to {RESULTS.relative_to(RESULTS.parents[1])}", highlight=False)


def _measure(cores: machine.Cores | None, slices: int, seconds: float, connections: int) -> dict[str, list[float]]:
    """The rates of each case, one for each round."""
    if cores is not None:
        machine.bind(cores.servers)
    with ExitStack() as opened:
        with console.status("Starting database, API and bare route …"):
            found = opened.enter_context(house.running())
        if cores is not None:
            machine.bind(cores.load)  # what runs already stays where it was started
        return uvloop.run(_rounds(_targets(found), slices, seconds, connections))


def _targets(found: House) -> list[Target]:
    """The cases with their requests made ready; the bare route is the first of each round."""
    return [Target(case.name, found.ports[case.server], case.request(found.seed), case.status) for case in (BARE, *CASES)]


async def _rounds(targets: list[Target], slices: int, seconds: float, connections: int) -> dict[str, list[float]]:
    """The rates of each target. A first round only fills pools and caches and is not counted."""
    rates: dict[str, list[float]] = {target.name: [] for target in targets}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Drawn between slices only: a thread that draws during one would take time from the load.
    with ending.cancels(), Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=(slices + 1) * len(targets))
        for number in range(slices + 1):
            for target in targets:
                progress.update(task, description=target.name if number else f"warm-up: {target.name}", refresh=True)
                rate = await run_slice(target, seconds, connections)
                if number:
                    rates[target.name].append(rate)
                progress.advance(task)
    return rates


if __name__ == "__main__":
    typer.run(main)
