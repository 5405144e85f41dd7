"""`make fuzz`: hostile values for every field, requests that schemathesis makes up, in sequences that follow from each other, and
the model of the customer interface, each for minutes. What they find is printed; nothing of it runs in `make test` for longer
than seconds.
"""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console

from tests.bench import ending
from tests.soak.hostile import Attacker
from tests.spec.generating import configured
from tests.support.stack import Stack, running_stack, start_python

ROOT = Path(__file__).resolve().parents[2]
CUSTOMERS = "^/(customer|ai)/"
DELETING = ("--exclude-operation-id", "delete_access", "--exclude-operation-id", "delete_accesses")
"""The access that all sequences of a customer need: no login can be made up. The model deletes accesses."""
WHICH = {"everything": ("--exclude-path-regex", CUSTOMERS), "app": ("--include-path-regex", CUSTOMERS, *DELETING)}
MODEL = "tests/spec/test_customer_model.py"
PATIENCE_SECONDS = 170
"""How fast answers are is measured elsewhere."""
console = Console()


def main(
    minutes: Annotated[float, typer.Option(min=0, help="For schemathesis, half by a client and half by a customer.")] = 10,
    hostile_minutes: Annotated[float | None, typer.Option(min=0, help="For hostile values; default: as many.")] = None,
    model_minutes: Annotated[float | None, typer.Option(min=0, help="For the model; default: as many.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of what is made up; default: another one each time.")] = None,
) -> None:
    """Try sequences of requests on a running service, and say what was found."""
    seed = seed if seed is not None else random.SystemRandom().randrange(10_000)
    with ending.interrupts(), tempfile.TemporaryDirectory(prefix="kontor-fuzz-") as folder:
        Path(folder).chmod(0o755)  # the user that runs the database passes through it
        found = _attacked(Path(folder), 60 * (minutes if hostile_minutes is None else hostile_minutes), seed)
        found |= _generated(Path(folder), minutes * 60 / len(WHICH), seed) if minutes else {}
    found["model of the customer interface"] = _played(minutes if model_minutes is None else model_minutes)
    for what, code in found.items():
        console.print(f"{what}: {'[red]something was found, see above[/]' if code else 'nothing found'}")
    sys.exit(any(found.values()))


def _attacked(home: Path, seconds: float, seed: int) -> dict[str, int]:
    """Hostile values in every place of every request, on a service whose processes must outlive them."""
    if not seconds:
        return {}
    console.rule("hostile values")
    with running_stack(home / "attacked", start_python) as stack:
        stack.http = httpx.Client(base_url=stack.base_url, timeout=60, limits=httpx.Limits(keepalive_expiry=1), trust_env=False)
        customer = stack.tenant().customer()
        access = customer.connected("test_many_20", key="known")
        attacker = Attacker(stack, customer, access, seed)
        findings = attacker.attack(seconds)
        replaced = [line for line in stack.log_lines() if line.get("event") == "worker_replaced"]
    statuses = " ".join(f"{status}×{times}" for status, times in sorted(findings.statuses.items()))
    console.print(
        f"{findings.requests} requests in {len(attacker.places)} places, seed {seed}: {statuses}; "
        f"the slowest took {findings.slowest_seconds:.1f} s ({findings.slowest}); {len(replaced)} processes were replaced",
        highlight=False,
    )
    for problem, times in findings.problems.most_common():
        console.print(f"{times} × {problem}", markup=False, highlight=False, soft_wrap=True)
    return {"hostile values": len(findings.problems) + len(replaced)}


def _generated(home: Path, seconds: float, seed: int) -> dict[str, int]:
    """Sequences of generated requests, by a client and by a customer."""
    with running_stack(home / "stack", start_python) as stack:
        found = {f"sequences of generated requests ({client})": _run(stack, home, client, seconds, seed) for client in WHICH}
        failures = [line for line in stack.log_lines() if line.get("event") == "failure"]
    for line in failures:
        console.print("A request failed in the service:", line.get("route"), line.get("error"), soft_wrap=True)
    return found | {"failures in the service's log": len(failures)}


def _run(stack: Stack, home: Path, client: str, seconds: float, seed: int) -> int:
    console.rule(f"schemathesis as {client}")
    customer = stack.tenant().customer()
    customer.connected("test_many_20", key="known")
    phases = (
        "--phases",
        "examples,stateful",
        "--max-time",
        str(int(seconds)),
        "--continue-on-failure",
        "--max-response-time",
        str(PATIENCE_SECONDS),
    )
    seeded = ("--seed", str(seed))
    return subprocess.run(
        [*configured(customer, client, home, sequences=True), *phases, *seeded, *WHICH[client]], cwd=home
    ).returncode


def _played(minutes: float) -> int:
    """Games of the model for some minutes, on a service of their own."""
    if not minutes:
        return 0
    console.rule("model of the customer interface")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", MODEL]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "MODEL_MINUTES": str(minutes)}).returncode


if __name__ == "__main__":
    typer.run(main)
