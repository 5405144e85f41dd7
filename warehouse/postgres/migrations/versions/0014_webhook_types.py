"""Types of webhook events, and which of them each webhook receives; what was told of first fetches and ends of consents."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("types", sa.ARRAY(sa.Text()), server_default="{NEW_TRANSACTIONS}", nullable=False))
    op.add_column("webhook_events", sa.Column("dialogue_id", sa.Uuid(), nullable=True))
    op.add_column("webhook_events", sa.Column("type", sa.Text(), server_default="NEW_TRANSACTIONS", nullable=False))
    op.add_column(
        "webhook_events",
        sa.Column("details", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
    )
    op.create_index(op.f("ix_webhook_events_dialogue_id"), "webhook_events", ["dialogue_id"], unique=False)
    op.create_foreign_key(
        op.f("fk_webhook_events_dialogue_id"), "webhook_events", "dialogues", ["dialogue_id"], ["id"], ondelete="SET NULL"
    )
    op.add_column("accesses", sa.Column("first_fetch_end", sa.Text(), nullable=True))
    op.add_column("accesses", sa.Column("consent_told_end", sa.DateTime(timezone=True), nullable=True))
    op.add_column("accesses", sa.Column("consent_told_days", sa.Integer(), nullable=True))
    op.execute("SET LOCAL kontor.operator = 'on'")
    # What happened before webhooks could tell it is not told afterwards.
    op.execute("UPDATE accesses SET first_fetch_end = 'FAILED' WHERE attempted_at IS NOT NULL AND status <> 'COMPLETE'")
    op.execute("UPDATE accesses SET first_fetch_end = 'DONE' WHERE status = 'COMPLETE'")
    op.execute("UPDATE accesses SET consent_told_end = consent_ends_at, consent_told_days = 0 WHERE consent_ends_at <= now()")


def downgrade() -> None:
    op.drop_column("accesses", "consent_told_days")
    op.drop_column("accesses", "consent_told_end")
    op.drop_column("accesses", "first_fetch_end")
    op.drop_column("webhook_events", "details")
    op.drop_column("webhook_events", "type")
    op.drop_column("webhook_events", "dialogue_id")
    op.drop_column("webhooks", "types")
