"""Technical users of a tenant; each is one customer."""

from sqlalchemy import UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.tables.base import Base, Identified, Owned


class User(Identified, Owned, Base):
    """A user. Its id is the user reference; `username_key` is the form in which names are compared."""

    __tablename__ = "users"
    __table_args__ = (UniqueConstraint("tenant_id", "username_key"),)

    username: Mapped[str]
    username_key: Mapped[str]
    password_hash: Mapped[str]
    firstname: Mapped[str | None]
    lastname: Mapped[str | None]
    active: Mapped[bool] = mapped_column(server_default="true")
