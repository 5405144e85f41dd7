"""What lies ready of a user is of that user alone, byte for byte."""

import polars as pl

from warehouse.lake.packing import pack, pack_frame, unpack, unpack_frame

USERS = pl.DataFrame(
    {
        "user": ["anna"] * 500 + ["berta"] * 500,
        "text": [f"a long text that only Anna has {number}" for number in range(500)]
        + [f"a long text that only Berta has {number}" for number in range(500)],
        "seldom": [None if number % 7 else f"seen by one {number}" for number in range(1000)],
    }
)


def test_a_frame_comes_back() -> None:
    assert unpack_frame(pack_frame(USERS)).equals(USERS)
    assert unpack_frame(pack_frame(USERS.clear())).equals(USERS.clear())


def test_rows_cut_from_a_frame_are_the_bytes_of_these_rows_alone() -> None:
    cut, alone = USERS.filter(user="berta"), pl.DataFrame(USERS[500:].to_dict(as_series=False))
    assert pack_frame(cut) == pack_frame(alone) == pack_frame(unpack_frame(pack_frame(USERS))[500:])
    assert len(pack_frame(USERS[:2])) < len(pack_frame(USERS)) / 2


def test_bytes_come_back() -> None:
    for content in (b"", b"[]", b"x" * 100_000):
        assert unpack(pack(content)) == content
