"""Erasing a person, looked at from outside: texts that nobody else has are in many places before, and nowhere ever after."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import dagster as dg
import polars as pl
import pytest

from analytics.frames import BOOKINGS
from api.cli.dagster import environment
from api.services import Services
from models.simulator.worlds import World
from pipelines import erase, training
from pipelines import tombstones as burials
from pipelines.banks.base import FetchedBookings, Header
from pipelines.context import Context
from pipelines.definitions import defs
from pipelines.fetching import landing
from pipelines.fetching.store import BankAnswer, FetchJob
from pipelines.results import tasks
from tests.support.accounts import add_rule, category
from tests.support.searching import found
from tests.support.stack import PASSWORD, Customer, Stack, is_ready, running_stack, start, wait_until
from tests.support.whole_way import whole_way
from warehouse.errors import ErasureIncomplete, TombstonesUnreadable
from warehouse.lake import parquet
from warehouse.lake.buckets import bucket_of
from warehouse.lake.lake import File
from warehouse.lake.parquet import LakeTable
from warehouse.lake.tables import LANDING, PRODUCTS, TABLES, TOMBSTONES, TRANSACTION_TAGS, TRANSACTIONS
from warehouse.postgres.embedded import pg_ctl
from warehouse.runtime import files
from warehouse.settings import Settings
from warehouse.stores import accesses, tombstones

ROOT = Path(__file__).parents[2]
BUCKETS = 2
NAME, COUNTERPARTY, IBAN, PURPOSE = (
    "zeisig-xanthippe",
    "Quastenflosser Ypsilon",
    "DE02500105170137075030",
    "Nashornsattel Überführung",
)


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


@dataclass(frozen=True)
class Person:
    """A customer and texts that only its bank has said."""

    customer: Customer
    texts: frozenset[str]


HOUSEHOLDS = count(700)
"""Numbers of households of the demo bank, one for each person."""


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


def dagster_environment(stack: Stack) -> dict[str, str]:
    """The database and the folders that `kontor up` gives to Dagster."""
    return {**environment(Settings(home=stack.home), stack.where), **stack.told}


def materialise(stack: Stack) -> None:
    """Runs everything as `kontor up` does; the output is a file of the house."""
    command = [sys.executable, "-W", "ignore", "-m", "pipelines.materialise"]
    with (stack.home / "logs" / "dagster.log").open("ab") as log:
        subprocess.run(command, cwd=ROOT, env=dagster_environment(stack), stdout=log, stderr=log, check=True)


def run_erasure_job(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the job in this process, which has Dagster loaded, on the same instance."""
    for name, value in dagster_environment(stack).items():
        monkeypatch.setenv(name, value)
    with dg.DagsterInstance.get() as instance:
        assert defs.resolve_job_def("erasure_job").execute_in_process(instance=instance).success


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
    stack: Stack, canary: Canary, house: Context, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (stack.home / "logs").mkdir(exist_ok=True)
    everything_again(house)
    materialise(stack)

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
    run_erasure_job(stack, monkeypatch)
    printed = "".join(capfd.readouterr())
    assert "erasure_job" in printed
    assert [text for text in canary.texts if text in printed] == []
    assert nowhere(stack, canary)
    receipt = receipt_of(stack, canary.customer)
    assert {"postgresql results", "postgresql transactions", "lake landing", "lake contracts", erase.TRAINING} <= {
        name for name, place in receipt["places"].items() if place["removed"]
    }

    everything_again(house)
    assert nowhere(stack, canary)

    house.database.close()
    with everything_stopped(stack):
        restored(stack, backup)
        again = tables(found(stack, canary.texts)[PURPOSE])
        assert {"kontor.transactions", "lake/transactions"} <= again, "the backup is older than the erasure"
    served = [place for places in found(stack, canary.texts).values() for place in places if place.startswith("kontor.")]
    assert served == [], "before the first answer the rows were deleted again"
    assert canary.customer.get("/bankzugaenge").status_code in (401, 403)
    everything_again(house)
    erase.purge(house, datetime.now(UTC))
    assert nowhere(stack, canary)
    everything_again(house)
    assert nowhere(stack, canary)
    assert str(canary.beside.user_id) in house.lake.read(TRANSACTION_TAGS)["user"], "the other one is still there"
    assert erase.purge(house, datetime.now(UTC)) == []
    assert landing.replay(house, landing.pieces_of(house.lake, range(BUCKETS)), everything=True).changed == 0


def nowhere(stack: Stack, canary: Canary) -> bool:
    left = {text: places for text, places in found(stack, canary.texts).items() if places}
    assert left == {}
    return True


RESTORED = ("postgres", "lake", "models")
"""The folders of the data directory that a backup brings back. The file of tombstones is not among them."""


def backed_up(stack: Stack) -> Path:
    """A copy of the database's files, the lake and the models, made while the database stands still."""
    data, copy = stack.home / "postgres", stack.home.parent / "erasure-backup"
    pg_ctl(data, "stop", "-m", "fast")
    copy.mkdir(mode=0o711)
    for name in RESTORED:
        subprocess.run(["cp", "-a", stack.home / name, copy / name], check=True)
    pg_ctl(data, "start")
    wait_until(lambda: is_ready(stack.http), 60)
    return copy


