"""The redirect form: how far sessions are, what users accepted, and how tenants want it to look."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

SEEN = "tenant_id = NULLIF(current_setting('kontor.tenant', true), '')::uuid OR current_setting('kontor.operator', true) = 'on'"


def upgrade() -> None:
    for column in (
        sa.Column("browser_hash", sa.LargeBinary(), nullable=True),
        sa.Column("return_to", sa.Text(), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("turn", sa.Integer(), server_default="0", nullable=False),
        sa.Column("provider_id", sa.Uuid(), nullable=True),
        sa.Column("dialogue_id", sa.Uuid(), nullable=True),
        sa.Column("progress", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
    ):
        op.add_column("redirect_sessions", column)
    op.alter_column("redirect_sessions", "access_key", nullable=True)
    op.create_unique_constraint(op.f("uq_redirect_sessions_browser_hash"), "redirect_sessions", ["browser_hash"])
    op.create_foreign_key(op.f("fk_redirect_sessions_provider_id"), "redirect_sessions", "providers", ["provider_id"], ["id"])
    op.create_foreign_key(
        op.f("fk_redirect_sessions_dialogue_id"),
        "redirect_sessions",
        "dialogues",
        ["dialogue_id"],
        ["id"],
        ondelete="SET NULL",
    )
    op.add_column("users", sa.Column("terms_hash", sa.LargeBinary(), nullable=True))
    op.add_column("users", sa.Column("terms_accepted_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "form_designs",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("colour", sa.Text(), nullable=True),
        sa.Column("logo", sa.LargeBinary(), nullable=True),
        sa.Column("logo_type", sa.Text(), nullable=True),
        sa.Column("imprint_url", sa.Text(), nullable=True),
        sa.Column("privacy_url", sa.Text(), nullable=True),
        sa.Column("terms", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_form_designs_tenant_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_form_designs")),
    )
    op.execute("ALTER TABLE form_designs ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE form_designs FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY form_designs_of_owner ON form_designs USING ({SEEN}) WITH CHECK ({SEEN})")


def downgrade() -> None:
    op.drop_table("form_designs")
    op.drop_column("users", "terms_accepted_at")
    op.drop_column("users", "terms_hash")
    op.execute("DELETE FROM redirect_sessions")
    op.drop_constraint(op.f("fk_redirect_sessions_dialogue_id"), "redirect_sessions")
    op.drop_constraint(op.f("fk_redirect_sessions_provider_id"), "redirect_sessions")
    op.drop_constraint(op.f("uq_redirect_sessions_browser_hash"), "redirect_sessions")
    op.alter_column("redirect_sessions", "access_key", nullable=False)
    for column in ("outcome", "progress", "dialogue_id", "provider_id", "turn", "seen_at", "return_to", "browser_hash"):
        op.drop_column("redirect_sessions", column)
