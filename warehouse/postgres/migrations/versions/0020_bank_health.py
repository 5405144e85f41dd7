"""How fetches ended and how long they took, by bank and day, and which banks are paused because they fail for everybody.

Banks also get the address of an imported list.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "fetch_days",
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("fetches", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["provider_id"], ["providers.id"], name=op.f("fk_fetch_days_provider_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("provider_id", "day", "outcome", name=op.f("pk_fetch_days")),
    )
    op.add_column("providers", sa.Column("address", sa.Text(), nullable=True))
    op.add_column("providers", sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("providers", sa.Column("pause_code", sa.Text(), nullable=True))
    op.add_column("providers", sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("providers", sa.Column("trial_fetch_id", sa.Uuid(), nullable=True))


def downgrade() -> None:
    for column in ("trial_fetch_id", "retry_at", "pause_code", "paused_at", "address"):
        op.drop_column("providers", column)
    op.drop_table("fetch_days")
