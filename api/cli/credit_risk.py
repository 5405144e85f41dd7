"""`kontor credit-risk`: the scorecard of credit risk, and its calibration with the outcomes of a tenant."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from api.cli.installation import Json, console, open_installation, say, show
from api.cli.models import Who, Why, model_errors, progress
from warehouse.errors import Invalid
from warehouse.postgres.database import Database
from warehouse.stores import tenants

commands = typer.Typer(help="Credit risk: its scorecard, and the calibration of a tenant.", no_args_is_help=True)
Tenant = Annotated[str, typer.Option("--tenant", help="Name of the tenant.", show_default=False)]
Version = Annotated[str, typer.Argument(help="Version of the calibration, as `list` shows it.", show_default=False)]
Outcomes = Annotated[
    Path,
    typer.Argument(help="CSV file: user, observed_on, outcome (1 is a default); or outcome and all signals.", show_default=False),
]


@commands.command()
def calibrate(
    file: Outcomes,
    tenant: Tenant,
    out: Annotated[Path | None, typer.Option(help="File for the plot (PNG).")] = None,
    as_json: Json = False,
) -> None:
    """Calibrate the scorecard with a tenant's own outcomes. The calibration is stored, and not in use."""
    from models.credit_risk.plots import plot  # loads matplotlib
    from pipelines.results import calibration

    with open_installation() as installation, model_errors(), progress(as_json) as on_progress:
        tenant_id = _tenant_id(installation.database, tenant)
        home, today = installation.settings.home, datetime.now(installation.settings.zone).date()
        new, outcomes = calibration.calibrate(installation.database, home, tenant_id, file, today, on_progress)
        if out:
            out.write_bytes(plot(new))
    facts = {
        "version": new.version,
        "outcomes": new.outcomes,
        "defaults": new.defaults,
        "unknown users": outcomes.unknown_users,
        "without history": outcomes.without_history,
        "left out": list(new.left_out),
        "objections": new.objections,
    }
    if as_json:
        show([facts | {"figures": {name: figure.model_dump() for name, figure in new.figures.items()}}], as_json, "Calibrations")
        return
    show(calibration.figure_rows(new), as_json, "Figures")
    for name, value in facts.items():
        console.print(f"{name}: {value}", highlight=False, markup=False)
    say("The gate refuses it." if new.objections else "It is ready to be promoted.")


@commands.command("list")
def list_calibrations(tenant: Tenant, as_json: Json = False) -> None:
    """List the calibrations of a tenant, and say which one is in use."""
    from models.credit_risk import versions

    with open_installation() as installation, model_errors():
        folder = versions.tenant_folder(installation.settings.home, _tenant_id(installation.database, tenant))
        active = versions.active_version(folder)
        rows = [_row(folder, version, in_use=version == active) for version in versions.versions(folder)]
    show(rows, as_json, "Calibrations")


@commands.command()
def promote(
    version: Version,
    tenant: Tenant,
    why: Why,
    by: Who = None,
    override: Annotated[str | None, typer.Option(help="Reason to set objections aside; it is logged.")] = None,
    as_json: Json = False,
) -> None:
    """Put a calibration into use: the tenant's responses then carry a probability of default. Refused if it misses the gate."""
    from models.credit_risk import versions

    with _changing(tenant) as folder:
        who = by or getpass.getuser()
        entry = versions.promote(folder, version, by=who, at=datetime.now(UTC), why=why, override_reason=override)
    say(f"{entry.version} is in use, before it {entry.before} was.", as_json)


@commands.command()
def rollback(version: Version, tenant: Tenant, why: Why, by: Who = None, as_json: Json = False) -> None:
    """Put a calibration back into use that was in use before, or `none`."""
    from models.credit_risk import versions

    with _changing(tenant) as folder:
        entry = versions.roll_back(folder, version, by=by or getpass.getuser(), at=datetime.now(UTC), why=why)
    say(f"{entry.version} is in use, before it {entry.before} was.", as_json)


@commands.command()
def check(
    folder: Annotated[Path | None, typer.Argument(help="Folder of the three tables; default: those in use.")] = None,
    as_json: Json = False,
) -> None:
    """Check the tables of the scorecard: ranges without gaps, points that add up, no worse value with more points."""
    from analytics.analyses.credit_risk.scorecard import TABLES, ScorecardBroken, read_scorecard

    try:
        card = read_scorecard(folder or TABLES)
    except (ScorecardBroken, OSError, KeyError) as error:
        raise Invalid(str(error)) from error
    say(f"{len(card.signals)} signals, {sum(len(signal.all_ranges) for signal in card.signals)} ranges: no problems.", as_json)


def _row(folder: Path, version: str, *, in_use: bool) -> dict[str, str]:
    """A calibration in a row; one that cannot be read is listed as such, so that it does not hide the others."""
    from models.credit_risk import versions
    from models.errors import ModelError

    about = {"version": version, "in use": "yes" if in_use else ""}
    try:
        calibration = versions.find(folder, version)
    except ModelError as error:
        return {**about, "outcomes": "", "AUC": "", "objections": str(error)}
    auc = f"{calibration.figures['auc'].value:.3f}"
    return {**about, "outcomes": str(calibration.outcomes), "AUC": auc, "objections": "; ".join(calibration.objections)}


@contextmanager
def _changing(tenant: str) -> Iterator[Path]:
    """The folder of a tenant's calibrations, for a change that all machines take up."""
    from models.credit_risk import versions
    from pipelines import shared_models

    with open_installation() as installation, model_errors():
        database, home = installation.database, installation.settings.home
        tenant_id = _tenant_id(database, tenant)
        shared_models.take_up(database, home)
        with shared_models.changing_calibration(database, home, tenant_id):
            yield versions.tenant_folder(home, tenant_id)


def _tenant_id(database: Database, name: str) -> UUID:
    with database.operating() as operator:
        return tenants.find(operator, name).id