@contextmanager
def everything_stopped(stack: Stack) -> Iterator[None]:
    """No process of the service runs within. Then API and worker start, and the API is ready."""
    for process in (stack.process, stack.worker):
        process.send_signal(signal.SIGTERM)
        assert process.wait(40) == 0
    try:
        yield
    finally:
        stack.process = start("api", stack.told, stack.log)
        wait_until(lambda: is_ready(stack.http), 180, lambda: stack.log.read_text()[-3000:])
        stack.worker = start("pipelines.worker", stack.told, stack.worker_log)


def restored(stack: Stack, backup: Path) -> None:
    data = stack.home / "postgres"
    pg_ctl(data, "stop", "-m", "fast")
    for name in RESTORED:
        shutil.rmtree(stack.home / name)
        os.rename(backup / name, stack.home / name)
    pg_ctl(data, "start")


def receipt_of(stack: Stack, customer: Customer) -> dict[str, Any]:
    """The receipt as it is stored."""
    ((receipt,),) = stack.sql("SELECT receipt FROM tombstones WHERE id = :id", id=customer.user_id)
    return dict(receipt)


# Leftovers of killed writers, and writers that are still alive

DYING = """
import os, signal, sys
from pipelines.results import tasks
from tests.support.whole_way import whole_way

def die(event, arguments):
    if event == "os.rename" and f"/{sys.argv[1]}/" in str(arguments[1]):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(die)
whole_way(int(sys.argv[2]))
"""


@pytest.fixture
def person(stack: Stack) -> Person:
    """A customer with an access, and the texts that its bank said."""
    return connected_person(stack, f"household{next(HOUSEHOLDS)}", "demo")


@pytest.fixture
def anybody(stack: Stack) -> Person:
    """A customer whose bank says what it says to many: simulating a household takes two seconds."""
    return connected_person(stack, "demo1", "demo")


def connected_person(stack: Stack, userid: str, pin: str) -> Person:
    customer = stack.tenant().customer()
    access = customer.connected(userid, pin=pin)
    product = customer.access(access)["bankprodukte"][0]
    purposes = {row["verwendungszweck"] for row in customer.bookings(access, product["id"]) if row.get("verwendungszweck")}
    return Person(customer, frozenset({product["iban"], product["inhaber"], max(purposes, key=len)}))


def erased(house: Context, person: Person) -> erase.Receipt:
    """The receipt of a person, after the erasure."""
    erase.erase_user(house, person.customer.tenant.tenant_id, person.customer.user_id)
    return next(receipt for receipt in erase.purge(house, datetime.now(UTC)) if receipt.id == str(person.customer.user_id))


