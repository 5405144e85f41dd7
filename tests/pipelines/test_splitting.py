"""Splitting buckets: the lake becomes what it would be with more buckets from the start, wherever the split was killed."""

import shutil
from collections.abc import Callable, Collection, Iterator
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pytest
from typer.testing import CliRunner

from api.cli import app
from pipelines.erase import USER_TABLES
from pipelines.results import export, splitting
from tests.support.databases import migrated_database
from tests.support.households import files_of
from tests.support.stack import wait_until
from warehouse.errors import Busy, Invalid
from warehouse.lake import landing
from warehouse.lake.buckets import bucket_of
from warehouse.lake.lake import BUCKET_COUNT_FILE, SPLIT_FILE, Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.storage import Storage
from warehouse.lake.tables import ANALYSED, CATEGORY_RULES, LANDING, TOMBSTONES, TRANSACTION_TAGS, USERS
from warehouse.lake.tombstones import BUCKET
from warehouse.postgres import server_state
from warehouse.postgres.database import Database
from warehouse.postgres.embedded import Addresses
from warehouse.settings import Settings

BEFORE, AFTER = 2, 6
PEOPLE = [UUID(int=(number * 2**128 + 2**100) // 9) for number in (0, 1, 2, 5, 6, 8)]
"""Users of both old buckets and of five of the six new ones."""
FEW_TABLES = (TRANSACTION_TAGS, CATEGORY_RULES, ANALYSED, USERS)
"""With rows for each user, without rows, and with metadata of each kind."""
SLOT = "2026-11-15T06"
ABOUT = {"knowledge": "v1", "state": "outdated"}


class Killed(BaseException):
    """What stops a split; nothing catches it."""


@pytest.fixture(scope="module")
def where(homes: Path) -> Iterator[Addresses]:
    with migrated_database(Settings(_env_file=None, home=homes / "splitting")) as addresses:
        yield addresses


@pytest.fixture
def database(where: Addresses) -> Iterator[Database]:
    opened = Database(where.service, pool=2)
    yield opened
    opened.close()


def rows(table: LakeTable, people: list[UUID], each: int = 3) -> pl.DataFrame:
    """Some rows of a table for each of these users; all other columns are null."""
    frame = pl.DataFrame({"user": [str(user) for user in people for _ in range(each)]}, schema={"user": pl.String})
    others = {name: pl.lit(None, kind) for name, kind in table.schema.items() if name != "user"}
    if "id" in others:
        others["id"] = pl.concat_str("user", (pl.int_range(pl.len()) % each).cast(pl.String))
    return frame.with_columns(**others).select(table.schema.names())


def lake_with(folder: Path, buckets: int, tables: Collection[LakeTable] = USER_TABLES) -> Lake:
    """A lake as runs with this number of buckets leave it, with some of its tables."""
    lake = Lake(str(folder))
    lake.prepare(buckets)
    for bucket in range(buckets):
        people = [user for user in PEOPLE if bucket_of(user, buckets) == bucket]
        if not people:
            continue
        users = rows(USERS, people, each=1).with_columns(revision=pl.lit(7, pl.Int64), as_of=pl.lit(date(2026, 11, 15)))
        state = {**export.state_of(users), "columns": "c"}
        abouts = {USERS.name: state, TRANSACTION_TAGS.name: ABOUT, ANALYSED.name: {"knowledge": "v1", **state}}
        for table in tables:
            if not table.landing:
                frame = users if table is USERS else rows(table, [] if table is CATEGORY_RULES else people)
                lake.write(table, bucket, frame, abouts.get(table.name, {}))
        for user in people:
            landing.append(lake, LANDING, SLOT, bucket, f"fetch-{user}", rows(LANDING, [user]))
        landing.compact(lake, LANDING, SLOT, bucket)
        for user in sorted(set(people) & set(PEOPLE[::3])):
            landing.append(lake, LANDING, "2026-11-15T12", bucket, f"later-{user}", rows(LANDING, [user]))
    lake.write(TOMBSTONES, BUCKET, TOMBSTONES.schema.to_frame(), {})
    return lake


def contents(folder: Path) -> dict[object, object]:
    """The files of a lake, but of landings their pieces with their rows: which of them are compacted makes no difference."""
    lake = Lake(str(folder))
    pieces: dict[object, object] = {
        piece: landing.read_pieces(lake, LANDING, [piece]).rows() for piece in landing.list_pieces(lake, LANDING)
    }
    files: dict[object, object] = {
        path: content for path, content in files_of(folder).items() if not path.startswith(f"{LANDING.name}/")
    }
    return {**pieces, **files}


def split(database: Database, lake: Lake) -> None:
    for _ in splitting.split_buckets(database, lake, AFTER):
        pass


def test_a_split_lake_is_what_it_would_be_with_more_buckets_from_the_start(database: Database, tmp_path: Path) -> None:
    lake = lake_with(tmp_path / "split", BEFORE)
    split(database, lake)
    lake_with(tmp_path / "expected", AFTER)
    assert contents(tmp_path / "split") == contents(tmp_path / "expected")
    pieces = landing.list_pieces(lake, LANDING)
    assert pieces == landing.list_pieces(Lake(str(tmp_path / "expected")), LANDING)
    assert {piece.name.partition("-")[2] for piece in pieces} == {str(user) for user in PEOPLE}
    lake.prepare(AFTER)
    with pytest.raises(Invalid, match=f"has {AFTER} buckets"):
        lake.prepare(BEFORE)


class Killer:
    """Raises instead of one change of a file, counted from the call of `arm`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        for name in ("put", "_remove"):
            monkeypatch.setattr(Storage, name, self._watched(getattr(Storage, name)))

    def arm(self, change: int | None) -> None:
        self.left = change

    def _watched(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changing(*arguments: Any) -> Any:
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise Killed
            return change(*arguments)

        return changing


def test_a_split_that_is_killed_at_any_point_goes_on(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake_with(tmp_path / "expected", AFTER, FEW_TABLES)
    lake_with(tmp_path / "before", BEFORE, FEW_TABLES)
    expected, killer = contents(tmp_path / "expected"), Killer(monkeypatch)
    kills, killed = 0, True
    while killed:
        folder = tmp_path / f"killed-{kills}"
        shutil.copytree(tmp_path / "before", folder)
        lake = Lake(str(folder))
        killer.arm(kills)
        try:
            split(database, lake)
            killed = False
        except Killed:
            killer.arm(None)
            if lake.storage.read_text(SPLIT_FILE):
                with pytest.raises(Invalid, match=f"kontor buckets split --into {AFTER}"):
                    lake.prepare(AFTER)
            kills += 1
            split(database, lake)
        killer.arm(None)
        assert contents(folder) == expected, kills
    assert kills > len(files_of(tmp_path / "expected"))  # each file is written, and most old ones are removed


def _others(database: Database) -> int:
    with database.operating() as operator:
        return server_state.count_others(operator)


def test_nothing_is_split_while_others_work_or_into_a_number_that_cannot_be(
    database: Database, where: Addresses, tmp_path: Path
) -> None:
    lake = lake_with(tmp_path / "lake", BEFORE)
    other = Database(where.service, pool=1)
    other.ping()
    with pytest.raises(Busy, match="1 connections"):
        split(database, lake)
    other.close()
    wait_until(lambda: _others(database) == 0, 30)  # the server notices a moment later
    for count in (BEFORE, 3, 1002):
        with pytest.raises(Invalid, match="multiple"):
            list(splitting.split_buckets(database, lake, count))
    begun = splitting.split_buckets(database, lake, AFTER)
    next(begun)
    begun.close()
    with pytest.raises(Invalid, match=f"split into {AFTER}"):
        list(splitting.split_buckets(database, lake, 4))


def test_an_operator_splits_by_the_command(where: Addresses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake_with(tmp_path / "lake", BEFORE)
    monkeypatch.setenv("KONTOR_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("KONTOR_DATABASE_URL", where.service)
    result = CliRunner().invoke(app, ["buckets", "split", "--into", str(AFTER)], catch_exceptions=False)
    assert f"KONTOR_BUCKETS={AFTER}" in result.output
    assert (tmp_path / "lake" / BUCKET_COUNT_FILE).read_text() == str(AFTER)
