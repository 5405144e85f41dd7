"""Access tokens. Only a hash of each is kept, so that reading the table lets nobody in."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base, Owned


class Token(Owned, Base):
    """A token of a client, or of a user through a client, perhaps for an API key. Revoking deletes the row."""

    __tablename__ = "tokens"

    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    client_id: Mapped[UUID] = mapped_column(ForeignKey("clients.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    api_key_id: Mapped[UUID | None] = mapped_column(index=True)
    scopes: Mapped[list[str]]
    issued_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime] = mapped_column(index=True)
