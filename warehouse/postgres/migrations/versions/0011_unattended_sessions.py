"""How often a login was used at a bank without its customer, by day; providers whose logins are published."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "unattended_sessions",
        sa.Column("login_hash", sa.LargeBinary(), nullable=False),
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("sessions", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["provider_id"], ["providers.id"], name=op.f("fk_unattended_sessions_provider_id")),
        sa.PrimaryKeyConstraint("login_hash", "provider_id", "day", name=op.f("pk_unattended_sessions")),
    )
    op.create_index(op.f("ix_unattended_sessions_day"), "unattended_sessions", ["day"], unique=False)
    op.add_column("providers", sa.Column("published_logins", sa.Boolean(), server_default="false", nullable=False))
    op.execute("UPDATE providers SET published_logins = true WHERE id = '00000000-0000-0000-0000-000000000000'")


def downgrade() -> None:
    op.drop_column("providers", "published_logins")
    op.drop_table("unattended_sessions")
