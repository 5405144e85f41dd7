"""Ways of end users through the redirect form, and how tenants want it to look."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.banks import OwnedByUser
from warehouse.postgres.tables.base import Base, Identified, Owned


class RedirectSession(Identified, OwnedByUser, Base):
    """A way through the form that a tenant has begun for a user. Only hashes of its name and of its browser's are kept.

    `turn` grows with every move of the customer: a form that was sent before, or twice, is known by it. What was typed lies
    sealed under the session's subject; `progress` has what is not secret: what was chosen, and from where the customer comes.
    """

    __tablename__ = "redirect_sessions"

    session_hash: Mapped[bytes] = mapped_column(unique=True)
    browser_hash: Mapped[bytes | None] = mapped_column(unique=True)
    use_case: Mapped[str]
    access_key: Mapped[str | None]
    return_to: Mapped[str | None]
    expires_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp() + interval '20 minutes'"), index=True)
    seen_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    turn: Mapped[int] = mapped_column(server_default="0")
    provider_id: Mapped[UUID | None] = mapped_column(ForeignKey("providers.id"))
    dialogue_id: Mapped[UUID | None] = mapped_column(ForeignKey("dialogues.id", ondelete="SET NULL"))
    progress: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    outcome: Mapped[str | None]
    client_id: Mapped[UUID | None]
    api_key_id: Mapped[UUID | None]


class FormDesign(Owned, Base):
    """How a tenant's form looks, and what its customers accept there. What is not said is the house's own."""

    __tablename__ = "form_designs"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str | None]
    colour: Mapped[str | None]
    logo: Mapped[bytes | None]
    logo_type: Mapped[str | None]
    imprint_url: Mapped[str | None]
    privacy_url: Mapped[str | None]
    terms: Mapped[dict[str, str]] = mapped_column(JSONB, server_default="{}")
    """The text that customers accept, by language."""
