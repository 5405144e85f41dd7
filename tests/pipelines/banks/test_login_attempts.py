"""How often a login is sent: once for each entry until the bank accepts it, and once more after one lost answer since then."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.banks.base import LoginFate
from pipelines.banks.login_attempts import after_call, after_sending, may_send
from warehouse.stores.bank_logins import LoginAttempts

ENTERED = datetime(2026, 11, 18, 9, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return ENTERED + timedelta(minutes=minutes)


def after(*fates: LoginFate, before: LoginAttempts | None = None) -> LoginAttempts:
    """The attempts after calls with these outcomes, one a minute."""
    attempts = before or LoginAttempts()
    for minute, fate in enumerate(fates, 1):
        attempts = after_call(after_sending(attempts, ENTERED, at(minute)), fate, ENTERED, at(minute))
    return attempts


@pytest.mark.parametrize(
    ("fates", "is_sent_again"),
    [
        ((), True),
        ((LoginFate.LOST,), False),
        ((LoginFate.TURNED_AWAY,), False),
        ((LoginFate.UNSENT,), True),
        ((LoginFate.ACCEPTED,), True),
        ((LoginFate.ACCEPTED, LoginFate.LOST), True),
        ((LoginFate.ACCEPTED, LoginFate.LOST, LoginFate.LOST), False),
        ((LoginFate.ACCEPTED, LoginFate.LOST, LoginFate.UNSENT, LoginFate.LOST), False),
        ((LoginFate.ACCEPTED, LoginFate.LOST, LoginFate.ACCEPTED, LoginFate.LOST), True),
        ((LoginFate.ACCEPTED, *[LoginFate.TURNED_AWAY] * 5), True),
        ((LoginFate.ACCEPTED, LoginFate.REFUSED), True),  # the refusal itself is what stops it
    ],
)
def test_when_it_is_sent_again(fates: tuple[LoginFate, ...], is_sent_again: bool) -> None:
    assert may_send(after(*fates), ENTERED) == is_sent_again


def test_it_counts_before_it_is_sent_so_that_a_crash_counts() -> None:
    assert not may_send(after_sending(LoginAttempts(), ENTERED, at(1)), ENTERED)


def test_every_entry_is_an_attempt_of_its_own_and_forgets_that_it_was_accepted() -> None:
    lost = after(LoginFate.ACCEPTED, LoginFate.LOST, LoginFate.LOST)
    assert may_send(lost, at(10))
    assert not may_send(after_sending(lost, at(10), at(11)), at(10))


def test_a_clock_that_lags_gives_no_second_attempt() -> None:
    sent = after_sending(LoginAttempts(), ENTERED, at(-5))
    assert not may_send(sent, ENTERED)
