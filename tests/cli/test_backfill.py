"""`kontor backfill` and `kontor user erase`, as an operator types them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner

from api.cli import app
from pipelines.results import tasks
from tests.support.stack import Customer, Stack
from warehouse.errors import KontorError, NotFound
from warehouse.lake.buckets import bucket_of
from warehouse.settings import Settings

BUCKETS = 64


@pytest.fixture(scope="module")
def customer(stack: Stack) -> Customer:
    found = stack.tenant().customer()
    found.connected("demo2")
    return found


@pytest.fixture(autouse=True)
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands work on the running service's house, also after tests with a house of their own in the same process."""
    for name, value in stack.told.items():
        monkeypatch.setenv(name, value)
    tasks._context.cache_clear()
    yield
    if tasks._context.cache_info().currsize:
        tasks._context().database.close()
    tasks._context.cache_clear()


def kontor(*arguments: str) -> str:
    """What a command prints."""
    with structlog.testing.capture_logs():  # a process of its own would write them elsewhere
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def bucket(customer: Customer) -> str:
    return str(bucket_of(customer.user_id, BUCKETS))


def source(customer: Customer) -> str:
    (access,) = customer.read("/bankzugaenge")
    product = customer.access(access)["bankprodukte"][0]["id"]
    return str(
        customer.get(f"/bankzugaenge/{access}/{product}/kontoumsaetze", params={"tag": "true"}).headers["X-Analysis-Source"]
    )


def test_a_dry_run_counts_and_does_nothing(customer: Customer) -> None:
    planned = json.loads(kontor("backfill", "--asset", "ledger", "--buckets", bucket(customer), "--dry-run", "--json"))
    assert [step["asset"] for step in planned] == ["ledger", "transactions", "transaction_tags", "analyses", "served_results"]
    assert planned[0]["bookings"] > 0
    assert source(customer) == "live"


def test_a_backfill_makes_everything_ready(stack: Stack, customer: Customer) -> None:
    command = [
        str(Path(sys.executable).with_name("kontor")),
        "backfill",
        "--asset",
        "transactions",
        "--buckets",
        bucket(customer),
    ]
    done = subprocess.run(command, env={**os.environ, **stack.told}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "transaction_tags" in done.stdout
    assert "up to date" in done.stdout
    assert source(customer) == "precomputed"


def changes(*arguments: str) -> dict[str, int]:
    """The number of users or bookings that changed, by asset."""
    lines = [
        line.strip().split(": ") for line in kontor("backfill", *arguments).splitlines() if line.rstrip().endswith(" changed")
    ]
    return {asset: int(count.removesuffix(" changed")) for asset, count in lines}


def test_a_period_redoes_only_what_has_changed(customer: Customer) -> None:
    today = f"{datetime.now(Settings().zone):%Y-%m-%d}"
    changes("--asset", "ledger", "--buckets", bucket(customer), "--since", "2026-01-01")
    assert set(changes("--asset", "ledger", "--buckets", bucket(customer), "--since", today).values()) <= {0}
    assert changes("--asset", "analyses", "--buckets", bucket(customer), "--only")["analyses"] > 0, "all users without a period"
    planned = kontor(
        "backfill", "--asset", "ledger", "--buckets", bucket(customer), "--until", "2020-01-01", "--dry-run", "--json"
    )
    assert {step["buckets"] for step in json.loads(planned)} == {0}, "nothing landed then"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--asset", "ledger", "--since", "2026-11-03", "--until", "2026-11-02"], "is before --since"),
        (["--asset", "contracts_of_all"], "there are ledger, transactions"),
        (["--asset", "ledger", "--buckets", "64"], "numbered from 0 to 63"),
        (["--asset", "ledger", "--buckets", "x"], "3,7,20-29"),
        (["--asset", "ledger", "--buckets", "5-3"], "names no buckets"),
    ],
)
def test_what_makes_no_sense_is_said(arguments: list[str], said: str) -> None:
    with pytest.raises(KontorError, match=said):
        kontor("backfill", *arguments, "--dry-run")


def test_a_person_is_erased_with_a_receipt(stack: Stack, customer: Customer) -> None:
    name = customer.tenant.name
    (receipt,) = json.loads(kontor("user", "erase", name, customer.username, "--yes", "--json")).values()
    assert receipt["places"]["lake landing"]["removed"] > 0
    assert stack.sql("SELECT 1 FROM users WHERE id = :id", id=customer.user_id) == []
    assert receipt["places"]["postgresql transactions"]["removed"] > 0
    assert receipt["kept"]["logs"]
    with pytest.raises(NotFound):
        kontor("user", "erase", name, customer.username, "--yes")


def test_a_receipt_can_be_read_and_names_nobody(stack: Stack) -> None:
    tenant = stack.tenant()
    name = tenant.add_user()
    shown = kontor("user", "erase", tenant.name, name, "--yes")
    for place in ("postgresql users", "lake landing", "models/training", "postgresql tombstones"):
        assert place in shown
    assert name not in shown
    ((stored,),) = stack.sql("SELECT receipt::text FROM tombstones WHERE id = :id", id=tenant.users[name])
    assert name not in stored


def test_after_a_restore_everybody_is_erased_again(stack: Stack) -> None:
    """What a restore brings back: a user, without the tombstone that lake and file have."""
    tenant = stack.tenant()
    name = tenant.add_user()
    user_id = tenant.users[name]
    kontor("user", "erase", tenant.name, name, "--yes")
    stack.sql("DELETE FROM tombstones WHERE id = :id", id=user_id)
    row = "INSERT INTO users (id, tenant_id, username, username_key, password_hash) VALUES (:id, :tenant, :name, :name, 'none')"
    stack.sql(row, id=user_id, tenant=tenant.tenant_id, name=name)
    receipts = json.loads(kontor("user", "erase-again", "--json"))
    assert receipts[str(user_id)]["places"]["postgresql users"] == {"looked_at": 1, "removed": 1, "leftovers": 0}
    assert stack.sql("SELECT 1 FROM users WHERE id = :id", id=user_id) == []
