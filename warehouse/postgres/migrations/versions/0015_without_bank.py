"""Providers without a bank: uploaded statement files, and accounts that tenants keep; the newest file of a product."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("products", sa.Column("statement_until", sa.Date(), nullable=True))
    op.execute(
        "INSERT INTO providers (id, name, connector, consumer_relevant) VALUES "
        "('00000000-0000-0000-0000-000000000002', 'Kontoauszug hochladen', 'statement_files', true), "
        "('00000000-0000-0000-0000-000000000003', 'Eigene Konten', 'own_accounts', false) ON CONFLICT DO NOTHING"
    )


def downgrade() -> None:
    op.execute("SET LOCAL kontor.operator = 'on'")
    op.execute(
        "DELETE FROM accesses WHERE provider_id IN "
        "('00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000003')"
    )
    op.execute(
        "DELETE FROM providers WHERE id IN ('00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000003')"
    )
    op.drop_column("products", "statement_until")
