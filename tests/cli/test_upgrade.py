"""A data directory that release 0.1.0 has made (`home-0.1.0.tar.xz`), opened by this release.

It has two tenants and three users of the demo bank, with bookings, a pushed one whose category its user corrected, a rule, a
payment, a webhook, tokens and an API key; its lake has two buckets. `expected.json` in it tells what 0.1.0 answered. The database
is a dump (`pg_dump --format=custom`), since the files of a server depend on the
machine. Of the user with many bookings, the results that lay ready to be served were left out, to keep the file small.
"""

import json
import tarfile
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from api.cli import app
from pipelines import erase
from pipelines.context import Context
from pipelines.results import tasks
from tests.soak.customers import ANALYSES
from tests.support.stack import Customer, Stack, TenantUnderTest, free_port, serving, start
from tests.support.whole_way import whole_way
from warehouse.errors import KontorError
from warehouse.lake.lake import Lake
from warehouse.lake.tables import TRANSACTIONS
from warehouse.postgres import dumps, embedded, migrate
from warehouse.postgres.embedded import Addresses
from warehouse.settings import Settings
from warehouse.stores import accesses, tombstones

STORED = Path(__file__).with_name("home-0.1.0.tar.xz")
BUCKETS = 2
OLD_REVISION = "0009"
LOGS = ["api.log", "worker.log"]
"""What the tests have put into the data directory."""


@pytest.fixture(scope="module")
def home(homes: Path) -> Path:
    """A copy of the stored data directory."""
    folder = homes / "upgraded"
    with tarfile.open(STORED) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def expected(home: Path) -> dict[str, Any]:
    """What 0.1.0 answered."""
    answers: dict[str, Any] = json.loads((home / "expected.json").read_text())
    (home / "expected.json").unlink()
    return answers


@pytest.fixture(scope="module")
def upgraded(home: Path, expected: dict[str, Any]) -> Iterator[Addresses]:  # which removes its file
    """The database of 0.1.0, with the tables of this release."""
    settings = Settings(_env_file=None, home=home, database_url=None)
    with embedded.addresses(settings) as where:
        dumps.restore(settings, where, home / "kontor.dump")
        (home / "kontor.dump").unlink()
        with pytest.raises(KontorError, match="kontor migrate"):
            migrate.require_tables(where.service)
        assert migrate.upgrade(where.migration, where.service_role) == (OLD_REVISION, migrate.newest())
        yield where


@pytest.fixture(scope="module")
def running(home: Path, upgraded: Addresses) -> Iterator[Stack]:
    """This release, serving what 0.1.0 has left."""
    settings = Settings(_env_file=None, home=home, port=free_port(), buckets=BUCKETS)
    with serving(settings, upgraded, {"KONTOR_BUCKETS": str(BUCKETS)}, start) as stack:
        yield stack


@pytest.fixture(scope="module")
def people(running: Stack, expected: dict[str, Any]) -> dict[str, Customer]:
    """The users with the tokens that 0.1.0 issued."""
    users = expected["users"]
    tenants = {
        name: TenantUnderTest(running, name, uuid.UUID(about["id"]), about["secrets"])
        for name, about in expected["tenants"].items()
    }
    for name, user in users.items():
        tenants[user["tenant"]].users[name] = uuid.UUID(user["id"])
    return {
        name: Customer(tenants[user["tenant"]], name, {"Authorization": f"Bearer {user['token']}"})
        for name, user in users.items()
    }


