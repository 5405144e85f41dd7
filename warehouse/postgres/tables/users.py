"""Technical users of a tenant; each is one customer."""

from datetime import date, datetime

from sqlalchemy import BigInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base, Identified, Owned


class User(Identified, Owned, Base):
    """A user. Its id is the user reference; `username_key` is the form in which names are compared.

    `revision` grows with every change of the user's bank data; what was computed from an older one is stale. `serial` is the
    number of the last change that clients see (`warehouse.stores.changes`), set by triggers.
    `refreshed_on` is the day on which a bank, or a tenant that pushes bookings, last told something of the user.
    `terms_hash` names the text that the user accepted in the redirect form.
    """

    __tablename__ = "users"
    __table_args__ = (UniqueConstraint("tenant_id", "username_key"),)

    username: Mapped[str]
    username_key: Mapped[str]
    password_hash: Mapped[str]
    firstname: Mapped[str | None]
    lastname: Mapped[str | None]
    active: Mapped[bool] = mapped_column(server_default="true")
    revision: Mapped[int] = mapped_column(BigInteger, server_default="0")
    serial: Mapped[int] = mapped_column(BigInteger, server_default="0")
    refreshed_on: Mapped[date | None]
    terms_hash: Mapped[bytes | None]
    terms_accepted_at: Mapped[datetime | None]
