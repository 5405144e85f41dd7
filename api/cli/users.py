"""`kontor user`: users of a tenant."""

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer

from api.cli.desk import Json, TenantName, desk, say, show, show_once, working_on
from api.cli.roles import Username, named_user
from warehouse.secrets import hashing
from warehouse.stores import tenants, users

commands = typer.Typer(help="Users of a tenant.", no_args_is_help=True)
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of making one.")
]


@commands.command()
def create(tenant: TenantName, username: Username, password_stdin: PasswordStdin = False, as_json: Json = False) -> None:
    """Make a user with the default roles. Prints the password once."""
    password = _password(password_stdin)
    with working_on(tenant) as (_, owner, _):
        user = users.create(owner, username, hashing.hash_password(password))
    facts = {"username": user.username, "userReference": str(user.id), "password": password}
    show_once(facts, as_json, f"User {user.username} is ready.")


@commands.command("list")
def list_users(
    tenant: TenantName,
    include_inactive: Annotated[bool, typer.Option("--include-inactive", help="Also those that were deactivated.")] = False,
    as_json: Json = False,
) -> None:
    """List the users of a tenant."""
    with working_on(tenant) as (_, owner, _):
        found = users.visible(owner, include_inactive=include_inactive)
        rows = [{"username": user.username, "userReference": str(user.id), "active": user.active} for user in found]
    show(rows, as_json, "Users")


@commands.command()
def deactivate(tenant: TenantName, username: Username, as_json: Json = False) -> None:
    """Deactivate a user; its tokens end at once."""
    with working_on(tenant) as (_, owner, _):
        users.deactivate(owner, named_user(owner, username).id)
    say(f"{username} is inactive.", as_json)


@commands.command()
def reactivate(tenant: TenantName, username: Username, password_stdin: PasswordStdin = False, as_json: Json = False) -> None:
    """Make a user active again with a new password."""
    password = _password(password_stdin)
    with working_on(tenant) as (_, owner, _):
        users.reactivate(owner, named_user(owner, username).id, username, hashing.hash_password(password))
    show_once({"username": username, "password": password}, as_json, f"{username} is active again.")


@commands.command()
def erase(
    tenant: TenantName,
    username: Username,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Erase a person for good: every row and every file. Prints the receipt."""
    from pipelines import erase as flow  # loads the lake, which no other command of users needs
    from pipelines.context import Context

    if not yes:
        typer.confirm(f"Erase {username} of {tenant}? Nothing brings the data back.", abort=True)
    with desk() as at:
        with at.database.operating() as operator:
            tenant_id = tenants.find(operator, tenant).id
            user_id = named_user(operator.for_tenant(tenant_id), username).id
        address = at.database.url.render_as_string(hide_password=False)
        house = Context.of(at.settings.model_copy(update={"database_url": address}))
        try:
            flow.erase_user(house, tenant_id, user_id)
            receipts = flow.purge(house, datetime.now(UTC))
        finally:
            house.database.close()
    show_once({receipt.id: asdict(receipt) for receipt in receipts if receipt.id == str(user_id)}, as_json, "Erased.")


def _password(from_stdin: bool) -> str:
    return sys.stdin.readline().rstrip("\n") if from_stdin else hashing.new_secret()
