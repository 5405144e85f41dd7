"""What clients that follow the changes of a user need beside the objects: what was removed, and which numbers are good.

Triggers of the database write both (migration 0013). Neither has anything of a person but the id of the user.
"""

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base, Owned


class SyncPoint(Owned, Base):
    """A number that the changes of a user had reached, and the one that followed it: a cursor may begin at it."""

    __tablename__ = "sync_points"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    serial: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    next_serial: Mapped[int] = mapped_column(BigInteger, index=True)


class Removal(Owned, Base):
    """An access, a product or a booking that was removed by the change of this number. What went with it is not listed."""

    __tablename__ = "removals"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    serial: Mapped[int] = mapped_column(BigInteger, primary_key=True, index=True)
    object_id: Mapped[UUID] = mapped_column(primary_key=True)
    kind: Mapped[str]
