"""Erasing a person, looked at from outside: texts that nobody else has are in many places before, and nowhere ever after."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.cli.dagster import environment
from models.simulator.worlds import World
from pipelines import erase, training
from pipelines.context import Context
from pipelines.fetching import landing
from pipelines.results import tasks
from tests.support.accounts import add_rule, category
from tests.support.searching import found
from tests.support.stack import PASSWORD, Customer, Stack, is_ready, running_stack, wait_until
from tests.support.whole_way import whole_way
from warehouse.lake.tables import LANDING, PRODUCTS, TRANSACTION_TAGS, TRANSACTIONS
from warehouse.postgres.embedded import pg_ctl
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
BUCKETS = 2
NAME, COUNTERPARTY, IBAN, PURPOSE = (
    "zeisig-xanthippe",
    "Quastenflosser Ypsilon",
    "DE02500105170137075030",
    "Nashornsattel Überführung",
)
ERASING = """
import dagster as dg
from pipelines.definitions import defs
with dg.DagsterInstance.get() as instance:
    assert defs.resolve_job_def("erasure_job").execute_in_process(instance=instance).success
"""


@pytest.fixture(scope="module")
def stack(homes: Path) -> Iterator[Stack]:
    """A service of few buckets, with nobody in it that these tests have not put there."""
    with running_stack(homes / "erasure", KONTOR_BUCKETS=str(BUCKETS), KONTOR_WORKERS="1") as running:
        yield running


@pytest.fixture
def house(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    for name, value in stack.told.items():
        monkeypatch.setenv(name, value)
    tasks._context.cache_clear()
    yield tasks._context()
    tasks._context().database.close()
    tasks._context.cache_clear()


@dataclass(frozen=True)
class Canary:
    """A customer with texts of its own: typed by people, pushed by its tenant, and said by its bank."""

    customer: Customer
    texts: frozenset[str]
    beside: Customer


@pytest.fixture(scope="module")
def canary(stack: Stack) -> Canary:
    """A customer who has all that a customer can have, beside another one."""
    tenant = stack.tenant()
    stack.sql("UPDATE tenants SET learns = true WHERE id = :id", id=tenant.tenant_id)
    beside = tenant.customer()
    beside.connected("household2", pin="demo")
    answer = stack.http.post(tenant.path("users"), json={"username": NAME, "password": PASSWORD}, headers=tenant.bearer("admin"))
    assert answer.status_code == 201, answer.text
    tenant.users[NAME] = stack.sql("SELECT id FROM users WHERE username = :name", name=NAME)[0][0]
    assert tenant.token_answer("app", NAME, password="wrong").status_code in (400, 401)
    customer = Customer(tenant, NAME, tenant.bearer("app", NAME))
    access = customer.connected("household424242", pin="demo")
    product = customer.access(access)["bankprodukte"][0]
    told = customer.bookings(access, product["id"])
    path = f"/bankzugaenge/{access}/{product['id']}/kontoumsaetze"
    booking = {"betrag": -10, "buchungsdatum": "2026-11-02 00:00:00", "identifier": {"batchId": "one"}}
    booking |= {"gegenkontoInhaber": COUNTERPARTY, "gegenkontoIban": IBAN, "verwendungszweck": PURPOSE}
    assert customer.call("POST", path, json=[booking]).status_code == 201
    (pushed,) = (row["id"] for row in customer.read(path) if row.get("gegenkontoIban") == IBAN)
    assert customer.call("PUT", f"{path}/{pushed}", json={"tags": category("HOUSING_RENT")}).status_code in (200, 204)
    add_rule(stack.http, customer.bearer, counterpartyName=COUNTERPARTY, counterpartyIban=IBAN)
    said = max((row["verwendungszweck"] for row in told if row.get("verwendungszweck")), key=len)
    of_bank = {product["iban"], product["inhaber"], said}
    return Canary(customer, frozenset({NAME, COUNTERPARTY, IBAN, PURPOSE, *of_bank}), beside)


def dagster(stack: Stack, *command: str) -> None:
    """A process of Dagster, with the database and the folders that `kontor up` gives it; its output is a file of the house."""
    settings = Settings(home=stack.home)
    told = {**environment(settings, stack.where), **stack.told}
    with (stack.home / "logs" / "dagster.log").open("ab") as log:
        subprocess.run([sys.executable, "-W", "ignore", *command], cwd=ROOT, env=told, stdout=log, stderr=log, check=True)


def everything_again(house: Context) -> None:
    """All that might bring somebody back: what the banks said, and everything that follows from the ledger."""
    for bucket in range(BUCKETS):
        tasks.replay_buckets([bucket], everything=True)
        whole_way(bucket)
    training.make_training_set(house.settings.home, World(users=2, seed=3), house.database)


def tables(places: set[str]) -> set[str]:
    """The tables of the database and the lake, and whatever else was found."""
    return {"/".join(Path(place).parts[:2]) if place.startswith("lake") else place for place in places}


@pytest.mark.parametrize("left", [1, pytest.param(0, marks=pytest.mark.thorough)])
def test_a_deleted_access_is_found_nowhere_and_what_is_left_of_its_user_comes_back(
    stack: Stack, house: Context, left: int
) -> None:
    customer = stack.tenant().customer()
    goes, *others = (customer.connected(f"household{7 + 10 * left + number}", pin="demo") for number in range(1 + left))
    ibans = [customer.access(key)["bankprodukte"][0]["iban"] for key in (goes, *others)]
    for bucket in range(BUCKETS):
        whole_way(bucket)
    assert {"kontor.products", "lake/landing", "lake/products"} <= tables(found(stack, ibans)[ibans[0]])
    assert customer.call("DELETE", f"/bankzugaenge/{goes}").status_code == 200
    erase.purge(house, datetime.now(UTC))
    assert found(stack, ibans)[ibans[0]] == set()
    assert str(customer.user_id) not in house.lake.read(TRANSACTION_TAGS)["user"]
    assert stack.sql("SELECT 1 FROM results WHERE user_id = :user", user=customer.user_id) == []
    for bucket in range(BUCKETS):
        whole_way(bucket)
    again = found(stack, ibans)
    assert again[ibans[0]] == set()
    assert all("lake/products" in tables(again[iban]) for iban in ibans[1:])


def test_an_erased_person_is_found_nowhere_and_nothing_brings_it_back(
    stack: Stack, canary: Canary, house: Context, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (stack.home / "logs").mkdir(exist_ok=True)
    everything_again(house)
    dagster(stack, "-m", "pipelines.materialise")

    before = found(stack, canary.texts)
    places = tables(set().union(*before.values()))
    assert [text for text, where in before.items() if not where] == []
    lake = {f"lake/{table.name}" for table in (LANDING, TRANSACTIONS, PRODUCTS)}
    assert lake <= places
    assert {f"kontor.{name}" for name in ("users", "transactions", "products", "category_rules", "results")} <= places
    assert "lake/contracts" in places
    assert f"models/training/{training.FEEDBACK}" in places
    assert [place for place in places if place.startswith("dagster") or place.endswith((".log", "/log"))] == []
    told = found(stack, ["analyses_job", '"level":"info"'])
    assert {"dagster.event_logs", "dagster.runs", "logs/dagster.log"} <= told["analyses_job"], "Dagster's rows are looked at"
    assert {"api.log", "worker.log"} <= told['"level":"info"']

    backup = backed_up(stack)
    erase.erase_user(house, canary.customer.tenant.tenant_id, canary.customer.user_id)
    dagster(stack, "-c", ERASING)
    assert nowhere(stack, canary)

    everything_again(house)
    assert nowhere(stack, canary)

    house.database.close()
    restored(stack, backup)
    again = found(stack, canary.texts)
    assert "kontor.transactions" in again[PURPOSE], "the backup is older than the erasure"
    everything_again(house)
    dagster(stack, "-c", ERASING)
    everything_again(house)
    assert nowhere(stack, canary)
    assert str(canary.beside.user_id) in house.lake.read(TRANSACTION_TAGS)["user"], "the other one is still there"
    assert erase.purge(house, datetime.now(UTC)) == []
    assert landing.replay(house, landing.pieces_of(house.lake, range(BUCKETS)), everything=True).changed == 0


def nowhere(stack: Stack, canary: Canary) -> bool:
    left = {text: places for text, places in found(stack, canary.texts).items() if places}
    assert left == {}
    return True


def backed_up(stack: Stack) -> Path:
    """A copy of the database's files, made while it stands still."""
    data, copy = stack.home / "postgres", stack.home.parent / "erasure-backup"
    pg_ctl(data, "stop", "-m", "fast")
    subprocess.run(["cp", "-a", data, copy], check=True)
    pg_ctl(data, "start")
    wait_until(lambda: is_ready(stack.http), 60)
    return copy


def restored(stack: Stack, backup: Path) -> None:
    data = stack.home / "postgres"
    pg_ctl(data, "stop", "-m", "fast")
    shutil.rmtree(data)
    os.rename(backup, data)
    pg_ctl(data, "start")
    wait_until(lambda: is_ready(stack.http), 60)
