"""Attempts with logins at banks, as fetches and dialogues make them: counted before the call, settled with its answer."""

from dataclasses import dataclass, replace
from datetime import datetime

from pipelines.banks import login_attempts
from pipelines.banks.base import LoginFate
from warehouse.postgres.database import Owner
from warehouse.stores import bank_logins
from warehouse.stores.bank_logins import LoginAttempts, LoginTrace


@dataclass(frozen=True)
class LoginUse:
    """The use of a login: its trace, and when the customer entered it."""

    login: LoginTrace
    entered_at: datetime
    accepted_at: datetime | None = None
    """When the bank has accepted it last, as far as the access knows."""
    is_counted: bool = True
    """Whether attempts with it count; false for connectors that may send a login again."""


@dataclass(frozen=True)
class NextAttempt:
    """The attempts with a login after the next one, which may be made."""

    use: LoginUse
    attempts: LoginAttempts


def look(owner: Owner, use: LoginUse) -> NextAttempt | None:
    """The next attempt with a login; None if it must not be sent before the customer has entered it again."""
    if not use.is_counted:
        return NextAttempt(use, LoginAttempts())
    attempts, clock_time = _attempts(owner, use)
    if not login_attempts.may_send(attempts, use.entered_at):
        return None
    return NextAttempt(use, login_attempts.after_sending(attempts, use.entered_at, clock_time))


def begin(owner: Owner, attempt: NextAttempt) -> None:
    """Counts that the login is about to be sent. The caller commits before it asks the bank."""
    if attempt.use.is_counted:
        bank_logins.store_attempts(owner, attempt.use.login, attempt.attempts)


def settle(owner: Owner, use: LoginUse, fate: LoginFate) -> bool:
    """Notes what became of the login in a call; returns whether it may be sent again without another entry."""
    if fate in (LoginFate.REFUSED, LoginFate.LOCKED):
        bank_logins.record_refusal(owner, use.login, locked=fate is LoginFate.LOCKED)
    if not use.is_counted:
        return True
    if fate is LoginFate.ACCEPTED:
        bank_logins.accept(owner, use.login)
        return True
    attempts, clock_time = _attempts(owner, use)
    attempts = login_attempts.after_call(attempts, fate, use.entered_at, clock_time)
    bank_logins.store_attempts(owner, use.login, attempts)
    return login_attempts.may_send(attempts, use.entered_at)


def _attempts(owner: Owner, use: LoginUse) -> tuple[LoginAttempts, datetime]:
    """The attempts with a login as stored and as the access knows, and the time of the database."""
    counts, clock_time = bank_logins.attempts(owner, use.login)
    times = [moment for moment in (counts.accepted_at, use.accepted_at) if moment is not None]
    return replace(counts, accepted_at=max(times, default=None)), clock_time
