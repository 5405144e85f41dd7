"""The lake in an object store: files are there wholly or not at all, also after a kill, and programs of others can read them.

`test_lake.py` tries everything that a lake does against the same store.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.dataset
import pytest
from polars.testing import assert_frame_equal
from pyarrow.fs import S3FileSystem

from tests.support.object_store import new_bucket
from tests.support.stack import free_port, wait_until
from tests.warehouse.dying import NUMBERS, numbers
from warehouse.lake.lake import Lake
from warehouse.lake.storage import Storage

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[2]
HEIGHT = 200_000
"""About a megabyte: several packets, so that a kill meets a transfer."""
WRITING = f"""
import itertools, sys
from tests.warehouse.dying import NUMBERS, numbers
from warehouse.lake.lake import Lake
lake = Lake(sys.argv[1])
for version in itertools.count(2):
    lake.write(NUMBERS, 7, numbers(version, {HEIGHT}), {{"version": str(version)}})
    print(version, flush=True)
"""


@pytest.fixture
def lake(store: dict[str, str]) -> Lake:
    lake = Lake(f"s3://{new_bucket(store)}/kontor")
    lake.prepare(64)
    return lake


def options(store: dict[str, str]) -> dict[str, str]:
    """What Polars is told of the store."""
    return {name.lower(): value for name, value in store.items()} | {"aws_allow_http": "true"}


@pytest.mark.parametrize("writes", [1, 2, 4, 7])
def test_whoever_is_killed_leaves_the_old_file_or_the_new_one(lake: Lake, writes: int) -> None:
    lake.write(NUMBERS, 7, numbers(1, HEIGHT), {"version": "1"})
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITING, lake.storage.address], stdout=subprocess.PIPE, cwd=ROOT, env=dict(os.environ), text=True
    )
    assert writer.stdout is not None
    for _ in range(writes):
        assert writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)  # while the next one is being written, mostly
    finished = int((writer.stdout.read().split() or [str(writes + 1)])[-1])
    writer.wait()
    frame = lake.read(NUMBERS)
    (version,) = frame["version"].unique()
    assert version in (finished, finished + 1)
    assert_frame_equal(frame, numbers(version, HEIGHT))
    assert lake.about(NUMBERS, 7) == {"version": str(version)}
    assert lake.storage.find_all("numbers") == ["numbers/bucket=007/part.parquet"], "no half files"


def test_readers_see_whole_files_while_one_is_replaced(lake: Lake) -> None:
    lake.write(NUMBERS, 7, numbers(1, HEIGHT), {"version": "1"})
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITING, lake.storage.address], stdout=subprocess.DEVNULL, cwd=ROOT, env=dict(os.environ)
    )
    versions: list[int] = []

    def has_seen_several() -> bool:
        frame = lake.read(NUMBERS)
        assert frame.height == HEIGHT
        versions.extend(frame["version"].unique().to_list())
        return len(set(versions)) >= 3

    try:
        wait_until(has_seen_several, 120)
    finally:
        writer.kill()
        writer.wait()
    assert versions == sorted(versions), "one version at a time, and none goes back"


def test_others_read_it_with_polars_pyarrow_and_duckdb(lake: Lake, store: dict[str, str]) -> None:
    frames = {bucket: numbers(bucket, 1000) for bucket in (3, 17)}
    for bucket, frame in frames.items():
        lake.write(NUMBERS, bucket, frame, {})
    expected = pl.concat(frames.values()).with_columns(bucket=pl.Series([3] * 1000 + [17] * 1000, dtype=pl.Int64))

    pattern = f"{lake.storage.address}/numbers/*/part.parquet"
    scanned = pl.scan_parquet(pattern, storage_options=options(store), hive_partitioning=True)
    assert_frame_equal(scanned.sort("bucket", "number").collect(), expected, check_column_order=False)

    filesystem = S3FileSystem(
        access_key=store["AWS_ACCESS_KEY_ID"],
        secret_key=store["AWS_SECRET_ACCESS_KEY"],
        region=store["AWS_REGION"],
        endpoint_override=store["AWS_ENDPOINT_URL"],
    )
    dataset = pyarrow.dataset.dataset(f"{lake.storage.root}/numbers", filesystem=filesystem, partitioning="hive")
    assert dataset.count_rows() == 2000

    with duckdb.connect() as connection:
        connection.register("numbers", dataset)
        query = "SELECT bucket, count(*), max(version) FROM numbers GROUP BY bucket ORDER BY bucket"
        assert connection.sql(query).fetchall() == [(3, 1000, 3), (17, 1000, 17)]


def test_a_store_that_does_not_answer_is_an_error_and_no_wait_without_end(
    store: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(OSError):
        Lake("s3://lake/kontor").check()


def test_a_bucket_that_does_not_exist_is_an_error(store: dict[str, str]) -> None:
    with pytest.raises(OSError):
        Lake("s3://no-such-bucket/kontor").prepare(64)


def test_credentials_are_no_part_of_the_address(store: dict[str, str]) -> None:
    storage = Storage.of("s3://bucket/kontor/")
    assert storage.address == "s3://bucket/kontor"
    assert store["AWS_SECRET_ACCESS_KEY"] not in repr(storage)


def test_a_large_file_comes_in_parts_and_is_one_file(lake: Lake, tmp_path: Path) -> None:
    content = os.urandom(25_000_000)
    lake.storage.put("models/large.bin", content)
    assert lake.storage.size("models/large.bin") == len(content)
    lake.storage.filesystem.get_file(lake.storage.at("models/large.bin"), str(tmp_path / "copy"))  # as a backup does
    assert (tmp_path / "copy").read_bytes() == content
