"""What is shared of the lake: programs of a tenant read its rows, nobody else's, and nobody who was erased."""

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import polars as pl
import pytest
from typer.testing import CliRunner

from api.cli import app
from pipelines import erase
from pipelines.context import Context
from pipelines.erase import USER_TABLES
from pipelines.results import sharing, splitting, tasks
from tests.support.databases import migrated_database
from tests.support.households import NOW
from tests.support.object_store import new_bucket, object_store, require_moto
from warehouse.lake import shares
from warehouse.lake.buckets import bucket_of
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.storage import Storage
from warehouse.lake.tables import ANALYSED, LANDING, TRANSACTION_TAGS, TRANSACTIONS, USERS
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.embedded import Addresses
from warehouse.secrets.vault import Vault, create_ring
from warehouse.settings import Settings
from warehouse.stores import tombstones, users
from warehouse.stores.provisioning import create_tenant

BUCKETS = 4
EACH = 3
"""Bookings of each user."""
NOTHING_TO_PUBLISH = (TRANSACTION_TAGS, ANALYSED)
"""Tables without whose rows a run serves nothing: the rows of these tests are no results."""


@dataclass(frozen=True)
class House:
    """Two tenants with users and rows in a lake."""

    context: Context
    tenants: dict[str, UUID]
    users: dict[str, dict[str, UUID]]

    @property
    def lake(self) -> Lake:
        return self.context.lake

    def share(self, tenant: str) -> Lake:
        return sharing.share(self.context.database, self.lake, self.context.settings, self.tenants[tenant], tenant)

    def tenant_of(self) -> dict[str, str]:
        """The tenant of each user."""
        return {str(user): str(self.tenants[name]) for name, users in self.users.items() for user in users.values()}

    def fill(self, revision: int = 1, *, empty: Collection[LakeTable] = ()) -> None:
        """Writes rows of all users into all tables but the empty ones, as runs do; the landing has none."""
        owners = self.tenant_of()
        for bucket in range(BUCKETS):
            people = sorted(user for user in owners if bucket_of(UUID(user), BUCKETS) == bucket)
            for table in USER_TABLES:
                if table is not LANDING:
                    each = 0 if table in empty else 1 if table is USERS else EACH
                    frame = _rows(table, people, owners, each, revision)
                    self.lake.write(table, bucket, frame, {"state": str(revision)} if table is USERS else {})


def _rows(table: LakeTable, people: list[str], owners: dict[str, str], each: int, revision: int) -> pl.DataFrame:
    of_row = [user for user in people for _ in range(each)]
    values = {
        "user": of_row,
        "tenant": [owners[user] for user in of_row],
        "id": [f"{user}-{number}" for user in people for number in range(each)],
        "amount_cents": [100] * len(of_row),
        "revision": [revision] * len(of_row),
        "as_of": [date(2026, 11, 15)] * len(of_row),
    }
    height = len(of_row)
    return pl.DataFrame({name: values.get(name, [None] * height) for name in table.schema}, schema=table.schema)


def users_of(lake: Lake) -> dict[str, set[str]]:
    """The users who have rows in each table."""
    tables = [table for table in USER_TABLES if table is not LANDING]
    return {table.name: set(lake.read(table, range(BUCKETS), ["user"])["user"].to_list()) for table in tables}


@pytest.fixture(scope="module")
def where(homes: Path) -> Iterator[Addresses]:
    with migrated_database(Settings(_env_file=None, home=homes / "sharing")) as addresses:
        create_ring(homes / "sharing" / "keys.json")
        yield addresses


