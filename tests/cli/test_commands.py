"""The command line, command by command, against a real database."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from cryptography import x509
from typer.testing import CliRunner

from analytics.analyses import suite
from api.cli import app
from tests.support.stack import PASSWORD, Stack
from warehouse import scopes
from warehouse.errors import AlreadyActive, Invalid, KeysMissing, KontorError, NameTaken, NotFound

SECRET = "ein-gewähltes:Geheimnis-mit-genügend-Länge"


@pytest.fixture(autouse=True)
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(stack.home))
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.service)
    monkeypatch.setenv("KONTOR_MIGRATION_URL", stack.where.migration)
    monkeypatch.setenv("KONTOR_BASE_URL", stack.base_url)


def kontor(*arguments: str, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def kontor_json(*arguments: str, stdin: str | None = None) -> Any:
    return json.loads(kontor(*arguments, "--json", stdin=stdin))


@pytest.fixture(scope="module")
def name() -> str:
    return "cli-tenant"


@pytest.fixture
def tenant(stack: Stack, name: str) -> dict[str, Any]:
    """A tenant that the command line made, with fresh secrets."""
    if not stack.sql("SELECT 1 FROM tenants WHERE name = :name", name=name):
        kontor_json("tenant", "create", name, "--description", "Made by hand", "--callback", "https://app.example.de/back")
    return {client: kontor_json("client", "rotate-secret", name, client)["secret"] for client in ("admin", "app")}


def login(http: httpx.Client, name: str, client: str, secret: str, **form: str) -> int:
    data = {"grant_type": "client_credentials", **form}
    return http.post("/auth/oauth2/token", data=data, auth=(f"{name}/{client}", secret)).status_code


def bearer(http: httpx.Client, name: str, client: str, secret: str) -> dict[str, str]:
    answer = http.post("/auth/oauth2/token", data={"grant_type": "client_credentials"}, auth=(f"{name}/{client}", secret))
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


def test_what_computes_is_not_loaded_before_a_command_needs_it() -> None:
    code = "import sys, api.cli; print(*sorted({'polars', 'numba', 'duckdb', 'dagster', 'fastapi'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []


def test_a_tenant_made_by_the_command_line_can_work_at_once(http: httpx.Client, stack: Stack) -> None:
    made = kontor_json("tenant", "create", "cli-fresh", "--redirect")
    assert made["regulated"] is False
    for client, given in made["clients"].items():
        assert given["username"] == f"cli-fresh/{client}"
        assert login(http, "cli-fresh", client, given["secret"]) == 200
    with pytest.raises(NameTaken):
        kontor("tenant", "create", "cli-fresh")
    with pytest.raises(Invalid):
        kontor("tenant", "create", "Not A Name")


def test_secrets_are_printed_once_with_a_warning() -> None:
    shown = kontor("tenant", "create", "cli-shown")
    assert re.search(r"clients admin secret: [\w-]{43}\n", shown)
    assert "shown once" in shown
    assert "secret" not in kontor("tenant", "show", "cli-shown")


def test_tenants_are_listed_shown_changed_and_shut_out(http: httpx.Client, tenant: dict[str, Any], name: str) -> None:
    assert name in [row["name"] for row in kontor_json("tenant", "list")]
    assert name in kontor("tenant", "list")
    assert kontor_json("tenant", "show", name)[0]["callbacks"] == ["https://app.example.de/back"]
    kontor("tenant", "add-callback", name, "https://two.example.de")
    assert kontor_json("tenant", "show", name)[0]["callbacks"] == ["https://app.example.de/back", "https://two.example.de/"]
    kontor("tenant", "remove-callback", name, "https://two.example.de/")
    with pytest.raises(NotFound):
        kontor("tenant", "remove-callback", name, "https://two.example.de/")
    kontor("tenant", "set", name, "--redirect")
    assert kontor_json("tenant", "show", name)[0]["regulated"] is False
    kontor("tenant", "set", name, "--regulated", "--token-form", "uuid")
    assert kontor_json("tenant", "show", name)[0]["tokenForm"] == "uuid"
    kontor("tenant", "set", name, "--token-form", "default")
    assert (shown := kontor_json("tenant", "show", name)[0])["tokenForm"] is None
    assert shown["regulated"] is True, "what is not named stays"
    token = bearer(http, name, "admin", tenant["admin"])
    kontor("tenant", "disable", name)
    assert login(http, name, "admin", tenant["admin"]) == 401
    kontor("tenant", "enable", name)
    assert login(http, name, "admin", tenant["admin"]) == 200
    assert http.get("/auth/mgmt/v1/tenants", headers=token).status_code == 403, "no token is revived"
    with pytest.raises(NotFound, match="tenant nobody"):
        kontor("tenant", "show", "nobody")


def test_clients(http: httpx.Client, tenant: dict[str, Any], name: str) -> None:
    made = kontor_json("client", "create", name, "batch", "--scope", scopes.TENANTS_READ, "--secret-stdin", stdin=f"{SECRET}\n")
    assert made == {"username": f"{name}/batch", "secret": SECRET}
    assert login(http, name, "batch", SECRET) == 200
    assert {row["name"] for row in kontor_json("client", "list", name)} == {"admin", "app", "batch"}
    renewed = kontor_json("client", "rotate-secret", name, "batch")["secret"]
    assert (login(http, name, "batch", SECRET), login(http, name, "batch", renewed)) == (401, 200)
    token = bearer(http, name, "batch", renewed)
    kontor("client", "disable", name, "batch")
    assert login(http, name, "batch", renewed) == 401
    kontor("client", "enable", name, "batch")
    assert login(http, name, "batch", renewed) == 200
    assert http.get("/auth/mgmt/v1/tenants", headers=token).status_code == 403, "no token is revived"
    with pytest.raises(Invalid, match="at least 32 characters"):
        kontor("client", "create", name, "weak", "--scope", scopes.TENANTS_READ, "--secret-stdin", stdin="short\n")
    with pytest.raises(Invalid, match="unknown scope"):
        kontor("client", "create", name, "odd", "--scope", "nonsense")


def test_a_new_client_secret_ends_the_tokens_of_the_old_one(http: httpx.Client, tenant: dict[str, Any], name: str) -> None:
    form = {"grant_type": "client_credentials"}
    token = http.post("/auth/oauth2/token", data=form, auth=(f"{name}/admin", tenant["admin"])).json()["access_token"]
    kontor("client", "rotate-secret", name, "admin")
    assert http.get("/auth/mgmt/v1/tenants", headers={"Authorization": f"Bearer {token}"}).status_code == 403


def test_with_an_overlap_the_old_secret_and_its_tokens_live_on_for_a_while(
    http: httpx.Client, stack: Stack, tenant: dict[str, Any], name: str
) -> None:
    form = {"grant_type": "client_credentials"}
    token = http.post("/auth/oauth2/token", data=form, auth=(f"{name}/admin", tenant["admin"])).json()["access_token"]
    renewed = kontor_json("client", "rotate-secret", name, "admin", "--overlap-hours", "1")["secret"]
    assert (login(http, name, "admin", tenant["admin"]), login(http, name, "admin", renewed)) == (200, 200)
    assert http.get("/auth/mgmt/v1/tenants", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    stack.sql("UPDATE clients SET previous_secret_until = now() WHERE previous_secret_hash IS NOT NULL")
    assert (login(http, name, "admin", tenant["admin"]), login(http, name, "admin", renewed)) == (401, 200)


def test_users_and_roles(http: httpx.Client, tenant: dict[str, Any], name: str) -> None:
    made = kontor_json("user", "create", name, "Käthe", "--password-stdin", stdin=f"{PASSWORD}\n")
    form = {"grant_type": "password", "username": "käthe", "password": PASSWORD}
    assert login(http, name, "app", tenant["app"], **form) == 200
    assert made["userReference"] in [row["userReference"] for row in kontor_json("user", "list", name)]
    kontor("role", "create", name, "app", "auditor", "--scope", scopes.CUSTOMER_READ)
    assert {row["name"] for row in kontor_json("role", "list", name, "app")} == {"customer", "auditor"}
    kontor("role", "assign", name, "app", "auditor", "KÄTHE")
    kontor("role", "unassign", name, "app", "customer", "käthe")
    answer = http.post("/auth/oauth2/token", data=form, auth=(f"{name}/app", tenant["app"]))
    assert answer.json()["scope"] == scopes.CUSTOMER_READ
    kontor("user", "deactivate", name, "käthe")
    assert login(http, name, "app", tenant["app"], **form) == 401
    assert "Käthe" not in kontor("user", "list", name)
    assert "Käthe" in kontor("user", "list", name, "--include-inactive")
    password = kontor_json("user", "reactivate", name, "käthe")["password"]
    assert login(http, name, "app", tenant["app"], **{**form, "password": password}) == 200
    with pytest.raises(AlreadyActive):
        kontor("user", "reactivate", name, "käthe")
    with pytest.raises(NotFound):
        kontor("role", "assign", name, "app", "auditor", "nobody")


def test_api_keys(http: httpx.Client, tenant: dict[str, Any], name: str) -> None:
    kontor("user", "create", name, "keyholder")
    made = kontor_json("api-key", "create", name, "app", "keyholder")
    assert http.post("/one/bc-token", headers={"X-API-KEY": made["apiKey"]}).status_code == 200
    assert made["id"] in [row["id"] for row in kontor_json("api-key", "list", name)]
    assert made["apiKey"] not in kontor("api-key", "list", name)
    issued = http.post("/one/bc-token", headers={"X-API-KEY": made["apiKey"]}).json()["access_token"]
    assert http.get("/customer/v2", headers={"Authorization": f"Bearer {issued}"}).status_code == 200
    kontor("api-key", "disable", name, made["id"])
    assert http.post("/one/bc-token", headers={"X-API-KEY": made["apiKey"]}).status_code == 401
    kontor("api-key", "enable", name, made["id"])
    assert http.post("/one/bc-token", headers={"X-API-KEY": made["apiKey"]}).status_code == 200
    assert http.get("/customer/v2", headers={"Authorization": f"Bearer {issued}"}).status_code == 403, "no token is revived"
    for command in ("disable", "enable"):
        with pytest.raises(NotFound):
            kontor("api-key", command, name, "00000000-0000-0000-0000-000000000001")


def test_certificates(tenant: dict[str, Any], name: str) -> None:
    shown = kontor("certificate", "show", name)
    assert x509.load_pem_x509_certificate(shown.encode()).subject.rfc4514_string() == f"O=Kontor,CN={name}"
    renewed = kontor("certificate", "renew", name)
    assert renewed != shown
    assert kontor("certificate", "show", name) == renewed


def test_keys_rotate_while_the_service_runs(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    before = next(row["id"] for row in kontor_json("keys", "list") if row["active"])
    kontor("keys", "rotate")
    rows = {row["id"]: row for row in kontor_json("keys", "list")}
    active = next(key for key, row in rows.items() if row["active"])
    assert active != before
    assert rows[before]["values"] == 0 < rows[active]["values"]
    kontor("keys", "prune")
    assert before not in {row["id"] for row in kontor_json("keys", "list")}
    body = {"Content-Type": "application/octet-stream+base64", **tenant.bearer("admin")}
    assert http.put("/encrypt", content=b"YQ==", headers=body).status_code == 200
    assert "already exists" in kontor("keys", "create")


def test_the_demo_is_seeded_once_and_its_credentials_work(http: httpx.Client, stack: Stack) -> None:
    kontor("demo", "seed")
    path = stack.home / "demo.json"
    content = json.loads(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600
    assert content["base_url"] == stack.base_url
    assert [(tenant["name"], tenant["regulated"]) for tenant in content["tenants"]] == [("demo", True), ("demo-redirect", False)]
    for tenant in content["tenants"]:
        assert len(tenant["users"]) >= 3
        assert tenant["clients"].keys() == {"admin", "app"}
        for user in tenant["users"]:
            form = {"grant_type": "password", "username": user["username"], "password": user["password"]}
            token = http.post("/auth/oauth2/token", data=form, auth=tuple(tenant["clients"]["app"].values()))
            assert token.json()["user"] == user["userReference"]
            assert UUID(token.json()["access_token"]).version == 4
        assert http.post("/one/bc-token", headers={"X-API-KEY": tenant["apiKey"]}).status_code == 200
    kontor("demo", "seed")
    assert json.loads(path.read_text()) == content
    assert kontor_json("tenant", "show", "demo-redirect")[0]["callbacks"] == ["http://127.0.0.1/", "http://localhost/"]
    path.unlink()
    kontor("demo", "seed")
    renewed = json.loads(path.read_text())
    assert renewed["tenants"][0]["clients"] != content["tenants"][0]["clients"]
    assert renewed["tenants"][0]["users"][0]["userReference"] == content["tenants"][0]["users"][0]["userReference"]
    assert http.post("/one/bc-token", headers={"X-API-KEY": content["tenants"][0]["apiKey"]}).status_code == 401


def test_an_inventory_counts_everything_and_notices_a_change(stack: Stack) -> None:
    def taken() -> dict[str, tuple[int, str]]:
        return {f"{row['where']} {row['name']}": (row["count"], row["checksum"]) for row in kontor_json("inventory")}

    tenant = stack.tenant()
    before = taken()
    assert {"postgresql users", "postgresql sealed_values", "lake transactions", "lake tombstones"} <= set(before)
    assert before["postgresql tenants"] == taken()["postgresql tenants"]
    stack.sql("UPDATE tenants SET description = 'another' WHERE id = :id", id=tenant.tenant_id)
    after = taken()
    assert after["postgresql tenants"][0] == before["postgresql tenants"][0]
    assert after["postgresql tenants"][1] != before["postgresql tenants"][1]


def test_migrate_says_what_it_did() -> None:
    assert kontor_json("migrate")["result"].startswith("The database schema is at ")


def test_ready_waits_for_the_api_and_fails_without_it(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_PORT", stack.told["KONTOR_PORT"])
    kontor("ready")
    with pytest.raises(KontorError, match="did not answer within"):
        kontor("ready", "--port", "1", "--seconds", "0.1")


def test_dagster_as_a_service_needs_a_database_of_the_operators_own() -> None:
    with pytest.raises(KontorError, match="set KONTOR_DATABASE_URL and KONTOR_DAGSTER_DATABASE_URL"):
        kontor("dagster", "daemon")


def test_a_command_without_tables_says_what_to_do(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.dagster)
    with pytest.raises(KontorError, match="kontor migrate"):
        kontor("tenant", "list")


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_PORT", "many")
    with pytest.raises(Invalid, match="KONTOR_PORT"):
        kontor("tenant", "list")


def test_the_service_does_not_start_without_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(tmp_path))
    with pytest.raises(KeysMissing, match="kontor keys create"):
        kontor("serve")


@pytest.mark.parametrize(
    ("password", "reason"),
    [("kurz", "at least 8 characters"), ("Sommer2026", "first that are tried"), ("otto-987", "name of its user")],
)
def test_a_weak_password_is_refused_with_the_reason(name: str, tenant: dict[str, Any], password: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        kontor("user", "create", name, "otto", "--password-stdin", stdin=f"{password}\n")


def test_an_error_is_one_sentence_and_exit_code_one() -> None:
    script = Path(sys.executable).with_name("kontor")
    failed = subprocess.run([script, "tenant", "show", "nobody"], capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "NotFound: tenant nobody\n"
    assert subprocess.run([script, "no-such-command"], capture_output=True).returncode == 2


def test_a_profile_shows_every_step_of_a_live_answer(stack: Stack) -> None:
    customer = stack.tenant().customer()
    tenant, user = customer.tenant.name, customer.username
    assert kontor_json("profile", tenant, user) == []
    customer.connected("demo1")
    steps = kontor_json("profile", tenant, user, "--runs", "1")
    by_name = {step["step"]: step for step in steps}
    bookings = len(customer.read("/kontoumsaetze", params={"limit": 10_000}))
    assert by_name["read bookings"]["rows"] == by_name["tags"]["rows"] == bookings
    assert by_name["contracts"]["rows"] == len(customer.read("/ai/contracts"))
    assert by_name["document contracts"]["rows"] == 3
    assert {step.replace("_", " ") for step in suite.STEPS} <= by_name.keys()
    total = by_name.pop("all steps")["ms"]
    assert total == pytest.approx(sum(step["ms"] for step in by_name.values()), abs=0.05 * len(by_name) + 0.1)
    assert re.search(r"contracts +│ +\d+\.\d +│ +\d+% +│ +\d+", kontor("profile", tenant, user, "--runs", "1"))
    with pytest.raises(NotFound):
        kontor("profile", tenant, "niemand")
