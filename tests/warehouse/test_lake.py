"""The lake: files that are there wholly or not at all, landings that lose and double nothing, and rows that can be erased."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics.frames import SchemaDiffers
from tests.support.object_store import new_bucket
from tests.warehouse.dying import HEIGHT, NAMES, NUMBERS, PIECES, SLOT, numbers
from warehouse.errors import BackfillNeeded, Invalid, LakeDamaged, NameTaken, NotFound
from warehouse.lake import erasure, landing, parquet, sql
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.tables import TABLES
from warehouse.runtime.files import UNFINISHED_PREFIX

ROOT = Path(__file__).parents[2]
LATER = LakeTable("numbers", pl.Schema([*NUMBERS.schema.items(), ("added", pl.String)]))
LONG_AFTER = datetime(2100, 1, 1, tzinfo=UTC)
REFUSED = "disabled by configuration|Table with name .* does not exist"


@pytest.fixture(params=["folder", "file", "memory", pytest.param("s3", marks=pytest.mark.thorough)])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    locations = {"folder": f"{tmp_path}/a lake's", "file": f"file://{tmp_path}/lake", "memory": f"memory://{uuid4()}/lake"}
    if request.param == "s3":
        locations["s3"] = f"s3://{new_bucket(request.getfixturevalue('store'))}/kontor/lake"
    lake = Lake(locations[request.param])
    lake.prepare(64)
    return lake


@pytest.fixture
def local(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def pieces_of(lake: Lake) -> pl.DataFrame:
    return landing.read_pieces(lake, PIECES, landing.list_pieces(lake, PIECES))


def land(lake: Lake, names: str, bucket: int = 7, slot: str = SLOT) -> None:
    for name in names:
        landing.append(lake, PIECES, slot, bucket, name, numbers(ord(name), 10))


# Buckets


def test_a_bucket_is_read_as_it_was_written(lake: Lake) -> None:
    written = lake.write(NUMBERS, 17, numbers(1), {"knowledge": "7", "as_of": "2026-11-15"})
    assert_frame_equal(lake.read(NUMBERS), numbers(1))
    assert_frame_equal(lake.scan(NUMBERS).collect(), numbers(1))
    assert lake.storage.find("numbers") == ["numbers/bucket=017/part.parquet"]
    assert lake.about(NUMBERS, 17) == {"as_of": "2026-11-15", "knowledge": "7"}
    assert written == (HEIGHT, lake.storage.size("numbers/bucket=017/part.parquet"))


def test_a_bucket_is_replaced_whole(lake: Lake) -> None:
    lake.write(NUMBERS, 17, numbers(1), {"version": "1"})
    lake.write(NUMBERS, 17, numbers(2, 5), {})
    assert_frame_equal(lake.read(NUMBERS), numbers(2, 5))
    assert lake.about(NUMBERS, 17) == {}


def test_some_buckets_and_columns_are_read_in_the_order_of_buckets(lake: Lake) -> None:
    for bucket in (63, 0, 5):
        lake.write(NUMBERS, bucket, numbers(bucket, 2), {})
    assert lake.buckets(NUMBERS) == [0, 5, 63]
    assert lake.read(NUMBERS, [63, 5, 4], ["version", "number"]).rows() == [(5, 0), (5, 1), (63, 0), (63, 1)]
    assert lake.read(NUMBERS, []).is_empty()


def test_the_last_write_of_a_table_is_told(lake: Lake) -> None:
    assert lake.last_written_at(NUMBERS) is None
    lake.write(NUMBERS, 17, numbers(1), {})
    lake.write(NUMBERS, 3, numbers(1), {})
    moment = lake.last_written_at(NUMBERS)
    assert moment is not None
    assert moment == lake.storage.written_at("numbers/bucket=003/part.parquet")


def test_where_nothing_is_there_the_frame_is_empty(lake: Lake) -> None:
    assert_frame_equal(lake.read(NUMBERS), NUMBERS.schema.to_frame())
    assert_frame_equal(lake.scan(NUMBERS).collect(), NUMBERS.schema.to_frame())
    assert lake.buckets(NUMBERS) == []
    assert lake.statistics(NUMBERS).is_empty()
    assert lake.about(NUMBERS, 3) == {}
    assert lake.rows(NUMBERS, 3) == 0


def test_a_lake_keeps_the_number_of_buckets_that_it_was_begun_with(lake: Lake) -> None:
    lake.prepare(64)
    with pytest.raises(Invalid, match="has 64 buckets"):
        lake.prepare(32)


def test_a_bucket_without_rows_is_a_bucket(lake: Lake) -> None:
    lake.write(NUMBERS, 3, NUMBERS.schema.to_frame(), {"revision": "4"})
    assert lake.buckets(NUMBERS) == [3]
    assert lake.about(NUMBERS, 3) == {"revision": "4"}
    assert lake.read(NUMBERS).is_empty()


def test_a_bucket_can_be_deleted(lake: Lake) -> None:
    lake.write(NUMBERS, 3, numbers(1), {})
    assert lake.delete(NUMBERS, 3)
    assert not lake.delete(NUMBERS, 3)
    assert lake.buckets(NUMBERS) == []


def test_statistics_tell_rows_bytes_and_age_of_buckets(lake: Lake) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    sizes = {bucket: lake.write(NUMBERS, bucket, numbers(1, bucket), {}).bytes for bucket in (4, 2)}
    found = lake.statistics(NUMBERS)
    assert found.select("bucket", "rows", "bytes").rows() == [(2, 2, sizes[2]), (4, 4, sizes[4])]
    assert_frame_equal(lake.statistics(NUMBERS, [4, 5]), found.filter(pl.col("bucket") == 4))
    assert before < found["written_at"].min() < LONG_AFTER  # type: ignore[operator]


def test_a_lake_that_can_be_written_is_found_in_order_and_left_as_it_was(lake: Lake) -> None:
    before = lake.storage.filesystem.find(lake.storage.root)
    lake.check()
    assert lake.storage.filesystem.find(lake.storage.root) == before


def test_a_lake_that_is_gone_is_not_in_order(local: Lake) -> None:
    with pytest.raises(OSError, match="lake"):
        local.check()


def test_nobody_else_can_look_into_a_new_lake(local: Lake) -> None:
    local.prepare(64)
    assert Path(local.storage.root).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["", "../up", "a/b", "Big", "a.b", "1st", "a b", "a" * 64])
def test_names_of_tables_are_plain_words(name: str) -> None:
    with pytest.raises(Invalid):
        LakeTable(name, NUMBERS.schema)


@pytest.mark.parametrize("bucket", [-1, 1000])
def test_buckets_have_three_digits(local: Lake, bucket: int) -> None:
    with pytest.raises(Invalid):
        local.write(NUMBERS, bucket, numbers(1), {})


def test_tables_of_the_lake_have_names_of_their_own() -> None:
    assert len({table.name for table in TABLES}) == len(TABLES)


def test_files_at_the_top_are_listed_with_their_names(lake: Lake) -> None:
    lake.storage.put("top.txt", b"x")
    lake.write(NUMBERS, 1, numbers(1), {})
    assert lake.storage.find("") == ["buckets.txt", "numbers/bucket=001/part.parquet", "top.txt"]


# Columns


def test_other_columns_are_not_written(local: Lake) -> None:
    for frame in (
        numbers(1).drop("user"),
        numbers(1).with_columns(x=1),
        numbers(1).with_columns(pl.col("number").cast(pl.Int32)),
    ):
        with pytest.raises(SchemaDiffers):
            local.write(NUMBERS, 1, frame, {})
    assert local.storage.find("") == []


def test_columns_in_another_order_are_put_in_order(local: Lake) -> None:
    local.write(NUMBERS, 1, numbers(1).select("version", "user", "number"), {})
    assert_frame_equal(local.read(NUMBERS), numbers(1))


def test_a_file_older_than_a_column_asks_for_a_backfill(lake: Lake) -> None:
    lake.write(LATER, 1, numbers(1).with_columns(added=pl.lit("x")), {})
    lake.write(NUMBERS, 17, numbers(1), {})
    message = r"numbers/bucket=017/part.parquet was written with other columns .* \(added\): backfill numbers"
    for read in (lambda: lake.read(LATER), lambda: lake.scan(LATER), lambda: sql.connect(lake, [LATER])):
        with pytest.raises(BackfillNeeded, match=message):
            read()
    assert lake.read(LATER, [1]).height == HEIGHT
    with pytest.raises(BackfillNeeded, match="bucket=001"):
        lake.read(NUMBERS)


def test_a_file_with_another_type_asks_for_a_backfill(lake: Lake) -> None:
    lake.write(
        LakeTable("numbers", pl.Schema({**NUMBERS.schema, "number": pl.Int32()})), 2, numbers(1).cast({"number": pl.Int32}), {}
    )
    with pytest.raises(BackfillNeeded, match=r"bucket=002.*\(number\)"):
        lake.read(NUMBERS)


def test_a_damaged_file_is_named(lake: Lake) -> None:
    lake.write(NUMBERS, 1, numbers(1), {})
    lake.write(NUMBERS, 2, numbers(1), {})
    path = lake.storage.at("numbers/bucket=002/part.parquet")
    lake.storage.filesystem.pipe_file(path, lake.storage.filesystem.cat_file(path)[:-100])
    for read in (lambda: lake.read(NUMBERS), lambda: lake.scan(NUMBERS), lambda: lake.statistics(NUMBERS)):
        with pytest.raises(LakeDamaged, match=r"numbers/bucket=002/part\.parquet"):
            read()


# Bytes


@pytest.mark.parametrize("height", [0, 1, 300_000])
def test_equal_frames_give_equal_bytes(height: int) -> None:
    frame = numbers(1, height)
    content = parquet.encode(frame, {"a": "1", "b": "2"})
    pieces = pl.concat([frame[: height // 3], frame[height // 3 :]], rechunk=False)
    assert parquet.encode(pieces, {"b": "2", "a": "1"}) == content
    assert parquet.encode(pl.concat([frame, frame])[height:], {"a": "1", "b": "2"}) == content


def test_bytes_do_not_depend_on_the_process() -> None:
    code = (
        "import hashlib; from tests.warehouse.dying import numbers; from warehouse.lake.parquet import encode;"
        "print(hashlib.sha256(encode(numbers(1, 150_000), {name: name for name in {'x', 'y', 'z'}})).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "POLARS_MAX_THREADS": threads},
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed, threads in (("1", "1"), ("2", "2"), ("3", "5"))
    }
    assert len(found) == 1


def test_row_groups_have_statistics(local: Lake) -> None:
    from pyarrow.parquet import read_metadata

    local.write(NUMBERS, 1, numbers(1, 300_000), {})
    found = read_metadata(local.storage.at("numbers/bucket=001/part.parquet"))
    ranges = [found.row_group(group).column(1).statistics for group in range(found.num_row_groups)]
    assert [(each.min, each.max) for each in ranges] == [(0, 262_143), (262_144, 299_999)]
    assert found.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("height", [20_000, 300_000])
def test_texts_that_repeat_are_texts_in_the_file(local: Lake, height: int) -> None:
    row = pl.Series(range(height))
    told = {"short": row % 7, "longer than a view": row // 9 % 500, "each": row, "missing": pl.Series([None, 1, 2])[row % 3]}
    frame = pl.DataFrame({name: f"{name} " + number.cast(pl.String) for name, number in told.items()})
    table = LakeTable("texts", frame.schema)
    written = local.write(table, 1, frame, {"a": "1"})
    assert parquet.columns_of(local.storage, "texts/bucket=001/part.parquet") == frame.schema
    assert local.about(table, 1) == {"a": "1"}
    assert_frame_equal(local.read(table), frame)
    assert local.write(table, 1, local.read(table), {"a": "1"}) == written
    with sql.connect(local, [table]) as connection:
        answer = sql.ask(connection, "select * exclude bucket from texts where short = 'short 3'")
        assert set(map(str, answer.types)) == {"VARCHAR"}
        assert_frame_equal(answer.pl(), frame.filter(pl.col("short") == "short 3"), check_row_order=False)


# Landing


def test_pieces_land_and_are_read_in_order(lake: Lake) -> None:
    land(lake, "ca")
    land(lake, "b", slot="2026-11-14T18")
    land(lake, "d", bucket=3)
    found = landing.list_pieces(lake, PIECES)
    assert [(piece.slot[8:], piece.name, piece.bucket) for piece in found] == [
        ("14T18", "b", 7),
        ("15T06", "a", 7),
        ("15T06", "c", 7),
        ("15T06", "d", 3),
    ]
    assert landing.list_pieces(lake, PIECES, slot=SLOT, bucket=3) == [landing.Piece(SLOT, "d", 3)]
    assert landing.list_pieces(lake, PIECES, bucket=7) == found[:3]
    assert landing.list_pieces(lake, PIECES, slot="2020-01-01T00") == []
    assert pieces_of(lake)["version"].unique(maintain_order=True).to_list() == [ord(name) for name in "bacd"]
    assert lake.read(PIECES, [3])["version"].unique().to_list() == [ord("d")]
    assert lake.storage.find(f"pieces/slot={SLOT}/bucket=003") == [f"pieces/slot={SLOT}/bucket=003/d.parquet"]


def test_nobody_notices_a_compaction(lake: Lake) -> None:
    land(lake, "cad")
    before = landing.list_pieces(lake, PIECES), pieces_of(lake), lake.read(PIECES).sort("version", "number")
    assert landing.compact(lake, PIECES, SLOT, 7) == 3
    assert len(lake.storage.find("pieces")) == 1
    after = landing.list_pieces(lake, PIECES), pieces_of(lake), lake.read(PIECES).sort("version", "number")
    assert before[0] == after[0]
    assert before[1].equals(after[1])
    assert before[2].equals(after[2])
    assert landing.compact(lake, PIECES, SLOT, 7) == 0
    assert landing.read_pieces(lake, PIECES, [landing.Piece(SLOT, "c", 7)]).equals(numbers(ord("c"), 10))
    assert lake.statistics(PIECES)["rows"].to_list() == [30]


def test_what_lands_after_a_compaction_stands_where_it_belongs(lake: Lake) -> None:
    land(lake, "ca")
    landing.compact(lake, PIECES, SLOT, 7)
    land(lake, "b")
    assert [piece.name for piece in landing.list_pieces(lake, PIECES)] == ["a", "b", "c"]
    assert pieces_of(lake)["version"].unique(maintain_order=True).to_list() == [ord(name) for name in "abc"]
    assert landing.compact(lake, PIECES, SLOT, 7) == 2
    assert pieces_of(lake)["version"].unique(maintain_order=True).to_list() == [ord(name) for name in "abc"]


@pytest.mark.parametrize("compacted", [False, True])
def test_a_piece_lands_once(lake: Lake, compacted: bool) -> None:
    land(lake, "ab")
    if compacted:
        landing.compact(lake, PIECES, SLOT, 7)
    assert landing.append(lake, PIECES, SLOT, 7, "a", numbers(ord("a"), 10)) == (0, 0)
    with pytest.raises(NameTaken):
        landing.append(lake, PIECES, SLOT, 7, "a", numbers(1, 10))
    assert pieces_of(lake).height == 20


@pytest.mark.parametrize("slot", ["", "2026-11-15", "2026-11-15T06:00", "../../../etcT06", "2026-11-15T06/x"])
def test_slots_are_plain(local: Lake, slot: str) -> None:
    with pytest.raises(Invalid):
        landing.append(local, PIECES, slot, 7, "a", numbers(1))
    with pytest.raises(Invalid):
        landing.list_pieces(local, PIECES, slot)


@pytest.mark.parametrize("name", ["", ".a", "../a", "a/b", "compacted.0011", "a b", "a.b", "ä", "a" * 101, "a\n"])
def test_names_of_pieces_are_plain(local: Lake, name: str) -> None:
    with pytest.raises(Invalid):
        landing.append(local, PIECES, SLOT, 7, name, numbers(1))


def test_a_landing_is_not_written_whole_and_a_table_not_in_pieces(local: Lake) -> None:
    with pytest.raises(Invalid):
        local.write(PIECES, 1, numbers(1), {})
    with pytest.raises(Invalid):
        landing.append(local, NUMBERS, SLOT, 1, "a", numbers(1))


def test_a_piece_that_is_not_there_is_a_fact(local: Lake) -> None:
    with pytest.raises(NotFound, match="no piece a in slot 2026"):
        landing.read_pieces(local, PIECES, [landing.Piece(SLOT, "a", 1)])


def test_views_show_every_piece_once_even_where_a_compaction_was_interrupted(lake: Lake) -> None:
    land(lake, "ab")
    kept = {path: lake.storage.filesystem.cat_file(lake.storage.at(path)) for path in lake.storage.find("pieces")}
    landing.compact(lake, PIECES, SLOT, 7)
    for path, content in kept.items():
        lake.storage.put(path, content)
    land(lake, "c")
    assert len(lake.storage.find("pieces")) == 4
    with sql.connect(lake, [PIECES]) as connection:
        assert sql.ask(connection, "select count(*), any_value(slot), any_value(bucket) from pieces").fetchall() == [
            (30, SLOT, 7)
        ]
    assert lake.read(PIECES).height == 30
    assert lake.statistics(PIECES)["rows"].to_list() == [30]
    assert landing.compact(lake, PIECES, SLOT, 7) == 4
    assert pieces_of(lake).height == 30


# Erasing


def test_rows_are_erased_from_every_file_that_has_some(lake: Lake) -> None:
    for bucket in (1, 2):
        lake.write(NUMBERS, bucket, numbers(bucket), {"revision": str(bucket)})
    lake.write(NUMBERS, 3, numbers(3, 3), {})
    untouched = lake.storage.filesystem.cat_file(lake.storage.at("numbers/bucket=003/part.parquet"))
    assert erasure.rewrite_without(lake, NUMBERS, "user", ["user-3"], buckets=[1]).rows == 100
    assert erasure.rewrite_without(lake, NUMBERS, "user", ["user-3", "nobody"]).rows == 100
    assert_frame_equal(lake.read(NUMBERS, [1]), numbers(1).filter(pl.col("user") != "user-3"))
    assert lake.about(NUMBERS, 2) == {"revision": "2"}
    assert lake.storage.filesystem.cat_file(lake.storage.at("numbers/bucket=003/part.parquet")) == untouched
    assert erasure.rewrite_without(lake, NUMBERS, "user", ["user-3"]).rows == 0


def test_files_without_rows_are_removed_by_erasing(lake: Lake) -> None:
    lake.write(NUMBERS, 1, numbers(1, 3), {})
    lake.write(NUMBERS, 2, numbers(1, 4), {})
    assert erasure.rewrite_without(lake, NUMBERS, "user", {"user-0", "user-1", "user-2"}).rows == 6
    assert lake.buckets(NUMBERS) == [2]


def test_rows_without_a_value_stay(local: Lake) -> None:
    local.write(NUMBERS, 1, numbers(1, 2).with_columns(user=pl.Series(["user-0", None])), {})
    assert erasure.rewrite_without(local, NUMBERS, "user", ["user-0"]).rows == 1
    assert local.read(NUMBERS)["user"].to_list() == [None]


def test_rows_are_erased_from_pieces_and_compacted_pieces(lake: Lake) -> None:
    land(lake, "ca")
    landing.compact(lake, PIECES, SLOT, 7)
    land(lake, "b")
    landing.append(lake, PIECES, SLOT, 7, "only", numbers(1, 4).tail(1))
    assert erasure.rewrite_without(lake, PIECES, "user", ["user-3"]).rows == 4
    assert [piece.name for piece in landing.list_pieces(lake, PIECES)] == ["a", "b", "c"]
    assert pieces_of(lake)["user"].n_unique() == 9
    assert pieces_of(lake).group_by("version").len().sort("version").rows() == [(ord(name), 9) for name in "abc"]


def test_erasing_does_not_wait_for_a_backfill(local: Lake) -> None:
    local.write(NUMBERS, 1, numbers(1), {})
    assert erasure.rewrite_without(local, LATER, "user", ["user-3"]).rows == 100
    with pytest.raises(BackfillNeeded, match="has no column added"):
        erasure.rewrite_without(local, LATER, "added", ["x"])


def test_a_damaged_file_keeps_no_other_from_being_erased(local: Lake) -> None:
    local.write(NUMBERS, 2, numbers(1), {})
    local.storage.put("numbers/bucket=001/part.parquet", b"no Parquet")
    with pytest.raises(LakeDamaged, match="bucket=001"):
        erasure.rewrite_without(local, NUMBERS, "user", ["user-3"])
    assert local.read(NUMBERS, [2]).height == 900


def test_a_damaged_compacted_file_keeps_no_piece_from_being_erased(local: Lake) -> None:
    land(local, "ab")
    local.storage.put(f"pieces/slot={SLOT}/bucket=007/compacted.00.parquet", b"no Parquet")
    with pytest.raises(LakeDamaged, match="compacted"):
        erasure.rewrite_without(local, PIECES, "user", ["user-3"])
    local.storage.remove(f"pieces/slot={SLOT}/bucket=007/compacted.00.parquet")
    assert pieces_of(local).height == 18


# Crashes


def died(what: str, folder: Path) -> list[Lake]:
    """Lakes on which a process died at every step of a work, and in the end one where it did not."""
    subprocess.run([sys.executable, "-m", "tests.warehouse.dying", what, str(folder)], cwd=ROOT, check=True)
    return [Lake(str(folder / str(step))) for step in range(1, len(list(folder.iterdir())))]


def leftovers(lake: Lake) -> list[Path]:
    return list(Path(lake.storage.root).rglob(f"{UNFINISHED_PREFIX}*"))


def test_a_writer_killed_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    lakes = died("write", tmp_path)
    versions = [lake.about(NUMBERS, 7)["version"] for lake in lakes]
    assert versions == sorted(versions)
    assert set(versions) == {"1", "2"}
    assert any(leftovers(lake) for lake in lakes)
    for lake, version in zip(lakes, versions, strict=True):
        assert_frame_equal(lake.read(NUMBERS), numbers(int(version)))
        assert lake.sweep(older_than=datetime(2020, 1, 1, tzinfo=UTC)) == 0
        left = len(leftovers(lake))
        assert lake.sweep(older_than=LONG_AFTER) == left
        assert leftovers(lake) == []
        assert_frame_equal(lake.read(NUMBERS), numbers(int(version)))


def test_a_full_disk_leaves_what_was_there_and_is_told(local: Lake) -> None:
    local.prepare(64)
    local.write(NUMBERS, 7, numbers(1), {"version": "1"})
    full = subprocess.run(
        [sys.executable, "-m", "tests.warehouse.filling", local.storage.address], cwd=ROOT, check=True, stdout=-1
    )
    assert full.stdout.decode().split() == ["write", "append", "check"], "each of them has failed, and said so"
    assert_frame_equal(local.read(NUMBERS), numbers(1))
    assert local.about(NUMBERS, 7)["version"] == "1"
    assert landing.list_pieces(local, PIECES, bucket=7) == []
    assert leftovers(local) == []
    local.write(NUMBERS, 7, numbers(2), {"version": "2"})
    assert_frame_equal(local.read(NUMBERS), numbers(2))


def test_a_piece_killed_at_any_step_has_landed_or_not(tmp_path: Path) -> None:
    lakes = died("append", tmp_path)
    assert {len(landing.list_pieces(lake, PIECES)) for lake in lakes} == {4, 5}
    for lake in lakes:
        landing.append(lake, PIECES, SLOT, 7, "e", numbers(9))
        assert pieces_of(lake).height == 5 * HEIGHT


def test_a_compaction_killed_at_any_step_neither_loses_nor_doubles_rows(tmp_path: Path) -> None:
    lakes = died("compact", tmp_path)
    expected = pl.concat([numbers(NAMES.index(name)) for name in sorted(NAMES)])
    assert len({len(lake.storage.find("pieces")) for lake in lakes}) > 2
    for lake in lakes:
        assert [piece.name for piece in landing.list_pieces(lake, PIECES)] == sorted(NAMES)
        assert_frame_equal(pieces_of(lake), expected)
        assert lake.read(PIECES).height == expected.height
        landing.compact(lake, PIECES, SLOT, 7)
        assert len(lake.storage.find("pieces")) == 1
        assert_frame_equal(pieces_of(lake), expected)


def test_an_erasure_killed_at_any_step_is_completed_by_the_next_one(tmp_path: Path) -> None:
    lakes = died("erase", tmp_path)
    whole, without = HEIGHT, HEIGHT - HEIGHT // 10
    for lake in lakes:
        heights = set(pieces_of(lake).group_by("version").len()["len"])
        assert heights <= {whole, without}
        erasure.rewrite_without(lake, PIECES, "user", ["user-3"])
        assert pieces_of(lake).group_by("version").len().sort("version").rows() == [(version, without) for version in range(4)]


@pytest.mark.parametrize("work", ["write", "append", "compact", "erase"])
def test_an_erasure_removes_what_a_writer_left_that_was_killed_at_any_step(work: str, tmp_path: Path) -> None:
    lakes = died(work, tmp_path)
    assert any(leftovers(lake) for lake in lakes)
    for lake in lakes:
        left = len(leftovers(lake))
        removed = [erasure.rewrite_without(lake, table, "user", ["user-3"]).leftovers for table in (NUMBERS, PIECES)]
        assert sum(removed) == left
        assert leftovers(lake) == []
        assert "user-3" not in {*lake.read(NUMBERS)["user"], *lake.read(PIECES)["user"]}


def test_leftovers_are_removed_where_nothing_else_is_and_whatever_their_name(local: Lake) -> None:
    paths = ["numbers/bucket=007/.writing-a", f"pieces/slot={SLOT}/bucket=007/old/x.tmp", "numbers/bucket=007/part.parquet.bak"]
    for path in [*paths, "numbers/bucket=008/.writing-b"]:
        local.storage.put(path, b"user-3")
    counts = [erasure.rewrite_without(local, table, "user", ["user-3"], [7]) for table in (NUMBERS, PIECES)]
    assert counts == [(0, 0, 2), (0, 0, 1)]
    assert [path.parent.name for path in leftovers(local)] == ["bucket=008"], "those of another bucket are another erasure's"


def test_the_file_of_a_living_writer_is_waited_for(local: Lake) -> None:
    """Removing it would fail the writer, or leave what it writes a moment later."""
    folder = "numbers/bucket=007"
    with ThreadPoolExecutor(1) as pool:
        with local.storage.lock(folder):
            unfinished = Path(local.storage.at(folder)) / ".writing-a"
            unfinished.write_bytes(parquet.encode(numbers(1), {}))
            erasing = pool.submit(erasure.rewrite_without, local, NUMBERS, "user", ["user-3"])
            with pytest.raises(TimeoutError):
                erasing.result(timeout=0.3)
            unfinished.rename(local.storage.at(f"{folder}/part.parquet"))
        assert erasing.result(timeout=30) == (1, 100, 0)
    assert local.read(NUMBERS).height == 900


# Several at once


@contextmanager
def at_work(folder: Path, *versions: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that write, land and compact on one lake without end; in the end they are killed in the middle of it."""
    command = [sys.executable, "-m", "tests.warehouse.dying"]
    workers = [
        subprocess.Popen([*command, str(version), str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for version in versions
    ]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def said(worker: subprocess.Popen[str]) -> int:
    assert worker.stdout
    return int(worker.stdout.readline())


def test_two_writers_and_a_reader_at_once_see_no_mixture(local: Lake) -> None:
    with at_work(Path(local.storage.root), 1, 2) as workers:
        for worker in workers:
            said(worker)
        for _ in range(30):
            done = {version: said(worker) for version, worker in enumerate(workers, 1)}
            found = local.read(NUMBERS)
            version = found["version"][0]
            assert_frame_equal(found, numbers(version, HEIGHT + version))
            names = [piece.name for piece in landing.list_pieces(local, PIECES)]
            for version, rounds in done.items():
                mine = [int(name[2:]) for name in names if name.startswith(f"{version}-")]
                assert mine == list(range(len(mine)))
                assert len(mine) >= rounds
            rows = landing.read_pieces(local, PIECES, landing.list_pieces(local, PIECES))
            assert rows.height >= 10 * len(names)
            assert rows.height % 10 == 0


def test_a_lake_whose_writers_are_killed_again_and_again_is_in_order(local: Lake) -> None:
    for version in (1, 2, 3):
        with at_work(Path(local.storage.root), version) as (worker,):
            rounds = [said(worker) for _ in range(3 + 2 * version)][-1]
        found = local.read(NUMBERS)
        assert_frame_equal(found, numbers(version, HEIGHT + version))
        mine = [piece for piece in landing.list_pieces(local, PIECES) if piece.name.startswith(f"{version}-")]
        assert len(mine) >= rounds
        assert landing.read_pieces(local, PIECES, mine)["version"].to_list() == [
            number for number in range(len(mine)) for _ in range(10)
        ]
    local.sweep(older_than=LONG_AFTER)
    assert leftovers(local) == []


# Views


def test_views_have_the_columns_of_the_tables_and_their_keys(lake: Lake) -> None:
    row = {"user": "u", "tenant": "t", "revision": 3, "as_of": None, "serial": 4}
    rows = pl.DataFrame([row], schema=TABLES[3].schema)
    lake.write(TABLES[3], 17, rows, {})
    with sql.connect(lake) as connection:
        for table in TABLES:
            keys = ["bucket", "slot"] if table.landing else ["bucket"]
            assert sql.ask(connection, f"from {table.name}").columns == [*table.schema.names(), *keys]
        assert sql.ask(connection, "select * from users").fetchall() == [("u", "t", 3, None, 4, 17)]
        assert sql.ask(connection, "select count(*) from transactions").fetchall() == [(0,)]


def test_empty_views_have_the_types_of_full_ones(local: Lake) -> None:
    def types() -> list[list[tuple[str, str]]]:
        with sql.connect(local) as connection:
            return [[row[:2] for row in sql.ask(connection, f"describe {table.name}").fetchall()] for table in TABLES]

    empty = types()
    for table in TABLES:
        row = pl.DataFrame([dict.fromkeys(table.schema)], schema=table.schema)
        landing.append(local, table, SLOT, 1, "a", row) if table.landing else local.write(table, 1, row, {})
    assert types() == empty


def test_a_view_shows_what_was_written_after_it_was_made(lake: Lake) -> None:
    lake.write(NUMBERS, 1, numbers(1), {})
    with sql.connect(lake, [NUMBERS]) as connection:
        question = "select version, bucket, count(*) from numbers group by all order by all"
        assert sql.ask(connection, question).fetchall() == [(1, 1, HEIGHT)]
        lake.write(NUMBERS, 1, numbers(2), {})
        lake.write(NUMBERS, 2, numbers(3, 5), {})
        assert sql.ask(connection, question).fetchall() == [(2, 1, HEIGHT), (3, 2, 5)]


@pytest.mark.parametrize(
    "question",
    [
        "select * from read_csv('/etc/passwd', sep = ':')",
        "select * from read_text('/etc/passwd')",
        "select * from read_text('file:///etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from glob('/etc/*')",
        "select * from read_text('{lake}/../secret')",
        "select * from read_text('{lake}/link')",
        "select * from read_text('{lake}2/secret')",
        "select * from 'https://example.org/x.parquet'",
    ],
)
def test_a_query_reads_nothing_but_the_lake(tmp_path: Path, local: Lake, question: str) -> None:
    for secret in (tmp_path / "secret", tmp_path / "lake2" / "secret"):
        secret.parent.mkdir(exist_ok=True)
        secret.write_text("hidden")
    local.write(NUMBERS, 1, numbers(1), {})
    (tmp_path / "lake" / "link").symlink_to(tmp_path / "secret")
    with sql.connect(local, [NUMBERS]) as connection, pytest.raises(Invalid, match=REFUSED), sql.explain_errors():
        sql.ask(connection, question.format(lake=local.storage.root)).fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1) to '{lake}/numbers/bucket=001/part.parquet'",
        "explain analyze copy (select 1) to '{lake}/numbers/bucket=001/part.parquet'",
        "attach '{lake}/new.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "drop view numbers",
        "create table mine as select 1",
        "select 1; select 2",
        "",
    ],
)
def test_only_queries_are_taken(local: Lake, statement: str) -> None:
    local.write(NUMBERS, 1, numbers(1), {})
    with sql.connect(local, [NUMBERS]) as connection, pytest.raises(Invalid, match="one query is taken"):
        sql.ask(connection, statement.format(lake=local.storage.root))
    assert_frame_equal(local.read(NUMBERS), numbers(1))


