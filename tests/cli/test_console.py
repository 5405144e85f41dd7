"""`kontor console`: accounts of people who work with the console."""

import json
import uuid
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from api.cli import app, audit
from tests.support.stack import Stack
from warehouse.errors import Invalid, NameTaken, NotFound, PasswordCommon
from warehouse.postgres import console_accounts
from warehouse.secrets import one_time_codes, sealed_values


@pytest.fixture(autouse=True)
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(stack.home))
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.service)


def kontor(*arguments: str, typed: str | None = None) -> Any:
    result = CliRunner().invoke(app, ["console", *arguments, "--json"], catch_exceptions=False, input=typed)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def account(stack: Stack, name: str) -> Any:
    with stack.database.operating() as operator:
        row = console_accounts.find(operator, name)
        return row, sealed_values.code_secret(stack.vault, row)


def new_name() -> str:
    return f"cli-{uuid.uuid4().hex[:8]}"


def actions(stack: Stack, name: str) -> list[str]:
    rows = stack.sql("SELECT action, actor FROM audit_entries WHERE object_id = :name ORDER BY id", name=name)
    assert {row.actor for row in rows} == {"kontor"}
    return [row.action for row in rows]


def test_an_account_is_added_changed_and_listed(stack: Stack) -> None:
    name = new_name()
    facts = kontor("add", name, "--role", "operator")
    stack.private.add(facts["password"])
    first, secret = account(stack, name)
    assert (first.role, first.tenant_id, secret) == ("operator", None, None)
    assert facts["password"] not in first.password_hash
    stack.private.add(kontor("password", name)["password"])
    assert account(stack, name)[0].password_hash != first.password_hash
    code = kontor("code", name)
    assert one_time_codes.typed_secret(account(stack, name)[1]) == code["codeSecret"]
    kontor("code", name, "--remove")
    assert account(stack, name)[1] is None
    kontor("disable", name)
    assert [row["active"] for row in kontor("list") if row["name"] == name] == [False]
    kontor("enable", name)
    assert actions(stack, name) == [
        "account_added",
        "password_reset",
        "code_set",
        "code_removed",
        "account_disabled",
        "account_enabled",
    ]


def test_an_administrator_has_a_tenant_and_an_operator_none(stack: Stack) -> None:
    tenant, name = stack.tenant(), new_name()
    kontor(
        "add", name, "--role", "tenant", "--tenant", tenant.name, "--code", "--password-stdin", typed="ein Satz, der lang ist\n"
    )
    row, secret = account(stack, name)
    assert (row.tenant_id, secret is not None) == (tenant.tenant_id, True)
    with pytest.raises(Invalid):
        kontor("add", new_name(), "--role", "tenant")
    with pytest.raises(Invalid):
        kontor("add", new_name(), "--role", "operator", "--tenant", tenant.name)
    with pytest.raises(NotFound):
        kontor("add", new_name(), "--role", "tenant", "--tenant", "nobody")
    with pytest.raises(NameTaken):
        kontor("add", name, "--role", "operator")
    with pytest.raises(PasswordCommon):
        kontor("add", new_name(), "--role", "operator", "--password-stdin", typed="passwort123\n")
    with pytest.raises(NotFound):
        kontor("disable", "nobody")


def test_second_factors_follow_a_new_key(stack: Stack) -> None:
    """Rotation seals them again, so that an old key can be removed."""
    name = new_name()
    kontor("add", name, "--role", "operator", "--code")
    before, secret = account(stack, name)
    with stack.database.operating() as operator:
        counts = sealed_values.count_by_key(operator)
    assert counts[before.code_key_id] >= 1
    stack.sql("UPDATE console_accounts SET code_key_id = 'gone' WHERE name = :name", name=name)
    with stack.database.operating() as operator:
        assert "gone" in sealed_values.count_by_key(operator), "a key that sealed one is in use"
    stack.sql("UPDATE console_accounts SET code_key_id = :id WHERE name = :name", id=before.code_key_id, name=name)
    assert account(stack, name)[1] == secret


def test_what_other_commands_change_is_in_the_audit_log(stack: Stack) -> None:
    tenant = stack.tenant()
    name = tenant.add_user()
    for arguments in (
        ["tenant", "add-callback", tenant.name, "https://app.example.de/return"],
        ["client", "rotate-secret", tenant.name, "app", "--json"],
        ["user", "list", tenant.name],
        ["user", "deactivate", tenant.name, name],
    ):
        assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    with pytest.raises(NotFound):
        CliRunner().invoke(app, ["client", "disable", tenant.name, "nobody"], catch_exceptions=False)
    query = "SELECT actor, action, object_id, user_id FROM audit_entries WHERE tenant_id = :tenant ORDER BY id"
    assert [tuple(row) for row in stack.sql(query, tenant=tenant.tenant_id)] == [
        ("kontor", "tenant_add_callback", None, None),
        ("kontor", "client_rotate_secret", "app", None),
        ("kontor", "user_deactivate", None, tenant.users[name]),
    ]


def test_every_command_that_changes_something_is_one_of_ours() -> None:
    commands: dict[str, Any] = vars(get_command(app))["commands"]
    groups = {name: set(group.commands) for name, group in commands.items() if hasattr(group, "commands")}
    strangers = [command for command in audit.CHANGES if command.split()[1] not in groups[command.split()[0]]]
    assert strangers == []
    reading = {
        "list",
        "show",
        "check",
        "events",
        "unknown",
        "health",
        "failing",
        "env",
        "measure",
        "calibrate",
        "password",
        "shares",
    }
    programs = {
        "webserver",
        "daemon",
        "scheduler",
        "worker",
        "schema",
        "analyses",
        "blind",
        "households",
        "seed",
        "create",
        "split",
    }
    missing = {
        f"{group} {command}"
        for group, commands in groups.items()
        for command in commands - reading - programs
        if group != "console" and f"{group} {command}" not in audit.CHANGES
    }
    assert missing == set()
