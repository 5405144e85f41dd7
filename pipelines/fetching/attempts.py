"""Attempts with logins at banks, as fetches and dialogues make them: counted before the call, settled with its answer."""

from dataclasses import dataclass, replace
from datetime import datetime

from pipelines.banks import login_attempts
from pipelines.banks.base import LoginFate
from warehouse.postgres.database import Owner
from warehouse.stores import bank_logins
from warehouse.stores.bank_logins import Attempts, LoginTrace


@dataclass(frozen=True)
class LoginUse:
    """The use of a login: its trace, and when the customer entered it."""

    login: LoginTrace
    entered_at: datetime
    accepted_at: datetime | None = None
    """When the bank has accepted it last, as far as the access knows."""
    is_counted: bool = True
    """Whether attempts with it count; false for connectors that may send a login again."""


def may_begin(owner: Owner, use: LoginUse) -> bool:
    """Whether the login may be sent. Otherwise the customer has to enter it again."""
    return not use.is_counted or login_attempts.may_send(_attempts(owner, use), use.entered_at)


def begin(owner: Owner, use: LoginUse) -> None:
    """Counts that the login is about to be sent. The caller commits before it asks the bank."""
    if use.is_counted:
        sent = login_attempts.after_sending(_attempts(owner, use), use.entered_at, bank_logins.clock(owner))
        bank_logins.store_attempts(owner, use.login, sent)


def settle(owner: Owner, use: LoginUse, fate: LoginFate) -> bool:
    """Notes what became of the login in a call; returns whether it may be sent again without another entry."""
    if fate in (LoginFate.REFUSED, LoginFate.LOCKED):
        bank_logins.record_refusal(owner, use.login, locked=fate is LoginFate.LOCKED)
    if not use.is_counted:
        return True
    if fate is LoginFate.ACCEPTED:
        bank_logins.accept(owner, use.login)
        return True
    settled = login_attempts.after_call(_attempts(owner, use), fate, use.entered_at, bank_logins.clock(owner))
    bank_logins.store_attempts(owner, use.login, settled)
    return login_attempts.may_send(settled, use.entered_at)


def _attempts(owner: Owner, use: LoginUse) -> Attempts:
    stored = bank_logins.attempts(owner, use.login)
    times = [moment for moment in (stored.accepted_at, use.accepted_at) if moment is not None]
    return replace(stored, accepted_at=max(times, default=None))
