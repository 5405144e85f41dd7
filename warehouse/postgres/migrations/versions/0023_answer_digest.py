"""A digest of the bank's last answer about the bookings of a product, by which the same answer is recognised."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("products", sa.Column("answer_digest", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("products", "answer_digest")
