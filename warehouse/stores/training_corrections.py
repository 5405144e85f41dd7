"""The store of lines to learn from: bookings that users have given a category themselves, of tenants that consent to learning."""

import polars as pl
from psycopg import sql

from warehouse.postgres import frames
from warehouse.postgres.database import Owner

TEXTS = ("purpose", "booking_text", "counterparty_name", "ultimate_name", "gv_code", "counterparty_iban")
CORRECTED_LINES = pl.Schema(
    [*dict.fromkeys(("user", "access", "category", *TEXTS), pl.String()).items(), ("amount_cents", pl.Int64())]
)
SELECT = sql.SQL(
    "SELECT c.user_id, p.access_id, c.item, t.purpose, t.booking_text, t.counterparty_name, t.ultimate_name, t.gv_code, "
    "t.counterparty_iban, t.amount_cents FROM category_choices c JOIN tenants o ON o.id = c.tenant_id "
    "JOIN transactions t ON t.id = c.transaction_id JOIN products p ON p.id = t.product_id JOIN accesses a ON a.id = p.access_id "
    "WHERE o.learns AND o.active AND (a.expires_at IS NULL OR a.expires_at > now()) ORDER BY c.user_id, t.sequence"
)


def whole(owner: Owner) -> pl.DataFrame:
    """The corrected lines of all users (frame `CORRECTED_LINES`), by user, in the order in which the bookings came."""
    return frames.read_frame(owner, SELECT, {}, CORRECTED_LINES)
