"""The number of the last change on accesses, products and bookings, what was removed, and the text that bookings are searched by.

Triggers number every change, whoever makes it: also a version of the service that does not know of the numbers.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TENANT = "NULLIF(current_setting('kontor.tenant', true), '')::uuid"
USER = "NULLIF(current_setting('kontor.user', true), '')::uuid"
OPERATOR = "current_setting('kontor.operator', true) = 'on'"
OWN = f"tenant_id = {TENANT} AND ({USER} IS NULL OR user_id = {USER}) OR {OPERATOR}"
OWN_ONCE = f"tenant_id = (SELECT {TENANT}) AND ((SELECT {USER}) IS NULL OR user_id = (SELECT {USER})) OR (SELECT {OPERATOR})"
"""The same condition. Its settings are read once for each statement and not for each row, of which a search reads many."""
NUMBERED = ("accesses", "products", "transactions")
SHOWN_OF_ACCESSES = (
    "key",
    "provider_id",
    "sync",
    "fetched_at",
    "methods",
    "active_method",
    "media",
    "messages",
    "consent_ends_at",
    "expires_at",
)
"""The columns of an access that clients see, except its status, which also depends on the fetch."""
STATUS = "COALESCE({row}.fetch_phase, CASE WHEN {row}.fetch_id IS NULL THEN 'COMPLETE' ELSE {row}.status END)"
SHOWN_DIFFERS = " IS DISTINCT FROM ".join(
    f"ROW({', '.join([STATUS.format(row=row), *(f'{row}.{column}' for column in SHOWN_OF_ACCESSES)])})" for row in ("OLD", "NEW")
)
NEXT_SERIAL = """
CREATE FUNCTION next_serial(owner uuid) RETURNS bigint LANGUAGE plpgsql AS $$
-- The number of this transaction's changes of a user. It is greater than all numbers of the user that anybody has seen, since
-- the row of the user stays locked until the end of the transaction: numbers appear in the order of commits. It is a time in
-- microseconds, so that no number is given out twice after a restore from a backup.
DECLARE
    latest text := current_setting('kontor.serial', true);
    owner_tenant uuid;
    former bigint;
    following bigint;
