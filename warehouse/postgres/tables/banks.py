"""Banks and what they told us of a customer: accesses, products, transactions, positions.

`key` is the name that the outside uses (an access's is chosen by the caller, a product's comes from the bank), `id` is ours.
Rows below an access go with it.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, Double, ForeignKey, Identity, Index, UniqueConstraint, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from warehouse.postgres.tables.base import Base, Identified, Owned


class Provider(Base):
    """A bank of the catalogue. Offered while it is enabled and a connector serves it."""

    __tablename__ = "providers"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str]
    group_name: Mapped[str | None]
    blz: Mapped[str | None] = mapped_column(index=True)
    bic: Mapped[str | None]
    connector: Mapped[str]
    consumer_relevant: Mapped[bool] = mapped_column(server_default="true")
    enabled: Mapped[bool] = mapped_column(server_default="true")
    published_logins: Mapped[bool] = mapped_column(server_default="false")
    """Whether many people share its logins, as those of the demo bank: sessions are then counted for each access."""
    updated_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    address: Mapped[str | None]
    """Where the bank answers, by a list that the operator has imported."""
    paused_at: Mapped[datetime | None]
    """Since when it is paused, because its fetches fail for everybody; the next three columns belong to the pause."""
    pause_code: Mapped[str | None]
    """The code of the fault that paused it."""
    retry_at: Mapped[datetime | None]
    """When a worker tries it again with a single access."""
    trial_fetch_id: Mapped[UUID | None]
    """The fetch that tries it."""


class FetchCount(Base):
    """How often fetches at a provider have ended in one way, and when last. No row tells of a person."""

    __tablename__ = "fetch_counts"

    provider_id: Mapped[UUID] = mapped_column(ForeignKey("providers.id", ondelete="CASCADE"), primary_key=True)
    outcome: Mapped[str] = mapped_column(primary_key=True)
    fetches: Mapped[int] = mapped_column(BigInteger)
    last_at: Mapped[datetime]


class FetchDay(Base):
    """How often fetches at a provider have ended in one way on a day, how long its sessions took, and when the last one ended.
    No row tells of a person.
    """

    __tablename__ = "fetch_days"

    provider_id: Mapped[UUID] = mapped_column(ForeignKey("providers.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    outcome: Mapped[str] = mapped_column(primary_key=True)
    fetches: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float] = mapped_column(Double)
    last_at: Mapped[datetime]


class OwnedByUser(Owned):
    """A row of one user; row-level security hides it from all others, also of the same tenant."""

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class Numbered:
    """A row with the number of its last change and that of the change that added it (`warehouse.stores.changes`). Triggers of the
    database set them; rows from before there were numbers have 0.
    """

    serial: Mapped[int] = mapped_column(BigInteger, server_default="0")
    added_serial: Mapped[int] = mapped_column(BigInteger, server_default="0")


class Access(Identified, OwnedByUser, Numbered, Base):
    """A customer's login at a bank. Stable are the columns up to `expires_at`; those of the running fetch stand apart."""

    __tablename__ = "accesses"
    __table_args__ = (
        UniqueConstraint("user_id", "key"),
        Index("ix_accesses_expires_at", "expires_at"),
        Index("ix_accesses_fetching", "fetch_id", postgresql_where=text("fetch_id IS NOT NULL")),
    )

    key: Mapped[str]
    provider_id: Mapped[UUID] = mapped_column(ForeignKey("providers.id"))
    login_hash: Mapped[bytes] = mapped_column(index=True)
    sync: Mapped[bool]
    selected: Mapped[list[str] | None]
    status: Mapped[str]
    fetched_at: Mapped[datetime | None]
    methods: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    active_method: Mapped[str | None]
    media: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    messages: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    consent_ends_at: Mapped[datetime | None]
    sca_method: Mapped[str | None]
    sca_medium: Mapped[str | None]
    history: Mapped[str | None]
    expires_at: Mapped[datetime | None]

    fetch_id: Mapped[UUID | None]
    fetch_phase: Mapped[str | None]
    fetch_from: Mapped[str | None]
    fetch_client_id: Mapped[UUID | None]
    fetch_api_key_id: Mapped[UUID | None]
    fetch_attempts: Mapped[int] = mapped_column(server_default="0")
    attempted_at: Mapped[datetime | None]
    issues: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    wrong_logins: Mapped[int] = mapped_column(server_default="0")
    login_entered_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When the customer entered the login that is stored."""
    waits_for_customer: Mapped[bool] = mapped_column(server_default="false")
    slot_at: Mapped[datetime | None]

    first_fetch_end: Mapped[str | None]
    """How the first fetch ended of which webhooks were told: `FAILED`, or `DONE` once there are data."""
    consent_told_end: Mapped[datetime | None]
    consent_told_days: Mapped[int | None]
    """The end of the consent of which webhooks were told last, and how many days before it: 30, 7, 1, or 0 at the end."""


class Product(Identified, OwnedByUser, Numbered, Base):
    """An account, card, depot or contract behind an access."""

    __tablename__ = "products"
    __table_args__ = (UniqueConstraint("access_id", "key"),)

    access_id: Mapped[UUID] = mapped_column(ForeignKey("accesses.id", ondelete="CASCADE"))
    key: Mapped[str]
    ordinal: Mapped[int]
    status: Mapped[str]
    category: Mapped[str]
    name: Mapped[str]
    owner_name: Mapped[str]
    currency: Mapped[str | None]
    balance_cents: Mapped[int | None] = mapped_column(BigInteger)
    balance_at: Mapped[datetime | None]
    account_number: Mapped[str | None]
    iban: Mapped[str | None]
    bic: Mapped[str | None]
    blz: Mapped[str | None]
    bank_name: Mapped[str | None]
    transfer_support: Mapped[bool]
    bulk_transfer_support: Mapped[bool]
    balance_by_statement: Mapped[bool | None]
    overdraft_limit_cents: Mapped[int | None] = mapped_column(BigInteger)
    credit_line_cents: Mapped[int | None] = mapped_column(BigInteger)
    credit_drawn_cents: Mapped[int | None] = mapped_column(BigInteger)
    home_savings: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    balances: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    messages: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    fetched_at: Mapped[datetime]
    complete_from: Mapped[date | None]
    answer_digest: Mapped[str | None]
    """The digest of the bank's last answer, as long as its bookings are those that are stored."""
    statement_until: Mapped[date | None]
    """The last day of the newest statement file that was uploaded for it."""


