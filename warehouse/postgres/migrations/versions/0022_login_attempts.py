"""Logins on their way to banks: how many were sent whose answer nobody knows, and when a bank has accepted them last.

Dialogues also say when the login was entered that they use.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "login_attempts",
        sa.Column("login_hash", sa.LargeBinary(), nullable=False),
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("unanswered", sa.Integer(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["provider_id"], ["providers.id"], name=op.f("fk_login_attempts_provider_id")),
        sa.PrimaryKeyConstraint("login_hash", "provider_id", "secret_hash", name=op.f("pk_login_attempts")),
    )
    op.create_index(op.f("ix_login_attempts_sent_at"), "login_attempts", ["sent_at"], unique=False)
    op.add_column("dialogues", sa.Column("login_entered_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("dialogues", "login_entered_at")
    op.drop_table("login_attempts")
