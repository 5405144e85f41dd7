"""What people on call watch: when each vault key was first used, and how sure the tags of each bucket are."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "vault_keys",
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("first_used_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_vault_keys")),
    )
    op.create_table(
        "tag_states",
        sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bookings", sa.BigInteger(), nullable=False),
        sa.Column("unsure", sa.BigInteger(), nullable=False),
        sa.Column("tagged_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("bucket", name=op.f("pk_tag_states")),
    )


def downgrade() -> None:
    op.drop_table("tag_states")
    op.drop_table("vault_keys")
