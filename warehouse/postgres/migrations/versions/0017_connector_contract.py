"""How often a bank was polled in the current step of a dialogue."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("dialogues", sa.Column("polls", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("dialogues", "polls")
