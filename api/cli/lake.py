"""`kontor lake`: what its columns mean, and what of it is shared with the programs of tenants."""

import json
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from api.cli.installation import Installation, Json, TenantName, console, open_installation, read_settings, say, show
from warehouse.errors import Invalid
from warehouse.stores import tenants

if TYPE_CHECKING:
    from warehouse.lake.lake import Lake

commands = typer.Typer(help="The lake: its columns, and what tenants may read of it.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.add_typer(commands, name="lake")


@commands.command("schema")
def show_schema(
    table: Annotated[str | None, typer.Argument(help="Name of a table. Without one, all columns.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Show the columns of the lake's tables, with their types and meanings."""
    from warehouse.lake import dictionary
    from warehouse.lake.tables import TABLES

    tables = [known_table for known_table in TABLES if table in (None, known_table.name)]
    if not tables:
        raise Invalid(f"no table {table}; there are {', '.join(known_table.name for known_table in TABLES)}")
    rows = [
        {"table": lake_table.name, "column": name, "type": str(lake_table.schema[name]), "meaning": meaning}
        for lake_table in tables
        for name, meaning in dictionary.describe(lake_table).items()
    ]
    show(rows, as_json, "Columns")


@commands.command("share")
def share(tenant: TenantName, as_json: Json = False) -> None:
    """Copy the rows of a tenant's users into a folder for the tenant's own programs, and show how these read it."""
    from pipelines.results import sharing  # loads the tables of all analyses, which most commands do without

    with open_installation() as installation:
        lake, tenant_id = _lake(installation), _tenant_id(installation, tenant)
        sharing.share(installation.database, lake, installation.settings, tenant_id, tenant)
        _show_reading(sharing.reading(lake, tenant_id), as_json)


@commands.command("unshare")
def unshare(tenant: TenantName, as_json: Json = False) -> None:
    """Remove the folder that is shared with a tenant. Withdraw the credentials of its readers yourself."""
    from pipelines.results import sharing

    with open_installation() as installation:
        tenant_id = _tenant_id(installation, tenant)
        sharing.unshare(installation.database, _lake(installation), installation.settings, tenant_id)
    say(f"Nothing of the lake is shared with {tenant} any more.", as_json)


@commands.command("shares")
def list_shares(as_json: Json = False) -> None:
    """List the tenants with whom a part of the lake is shared."""
    from warehouse.lake import shares
    from warehouse.lake.lake import Lake
    from warehouse.lake.tables import TRANSACTIONS

    lake = Lake(read_settings().lake_path)
    rows = [
        {
            "tenant": share.storage.read_text(shares.TENANT_FILE),
            "location": share.storage.address,
            "bookings": share.statistics(TRANSACTIONS)["rows"].sum(),
            "written_at": share.last_written_at(TRANSACTIONS),
        }
        for share in shares.shares(lake).values()
    ]
    show(rows, as_json, "Shares")


def _lake(installation: Installation) -> "Lake":
    from warehouse.lake.lake import Lake

    lake = Lake(installation.settings.lake_path)
    lake.prepare(installation.settings.buckets)
    return lake


def _tenant_id(installation: Installation, tenant: str) -> UUID:
    with installation.database.operating() as operator:
        return tenants.find(operator, tenant).id


def _show_reading(reading: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(reading, indent=2))
        return
    console.print(f"Shared: {reading['location']}", highlight=False, soft_wrap=True, markup=False)
    if reading["policy"]:
        console.print("\nPolicy of its reader, whose credentials you give to the tenant:", highlight=False)
        print(json.dumps(reading["policy"], indent=2))
    for library, program in reading["programs"].items():
        console.print(f"\nWith {library}:", highlight=False)
        print(program)
