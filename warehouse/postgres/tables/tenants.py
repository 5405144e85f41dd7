"""Tenants and what an operator provisions for them: clients, client roles, API keys, callback addresses."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from warehouse.postgres.tables.base import Base, Identified, Owned


class Tenant(Identified, Base):
    """A customer of the platform. `regulated` decides whether it may handle bank credentials itself.

    `revision` grows with every change of what the tenant says for all its users: its rules. `learns`: what its users correct may
    be learned from. `token_form`: what its access tokens look like, if not as the installation says.
    """

    __tablename__ = "tenants"

    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str | None]
    regulated: Mapped[bool]
    active: Mapped[bool] = mapped_column(server_default="true")
    revision: Mapped[int] = mapped_column(BigInteger, server_default="0")
    learns: Mapped[bool] = mapped_column(server_default="false")
    token_form: Mapped[str | None]


class CallbackUrl(Owned, Base):
    """A base address to which the redirect form may send an end user back."""

    __tablename__ = "callback_urls"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    url: Mapped[str] = mapped_column(primary_key=True)


class Client(Identified, Owned, Base):
    """A program of a tenant that can obtain tokens, with the most that these may carry.

    Until a time the secret before the present one is good as well, so that a tenant can change it on one machine after the other.
    """

    __tablename__ = "clients"
    __table_args__ = (UniqueConstraint("tenant_id", "name"),)

    name: Mapped[str]
    description: Mapped[str | None]
    secret_hash: Mapped[bytes]
    previous_secret_hash: Mapped[bytes | None]
    previous_secret_until: Mapped[datetime | None]
    granted_scopes: Mapped[list[str]]
    active: Mapped[bool] = mapped_column(server_default="true")
    roles: Mapped[list["ClientRole"]] = relationship(order_by="ClientRole.name", lazy="raise", viewonly=True)


class ClientRole(Identified, Owned, Base):
    """A set of scopes that users of a client may have; default roles are given to every new user."""

    __tablename__ = "client_roles"
    __table_args__ = (UniqueConstraint("client_id", "name"),)

    client_id: Mapped[UUID] = mapped_column(ForeignKey("clients.id", ondelete="CASCADE"))
    name: Mapped[str]
    description: Mapped[str | None]
    default_role: Mapped[bool]
    granted_scopes: Mapped[list[str]]


class RoleUser(Owned, Base):
    """The fact that a user has a client role."""

    __tablename__ = "role_users"

    role_id: Mapped[UUID] = mapped_column(ForeignKey("client_roles.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)


class ApiKey(Identified, Owned, Base):
    """A key that stands for one user of one client at the classic token endpoint. Only its hash is kept."""

    __tablename__ = "api_keys"

    client_id: Mapped[UUID] = mapped_column(ForeignKey("clients.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    key_hash: Mapped[bytes] = mapped_column(unique=True)
    description: Mapped[str | None]
    active: Mapped[bool] = mapped_column(server_default="true")
