"""`make soak`: mixed load on the whole house, in which something is killed every few seconds, and what must hold all the same."""

import analytics  # noqa: F401, I001  before Polars

import logging
import random
import secrets
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import structlog
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.bench import ending, machine
from tests.support.receiver import Receiver, receiving
from tests.soak import endings, house as houses, leaks, report
from tests.soak.calling import Actor, Line, Tenant
from tests.soak.customers import Customer
from tests.soak.disturbers import HangingReceiver, Operator, SlowReaders
from tests.soak.house import House
from tests.soak.kills import Killer
from tests.soak.notes import Notes
from tests.soak.payers import Payer
from tests.soak.tenants import Manager, Redirecting, Stateless
from tests.soak.watching import Watch
from warehouse.secrets import certificates
from warehouse.stores.provisioning import create_tenant

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "soak.json"
LOGS = RESULTS.with_name("soak-logs")
"""The logs of a soak in which something did not hold."""
CUSTOMERS = 4
BANKS = ("test_transfer_late_0.5", "test_transfer_slow_0.5")
console = Console()


@dataclass(frozen=True)
class Load:
    """Everybody who calls the service, and who is called by it."""

    customers: list[Customer]
    payers: list[Payer]
    managers: list[Manager]
    others: list[Actor]
    receiver: Receiver
    secret: str

    @property
    def actors(self) -> list[Actor]:
        return [*self.customers, *self.payers, *self.managers, *self.others]


