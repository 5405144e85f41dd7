"""The models in use: which version, with its files, so that every machine has them."""

from datetime import datetime

from sqlalchemy import func
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