@pytest.fixture
def context(running: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """The data directory for tasks of this process."""
    for name, value in running.told.items():
        monkeypatch.setenv(name, value)
    tasks._context.cache_clear()
    yield tasks._context()
    tasks._context().database.close()
    tasks._context.cache_clear()


def test_tokens_passwords_and_keys_work(people: dict[str, Customer], expected: dict[str, Any]) -> None:
    for name, customer in people.items():
        assert customer.get("/bankzugaenge").status_code == 200
        assert customer.tenant.token_answer("app", name).status_code == 200
        assert customer.tenant.token_answer("admin").status_code == 200
    bert = people["bert"]
    answer = bert.tenant.stack.http.post("/one/bc-token", headers={"X-API-KEY": expected["api_key"]})
    assert (answer.status_code, answer.json()["user"]) == (200, str(bert.user_id))


def test_accesses_products_and_bookings_are_there(running: Stack, people: dict[str, Customer], expected: dict[str, Any]) -> None:
    assert {row[0]: row[1] for row in running.sql("SELECT key, status FROM accesses")} == expected["accesses"]
    for name, customer in people.items():
        access = customer.access(f"{name}-bank")
        count = sum(len(customer.bookings(f"{name}-bank", product["id"])) for product in access["bankprodukte"])
        assert count == expected["counts"][str(customer.user_id)]
    foreign = people["carla"].get("/bankzugaenge/anna-bank")
    assert foreign.status_code == 404, "of another tenant"


def test_logins_at_banks_can_be_decrypted(running: Stack, people: dict[str, Customer]) -> None:
    for name, userid in (("anna", "demo1"), ("bert", "test_many_3")):
        customer = people[name]
        with running.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
            login = accesses.credentials(owner, running.vault, accesses.find(owner, f"{name}-bank"))
        assert login["userid"] == userid


def test_corrections_and_rules_hold(people: dict[str, Customer], expected: dict[str, Any]) -> None:
    anna, product, pushed = people["anna"], expected["product"], expected["pushed"]
    tagged = {row["id"]: row["tags"][0] for row in anna.bookings("anna-bank", product, tag="categories")}
    assert tagged[pushed]["tagTreeItem"]["systemName"] == "HOUSING_RENT"
    assert tagged[pushed]["details"]["source"] == "USER"
    assert {tag["tagTreeItem"]["systemName"] for tag in tagged.values()} > {"HOUSING_RENT", "INCOME_SALARY"}
    (rule,) = running_rules(anna)
    assert rule["counterpartyName"] == "Hofladen Krause"


def running_rules(customer: Customer) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = customer.tenant.stack.http.get("/ai/v1/rules", headers=customer.bearer).json()
    return rules


def test_payments_and_webhooks_are_there(people: dict[str, Customer], expected: dict[str, Any]) -> None:
    anna = people["anna"]
    transfer = expected["payment_status"]["transfer"]
    now = anna.read(f"/payments/{transfer['paymentId']}")
    assert now["transfer"]["transferDetails"] == transfer["transferDetails"]
    assert [message["code"] for message in now["messages"]] == ["BA1111"]
    tenant = anna.tenant
    hook = tenant.stack.http.get(tenant.path("clients", "app", "webhook"), headers=tenant.bearer("admin"))
    assert hook.json()["url"] == "http://127.0.0.1:9/kontor"


def test_the_bank_is_asked_again_and_bookings_keep_their_ids(people: dict[str, Customer]) -> None:
    bert = people["bert"]
    (product,) = bert.access("bert-bank")["bankprodukte"]
    before = {booking["id"] for booking in bert.bookings("bert-bank", product["id"])}
    assert bert.refresh("bert-bank").status_code == 201
    bert.wait_complete("bert-bank")
    assert {booking["id"] for booking in bert.bookings("bert-bank", product["id"])} == before


def test_runs_take_up_the_lake_and_serve_its_results(context: Context, people: dict[str, Customer]) -> None:
    old_bookings = context.lake.read(TRANSACTIONS, range(BUCKETS), ["user", "id"]).sort("user", "id")
    for bucket in range(BUCKETS):
        whole_way(bucket)
    bookings = context.lake.read(TRANSACTIONS, range(BUCKETS), ["user", "id"]).sort("user", "id")
    assert bookings.equals(old_bookings)
    for name in ANALYSES:
        answer = people["anna"].get(f"/ai/{name}/")
        assert (answer.status_code, answer.headers["X-Analysis-Source"]) == (200, "precomputed"), name


def test_its_inventory_is_that_of_a_new_installation(running: Stack, context: Context, home: Path) -> None:
    result = CliRunner().invoke(app, ["inventory", "--json"], catch_exceptions=False)
    rows = {(row["where"], row["name"]): row["count"] for row in json.loads(result.stdout)}
    assert rows["postgresql", "users"] == 3
    assert rows["postgresql", "tenants"] == 2
    assert erase.unknown_entries(Lake(str(home / "lake")), Settings()) == LOGS


def test_who_is_erased_is_gone_from_what_0_1_0_wrote(context: Context, people: dict[str, Customer]) -> None:
    carla = people["carla"]
    erase.erase_user(context, carla.tenant.tenant_id, carla.user_id)
    receipts = {receipt.kind: receipt for receipt in erase.purge(context, datetime.now(UTC))}
    receipt = receipts[tombstones.USER]
    assert receipt.unknown == LOGS
    assert receipt.places["lake landing"].removed > 0
    assert carla.get("/bankzugaenge").status_code in (401, 403)