def main(
    minutes: Annotated[float, typer.Option(min=0.5, help="How long the load lasts.")] = 20,
    every: Annotated[float, typer.Option(min=2, help="Seconds between kills.")] = 15,
    kills: Annotated[int | None, typer.Option(min=1, help="How many kills in all, instead of the seconds between them.")] = None,
    disk: Annotated[int, typer.Option(min=0, help="MiB of the disk that is filled (as root, in memory); 0: none.")] = 2048,
    seed: Annotated[int | None, typer.Option(help="What decides the kills and the load; default: another one each time.")] = None,
) -> None:
    """Soak the whole house, and say what does not hold."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    seed = seed if seed is not None else random.SystemRandom().randrange(10_000)
    try:
        with ending.interrupts():
            soaked = _soak(minutes * 60, minutes * 60 / (kills + 1) if kills else every, seed, disk)
    except KeyboardInterrupt:
        console.print("Stopped; no result.")
        sys.exit(130)
    report.write(RESULTS, soaked)
    for table in report.tables(soaked):
        console.print(table)
    console.print(
        f"Written to {RESULTS.relative_to(RESULTS.parents[1])}, and as tables to .md beside it; seed {seed}", highlight=False
    )
    console.print("[green]Everything holds.[/]" if soaked.holds else "[bold red]Not everything holds.[/]")
    sys.exit(0 if soaked.holds else 1)


def _soak(seconds: float, every: float, seed: int, disk_mebibytes: int) -> report.Soaked:
    notes = Notes()
    with ExitStack() as opened:
        with console.status("Starting database, API, workers and Dagster …"):
            house = opened.enter_context(houses.running(disk_mebibytes))
            load = _load(house, notes, seed, opened.enter_context(receiving()), hanging := HangingReceiver())
        hanging_port = hanging.port
        killer, watch = Killer(house, every, seed), Watch(house)
        for thread in (hanging, watch, *load.actors, killer):
            thread.start()
        began = time.monotonic()
        _show(seconds, notes, killer)
        lasted = time.monotonic() - began
        with console.status("Letting everything come to an end …"):
            _stop([killer], [watch], load.actors)
            endings.inspect_deliveries(house, notes, load.customers[:CUSTOMERS], load.receiver)
            _stop([hanging])
            notes.written["webhook call that hung"] += hanging.calls
            opened.enter_context(receiving(port=hanging_port))
            endings.wait_quiet(house, notes)
        with console.status("Looking at everything that was written …"):
            endings.inspect(house, notes, load.customers, load.payers, load.managers)
            endings.inspect_webhooks(house, notes, load.managers[0], load.receiver, load.secret)
            endings.inspect_dagster(house, notes)
        with console.status("Searching for private texts …"):
            places = leaks.searched(house, notes)
        facts = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(lasted),
            "every": every,
            "seed": seed,
            "machine": machine.facts(None, fixed_addresses=False),
        }
        soaked = report.Soaked(notes, killer.kills, watch.lives(), places, house.restarts, facts)
        if not soaked.holds:
            shutil.copytree(house.home / "logs", LOGS, dirs_exist_ok=True)
            shutil.copy(house.home / "postgres" / "log", LOGS / "postgres.log")
        return soaked


def _load(house: House, notes: Notes, seed: int, receiver: Receiver, hanging: HangingReceiver) -> Load:
    """Tenants with their users, logged in, a webhook of the first tenant that leads to the receiver, and one of another tenant
    that leads to an address that hangs.
    """
    regulated, other = _tenant(house, notes, regulated=True), _tenant(house, notes, regulated=False)
    slow, switched = _tenant(house, notes, regulated=True), _tenant(house, notes, regulated=True)
    disturbers = [
        SlowReaders(_user(house, notes, slow)[0], seed),
        Operator(house, *_user(house, notes, switched), seed),
    ]
    _set_webhook(_line(house, notes, slow, "admin"), slow, f"http://127.0.0.1:{hanging.port}/hook")
    victims = [Customer(*_user(house, notes, slow), seed + CUSTOMERS)]
    customers = [Customer(*_user(house, notes, regulated), seed + number) for number in range(CUSTOMERS)]
    payers = [Payer(*_user(house, notes, regulated), seed + number, bank) for number, bank in enumerate(BANKS)]
    redirecting = Redirecting(*_user(house, notes, other), seed)
    managers = [Manager(_line(house, notes, tenant, "admin"), seed + number) for number, tenant in enumerate((regulated, other))]
    stateless = Stateless(_line(house, notes, regulated, "app"), seed)
    secret = notes.keep("webhook secret", _set_webhook(managers[0].line, regulated, receiver.url))
    others = [redirecting, stateless, *disturbers]
    return Load([*customers, *victims], payers, managers, others, receiver, secret)


def _set_webhook(line: Line, tenant: Tenant, url: str) -> str:
    """Leads the webhook of a tenant to an address; its secret comes back."""
    answer = line.ask("set webhook", "PUT", tenant.path("clients", "app", "webhook"), json={"url": url})
    if answer is None:
        raise RuntimeError("the webhook could not be set")
    return str(answer.json()["secret"])


def _tenant(house: House, notes: Notes, *, regulated: bool) -> Tenant:
    with house.database.operating() as owner:
        name = f"soak-{secrets.token_hex(3)}"
        new = create_tenant(owner, house.vault, name, datetime.now(UTC), regulated=regulated)
    for client_secret in new.secrets.values():
        notes.keep("client secret", client_secret)
    with house.database.acting_for(new.tenant.id) as owner:
        pem = certificates.current(owner).pem
    return Tenant(name, dict(new.secrets), pem)


def _user(house: House, notes: Notes, tenant: Tenant) -> tuple[Line, str, str]:
    """A line of a new user that is logged in, with name and password."""
    name, password = notes.keep("user name", f"kunde-{secrets.token_hex(8)}"), notes.keep("password", secrets.token_hex(12))
    admin = _line(house, notes, tenant, "admin")
    admin.ask("make user", "POST", tenant.path("users"), (201,), json={"username": name, "password": password})
    line = Line(house.settings.base_url, tenant, notes)
    line.log_in("app", name, password)
    return line, name, password


def _line(house: House, notes: Notes, tenant: Tenant, client: str) -> Line:
    line = Line(house.settings.base_url, tenant, notes)
    line.log_in(client)
    return line


def _show(seconds: float, notes: Notes, killer: Killer) -> None:
    """Shows how far it is until the time is over."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=seconds)
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            counts = f"{sum(notes.statuses.values())} answers, {len(killer.kills)} kills, {len(notes.failures)} failures"
            progress.update(task, completed=passed, description=counts)
            time.sleep(1)


def _stop(*groups: Sequence[Killer | Watch | Actor | HangingReceiver]) -> None:
    """Ends threads, one group after the other."""
    for group in groups:
        for thread in group:
            thread.over.set()
        for thread in group:
            thread.join(150)


if __name__ == "__main__":
    typer.run(main)
