"""Whether a login may be sent to its bank: the rule that we never send a second wrong PIN by ourselves.

Banks lock a login after three wrong PINs, also after those whose answer we never hear. Each sending therefore counts before it is
made, and an answer takes the count back. Until the bank has accepted a login since its customer entered it, it is sent once: the
next sending needs another entry. One that was accepted may have been changed at the bank since: after one lost answer it is sent
once more, and not again after the second. The counts are stored by `warehouse/stores/bank_logins.py`.
"""

from dataclasses import replace
from datetime import datetime

from pipelines.banks.base import FieldsMissing, LoginFate
from warehouse.stores.bank_logins import LoginAttempts

MAX_UNANSWERED = 1
MAX_UNANSWERED_IF_ACCEPTED = 2
ENTER_AGAIN = "Die Antwort der Bank auf die Anmeldung ist ausgeblieben. Bitte geben Sie die Zugangsdaten noch einmal ein."


class LoginUnclear(FieldsMissing):
    """The login was sent, and nobody knows what the bank thinks of it: the customer has to enter it again."""

    def __init__(self) -> None:
        super().__init__(ENTER_AGAIN)


def may_send(attempts: LoginAttempts, entered_at: datetime) -> bool:
    """Whether a login that the customer entered at this time may be sent."""
    limit = MAX_UNANSWERED_IF_ACCEPTED if _is_accepted(attempts, entered_at) else MAX_UNANSWERED
    return _unanswered(attempts, entered_at) < limit


def after_sending(attempts: LoginAttempts, entered_at: datetime, now: datetime) -> LoginAttempts:
    """The attempts once a login is about to be sent. It never counts as sent before it was entered, whatever the clocks say."""
    return replace(attempts, unanswered=_unanswered(attempts, entered_at) + 1, sent_at=max(now, entered_at))


def after_call(attempts: LoginAttempts, fate: LoginFate, entered_at: datetime, now: datetime) -> LoginAttempts:
    """The attempts after a call of the bank with this outcome for the login."""
    match fate:
        case LoginFate.ACCEPTED:
            return replace(attempts, unanswered=0, accepted_at=now)
        case LoginFate.REFUSED | LoginFate.LOCKED:
            return replace(attempts, unanswered=0, accepted_at=None)
        case LoginFate.LOST:
            return attempts
        case LoginFate.TURNED_AWAY if not _is_accepted(attempts, entered_at):
            return attempts
    return replace(attempts, unanswered=max(0, attempts.unanswered - 1))


def _unanswered(attempts: LoginAttempts, entered_at: datetime) -> int:
    """The sendings without an answer since the login was entered."""
    is_entered_since = attempts.sent_at is None or entered_at > attempts.sent_at
    return 0 if is_entered_since else attempts.unanswered


def _is_accepted(attempts: LoginAttempts, entered_at: datetime) -> bool:
    return attempts.accepted_at is not None and attempts.accepted_at >= entered_at
