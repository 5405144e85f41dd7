"""Secrets that must be readable again: every one lies sealed in one table, so that one loop rotates them all."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, func, text
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base, Identified, Owned


class SealedValue(Owned, Base):
    """One sealed value: whose it is, which object and field it belongs to, and the vault key that sealed it."""

    __tablename__ = "sealed_values"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    field: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    key_id: Mapped[str] = mapped_column(index=True)
    sealed: Mapped[bytes]


class VaultKey(Base):
    """When a vault key was first used; the key itself is never here."""

    __tablename__ = "vault_keys"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    first_used_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Certificate(Identified, Owned, Base):
    """A tenant's certificate; its private key is a sealed value. Older ones stay so that what was sent can be opened."""

    __tablename__ = "certificates"
    __table_args__ = (Index("uq_certificates_current", "tenant_id", unique=True, postgresql_where=text("current")),)

    pem: Mapped[str]
    current: Mapped[bool]
