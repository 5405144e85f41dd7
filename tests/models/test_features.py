"""Features: one definition, whether read slowly, as a matrix or while scoring."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from models.categoriser.features import (
    TEXT_BYTES,
    WEIGHTS,
    FeatureGroup,
    Hiding,
    features,
    hinted,
    texts,
    values,
)
from tests.models.toys import labelled, line, lines, matrix

BITS = 12
WHOLE = 2**64
START, PRIME, MIX = 14695981039346656037, 1099511628211, 0x9E3779B97F4A7C15


def fnv(text: bytes, start: int = START) -> int:
    for byte in text:
        start = ((start ^ byte) * PRIME) % WHOLE
    return start


def slot(value: int) -> int:
    return (((value ^ (value >> 32)) * MIX) % WHOLE) >> (64 - BITS)


def characters(words: list[bytes], seed: int) -> list[int]:
    found = []
    for word in words:
        padded = b" " + word + b" "
        for left in range(len(padded) - 2):
            found += [
                slot(fnv(padded[left : left + n], START ^ ((seed * MIX) % WHOLE))) for n in (3, 4, 5) if left + n <= len(padded)
            ]
    return found


def phrases(words: list[bytes], seed: int, pairs: bool = True) -> list[int]:
    start = (seed * MIX) % WHOLE
    found = []
    for place, word in enumerate(words):
        found.append(slot(fnv(word) ^ start))
        if pairs and place + 1 < len(words):
            found.append(slot(((fnv(word) * PRIME) % WHOLE) ^ fnv(words[place + 1]) ^ start))
    return found


def fact(kind: int, value: int) -> int:
    return slot((((value ^ (kind + 100)) * PRIME) % WHOLE) ^ (((kind + 100) * MIX) % WHOLE))


def slowly(row: dict[str, object]) -> list[list[int]]:
    """The slots of a line by group, read letter by letter."""
    words = {
        name: str(row[name]).encode().split()
        for name in ("merchant", "name", "ultimate", "purpose", "booking_text", "channel", "via", "purpose_code")
    }
    others = [word for name in ("name", "ultimate") for word in words[name] if word not in words["merchant"]]
    sign = int(bool(row["positive"])) + 1
    size = int(str(row["amount_bin"])) * 7919 + sign
    hint, sureness = str(row["lexicon_category"] or "").encode(), int(10 * float(str(row["lexicon_confidence"] or 0)))
    channel, via, code = (fnv(str(row[name]).encode()) for name in ("channel", "via", "purpose_code"))
    return [
        characters(words["merchant"], 1),
        characters(others, 2),
        characters(words["purpose"], 3),
        phrases(words["merchant"], 4),
        phrases(words["purpose"], 5),
        [
            fact(0, sign),
            fact(1, size),
            fact(2, (channel + sign) % WHOLE),
            fact(3, (channel + size * MIX) % WHOLE),
            fact(4, via),
            fact(5, (via + size * MIX) % WHOLE),
            fact(6, (code + sign) % WHOLE),
        ],
        phrases(words["booking_text"], 6, pairs=False),
        [fact(7, fnv(hint)), fact(8, (fnv(hint) + sureness * MIX) % WHOLE)] if hint else [],
    ]


SOME = lines(
    line("rewe markt", "sagt danke 0", booking_text="kartenzahlung girocard", channel="CARD"),
    line("spotify", "ihr einkauf bei spotify ab", name="paypal europe", via="PAYPAL", ultimate="spotify ab"),
    line("", "", positive=True, purpose_code="SALA"),
    line("a", "bb c", ultimate="x"),
)


@cache
def hinted_lines() -> pl.DataFrame:
    return hinted(SOME)


def test_the_lexicon_is_asked_where_nobody_has_asked_it() -> None:
    shop = lines(line("apotheke am markt"), line("xyz"))
    assert hinted(shop)["lexicon_category"].to_list() == ["HEALTH_CONSUMABLES", None]
    said = shop.with_columns(lexicon_category=pl.Series(["TAXES", None]), lexicon_confidence=pl.Series([0.9, None]))
    assert hinted(said).equals(said)
    assert (matrix(said, BITS) != matrix(shop, BITS)).nnz == 4


def test_the_kernel_reads_what_a_slow_reader_reads() -> None:
    of = texts(SOME)
    found = features(of, np.arange(of.rows), BITS)
    starts = np.concatenate([[0], found.ends.ravel()[:-1]]).reshape(found.ends.shape)
    for number, row in enumerate(hinted_lines().to_dicts()):
        for group, expected in enumerate(slowly(row)):
            assert found.slots[starts[number, group] : found.ends[number, group]].tolist() == expected, FeatureGroup(group).name


def test_each_group_of_a_row_weighs_the_same_whatever_its_length() -> None:
    found = features(texts(SOME), np.arange(SOME.height), BITS)
    sizes = np.diff(found.ends.ravel(), prepend=0).reshape(found.ends.shape)
    lengths = np.sqrt(sizes) * values(found.ends)
    assert np.allclose(lengths, np.where(sizes > 0, WEIGHTS, 0), atol=1e-6)


def test_the_matrix_holds_the_same_features() -> None:
    found = matrix(SOME, BITS)
    expected = np.zeros(found.shape)
    for number, row in enumerate(hinted_lines().to_dicts()):
        for weight, slots in zip(WEIGHTS, slowly(row), strict=True):
            for one in slots:
                expected[number, one] += weight / np.sqrt(len(slots))
    assert np.allclose(found.toarray(), expected, atol=1e-6)


def test_rows_do_not_depend_on_their_neighbours() -> None:
    of = texts(SOME)
    for row in range(SOME.height):
        alone = features(texts(SOME[row : row + 1]), np.arange(1), BITS)
        chosen = features(of, np.array([row]), BITS)
        assert alone.slots[: alone.ends[-1, -1]].tolist() == chosen.slots[: chosen.ends[-1, -1]].tolist()


def test_what_is_missing_reads_as_empty() -> None:
    gaps = SOME.with_columns(pl.lit(None, pl.String).alias("ultimate"))
    assert (matrix(gaps, BITS) != matrix(SOME.with_columns(ultimate=pl.lit("")), BITS)).nnz == 0


def test_no_lines_have_no_features() -> None:
    assert matrix(SOME.clear(), BITS).shape == (0, 1 << BITS)


def test_endless_texts_are_cut() -> None:
    long = lines(line("x" * 5000, "wort " * 5000))
    same = lines(line("x" * TEXT_BYTES, ("wort " * 5000)[:TEXT_BYTES]))
    assert (matrix(long, BITS)[:, :] != matrix(same, BITS)).nnz == 0


def test_slices_and_chunks_of_frames_read_the_same() -> None:
    parts = pl.concat([SOME[:1], SOME[1:3], SOME[3:]], rechunk=False)
    assert (matrix(parts, BITS) != matrix(SOME, BITS)).nnz == 0


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_hidden_words_are_hidden_in_the_whole_line(share: float) -> None:
    twice, _ = labelled()
    twice = twice.with_columns(purpose=pl.col("merchant") + " " + pl.col("purpose"))
    of = texts(twice)
    found = features(of, np.arange(of.rows), BITS, Hiding(words=share, seed=5))
    words = [bytes(of.data[start:end]) for start, end, _ in found.spans[: found.span_ends[-1]]]
    shown = 0
    for row, (start, end) in enumerate(zip([0, *found.span_ends[:-1]], found.span_ends, strict=True)):
        merchant = set(str(twice["merchant"][row]).encode().split())
        seen = words[start:end]
        shown += sum(word in seen for word in merchant)
        assert all(seen.count(word) in (0, 2) for word in merchant)
    whole = int(twice["merchant"].str.split(" ").list.n_unique().sum())
    assert abs(shown / whole - (1 - share)) < 0.06


def test_a_hidden_merchant_is_hidden_in_the_purpose_too() -> None:
    frame = lines(line("netflix", "ihr einkauf bei netflix abo"))
    of = texts(frame)
    found = features(of, np.arange(1), BITS, Hiding(merchants=1.0, seed=2))
    words = [bytes(of.data[start:end]).decode() for start, end, _ in found.spans[: found.span_ends[-1]]]
    assert words == ["ihr", "einkauf", "bei", "abo"]
