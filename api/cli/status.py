"""`kontor status`: workers, queues, fetches and the age of data at a glance."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from api.cli.installation import Json, console, open_installation
from warehouse.runtime import disk

if TYPE_CHECKING:
    from pipelines.operations import InstallationState
    from warehouse.settings import Settings

PERCENT = 100
SECONDS_PER_MINUTE, SECONDS_PER_HOUR, SECONDS_PER_DAY = 60, 3600, 86400


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("status")(status)


def status(as_json: Json = False) -> None:
    """Show workers, queues, fetches and the age of data. Exits with code 1 if work stands still."""
    from pipelines import operations  # loads Polars, which most commands do not need

    now = datetime.now(UTC)
    with open_installation() as installation:
        settings = installation.settings
        state = operations.read_installation(installation.database, settings, now)
    if as_json:
        print(json.dumps(asdict(state), default=str, ensure_ascii=False, indent=2))
    else:
        console.print(_table(state, settings, now))
    if state.standstills:
        raise typer.Exit(1)


def _table(state: "InstallationState", settings: "Settings", now: datetime) -> Table:
    table = Table(title="Kontor: " + ("work stands still" if state.standstills else "work goes on"), title_justify="left")
    for name in ("what", "state", "detail"):
        table.add_column(name, overflow="fold")
    for subject, is_well, text, detail in _rows(state, settings, now):
        table.add_row(subject, f"[{'green' if is_well else 'red'}]{text}[/]", detail)
    return table


def _rows(state: "InstallationState", settings: "Settings", now: datetime) -> Iterator[tuple[str, bool, str, str]]:
    """What is shown, whether it is well, its state and a detail."""
    work, age, slot = state.work, state.data_age, state.slot_fetches
    silence = (
        "none has started" if work.heartbeat_seconds is None else f"last sign of life {_duration(work.heartbeat_seconds)} ago"
    )
    yield "workers", "workers" not in state.standstills, f"{work.workers} alive, {work.lost_workers} lost", silence
    for queue in work.queues.values():
        detail = state.standstills.get(queue.queue) or (
            f"oldest waits {_duration(queue.oldest_seconds)}" if queue.waiting else ""
        )
        is_well = queue.queue not in state.standstills
        yield f"queue {queue.queue}", is_well, f"{queue.waiting} waiting, {queue.running} running", detail
    share = slot.fetched / slot.accesses if slot.accesses else 1.0
    yield (
        f"slot {state.slot:%H:%M}",
        True,
        f"{share * PERCENT:.0f} % fetched",
        f"{slot.accesses} accesses, {slot.unended} running",
    )
    oldest = "" if age.oldest_at is None else f", the oldest of {_duration((now - age.oldest_at).total_seconds())} ago"
    yield "data", not age.outdated, f"{age.outdated} of {age.accesses} accesses older than a day", oldest.removeprefix(", ")
    for bank in work.paused_banks:
        detail = f"{bank.code} since {_day(bank.paused_at, settings)}, next attempt {_day(bank.retry_at, settings)}"
        yield f"paused: {bank.provider}", False, "fails for everybody", detail
    for provider in state.failing_providers:
        since = "never fetched" if provider.waiting_since is None else f"data since {_day(provider.waiting_since, settings)}"
        yield f"failing: {provider.name}", False, f"{provider.accesses} accesses", since
    for total in work.fetches:
        if now - total.last_at <= timedelta(days=1):
            last = f"last {_duration((now - total.last_at).total_seconds())} ago"
            yield f"fetches: {total.provider}", True, f"{total.outcome}: {total.fetches}", last
    for usage in disk.usages(settings):
        is_well = usage.share_used < settings.disk_warning_share
        yield f"disk {usage.place}", is_well, f"{usage.share_used * PERCENT:.0f} % used", ""


def _day(moment: datetime, settings: "Settings") -> str:
    return f"{moment.astimezone(settings.zone):%Y-%m-%d %H:%M}"


def _duration(seconds: float) -> str:
    """A time in its largest units."""
    whole = int(seconds)
    units: list[tuple[int, Any]] = [(SECONDS_PER_DAY, "d"), (SECONDS_PER_HOUR, "h"), (SECONDS_PER_MINUTE, "min"), (1, "s")]
    size, unit = next(((size, unit) for size, unit in units if whole >= size), (1, "s"))
    return f"{whole // size} {unit}"
