"""Webhooks: where a client wants to be told, and what there was to tell."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base, Owned


class Webhook(Owned, Base):
    """The address of a client, and the types of events that it receives. `serial` is the number of its latest event: a locked
    row, so that there are no gaps.
    """

    __tablename__ = "webhooks"

    client_id: Mapped[UUID] = mapped_column(ForeignKey("clients.id", ondelete="CASCADE"), primary_key=True)
    url: Mapped[str]
    types: Mapped[list[str]] = mapped_column(server_default="{NEW_TRANSACTIONS}")
    enabled: Mapped[bool] = mapped_column(server_default="true")
    serial: Mapped[int] = mapped_column(BigInteger, server_default="0")
    previous_secret_until: Mapped[datetime | None]
    busy_until: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class WebhookEvent(Owned, Base):
    """One thing to tell. The references go when their objects go; the number stays, so that a gap is never our own.

    `details` are codes, counts and names of analyses. Without the references, they say nothing about anybody.
    """

    __tablename__ = "webhook_events"
    __table_args__ = (
        Index("ix_webhook_events_due", "next_attempt_at", postgresql_where=text("state = 'PENDING'")),
        Index("ix_webhook_events_created_at", "created_at"),
    )

    client_id: Mapped[UUID] = mapped_column(ForeignKey("webhooks.client_id", ondelete="CASCADE"), primary_key=True)
    serial: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    access_id: Mapped[UUID | None] = mapped_column(ForeignKey("accesses.id", ondelete="SET NULL"), index=True)
    dialogue_id: Mapped[UUID | None] = mapped_column(ForeignKey("dialogues.id", ondelete="SET NULL"), index=True)
    type: Mapped[str] = mapped_column(server_default="NEW_TRANSACTIONS")
    details: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    state: Mapped[str] = mapped_column(server_default="PENDING")
    attempts: Mapped[int] = mapped_column(server_default="0")
    next_attempt_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    replayed_at: Mapped[datetime | None]
    """When somebody had it sent again."""
