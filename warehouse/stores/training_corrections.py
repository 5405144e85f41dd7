"""The store of corrections to learn from: categories that users have chosen, with the text of their bookings. It only reads."""

import polars as pl
from psycopg import sql

from warehouse.postgres import frames
from warehouse.postgres.database import Owner

OF_CONSENTING_TENANTS = sql.SQL(
    "SELECT c.user_id, p.access_id, c.item, t.purpose, t.booking_text, t.counterparty_name, t.ultimate_name, t.gv_code, "
    "t.counterparty_iban, t.amount_cents FROM category_choices c JOIN tenants o ON o.id = c.tenant_id "
    "JOIN transactions t ON t.id = c.transaction_id JOIN products p ON p.id = t.product_id JOIN accesses a ON a.id = p.access_id "
    "WHERE o.learns AND o.active AND (a.expires_at IS NULL OR a.expires_at > now()) ORDER BY c.user_id, t.sequence"
)
CORRECTED_BOOKINGS = pl.Schema(
    {
        "user": pl.String,
        "access": pl.String,
        "category": pl.String,
        "purpose": pl.String,
        "booking_text": pl.String,
        "counterparty_name": pl.String,
        "ultimate_name": pl.String,
        "gv_code": pl.String,
        "counterparty_iban": pl.String,
        "amount_cents": pl.Int64,
    }
)
"""The category that a user chose for a booking, and what can be read in the booking."""


def of_consenting_tenants(owner: Owner) -> pl.DataFrame:
    """The corrections of all users of active tenants that consent to learning (frame `CORRECTED_BOOKINGS`)."""
    return frames.read_frame(owner, OF_CONSENTING_TENANTS, {}, CORRECTED_BOOKINGS)
