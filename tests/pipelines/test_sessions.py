"""Lines to the banks: sessions that are given up, and a bank that is left in peace because of them."""

import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest

from pipelines.banks.base import NoAnswer, Unreachable
from pipelines.banks.sessions import BankSessions
from tests.support.stack import wait_until

SHORT_SECONDS, LONG_SECONDS = 0.05, 20.0


def test_what_a_bank_says_comes_in_its_order_and_what_it_raises_too() -> None:
    def parts() -> Iterator[int]:
        yield from (1, 2)
        raise Unreachable

    heard: list[int] = []
    with pytest.raises(Unreachable):
        heard.extend(BankSessions(1).listen(uuid4(), parts(), LONG_SECONDS))
    assert heard == [1, 2]
    assert list(BankSessions(1).listen(uuid4(), iter([1, 2]), LONG_SECONDS)) == [1, 2]


def test_a_bank_that_holds_too_many_sessions_is_not_called_until_it_lets_go() -> None:
    lines, bank, asked, released = BankSessions(given_up_limit=2), uuid4(), [], threading.Event()

    def hanging() -> Iterator[str]:
        asked.append(1)
        released.wait()
        yield "late"

    for _ in range(2):
        with pytest.raises(NoAnswer):
            list(lines.listen(bank, hanging(), SHORT_SECONDS))
    for _ in range(3):
        with pytest.raises(Unreachable):
            list(lines.listen(bank, hanging(), LONG_SECONDS))
    assert len(asked) == 2
    assert list(lines.listen(uuid4(), iter(["other"]), LONG_SECONDS)) == ["other"], "other banks do not suffer"
    released.set()

    def answers() -> bool:
        try:
            return list(lines.listen(bank, hanging(), LONG_SECONDS)) == ["late"]
        except Unreachable:
            return False

    wait_until(answers, LONG_SECONDS)
