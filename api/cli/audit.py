"""The entries of commands in the audit log: what a command has changed, when it has succeeded.

Here is which commands change something, and which of their arguments name the object. Names of users are left out; the entry has
the id of the user. `kontor console` makes its own entries, in the transactions of its changes.
"""

from collections.abc import Mapping
from typing import Any

from typer._click.globals import get_current_context  # typer has its own copy of click, and no public name for this

from warehouse.errors import NotFound
from warehouse.postgres import audit_log
from warehouse.postgres.audit_log import AuditActor, Deed
from warehouse.postgres.database import Database, Owner
from warehouse.stores import tenants, users

CHANGES: Mapping[str, tuple[str, ...]] = {
    f"{group} {verb}": named
    for group, named, verbs in (
        ("tenant", (), "create set learn design disable enable add-callback remove-callback"),
        ("client", ("name",), "create rotate-secret disable enable"),
        ("role", ("client", "name"), "create assign unassign"),
        ("user", (), "create deactivate reactivate erase erase-again"),
        ("api-key", ("client", "key_id"), "create disable enable"),
        ("certificate", (), "renew"),
        ("webhook", ("client",), "set rotate remove"),
        ("payments", ("payment",), "settle look"),
        ("providers", ("provider",), "import resume fetch-again forget-refusals enable disable"),
        ("model", ("version",), "learn promote rollback"),
        ("credit-risk", ("version",), "promote rollback"),
        ("keys", (), "rotate prune"),
        ("lake", (), "share unshare"),
    )
    for verb in verbs.split()
}
"""The commands that change something, each with the arguments that name the object within its tenant."""


def leave_entry(database: Database) -> None:
    """Adds the entry of the command that runs, if it is one that changes something."""
    context = get_current_context(silent=True)
    if context is None:
        return
    command = " ".join(context.command_path.split()[1:])
    if command in CHANGES:
        with database.operating() as operator:
            audit_log.record(operator, AuditActor(), _deed(operator, command, context.params))


def _deed(operator: Owner, command: str, arguments: Mapping[str, Any]) -> Deed:
    object_names = [str(arguments[name]) for name in CHANGES[command] if arguments.get(name)]
    tenant = arguments.get("name") if command.startswith("tenant ") else arguments.get("tenant")
    action, object_id = command.replace(" ", "_").replace("-", "_"), " ".join(object_names) or None
    try:
        tenant_id = tenants.find(operator, tenant).id if tenant else None
    except NotFound:
        return Deed(action, object_id)
    name = arguments.get("username") or arguments.get("user")
    user = users.find_by_name(operator.for_tenant(tenant_id), str(name)) if tenant_id and name else None
    return Deed(action, object_id, tenant_id, user.id if user else None)
