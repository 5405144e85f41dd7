"""The store of unattended sessions: how often a login was used at its bank without the customer, by day.

A bank may be asked at most so often a day, whoever asks: the count is for a login at a bank, over all accesses and tenants, and
outlives the accesses. It therefore belongs to no tenant, and a row has nothing but a keyed hash of the login, the bank, the day
and the number. Without the vault's keys nobody can tell which login a row is about.
"""

from datetime import date, datetime, timedelta, tzinfo

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Provider, UnattendedSessions
from warehouse.secrets.vault import Vault

PURPOSE = "unattended sessions"
KEPT_DAYS = 3
"""Counts of earlier days are deleted: only that of the current day, in the zone of the settings, matters."""


def clock(owner: Owner) -> datetime:
    """The time by the clock of the database."""
    return owner.session.scalars(select(func.now())).one()


def day_of(now: datetime, zone: tzinfo) -> date:
    """The day to which a session counts: that of the zone, which has 23 or 25 hours when the clocks change."""
    return now.astimezone(zone).date()


def seconds_until_next_day(now: datetime, zone: tzinfo) -> int:
    """The seconds until the next day of the zone begins, at least one."""
    tomorrow = day_of(now, zone) + timedelta(days=1)
    midnight = datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=zone)
    return max(1, round(midnight.timestamp() - now.timestamp()))


def count(owner: Owner, vault: Vault, access: Access, day: date) -> int:
    """The sessions of the login of an access on a day."""
    is_row = (
        UnattendedSessions.login_hash == _counted_hash(owner, vault, access),
        UnattendedSessions.provider_id == access.provider_id,
        UnattendedSessions.day == day,
    )
    return owner.session.scalar(select(UnattendedSessions.sessions).where(*is_row)) or 0


def take(owner: Owner, vault: Vault, access: Access, day: date, limit: int) -> bool:
    """Counts one more session of the login of an access; False, without a change, if the limit is reached.

    One statement counts and refuses: sessions that begin at the same time wait for each other's row.
    """
    first_session = insert(UnattendedSessions).values(
        login_hash=_counted_hash(owner, vault, access), provider_id=access.provider_id, day=day, sessions=1
    )
    statement = first_session.on_conflict_do_update(
        index_elements=["login_hash", "provider_id", "day"],
        set_={"sessions": UnattendedSessions.sessions + 1},
        where=UnattendedSessions.sessions < limit,
    ).returning(UnattendedSessions.sessions)
    return owner.session.scalar(statement) is not None


def purge_old(owner: Owner) -> int:
    """Deletes the counts of days long past; returns how many."""
    is_old = UnattendedSessions.day < func.current_date() - KEPT_DAYS
    return len(owner.session.scalars(delete(UnattendedSessions).where(is_old).returning(UnattendedSessions.day)).all())


def _counted_hash(owner: Owner, vault: Vault, access: Access) -> bytes:
    """The keyed hash under which the login of an access is counted. A login that is published is used by many people: then the
    access counts by itself.
    """
    is_published = owner.session.scalars(select(Provider.published_logins).where(Provider.id == access.provider_id)).one()
    return vault.keyed_hash(PURPOSE, access.login_hash + (access.id.bytes if is_published else b""))
