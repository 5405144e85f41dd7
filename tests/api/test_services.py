"""Lanes: slow work and changes beside the event loop."""

import asyncio
import os
import threading

import pytest

from api.services import Lane
from warehouse.errors import Busy, Throttled, TooLate
from warehouse.runtime.priorities import YIELDING_NICENESS


def test_a_change_is_tried_until_nobody_is_in_its_way() -> None:
    tries = []

    def change() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise Busy
        return 7

    assert asyncio.run(Lane("test", 1, 10, timeout_seconds=30).insist(change)) == 7
    assert len(tries) == 3


def test_a_change_is_not_begun_when_its_time_is_over() -> None:
    """Its caller was told so, and may have sent another since."""
    tries = []

    def change() -> None:
        tries.append(1)
        raise Busy

    with pytest.raises(TooLate):
        asyncio.run(Lane("test", 1, 10, timeout_seconds=0.3).insist(change))
    before = len(tries)
    with pytest.raises(TooLate):
        asyncio.run(Lane("test", 1, 10, timeout_seconds=0).insist(change))
    assert len(tries) == before > 0


def test_what_comes_after_waits_for_what_was_begun() -> None:
    done: list[str] = []
    lane = Lane("test", 1, 10)
    lane.begin(lambda: done.append("first"))
    asyncio.run(lane.run(done.append, "second"))
    assert done == ["first", "second"]


def test_a_lane_takes_only_so_much() -> None:
    async def crowd() -> list[object]:
        lane, open_gate = Lane("test", 1, 1), asyncio.Event()
        loop = asyncio.get_running_loop()
        waiting = [
            asyncio.ensure_future(lane.run(lambda: asyncio.run_coroutine_threadsafe(open_gate.wait(), loop).result()))
            for _ in range(3)
        ]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        open_gate.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    outcomes = asyncio.run(crowd())
    assert [type(outcome) for outcome in outcomes] == [bool, bool, Throttled]


@pytest.mark.parametrize("yields", [True, False])
def test_work_of_a_crowd_yields_to_other_work(yields: bool) -> None:
    """In a lane that yields, a tenant that has more work waiting computes with a lower priority of the system."""

    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    async def crowd() -> list[int]:
        lane = Lane("test", 1, 10, yields=yields)
        return await asyncio.gather(*(lane.run(priority) for _ in range(3)))

    usual = priority()
    crowded = max(usual, YIELDING_NICENESS) if yields else usual
    assert asyncio.run(crowd()) == [usual, crowded, usual]
