"""The tables of the lake. A new one is a line here: its name is that of its folder, its view and its Dagster asset."""

from collections.abc import Mapping

import polars as pl

from analytics import frames
from analytics.analyses import suite
from warehouse.lake.core_tables import LANDING as LANDING
from warehouse.lake.core_tables import TOMBSTONES as TOMBSTONES
from warehouse.lake.parquet import LakeTable


def _columns(*parts: Mapping[str, pl.DataType | type[pl.DataType]]) -> pl.Schema:
    """The columns of the parts, one after the other."""
    return pl.Schema([column for part in parts for column in part.items()])


TRANSACTIONS = LakeTable("transactions", frames.LEDGER)
"""The ledger's bookings, with the order in which they came."""
PRODUCTS = LakeTable("products", frames.PRODUCTS)
USERS = LakeTable(
    "users", pl.Schema({"user": pl.String, "tenant": pl.String, "revision": pl.Int64, "as_of": pl.Date, "serial": pl.Int64})
)
"""Users with the revision of their data, the reference day of their analyses, and the serial up to which all changes of their
bookings are in the lake."""
CATEGORY_CHOICES = LakeTable("category_choices", _columns({"user": pl.String}, frames.CHOICES))
CATEGORY_RULES = LakeTable(
    "category_rules",
    _columns(dict.fromkeys(("user", "tenant", "item", "name", "iban"), pl.String), {"rank": pl.Int64, "after": pl.Int64}),
)
TRANSACTION_TAGS = LakeTable("transaction_tags", _columns(frames.TAGGED, {"revision": pl.Int64}))
"""The tags of bookings, and the revision of the user's data that they were computed from."""
ANALYSES = {name: LakeTable(name, frame.schema) for name, frame in suite.FRAMES.items()}
"""The results of analyses, by the names of their frames."""
ANALYSED = LakeTable("analysed", pl.Schema({"user": pl.String, "revision": pl.Int64, "as_of": pl.Date}))
"""Users whose analyses are written, with revision and reference day. A row is valid for the tables of all analyses."""

TABLES = (
    *(LANDING, TRANSACTIONS, PRODUCTS, USERS, CATEGORY_CHOICES, CATEGORY_RULES, TRANSACTION_TAGS),
    *ANALYSES.values(),
    *(ANALYSED, TOMBSTONES),
)
