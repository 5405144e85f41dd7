"""Retries: which errors get another attempt, and for how long."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable

import pytest

from warehouse.errors import Busy, NotFound
from warehouse.runtime import patience

Retry = Callable[["Work", Iterable[float]], int]


class Work:
    """Work that fails a number of times before it succeeds."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.attempts, self.failures, self.error = 0, failures, error or Busy()

    def __call__(self) -> int:
        self.attempts += 1
        if self.attempts <= self.failures:
            raise self.error
        return self.attempts

    async def later(self) -> int:
        return self()


def at_once(work: Work, pauses: Iterable[float]) -> int:
    return patience.retry(work, Busy, pauses)


def in_a_loop(work: Work, pauses: Iterable[float]) -> int:
    async def run() -> int:
        later: Callable[[], Awaitable[int]] = work.later
        return await patience.retry_async(later, Busy, pauses)

    return asyncio.run(run())


@pytest.mark.parametrize("retry", [at_once, in_a_loop])
class TestRetry:
    def test_work_is_repeated_until_it_succeeds(self, retry: Retry) -> None:
        assert retry(Work(2), itertools.repeat(0)) == 3

    def test_the_last_error_is_raised_when_the_pauses_are_used_up(self, retry: Retry) -> None:
        work = Work(9)
        with pytest.raises(Busy):
            retry(work, (0, 0))
        assert work.attempts == 3

    def test_other_errors_are_raised_at_once(self, retry: Retry) -> None:
        work = Work(9, NotFound())
        with pytest.raises(NotFound):
            retry(work, itertools.repeat(0))
        assert work.attempts == 1


def test_no_wait_leaves_one_attempt() -> None:
    work = Work(9)
    with pytest.raises(Busy):
        patience.retry(work, Busy, patience.pauses_until(0, 0.1))
    assert work.attempts == 1


def test_pauses_go_on_while_the_wait_lasts() -> None:
    assert list(itertools.islice(patience.pauses_until(3600, 0.1), 3)) == [0.1, 0.1, 0.1]
