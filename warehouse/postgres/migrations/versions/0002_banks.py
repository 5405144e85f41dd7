"""Providers, accesses, products, transactions, positions, webhooks, redirect sessions; the job queue; the demo provider."""

import procrastinate.schema
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OF_USERS = ("accesses", "products", "transactions", "positions", "bank_sessions", "redirect_sessions")
OF_TENANTS = ("webhooks", "webhook_events")
DROP_QUEUE = """
DO $$ DECLARE item record; BEGIN
    FOR item IN SELECT oid::regprocedure AS name FROM pg_proc WHERE proname LIKE 'procrastinate\\_%' LOOP
        EXECUTE 'DROP FUNCTION ' || item.name || ' CASCADE';
    END LOOP;
    FOR item IN SELECT typname AS name FROM pg_type WHERE typname LIKE 'procrastinate\\_job\\_%' AND typtype IN ('e', 'c') LOOP
        EXECUTE 'DROP TYPE ' || quote_ident(item.name) || ' CASCADE';
    END LOOP;
END $$
"""


def upgrade() -> None:
    op.create_table(
        "providers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("group_name", sa.Text(), nullable=True),
        sa.Column("blz", sa.Text(), nullable=True),
        sa.Column("bic", sa.Text(), nullable=True),
        sa.Column("connector", sa.Text(), nullable=False),
        sa.Column("consumer_relevant", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_providers")),
    )
    op.create_index(op.f("ix_providers_blz"), "providers", ["blz"], unique=False)
    op.create_table(
        "accesses",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("login_hash", sa.LargeBinary(), nullable=False),
        sa.Column("sync", sa.Boolean(), nullable=False),
        sa.Column("selected", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("methods", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("active_method", sa.Text(), nullable=True),
        sa.Column("media", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("messages", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("consent_ends_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fetch_id", sa.Uuid(), nullable=True),
        sa.Column("fetch_phase", sa.Text(), nullable=True),
        sa.Column("attempted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("issues", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("wrong_logins", sa.Integer(), server_default="0", nullable=False),
        sa.Column("waits_for_customer", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("fetch_from", sa.Text(), nullable=True),
        sa.Column("fetch_attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("slot_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["provider_id"], ["providers.id"], name=op.f("fk_accesses_provider_id")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_accesses_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_accesses_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accesses")),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_accesses_user_id_key")),
    )
    op.create_index("ix_accesses_expires_at", "accesses", ["expires_at"], unique=False)
    op.create_index(
        "ix_accesses_fetching", "accesses", ["fetch_id"], unique=False, postgresql_where=sa.text("fetch_id IS NOT NULL")
    )
    op.create_index(op.f("ix_accesses_login_hash"), "accesses", ["login_hash"], unique=False)
    op.create_index(op.f("ix_accesses_tenant_id"), "accesses", ["tenant_id"], unique=False)
    op.create_index(op.f("ix_accesses_user_id"), "accesses", ["user_id"], unique=False)
    op.create_table(
        "redirect_sessions",
        sa.Column("session_hash", sa.LargeBinary(), nullable=False),
        sa.Column("use_case", sa.Text(), nullable=False),
        sa.Column("access_key", sa.Text(), nullable=False),
        sa.Column(
            "expires_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp() + interval '20 minutes'"),
            nullable=False,
        ),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_redirect_sessions_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_redirect_sessions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_redirect_sessions")),
        sa.UniqueConstraint("session_hash", name=op.f("uq_redirect_sessions_session_hash")),
    )
    op.create_index(op.f("ix_redirect_sessions_expires_at"), "redirect_sessions", ["expires_at"], unique=False)
    op.create_index(op.f("ix_redirect_sessions_tenant_id"), "redirect_sessions", ["tenant_id"], unique=False)
    op.create_index(op.f("ix_redirect_sessions_user_id"), "redirect_sessions", ["user_id"], unique=False)
    op.create_table(
        "webhooks",
        sa.Column("client_id", sa.Uuid(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("serial", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("previous_secret_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("busy_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["client_id"], ["clients.id"], name=op.f("fk_webhooks_client_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_webhooks_tenant_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("client_id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_tenant_id"), "webhooks", ["tenant_id"], unique=False)
    op.create_table(
        "bank_sessions",
        sa.Column("access_id", sa.Uuid(), nullable=False),
        sa.Column("attended", sa.Boolean(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["access_id"], ["accesses.id"], name=op.f("fk_bank_sessions_access_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_bank_sessions_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_bank_sessions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bank_sessions")),
    )
    op.create_index("ix_bank_sessions_access_id_created_at", "bank_sessions", ["access_id", "created_at"], unique=False)
    op.create_index(op.f("ix_bank_sessions_tenant_id"), "bank_sessions", ["tenant_id"], unique=False)
    op.create_index(op.f("ix_bank_sessions_user_id"), "bank_sessions", ["user_id"], unique=False)
    op.create_table(
        "products",
        sa.Column("access_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner_name", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=True),
        sa.Column("balance_cents", sa.BigInteger(), nullable=True),
        sa.Column("balance_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("account_number", sa.Text(), nullable=True),
        sa.Column("iban", sa.Text(), nullable=True),
        sa.Column("bic", sa.Text(), nullable=True),
        sa.Column("blz", sa.Text(), nullable=True),
        sa.Column("bank_name", sa.Text(), nullable=True),
        sa.Column("transfer_support", sa.Boolean(), nullable=False),
        sa.Column("bulk_transfer_support", sa.Boolean(), nullable=False),
        sa.Column("balance_by_statement", sa.Boolean(), nullable=True),
        sa.Column("overdraft_limit_cents", sa.BigInteger(), nullable=True),
        sa.Column("credit_line_cents", sa.BigInteger(), nullable=True),
        sa.Column("credit_drawn_cents", sa.BigInteger(), nullable=True),
        sa.Column("home_savings", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("balances", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("messages", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("complete_from", sa.Date(), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["access_id"], ["accesses.id"], name=op.f("fk_products_access_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_products_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_products_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_products")),
        sa.UniqueConstraint("access_id", "key", name=op.f("uq_products_access_id_key")),
    )
    op.create_index(op.f("ix_products_tenant_id"), "products", ["tenant_id"], unique=False)
    op.create_index(op.f("ix_products_user_id"), "products", ["user_id"], unique=False)
    op.create_table(
        "webhook_events",
        sa.Column("client_id", sa.Uuid(), nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("access_id", sa.Uuid(), nullable=True),
        sa.Column("state", sa.Text(), server_default="PENDING", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["access_id"], ["accesses.id"], name=op.f("fk_webhook_events_access_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(
            ["client_id"], ["webhooks.client_id"], name=op.f("fk_webhook_events_client_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_webhook_events_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_webhook_events_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("client_id", "serial", name=op.f("pk_webhook_events")),
    )
    op.create_index(op.f("ix_webhook_events_access_id"), "webhook_events", ["access_id"], unique=False)
    op.create_index("ix_webhook_events_created_at", "webhook_events", ["created_at"], unique=False)
    op.create_index(
        "ix_webhook_events_due",
        "webhook_events",
        ["next_attempt_at"],
        unique=False,
        postgresql_where=sa.text("state = 'PENDING'"),
    )
    op.create_index(op.f("ix_webhook_events_tenant_id"), "webhook_events", ["tenant_id"], unique=False)
    op.create_index(op.f("ix_webhook_events_user_id"), "webhook_events", ["user_id"], unique=False)
    op.create_table(
        "positions",
        sa.Column("product_id", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("quantity", sa.Numeric(), nullable=True),
        sa.Column("by_piece", sa.Boolean(), nullable=True),
        sa.Column("isin", sa.Text(), nullable=True),
        sa.Column("wkn", sa.Text(), nullable=True),
        sa.Column("price", sa.Numeric(), nullable=True),
        sa.Column("price_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("currency", sa.Text(), nullable=True),
        sa.Column("exchange_rate", sa.Numeric(), nullable=True),
        sa.Column("venue", sa.Text(), nullable=True),
        sa.Column("total_cents", sa.BigInteger(), nullable=True),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["product_id"], ["products.id"], name=op.f("fk_positions_product_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("product_id", "ordinal", name=op.f("pk_positions")),
    )
    op.create_table(
        "transactions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("product_id", sa.Uuid(), nullable=False),
        sa.Column("booked_on", sa.Date(), nullable=False),
        sa.Column("value_on", sa.Date(), nullable=True),
        sa.Column("amount_cents", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=True),
        sa.Column("booking_text", sa.Text(), nullable=True),
        sa.Column("gv_code", sa.Text(), nullable=True),
        sa.Column("primanota", sa.Text(), nullable=True),
        sa.Column("counterparty_name", sa.Text(), nullable=True),
        sa.Column("counterparty_iban", sa.Text(), nullable=True),
        sa.Column("counterparty_bic", sa.Text(), nullable=True),
        sa.Column("ultimate_name", sa.Text(), nullable=True),
        sa.Column("pending", sa.Boolean(), nullable=False),
        sa.Column("batch", sa.Text(), nullable=True),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["product_id"], ["products.id"], name=op.f("fk_transactions_product_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transactions")),
    )
    op.create_index(
        "ix_transactions_product_id_booked_on_sequence", "transactions", ["product_id", "booked_on", "sequence"], unique=False
    )
    op.add_column("users", sa.Column("revision", sa.BigInteger(), server_default="0", nullable=False))

    for table in OF_USERS:
        protect(
            table,
            " AND (NULLIF(current_setting('kontor.user', true), '') IS NULL "
            "OR user_id = NULLIF(current_setting('kontor.user', true), '')::uuid)",
        )
    for table in OF_TENANTS:
        protect(table, "")
    own_secrets(
        "user_id IS NULL OR NULLIF(current_setting('kontor.user', true), '') IS NULL OR user_id = "
        "NULLIF(current_setting('kontor.user', true), '')::uuid"
    )
    op.execute(
        "INSERT INTO providers (id, name, group_name, connector, consumer_relevant) "
        "VALUES ('00000000-0000-0000-0000-000000000000', 'Demo Bank', 'Demo', 'demo', true)"
    )
    # Many statements at once and percent signs: only the driver itself takes them as they are.
    op.get_bind().connection.driver_connection.execute(procrastinate.schema.SchemaManager.get_schema())


def own_secrets(condition: str) -> None:
    """Shows a user's sealed values to nobody who acts for another user; those of the tenant itself have no user."""
    op.execute("DROP POLICY IF EXISTS sealed_values_of_user ON sealed_values")
    op.execute(
        f"CREATE POLICY sealed_values_of_user ON sealed_values AS RESTRICTIVE USING ({condition}) WITH CHECK ({condition})"
    )


def protect(table: str, of_user: str) -> None:
    """Shows rows only to a transaction that acts for their tenant (and user, where it names one), or for the operator."""
    condition = (
        f"tenant_id = NULLIF(current_setting('kontor.tenant', true), '')::uuid{of_user} "
        "OR current_setting('kontor.operator', true) = 'on'"
    )
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY {table}_of_owner ON {table} USING ({condition}) WITH CHECK ({condition})")


def downgrade() -> None:
    for table in (
        "webhook_events",
        "webhooks",
        "positions",
        "transactions",
        "products",
        "bank_sessions",
        "redirect_sessions",
        "accesses",
        "providers",
        "procrastinate_events",
        "procrastinate_periodic_defers",
        "procrastinate_jobs",
        "procrastinate_workers",
    ):
        op.execute(f"DROP TABLE IF EXISTS {table} CASCADE")
    op.drop_column("users", "revision")
    op.execute("DROP POLICY IF EXISTS sealed_values_of_user ON sealed_values")
    op.execute(DROP_QUEUE)
