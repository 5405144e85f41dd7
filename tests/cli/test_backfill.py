"""`kontor backfill` and `kontor user erase`, as an operator types them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from api.cli import app
from tests.support.stack import Customer, Stack
from warehouse.errors import KontorError
from warehouse.lake.buckets import bucket_of

BUCKETS = 64


@pytest.fixture(scope="module")
def customer(stack: Stack) -> Customer:
    found = stack.tenant().customer()
    found.connected("demo2")
    return found


def kontor(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("kontor")), *arguments]
    return subprocess.run(command, env={**os.environ, **stack.told}, capture_output=True, text=True)


def bucket(customer: Customer) -> str:
    return str(bucket_of(customer.user_id, BUCKETS))


def source(customer: Customer) -> str:
    (access,) = customer.read("/bankzugaenge")
    product = customer.access(access)["bankprodukte"][0]["id"]
    return str(
        customer.get(f"/bankzugaenge/{access}/{product}/kontoumsaetze", params={"tag": "true"}).headers["X-Analysis-Source"]
    )


def test_a_dry_run_counts_and_does_nothing(stack: Stack, customer: Customer) -> None:
    done = kontor(stack, "backfill", "--asset", "ledger", "--buckets", bucket(customer), "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout)
    assert [step["asset"] for step in planned] == ["ledger", "transactions", "transaction_tags", "analyses", "served_results"]
    assert planned[0]["bookings"] > 0
    assert source(customer) == "live"


def test_a_backfill_makes_everything_ready(stack: Stack, customer: Customer) -> None:
    done = kontor(stack, "backfill", "--asset", "transactions", "--buckets", bucket(customer))
    assert done.returncode == 0, done.stderr
    assert "transaction_tags" in done.stdout
    assert "up to date" in done.stdout
    assert source(customer) == "precomputed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--asset", "contracts_of_all"], "there are ledger, transactions"),
        (["--asset", "ledger", "--buckets", "64"], "numbered from 0 to 63"),
        (["--asset", "ledger", "--buckets", "x"], "3,7,20-29"),
        (["--asset", "ledger", "--buckets", "5-3"], "names no buckets"),
    ],
)
def test_what_makes_no_sense_is_said(stack: Stack, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in stack.told.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(KontorError, match=said):
        CliRunner().invoke(app, ["backfill", *arguments, "--dry-run"], catch_exceptions=False)


def test_a_person_is_erased_with_a_receipt(stack: Stack, customer: Customer) -> None:
    name = customer.tenant.name
    done = kontor(stack, "user", "erase", name, customer.username, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    (receipt,) = json.loads(done.stdout).values()
    assert receipt["places"]["lake landing"]["removed"] > 0
    assert stack.sql("SELECT 1 FROM users WHERE id = :id", id=customer.user_id) == []
    assert receipt["places"]["postgresql transactions"]["removed"] > 0
    assert receipt["kept"]["logs"]
    again = kontor(stack, "user", "erase", name, customer.username, "--yes")
    assert (again.returncode, again.stderr.split(":")[0]) == (1, "NotFound")


def test_a_receipt_can_be_read_and_names_nobody(stack: Stack) -> None:
    tenant = stack.tenant()
    name = tenant.add_user()
    done = kontor(stack, "user", "erase", tenant.name, name, "--yes")
    assert done.returncode == 0, done.stderr
    for place in ("postgresql users", "lake landing", "models/training", "postgresql tombstones"):
        assert place in done.stdout
    assert name not in done.stdout
    ((stored,),) = stack.sql("SELECT receipt::text FROM tombstones WHERE id = :id", id=tenant.users[name])
    assert name not in stored


def test_after_a_restore_everybody_is_erased_again(stack: Stack) -> None:
    """What a restore brings back: a user, without the tombstone that lake and file have."""
    tenant = stack.tenant()
    name = tenant.add_user()
    user_id = tenant.users[name]
    assert kontor(stack, "user", "erase", tenant.name, name, "--yes").returncode == 0
    stack.sql("DELETE FROM tombstones WHERE id = :id", id=user_id)
    row = "INSERT INTO users (id, tenant_id, username, username_key, password_hash) VALUES (:id, :tenant, :name, :name, 'none')"
    stack.sql(row, id=user_id, tenant=tenant.tenant_id, name=name)
    done = kontor(stack, "user", "erase-again", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[str(user_id)]["places"]["postgresql users"] == {"looked_at": 1, "removed": 1, "leftovers": 0}
    assert stack.sql("SELECT 1 FROM users WHERE id = :id", id=user_id) == []
