"""Hashes get numbers in the order in which they are first seen; what was said of a line once is not asked for again."""

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
from analytics.tagging.line_cache import FEW, MOST_PIECES, Judgements, TaggedLines

patient = settings(deadline=None, max_examples=40)
"""The first example may wait for the compiler."""
FAR = 2**40
"""Hashes that differ by this ask for the same place of any table here."""
KEYS = st.integers(0, 30) | st.integers(0, 5).map(lambda number: number * FAR) | st.integers(0, 2**64 - 1)
BATCHES = st.lists(st.lists(KEYS, max_size=30), max_size=MOST_PIECES + 4)


def array(keys: Iterable[int]) -> Hashes:
    return np.array(list(keys), np.uint64)


class Judge:
    """Says of each line what its key is and how it was counted, and keeps the keys for which it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def of(self, memory: Judgements, keys: list[int]) -> TaggedLines:
        given = pl.Series("key", keys, dtype=pl.UInt64)

        def judge(first: NDArray[np.int64]) -> TaggedLines:
            self.asked += given[first].to_list()
            return each(given[first])

        return memory.of(given, judge)


def each(keys: pl.Series) -> TaggedLines:
    """Every key has a line of its own."""
    return TaggedLines(pl.DataFrame({"key": keys, "text": keys.cast(pl.String)}), np.arange(len(keys), dtype=np.int32))


def told(said: TaggedLines) -> list[tuple[int, str]]:
    """What is said about each booking."""
    return said.lines[said.line].rows()


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
def test_a_line_is_judged_once_by_its_first_booking(batches: list[list[int]]) -> None:
    memory, judge = Judgements(), Judge()
    for keys in batches:
        judge.of(memory, keys)
    assert judge.asked == list(dict.fromkeys(key for keys in batches for key in keys))


@patient
@given(BATCHES, st.randoms(use_true_random=False))
def test_memory_order_and_batches_change_no_answer(batches: list[list[int]], chance: Random) -> None:
    memory, judge = Judgements(), Judge()
    for keys in [*batches, *chance.sample(batches, len(batches))]:
        shuffled = chance.sample(keys, len(keys))
        assert told(judge.of(memory, shuffled)) == told(judge.of(Judgements(), shuffled)) == expected(shuffled)


@patient
@given(BATCHES)
def test_every_line_of_an_answer_is_there_once_and_few_have_no_booking(batches: list[list[int]]) -> None:
    memory, judge = Judgements(), Judge()
    for keys in batches:
        said = judge.of(memory, keys)
        assert said.lines["key"].is_unique().all()
        assert len(set(keys)) <= said.lines.height <= FEW * len(set(keys))


def test_keys_may_share_a_line() -> None:
    memory, keys = Judgements(), pl.Series([5, 6, 7, 5], dtype=pl.UInt64)
    line = np.array([0, 1, 0], np.int32)
    told_first = memory.of(keys, lambda _: TaggedLines(pl.DataFrame({"text": ["odd", "even"]}), line))
    again = memory.of(keys, lambda _: pytest.fail("all of them are known"))
    for said in (told_first, again):
        assert said.lines[said.line]["text"].to_list() == ["odd", "even", "odd", "odd"]


def test_many_small_batches_are_remembered_like_a_large_one() -> None:
    memory, judge = Judgements(), Judge()
    keys = list(range(3 * MOST_PIECES))
    for key in keys:
        judge.of(memory, [key])
    judge.asked.clear()
    assert told(judge.of(memory, keys[::-1])) == expected(keys[::-1])
    assert judge.asked == []


def test_the_memory_begins_anew_when_there_is_more_than_it_holds() -> None:
    memory, judge = Judgements(most=3), Judge()
    for keys, asked in (
        ([1, 2, 3], [1, 2, 3]),
        ([3, 2, 1], []),
        ([4, 1], [4]),
        ([4], []),
        ([1, 4, 2], [1, 2]),
        ([1, 2, 4], []),
    ):
        judge.asked.clear()
        assert told(judge.of(memory, keys)) == expected(keys)
        assert judge.asked == asked, keys


def test_a_batch_that_is_larger_than_the_memory_is_answered_and_its_first_lines_are_remembered() -> None:
    memory, judge = Judgements(most=3), Judge()
    assert told(judge.of(memory, [1, 2, 3, 4, 1])) == expected([1, 2, 3, 4, 1])
    assert judge.asked == [1, 2, 3, 4]
    assert told(judge.of(memory, [3, 2, 1])) == expected([3, 2, 1])
    assert judge.asked == [1, 2, 3, 4]
    assert told(judge.of(memory, [1, 2, 3, 4, 1])) == expected([1, 2, 3, 4, 1])
    assert judge.asked == [1, 2, 3, 4, 4]


@patient
@given(BATCHES, st.integers(1, 20))
def test_a_small_memory_changes_no_answer(batches: list[list[int]], most: int) -> None:
    memory, judge = Judgements(most), Judge()
    for keys in batches:
        assert told(judge.of(memory, keys)) == expected(keys)


def test_two_threads_that_meet_a_new_line_at_once_both_get_their_answer() -> None:
    memory, both = Judgements(), Barrier(2, timeout=30)
    batches = [[2, 1, 3, 2], [2, 4, 3, 9]]

    def ask(keys: list[int]) -> list[tuple[int, str]]:
        given = pl.Series("key", keys, dtype=pl.UInt64)

        def judge(first: NDArray[np.int64]) -> TaggedLines:
            both.wait()
            return each(given[first])

        return told(memory.of(given, judge))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, batches)) == [expected(keys) for keys in batches]
    later = Judge()
    assert told(later.of(memory, [9, 4, 3, 2, 1])) == expected([9, 4, 3, 2, 1])
    assert later.asked == []


@pytest.mark.parametrize("most", [1000, 40])
def test_threads_that_share_a_memory_get_the_answers_of_one_alone(most: int) -> None:
    memory, chance = Judgements(most), np.random.default_rng(5)
    batches = [chance.integers(0, 200, 30).tolist() for _ in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda keys: told(Judge().of(memory, keys)), batches))
    assert found == [expected(keys) for keys in batches]
