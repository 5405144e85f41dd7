"""Dialogues with a bank; how an access confirms, and how far back its bookings are wanted."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

USER = "NULLIF(current_setting('kontor.user', true), '')"
SEEN = (
    "tenant_id = NULLIF(current_setting('kontor.tenant', true), '')::uuid "
    f"AND ({USER} IS NULL OR user_id = {USER}::uuid) OR current_setting('kontor.operator', true) = 'on'"
)


def upgrade() -> None:
    op.create_table(
        "dialogues",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("access_id", sa.Uuid(), nullable=True),
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("login_hash", sa.LargeBinary(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("move", sa.Integer(), nullable=False),
        sa.Column("step", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.Column("messages", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("medium", sa.Text(), nullable=True),
        sa.Column("fixed", sa.Boolean(), nullable=False),
        sa.Column("attended_from", sa.Text(), nullable=True),
        sa.Column("return_to", sa.Text(), nullable=True),
        sa.Column("product", sa.Text(), nullable=True),
        sa.Column("payment_id", sa.Uuid(), nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=True),
        sa.Column("likeness", sa.LargeBinary(), nullable=True),
        sa.Column("look_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("looks", sa.Integer(), server_default="0", nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["access_id"], ["accesses.id"], name=op.f("fk_dialogues_access_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["provider_id"], ["providers.id"], name=op.f("fk_dialogues_provider_id")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_dialogues_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_dialogues_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dialogues")),
        sa.UniqueConstraint("user_id", "payment_id", name=op.f("uq_dialogues_user_id_payment_id")),
    )
    op.create_index(op.f("ix_dialogues_access_id"), "dialogues", ["access_id"])
    op.create_index(op.f("ix_dialogues_tenant_id"), "dialogues", ["tenant_id"])
    op.create_index(op.f("ix_dialogues_user_id"), "dialogues", ["user_id"])
    op.create_index("ix_dialogues_likeness", "dialogues", ["user_id", "likeness", "created_at"])
    op.create_index(
        "ix_dialogues_open",
        "dialogues",
        ["ends_at"],
        postgresql_where=sa.text("phase IN ('ASKED', 'CALLING', 'OPEN', 'UNKNOWN')"),
    )
    op.execute("ALTER TABLE dialogues ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE dialogues FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY dialogues_of_owner ON dialogues USING ({SEEN}) WITH CHECK ({SEEN})")
    for column in ("sca_method", "sca_medium", "history"):
        op.add_column("accesses", sa.Column(column, sa.Text(), nullable=True))


def downgrade() -> None:
    for column in ("history", "sca_medium", "sca_method"):
        op.drop_column("accesses", column)
    op.drop_table("dialogues")
