"""The store of failed logins: after too many within a window, a name must wait until the window ends.

Counted in PostgreSQL and by its clock, so that all workers share one count. Subjects are stored as hashes.
"""

import hashlib

from sqlalchemy import case, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Throttle


def wait_seconds(owner: Owner, subject: str, allowed: int) -> int:
    """How long the subject has to wait; 0 if it need not."""
    wait = func.ceil(func.extract("epoch", Throttle.ends_at - func.now()))
    blocked = (Throttle.subject == _hashed(subject), Throttle.failures >= allowed, Throttle.ends_at > func.now())
    return int(owner.session.scalar(select(wait).where(*blocked)) or 0)


def record_failure(owner: Owner, subject: str, window_seconds: int) -> None:
    """Counts one more failure; the window starts anew with the first failure after the last window ended."""
    ends_at = func.now() + text("make_interval(secs => :window)").bindparams(window=window_seconds)
    row = insert(Throttle).values(subject=_hashed(subject), failures=1, ends_at=ends_at)
    over = Throttle.ends_at <= func.now()
    owner.session.execute(
        row.on_conflict_do_update(
            index_elements=["subject"],
            set_={
                "failures": case((over, 1), else_=Throttle.failures + 1),
                "ends_at": case((over, row.excluded.ends_at), else_=Throttle.ends_at),
            },
        )
    )


def forget(owner: Owner, subject: str) -> None:
    """Clears the count after a login that worked."""
    owner.session.execute(delete(Throttle).where(Throttle.subject == _hashed(subject)))


def purge_ended(owner: Owner) -> int:
    """Deletes windows that have ended; answers how many."""
    return len(owner.session.scalars(delete(Throttle).where(Throttle.ends_at <= func.now()).returning(Throttle.subject)).all())


def _hashed(subject: str) -> bytes:
    return hashlib.sha256(subject.encode()).digest()
