"""The store of the console's accounts and their sessions. The clock of the database decides what has ended.

Passwords, cookies and codes are checked by `warehouse.logins`; here are their hashes and what is sealed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update

from warehouse.errors import Invalid, NotFound
from warehouse.inputs import naming
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import ConsoleAccount, ConsoleSession, Tenant


class ConsoleRole(StrEnum):
    """What an account may see: the whole installation without its customers, or one tenant."""

    OPERATOR = "operator"
    TENANT = "tenant"


@dataclass(frozen=True)
class ConsoleUser:
    """The account of a session. `tenant_name` is that of an administrator of a tenant."""

    account_id: UUID
    name: str
    role: ConsoleRole
    tenant_id: UUID | None
    tenant_name: str | None
    has_code: bool


def add(owner: Owner, name: str, role: ConsoleRole, password_hash: str, tenant: Tenant | None = None) -> ConsoleAccount:
    """A new account; raises `NameTaken` if there is one of this name. The owner is the operator."""
    if (role is ConsoleRole.TENANT) != (tenant is not None):
        raise Invalid("an administrator of a tenant has a tenant, an operator has none")
    account = ConsoleAccount(
        name=naming.segment(name), role=role.value, tenant_id=tenant.id if tenant else None, password_hash=password_hash
    )
    return owner.add(account, f"account {name}")


def visible(owner: Owner) -> Sequence[tuple[ConsoleAccount, str | None]]:
    """All accounts by name, each with the name of its tenant."""
    statement = select(ConsoleAccount, Tenant.name).join(Tenant, Tenant.id == ConsoleAccount.tenant_id, isouter=True)
    return [row._tuple() for row in owner.session.execute(statement.order_by(ConsoleAccount.name))]


def find(owner: Owner, name: str, *, lock: bool = False) -> ConsoleAccount:
    """The account of this name."""
    statement = select(ConsoleAccount).where(ConsoleAccount.name == name)
    account = owner.session.scalar(statement.with_for_update() if lock else statement)
    if account is None:
        raise NotFound(f"account {name}")
    return account


def find_for_login(owner: Owner, name: str) -> ConsoleAccount | None:
    """The account of this name, if it and its tenant are active."""
    statement = select(ConsoleAccount).join(Tenant, Tenant.id == ConsoleAccount.tenant_id, isouter=True)
    is_active = (ConsoleAccount.active, or_(ConsoleAccount.tenant_id.is_(None), Tenant.active))
    return owner.session.scalar(statement.where(ConsoleAccount.name == name, *is_active))


def change_password(owner: Owner, account_id: UUID, password_hash: str) -> None:
    """Stores the hash of a new password, and ends all sessions of the account."""
    owner.session.execute(update(ConsoleAccount).where(ConsoleAccount.id == account_id).values(password_hash=password_hash))
    end_sessions(owner, account_id)


def renew_hash(owner: Owner, account_id: UUID, old_hash: str, new_hash: str) -> None:
    """Replaces the hash of a password by one with newer parameters, unless the password has changed."""
    is_same = (ConsoleAccount.id == account_id, ConsoleAccount.password_hash == old_hash)
    owner.session.execute(update(ConsoleAccount).where(*is_same).values(password_hash=new_hash))


def take_code_step(owner: Owner, account_id: UUID, step: int) -> bool:
    """Whether no code of this time step or a later one was accepted before; from now on none is."""
    is_new = (ConsoleAccount.id == account_id, ConsoleAccount.code_step < step)
    statement = update(ConsoleAccount).where(*is_new).values(code_step=step)
    return owner.session.scalar(statement.returning(ConsoleAccount.id)) is not None


def open_session(owner: Owner, account_id: UUID, password_hash: str, session_hash: bytes, lifetime_seconds: int) -> bool:
    """Opens a session of an account that is still active and still has the password that was checked; tells whether it has."""
    is_same = (ConsoleAccount.id == account_id, ConsoleAccount.active, ConsoleAccount.password_hash == password_hash)
    statement = update(ConsoleAccount).where(*is_same).values(last_login_at=func.clock_timestamp())
    if owner.session.scalar(statement.returning(ConsoleAccount.id)) is None:
        return False
    ends_at = func.clock_timestamp() + timedelta(seconds=lifetime_seconds)
    owner.session.add(ConsoleSession(session_hash=session_hash, account_id=account_id, ends_at=ends_at))
    owner.session.flush()
    return True


def use_session(owner: Owner, session_hash: bytes, idle_seconds: int) -> ConsoleUser | None:
    """The account of a session that has not ended, and counts its use; None if it has, or if the account or its tenant is not
    active.
    """
    is_open = (
        ConsoleSession.session_hash == session_hash,
        ConsoleSession.ends_at > func.clock_timestamp(),
        ConsoleSession.used_at > func.clock_timestamp() - timedelta(seconds=idle_seconds),
    )
    statement = update(ConsoleSession).where(*is_open).values(used_at=func.clock_timestamp())
    account_id = owner.session.scalar(statement.returning(ConsoleSession.account_id))
    if account_id is None:
        return None
    row = owner.session.execute(
        select(ConsoleAccount, Tenant.name)
        .join(Tenant, Tenant.id == ConsoleAccount.tenant_id, isouter=True)
        .where(ConsoleAccount.id == account_id, ConsoleAccount.active)
        .where(or_(ConsoleAccount.tenant_id.is_(None), Tenant.active))
    ).one_or_none()
    if row is None:
        return None
    account, tenant_name = row._tuple()
    return ConsoleUser(
        account.id,
        account.name,
        ConsoleRole(account.role),
        account.tenant_id,
        tenant_name,
        has_code=account.code_sealed is not None,
    )


def end_session(owner: Owner, session_hash: bytes) -> None:
    """Ends a session."""
    owner.session.execute(delete(ConsoleSession).where(ConsoleSession.session_hash == session_hash))


def end_sessions(owner: Owner, account_id: UUID) -> None:
    """Ends all sessions of an account."""
    owner.session.execute(delete(ConsoleSession).where(ConsoleSession.account_id == account_id))


def purge_ended_sessions(owner: Owner, idle_seconds: int) -> int:
    """Deletes sessions that have ended; returns how many."""
    now = func.clock_timestamp()
    has_ended = or_(ConsoleSession.ends_at <= now, ConsoleSession.used_at <= now - timedelta(seconds=idle_seconds))
    statement = delete(ConsoleSession).where(has_ended).returning(ConsoleSession.session_hash)
    return len(owner.session.scalars(statement).all())
