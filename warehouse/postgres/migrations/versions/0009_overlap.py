"""The secret of a client before the present one, which is good for a while."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("clients", sa.Column("previous_secret_hash", sa.LargeBinary(), nullable=True))
    op.add_column("clients", sa.Column("previous_secret_until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("clients", "previous_secret_until")
    op.drop_column("clients", "previous_secret_hash")
