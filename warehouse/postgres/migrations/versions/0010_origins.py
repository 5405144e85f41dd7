"""Through which client and API key a token was issued, and a fetch, a dialogue or a form session was begun."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

COLUMNS = {
    "accesses": ("fetch_client_id", "fetch_api_key_id"),
    "dialogues": ("client_id", "api_key_id"),
    "redirect_sessions": ("client_id", "api_key_id"),
    "tokens": ("api_key_id",),
}


def upgrade() -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            op.add_column(table, sa.Column(column, sa.Uuid(), nullable=True))
    op.create_index(op.f("ix_tokens_api_key_id"), "tokens", ["api_key_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_tokens_api_key_id"), "tokens")
    for table, columns in COLUMNS.items():
        for column in columns:
            op.drop_column(table, column)
