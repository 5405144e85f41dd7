"""`kontor demo`: the demo tenants."""

from datetime import UTC, datetime
from typing import Any

import typer

from api.cli.desk import Desk, Json, desk, show
from pipelines import demo

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


def seed_demo(at: Desk) -> dict[str, Any]:
    """The demo's credentials."""
    return demo.seed(at.database, at.vault, at.settings.base_url, at.settings.home / "demo.json", datetime.now(UTC))
