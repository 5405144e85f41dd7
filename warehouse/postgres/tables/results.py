"""What was computed and lies ready, and who was erased."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, BigInteger, ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base, Owned


class Result(Owned, Base):
    """One result of a user, computed from a revision of its data with a version of the knowledge, as of a day if it has one."""

    __tablename__ = "results"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(BigInteger)
    knowledge: Mapped[str]
    as_of: Mapped[date | None]
    content: Mapped[bytes]
    published_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class Tombstone(Base):
    """What was erased: a user or an access, which must not come back from any file. It holds ids and counts only, and outlives
    all that it stands for.
    """

    __tablename__ = "tombstones"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    kind: Mapped[str]
    user_id: Mapped[UUID]
    tenant_id: Mapped[UUID]
    erased_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    purged_at: Mapped[datetime | None]
    receipt: Mapped[dict[str, Any] | None] = mapped_column(JSON)