class BelowProduct:
    """A row of a product, which vouches for tenant and user: checking these for each of many rows would cost as much again."""

    tenant_id: Mapped[UUID]
    user_id: Mapped[UUID]


class Transaction(BelowProduct, Numbered, Base):
    """One line of an account. `sequence` orders the lines of a day; `batch` names the push it came with, None for the bank's.
    `search_text` is what a search looks at; None in rows from before there was one.
    """

    __tablename__ = "transactions"
    __table_args__ = (
        Index("ix_transactions_product_id_booked_on_sequence", "product_id", "booked_on", "sequence"),
        Index("ix_transactions_user_id_serial_sequence", "user_id", "serial", "sequence", postgresql_where=text("serial > 0")),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    sequence: Mapped[int] = mapped_column(BigInteger, Identity(always=True))
    product_id: Mapped[UUID] = mapped_column(ForeignKey("products.id", ondelete="CASCADE"))
    booked_on: Mapped[date]
    value_on: Mapped[date | None]
    amount_cents: Mapped[int] = mapped_column(BigInteger)
    currency: Mapped[str]
    purpose: Mapped[str | None]
    booking_text: Mapped[str | None]
    gv_code: Mapped[str | None]
    primanota: Mapped[str | None]
    counterparty_name: Mapped[str | None]
    counterparty_iban: Mapped[str | None]
    counterparty_bic: Mapped[str | None]
    ultimate_name: Mapped[str | None]
    pending: Mapped[bool]
    batch: Mapped[str | None]
    search_text: Mapped[str | None]


class Position(BelowProduct, Base):
    """One security in a depot."""

    __tablename__ = "positions"

    product_id: Mapped[UUID] = mapped_column(ForeignKey("products.id", ondelete="CASCADE"), primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None]
    quantity: Mapped[Decimal | None]
    by_piece: Mapped[bool | None]
    isin: Mapped[str | None]
    wkn: Mapped[str | None]
    price: Mapped[Decimal | None]
    price_at: Mapped[datetime | None]
    currency: Mapped[str | None]
    exchange_rate: Mapped[Decimal | None]
    venue: Mapped[str | None]
    total_cents: Mapped[int | None] = mapped_column(BigInteger)


class BankSession(Identified, OwnedByUser, Base):
    """A session that we opened at a bank: what the limit on unattended ones counts."""

    __tablename__ = "bank_sessions"
    __table_args__ = (Index("ix_bank_sessions_access_id_created_at", "access_id", "created_at"),)

    access_id: Mapped[UUID] = mapped_column(ForeignKey("accesses.id", ondelete="CASCADE"))
    attended: Mapped[bool]


class RefusedLogin(Base):
    """Secrets of a login that its bank has refused, or a login that is locked. Outlives the accesses; holds no id of a person.

    While `held`, the login is used only by a customer who waits, or who has entered it anew.
    """

    __tablename__ = "refused_logins"

    login_hash: Mapped[bytes] = mapped_column(primary_key=True)
    provider_id: Mapped[UUID] = mapped_column(ForeignKey("providers.id"), primary_key=True)
    secret_hash: Mapped[bytes] = mapped_column(primary_key=True)
    locked: Mapped[bool]
    held: Mapped[bool]
    refused_at: Mapped[datetime] = mapped_column(index=True)


class LoginAttempt(Base):
    """How often the secrets of a login were sent to its bank since an answer was heard. Outlives the accesses; holds no id of a
    person.
    """

    __tablename__ = "login_attempts"

    login_hash: Mapped[bytes] = mapped_column(primary_key=True)
    provider_id: Mapped[UUID] = mapped_column(ForeignKey("providers.id"), primary_key=True)
    secret_hash: Mapped[bytes] = mapped_column(primary_key=True)
    unanswered: Mapped[int]
    sent_at: Mapped[datetime] = mapped_column(index=True)
    accepted_at: Mapped[datetime | None]


class UnattendedSessions(Base):
    """How many sessions a login had at its bank on a day without the customer. Outlives the accesses; holds no id of a person."""

    __tablename__ = "unattended_sessions"

    login_hash: Mapped[bytes] = mapped_column(primary_key=True)
    provider_id: Mapped[UUID] = mapped_column(ForeignKey("providers.id"), primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True, index=True)
    sessions: Mapped[int]
