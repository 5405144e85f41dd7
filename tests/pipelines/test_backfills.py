"""Everything anew: the same ledger gives the same bytes, whoever computes them, in whichever order, whoever dies meanwhile."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from pipelines.engine import run
from pipelines.results import live, tags, tasks
from tests.support.households import Settled, files_of, settled
from tests.support.whole_way import deadly
from warehouse.lake.buckets import bucket_of
from warehouse.lake.lake import bucket_folder
from warehouse.lake.tables import LANDING, TABLES, TOMBSTONES
from warehouse.postgres.database import Database
from warehouse.settings import Settings
from warehouse.stores import choices, rules

ROOT = Path(__file__).parents[2]
BUCKETS, HOUSEHOLDS, SEED = 6, 18, 20261115
BACKFILL = """
import sys
from pipelines.results import tasks
for order in sys.argv[1:]:
    buckets = [int(bucket) for bucket in order.split(",")]
    tasks.export_buckets(buckets, everything=True)
    tasks.tag_buckets(buckets, everything=True)
    tasks.analyse_buckets(buckets, everything=True)
    tasks.publish_buckets(buckets)
"""


@dataclass(frozen=True)
class Made:
    """All that a backfill leaves: the files of the lake, and the rows that are served."""

    files: dict[str, bytes]
    served: list[tuple[object, ...]]


@pytest.fixture(scope="module")
def house(homes: Path) -> Iterator[Settled]:
    """Households with wishes."""
    with settled(homes / "backfills", HOUSEHOLDS, SEED, KONTOR_BUCKETS=str(BUCKETS)) as found:
        wish(found)
        yield found


@pytest.fixture(scope="module")
def made(house: Settled, homes: Path) -> Made:
    """What one process with one thread makes of it."""
    told = {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "0", "TZ": "UTC"}
    return backfilled(house, homes / "lake-made", [range(BUCKETS)], told)


def wish(house: Settled) -> None:
    """Lets users choose categories, and lets users and the tenant make rules."""
    database = Database(house.where.service, pool=1)
    find = "SELECT id FROM transactions WHERE user_id = %s AND amount_cents < 0 ORDER BY booked_on, id LIMIT 5"
    with house.admin() as connection:
        mine = {user: [row[0] for row in connection.execute(find, (user,))] for user in house.people[::2]}
        (tenant,) = connection.execute("SELECT id FROM tenants WHERE name = 'bench'").fetchone() or ()
    for user, bookings in mine.items():
        with database.acting_for(tenant, user) as owner:
            choices.put(owner, bookings, "LIVING_GROCERIES")
            for name in ("Rewe", "Aldi"):
                rules.put(owner, "LIVING_OTHER", iban="", name=name, name_key=name.lower())
    with database.acting_for(tenant) as owner:
        rules.put(owner, "LIVING_OTHER", iban="", name="Lidl", name_key="lidl")
    database.close()


def backfilled(house: Settled, lake: Path, orders: Sequence[Sequence[int]], environment: dict[str, str]) -> Made:
    """What a process of its own leaves that works on buckets in each of these orders, those of one order together."""
    forget(house)
    told = {**os.environ, **house.told, "KONTOR_LAKE": str(lake), **environment}
    given = [",".join(map(str, order)) for order in orders]
    done = subprocess.run([sys.executable, "-c", BACKFILL, *given], cwd=ROOT, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Made(files_of(lake), house.served())


def forget(house: Settled) -> None:
    with house.admin() as connection:
        connection.execute("TRUNCATE results")


def test_a_backfill_writes_every_table_of_every_bucket(house: Settled, made: Made) -> None:
    tables = [table.name for table in TABLES if table not in (LANDING, TOMBSTONES)]
    assert sorted({path.split("/")[0] for path in made.files if path.endswith(".parquet")}) == sorted(tables)
    assert sum(path.startswith("transaction_tags/") for path in made.files) == BUCKETS
    names = sorted((tags.NAME, *live.NAMES))
    assert [row[:2] for row in made.served] == [(person, name) for person in sorted(house.people) for name in names]


@pytest.mark.thorough
def test_threads_hash_seeds_time_zones_order_and_company_of_buckets_change_no_byte(
    house: Settled, made: Made, homes: Path
) -> None:
    told = {"POLARS_MAX_THREADS": "2", "PYTHONHASHSEED": "1", "TZ": "America/New_York"}
    orders = [range(BUCKETS)[::-1], [*range(1, BUCKETS), 0], [2], [5, 3]]
    again = backfilled(house, homes / "lake-again", orders, told)
    assert again.files.keys() == made.files.keys()
    assert [path for path, content in made.files.items() if again.files[path] != content] == []
    assert again.served == made.served


@pytest.mark.thorough
def test_workers_that_are_killed_in_mid_backfill_cost_time_but_no_data(
    house: Settled, made: Made, homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**house.told, "KONTOR_LAKE": str(homes / "lake-killed")}.items():
        monkeypatch.setenv(name, value)
    forget(house)
    places = {1: "transactions", 4: "transaction_tags", 5: "analysed"}
    with structlog.testing.capture_logs() as logged:
        settings = Settings(engine="dask", engine_workers=2)
        found = dict(run.run(partial(deadly, places, tmp_path), range(BUCKETS), settings))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["died-1", "died-4", "died-5"]
    assert {line["item"] for line in logged if line["event"] == "task lost its worker"} >= {"1", "4", "5"}
    assert [sum(counts) for counts in zip(*found.values(), strict=True)] == [HOUSEHOLDS, house.bookings, HOUSEHOLDS]
    files = {path: content for path, content in files_of(homes / "lake-killed").items() if path in made.files}
    assert files == made.files
    assert house.served() == made.served


def test_a_damaged_bucket_fails_alone(house: Settled, made: Made, homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, bucket = homes / "lake-damaged", bucket_of(house.people[0], BUCKETS)  # another one may be empty
    shutil.copytree(homes / "lake-made", lake)
    (lake / "products" / bucket_folder(bucket) / "part.parquet").write_bytes(b"no table")
    for name, value in {**house.told, "KONTOR_LAKE": str(lake), "KONTOR_ENGINE": "inline"}.items():
        monkeypatch.setenv(name, value)
    for path in lake.glob("transaction_tags/*/part.parquet"):
        path.unlink()
    tasks._context.cache_clear()
    with pytest.raises(run.TasksFailed) as failed:
        tasks.run_on_buckets(tasks.tag_buckets, range(BUCKETS), everything=True)
    tasks._context.cache_clear()
    assert str(failed.value) == f"1 of 6 tasks failed: {bucket} (warehouse.errors.LakeDamaged)"
    tagged = {path: content for path, content in files_of(lake).items() if path.startswith("transaction_tags/")}
    assert tagged == {
        path: made.files[path]
        for path in made.files
        if path.startswith("transaction_tags/") and bucket_folder(bucket) not in path
    }


class TestSharedOut:
    """Small buckets go to a worker together."""

    def shared(self, workers: int, *bookings: int) -> list[Sequence[int]]:
        return tasks.group_buckets(dict(enumerate(bookings)), workers)

    def test_few_bookings_are_one_piece_for_each_worker(self) -> None:
        assert self.shared(1, 10, 10, 10, 10) == [(0, 1, 2, 3)]
        assert self.shared(2, 10, 10, 10, 10) == [(0, 1), (2, 3)]

    def test_empty_buckets_belong_to_some_piece(self) -> None:
        assert self.shared(2, 0, 0, 0) == [(0, 1, 2)]
        assert self.shared(2) == []

    def test_large_buckets_stand_alone(self) -> None:
        assert self.shared(1, *[tasks.MAX_GROUP_BOOKINGS] * 3) == [(0,), (1,), (2,)]

    @given(st.lists(st.integers(0, 3 * tasks.MAX_GROUP_BOOKINGS), max_size=80), st.integers(1, 8))
    def test_every_bucket_is_in_one_piece_and_no_piece_of_several_is_too_large(self, bookings: list[int], workers: int) -> None:
        pieces = self.shared(workers, *bookings)
        assert [bucket for piece in pieces for bucket in piece] == list(range(len(bookings)))
        sizes = [sum(bookings[bucket] for bucket in piece) for piece in pieces if len(piece) > 1]
        assert max(sizes, default=0) <= tasks.MAX_GROUP_BOOKINGS