@pytest.mark.parametrize("path", ["/etc/passwd", "file:///etc/passwd", "memory://elsewhere/secret", "memory:///elsewhere/secret"])
def test_a_query_to_a_lake_elsewhere_reads_nothing_but_that(path: str) -> None:
    lake = Lake(f"memory://{uuid4()}/lake")
    lake.storage.filesystem.pipe_file("/elsewhere/secret", b"hidden")
    with sql.connect(lake, [NUMBERS]) as connection, pytest.raises(Invalid, match=REFUSED), sql.explain_errors():
        sql.ask(connection, f"select * from read_text('{path}')").fetchall()


def test_the_connection_itself_cannot_be_opened_again(local: Lake) -> None:
    import duckdb

    with sql.connect(local, [NUMBERS]) as connection:
        for statement in ("set enable_external_access = true", "set lock_configuration = false", "install httpfs", "load httpfs"):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
        with pytest.raises(duckdb.Error):
            connection.execute("copy (select 1) to '/tmp/kontor-lake-test.csv'")


def test_a_lake_behind_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    lake = Lake(str(tmp_path / "link" / "lake"))
    lake.write(NUMBERS, 1, numbers(1), {})
    with sql.connect(lake, [NUMBERS]) as connection:
        assert sql.ask(connection, "select count(*) from numbers").fetchall() == [(HEIGHT,)]


def test_the_api_loads_no_duckdb_before_somebody_asks() -> None:
    code = "import sys, api.app, api.http.server, api.cli; sys.exit(any(name.startswith('duckdb') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
