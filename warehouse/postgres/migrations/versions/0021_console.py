"""The console: its accounts, sessions and audit log. Events of webhooks can be sent again."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

TENANT = "NULLIF(current_setting('kontor.tenant', true), '')::uuid"
OPERATOR = "current_setting('kontor.operator', true) = 'on'"


def upgrade() -> None:
    op.create_table(
        "console_accounts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("code_key_id", sa.Text(), nullable=True),
        sa.Column("code_sealed", sa.LargeBinary(), nullable=True),
        sa.Column("code_step", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_login_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_console_accounts_tenant_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_console_accounts")),
        sa.UniqueConstraint("name", name=op.f("uq_console_accounts_name")),
    )
    op.create_index(op.f("ix_console_accounts_tenant_id"), "console_accounts", ["tenant_id"], unique=False)
    op.create_table(
        "console_sessions",
        sa.Column("session_hash", sa.LargeBinary(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["console_accounts.id"], name=op.f("fk_console_sessions_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_hash", name=op.f("pk_console_sessions")),
    )
    op.create_index(op.f("ix_console_sessions_account_id"), "console_sessions", ["account_id"], unique=False)
    op.create_index(op.f("ix_console_sessions_ends_at"), "console_sessions", ["ends_at"], unique=False)
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("object_id", sa.Text(), nullable=True),
        sa.Column("details", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("correlation_id", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["console_accounts.id"], name=op.f("fk_audit_entries_account_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_audit_entries_tenant_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_audit_entries_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
    )
    for column in ("at", "account_id", "tenant_id", "user_id"):
        op.create_index(op.f(f"ix_audit_entries_{column}"), "audit_entries", [column], unique=False)
    # Nobody but the operator reads accounts. A tenant reads what was done in it, and adds to it.
    for table, condition in (("console_accounts", OPERATOR), ("audit_entries", f"tenant_id = {TENANT} OR {OPERATOR}")):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {table}_of_owner ON {table} USING ({condition}) WITH CHECK ({condition})")
    op.add_column("webhook_events", sa.Column("replayed_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("webhook_events", "replayed_at")
    for table in ("audit_entries", "console_sessions", "console_accounts"):
        op.drop_table(table)