@pytest.fixture
def lake_location(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


@pytest.fixture
def house(where: Addresses, homes: Path, lake_location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    told = {
        "KONTOR_HOME": str(homes / "sharing"),
        "KONTOR_DATABASE_URL": where.service,
        "KONTOR_LAKE": lake_location,
        "KONTOR_BUCKETS": str(BUCKETS),
        "KONTOR_TOMBSTONES_FILE": str(tmp_path / "tombstones.csv"),
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    tasks._context.cache_clear()
    context = tasks._context()
    with context.database.operating() as operator:
        names = [f"{name}-{uuid4().hex[:8]}" for name in ("sparfuchs", "anderer")]
        tenants = {name: create_tenant(operator, Vault(context.settings), name, NOW, regulated=True).tenant.id for name in names}
        people = {
            name: {f"user-{number}": users.create(operator.for_tenant(id_), f"user-{number}", "-").id for number in range(6)}
            for name, id_ in tenants.items()
        }
    found = House(context, tenants, people)
    found.fill()
    yield found
    context.database.close()
    tasks._context.cache_clear()


@pytest.fixture
def names(house: House) -> tuple[str, str]:
    """The tenant that reads, and another one."""
    own, other = house.tenants
    return own, other


def kontor(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stdout


def read_by(library: str, reading: dict[str, Any], environment: dict[str, str]) -> str:
    """What the program prints that is shown for a library."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "KONTOR_"))}
    command = [sys.executable, "-c", reading["programs"][library]]
    run = subprocess.run(command, env=clean | environment, capture_output=True, text=True, cwd="/", check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_share_has_the_rows_of_its_tenant_alone_in_every_table(house: House, names: tuple[str, str]) -> None:
    share = house.share(names[0])
    own = {str(user) for user in house.users[names[0]].values()}
    assert set(users_of(house.lake)["transactions"]) > own
    assert all(people == own for people in users_of(share).values()), users_of(share)
    assert {path.split("/")[0] for path in share.storage.find("")} == {
        *(table.name for table in shares.SHARED_TABLES),
        shares.TENANT_FILE,
    }, "the replies of banks are not shared"


@pytest.mark.parametrize("library", ["duckdb", "polars", "pyarrow"])
def test_the_programs_that_the_command_prints_read_it(house: House, names: tuple[str, str], library: str) -> None:
    reading = json.loads(kontor("lake", "share", names[0], "--json"))
    assert reading["policy"] is None, "a folder has no policy"
    assert str(6 * EACH) in read_by(library, reading, {})
    assert names[0] in kontor("lake", "shares")


def test_a_run_brings_it_up_to_date_and_leaves_the_rest(house: House, names: tuple[str, str]) -> None:
    house.fill(empty=NOTHING_TO_PUBLISH)
    share = house.share(names[0])
    paths = [path for path in share.storage.find("") if path.startswith("transactions/")]
    before = {path: share.storage.written_at(path) for path in paths}
    tasks.run_on_buckets(tasks.publish_buckets, range(BUCKETS))
    assert {path: share.storage.written_at(path) for path in paths} == before, "nothing had changed"

    house.fill(revision=2, empty=NOTHING_TO_PUBLISH)
    unshared_user = house.users[names[1]]["user-0"]
    tasks.run_on_buckets(tasks.publish_buckets, range(BUCKETS))
    assert share.read(USERS, range(BUCKETS))["revision"].unique().to_list() == [2]
    assert str(unshared_user) not in users_of(share)["users"]


@pytest.mark.parametrize("written_files", [0, 7, 30])
def test_a_killed_copy_is_made_again_by_the_next_run(house: House, names: tuple[str, str], written_files: int) -> None:
    with pytest.raises(Killed), killed_after(Storage, "put", written_files + 1):  # the first has the name of the tenant
        house.share(names[0])
    of_tenants = shares.shares(house.lake)
    for bucket in range(BUCKETS):
        shares.refresh(house.lake, bucket, of_tenants, max_rows=100)
    share = of_tenants[str(house.tenants[names[0]])]
    rows = {table.name: share.read(table, range(BUCKETS)).height for table in shares.SHARED_TABLES}
    assert rows == {name: 6 if name == USERS.name else 6 * EACH for name in rows}, "no bucket is missing or doubled"


@pytest.mark.parametrize("removed_files", [1, BUCKETS + 1])
def test_a_share_whose_end_was_killed_becomes_whole_again(house: House, names: tuple[str, str], removed_files: int) -> None:
    house.fill(empty=NOTHING_TO_PUBLISH)
    share = house.share(names[0])
    before, files = users_of(share), share.storage.find("")
    with pytest.raises(Killed), killed_after(Storage, "_remove", removed_files):
        sharing.unshare(house.context.database, house.lake, house.context.settings, house.tenants[names[0]])
    assert len(share.storage.find("")) == len(files) - removed_files
    tasks.run_on_buckets(tasks.publish_buckets, range(BUCKETS))
    assert share.storage.find("") == files
    assert users_of(share) == before


class Killed(BaseException):
    """What a test ends a writer with."""


@contextmanager
def killed_after(of: type, name: str, calls: int) -> Iterator[None]:
    """Lets a method work so many times while the block runs, and then end the block."""
    method, remaining = getattr(of, name), iter(range(calls))

    def counted(*arguments: Any) -> Any:
        if next(remaining, None) is None:
            raise Killed
        return method(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of, name, counted)
        yield


def test_who_is_erased_is_in_no_file_of_it_and_the_receipt_says_so(house: House, names: tuple[str, str]) -> None:
    share, user = house.share(names[0]), house.users[names[0]]["user-3"]
    erase.erase_user(house.context, house.tenants[names[0]], user)
    (receipt,) = erase.purge(house.context, datetime.now(UTC))
    place = receipt.places[f"lake/shared/{house.tenants[names[0]]} transactions"]
    assert (place.removed, receipt.unknown) == (EACH, [])
    assert not any(str(user) in people for people in users_of(share).values())
    assert len(users_of(share)["transactions"]) == 5
    assert not any(
        str(user).encode() in share.storage.filesystem.cat_file(share.storage.at(path)) for path in share.storage.find("")
    )


def test_of_an_erased_access_no_older_rows_stay(house: House, names: tuple[str, str]) -> None:
    share, user = house.share(names[0]), house.users[names[0]]["user-1"]
    with house.context.database.operating() as operator:
        owner = Owner(operator.session, house.tenants[names[0]], user)
        tombstones.add(owner, tombstones.ACCESS, user, user)
    erase.purge(house.context, datetime.now(UTC))
    assert not any(str(user) in people for people in users_of(share).values()), "the user has no rows of this revision"
    assert str(house.users[names[0]]["user-2"]) in users_of(share)["transactions"]


def test_what_lies_beside_it_is_told_to_who_erases(house: House, names: tuple[str, str]) -> None:
    share, folder = house.share(names[0]), f"shared/{house.tenants[names[0]]}"
    share.storage.put("notes.csv", b"x")
    house.lake.storage.put("shared/copies/notes.csv", b"x")
    assert erase.unknown_entries(house.lake, house.context.settings)[-2:] == ["lake/shared/copies", f"lake/{folder}/notes.csv"]


def test_it_is_split_with_the_lake(house: House, names: tuple[str, str]) -> None:
    share = house.share(names[0])
    before = users_of(share)
    house.context.database.close()
    database = Database(house.context.settings.database_url or "", pool=2)
    list(splitting.split_buckets(database, house.lake, 3 * BUCKETS))
    database.close()
    buckets = range(3 * BUCKETS)
    assert set(share.read(TRANSACTIONS, buckets)["user"]) == before["transactions"]
    for bucket in share.buckets(TRANSACTIONS):
        assert {bucket_of(UUID(user), 3 * BUCKETS) for user in share.read(TRANSACTIONS, [bucket])["user"]} <= {bucket}


def test_nothing_of_it_is_left_when_it_ends(house: House, names: tuple[str, str]) -> None:
    share, others = house.share(names[0]), house.share(names[1])
    kontor("lake", "unshare", names[0])
    assert share.storage.find_all("") == []
    assert list(shares.shares(house.lake)) == [str(house.tenants[names[1]])]
    assert users_of(others)["users"] == {str(user) for user in house.users[names[1]].values()}


@pytest.mark.thorough
class TestObjectStore:
    """The same in a store with the protocol of S3 that checks the rights of readers."""

    @pytest.fixture(scope="class")
    def store(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
        require_moto()
        with object_store(tmp_path_factory.mktemp("object-store")) as variables:
            yield variables

    @pytest.fixture
    def lake_location(self, store: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
        for name, value in store.items():
            monkeypatch.setenv(name, value)
        return f"s3://{new_bucket(store)}/kontor"

    @pytest.fixture
    def reading(self, house: House, names: tuple[str, str]) -> dict[str, Any]:
        for name in names:
            house.share(name)
        return sharing.reading(house.lake, house.tenants[names[0]])

    def test_a_reader_with_the_policy_reads_its_own_files_and_no_others(
        self, house: House, names: tuple[str, str], reading: dict[str, Any], store: dict[str, str]
    ) -> None:
        environment = reader(store, reading["policy"])
        with rights_checked(store):
            for library in reading["programs"]:
                assert str(6 * EACH) in read_by(library, reading, environment), library
            others = {**reading, "programs": {"polars": reading["programs"]["polars"]}}
            for location in (house.lake.storage.address, f"{house.lake.storage.address}/shared/{house.tenants[names[1]]}"):
                program = others["programs"]["polars"].replace(reading["location"], location)
                run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
                assert "403" in run.stderr or "denied" in run.stderr.lower(), run.stderr
                assert run.returncode

    def test_who_is_erased_is_in_no_file_of_it(
        self, house: House, names: tuple[str, str], reading: dict[str, Any], store: dict[str, str]
    ) -> None:
        user = house.users[names[0]]["user-3"]
        erase.erase_user(house.context, house.tenants[names[0]], user)
        erase.purge(house.context, datetime.now(UTC))
        for library in reading["programs"]:
            assert str(5 * EACH) in read_by(library, reading, client_variables(store)), library
        kontor("lake", "unshare", names[0])
        assert shares.share_of(house.lake, str(house.tenants[names[0]])).storage.find_all("") == []


def client_variables(store: dict[str, str]) -> dict[str, str]:
    """The variables of a program; the store of the tests speaks without TLS."""
    return {**store, "AWS_ALLOW_HTTP": "true", "PATH": os.environ["PATH"]}


def reader(store: dict[str, str], policy: dict[str, Any]) -> dict[str, str]:
    """The variables of a new reader with this policy."""
    import boto3

    client = boto3.client(
        "iam",
        endpoint_url=store["AWS_ENDPOINT_URL"],
        region_name=store["AWS_REGION"],
        aws_access_key_id=store["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=store["AWS_SECRET_ACCESS_KEY"],
    )
    client.create_user(UserName="reader")
    client.put_user_policy(UserName="reader", PolicyName="share", PolicyDocument=json.dumps(_as_moto_reads(policy)))
    key = client.create_access_key(UserName="reader")["AccessKey"]
    return client_variables(store) | {
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
    }


def _as_moto_reads(policy: dict[str, Any]) -> dict[str, Any]:
    """The policy without the condition of the right to list, whose facts moto does not know: it would refuse every list."""
    statements = [{key: value for key, value in one.items() if key != "Condition"} for one in policy["Statement"]]
    return {**policy, "Statement": statements}


@contextmanager
def rights_checked(store: dict[str, str]) -> Iterator[None]:
    """Lets the store check the rights of whoever asks, while the block runs."""
    address = f"{store['AWS_ENDPOINT_URL']}/moto-api/reset-auth"
    httpx.post(address, content=b"0").raise_for_status()
    yield
    httpx.post(address, content=b"inf")


def test_the_policy_names_one_folder() -> None:
    get, find = sharing.reader_policy("bucket/kontor/shared/some-id")["Statement"]
    assert get == {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::bucket/kontor/shared/some-id/*"}
    assert (find["Action"], find["Resource"]) == ("s3:ListBucket", "arn:aws:s3:::bucket")
    assert find["Condition"] == {"StringLike": {"s3:prefix": "kontor/shared/some-id/*"}}
