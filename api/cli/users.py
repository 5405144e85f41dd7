"""`kontor user`: users of a tenant."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.installation import Json, TenantName, open_installation, open_tenant, say, show, show_once
from api.cli.roles import Username, find_user
from warehouse.inputs import passwords
from warehouse.secrets import hashing
from warehouse.stores import tenants, users

if TYPE_CHECKING:
    from pipelines.context import Context
    from pipelines.erase import Receipt

commands = typer.Typer(help="Users of a tenant.", no_args_is_help=True)
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of generating one.")
]


def register(app: typer.Typer) -> None:
    app.command("profile")(profile)


@commands.command()
def create(tenant: TenantName, username: Username, password_stdin: PasswordStdin = False, as_json: Json = False) -> None:
    """Create a user with the default roles. Prints the password once."""
    password = _password(username, password_stdin)
    with open_tenant(tenant) as (_, owner, _):
        user = users.create(owner, username, hashing.hash_password(password))
    facts = {"username": user.username, "userReference": str(user.id), "password": password}
    show_once(facts, as_json, f"User {user.username} was created.")


@commands.command("list")
def list_users(
    tenant: TenantName,
    include_inactive: Annotated[bool, typer.Option("--include-inactive", help="Include deactivated users.")] = False,
    as_json: Json = False,
) -> None:
    """List the users of a tenant."""
    with open_tenant(tenant) as (_, owner, _):
        rows = [
            {"username": user.username, "userReference": str(user.id), "active": user.active}
            for user in users.visible(owner, include_inactive=include_inactive)
        ]
    show(rows, as_json, "Users")


@commands.command()
def deactivate(tenant: TenantName, username: Username, as_json: Json = False) -> None:
    """Deactivate a user. The user's tokens, fetches, dialogues with banks and form sessions end at once."""
    from pipelines import deactivation  # loads the flows, which no other command of this group needs

    with open_tenant(tenant) as (_, owner, _):
        deactivation.deactivate_user(owner, find_user(owner, username).id)
    say(f"User {username} is inactive.", as_json)


@commands.command()
def reactivate(tenant: TenantName, username: Username, password_stdin: PasswordStdin = False, as_json: Json = False) -> None:
    """Reactivate a user with a new password. Prints the password once."""
    password = _password(username, password_stdin)
    with open_tenant(tenant) as (_, owner, _):
        users.reactivate(owner, find_user(owner, username).id, username, hashing.hash_password(password))
    show_once({"username": username, "password": password}, as_json, f"User {username} is active again.")


@commands.command()
def erase(
    tenant: TenantName,
    username: Username,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Erase all data of a user permanently, in the database and in all files. Prints the receipt."""
    from pipelines import erase as flow  # loads the lake, which few commands of this group need

    if not yes:
        typer.confirm(f"Erase {username} of {tenant}? The data cannot be restored.", abort=True)
    with _open_context() as context:
        with context.database.operating() as operator:
            tenant_id = tenants.find(operator, tenant).id
            user_id = find_user(operator.for_tenant(tenant_id), username).id
        flow.erase_user(context, tenant_id, user_id)
        receipts = flow.purge(context, datetime.now(UTC))
    _show_receipts([receipt for receipt in receipts if receipt.id == str(user_id)], as_json)


@commands.command("erase-again")
def erase_again(as_json: Json = False) -> None:
    """Erase again, after a backup was restored, everything that was erased since then. Prints the receipts."""
    from pipelines import erase as flow

    with _open_context() as context:
        receipts = flow.purge(context, datetime.now(UTC))
    _show_receipts(receipts, as_json)


def profile(
    tenant: TenantName,
    username: Username,
    runs: Annotated[int, typer.Option(min=1, max=100, help="Runs, of which the fastest counts for each step.")] = 5,
    as_json: Json = False,
) -> None:
    """Show where a live answer about a user spends its time, step by step. Nothing is stored."""
    from pipelines.results import profile as live_profile  # loads the analyses, which no other command of this group needs

    with open_installation() as installation:
        with installation.database.operating() as operator:
            tenant_id = tenants.find(operator, tenant).id
            user_id = find_user(operator.for_tenant(tenant_id), username).id
        with installation.database.acting_for(tenant_id, user_id) as owner:
            steps = live_profile.profile(owner, installation.settings.base_url, runs)
    total = sum(step.seconds for step in steps)
    rows = [
        {"step": step.name, "ms": round(step.seconds * 1000, 1), "share": f"{step.seconds / total:.0%}", "rows": step.rows}
        for step in steps
    ]
    rows += [{"step": "all steps", "ms": round(total * 1000, 1), "share": "100%", "rows": None}] if steps else []
    show(rows, as_json, "Steps")


@contextmanager
def _open_context() -> Iterator["Context"]:
    """The context of flows for the installation."""
    from pipelines.context import Context

    with open_installation() as installation:
        address = installation.database.url.render_as_string(hide_password=False)
        context = Context.of(installation.settings.model_copy(update={"database_url": address}))
        try:
            yield context
        finally:
            context.database.close()


def _show_receipts(receipts: "Sequence[Receipt]", as_json: bool) -> None:
    """Prints receipts: every place that was looked at, and what is kept. They name nobody."""
    from pipelines import erase as flow

    if as_json:
        facts = {receipt.id: asdict(receipt) | {"kept": flow.kept_places()} for receipt in receipts}
        show_once(facts, as_json, "")
        return
    if not receipts:
        say("There is nothing to erase.")
    for receipt in receipts:
        say(f"The data of {receipt.kind} {receipt.id} is erased (rows {receipt.erased_at}, files {receipt.purged_at}).")
        show([{"place": name, **asdict(place)} for name, place in receipt.places.items()], as_json, "Places")
    if receipts:
        show([{"place": name, "has": content} for name, content in flow.kept_places().items()], as_json, "Kept places")
    for name in sorted({name for receipt in receipts for name in receipt.unknown}):
        say(f"Not made by Kontor, and not looked at: {name}")


def _password(username: str, from_stdin: bool) -> str:
    """The password that was given, after checking it, or a generated one."""
    if not from_stdin:
        return hashing.new_secret()
    password = sys.stdin.readline().rstrip("\n")
    passwords.check(password, username)
    return password
