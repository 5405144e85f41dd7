"""Counters of failed logins, shared by all workers."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base


class Throttle(Base):
    """Failures of one subject (a hash, so that a name typed wrongly is not kept) in the window that ends at `ends_at`."""

    __tablename__ = "throttles"

    subject: Mapped[bytes] = mapped_column(primary_key=True)
    failures: Mapped[int]
    ends_at: Mapped[datetime] = mapped_column(index=True)
