"""Users' own categories and rules for counterparties; a revision of each tenant, which its rules raise."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TENANT = "NULLIF(current_setting('kontor.tenant', true), '')::uuid"
USER = "NULLIF(current_setting('kontor.user', true), '')::uuid"
OPERATOR = "current_setting('kontor.operator', true) = 'on'"


def upgrade() -> None:
    op.create_table(
        "category_choices",
        sa.Column("transaction_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("chosen_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["transaction_id"], ["transactions.id"], name=op.f("fk_category_choices_transaction_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("transaction_id", name=op.f("pk_category_choices")),
    )
    op.create_index(op.f("ix_category_choices_user_id"), "category_choices", ["user_id"], unique=False)
    op.create_table(
        "category_rules",
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("counterparty_iban", sa.Text(), nullable=False),
        sa.Column("counterparty_name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("after", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_category_rules_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_category_rules_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_category_rules")),
        sa.UniqueConstraint(
            "tenant_id",
            "user_id",
            "counterparty_iban",
            "name_key",
            name=op.f("uq_category_rules_tenant_id_user_id_counterparty_iban_name_key"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_index(op.f("ix_category_rules_tenant_id"), "category_rules", ["tenant_id"], unique=False)
    op.create_index(op.f("ix_category_rules_user_id"), "category_rules", ["user_id"], unique=False)
    op.add_column("tenants", sa.Column("revision", sa.BigInteger(), server_default="0", nullable=False))

    own = f"tenant_id = {TENANT} AND ({USER} IS NULL OR user_id = {USER}) OR {OPERATOR}"
    protect("category_choices", seen=own, written=own)
    # A user's transaction sees the tenant's rules too, since they hold for its bookings; it can write only its own.
    written = f"tenant_id = {TENANT} AND user_id IS NOT DISTINCT FROM {USER} OR {OPERATOR}"
    protect(
        "category_rules",
        seen=f"tenant_id = {TENANT} AND ({USER} IS NULL OR COALESCE(user_id, {USER}) = {USER}) OR {OPERATOR}",
        written=written,
    )
    for command in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE POLICY category_rules_{command.lower()} ON category_rules AS RESTRICTIVE FOR {command} USING ({written})"
        )


def protect(table: str, *, seen: str, written: str) -> None:
    """Shows rows only to a transaction that acts for those who may see them, or for the operator, and lets it write its own."""
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY {table}_of_owner ON {table} USING ({seen}) WITH CHECK ({written})")


def downgrade() -> None:
    op.execute("DROP TABLE IF EXISTS category_choices CASCADE")
    op.execute("DROP TABLE IF EXISTS category_rules CASCADE")
    op.drop_column("tenants", "revision")
