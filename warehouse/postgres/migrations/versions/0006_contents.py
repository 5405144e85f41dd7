"""Results come packed, so that PostgreSQL need not try. Those of before held texts of other rows: they are made anew."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("TRUNCATE results")
    op.execute("ALTER TABLE results ALTER COLUMN content SET STORAGE EXTERNAL")


def downgrade() -> None:
    op.execute("TRUNCATE results")
    op.execute("ALTER TABLE results ALTER COLUMN content SET STORAGE EXTENDED")
