"""The console: who may use it, who is logged in, and what was done there."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base, Identified


class ConsoleAccount(Identified, Base):
    """A person who works with the console. Operators have no tenant; administrators of a tenant have one.

    `code_key_id` and `code_sealed` are the secret of the second factor, if there is one; `code_step` is the time step of the last
    code that was accepted, so that none is accepted twice.
    """

    __tablename__ = "console_accounts"

    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    tenant_id: Mapped[UUID | None] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), index=True)
    password_hash: Mapped[str]
    active: Mapped[bool] = mapped_column(server_default="true")
    code_key_id: Mapped[str | None]
    code_sealed: Mapped[bytes | None]
    code_step: Mapped[int] = mapped_column(BigInteger, server_default="0")
    last_login_at: Mapped[datetime | None]


class ConsoleSession(Base):
    """A login to the console, by the hash of its cookie. It ends at `ends_at`, or earlier if nothing happens."""

    __tablename__ = "console_sessions"

    session_hash: Mapped[bytes] = mapped_column(primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("console_accounts.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    used_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    ends_at: Mapped[datetime] = mapped_column(index=True)


class AuditEntry(Base):
    """Something that was done in the console, or to one of its accounts. `actor` is the name of the account, or the command line;
    `role` is that of the account, so that tenants are not told which operator it was.

    `object_id` is a name or an id of ours. An entry about a user has its reference, which goes with the user.
    """

    __tablename__ = "audit_entries"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp(), index=True)
    account_id: Mapped[UUID | None] = mapped_column(ForeignKey("console_accounts.id", ondelete="SET NULL"), index=True)
    actor: Mapped[str]
    role: Mapped[str]
    action: Mapped[str]
    object_id: Mapped[str | None]
    details: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    tenant_id: Mapped[UUID | None] = mapped_column(ForeignKey("tenants.id", ondelete="SET NULL"), index=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    correlation_id: Mapped[str | None]
