"""Checks are shared by those who ask at the same time, and nobody waits for one that hangs."""

import asyncio
import threading

import pytest

from api.http.shared_checks import SharedChecks


def test_those_who_ask_at_the_same_time_share_one_look() -> None:
    looks, may_end = [], threading.Event()

    def look() -> int:
        looks.append(1)
        may_end.wait(30)
        return len(looks)

    async def ask() -> list[dict[str, int]]:
        checks: SharedChecks[int] = SharedChecks()
        asking = [asyncio.create_task(checks.run({"store": look}, 30)) for _ in range(5)]
        while not looks:
            await asyncio.sleep(0.01)
        may_end.set()
        answers = await asyncio.gather(*asking)
        return [*answers, await checks.run({"store": look}, 30)]

    assert asyncio.run(ask()) == [{"store": 1}] * 5 + [{"store": 2}]


def test_a_look_that_hangs_is_left_out_and_not_begun_again() -> None:
    looks, may_end = [], threading.Event()

    def look() -> int:
        looks.append(1)
        may_end.wait(30)
        return 1

    async def ask() -> list[dict[str, int]]:
        checks: SharedChecks[int] = SharedChecks()
        late = [await checks.run({"stuck": look, "quick": lambda: 7}, 0.2) for _ in range(3)]
        may_end.set()
        return [*late, await checks.run({"stuck": look}, 30)]

    *late, at_last = asyncio.run(ask())
    assert all("stuck" not in answer for answer in late)
    assert at_last == {"stuck": 1}
    assert len(looks) == 1


def test_an_error_of_a_check_reaches_whoever_asked() -> None:
    def look() -> int:
        raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(SharedChecks[int]().run({"broken": look}, 30))
