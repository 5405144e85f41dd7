"""Dialogues with a bank: consents and payments, until the customer has confirmed them, and what became of them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.banks import OwnedByUser
from warehouse.postgres.tables.base import Base, Identified


class Dialogue(Identified, OwnedByUser, Base):
    """A dialogue. What it must remember of the bank, the order and the login are sealed values under its id.

    `move` counts what the customer has done; `phase` says whose turn it is. A payment's row stays: its id is never used again.
    `client_id` and `api_key_id` say through whom it was begun, for ever: a key that is gone is as good as disabled.
    """

    __tablename__ = "dialogues"
    __table_args__ = (
        UniqueConstraint("user_id", "payment_id"),
        Index("ix_dialogues_open", "ends_at", postgresql_where=text("phase IN ('ASKED', 'CALLING', 'OPEN', 'UNKNOWN')")),
        Index("ix_dialogues_likeness", "user_id", "likeness", "created_at"),
    )

    kind: Mapped[str]
    access_id: Mapped[UUID | None] = mapped_column(ForeignKey("accesses.id", ondelete="SET NULL"), index=True)
    provider_id: Mapped[UUID] = mapped_column(ForeignKey("providers.id"))
    login_hash: Mapped[bytes]
    phase: Mapped[str]
    move: Mapped[int]
    step: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    messages: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    ends_at: Mapped[datetime]
    method: Mapped[str | None]
    medium: Mapped[str | None]
    fixed: Mapped[bool]
    attended_from: Mapped[str | None]
    return_to: Mapped[str | None]
    product: Mapped[str | None]
    payment_id: Mapped[UUID | None]
    digest: Mapped[bytes | None]
    likeness: Mapped[bytes | None]
    look_at: Mapped[datetime | None]
    looks: Mapped[int] = mapped_column(server_default="0")
    polls: Mapped[int] = mapped_column(server_default="0")
    """How often the bank was polled in the current step."""
    cancelled: Mapped[bool] = mapped_column(server_default="false")
    """Whether the customer has cancelled a payment before confirming anything."""
    login_entered_at: Mapped[datetime | None]
    """When the customer entered the login of the dialogue; None for that of the access, or one that was entered to begin it."""
    client_id: Mapped[UUID | None]
    api_key_id: Mapped[UUID | None]
