"""`make fairness`: what one tenant's crowd costs everybody else, for each costly kind of request.

A service of two workers, as in production. For each kind there are quiet and crowded slices in turn. In both, `/health` is asked
50 times a second and another tenant asks a mix of ordinary requests 20 times a second; ratios are of slices of the same turns.
"""

import analytics  # noqa: F401, I001  before Polars

import json
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from rich.console import Console
from rich.table import Table

from pipelines.banks import catalogue
from pipelines.banks.demo import DemoBank
from pipelines.context import Context
from tests.bench import costly, ending
from tests.bench.costly import Kind, Side
from tests.bench.crowd import CrowdResult, Observed, Observer, run_crowd, run_observer
from tests.support.stack import Stack, running_stack, start_python
from warehouse.settings import Settings
from warehouse.stores import providers

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "fairness.json"
CUSTOMERS = 8
MAX_HEALTH_MS, MAX_RATIO = 250, 2
PATIENCE_SECONDS = 150
SPAWN = multiprocessing.get_context("spawn")
console = Console(width=150)


@dataclass(frozen=True)
class Result:
    """What a kind cost others, in milliseconds; quiet ones are of the same turns."""

    name: str
    health_p99: float
    health_max: float
    quiet_health_max: float
    mix_p50: float
    quiet_mix_p50: float
    mix_p95: float
    quiet_mix_p95: float
    same_p95: float | None
    quiet_same_p95: float | None
    statuses: dict[str, int]
    idle_share: float
    """Which part of the crowd's answers left its connection without a request in flight: the crowd was no longer of 200."""
    failures: dict[str, int]
    workers_replaced: int

    @property
    def mix_ratio(self) -> float:
        return self.mix_p95 / self.quiet_mix_p95

    @property
    def same_ratio(self) -> float | None:
        return None if self.same_p95 is None or not self.quiet_same_p95 else self.same_p95 / self.quiet_same_p95


def main(
    only: Annotated[str, typer.Option(help="Only kinds whose names contain one of these, separated by commas.")] = "",
    seconds: Annotated[float, typer.Option(min=1, help="Length of a slice.")] = 4,
    turns: Annotated[int, typer.Option(min=1, help="Quiet and crowded slices of each kind.")] = 2,
) -> None:
    """Measure what 200 requests at once of one tenant cost /health and another tenant."""
    results = []
    with ending.interrupts(), tempfile.TemporaryDirectory(prefix="kontor-fair-") as home:
        Path(home).chmod(0o755)
        with running_stack(Path(home) / "home", start_python, KONTOR_WARM_UP="true") as stack:
            with console.status("Fetching and analysing …"):
                crowded, quiet = _filled(stack)
            for kind in costly.kinds(crowded, quiet):
                if any(part in kind.name for part in only.split(",")):
                    with console.status(kind.name):
                        results.append(_measure(stack, kind, quiet, seconds, turns))
                    console.print(f"{kind.name}: {_shown(results[-1])}", highlight=False, soft_wrap=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")
    console.print(_table(results))


def _filled(stack: Stack) -> tuple[Side, Side]:
    """Two tenants, the one that comes as a crowd and the other one."""
    with stack.database.operating() as operator:
        providers.upsert(operator, [replace(bank, connector=DemoBank.name) for bank in catalogue.german_banks()])
    sides = costly.build_side(stack, "crowded", CUSTOMERS, 100), costly.build_side(stack, "quiet", 1, 200)
    settings = Settings(_env_file=None, home=stack.home, database_url=stack.where.service, base_url=stack.base_url)
    house = Context.of(settings)
    with closing(house.database):
        costly.analyse(house, sides)
    return sides


def _measure(stack: Stack, kind: Kind, quiet: Side, seconds: float, turns: int) -> Result:
    """A kind, in quiet and crowded slices in turn. The first slice only warms caches and is not counted."""
    observer = Observer(costly.mix(quiet), kind.same)
    port, workers = int(stack.base_url.rpartition(":")[2]), _workers(stack)
    _run(lambda pipe: (run_observer, (observer, port, 1.0, pipe)))
    slices: dict[bool, list[Observed]] = {False: [], True: []}
    crowds: list[CrowdResult] = []
    for _ in range(turns):
        for is_crowded in (False, True):
            observed, crowd = _slice(observer, kind if is_crowded else None, port, seconds)
            slices[is_crowded].append(observed)
            crowds += [crowd] if crowd else []
        _settle(stack)
    return _summary(kind.name, slices, crowds, len(workers - _workers(stack)))


def _slice(observer: Observer, kind: Kind | None, port: int, seconds: float) -> tuple[Observed, CrowdResult | None]:
    """What was observed for some seconds, and what a crowd got meanwhile. The crowd comes first and goes last."""
    if kind is None:
        return _run(lambda pipe: (run_observer, (observer, port, seconds, pipe))), None
    stop = SPAWN.Event()
    process, pipe = _start(lambda there: (run_crowd, (kind.crowd, port, stop, there)))
    _received(process, pipe)  # all of the crowd have asked
    observed = _run(lambda there: (run_observer, (observer, port, seconds, there)))
    stop.set()
    return observed, _result(process, pipe)


def _settle(stack: Stack) -> None:
    """Waits until the crowd's requests that were under way no longer keep the service busy."""
    for _ in range(40):
        before = _processor_seconds(stack)
        psutil.cpu_percent(0.5)
        if _processor_seconds(stack) - before < 0.1:
            return


def _processor_seconds(stack: Stack) -> float:
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in _workers(stack))


