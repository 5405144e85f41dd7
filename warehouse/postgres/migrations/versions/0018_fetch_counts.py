"""How fetches ended, by provider and outcome, for monitoring."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "fetch_counts",
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("fetches", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["provider_id"], ["providers.id"], name=op.f("fk_fetch_counts_provider_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("provider_id", "outcome", name=op.f("pk_fetch_counts")),
    )


def downgrade() -> None:
    op.drop_table("fetch_counts")