BEGIN
    IF left(latest, 36) = owner::text THEN
        RETURN substr(latest, 38)::bigint;
    END IF;
    SELECT tenant_id, serial INTO owner_tenant, former FROM users WHERE id = owner FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    following := greatest(former + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    UPDATE users SET serial = following WHERE id = owner;
    INSERT INTO sync_points (tenant_id, user_id, serial, next_serial) VALUES (owner_tenant, owner, former, following);
    PERFORM set_config('kontor.serial', owner || ' ' || following, true);
    RETURN following;
END $$
"""
FOLDED_TEXT = """
CREATE FUNCTION folded_text(content text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
-- The text in the form in which texts are compared: without case and accents, and with umlauts as their plain letters, however
-- they are written.
DECLARE
    plain text := lower(content);
BEGIN
    IF octet_length(plain) <> char_length(plain) THEN
        plain := regexp_replace(normalize(plain, NFKD), '[\\u0300-\\u036f]', '', 'g');
        plain := replace(replace(replace(plain, '\u00df', 'ss'), '\u00e6', 'ae'), '\u0153', 'oe');
        plain := translate(plain, '\u00f8\u0142\u0111', 'old');
    END IF;
    RETURN replace(replace(replace(plain, 'ae', 'a'), 'oe', 'o'), 'ue', 'u');
END $$
"""
SEARCH_TEXT = """
CREATE FUNCTION search_text_of(purpose text, name text, other_name text, iban text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT folded_text(concat_ws(chr(10), purpose, name, other_name, iban)) $$
"""
STAMP_SERIAL = """
CREATE FUNCTION stamp_serial() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.serial := next_serial(NEW.user_id);
    IF TG_OP = 'INSERT' THEN
        NEW.added_serial := NEW.serial;
    END IF;
    RETURN NEW;
END $$
"""
STAMP_BOOKING = """
CREATE FUNCTION stamp_booking() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.serial := next_serial(NEW.user_id);
    IF TG_OP = 'INSERT' THEN
        NEW.added_serial := NEW.serial;
    END IF;
    NEW.search_text := search_text_of(NEW.purpose, NEW.counterparty_name, NEW.ultimate_name, NEW.counterparty_iban);
    RETURN NEW;
END $$
"""
STAMP_PRODUCT = """
CREATE FUNCTION stamp_product() RETURNS trigger LANGUAGE plpgsql AS $$
-- A change of a position is a change of its depot.
DECLARE
    changed uuid := CASE WHEN TG_OP = 'DELETE' THEN OLD.product_id ELSE NEW.product_id END;
BEGIN
    UPDATE products SET serial = next_serial(user_id) WHERE id = changed AND serial <> next_serial(user_id);
    RETURN NULL;
END $$
"""
STAMP_CHOSEN = """
CREATE FUNCTION stamp_chosen() RETURNS trigger LANGUAGE plpgsql AS $$
-- A change of the customer's own category is a change of its booking.
DECLARE
    changed uuid := CASE WHEN TG_OP = 'DELETE' THEN OLD.transaction_id ELSE NEW.transaction_id END;
BEGIN
    UPDATE transactions SET serial = next_serial(user_id) WHERE id = changed AND serial <> next_serial(user_id);
    RETURN NULL;
END $$
"""
RECORD_REMOVED = """
CREATE FUNCTION record_removed_{kind}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO removals (tenant_id, user_id, serial, object_id, kind)
    SELECT removed.tenant_id, removed.user_id, next_serial(removed.user_id), removed.id, '{kind}'
    FROM removed JOIN users ON users.id = removed.user_id{condition};
    RETURN NULL;
END $$
"""
REMOVED = {
    "access": ("accesses", ""),
    "product": ("products", " WHERE EXISTS (SELECT FROM accesses WHERE accesses.id = removed.access_id)"),
    "booking": ("transactions", " WHERE EXISTS (SELECT FROM products WHERE products.id = removed.product_id)"),
}
"""By kind: the table, and the condition under which a removal is recorded. What goes with its parent is not recorded again."""
UNSTAMPED = "NEW.serial = 0"
CHANGED = "OLD.* IS DISTINCT FROM NEW.*"
STAMPS = {
    "accesses": ("stamp_serial", UNSTAMPED, SHOWN_DIFFERS),
    "products": ("stamp_serial", UNSTAMPED, CHANGED),
    "transactions": ("stamp_booking", UNSTAMPED, f"{CHANGED} AND OLD.serial = NEW.serial"),
}
"""By table: the function that numbers a row, and the conditions under which it numbers a new and a changed one. Bookings, which
are written by the thousand, are numbered by the statement that writes them; the trigger numbers those that are not.
"""
DEPENDENT = {"positions": "stamp_product", "category_choices": "stamp_chosen"}


def upgrade() -> None:
    op.add_column("users", sa.Column("serial", sa.BigInteger(), server_default="0", nullable=False))
    for table in NUMBERED:
        op.add_column(table, sa.Column("serial", sa.BigInteger(), server_default="0", nullable=False))
        op.add_column(table, sa.Column("added_serial", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("transactions", sa.Column("search_text", sa.Text(), nullable=True))
    # Rows of before have the number 0, so that the index is empty, and made at once.
    op.create_index(
        "ix_transactions_user_id_serial_sequence",
        "transactions",
        ["user_id", "serial", "sequence"],
        unique=False,
        postgresql_where=sa.text("serial > 0"),
    )
    op.create_table(
        "sync_points",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.Column("next_serial", sa.BigInteger(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_sync_points_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sync_points_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "serial", name=op.f("pk_sync_points")),
    )
    op.create_table(
        "removals",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.Column("object_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_removals_tenant_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_removals_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "serial", "object_id", name=op.f("pk_removals")),
    )
    for table, column in (("sync_points", "next_serial"), ("removals", "serial")):
        op.create_index(op.f(f"ix_{table}_tenant_id"), table, ["tenant_id"], unique=False)
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], unique=False)
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {table}_of_owner ON {table} USING ({OWN}) WITH CHECK ({OWN})")
    op.execute(f"ALTER POLICY transactions_of_owner ON transactions USING ({OWN_ONCE}) WITH CHECK ({OWN_ONCE})")
    for function in (NEXT_SERIAL, FOLDED_TEXT, SEARCH_TEXT, STAMP_SERIAL, STAMP_BOOKING, STAMP_PRODUCT, STAMP_CHOSEN):
        run(function)
    create_triggers()


def create_triggers() -> None:
    """Numbers every change of what clients see, and records every removal."""
    for table, (function, is_new, differs) in STAMPS.items():
        run(f"CREATE TRIGGER stamp_added BEFORE INSERT ON {table} FOR EACH ROW WHEN ({is_new}) EXECUTE FUNCTION {function}()")
        run(f"CREATE TRIGGER stamp_changed BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({differs}) EXECUTE FUNCTION {function}()")
    for table, function in DEPENDENT.items():
        run(f"CREATE TRIGGER {function} AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {function}()")
    for kind, (table, condition) in REMOVED.items():
        run(RECORD_REMOVED.format(kind=kind, condition=condition))
        run(
            f"CREATE TRIGGER record_removed AFTER DELETE ON {table} REFERENCING OLD TABLE AS removed "
            f"FOR EACH STATEMENT EXECUTE FUNCTION record_removed_{kind}()"
        )


def run(statement: str) -> None:
    """Executes a statement as it is: colons and percent signs are part of it."""
    op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    for table in NUMBERED:
        for trigger in ("stamp_added", "stamp_changed", "record_removed"):
            op.execute(f"DROP TRIGGER {trigger} ON {table}")
    for table, function in DEPENDENT.items():
        op.execute(f"DROP TRIGGER {function} ON {table}")
    for function in (
        "stamp_serial",
        "stamp_booking",
        "stamp_product",
        "stamp_chosen",
        *(f"record_removed_{kind}" for kind in REMOVED),
    ):
        op.execute(f"DROP FUNCTION {function}()")
    op.execute("DROP FUNCTION search_text_of(text, text, text, text)")
    op.execute("DROP FUNCTION folded_text(text)")
    op.execute("DROP FUNCTION next_serial(uuid)")
    op.execute(f"ALTER POLICY transactions_of_owner ON transactions USING ({OWN}) WITH CHECK ({OWN})")
    op.drop_table("removals")
    op.drop_table("sync_points")
    op.drop_index("ix_transactions_user_id_serial_sequence", "transactions")
    op.drop_column("transactions", "search_text")
    for table in NUMBERED:
        op.drop_column(table, "added_serial")
        op.drop_column(table, "serial")
    op.drop_column("users", "serial")
