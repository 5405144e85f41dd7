"""`kontor demo`: the demo tenants."""

import json
import shlex
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from api.cli.desk import Desk, Json, desk, read_settings, show
from warehouse.errors import NotFound

commands = typer.Typer(help="Demo tenants to try Kontor with.", no_args_is_help=True)


@commands.command()
def seed(as_json: Json = False) -> None:
    """Make the demo tenants and users. Their credentials lie in demo.json of the data directory."""
    with desk() as at:
        content = seed_demo(at)
    rows = [
        {"tenant": tenant["name"], "regulated": tenant["regulated"], "users": [user["username"] for user in tenant["users"]]}
        for tenant in content["tenants"]
    ]
    show(rows, as_json, "Demo tenants")


@commands.command()
def env(tenant: Annotated[str, typer.Argument(help="Name of the demo tenant.")] = "demo") -> None:
    """Print the demo's credentials as shell variables: eval "$(kontor demo env)"."""
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


def seed_demo(at: Desk) -> dict[str, Any]:
    """The demo's credentials. Its users are connected to the demo bank; a worker fetches what there is."""
    from pipelines import demo_tenants  # loads the banks, which no other command needs

    content = demo_tenants.seed(at.database, at.vault, at.settings.base_url, at.settings.home / "demo.json", datetime.now(UTC))
    demo_tenants.connect_customers(at.database, at.vault, at.settings, content)
    return content
