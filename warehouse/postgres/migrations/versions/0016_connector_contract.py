"""Refused logins; polls of the current step of a dialogue, and whether its customer has cancelled it."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("dialogues", sa.Column("polls", sa.Integer(), server_default="0", nullable=False))
    op.add_column("dialogues", sa.Column("cancelled", sa.Boolean(), server_default="false", nullable=False))
    op.create_table(
        "refused_logins",
        sa.Column("login_hash", sa.LargeBinary(), nullable=False),
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("locked", sa.Boolean(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("refused_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["provider_id"], ["providers.id"], name=op.f("fk_refused_logins_provider_id")),
        sa.PrimaryKeyConstraint("login_hash", "provider_id", "secret_hash", name=op.f("pk_refused_logins")),
    )
    op.create_index(op.f("ix_refused_logins_refused_at"), "refused_logins", ["refused_at"], unique=False)
    op.add_column(
        "accesses",
        sa.Column("login_entered_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
    )


def downgrade() -> None:
    op.drop_column("accesses", "login_entered_at")
    op.drop_table("refused_logins")
    op.drop_column("dialogues", "cancelled")
    op.drop_column("dialogues", "polls")
