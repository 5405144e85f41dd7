"""Bookings that a tenant pushes into a product, beside those of the bank. A repeated batch adds nothing."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl

from analytics.frames import BOOKINGS
from pipelines.fetching import merge
from warehouse.postgres.database import Owner
from warehouse.stores import accesses, ledger, products


def push(owner: Owner, access_key: str, product_key: str, batches: Mapping[str, Sequence[Mapping[str, Any]]], today: date) -> int:
    """Stores the new bookings of the batches (rows of `BOOKINGS` by name of the batch); returns their number."""
    product = products.find(owner, accesses.find(owner, access_key), product_key, lock=True)
    added = 0
    for batch, rows in batches.items():
        new = merge.missing_bookings(ledger.batch(owner, product, batch), pl.DataFrame(rows, schema=BOOKINGS, orient="row"))
        ledger.add(owner, product, new, batch)
        added += new.height
    if added:
        accesses.touch(owner)
        accesses.record_refresh_day(owner, today)
    return added
