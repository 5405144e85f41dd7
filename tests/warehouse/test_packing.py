"""What lies ready of a user is of that user alone, byte for byte."""

import polars as pl

from warehouse.lake.packing import frame_of, of_frame, packed, unpacked

USERS = pl.DataFrame(
    {
        "user": ["anna"] * 500 + ["berta"] * 500,
        "text": [f"a long text that only Anna has {number}" for number in range(500)]
        + [f"a long text that only Berta has {number}" for number in range(500)],
        "seldom": [None if number % 7 else f"seen by one {number}" for number in range(1000)],
    }
)


def test_a_frame_comes_back() -> None:
    assert frame_of(of_frame(USERS)).equals(USERS)
    assert frame_of(of_frame(USERS.clear())).equals(USERS.clear())


def test_rows_cut_from_a_frame_are_the_bytes_of_these_rows_alone() -> None:
    cut, alone = USERS.filter(user="berta"), pl.DataFrame(USERS[500:].to_dict(as_series=False))
    assert of_frame(cut) == of_frame(alone) == of_frame(frame_of(of_frame(USERS))[500:])
    assert len(of_frame(USERS[:2])) < len(of_frame(USERS)) / 2


def test_bytes_come_back() -> None:
    for content in (b"", b"[]", b"x" * 100_000):
        assert unpacked(packed(content)) == content
