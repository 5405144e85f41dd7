"""`kontor simulate`: simulated households, as files with the truth about every booking for training and evaluation, or as users
of a tenant.
"""

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from api.cli.installation import Json, console, open_installation, say
from warehouse.errors import Invalid
from warehouse.stores import tenants

START = datetime(2023, 7, 1)  # noqa: DTZ001 a first of a month, not a moment


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("simulate")(simulate)


def simulate(
    out: Annotated[Path | None, typer.Option(help="Folder for the Parquet files.", show_default=False)] = None,
    into: Annotated[
        str | None,
        typer.Option(help="Tenant that gets the households as users, with their data at the demo bank.", show_default=False),
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m"], help="With --into: first month of bookings; all by default.")
    ] = None,
    users: Annotated[int, typer.Option(min=1, help="Number of users.")] = 1000,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal worlds.")] = 1,
    months: Annotated[int, typer.Option(min=12, help="Months at most; the last three lie in the future.")] = 39,
    start: Annotated[datetime, typer.Option(formats=["%Y-%m-%d"], help="First month.")] = START,
    splits: Annotated[str, typer.Option(help="Which merchants and wordings may occur.")] = "train,calibration,test",
    formats: Annotated[str | None, typer.Option(help="Formats of the accounts, separated by commas; all by default.")] = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes at work.")] = 2,
    figures: Annotated[bool, typer.Option("--figures", help="Compare the result with official statistics.")] = False,
    as_json: Json = False,
) -> None:
    """Simulate households: write their bookings and the truth about them as Parquet, or load them into a tenant."""
    if (out is None) == (into is None):
        raise Invalid("name a folder (--out) or a tenant (--into)")
    if out is None:
        _load(into or "", users, since, as_json=as_json)
        return
    from models.simulator import write  # loads the whole world, which no other command needs
    from models.simulator.base import banks
    from models.simulator.base.splits import SPLITS

    plan = write.Plan(
        users,
        seed,
        start.date(),
        months,
        _choices(splits, SPLITS, "split"),
        _choices(formats or ",".join(banks.FORMATS), banks.FORMATS, "format"),
    )
    rows = 0
    with _progress(as_json=as_json) as progress:
        task = progress.add_task("Users", total=users)
        for part in write.write(plan, out, processes):
            rows += part.rows
            progress.update(task, advance=part.users)
    if figures:
        _compare(out)
    say(f"{rows} bookings of {users} users are in {out}.", as_json)


def _load(tenant_name: str, users: int, since: datetime | None, *, as_json: bool) -> None:
    """Loads households into a tenant; those that were loaded before stay as they are."""
    from pipelines import simulated_users  # loads Polars, which most commands do without

    first_day = since.date() if since else None
    if users > simulated_users.MAX_HOUSEHOLDS:
        raise Invalid(f"the demo bank has {simulated_users.MAX_HOUSEHOLDS} households")
    with open_installation() as installation, _progress(as_json=as_json) as progress:
        with installation.database.operating() as operator:
            tenant = tenants.find(operator, tenant_name).id
        # For the processes of the engine.
        os.environ["KONTOR_DATABASE_URL"] = installation.database.url.render_as_string(hide_password=False)
        task, loaded = progress.add_task("Users", total=users), 0
        for counts in simulated_users.load(tenant, users, first_day, installation.settings):
            loaded += counts.loaded
            progress.update(task, advance=counts.households)
    say(f"{loaded} households were loaded into {tenant_name}; {users - loaded} were there.", as_json)


def _progress(*, as_json: bool) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=as_json)


def _choices(text: str, allowed: tuple[str, ...], noun: str) -> tuple[str, ...]:
    choices = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown_names = [name for name in choices if name not in allowed]
    if unknown_names or not choices:
        raise Invalid(f"unknown {noun} {', '.join(unknown_names) or '(none)'}; there are {', '.join(allowed)}")
    return choices


def _compare(folder: Path) -> None:
    """Prints what the simulated households spend and hold beside the official figures."""
    import polars as pl
    from rich.table import Table

    from models.simulator import official_figures

    tables = {name: pl.read_parquet(folder / name / "*.parquet") for name in ("users", "contracts")}
    spending = official_figures.spending(
        pl.scan_parquet(folder / "transactions" / "*.parquet"), pl.scan_parquet(folder / "truth" / "*.parquet"), tables["users"]
    )
    for title, frame in (
        ("Spending", spending),
        ("Insurances", official_figures.holding_rates(tables["contracts"], tables["users"])),
    ):
        table = Table(*frame.columns, title=title, title_justify="left")
        for row in frame.iter_rows():
            table.add_row(*(str(value) for value in row))
        console.print(table)
