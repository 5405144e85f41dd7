"""`kontor user`: users of a tenant. `kontor console`: people who work with the console."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.installation import Installation, Json, TenantName, open_installation, open_tenant, say, show, show_once
from api.cli.roles import Username, find_user
from warehouse.inputs import passwords
from warehouse.postgres import audit_log, console_accounts
from warehouse.postgres.audit_log import AuditActor, Deed
from warehouse.postgres.console_accounts import ConsoleRole
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import ConsoleAccount
from warehouse.secrets import hashing, one_time_codes, sealed_values
from warehouse.stores import tenants, users

if TYPE_CHECKING:
    from pipelines.context import Context
    from pipelines.erase import Receipt

commands = typer.Typer(help="Users of a tenant.", no_args_is_help=True)
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of generating one.")
]
console_commands = typer.Typer(help="Accounts of the console.", no_args_is_help=True)
AccountName = Annotated[str, typer.Argument(help="Name of the account.", show_default=False)]


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


@console_commands.command("add")
def add_account(
    name: AccountName,
    role: Annotated[ConsoleRole, typer.Option(help="What the account may see and do.", show_default=False)],
    tenant: Annotated[str | None, typer.Option(help="The tenant of an administrator.", show_default=False)] = None,
    code: Annotated[bool, typer.Option("--code", help="Set up a second factor at once.")] = False,
    password_stdin: PasswordStdin = False,
    as_json: Json = False,
) -> None:
    """Add an account. Prints the password once, and with --code the secret of the second factor."""
    password = _password(name, password_stdin)
    with open_installation() as installation, installation.database.operating() as operator:
        of_tenant = tenants.find(operator, tenant) if tenant else None
        account = console_accounts.add(operator, name, role, hashing.hash_password(password), of_tenant)
        audit_log.record(operator, AuditActor(), Deed("account_added", name, account.tenant_id, details={"role": role.value}))
        facts = {"name": name, "role": role.value, "password": password}
        if code:
            facts |= _set_code(installation, operator, account)
    show_once(facts, as_json, f"Account {name} was added.")


@console_commands.command("list")
def list_accounts(as_json: Json = False) -> None:
    """List the accounts of the console."""
    with open_installation() as installation, installation.database.operating() as operator:
        rows = [
            {
                "name": account.name,
                "role": account.role,
                "tenant": tenant,
                "active": account.active,
                "secondFactor": account.code_sealed is not None,
                "lastLogin": account.last_login_at,
            }
            for account, tenant in console_accounts.visible(operator)
        ]
    show(rows, as_json, "Accounts")


@console_commands.command("disable")
def disable_account(name: AccountName, as_json: Json = False) -> None:
    """Disable an account. Its logins end at once."""
    with _open_account(name, "account_disabled") as (_, operator, account):
        account.active = False
        console_accounts.end_sessions(operator, account.id)
    say(f"Account {name} is disabled.", as_json)


@console_commands.command("enable")
def enable_account(name: AccountName, as_json: Json = False) -> None:
    """Enable a disabled account."""
    with _open_account(name, "account_enabled") as (_, _, account):
        account.active = True
    say(f"Account {name} is enabled.", as_json)


@console_commands.command("password")
def reset_password(name: AccountName, password_stdin: PasswordStdin = False, as_json: Json = False) -> None:
    """Set a new password. Logins of the account end. Prints the password once."""
    password = _password(name, password_stdin)
    with _open_account(name, "password_reset") as (_, operator, account):
        console_accounts.change_password(operator, account.id, hashing.hash_password(password))
    show_once({"name": name, "password": password}, as_json, f"Account {name} has a new password.")


@console_commands.command("code")
def set_code(
    name: AccountName,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the second factor.")] = False,
    as_json: Json = False,
) -> None:
    """Set up a second factor (TOTP) for an account, or remove it. Prints its secret once."""
    with _open_account(name, "code_removed" if remove else "code_set") as (installation, operator, account):
        if remove:
            sealed_values.put_code_secret(operator, installation.vault, account, None)
            say(f"Account {name} has no second factor any more.", as_json)
        else:
            show_once(_set_code(installation, operator, account), as_json, f"Account {name} has a new second factor.")


@contextmanager
def _open_account(name: str, action: str) -> Iterator[tuple[Installation, Owner, ConsoleAccount]]:
    """A transaction in which an account is changed, with its entry in the audit log."""
    with open_installation() as installation, installation.database.operating() as operator:
        account = console_accounts.find(operator, name, lock=True)
        yield installation, operator, account
        audit_log.record(operator, AuditActor(), Deed(action, name, account.tenant_id))


def _set_code(installation: Installation, operator: Owner, account: ConsoleAccount) -> dict[str, str]:
    """A new second factor of an account: its secret to type, and its address to turn into a picture."""
    secret = one_time_codes.new_secret()
    sealed_values.put_code_secret(operator, installation.vault, account, secret)
    return {"codeSecret": one_time_codes.typed_secret(secret), "codeAddress": one_time_codes.address(secret, account.name)}


def _password(username: str, from_stdin: bool) -> str:
    """The password that was given, after checking it, or a generated one."""
    if not from_stdin:
        return hashing.new_secret()
    password = sys.stdin.readline().rstrip("\n")
    passwords.check(password, username)
    return password
