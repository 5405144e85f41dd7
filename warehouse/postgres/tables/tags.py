"""What people say about the categories of bookings: choices for single ones, rules for those of a counterparty."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.banks import BelowProduct
from warehouse.postgres.tables.base import Base, Identified, Owned


class CategoryChoice(BelowProduct, Base):
    """A user's own category for a booking. It goes with the booking, which vouches for tenant and user."""

    __tablename__ = "category_choices"

    transaction_id: Mapped[UUID] = mapped_column(ForeignKey("transactions.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(index=True)
    item: Mapped[str]
    chosen_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class CategoryRule(Identified, Owned, Base):
    """A category for all bookings of a counterparty: a user's own, or without a user the tenant's for all its users.

    Empty texts are not compared. `rank` orders the rules of an owner, the newest has the highest; `after` is the number of the
    last booking that the rule leaves alone (0: it leaves none alone).
    """

    __tablename__ = "category_rules"
    __table_args__ = (
        UniqueConstraint("tenant_id", "user_id", "counterparty_iban", "name_key", postgresql_nulls_not_distinct=True),
    )

    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    item: Mapped[str]
    counterparty_iban: Mapped[str]
    counterparty_name: Mapped[str]
    name_key: Mapped[str]
    rank: Mapped[int] = mapped_column(BigInteger)
    after: Mapped[int] = mapped_column(BigInteger)
