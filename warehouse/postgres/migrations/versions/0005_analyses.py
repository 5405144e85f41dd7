"""The day of which analyses speak: of each user when a bank last told something, and of each result the day it is of."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

LATEST = (
    "UPDATE users SET refreshed_on ="
    " (SELECT max(a.fetched_at AT TIME ZONE 'Europe/Berlin')::date FROM accesses a WHERE a.user_id = users.id)"
)


def upgrade() -> None:
    op.add_column("users", sa.Column("refreshed_on", sa.Date(), nullable=True))
    op.add_column("results", sa.Column("as_of", sa.Date(), nullable=True))
    op.execute("SET LOCAL kontor.operator = 'on'")
    op.execute(LATEST)


def downgrade() -> None:
    op.drop_column("results", "as_of")
    op.drop_column("users", "refreshed_on")
