"""The form of a tenant's tokens; the demo bank under the name and BIC by which clients look it up, and a second one."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tenants", sa.Column("token_form", sa.Text(), nullable=True))
    op.execute("UPDATE providers SET name = 'Demo Provider', bic = 'DEMO1234' WHERE id = '00000000-0000-0000-0000-000000000000'")
    op.execute(
        "INSERT INTO providers (id, name, group_name, connector, consumer_relevant, published_logins) "
        "VALUES ('00000000-0000-0000-0000-000000000001', 'Demo Sparkasse', 'Demo', 'demo', true, true) ON CONFLICT DO NOTHING"
    )


def downgrade() -> None:
    op.execute("UPDATE providers SET name = 'Demo Bank', bic = NULL WHERE id = '00000000-0000-0000-0000-000000000000'")
    op.drop_column("tenants", "token_form")
