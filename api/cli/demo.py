"""`kontor demo`: the demo tenants."""

import json
import shlex
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from api.cli.installation import Installation, Json, open_installation, read_settings, show
from warehouse.errors import NotFound

commands = typer.Typer(help="Demo tenants to try Kontor with.", no_args_is_help=True)


@commands.command()
def seed(as_json: Json = False) -> None:
    """Create the demo tenants and users. Writes their credentials to demo.json in the data directory."""
    with open_installation() as installation:
        content = seed_demo(installation)
    rows = [
        {"tenant": tenant["name"], "regulated": tenant["regulated"], "users": [user["username"] for user in tenant["users"]]}
        for tenant in content["tenants"]
    ]
    show(rows, as_json, "Demo tenants")


@commands.command()
def env(tenant: Annotated[str, typer.Argument(help="Name of the demo tenant.")] = "demo") -> None:
    """Print the credentials of the demo as shell variables: eval "$(kontor demo env)"."""
    settings = read_settings()
    path = settings.home / "demo.json"
    if not path.exists():
        raise NotFound(f"{path}: run 'kontor demo seed' first")
    content = json.loads(path.read_text())
    entry = next((item for item in content["tenants"] if item["name"] == tenant), None)
    if entry is None:
        raise NotFound(f"demo tenant {tenant}")
    values = {
        "API": content["base_url"],
        "TENANT": tenant,
        **{name.upper(): f"{client['username']}:{client['secret']}" for name, client in entry["clients"].items()},
        "API_KEY": entry["apiKey"],
        "DEMO_USER": entry["users"][0]["username"],
        "DEMO_PASSWORD": entry["users"][0]["password"],
    }
    print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in values.items()))


def seed_demo(installation: Installation) -> dict[str, Any]:
    """The credentials of the demo. Connects its users to the demo bank, from which a worker fetches their data."""
    from pipelines import demo_tenants  # loads the banks, which no other command needs

    content = demo_tenants.seed(
        installation.database,
        installation.vault,
        installation.settings.base_url,
        installation.settings.home / "demo.json",
        datetime.now(UTC),
    )
    demo_tenants.connect_customers(installation.database, installation.vault, installation.settings, content)
    return content
