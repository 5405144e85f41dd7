"""How often a bank was polled in the current step of a dialogue, and whether its customer has cancelled it."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("dialogues", sa.Column("polls", sa.Integer(), server_default="0", nullable=False))
    op.add_column("dialogues", sa.Column("cancelled", sa.Boolean(), server_default="false", nullable=False))


def downgrade() -> None:
    op.drop_column("dialogues", "cancelled")
    op.drop_column("dialogues", "polls")
