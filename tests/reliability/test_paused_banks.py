"""A bank that fails for everybody is paused, shown as such, tried again by itself, and fetched again when it works."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from pipelines.banks.fints.bank import DEMO_BLZ, FINTS
from pipelines.banks.fints_bank.bank import read_journal
from pipelines.banks.fints_bank.server import FintsServer
from pipelines.fetching import outages
from pipelines.fetching.outages import MIN_FAILING_ACCESSES
from pipelines.operations import BankHealth, read_health
from tests.support.stack import Customer, Stack, TenantUnderTest, running_stack, wait_until
from warehouse.settings import Settings
from warehouse.stores import providers
from warehouse.stores.providers import ProviderEntry

PIN = "12345"
ALWAYS_ACCEPTED = """
CREATE FUNCTION accept_login() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN NEW.unanswered := 0; NEW.accepted_at := now() + interval ''1 day''; RETURN NEW; END';
CREATE TRIGGER accepted BEFORE INSERT OR UPDATE ON login_attempts FOR EACH ROW EXECUTE FUNCTION accept_login()
"""
"""Pauses are about banks. What a lost answer means for a login is tried elsewhere, and would end fetches before a pause."""


@pytest.fixture(scope="module")
def stack(bank: FintsServer, homes: Path) -> Iterator[Stack]:
    with running_stack(homes / "paused", KONTOR_FINTS_DEMO_URL=bank.url, KONTOR_WORKERS="1") as running:
        with psycopg.connect(running.where.migration, autocommit=True) as connection:
            connection.execute(ALWAYS_ACCEPTED)
        yield running


@pytest.fixture
def provider(stack: Stack) -> UUID:
    """A bank of the catalogue with logins of its own, that the simulated one stands for."""
    entry = ProviderEntry(uuid4(), "Bank auf Probe", FINTS, blz=DEMO_BLZ)
    with stack.database.operating() as operator:
        providers.upsert(operator, [entry])
    return entry.id


def connected(tenant: TenantUnderTest, provider: UUID, user_id: str) -> Customer:
    """A new customer with an access, whose first fetch has ended."""
    customer = tenant.customer()
    own_id = f"{user_id}_{customer.username.replace('-', '')}"
    entry = {"providerId": str(provider), "credentials": tenant.encrypted(userid=own_id, pin=PIN)}
    assert customer.call("POST", "/bankzugaenge", json={"bank": entry}).status_code == 201
    customer.wait_idle("bank", 60)
    return customer


def row(stack: Stack, provider: UUID) -> Any:
    return stack.sql("SELECT paused_at, pause_code, retry_at, trial_fetch_id FROM providers WHERE id = :id", id=provider)[0]


def catalogue_entry(customer: Customer, provider: UUID) -> dict[str, Any]:
    """The entry of the bank, which is the same alone and in the list."""
    http = customer.tenant.stack.http
    entry: dict[str, Any] = http.get(f"/providers/v2/{provider}", headers=customer.bearer).raise_for_status().json()
    listed = http.get("/providers/v2", params={"blz": DEMO_BLZ}, headers=customer.bearer).raise_for_status().json()
    assert entry in listed
    return entry


def health_of(stack: Stack, provider: UUID) -> BankHealth:
    rows = read_health(stack.database, Settings(), datetime.now(UTC))
    return next(health for health in rows if health.provider == str(provider))


def messages_of(bank: FintsServer, fragment: str = "test_") -> int:
    return sum(fragment in entry["user_id"] for entry in read_journal(bank.bank.folder))


def wait_for_idle(stack: Stack, provider: UUID) -> None:
    running = "SELECT count(*) FROM accesses WHERE provider_id = :id AND fetch_id IS NOT NULL"
    wait_until(lambda: stack.sql(running, id=provider)[0][0] == 0, 60)


def make_due(stack: Stack, provider: UUID) -> None:
    stack.sql("UPDATE providers SET retry_at = now() - interval '1 second' WHERE id = :id", id=provider)


@pytest.fixture
def paused_bank(stack: Stack, provider: UUID, bank: FintsServer) -> tuple[TenantUnderTest, list[Customer]]:
    tenant = stack.tenant()
    customers = [connected(tenant, provider, "test_unreachable") for _ in range(MIN_FAILING_ACCESSES)]
    wait_until(lambda: row(stack, provider).paused_at is not None, 30)
    wait_for_idle(stack, provider)
    return tenant, customers


def test_a_bank_that_fails_for_everybody_is_paused_and_shown_so(
    stack: Stack, provider: UUID, paused_bank: tuple[TenantUnderTest, list[Customer]]
) -> None:
    _, customers = paused_bank
    assert row(stack, provider).pause_code == "BA1051"
    assert (
        catalogue_entry(customers[0], provider)["pausedSince"]
        == f"{row(stack, provider).paused_at.astimezone(Settings().zone):%F %T}"
    )
    lines = [line for line in stack.log_lines() if line["event"] == "bank_paused" and line["provider"] == str(provider)]
    assert [(line["level"], line["accesses"]) for line in lines] == [("error", MIN_FAILING_ACCESSES)]
    metrics = stack.http.get("/metrics").text
    assert 'kontor_bank_paused{provider="Bank auf Probe"} 1.0' in metrics
    wait_until(lambda: health_of(stack, provider).sessions == MIN_FAILING_ACCESSES, 30)
    health = health_of(stack, provider)
    assert (health.sessions, health.faults) == (MIN_FAILING_ACCESSES, {"BA1051": MIN_FAILING_ACCESSES})
    assert health.last_contact_at is None
    assert health.retry_at is not None


def test_a_paused_bank_is_not_asked_but_by_one_access_at_a_time(
    stack: Stack, provider: UUID, bank: FintsServer, paused_bank: tuple[TenantUnderTest, list[Customer]]
) -> None:
    before = messages_of(bank)
    assert outages.fetch_again(stack.database, provider) == MIN_FAILING_ACCESSES
    wait_for_idle(stack, provider)
    assert messages_of(bank) == before
    make_due(stack, provider)
    wait_until(lambda: row(stack, provider).retry_at > datetime.now(UTC), 30)
    wait_for_idle(stack, provider)
    assert messages_of(bank) == before + 1, "one access has tried the bank, with one message"
    assert row(stack, provider).paused_at is not None
    wait_until(lambda: health_of(stack, provider).sessions == MIN_FAILING_ACCESSES + 1, 30)


def test_the_first_answer_ends_the_pause_and_everybody_is_fetched_again(
    stack: Stack, provider: UUID, bank: FintsServer, paused_bank: tuple[TenantUnderTest, list[Customer]]
) -> None:
    tenant, customers = paused_bank
    before = {customer.username: messages_of(bank, customer.username.replace("-", "")) for customer in customers}
    answered = connected(tenant, provider, "test_one_step")  # somebody who waits is let through
    assert answered.codes("bank") == []
    wait_until(lambda: row(stack, provider).paused_at is None, 30)
    for customer in customers:
        wait_until(lambda c=customer: messages_of(bank, c.username.replace("-", "")) > before[c.username], 30)
    assert "pausedSince" not in catalogue_entry(customers[0], provider)
    wait_until(lambda: health_of(stack, provider).fetched == 1, 30)
    health = health_of(stack, provider)
    assert (health.fetched, health.paused_at) == (1, None)
    assert health.last_data_at is not None
    assert health.mean_seconds > 0


def test_faults_of_some_pause_nobody(stack: Stack, provider: UUID) -> None:
    tenant = stack.tenant()
    for _ in range(MIN_FAILING_ACCESSES - 1):
        connected(tenant, provider, "test_unreachable")
    needs_confirmation = connected(tenant, provider, "test_app")
    assert needs_confirmation.codes("bank") == ["BA3010"]
    refused = connected(tenant, provider, "test_wrong_pin")
    assert refused.codes("bank") == ["BA1011"]
    connected(tenant, provider, "test_unreachable")
    wait_until(lambda: health_of(stack, provider).sessions == MIN_FAILING_ACCESSES + 2, 30)
    assert row(stack, provider).paused_at is None
    health = health_of(stack, provider)
    assert health.faults == {"BA1051": MIN_FAILING_ACCESSES, "BA1011": 1, "BA3010": 1}
    assert health.share_sca == pytest.approx(1 / (MIN_FAILING_ACCESSES + 2))
