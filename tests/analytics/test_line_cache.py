"""Hashes get numbers in the order in which they are first seen; a line is tagged once while it is cached."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from analytics.native.dense_ids import MIN_KEYS, UNKNOWN, Numbering
from analytics.native.hashing import Hashes
from analytics.tagging.line_cache import MAX_CHUNKS, MAX_LINES_PER_KEY, LineCache, TaggedLines
from tests.support.examples import examples

patient = settings(deadline=None, max_examples=examples(40))
"""The first example may wait for the compiler."""
FAR = 2**40
"""Hashes that differ by this ask for the same place of any table here."""
KEYS = st.integers(0, 30) | st.integers(0, 5).map(lambda number: number * FAR) | st.integers(0, 2**64 - 1)
BATCHES = st.lists(st.lists(KEYS, max_size=30), max_size=MAX_CHUNKS + 4)


def array(keys: Iterable[int]) -> Hashes:
    return np.array(list(keys), np.uint64)


class RecordingTagger:
    """Tags each line with its key, and records the keys that it had to tag."""

    def __init__(self) -> None:
        self.tagged_keys: list[int] = []

    def look_up(self, cache: LineCache, keys: list[int]) -> TaggedLines:
        series = pl.Series("key", keys, dtype=pl.UInt64)

        def tag_first(first: NDArray[np.int64]) -> TaggedLines:
            self.tagged_keys += series[first].to_list()
            return one_line_per_key(series[first])

        return cache.look_up(series, tag_first)


def one_line_per_key(keys: pl.Series) -> TaggedLines:
    """Every key has a line of its own."""
    return TaggedLines(pl.DataFrame({"key": keys, "text": keys.cast(pl.String)}), np.arange(len(keys), dtype=np.int32))


def per_booking(tagged: TaggedLines) -> list[tuple[int, str]]:
    """The line of each booking."""
    return tagged.lines[tagged.line].rows()


def expected(keys: list[int]) -> list[tuple[int, str]]:
    return [(key, str(key)) for key in keys]


@patient
@given(BATCHES)
def test_numbers_count_up_in_the_order_of_first_sight_and_stay(batches: list[list[int]]) -> None:
    numbering, known = Numbering(), dict[int, int]()
    for keys in batches:
        new = [place for place, key in enumerate(keys) if key not in known and key not in keys[:place]]
        for key in keys:
            known.setdefault(key, len(known))
        numbers, fresh = numbering.of(array(keys))
        assert numbers.tolist() == [known[key] for key in keys]
        assert fresh.tolist() == new
    assert numbering.count == len(known)
    assert numbering.known(array(known)).tolist() == list(known.values())


@patient
@given(seen=st.sets(KEYS), unseen=st.sets(KEYS))
def test_keys_that_were_never_seen_have_no_number_and_asking_gives_them_none(seen: set[int], unseen: set[int]) -> None:
    numbering = Numbering()
    numbering.of(array(seen))
    for _ in range(2):
        assert set(numbering.known(array(unseen - seen)).tolist()) <= {UNKNOWN}
    assert numbering.count == len(seen)
    assert UNKNOWN not in numbering.known(array(seen))


@pytest.mark.parametrize("apart", [1, FAR])
def test_numbers_stay_while_the_table_grows(apart: int) -> None:
    numbering, many = Numbering(), 4 * MIN_KEYS
    keys = array(number * apart for number in range(many))
    for first in range(0, many, 100):
        numbering.of(keys[first : first + 100])
    assert numbering.known(keys).tolist() == list(range(many))
    assert numbering.of(keys[::-1])[0].tolist() == list(reversed(range(many)))
    assert numbering.of(keys)[1].tolist() == []
    assert numbering.known(keys + np.uint64(many * apart)).tolist() == [UNKNOWN] * many


def test_a_table_grows_at_once_for_more_keys_than_it_can_hold() -> None:
    keys = array(range(10 * MIN_KEYS))
    numbers, fresh = Numbering().of(keys)
    assert numbers.tolist() == fresh.tolist() == list(range(10 * MIN_KEYS))


@patient
@given(BATCHES)
def test_a_line_is_tagged_once_by_its_first_booking(batches: list[list[int]]) -> None:
    cache, tagger = LineCache(), RecordingTagger()
    for keys in batches:
        tagger.look_up(cache, keys)
    assert tagger.tagged_keys == list(dict.fromkeys(key for keys in batches for key in keys))


@patient
@given(BATCHES, st.randoms(use_true_random=False))
def test_cache_order_and_batches_change_no_answer(batches: list[list[int]], chance: Random) -> None:
    cache, tagger = LineCache(), RecordingTagger()
    for keys in [*batches, *chance.sample(batches, len(batches))]:
        shuffled = chance.sample(keys, len(keys))
        assert (
            per_booking(tagger.look_up(cache, shuffled))
            == per_booking(tagger.look_up(LineCache(), shuffled))
            == expected(shuffled)
        )


@patient
@given(BATCHES)
def test_every_line_of_an_answer_is_there_once_and_few_have_no_booking(batches: list[list[int]]) -> None:
    cache, tagger = LineCache(), RecordingTagger()
    for keys in batches:
        tagged = tagger.look_up(cache, keys)
        assert tagged.lines["key"].is_unique().all()
        assert len(set(keys)) <= tagged.lines.height <= MAX_LINES_PER_KEY * len(set(keys))


def test_keys_may_share_a_line() -> None:
    cache, keys = LineCache(), pl.Series([5, 6, 7, 5], dtype=pl.UInt64)
    line = np.array([0, 1, 0], np.int32)
    first_time = cache.look_up(keys, lambda _: TaggedLines(pl.DataFrame({"text": ["odd", "even"]}), line))
    again = cache.look_up(keys, lambda _: pytest.fail("all of them are known"))
    for tagged in (first_time, again):
        assert tagged.lines[tagged.line]["text"].to_list() == ["odd", "even", "odd", "odd"]


def test_many_small_batches_are_remembered_like_a_large_one() -> None:
    cache, tagger = LineCache(), RecordingTagger()
    keys = list(range(3 * MAX_CHUNKS))
    for key in keys:
        tagger.look_up(cache, [key])
    tagger.tagged_keys.clear()
    assert per_booking(tagger.look_up(cache, keys[::-1])) == expected(keys[::-1])
    assert tagger.tagged_keys == []


def test_the_cache_begins_anew_when_there_is_more_than_it_holds() -> None:
    cache, tagger = LineCache(max_lines=3), RecordingTagger()
    for keys, new_keys in (
        ([1, 2, 3], [1, 2, 3]),
        ([3, 2, 1], []),
        ([4, 1], [4]),
        ([4], []),
        ([1, 4, 2], [1, 2]),
        ([1, 2, 4], []),
    ):
        tagger.tagged_keys.clear()
        assert per_booking(tagger.look_up(cache, keys)) == expected(keys)
        assert tagger.tagged_keys == new_keys, keys


def test_a_batch_that_is_larger_than_the_cache_is_answered_and_its_first_lines_are_remembered() -> None:
    cache, tagger = LineCache(max_lines=3), RecordingTagger()
    assert per_booking(tagger.look_up(cache, [1, 2, 3, 4, 1])) == expected([1, 2, 3, 4, 1])
    assert tagger.tagged_keys == [1, 2, 3, 4]
    assert per_booking(tagger.look_up(cache, [3, 2, 1])) == expected([3, 2, 1])
    assert tagger.tagged_keys == [1, 2, 3, 4]
    assert per_booking(tagger.look_up(cache, [1, 2, 3, 4, 1])) == expected([1, 2, 3, 4, 1])
    assert tagger.tagged_keys == [1, 2, 3, 4, 4]


@patient
@given(BATCHES, st.integers(1, 20))
def test_a_small_cache_changes_no_answer(batches: list[list[int]], max_lines: int) -> None:
    cache, tagger = LineCache(max_lines), RecordingTagger()
    for keys in batches:
        assert per_booking(tagger.look_up(cache, keys)) == expected(keys)


def test_two_threads_that_meet_a_new_line_at_once_both_get_their_answer() -> None:
    cache, both = LineCache(), Barrier(2, timeout=30)
    batches = [[2, 1, 3, 2], [2, 4, 3, 9]]

    def ask(keys: list[int]) -> list[tuple[int, str]]:
        series = pl.Series("key", keys, dtype=pl.UInt64)

        def tag_first(first: NDArray[np.int64]) -> TaggedLines:
            both.wait()
            return one_line_per_key(series[first])

        return per_booking(cache.look_up(series, tag_first))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, batches)) == [expected(keys) for keys in batches]
    later = RecordingTagger()
    assert per_booking(later.look_up(cache, [9, 4, 3, 2, 1])) == expected([9, 4, 3, 2, 1])
    assert later.tagged_keys == []


@pytest.mark.parametrize("max_lines", [1000, 40])
def test_threads_that_share_a_cache_get_the_answers_of_one_alone(max_lines: int) -> None:
    cache, chance = LineCache(max_lines), np.random.default_rng(5)
    batches = [chance.integers(0, 200, 30).tolist() for _ in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda keys: per_booking(RecordingTagger().look_up(cache, keys)), batches))
    assert found == [expected(keys) for keys in batches]