def _workers(stack: Stack) -> set[int]:
    """The processes that serve."""
    children = psutil.Process(stack.process.pid).children(recursive=True)
    return {child.pid for child in children if "spawn_main" in " ".join(child.cmdline())}


def _run(work: Callable[[Any], tuple[Any, tuple[Any, ...]]]) -> Any:
    return _result(*_start(work))


def _start(work: Callable[[Any], tuple[Any, tuple[Any, ...]]]) -> tuple[Any, Any]:
    """A process, and the pipe through which its result comes."""
    here, there = SPAWN.Pipe(duplex=False)
    function, arguments = work(there)
    process = SPAWN.Process(target=function, args=arguments)
    process.start()
    there.close()
    return process, here


def _result(process: Any, pipe: Any) -> Any:
    result = _received(process, pipe)
    process.join()
    return result


def _received(process: Any, pipe: Any) -> Any:
    if not pipe.poll(PATIENCE_SECONDS):
        process.kill()
        sys.exit("no result of a process that asks")
    return pipe.recv()


def _summary(name: str, slices: dict[bool, list[Observed]], crowds: list[CrowdResult], replaced: int) -> Result:
    def of(is_crowded: bool, series: str) -> list[float]:
        return sorted(1000 * wait for observed in slices[is_crowded] for wait in getattr(observed, series))

    statuses: Counter[str] = sum((crowd.statuses for crowd in crowds), Counter())
    failures: Counter[str] = sum((observed.failures for observed in slices[True]), Counter())
    has_same = bool(of(True, "same"))
    return Result(
        name=name,
        health_p99=_share(of(True, "health"), 0.99),
        health_max=of(True, "health")[-1],
        quiet_health_max=of(False, "health")[-1],
        mix_p50=_share(of(True, "mix"), 0.5),
        quiet_mix_p50=_share(of(False, "mix"), 0.5),
        mix_p95=_share(of(True, "mix"), 0.95),
        quiet_mix_p95=_share(of(False, "mix"), 0.95),
        same_p95=_share(of(True, "same"), 0.95) if has_same else None,
        quiet_same_p95=_share(of(False, "same"), 0.95) if has_same else None,
        statuses=dict(statuses),
        idle_share=sum(crowd.idle_answers for crowd in crowds) / max(1, statuses.total()),
        failures=dict(failures),
        workers_replaced=replaced,
    )


def _share(waits: Sequence[float], share: float) -> float:
    """The wait that this share of all does not exceed."""
    return waits[min(len(waits) - 1, int(share * len(waits)))]


def _shown(result: Result) -> str:
    return ", ".join(
        f"{name} {value:.{2 if value < 1 else 0}f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in asdict(result).items()
    )


def _table(results: Sequence[Result]) -> Table:
    shown = Table(title="200 requests at once of one tenant: what others wait, in ms", title_justify="left", padding=(0, 0))
    shown.add_column("kind")
    for name in (
        *("/health\np99", "max", "max,\nquiet", "another's\nmedian", "quiet", "p95", "quiet", "ratio"),
        *("the same\nkind, p95", "quiet", "ratio", "workers\nreplaced", "answers\nto the crowd"),
    ):
        shown.add_column(name, justify="right")
    for result in results:
        shown.add_row(
            result.name,
            f"{result.health_p99:.0f}",
            _marked(result.health_max, MAX_HEALTH_MS, 0),
            f"{result.quiet_health_max:.0f}",
            *(f"{wait:.0f}" for wait in (result.mix_p50, result.quiet_mix_p50, result.mix_p95, result.quiet_mix_p95)),
            _marked(result.mix_ratio, MAX_RATIO),
            *((f"{result.same_p95:.0f}", f"{result.quiet_same_p95:.0f}") if result.same_p95 else ("", "")),
            _marked(result.same_ratio, MAX_RATIO) if result.same_ratio else "",
            str(result.workers_replaced),
            " ".join(f"{status}: {count}" for status, count in sorted(result.statuses.items())),
        )
    return shown


def _marked(value: float, limit: float, digits: int = 1) -> str:
    """The value, in red if it exceeds its limit."""
    return f"[red]{value:.{digits}f}[/]" if value > limit else f"{value:.{digits}f}"


if __name__ == "__main__":
    typer.run(main)
