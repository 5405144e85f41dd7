"""`kontor user`: users of a tenant."""

import sys
from typing import Annotated

import typer

from api.cli.desk import Json, TenantName, say, show, show_once, working_on
from api.cli.roles import Username, named_user
from warehouse import hashing, users

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


def _password(from_stdin: bool) -> str:
    return sys.stdin.readline().rstrip("\n") if from_stdin else hashing.new_secret()
