"""Large buckets are worked on piece by piece, with the same bytes as a result."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest

from pipelines.results import export, live, tasks
from tests.support.households import Settled, files_of, settled
from warehouse.lake import parquet
from warehouse.lake.lake import Lake, ranges_until
from warehouse.lake.parquet import ALL_USERS, LakeTable, PieceEncoder, UserRange

HOUSEHOLDS, BUCKETS, SEED = 6, 2, 20261118
NUMBERS = LakeTable("numbers", pl.Schema({"user": pl.String, "number": pl.Int64}))


@pytest.fixture(scope="module")
def house(homes: Path) -> Iterator[Settled]:
    with settled(homes / "pieces", HOUSEHOLDS, SEED, KONTOR_BUCKETS=str(BUCKETS)) as settled_house:
        yield settled_house


def results_of(house: Settled, monkeypatch: pytest.MonkeyPatch, piece_bookings: int) -> tuple[object, ...]:
    """The files, the rows that are served and the counts of everything anew, with this number of bookings in memory."""
    for name, value in {**house.told, "KONTOR_PIECE_BOOKINGS": str(piece_bookings)}.items():
        monkeypatch.setenv(name, value)
    tasks._context.cache_clear()
    with house.admin() as connection:
        connection.execute("TRUNCATE results")
    steps = (tasks.export_buckets, tasks.tag_buckets, tasks.analyse_buckets)
    counts = [tasks.run_on_buckets(step, range(BUCKETS), everything=True) for step in steps]
    counts.append(tasks.run_on_buckets(tasks.publish_buckets, range(BUCKETS)))
    some = house.people[:2]
    with house.admin() as connection:
        connection.execute("UPDATE users SET revision = revision + 1 WHERE id = ANY(%s)", (some,))
    changes = [tasks.run_on_buckets(step, range(BUCKETS)) for step in (*steps, tasks.publish_buckets)]
    with house.admin() as connection:
        connection.execute("UPDATE users SET revision = revision - 1 WHERE id = ANY(%s)", (some,))
    files = files_of(Path(house.told["KONTOR_HOME"]) / "lake")
    tasks._context().database.close()
    tasks._context.cache_clear()
    return files, house.served(), counts, changes


def test_pieces_give_the_same_bytes(house: Settled, monkeypatch: pytest.MonkeyPatch) -> None:
    live.prepare()
    results_of(house, monkeypatch, piece_bookings=10**6)  # so that both runs compare their tags with earlier ones
    whole = results_of(house, monkeypatch, piece_bookings=10**6)
    monkeypatch.setattr(export, "FIRST_USERS", 1)
    ranges: list[UserRange] = []
    reading = Lake.read

    def watched(
        lake: Lake,
        table: LakeTable,
        buckets: Iterable[int] | None = None,
        columns: Sequence[str] | None = None,
        users: UserRange = ALL_USERS,
    ) -> pl.DataFrame:
        ranges.append(users)
        return reading(lake, table, buckets, columns, users)

    monkeypatch.setattr(Lake, "read", watched)
    assert results_of(house, monkeypatch, piece_bookings=100) == whole
    assert len(set(ranges)) > HOUSEHOLDS


def test_a_table_in_pieces_is_the_same_bytes_however_it_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MAX_ROWS_AT_ONCE", 100)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 70)
    frame = pl.DataFrame({"user": [f"u{number // 7:03}" for number in range(500)], "number": range(500)}, schema=NUMBERS.schema)

    def encoded(rows: pl.DataFrame, size: int) -> bytes:
        with PieceEncoder(NUMBERS.schema) as encoder:
            for piece in rows.iter_slices(size):
                encoder.add(piece)
            assert encoder.rows == rows.height
            return encoder.encode({"state": "x"})

    contents = {encoded(frame, size) for size in (33, 90, 250, 500)}
    assert len(contents) == 1
    assert pl.read_parquet(contents.pop()).equals(frame)
    assert encoded(frame.head(90), 30) == parquet.encode(frame.head(90), {"state": "x"})


def test_a_large_table_of_the_lake_is_read_by_ranges_of_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MAX_ROWS_AT_ONCE", 100)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 70)
    lake = Lake(str(tmp_path))
    lake.prepare(1)
    frame = pl.DataFrame({"user": [f"u{number // 7:03}" for number in range(500)], "number": range(500)}, schema=NUMBERS.schema)
    lake.write(NUMBERS, 0, frame, {"state": "x"})
    assert lake.about(NUMBERS, 0) == {"state": "x"}
    assert lake.rows(NUMBERS, 0) == 500
    assert lake.user_ranges(NUMBERS, 0, 500) == [ALL_USERS]
    ranges = lake.user_ranges(NUMBERS, 0, 60)
    parts = [lake.read(NUMBERS, [0], users=users) for users in ranges]
    assert pl.concat(parts).equals(frame)
    assert 0 < max(part.height for part in parts) < 60 + 7
    assert ranges_until(["b", "d"]) == [UserRange("", "b"), UserRange("b!", "~")]
