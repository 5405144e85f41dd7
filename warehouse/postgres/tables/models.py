"""The models in use: which version, with its files, so that every machine has them; and how sure they are."""

from datetime import datetime

from sqlalchemy import BigInteger, func
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base


class ModelInUse(Base):
    """The version of the categoriser in use, for all tenants (`shared`) or for one that has a model of its own (its id)."""

    __tablename__ = "models_in_use"

    scope: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[str]
    """Empty for the shipped model, and for a tenant that uses the shared one."""
    model: Mapped[bytes | None]
    report: Mapped[bytes | None]
    log: Mapped[bytes]
    changed_at: Mapped[datetime] = mapped_column(server_default=func.now())


class TagState(Base):
    """The bookings of a bucket when it was last tagged, and those of them whose category is unsure."""

    __tablename__ = "tag_states"

    bucket: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    bookings: Mapped[int] = mapped_column(BigInteger)
    unsure: Mapped[int] = mapped_column(BigInteger)
    tagged_at: Mapped[datetime] = mapped_column(server_default=func.now())
