"""Results that lie ready, tombstones of people who were erased, and whether a tenant's corrections may be learned."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TENANT = "NULLIF(current_setting('kontor.tenant', true), '')::uuid"
USER = "NULLIF(current_setting('kontor.user', true), '')::uuid"
OPERATOR = "current_setting('kontor.operator', true) = 'on'"


def upgrade() -> None:
    op.create_table(
        "results",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("knowledge", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_results_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_results_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "name", name=op.f("pk_results")),
    )
    op.create_index(op.f("ix_results_tenant_id"), "results", ["tenant_id"], unique=False)
    op.execute("ALTER TABLE results ALTER COLUMN content SET STORAGE EXTERNAL")  # it is compressed already
    op.create_table(
        "tombstones",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("purged_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("receipt", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tombstones")),
    )
    op.add_column("tenants", sa.Column("learns", sa.Boolean(), server_default="false", nullable=False))
    op.execute("ALTER TABLE results ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE results FORCE ROW LEVEL SECURITY")
    own = f"tenant_id = {TENANT} AND ({USER} IS NULL OR user_id = {USER}) OR {OPERATOR}"
    op.execute(f"CREATE POLICY results_of_owner ON results USING ({own}) WITH CHECK ({own})")
    op.execute("ALTER TABLE tombstones ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE tombstones FORCE ROW LEVEL SECURITY")
    # Who deletes an access puts down its tombstone; only the operator's runs look at them.
    op.execute(f"CREATE POLICY tombstones_of_operator ON tombstones USING ({OPERATOR}) WITH CHECK ({own})")


def downgrade() -> None:
    op.execute("DROP TABLE IF EXISTS results CASCADE")
    op.execute("DROP TABLE IF EXISTS tombstones CASCADE")
    op.drop_column("tenants", "learns")