def test_what_killed_writers_left_is_gone_before_the_receipt(stack: Stack, house: Context, person: Person) -> None:
    bucket = bucket_of(person.customer.user_id, BUCKETS)
    whole_way(bucket)
    for table in ("products", "contracts"):
        command = [sys.executable, "-c", DYING, table, str(bucket)]
        assert subprocess.run(command, cwd=ROOT, env={**os.environ, **stack.told}).returncode == -signal.SIGKILL
    (landed,) = [file for file in house.lake.all_files(LANDING, buckets=[bucket]) if is_of(house, file, person)]
    folder, piece = stack.home / "lake" / landed.folder, Path(house.lake.storage.at(landed.path)).read_bytes()
    stranded = stack.home / "models" / "training" / f"{files.UNFINISHED_PREFIX}3"
    files.make_folder(stranded.parent)
    for path in (folder / f"{files.UNFINISHED_PREFIX}1", stranded):
        path.write_bytes(piece)
    (folder / f"{files.UNFINISHED_PREFIX}2").write_bytes(piece[: len(piece) // 2])
    unfinished = {
        "/".join(path.relative_to(stack.home).parts[:2]) for path in stack.home.rglob(f"*/*/*/{files.UNFINISHED_PREFIX}*")
    }
    assert unfinished == {"lake/products", "lake/contracts", "lake/landing"}
    places = {place for places in found(stack, person.texts).values() for place in places if files.UNFINISHED_PREFIX in place}
    assert {"/".join(Path(place).parts[:2]) for place in places} >= {"lake/products", "lake/landing", "models/training"}

    receipt = erased(house, person)
    assert {text: places for text, places in found(stack, person.texts).items() if places} == {}
    assert [path for path in stack.home.rglob(f"{files.UNFINISHED_PREFIX}*") if path.parent.name != "lake"] == []
    leftovers = {name: place.leftovers for name, place in receipt.places.items() if place.leftovers}
    assert leftovers == {"lake landing": 2, "lake products": 1, "lake contracts": 1, erase.TRAINING: 1}


def is_of(house: Context, file: File, person: Person) -> bool:
    return str(person.customer.user_id) in parquet.read_raw(house.lake.storage, file.path, ["user"])["user"]


def test_nothing_lands_for_an_access_that_was_erased(house: Context, anybody: Person) -> None:
    """A worker that has the answer of a bank in its hands when the person is erased."""
    rows = house.lake.read(LANDING).filter(user=str(anybody.customer.user_id))
    about = rows.row(0, named=True)
    job = FetchJob(*(UUID(about[name]) for name in ("tenant", "user", "access", "fetch")))
    bookings = FetchedBookings(about["product"], about["complete_from"], rows.select(BOOKINGS.names()))
    erased(house, anybody)
    landing.land(house, job, BankAnswer(Header(()), [bookings]), datetime.now(UTC))
    assert str(anybody.customer.user_id) not in house.lake.read(LANDING)["user"]


def test_an_erasure_waits_for_a_piece_that_is_landing(stack: Stack, house: Context, anybody: Person) -> None:
    tenant_id, user_id, fetch = anybody.customer.tenant.tenant_id, anybody.customer.user_id, uuid4()
    ((access,),) = stack.sql(
        "UPDATE accesses SET fetch_id = :fetch WHERE user_id = :user RETURNING id", fetch=fetch, user=user_id
    )
    with ThreadPoolExecutor(1) as pool:
        with house.database.acting_for(tenant_id, user_id) as owner:
            assert accesses.hold_fetching(owner, access, fetch)
            erasing = pool.submit(erased, house, anybody)
            with pytest.raises(TimeoutError):
                erasing.result(timeout=0.3)
        assert erasing.result(timeout=60).places["lake landing"].removed > 0


# Receipts


def test_every_table_is_looked_at_or_kept_for_a_reason(stack: Stack) -> None:
    database_tables = {name for (name,) in stack.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    looked_at, kept = tombstones.COLUMNS[tombstones.USER].keys(), tombstones.KEPT_TABLES.keys()
    assert looked_at & kept == set()
    assert database_tables == looked_at | kept, "a new table must be looked at, or be in KEPT_TABLES with a reason"
    personal = stack.sql(
        "SELECT table_name FROM information_schema.columns WHERE column_name = 'user_id' AND table_schema = 'public'"
    )
    assert {name for (name,) in personal} - {"tombstones"} == looked_at - {"users"}


def test_a_receipt_lists_every_table_and_folder(stack: Stack, house: Context, person: Person) -> None:
    old, folder = LakeTable("analysis_of_1999", pl.Schema({"user": pl.String, "text": pl.String})), stack.home / "exports"
    bucket = bucket_of(person.customer.user_id, BUCKETS)
    rows = {"user": [str(person.customer.user_id), "somebody"], "text": [max(person.texts, key=len), "else"]}
    house.lake.write(old, bucket, pl.DataFrame(rows, old.schema), {})
    folder.mkdir()
    (stack.home / "lake" / "notes").mkdir()
    receipt = erased(house, person)
    assert receipt.places.keys() == {
        *(f"postgresql {name}" for name in tombstones.COLUMNS[tombstones.USER]),
        *(f"lake {table.name}" for table in (*TABLES, old) if table is not TOMBSTONES),
        erase.TRAINING,
    }
    assert set(receipt.unknown) - {"api.log", "worker.log"} == {"exports", "lake/notes"}
    assert house.lake.read(old)["user"].to_list() == ["somebody"], "a table that an older version has left"
    assert receipt.places["postgresql transactions"].removed > 0
    assert receipt.places["postgresql category_rules"] == erase.Place(0, 0), "also where nothing was"
    assert receipt_of(stack, person.customer)["places"] == {name: asdict(place) for name, place in receipt.places.items()}
    for path in (folder, stack.home / "lake" / "notes"):
        path.rmdir()
    house.lake.delete(old, bucket)


def test_there_is_no_receipt_while_the_database_has_rows(house: Context, anybody: Person) -> None:
    tenant_id, user_id = anybody.customer.tenant.tenant_id, anybody.customer.user_id
    with house.database.acting_for(tenant_id, user_id) as owner:
        tombstones.add(owner, tombstones.USER, user_id, user_id)
    with pytest.raises(ErasureIncomplete, match="accesses"):
        erase.purge(house, datetime.now(UTC))
    assert erased(house, anybody).places["postgresql accesses"].removed == 1


# Copies of tombstones


def test_every_copy_has_the_tombstones_before_the_receipt(house: Context, anybody: Person) -> None:
    erased(house, anybody)
    path = house.settings.tombstones_path
    assert str(anybody.customer.user_id) in path.read_text()
    assert str(anybody.customer.user_id) in house.lake.read(TOMBSTONES)["id"]
    path.unlink()
    assert burials.sync(house.database, house.lake, house.settings) == 0
    assert str(anybody.customer.user_id) in path.read_text(), "a copy that was lost is made again"


@pytest.mark.parametrize("content", ["", "id,kind,user,tenant\nx,user,y,z\n", "a,b\n1,2\n", "id,kind\n\0"])
def test_without_a_readable_file_of_tombstones_nothing_is_served(house: Context, content: str, tmp_path: Path) -> None:
    path = tmp_path / "tombstones.csv"
    path.write_text(content)
    services = Services.of(house.settings.model_copy(update={"tombstones_file": path}))
    with pytest.raises(TombstonesUnreadable):
        asyncio.run(services.open())
    services.database.close()
