"""The store of failed logins: after too many within a window, a name is blocked until the window ends.

PostgreSQL counts, by its own clock, so that all workers share one count. Subjects are stored as hashes.
"""

import hashlib

from sqlalchemy import case, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Throttle


def wait_seconds(owner: Owner, subject: str, max_failures: int) -> int:
    """The seconds that a subject has to wait; 0 if it is not blocked."""
    wait = func.ceil(func.extract("epoch", Throttle.ends_at - func.now()))
    is_blocked = (Throttle.subject == _hash(subject), Throttle.failures >= max_failures, Throttle.ends_at > func.now())
    return int(owner.session.scalar(select(wait).where(*is_blocked)) or 0)


def record_failure(owner: Owner, subject: str, window_seconds: int) -> None:
    """Counts one failure. The first failure after the end of a window starts a new one."""
    ends_at = func.now() + text("make_interval(secs => :window)").bindparams(window=window_seconds)
    row = insert(Throttle).values(subject=_hash(subject), failures=1, ends_at=ends_at)
    has_ended = Throttle.ends_at <= func.now()
    owner.session.execute(
        row.on_conflict_do_update(
            index_elements=["subject"],
            set_={
                "failures": case((has_ended, 1), else_=Throttle.failures + 1),
                "ends_at": case((has_ended, row.excluded.ends_at), else_=Throttle.ends_at),
            },
        )
    )


def forget(owner: Owner, subject: str) -> None:
    """Deletes the count of a subject, after a successful login."""
    owner.session.execute(delete(Throttle).where(Throttle.subject == _hash(subject)))


def purge_ended(owner: Owner) -> int:
    """Deletes windows that have ended; returns how many."""
    return len(owner.session.scalars(delete(Throttle).where(Throttle.ends_at <= func.now()).returning(Throttle.subject)).all())


def _hash(subject: str) -> bytes:
    return hashlib.sha256(subject.encode()).digest()
